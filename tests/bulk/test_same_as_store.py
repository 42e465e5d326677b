"""The result of a run is that of checking its rows one by one."""

from __future__ import annotations

import gzip
import json
import os
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

import shingling.bulk.buckets
import shingling.bulk.greedy
import shingling.bulk.measuring
import shingling.bulk.sorting
import shingling.store.index.lookup
import shingling.store.index.postings
import shingling.store.index.recent
from shingling import Rules, Scheme, SimhashFeatures, Store
from shingling.bulk import Options, Progress, deduplicate
from shingling.bulk.measuring import Measurer, Pairs
from shingling.bulk.signing.chunks import ROW_RECORD
from shingling.bulk.sorting import find_shared_halves
from shingling.extraction.processes import Worker
from shingling.rules.defaults import MAX_SIMHASH_DISTANCE
from shingling.sketch import Halves

from .collections import bulk, families, one_by_one, random_texts, read_lines, write_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from shingling.bulk.signed_rows import SignedRows

DATA = Path(os.environ.get("DEDUP_DATA", "../shared/data"))


@pytest.mark.parametrize(
    "rules",
    [
        Rules(),
        Rules(threshold=0.8),
        Rules(threshold=0.3, min_words=5),
        Rules(method="megashingle"),
        Rules(method="minhash+simhash", simhash_distance=7),
        Rules(method="exact"),
        Rules(method="simhash"),
        Rules(method="simhash", simhash_distance=0),
        Rules(method="simhash", simhash_distance=7, min_words=12),
    ],
    ids=lambda rules: f"{rules.method} {rules.threshold}",
)
def test_every_method_decides_as_the_store_does(rules: Rules, tmp_path: Path) -> None:
    rows = families(3, 400, random_texts(1, 12))
    found = bulk(write_lines(tmp_path / "rows.jsonl", rows), tmp_path / "out", rules=rules)
    assert found == one_by_one(rows, tmp_path / "dedup.db", rules)
    assert len(found.removed) > 50


def test_a_scheme_of_characters_decides_as_the_store_does(tmp_path: Path) -> None:
    scheme = Scheme(
        shingle_size=9,
        unit="characters",
        family="crc",
        simhash=SimhashFeatures(features="characters:4"),
    )
    rows = families(4, 100, random_texts(2, 8))
    file = write_lines(tmp_path / "rows.jsonl", rows)
    found = bulk(file, tmp_path / "out", scheme=scheme)
    assert found == one_by_one(rows, tmp_path / "dedup.db", Rules(), scheme)
    assert found.removed


@pytest.fixture
def low_limits(request: pytest.FixtureRequest) -> Iterator[None]:
    """Lower all limits of what is done at once."""
    block, pairs, most = request.param
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shingling.bulk.greedy, "_MAX_BLOCK_ROWS", block)
        patch.setattr(shingling.bulk.buckets, "_MAX_PAIRS_COMPARED", pairs)
        for module in (
            shingling.bulk.greedy,
            shingling.bulk.buckets,
            shingling.bulk.sorting,
            shingling.store.index.lookup,
            shingling.store.index.postings,
            shingling.store.index.recent,
        ):
            if hasattr(module, "MAX_PAGES_PER_KEY"):
                patch.setattr(module, "MAX_PAGES_PER_KEY", most)
        yield


@pytest.mark.parametrize(
    "low_limits",
    [(64, 100, 128), (17, 7, 3), (100, 1000, 2), (7, 10, 1)],
    indirect=True,
)
@pytest.mark.usefixtures("low_limits")
def test_blocks_parts_and_full_keys_change_nothing(tmp_path: Path) -> None:
    rows = families(5, 600, random_texts(3, 4))
    file = write_lines(tmp_path / "rows.jsonl", rows)
    found = bulk(file, tmp_path / "out", memory=50_000)
    assert found == one_by_one(rows, tmp_path / "dedup.db", Rules())
    assert len(found.removed) > 100


class Simhashes:
    """Rows of which nothing but SimHashes is known, in chunks of 100."""

    def __init__(self, simhashes: NDArray[np.uint64]) -> None:
        self._records = np.zeros(len(simhashes), ROW_RECORD)
        self._records["simhash"] = simhashes

    def chunks(self) -> Iterator[tuple[int, int, int]]:
        for chunk, start in enumerate(range(0, len(self._records), 100)):
            yield chunk, start, start + 100

    def load(self, chunk: int, _: str) -> NDArray[Any]:
        return self._records[100 * chunk :][:100]


