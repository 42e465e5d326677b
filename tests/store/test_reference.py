"""The store against a slow store of plain dictionaries, over any sequence of steps."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shingling import Page, Store, Verdict, sign
from shingling.similarity import estimate
from shingling.sketch import Banding

from .invariants import (
    beginning,
    containment,
    ending,
    groups_of,
    jaccard,
    text,
    url_of,
    verify,
    words,
)

THRESHOLD = 0.8
LEAST = 20
SIZE = 5

FIRST, SECOND = words("first", 120), words("second", 90)
TEXTS = [
    text(FIRST),
    text([*FIRST[:60], "other", *FIRST[61:]]),
    text(ending(FIRST, 2, 9)),
    text(beginning(FIRST, 3, 10)),
    text(beginning(ending(FIRST, 2, 9), 4, 3)),
    text(ending(beginning(FIRST, 3, 10), 5, 5)),
    text(ending(FIRST, 6, 60)),
    text(SECOND),
    text(ending(SECOND, 7, 6)),
    text(beginning(SECOND, 8, 7)),
    text(words("third", 60)),
    text(FIRST[:12]),
    text(FIRST[:13]),
    "three short words",
    "",
]
SIGNATURES = {main_text: sign(main_text) for main_text in TEXTS}
LIKENESS = {
    (a, b): 1.0 if a == b else jaccard(a, b) for a in TEXTS for b in TEXTS if len(a) and len(b)
}
LONG = [main_text for main_text in TEXTS if len(main_text.split()) >= LEAST]
SCOPES = ("", "other")


@dataclass(eq=False)
class Known:
    """A page as the dictionaries know it."""

    number: int
    scope: str
    url: str
    text: str
    head: Known | None = None
    exact: bool = False


@dataclass
class Dictionaries:
    """The five steps of DESIGN.md, without signatures, bands or SQL."""

    pages: dict[tuple[str, str], Known] = field(default_factory=dict)
    numbers: int = 0

    def check(self, page: Page) -> Verdict:
        main_text = page.text or ""
        if not main_text:
            return Verdict("skipped", reason="no_main_text")
        known, previous = self.pages.get((page.scope, page.url)), None
        if known is None:
            self.numbers += 1
            known = Known(self.numbers, page.scope, page.url, main_text)
            self.pages[page.scope, page.url] = known
        elif known.text == main_text:
            return self.verdict(known, "unchanged")
        else:
            previous = LIKENESS[known.text, main_text]
            members = self.members(known)
            known.text, known.head = main_text, None
            self.regroup(members)
        count = len(main_text.split())
        others = [other for other in self.scope(page.scope) if other is not known]
        if count >= SIZE:
            for other in others:
                if other.text == main_text:
                    known.head, known.exact = other.head or other, True
                    return self.verdict(known, "exact", previous)
        known.exact = False
        if count < LEAST:
            return self.verdict(known, "skipped", previous, reason="short")
        known.head = self.best(known, [other for other in others if other.head is None])
        if known.head is not None:
            return self.verdict(known, "near", previous)
        return self.verdict(known, "new" if previous is None else "changed", previous)

    def forget(self, urls: list[str]) -> int:
        gone = [known for known in self.ordered() if known.url in urls]
        for known in gone:
            del self.pages[known.scope, known.url]
        for known in gone:
            self.regroup(self.members(known))
        return len(gone)

    def ordered(self) -> list[Known]:
        return sorted(self.pages.values(), key=lambda known: known.number)

    def scope(self, name: str) -> list[Known]:
        return [known for known in self.ordered() if known.scope == name]

    def members(self, head: Known) -> list[Known]:
        return [known for known in self.ordered() if known.head is head]

    def regroup(self, members: list[Known]) -> None:
        heads: list[Known] = []
        for known in members:
            twins = [head for head in heads if head.text == known.text]
            known.head = twins[0] if twins else self.best(known, heads)
            known.exact = bool(twins)
            if known.head is None:
                heads.append(known)

    @staticmethod
    def best(known: Known, heads: list[Known]) -> Known | None:
        alike = [
            (-LIKENESS[known.text, head.text], head.number, head)
            for head in heads
            if len(head.text.split()) >= LEAST and LIKENESS[known.text, head.text] >= THRESHOLD
        ]
        return min(alike)[2] if alike else None

    @staticmethod
    def verdict(
        known: Known, status: str, previous: float | None = None, reason: str | None = None
    ) -> Verdict:
        head = known.head
        like = None if head is None else LIKENESS[known.text, head.text]
        return Verdict(
            status,
            original=None if head is None else head.url,
            resemblance=previous if status == "changed" else like,
            containment=None if head is None else containment(known.text, head.text),
            page_id=known.number,
            reason=reason,
            previous=previous,
        )

    def groups(self) -> dict[str, tuple[str | None, float | None, str]]:
        return {
            known.scope + known.url: (
                None if known.head is None else known.head.url,
                None if known.head is None else LIKENESS[known.text, known.head.text],
                SIGNATURES[known.text].text_hash.hex().upper(),
            )
            for known in self.pages.values()
        }


def test_the_texts_leave_nothing_to_chance() -> None:
    banding = Banding.for_threshold(THRESHOLD)
    for a, b in combinations(LONG, 2):
        first, second = SIGNATURES[a], SIGNATURES[b]
        if LIKENESS[a, b] >= THRESHOLD:
            keys = banding.keys([first.minima, second.minima])
            assert (keys[0] == keys[1]).any(), "they share a band"
            assert abs(estimate(first, second) - LIKENESS[a, b]) < 0.1
        assert abs(LIKENESS[a, b] - THRESHOLD) > 0.01
    for a in LONG:
        alike = [LIKENESS[a, b] for b in LONG if b != a and LIKENESS[a, b] >= THRESHOLD]
        assert len(alike) == len(set(alike)), "no two are as alike"
    chains = [
        (a, b, c)
        for a, b in combinations(LONG, 2)
        for c in LONG
        if LIKENESS[a, b] < THRESHOLD <= min(LIKENESS[a, c], LIKENESS[c, b])
    ]
    assert len(chains) >= 4


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("empty") / "empty.db"
    Store.open(url_of(path)).close()
    return path


URLS = [f"https://example.org/{letter}" for letter in "abcdefg"]
Step = list[Page] | list[str]


def page(url: str, main_text: str, scope: str) -> Page:
    return Page(url, main_text, SIGNATURES[main_text], scope=scope)


def take(step: Step, store: Store, reference: Dictionaries) -> None:
    """Take one step in both, and compare what they say of it."""
    urls = [item for item in step if isinstance(item, str)]
    batch = [item for item in step if isinstance(item, Page)]
    if urls:
        assert store.count(urls) == sum(known.url in urls for known in reference.ordered())
        assert store.forget(urls) == reference.forget(urls)
    else:
        assert store.check(batch, THRESHOLD) == [reference.check(item) for item in batch]


def compare(path: Path, store: Store, reference: Dictionaries) -> None:
    """Check that both hold the same groups, and that the store is in order."""
    assert groups_of(path) == reference.groups()
    verify(path)
    heads = Counter(known.head is None for known in reference.ordered())
    status = store.status()
    assert (status["originals"], status["duplicates"]) == (heads[True], heads[False])
    assert status["pages"] == len(reference.pages)
    assert status["exact"] + status["near"] == status["duplicates"]
    groups = {group.original.id: len(group.duplicates) for group in store.groups()}
    assert groups == Counter(known.head.number for known in reference.ordered() if known.head)


fetches = st.lists(
    st.builds(
        page,
        st.sampled_from(URLS),
        st.sampled_from(TEXTS),
        st.sampled_from(SCOPES[:1] * 4 + SCOPES[1:]),
    ),
    min_size=1,
    max_size=6,
)
forgets = st.lists(st.sampled_from(URLS), min_size=1, max_size=3, unique=True)


@settings(max_examples=60, deadline=None)
@given(st.lists(fetches | fetches | forgets, max_size=9))
def test_every_sequence_of_steps_is_decided_as_by_the_definition(
    empty: Path, steps: list[Step]
) -> None:
    with TemporaryDirectory() as folder:
        path, reference = Path(folder, "dedup.db"), Dictionaries()
        shutil.copy(empty, path)
        with Store.open(url_of(path)) as store:
            for step in steps:
                take(step, store, reference)
                compare(path, store, reference)


@pytest.mark.parametrize("seed", range(3))
def test_a_long_walk_is_decided_as_by_the_definition(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    urls = [f"https://example.org/{number}" for number in range(5 + 10 * seed)]
    path, reference = tmp_path / "dedup.db", Dictionaries()
    kinds: Counter[str] = Counter()
    with Store.open(url_of(path)) as store:
        for turn in range(160):
            step: Step
            if turn % 10 == 9:
                step = random.sample(urls, 2)
            else:
                texts = random.choices(TEXTS, k=random.randint(1, 5))
                step = [page(random.choice(urls), main_text, "") for main_text in texts]
            before = {known.url: known.head for known in reference.ordered()}
            take(step, store, reference)
            compare(path, store, reference)
            kinds["promoted"] += sum(
                known.head is None and before.get(known.url) is not None
                for known in reference.ordered()
            )
            kinds.update(stored.last_verdict for stored in store.pages())
    least = {"new", "exact", "near", "unchanged", "changed", "skipped", "promoted"}
    assert all(kinds[kind] >= 10 for kind in least), kinds
