"""Keys that too many pages have, keys of SimHashes, and the tables that keep keys."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import shingling.store.decide.check
import shingling.store.similar
from shingling import Page, Rules, Scheme, Signature, Store, sign
from shingling.sketch import Halves
from shingling.store.backends.base import MAX_PAGES_PER_KEY
from shingling.store.decide.meet import meet
from shingling.store.decide.write import write_batch
from shingling.store.schema.tables import LIVE
from tests.support.invariants import beginning, ending, entries_of, text, verify, words
from tests.support.stores import emptied, execute, session_of, url_of

if TYPE_CHECKING:
    from pathlib import Path

    from shingling import Verdict
    from shingling.store.schema.rows import Row


COUNT = MAX_PAGES_PER_KEY + 20
RULES = Rules(threshold=0.8, store_text=False)


def templates(first: int, count: int) -> list[Page]:
    """Return pages that share one band of six minima, half a SimHash, and nothing else."""
    chance = np.random.default_rng(first)
    minima = chance.integers(0, 2**32, (count, 84), dtype=np.uint32)
    minima[:, :6] = 7
    halves = chance.integers(0, 2**32, count).tolist()
    return [
        Page(
            f"https://example.org/{first + number}",
            signature=Signature(row, half, (first + number).to_bytes(16), 200, Scheme().id),
        )
        for number, (row, half) in enumerate(zip(minima, halves, strict=True))
    ]


def test_look_ups_of_a_full_key_are_bounded_counted_and_told(file: Path) -> None:
    with Store.open(url_of(file), rules=RULES) as store:
        run = store.start_run("spider")
        verdicts = []
        pages = templates(0, COUNT)
        for start in range(0, COUNT, 20):
            verdicts += store.check(pages[start : start + 20], rules=RULES, run=run)
        assert {verdict.status for verdict in verdicts} == {"new"}
        assert [verdict.candidates for verdict in verdicts] == [
            min(number, MAX_PAGES_PER_KEY) for number in range(COUNT)
        ]
        assert run.counts["full_keys"] == 2, "batches that met it"
        assert store.status().full_keys == 1
        # The oldest are found, and a page that is alike by another band is found as ever.
        oldest, youngest = pages[0].signature, pages[-1].signature
        for signature in (oldest, youngest):
            assert signature is not None
            [match] = store.similar(signature, 0.9)
            assert match.resemblance == 1
        copy = Page("https://example.org/copy", signature=pages[-1].signature)
        assert store.check([copy], rules=RULES)[0].original == pages[-1].url
        store.admin.rebuild(0.8)
        assert store.check(templates(1000, 1), rules=RULES)[0].candidates == MAX_PAGES_PER_KEY
        assert store.status().full_keys == 1


@pytest.mark.parametrize("method", ["minhash", "simhash"])
def test_pages_of_other_scopes_take_no_place_under_a_key_and_are_found_by_a_search(
    file: Path, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = replace(RULES, method=method)
    pages = templates(0, COUNT)
    with Store.open(url_of(file), rules=rules) as store:
        store.check([replace(page, scope="a") for page in pages])
        later = [replace(page, scope=scope) for scope in ("b", "") for page in pages[-2:]]
        assert [verdict.candidates for verdict in store.check(later)] == [0, 1, 0, 1]
        store.admin.rebuild(rules=rules)
        youngest = pages[-1].signature
        assert youngest is not None
        for most in (shingling.store.similar._MAX_KEYS, 1):
            monkeypatch.setattr(shingling.store.similar, "_MAX_KEYS", most)
            for found in (store.similar(youngest, 0.9), store.within(youngest, 3)):
                assert [match.page.scope for match in found] == ["a", "b", ""]
    verify(file)


def test_of_pages_with_one_text_under_many_titles_some_are_looked_at(store: Store) -> None:
    shell = text(words("shell"))

    def pages(numbers: range) -> list[Page]:
        return [Page(f"https://a.example/{n}", shell, title=f"Title of {n:x}") for n in numbers]

    rules = Rules(templates=False)
    store.check(pages(range(100)), rules=rules)
    later = store.check(pages(range(100, 110)), rules=rules)
    assert [verdict.reason for verdict in later] == ["other_title"] * 10
    again = Page("https://a.example/again", shell, title="Title of 5")
    [verdict] = store.check([again], rules=rules)
    assert (verdict.status, verdict.original) == ("exact", "https://a.example/5")


STORED = 20_000
PLANTED = 500  # pairs of each distance are among them


def _flip(values: np.ndarray, bits: int, width: int, chance: np.random.Generator) -> np.ndarray:
    """Return values that each differ in so many bits of their own."""
    places = chance.permuted(np.tile(np.arange(width), (len(values), 1)), axis=1)[:, :bits]
    masks = (np.uint64(1) << places.astype(np.uint64)).sum(axis=1, dtype=np.uint64)
    flipped: np.ndarray = values ^ masks
    return flipped


@pytest.mark.parametrize(("width", "most_inspected"), [(64, 1), (32, 100)])
def test_all_within_three_bits_is_found_and_little_else(width: int, most_inspected: int) -> None:
    chance = np.random.default_rng(3)
    stored = chance.integers(0, 2**width, STORED, np.uint64)
    queries = np.concatenate([_flip(stored[:PLANTED], bits, width, chance) for bits in range(6)])
    halves = Halves(width)
    pages = defaultdict[int, set[int]](set)
    for page, own in enumerate(halves.keys(stored.tolist()).tolist()):
        for key in own:
            pages[key].add(page)
    inspected = 0
    for query, probes in zip(queries, halves.probes(queries.tolist(), 3).tolist(), strict=True):
        found = {page for key in probes for page in pages.get(key, ())}
        inspected += len(found)
        within = np.flatnonzero(np.bitwise_count(stored ^ query) <= 3)
        assert found.issuperset(within.tolist())
    assert inspected / len(queries) <= most_inspected + 1
    # Random SimHashes come in as the formula says, 66 n / 2^32 of 64 bits, 34 n / 2^16 of 32.
    by_chance = 66 * STORED / 2**32 if width == 64 else 34 * STORED / 2**16
    assert inspected / len(queries) == pytest.approx(by_chance + 1, rel=0.5)


# Tables of keys, of which a part is in memory


class _RolledBackError(Exception):
    pass


BASE = words("base", 60)
TEXTS = [
    text(BASE),
    text(ending(BASE, 1, 3)),
    text(beginning(BASE, 2, 3)),
    text(ending(BASE, 3, 30)),
    *(text(words(seed, 40)) for seed in "abcd"),
]
SIGNATURES = {main_text: sign(main_text) for main_text in TEXTS}
pages = st.lists(
    st.builds(
        lambda url, main_text: Page(url, main_text, SIGNATURES[main_text]),
        st.sampled_from("abcdefgh"),
        st.sampled_from(TEXTS),
    ),
    min_size=1,
    max_size=5,
)
acts = st.one_of(
    st.tuples(st.just("check"), pages),
    st.tuples(st.just("check"), pages),
    st.tuples(st.just("fail"), pages),
    st.tuples(st.just("forget"), st.sets(st.sampled_from("abcdefgh"), min_size=1, max_size=3)),
    st.tuples(st.just("rebuild"), st.sampled_from([0.5, 0.8])),
    st.tuples(st.just("decide"), st.sampled_from([0.6, 0.8])),
)


def act(store: Store, kind: str, what: Any) -> None:
    if kind == "check":
        store.check(what, 0.8)
    elif kind == "forget":
        store.admin.forget(sorted(what))
    elif kind == "rebuild":
        store.admin.rebuild(what)
    elif kind == "decide":
        store.admin.redecide(Rules(threshold=what))
    else:
        fail(store, what)


def fail(store: Store, batch: list[Page]) -> None:
    """Check pages, and fail after some of them, or once all are written."""
    decided: list[tuple[Verdict, list[Row]]] = []

    def failing(*arguments: object) -> tuple[Verdict, list[Row]]:
        decided.append(meet(*arguments))  # type: ignore[arg-type]
        batch_of = arguments[2]
        if len(decided) == len(batch):
            write_batch(batch_of)  # type: ignore[arg-type]
            raise _RolledBackError
        return decided[-1]

    with pytest.MonkeyPatch.context() as patch, suppress(_RolledBackError):
        patch.setattr(shingling.store.decide.check, "meet", failing)
        store.check(batch, 0.8)


def test_recent_keys_in_slices_of_an_earlier_release_are_found(tmp_path: Path) -> None:
    path = tmp_path / "dedup.db"
    with Store.open(url_of(path), rules=RULES) as store:
        store.check(templates(0, 2))
    execute(path, "UPDATE recent SET slice = 5")
    with Store.open(url_of(path), rules=RULES) as store:
        assert store.check(templates(1000, 1))[0].candidates == 2
    verify(path)


@pytest.mark.usefixtures("few_recent")
@settings(max_examples=12)
@given(st.lists(st.tuples(st.integers(0, 1), acts), max_size=14))
def test_two_crawlers_in_turn_leave_a_store_in_order_and_find_all_of_it(
    empty: Path, taken: list[tuple[int, tuple[str, object]]]
) -> None:
    with (
        emptied(empty) as path,
        Store.open(url_of(path)) as first,
        Store.open(url_of(path)) as second,
    ):
        for who, (kind, what) in taken:
            act((first, second)[who], kind, what)
            verify(path)
        expected = {key: set[int]() for key, _ in entries_of(path, "bands")}
        for key, page_id in entries_of(path, "bands"):
            expected[key].add(page_id)
        for store in (first, second):
            with session_of(store).reading() as connection:
                bands = session_of(store).database.postings(connection, LIVE.bands)
                found = bands.find(expected)
            assert {key: set(ids) for key, ids in found.items()} == expected
