"""The result of a run is that of checking its rows one by one."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pytest

import shingling.store.decide.decide
from shingling import Rules, Scheme, SimhashFeatures, Store, sign
from shingling.errors import BandingError
from tests.support.twins import twins

from .collections import bulk, families, one_by_one, random_texts, read_lines, run

if TYPE_CHECKING:
    from pathlib import Path

SHORT = ["cat", "good morning", "cat", "dog", "good morning", "\U0001f44d", "\U0001f44d", "!!!"]
"""Texts of less than a shingle, and three of no words."""

CHARACTERS = Scheme(
    9, unit="characters", family="crc", simhash=SimhashFeatures(features="characters:4")
)


@pytest.mark.parametrize(
    ("rules", "scheme"),
    [
        (Rules(), Scheme()),
        (Rules(threshold=0.3, min_words=5), Scheme()),
        (Rules(method="megashingle"), Scheme()),
        (Rules(method="minhash+simhash", simhash_distance=7), Scheme()),
        (Rules(method="exact"), Scheme()),
        (Rules(method="simhash", simhash_distance=0), Scheme()),
        (Rules(method="simhash", simhash_distance=5, min_words=12), Scheme()),
        (Rules(), CHARACTERS),
        (Rules(method="simhash", simhash_distance=5, min_words=12), CHARACTERS),
    ],
    ids=lambda value: value.method if isinstance(value, Rules) else value.unit,
)
def test_every_method_decides_as_the_store_does(
    rules: Rules, scheme: Scheme, tmp_path: Path
) -> None:
    rows = families(3, 240, random_texts(1, 12))
    rows += [{"id": f"short {at}", "text": text} for at, text in enumerate(SHORT)]
    found = bulk(rows, tmp_path / "out", rules=rules, scheme=scheme)
    assert found == one_by_one(rows, tmp_path / "dedup.db", rules, scheme)
    assert len(found.removed) > 50
    short = {name for name in found.removed if name.startswith("short")}
    assert short == ({"short 2", "short 4"} if rules.method == "exact" else set())


@pytest.mark.parametrize("own_text", ["keep", "strict"])
def test_rows_stay_for_their_own_text_as_on_one_site(
    own_text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A store searches four originals, and then keeps a page.
    monkeypatch.setattr(shingling.store.decide.decide, "_MAX_READ", 99)
    rows = families(3, 120, random_texts(1, 12))
    for at, row in enumerate(rows):
        row["id"] = f"https://one.example/{at}"
        row["text"] += f"\nThe house by the river has {at % 3} rooms"
    found = bulk(rows, tmp_path / "out", own_text=own_text)
    assert found == one_by_one(rows, tmp_path / "dedup.db", Rules(), own_text=own_text)
    assert 0 < len(found.removed) < len(bulk(rows, tmp_path / "all").removed)


def test_short_rows_are_told_of_as_what_becomes_of_them(tmp_path: Path) -> None:
    rows = [{"id": str(at), "text": text} for at, text in enumerate([*SHORT, "a b " * 30])]
    for method, least, short in (("minhash", 20, 8), ("minhash", 1, 8), ("exact", 20, 3)):
        rules = Rules(min_words=least, method=method)
        assert run(rows, tmp_path / "out", restart=True, rules=rules).short == short


@pytest.mark.parametrize(
    ("rules", "scheme"),
    [
        (Rules(), Scheme()),
        (Rules(), Scheme(4, ordered=False)),
        (Rules(method="megashingle"), Scheme()),
        (Rules(method="simhash", simhash_distance=3), Scheme()),
    ],
    ids=["words", "bags", "megashingle", "simhash"],
)
def test_words_decide_where_their_hashes_are_forged(
    rules: Rules, scheme: Scheme, tmp_path: Path
) -> None:
    rows = families(3, 60, random_texts(1, 12))
    rows += [{"id": f"twin {row['id']}", "text": twins(row["text"])} for row in rows]
    assert (
        sign(rows[0]["text"], scheme).minima.tolist()
        == sign(rows[60]["text"], scheme).minima.tolist()
    )
    found = bulk(rows, tmp_path / "out", rules=rules, scheme=scheme)
    assert found == one_by_one(rows, tmp_path / "dedup.db", rules, scheme)
    assert len(found.removed) > 30
    for removed, (original, *_) in found.removed.items():
        assert original.startswith("twin") == removed.startswith("twin")


@pytest.fixture
def low_limits(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower all limits of what is done at once."""
    first, pairs, most = request.param
    monkeypatch.setattr("shingling.bulk.pairs.FIRST_CANDIDATES", first)
    monkeypatch.setattr("shingling.bulk.pairs._MAX_PAIRS_COMPARED", pairs)
    for module in ("bulk.pairs", "store.index", "store.backends.base"):
        monkeypatch.setattr(f"shingling.{module}.MAX_PAGES_PER_KEY", most)