@pytest.mark.parametrize(
    ("low_limits", "bits", "distance"),
    [((64, 100, 128), 64, 3), ((17, 7, 3), 32, 3), ((100, 1000, 2), 32, 6), ((7, 10, 1), 64, 3)],
    indirect=["low_limits"],
)
@pytest.mark.usefixtures("low_limits")
def test_simhashes_with_full_keys_decide_as_the_store_does(
    bits: int, distance: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shingling.bulk.sorting, "_ROWS_LOOKED_UP", 50)
    scheme = Scheme(simhash=SimhashFeatures(bits=bits, features="words"))
    rules = Rules(method="simhash", simhash_distance=distance, min_words=9)
    rows = families(5, 600, random_texts(3, 9, 80), 80, max_replaced=3)
    file = write_lines(tmp_path / "rows.jsonl", rows)
    found = bulk(file, tmp_path / "out", rules=rules, scheme=scheme)
    assert found == one_by_one(rows, tmp_path / "dedup.db", rules, scheme)
    assert sum(status == "near" for _, status, *_ in found.removed.values()) > 30


def test_every_pair_of_simhashes_within_the_distance_is_found(tmp_path: Path) -> None:
    chance = np.random.default_rng(1)
    values = [*chance.integers(0, 2**64, 500, np.uint64).tolist()]
    for value in values[:300]:
        value ^= sum(1 << int(bit) for bit in chance.choice(64, chance.integers(0, 9), False))
        values.append(value)
    chance.shuffle(values)
    simhashes = np.array(values, np.uint64)
    for distance in range(MAX_SIMHASH_DISTANCE + 1):
        signed = cast("SignedRows", Simhashes(simhashes))
        folder = tmp_path / str(distance)
        folder.mkdir()
        shared = find_shared_halves(
            signed, np.ones(800, bool), Halves(64), distance, folder, lambda _: None
        )
        members: dict[int, set[int]] = {}
        for row, bucket in np.transpose(shared.of_originals(0, 800)).tolist():
            members.setdefault(bucket, set()).add(row)
        looked_up = np.transpose(shared.looked_up(0, 800)).tolist()
        found = {(row, other) for row, bucket in looked_up for other in members[bucket]}
        apart = np.bitwise_count(simhashes[:, None] ^ simhashes[None, :])
        wanted = {(a, b) for a, b in np.argwhere(apart <= distance).tolist() if b < a}
        assert wanted <= found
        assert len(wanted) >= 30


def test_measuring_ahead_in_workers_of_which_some_die_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shingling.bulk.greedy, "_MAX_BLOCK_ROWS", 100)
    monkeypatch.setattr(shingling.bulk.measuring, "_MIN_PAIRS_FOR_WORKERS", 1)
    learned: list[int] = []
    learn, ask = Measurer.learn, Worker.ask

    def noted(self: Measurer, measured: NDArray[np.int64]) -> None:
        learned.append(len(measured))
        learn(self, measured)

    def asked(self: Worker, message: object) -> object:
        if isinstance(message, Pairs) and len(learned) == 2:
            self.kill()
        return ask(self, message)

    monkeypatch.setattr(Measurer, "learn", noted)
    monkeypatch.setattr(Worker, "ask", asked)
    rows = families(5, 400, random_texts(3, 4))
    file = write_lines(tmp_path / "rows.jsonl", rows)
    found = bulk(file, tmp_path / "out", workers=2)
    assert found == one_by_one(rows, tmp_path / "dedup.db", Rules())
    assert [number > 0 for number in learned] == [False, True, False, True]


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is one of Linux")
def test_pairs_that_take_a_worker_too_much_memory_are_measured_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shingling.bulk.greedy, "_MAX_BLOCK_ROWS", 20)
    monkeypatch.setattr(shingling.bulk.measuring, "_MIN_PAIRS_FOR_WORKERS", 1)
    rows = families(5, 120, random_texts(3, 4))
    long = "a b c d e f g " * 600_000
    for number in (3, 30, 50):
        rows[number]["text"] = f"{long} {'an end of its own ' * number}"
    learned: list[set[int]] = []
    learn = Measurer.learn

    def noted(self: Measurer, measured: NDArray[np.int64]) -> None:
        learned.append({*measured[:, 0].tolist()})
        learn(self, measured)

    def interrupt(progress: Progress) -> None:
        if progress.phase == "sorting":
            raise KeyboardInterrupt

    monkeypatch.setattr(Measurer, "learn", noted)
    file = write_lines(tmp_path / "rows.jsonl", rows)
    with pytest.raises(KeyboardInterrupt):
        deduplicate([str(file)], tmp_path / "out", Options(workers=2), progress=interrupt)
    # What is left of the run has less memory than signing took.
    found = bulk(file, tmp_path / "out", workers=2, worker_memory=170 << 20)
    assert found == one_by_one(rows, tmp_path / "dedup.db", Rules())
    in_workers = set().union(*learned)
    assert len(in_workers) >= 5
    assert not in_workers & {30, 50}
    assert {"row 30", "row 50"} <= found.removed.keys()


