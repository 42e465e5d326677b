"""Stores of a release whose exact duplicates had the same words, brought to whole texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest
from sqlalchemy import create_engine

import shingling.store.schema.whole_texts
from shingling import Page, Rules, Scheme, Store
from shingling.errors import StoreError
from shingling.sketch import exact_hash
from shingling.store import Header
from shingling.store.admin.queries import page_by_url
from shingling.store.admin.transfer import export, restore
from shingling.store.schema.migrate import HEAD
from tests.store.schema.test_upgrade import restored
from tests.support.invariants import verify
from tests.support.stores import execute, is_postgres, rows_of, url_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SITE = "https://example.org/"
_BEFORE = {
    "equal": ("new", None),
    "equal copy": ("exact", "equal"),
    "unequal": ("exact", "equal"),
    "unequal copy": ("exact", "equal"),
    "less": ("exact", "equal"),
    "b": ("new", None),
    "b near": ("near", "b"),
    "b near, bracketed": ("exact", "b"),
    "b near copy": ("exact", "b"),
    "unequal copy 2": ("exact", "equal"),
    "short": ("skipped", None),
    "elsewhere": ("new", None),
    "elsewhere copy": ("exact", "elsewhere"),
}
# The oldest of those with one text that the group has besides is near; the others copy it.
_AFTER = _BEFORE | {
    "unequal": ("near", "equal"),
    "less": ("near", "equal"),
    "b near, bracketed": ("near", "b"),
    "elsewhere copy": ("near", "elsewhere"),
}


class _Stored(NamedTuple):
    status: str
    original: str | None
    text_hash: bytes
    measures: tuple[float | None, float | None]


def _stored(file: Path) -> dict[str, _Stored]:
    query = (
        "SELECT p.url, p.status, o.url, p.text_hash, p.resemblance, p.containment"
        " FROM pages p LEFT JOIN pages o ON p.original_id = o.id"
    )
    return {
        url.removeprefix(_SITE): _Stored(
            status, original and original.removeprefix(_SITE), bytes(text_hash), tuple(measures)
        )
        for url, status, original, text_hash, *measures in rows_of(file, query)
    }


def _standing(file: Path) -> dict[str, tuple[str, str | None]]:
    return {name: (one.status, one.original) for name, one in _stored(file).items()}


@pytest.fixture(params=[1, 3, 100])
def batch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many texts are read at a time."""
    monkeypatch.setattr(shingling.store.schema.whole_texts, "_TEXTS_AT_ONCE", request.param)
    return int(request.param)


def test_a_store_with_all_texts_compares_whole_texts(file: Path, batch: int) -> None:
    old = restored("0005", file)
    assert _standing(old) == _BEFORE
    before = _stored(old)
    kept = ["SELECT id, minima, simhash, words, last_verdict FROM pages", "SELECT * FROM texts"]
    others = [sorted(rows_of(old, query)) for query in kept]
    with Store.open(url_of(old), scheme=Scheme(version=1)) as store:
        assert rows_of(old, "SELECT version_num FROM alembic_version") == [(HEAD,)]
        assert store.scheme == Scheme(version=2)
        assert rows_of(old, "SELECT id FROM scheme") == [(Scheme(version=2).id,)]
        assert store.status().exact_means == "same text"
        for page in store.pages():
            text = store.text(page)
            assert text is not None
            assert store.signature(page).text_hash == exact_hash(text)
    assert _standing(old) == _AFTER
    assert [sorted(rows_of(old, query)) for query in kept] == others
    after = _stored(old)
    assert {name: one.measures for name, one in after.items()} == {
        name: one.measures for name, one in before.items()
    }
    verify(old)


def test_a_store_that_was_brought_to_whole_texts_goes_on_as_a_new_one(file: Path) -> None:
    old = restored("0005", file)
    with Store.open(url_of(old), threshold=0.8) as store:
        [again] = store.check([page_by_url(store._session, f"{_SITE}equal") or Page("")])
        assert again.status == "unchanged"
        text = store.text(store.find(f"{_SITE}unequal")[0]) or ""
        verdicts = store.check(
            [
                Page(f"{_SITE}1", text.upper(), title="A"),
                Page(f"{_SITE}2", text.replace("!=", "<>"), title="A"),
            ]
        )
        assert [(one.status, one.original) for one in verdicts] == [
            ("exact", f"{_SITE}equal"),
            ("near", f"{_SITE}equal"),
        ]
        assert store.admin.forget([f"{_SITE}unequal"]) == 1
        assert store.find(f"{_SITE}unequal copy")[0].status == "near"
        assert store.admin.forget([f"{_SITE}equal"]) == 1
    verify(old)