@pytest.mark.parametrize(
    "low_limits",
    [(16, 100, 128), (1, 100, 128), (2, 7, 3), (2, 1000, 2), (1, 10, 1)],
    indirect=True,
)
@pytest.mark.usefixtures("low_limits")
def test_keys_of_many_rows_decide_as_the_store_does(tmp_path: Path) -> None:
    rows = families(5, 600, random_texts(3, 4))
    found = bulk(rows, tmp_path / "out")
    assert found == one_by_one(rows, tmp_path / "dedup.db", Rules())
    assert len(found.removed) > 100


@pytest.mark.parametrize(
    ("low_limits", "bits", "distance"),
    [((1, 100, 128), 64, 3), ((2, 7, 3), 32, 3), ((2, 1000, 2), 32, 4), ((1, 10, 1), 64, 3)],
    indirect=["low_limits"],
)
@pytest.mark.usefixtures("low_limits")
def test_simhashes_with_full_keys_decide_as_the_store_does(
    bits: int, distance: int, tmp_path: Path
) -> None:
    scheme = Scheme(simhash=SimhashFeatures(bits=bits, features="words"))
    rules = Rules(method="simhash", simhash_distance=distance, min_words=9)
    rows = families(5, 600, random_texts(3, 9, 80), 80, max_replaced=3)
    found = bulk(rows, tmp_path / "out", rules=rules, scheme=scheme)
    assert found == one_by_one(rows, tmp_path / "dedup.db", rules, scheme)
    assert sum(status == "near" for _, status, *_ in found.removed.values()) > 30


def test_what_is_put_into_a_store_is_what_it_would_have_decided(tmp_path: Path) -> None:
    rows = families(6, 300, random_texts(5, 6))
    rules = Rules(templates=False)
    with (
        Store.open(f"sqlite:///{tmp_path / 'another.db'}", threshold=0.9) as store,
        pytest.raises(BandingError, match="rebuild"),
    ):
        run("nothing is read", tmp_path / "out", store=store)
    assert not (tmp_path / "out").exists()
    with Store.open(f"sqlite:///{tmp_path / 'new.db'}", rules=rules) as store:
        summary = run(rows, tmp_path / "out", store=store)
        stored = {page.url: (page.original, page.status) for page in store.pages()}
        [made] = store.runs()
    expected = one_by_one(rows, tmp_path / "one.db", rules)
    with Store.open(f"sqlite:///{tmp_path / 'one.db'}") as store:
        assert stored == {page.url: (page.original, page.status) for page in store.pages()}
    assert summary.stored == made.counts
    assert (summary.exact, summary.near) == (made.counts["exact"], made.counts["near"])
    assert {url: head for url, (head, _) in stored.items() if head is not None} == {
        url: head for url, (head, *_) in expected.removed.items()
    }
    with Store.open(f"sqlite:///{tmp_path / 'new.db'}") as store:  # a later crawl goes on
        run(rows, tmp_path / "again", store=store)
        assert store.runs()[0].counts == {"unchanged": 300}


def test_mccormick_has_exactly_its_twenty_planted_duplicates(data: Path, tmp_path: Path) -> None:
    file = data / "mccormick" / "articles_2500.jsonl.gz"
    found = bulk(file, tmp_path / "out", workers=2)
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        clusters = {row["id"]: row["cluster"] for row in map(json.loads, lines)}
    assert len(found.removed) == 20
    for name, (original, *_) in found.removed.items():
        assert clusters[name] == clusters[original]
    groups = read_lines(tmp_path / "out" / "groups.jsonl")
    assert sum(len(group["duplicates"]) for group in groups) == 20