def test_a_template_that_all_rows_share_takes_no_quadratic_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rnd = random.Random(9)
    [template] = random_texts(4, 1, 40)
    rows = [
        {"id": str(number), "text": f"{template} {random_texts(rnd.randrange(10**9), 1, 60)[0]}"}
        for number in range(700)
    ]
    compared = 0
    select = shingling.bulk.buckets.Candidates.select

    def counted(self: object, equal: object, *others: object) -> object:
        nonlocal compared
        compared += len(equal)  # type: ignore[arg-type]
        return select(self, equal, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(shingling.bulk.buckets.Candidates, "select", counted)
    monkeypatch.setattr(shingling.bulk.greedy, "_MAX_BLOCK_ROWS", 128)
    found = bulk(write_lines(tmp_path / "rows.jsonl", rows), tmp_path / "out")
    assert found == one_by_one(rows, tmp_path / "dedup.db", Rules())
    assert not found.removed
    assert 0 < compared < 700 * 699 / 2 / 2


def test_rows_without_a_word_in_common_are_all_kept(tmp_path: Path) -> None:
    rows = [{"id": str(at), "text": one} for at, one in enumerate(random_texts(8, 50))]
    found = bulk(write_lines(tmp_path / "rows.jsonl", rows), tmp_path / "out")
    assert (found.kept, found.removed) == ([row["id"] for row in rows], {})


def test_what_is_put_into_a_store_is_what_it_would_have_decided(tmp_path: Path) -> None:
    rows = families(6, 300, random_texts(5, 6))
    file = write_lines(tmp_path / "rows.jsonl", rows)
    rules = Rules(templates=False)
    with Store.open(f"sqlite:///{tmp_path / 'new.db'}", rules=rules) as store:
        summary = deduplicate([str(file)], tmp_path / "out", Options(workers=0), store=store)
        stored = {page.url: (page.original, page.status) for page in store.pages()}
        [run] = store.runs()
    expected = one_by_one(rows, tmp_path / "one.db", rules)
    with Store.open(f"sqlite:///{tmp_path / 'one.db'}") as store:
        assert stored == {page.url: (page.original, page.status) for page in store.pages()}
    assert summary.stored == run.counts
    assert (summary.exact, summary.near) == (run.counts["exact"], run.counts["near"])
    assert {url: head for url, (head, _) in stored.items() if head is not None} == {
        url: head for url, (head, *_) in expected.removed.items()
    }
    with Store.open(f"sqlite:///{tmp_path / 'new.db'}") as store:  # a later crawl goes on
        deduplicate([str(file)], tmp_path / "again", Options(workers=0), store=store)
        assert store.runs()[0].counts == {"unchanged": 300}


def test_a_store_of_another_index_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    from shingling.errors import BandingError

    with (
        Store.open(f"sqlite:///{tmp_path / 'new.db'}", threshold=0.9) as store,
        pytest.raises(BandingError, match="rebuild"),
    ):
        deduplicate(["rows.jsonl"], tmp_path / "out", Options(), store=store)
    assert not (tmp_path / "out").exists()


@pytest.mark.data
@pytest.mark.skipif(not DATA.is_dir(), reason="no labelled data (DEDUP_DATA)")
def test_mccormick_has_exactly_its_twenty_planted_duplicates(tmp_path: Path) -> None:
    file = DATA / "mccormick" / "articles_2500.jsonl.gz"
    found = bulk(file, tmp_path / "out", workers=2)
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        clusters = {row["id"]: row["cluster"] for row in map(json.loads, lines)}
    assert len(found.removed) == 20
    for name, (original, *_) in found.removed.items():
        assert clusters[name] == clusters[original]
    groups = read_lines(tmp_path / "out" / "groups.jsonl")
    assert sum(len(group["duplicates"]) for group in groups) == 20


@pytest.mark.data
@pytest.mark.skipif(not DATA.is_dir(), reason="no labelled data (DEDUP_DATA)")
def test_real_texts_in_three_languages_are_decided_as_the_store_does(tmp_path: Path) -> None:
    with gzip.open(DATA / "waddle" / "manifest.jsonl.gz", "rt", encoding="utf-8") as lines:
        pages = [json.loads(line) for line in lines]
    rows = [{"id": page["file"], "text": page["gold"]} for page in pages if page["gold"].strip()]
    rnd = random.Random(1)
    cut = [
        {"id": f"{row['id']} cut", "text": row["text"][: int(len(row["text"]) * rnd.random())]}
        for row in rows[:300]
    ]
    mixed = [row for row in rnd.sample(rows + cut, len(rows) + len(cut)) if row["text"].split()]
    found = bulk(write_lines(tmp_path / "rows.jsonl", mixed), tmp_path / "out", workers=2)
    assert found == one_by_one(mixed, tmp_path / "dedup.db", Rules())
    assert len(found.removed) > 100
