"""What an export, a check and the forgetting of pages have to do with what is learned of URLs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, insert, or_, select, text

from shingling.fetching.rows import RULE_FIELDS, RuleCounts, is_sound_rule, is_sound_skip
from shingling.fetching.stored_rules import (
    INSERT_RULE,
    PINNED,
    ROWS_READ_AT_ONCE,
    in_order,
    read_rules,
    rule_row,
)
from shingling.store.schema.statements import chunked
from shingling.store.schema.tables import skipped_urls, url_rules
from shingling.store.urls import safe_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import Connection, Table

    from shingling.store.schema.checks import Check

_MERGE_RULES = {
    dialect: text(
        f"{INSERT_RULE} agreed = {larger}(url_rules.agreed, excluded.agreed),"
        f" contradicted = {larger}(url_rules.contradicted, excluded.contradicted),"
        f" saved = {larger}(url_rules.saved, excluded.saved),"
        f" explored = {larger}(url_rules.explored, excluded.explored),"
        " pinned = coalesce(url_rules.pinned, excluded.pinned)"
    ).bindparams(PINNED)
    for dialect, larger in (("sqlite", "max"), ("postgresql", "greatest"))
}
_SOUND: dict[Table, Callable[[Any], bool]] = {
    url_rules: is_sound_rule,
    skipped_urls: is_sound_skip,
}


class KeptRules:
    """Rules on URLs and skipped requests of a store, as `shingling.store.kept` asks for them."""

    kind = "url_rule"
    fields: Mapping[str, Check] = RULE_FIELDS
    damage = (
        "fetches",
        "rules on URLs, fetched pages and skipped requests with impossible values",
    )

    def read(self, connection: Connection) -> Iterator[Mapping[str, Any]]:
        """Yield the rules."""
        for rule in read_rules(connection):
            yield rule._asdict()

    def merge(self, connection: Connection, records: Iterable[Mapping[str, Any]]) -> None:
        """Take in rules of another store: of two counts the higher one holds.

        They may have been counted on the same pages, so they do not add up. What a person has said
        here holds.
        """
        now = int(time.time())
        rows = []
        for fields in records:
            values: dict[str, Any] = {name: fields.get(name) for name in RuleCounts._fields}
            rows.append(rule_row(RuleCounts(**values), now))
        if given := in_order(rows, "rule_key"):
            connection.execute(_MERGE_RULES[connection.dialect.name], given)

    def forget(
        self, connection: Connection, urls: Sequence[str], *, site: str | None, before: int | None
    ) -> None:
        """Forget skipped requests by URL, by that of the page, and by site and age.

        With all pages of a site go its rules.
        """
        for part in chunked(map(safe_url, urls)):
            named = or_(skipped_urls.c.url.in_(part), skipped_urls.c.page.in_(part))
            connection.execute(delete(skipped_urls).where(named))
        conditions = []
        if site is not None:
            conditions.append(skipped_urls.c.site == site)
        if before is not None:
            conditions.append(skipped_urls.c.created < before)
        if conditions:
            connection.execute(delete(skipped_urls).where(*conditions))
        if site is not None and before is None:
            connection.execute(delete(url_rules).where(url_rules.c.site == site))

    def unsound(self, connection: Connection) -> Iterator[tuple[Table, Any]]:
        """Yield table and site of each damaged row."""
        for table, is_sound in _SOUND.items():
            rows = connection.execute(select(table).execution_options(yield_per=ROWS_READ_AT_ONCE))
            for row in rows.mappings():
                if not is_sound(row):
                    yield table, row["site"]

    def copy(self, connection: Connection, into: Connection) -> None:
        """Copy the sound skipped requests to another store."""
        streamed = select(skipped_urls).execution_options(yield_per=ROWS_READ_AT_ONCE)
        for part in connection.execute(streamed).mappings().partitions():
            if sound := [dict(row) for row in part if is_sound_skip(row)]:
                into.execute(insert(skipped_urls), sound)
