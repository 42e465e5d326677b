"""The table of a stored page's fields, from which columns, exports and `StoredPage` are derived."""

from __future__ import annotations

from dataclasses import fields

from shingling import Page, StoredPage
from shingling.admin.records import PAGE_FIELDS
from shingling.store.schema import rows
from shingling.store.schema.tables import next_pages, pages

NOT_EXPORTED = {"url_key"}


def test_columns_are_those_of_the_table_of_fields() -> None:
    for table in (pages, next_pages):
        assert tuple(table.columns.keys()) == rows.COLUMNS
        for name, one in rows.PAGE_FIELDS.items():
            assert table.columns[name].nullable == one.nullable
    types = {one.name: str(one.type) for one in fields(rows.Row)}
    for name, one in rows.PAGE_FIELDS.items():
        assert types[name].endswith("| None") == one.nullable


def test_every_field_is_exported_but_the_key_of_the_url() -> None:
    exported = {
        rows.EXPORTED_NAMES.get(name, name) for name in rows.PAGE_FIELDS if name not in NOT_EXPORTED
    }
    assert set(PAGE_FIELDS) == exported | {"original", "text"}
    assert len(PAGE_FIELDS) == len(exported) + 2
    assert PAGE_FIELDS[:3] == ("id", "url", "site")
    assert PAGE_FIELDS[-1] == "text"


def test_every_field_of_a_stored_page_is_exported_under_the_same_name() -> None:
    of_other_rows = {"compared_with", "rules", "threshold"}
    assert {one.name for one in fields(StoredPage)} - of_other_rows <= set(PAGE_FIELDS)


def test_what_is_extracted_from_a_body_is_given_with_a_page() -> None:
    assert set(rows.ORIGINS["extracted"]) <= {one.name for one in fields(Page)}
