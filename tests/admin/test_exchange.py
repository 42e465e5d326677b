"""A store as records, and an equal store made of them."""

from __future__ import annotations

import random
import tracemalloc
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from shingling import Page, Rules, Scheme, SimhashFeatures, Store
from shingling.admin.importing import decide_export
from shingling.admin.records import Header, Record, read_export
from shingling.admin.reviews import merge_reviews
from shingling.admin.transfer import export, restore
from shingling.errors import RecordError
from shingling.sketch import Banding
from shingling.store import indexing
from shingling.store.index import Index
from tests.support.invariants import ending, groups_of, text, verify, words
from tests.support.stores import (
    ENDINGS,
    emptied,
    is_postgres,
    place_of,
    rows_of,
    session_of,
    sqlite_only,
    url_of,
)

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator
    from pathlib import Path

BASE = words("base")


@pytest.fixture(params=ENDINGS)
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Where a second store can be made, in either database; it is in order in the end."""
    folder = tmp_path / "target"
    folder.mkdir()
    for path in place_of(request, folder):
        yield path
        verify(path)


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> list[Record]:
    """What a store with everything in it is exported as."""
    path = tmp_path_factory.mktemp("source") / "dedup.db"
    with Store.open(url_of(path), scheme=Scheme(shingle_size=4)) as store:
        fill(store)
        return exported(store)


def exported(store: Store, *, with_texts: bool = True) -> list[Record]:
    return list(export(session_of(store), with_texts=with_texts))


def restored(store: Store, records: Iterable[Record]) -> Counter[str]:
    numbers = restore(session_of(store), *read_export(iter(records)))
    assert numbers is not None
    return numbers


def fill(store: Store, rules: Rules | None = None) -> None:
    """Store pages of every standing, with everything that a store can hold."""
    rules = rules or Rules()
    near = text(ending(BASE, "near", 5))
    first = store.start_run("news", {"threshold": 0.8, "näme": [1.5, None]})
    store.check(
        [
            Page("https://a.example/1", text(words("one")), title="", language="", fetched=1e9),
            Page("https://a.example/2", text(BASE), title="=1+1", language="de", fetched=1e9),
            Page("https://a.example/3", near, title='=1+1 - \\"\x85\n', fetched=1e9 + 1),
            Page("https://b.example/4", near, scope="b", fetched=2e9),
            Page("https://b.example/5", near, scope="b", fetched=2e9),
            Page("https://b.example/ü?q='--", text(words("short", 6)), fetched=-5e9),
        ],
        rules=rules,
        run=first,
    )
    store.finish_run(first, "finished")
    second = store.start_run("news")
    store.check(
        [
            Page("https://a.example/1", text(BASE), fetched=1e9 + 60),  # its original came later
            Page("https://a.example/2", text(BASE), fetched=1e9 + 90),
        ],
        rules=rules,
        run=second,
    )
    with session_of(store).database.writing() as connection:
        merge_reviews(connection, [review("https://a.example/1", "https://b.example/4", 5)])


def review(a: str, b: str, created: int, note: str | None = None, *, same: bool = True) -> Record:
    fields = {"a": a, "b": b, "same": same, "note": note, "created": created}
    return Record("review", fields)


def test_a_restored_store_is_equal_in_everything_and_goes_on_as_the_first_one_would(
    store: Store, target: Path, file: Path
) -> None:
    fill(store)
    store.check([Page("https://c.example/", text(words("c")))], rules=Rules(store_text=False))
    records = exported(store)
    with Store.open(url_of(target)) as other:
        made = restored(other, records)
        assert (made["page"], made["run"], made["review"]) == (7, 2, 1)
        assert exported(other) == records
        assert list(other.pages()) == list(store.pages())
        assert list(other.groups()) == list(store.groups())
        assert other.runs() == store.runs()
        one, two = store.status(), other.status()
        assert replace(one, bytes=two.bytes, url=two.url) == two
        assert groups_of(target) == groups_of(file)
        for table in ("scheme", "runs", "pages", "texts", "reviews"):
            query = f"SELECT * FROM {table}"
            assert sorted(rows_of(target, query)) == sorted(rows_of(file, query)), table
        assert other.start_run("next").id == store.start_run("next").id == 3
        batch = [
            Page("https://d.example/1", text(ending(BASE, "other", 4)), fetched=3e9),
            Page("https://d.example/2", text(words("d")), fetched=3e9),
            Page("https://a.example/2", text(ending(BASE, "changed", 50)), fetched=3e9),
        ]
        # PostgreSQL may skip numbers: a batch that is tried again takes new ones.
        first, second = (
            [replace(verdict, page_id=None) for verdict in one.check(batch)]
            for one in (store, other)
        )
        assert first == second
        stored, moved = ([replace(page, id=0) for page in one.pages()] for one in (store, other))
        assert stored == moved
    pages = [record.fields for record in records if record.kind == "page"]
    assert {page["status"] for page in pages} == {"new", "near", "exact", "skipped"}
    assert {page["last_verdict"] for page in pages} > {"unchanged", "new", "near", "exact"}
    originals = [(page["original_id"] or 0, page["id"]) for page in pages]
    assert any(original > own for original, own in originals), "one that comes later"


@pytest.mark.parametrize(
    ("scheme", "rules"),
    [
        (Scheme(unit="characters", shingle_size=9), Rules(method="megashingle", threshold=0.6)),
        (Scheme(ordered=False, family="crc"), Rules(method="minhash+simhash")),
        (Scheme(simhash=SimhashFeatures(bits=32)), Rules(method="simhash")),
        (Scheme(), Rules(containment=0.9)),
        (Scheme(), Rules(store_text=False)),
    ],
)
def test_scheme_and_index_move(tmp_path: Path, target: Path, scheme: Scheme, rules: Rules) -> None:
    with Store.open(url_of(tmp_path / "dedup.db"), scheme=scheme, rules=rules) as store:
        fill(store, rules)
        records = exported(store)
        with Store.open(url_of(target)) as other:
            restored(other, records)
            assert (other.scheme, session_of(other).index) == (scheme, session_of(store).index)
            assert exported(other) == records
    with Store.open(url_of(target), scheme=scheme, rules=rules) as other:
        session_of(other).index.require(rules)


@sqlite_only
def test_without_texts_everything_else_moves_but_samples(store: Store, target: Path) -> None:
    fill(store)
    store.admin.rebuild(rules=Rules(containment=0.9))
    records = exported(store, with_texts=False)
    assert not records[0].fields["texts"]
    assert not any("text" in record.fields for record in records)
    with Store.open(url_of(target)) as other:
        restored(other, records)
        assert exported(other, with_texts=False)[1:] == records[1:]
        assert list(other.pages()) == list(store.pages())
        assert other.text(next(other.pages())) is None
        assert not other.status().index.sampled


def test_keys_are_complete_if_they_are_written_in_parts(
    records: list[Record], target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "_ENTRIES_AT_ONCE", 30)
    with Store.open(url_of(target)) as store:
        restored(store, records)
        [found] = store.check([Page("https://a.example/copy", text(BASE))])
    assert found.status == "exact"


def test_only_an_empty_store_is_restored(records: list[Record], target: Path) -> None:
    with Store.open(url_of(target)) as other:
        run = other.start_run("a crawl that may have begun with its scheme")
        assert restore(session_of(other), *read_export(iter(records))) is None
        other.finish_run(run, "finished")
        assert other.status().pages == 0


def changed(kind: str, number: int = 0, **fields: Any) -> Any:
    """Return what changes the fields of one of the records of a kind."""

    def change(records: list[Record]) -> Iterator[Record]:
        left = number
        for record in records:
            if record.kind == kind:
                left -= 1
                if left == -1:
                    yield record._replace(fields={**record.fields, **fields})
                    continue
            yield record

    return change


BAD = {
    "no end": (lambda records: records[:-1], "cut off after 6 pages"),
    "two ends": (lambda records: [*records, records[-1]], "behind the last record"),
    "fewer pages": (lambda records: [*records[:-3], *records[-2:]], "6 pages are announced, 5"),
    "unknown record": (
        lambda records: [records[0], Record("user", {}), *records[1:]],
        "'user' is not known",
    ),
    "no header": (lambda records: records[1:], "the first record of a store is expected"),
    "other format": (changed("store", format=3), "format is 3, not 1, which this release reads"),
    "unknown scheme": (changed("store", scheme={"size": 5}), "size is not a parameter"),
    "other scheme": (changed("store", scheme={"version": 4}), "version 4 is not known"),
    "unknown index": (changed("store", index={"indexed": "tree"}), "indexed is 'tree', not one of"),
    "index of other bits": (
        changed("store", index={"indexed": "simhash", "bands": 2, "rows": 16, "sampled": False}),
        "index is",
    ),
    "bands that are none": (
        changed("store", index={"indexed": "minima", "bands": 9, "rows": 9, "sampled": False}),
        "are not 84 minima",
    ),
    "short minima": (changed("page", minima=b"1234"), "minima is b'1234', not 336 bytes"),
    "long hash": (changed("page", text_hash=bytes(17)), "text_hash is"),
    "simhash too high": (changed("page", simhash=1 << 64), "simhash is 18446744073709551616"),
    "id that is true": (changed("page", id=True), "id is True"),
    "same id": (
        changed("page", 1, id=1),
        "this page, or one of the next 5, has the id or the URL of another",
    ),
    "same url": (changed("page", 1, url="https://a.example/1"), "has the id or the URL of another"),
    "no url": (changed("page", url=""), "url is '', not a URL"),
    "NUL": (changed("page", title="a\0b"), r"title is 'a\\x00b'"),
    "surrogate": (changed("page", title="\ud800"), "title is"),
    "surrogate in the text": (changed("page", text="\ud800"), "text is"),
    "no words": (changed("page", words=0), "words is 0"),
    "unknown status": (changed("page", status="odd"), "status is 'odd', not one of new"),
    "unhashable status": (changed("page", status=[]), r"status is \[\]"),
    "time of no date": (changed("page", first_seen=1 << 60), "first_seen is"),
    "resemblance above 1": (changed("page", 2, resemblance=1.5), "resemblance is 1.5"),
    "duplicate without original": (changed("page", 2, original_id=None), "contradict"),
    "original that is a duplicate": (changed("page", 1, original_id=3), "its original is missing"),
    "missing original": (
        changed("page", 2, original_id=99),
        r"page 3 \(https://a.example/3\): its original is missing",
    ),
    "chain": (changed("page", 2, original_id=1), "its original is missing, or no original"),
    "original of another scope": (changed("page", 4, original_id=2), "or no original of its scope"),
    "missing run": (changed("page", run=9), "or a run that is not in the file"),
    "run without a name": (changed("run", spider=None), "spider is missing"),
    "review of one page": (changed("review", b="https://a.example/1"), "the same as itself"),
    "review without a word": (changed("review", same="yes"), "same is 'yes'"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_named_not_stored(records: list[Record], empty: Path, case: str) -> None:
    change, message = BAD[case]
    placed = [record._replace(where=f"line {number}") for number, record in enumerate(records, 1)]
    with emptied(empty) as path, Store.open(url_of(path)) as other:
        before = exported(other)
        with pytest.raises(RecordError, match=message) as caught:
            restored(other, change(placed))
        assert exported(other) == before
    groups = ("duplicate without original", "original that is a duplicate", "missing original")
    if case not in ("no end", *groups, "chain", "original of another scope", "unknown record"):
        assert str(caught.value).startswith("line "), caught.value
    assert "\n" not in str(caught.value)


def test_of_two_reviews_of_a_pair_the_newer_one_stays(store: Store, file: Path) -> None:
    def said() -> list[Any]:
        found = [record.fields for record in exported(store) if record.kind == "review"]
        return [(one["note"], one["same"], one["created"]) for one in found]

    def merge(*records: Record) -> None:
        with session_of(store).database.writing() as connection:
            merge_reviews(connection, records)

    merge(review("u", "v", 5, "first"), review("u", "w", 1))
    merge(review("v", "u", 5, "of the same time"))
    merge(review("u", "v", 4, "older"))
    assert ("first", True, 5) in said()
    merge(
        review("u", "v", 7, "newer", same=False),
        review("v", "u", 9, "newest", same=False),
        review("u", "v", 8),
    )
    assert ("newest", False, 9) in said()
    assert len(said()) == 2
    assert len(rows_of(file, "SELECT 1 FROM reviews WHERE a_key < b_key")) == 2


def decided(store: Store, records: Iterable[Record], rules: Rules | None = None) -> Counter[str]:
    """Verdicts on the pages of an export that comes into a store that has pages."""
    read = read_export(iter(records))
    imported = decide_export(session_of(store), rules or Rules(), *read, ("import", {}))
    assert not imported.bad
    return imported.counts


def test_times_of_a_page_only_widen(store: Store, target: Path) -> None:
    store.check([Page("u", text(BASE), fetched=100)])
    records = exported(store)
    with Store.open(url_of(target)) as other:
        other.check([Page("u", text(BASE), fetched=100)])
        for first, last in ((90, 95), (99, 120), (95, 110)):
            seen = [*changed("page", first_seen=first, last_seen=last)(records)]
            assert decided(other, seen) == {"unchanged": 1}
        [page] = other.find("u")
    assert (page.first_seen.timestamp(), page.last_seen.timestamp()) == (90, 120)


def test_an_original_is_as_old_as_a_file_says_that_it_was_seen_last(
    store: Store, target: Path
) -> None:
    day, rules = 86_400, Rules(original_max_age_days=30)
    store.check([Page("https://a.example/", text(BASE), fetched=0)])
    store.check([Page("https://b.example/", text(BASE), fetched=90 * day)])
    store.check([Page("https://a.example/", text(BASE), fetched=100 * day)])
    with Store.open(url_of(target)) as other:
        other.check([Page("https://z.example/", text(words("z")), fetched=0)])
        assert decided(other, exported(store), rules) == {"new": 1, "exact": 1}
        assert [page.first_seen.timestamp() / day for page in other.pages()] == [0, 0, 90]


def test_pages_that_differ_in_own_fields_stay_apart_in_a_store_that_has_pages(
    store: Store, target: Path
) -> None:
    items = [
        Page(f"https://{site}.example/", text(BASE), fields={"price": price}, source=f"{site}/all")
        for site, price in (("a", 10), ("b", 20), ("c", 20))
    ]
    store.check(items)
    with Store.open(url_of(target)) as other:
        other.check([Page("https://z.example/", text(words("z")))])
        decided(other, exported(store))
        stored, moved = ([*one.pages()] for one in (store, other))
    assert [page.original for page in moved] == [None, None, None, "https://b.example/"]
    for one, two in zip(stored, moved[1:], strict=True):
        assert replace(one, id=0, run=0, last_run=0) == replace(two, id=0, run=0, last_run=0)


def test_an_import_into_pages_that_ends_early_is_whole_after_the_next_one(
    records: list[Record], target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shingling.admin.importing.PAGES_PER_TRANSACTION", 2)
    with Store.open(url_of(target), scheme=Scheme(shingle_size=4)) as other:
        other.check([Page("https://z.example/", text(words("z")))])
        with pytest.raises(RecordError, match="minima is b''"):
            decided(other, changed("page", 3, minima=b"")(records))
        assert other.runs()[0].outcome == "failed"
        assert other.status().pages == 3, "one batch of two, and the page that was there"
        assert decided(other, records) == {
            "unchanged": 2,
            "new": 1,
            "near": 1,
            "exact": 1,
            "skipped": 1,
        }
        assert other.status().pages == 7


def many(number: int) -> Iterator[Record]:
    """Yield a store of so many pages of 5 kB, three in four of them duplicates."""
    yield Header(Scheme(), Index(Banding(14, 6)), {}, 0, number, True).record()
    dice = random.Random(1)
    long = " ".join(words("long", 600))
    fields = {"site": "a.example", "scope": "", "words": 600, "simhash": 1 << 63}
    fields |= {"first_seen": 1, "last_seen": 2, "last_verdict": "new"}
    minima = b""
    for page in range(1, number + 1):
        head = page - (page - 1) % 4
        own = {"id": page, "url": f"https://a.example/{page}", "text": f"{long} {page}"}
        if head == page:
            minima = dice.randbytes(336)
            own |= {"status": "new", "original_id": None}
        else:
            own |= {"status": "near", "original_id": head, "resemblance": 0.9}
        own |= {"minima": minima, "text_hash": page.to_bytes(16, "big")}
        yield Record("page", {**fields, **own})
    yield Record("end", {"pages": number})


def test_a_restored_store_in_postgresql_is_analysed(records: list[Record], target: Path) -> None:
    """Until it is, each look-up reads whole tables."""
    with Store.open(url_of(target)) as store:
        number = restored(store, records)["page"]
    if is_postgres(target):
        found = rows_of(target, "SELECT reltuples FROM pg_class WHERE oid = 'pages'::regclass")
        assert found == [(number,)]


@pytest.mark.parametrize("target", ["sqlite"], indirect=True)
def test_memory_does_not_grow_with_the_store(target: Path) -> None:
    source = many(4_000)
    with Store.open(url_of(target)) as store:
        tracemalloc.start()
        try:
            numbers = restore(session_of(store), *read_export(source))
            assert numbers is not None
            assert numbers["page"] == 4_000
            _, restoring = tracemalloc.get_traced_memory()
            tracemalloc.reset_peak()
            assert sum(1 for _ in export(session_of(store))) == 4_002
            _, exporting = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert restoring < 16e6, "20 MB of texts went in"
    assert exporting < 8e6, "20 MB of texts came out"