def test_a_store_that_lacks_a_text_keeps_its_meaning_and_says_so(file: Path) -> None:
    old = restored("0005", file)
    execute(old, "DELETE FROM texts WHERE page_id = 5")
    before = _stored(old)
    # The version of the store holds, whichever is asked for.
    with Store.open(url_of(old), scheme=Scheme(version=2), threshold=0.8) as store:
        assert rows_of(old, "SELECT version_num FROM alembic_version") == [(HEAD,)]
        assert store.scheme == Scheme(version=1)
        assert store.status().scheme.version == 1
        assert store.status().exact_means == (
            "same words (made by an older release without all texts; new stores compare whole"
            " texts)"
        )
        assert _stored(old) == before
        text = store.text(store.find(f"{_SITE}equal")[0]) or ""
        [verdict] = store.check([Page(f"{_SITE}more", text.replace("==", ">"), title="A")])
        assert verdict.status == "exact"
        # Once all texts are there, it can be signed anew.
        assert store.admin.forget([f"{_SITE}less"]) == 1
        store.admin.redecide(scheme=Scheme())
        assert store.scheme == Scheme(version=2)
        assert store.status().exact_means == "same text"
        assert store.find(f"{_SITE}more")[0].status == "near"
    verify(old)


def test_an_empty_store_compares_whole_texts(file: Path) -> None:
    old = restored("0005", file)
    tables = ("texts", "bands", "reviews", "site_blocks")
    execute(old, *(f"DELETE FROM {table}" for table in tables), "DELETE FROM pages")  # noqa: S608
    if not is_postgres(old):
        execute(old, "DELETE FROM recent")
    with Store.open(url_of(old)) as store:
        assert store.scheme == Scheme()


@pytest.mark.parametrize("lacking", [False, True])
def test_a_rebuild_that_was_interrupted_goes_on_by_whole_texts(file: Path, lacking: bool) -> None:
    old = restored("0005", file, "r0005_rebuilding")
    if lacking:
        execute(old, "DELETE FROM texts WHERE page_id = 5")
    with Store.open(url_of(old), threshold=0.8) as store:
        assert store.scheme.version == (1 if lacking else 2)
        verify(old, rebuilding=True)
        with pytest.raises(StoreError, match="--resume"):
            store.check([Page(f"{_SITE}new", "text")])
        resumed = store.admin.resume_rebuild()
        assert resumed is not None
        assert resumed[1] is not None
        assert resumed[1].pages == len(_BEFORE)
        assert store.scheme.version == (1 if lacking else 2)
    verify(old)
    again = _stored(old)
    if lacking:
        assert _standing(old) == _BEFORE
    else:
        assert {name: one.original for name, one in again.items()} == {
            name: original for name, (_, original) in _AFTER.items()
        }
        with Store.open(url_of(old)) as store:
            store.admin.redecide(Rules(threshold=0.8))
        assert _stored(old) == again


def test_a_rebuild_that_was_interrupted_can_be_abandoned_after_all(file: Path) -> None:
    old = restored("0005", file, "r0005_rebuilding")
    with Store.open(url_of(old)) as store:
        assert store.admin.abandon_rebuild()
    assert _standing(old) == _AFTER
    verify(old)


@pytest.fixture
def target(file: Path) -> Iterator[Path]:
    path = file.with_stem("target")
    yield path
    verify(path)


@pytest.mark.parametrize("lacking", [False, True])
def test_an_export_of_an_older_release_is_restored_as_its_store_is_upgraded(
    file: Path, target: Path, lacking: bool
) -> None:
    old = restored("0005", file)
    execute(old, "DELETE FROM texts WHERE page_id = 5")
    with Store.open(url_of(old)) as store:
        header, *records = export(store._session)
    if not lacking:
        texts = {one.fields["id"]: one.fields["text"] for one in records if one.kind == "page"}
        text = {"text": texts[1].replace("==", "<=")}
        records = [
            one._replace(fields={**one.fields, **text}) if one.fields.get("id") == 5 else one
            for one in records
        ]
    with Store.open(url_of(target)) as store:
        restored_ = restore(store._session, Header.of(header), records)
        assert restored_.scheme == store.scheme == Scheme(version=1 if lacking else 2)
        assert store.status().scheme.id == store.scheme.id
    assert _standing(target) == (_BEFORE if lacking else _AFTER)
    with Store.open(url_of(target)) as store:
        assert store.scheme == restored_.scheme


def test_a_store_is_brought_to_whole_texts_once(file: Path) -> None:
    old = restored("0005", file)
    engine = create_engine(url_of(old))
    with engine.begin() as connection:
        assert shingling.store.schema.whole_texts.hash_whole_texts(connection)
        assert not shingling.store.schema.whole_texts.hash_whole_texts(connection)
    engine.dispose()
    assert _standing(old) == _AFTER
