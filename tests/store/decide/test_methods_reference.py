"""Every method, and pieces of pages, against a slow store of plain dictionaries."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from shingling import Page, Rules, Store, Verdict, sign
from shingling.sketch import shingle_words, winnow
from tests.store.decide.test_reference import (
    FIRST,
    LEAST,
    LIKENESS,
    SCOPES,
    SECOND,
    SIGNATURES,
    SIZE,
    TEXTS,
    THRESHOLD,
    Dictionaries,
    Known,
    compared,
)
from tests.support.invariants import (
    beginning,
    containment,
    ending,
    groups_of,
    jaccard,
    shingles,
    text,
    verify,
    words,
)
from tests.support.stores import both_databases, url_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("few_recent")

CONTAINMENT = 0.9
DISTANCE = 3
METHODS = ("minhash", "megashingle", "simhash", "minhash+simhash")
ALL_RULES = [
    Rules(THRESHOLD, LEAST, method, simhash_distance=DISTANCE, containment=least)
    for method in METHODS
    for least in (None, CONTAINMENT)
]

ADDED = [
    text(ending(FIRST, 20, 6)),
    text(ending(FIRST, 22, 4)),
    text(beginning(FIRST, 23, 6)),
    text(beginning(FIRST, 25, 6)),
    text(FIRST[10:60]),
    text(FIRST[30:110]),
    text(ending(FIRST[20:100], 15, 3)),
    text([*FIRST[5:50], "changed", *FIRST[51:96]]),
    text([*SECOND, *words("fourth", 60)]),
    text([*FIRST, *SECOND]),
    text([*FIRST[5:75], *SECOND[10:80]]),
]
EVERY = [*TEXTS, *ADDED]
# The tables of the slow store are made for its own texts.
LIKENESS.update({(a, b): 1.0 if a == b else jaccard(a, b) for a in EVERY for b in EVERY if a and b})
SIGNATURES.update({main_text: sign(main_text) for main_text in ADDED})

CENTRES = (0, 1 << 63, (1 << 64) - 1)


def simhash_of(place: int) -> int:
    """Return a value within four bits of one of the centres: chains, and equal ones."""
    chance = random.Random(f"simhash {place}")
    value = CENTRES[0 if place < 8 else place % 3]
    for bit in chance.sample(range(64), chance.choice([0, 1, 2, 2, 3, 4])):
        value ^= 1 << bit
    return value


SIGNED = {
    main_text: replace(SIGNATURES[main_text], simhash=simhash_of(place))
    for place, main_text in enumerate(EVERY)
}
SAMPLES = {
    main_text: set(winnow(shingle_words(main_text.split())).tolist())
    for main_text in EVERY
    if len(main_text.split()) >= SIZE
}


def apart(a: str, b: str) -> int:
    return (SIGNED[a].simhash ^ SIGNED[b].simhash).bit_count()


def in_common(a: str, b: str) -> int:
    return len(SAMPLES[a] & SAMPLES[b])


def long(_: str, whole: str) -> int:
    return len(whole.split())


def supershingles(a: str, b: str) -> int:
    first, second = (SIGNED[main_text].minima.tolist() for main_text in (a, b))
    return sum(first[at : at + 14] == second[at : at + 14] for at in range(0, 84, 14))


def alike(a: str, b: str, method: str) -> bool:
    """Return whether a method takes two texts for near-duplicates."""
    near = LIKENESS[a, b] >= THRESHOLD, apart(a, b) <= DISTANCE
    return {
        "minhash": near[0],
        "megashingle": supershingles(a, b) >= 2,
        "simhash": near[1],
        "minhash+simhash": all(near),
    }[method]


@dataclass
class Methods(Dictionaries):
    """The slow store with the method and the containment of any rules."""

    rules: Rules = field(default_factory=lambda: ALL_RULES[0])

    @property
    def how(self) -> object:
        return self.rules

    inner: Known | None = None  # a piece of the page that was decided last

    def check(self, page: Page) -> Verdict:
        self.inner, self.was_placed = None, False
        verdict = super().check(page)
        known = self.pages.get((page.scope, page.url))
        is_decided = self.was_placed and not self.leads_again and verdict.page_id is not None
        if known is None or not is_decided or verdict.reason == "short" or known.exact:
            return verdict
        if known.head is not None:
            if "simhash" not in self.rules.method or verdict.reason == "piece":
                return verdict
            return replace(verdict, distance=apart(known.text, known.head.text))
        return verdict if self.inner is None else replace(verdict, contains=self.inner.url)

    def place(self, known: Known) -> tuple[str, str | None]:
        self.inner = None
        status, reason = super().place(known)
        if status != "new" or self.rules.containment is None:
            return status, reason
        others = [other for other in self.scope(known.scope) if self.counts(other)]
        known.head = self.part_of(known, others, in_common, whole=True)
        if known.head is not None:
            return "near", "piece"
        self.inner = self.part_of(known, others, in_common, whole=False)
        return status, reason

    def part_of(
        self, known: Known, others: list[Known], likely: Callable[[str, str], float], *, whole: bool
    ) -> Known | None:
        """Return the original that a page is a piece of, or one that is a piece of it.

        The one that holds most of the page, then the likeliest, then the oldest. On another site
        it is at most four times as long.
        """
        found = [
            (
                -containment(known.text, other.text),
                -likely(known.text, other.text),
                other.number,
                other,
            )
            for other in others
            if other is not known
            and other.head is None
            and len(other.text.split()) >= LEAST
            and containment(known.text, other.text) >= CONTAINMENT
            and (len(shingles(known.text)) <= len(shingles(other.text))) == whole
            and (
                known.site == other.site
                or 4 * len(shingles(known.text)) >= len(shingles(other.text))
            )
        ]
        return min(found)[-1] if found else None

    def best(self, known: Known, heads: list[Known]) -> Known | None:
        taken = [
            (-LIKENESS[known.text, head.text], head.number, head)
            for head in heads
            if len(head.text.split()) >= LEAST and alike(known.text, head.text, self.rules.method)
        ]
        return min(taken)[-1] if taken else None

    def among(self, known: Known, heads: list[Known]) -> Known | None:
        found = self.best(known, heads)
        if found is None and self.rules.containment is not None:
            found = self.part_of(known, heads, long, whole=True)
        return found


Step = list[Page] | list[str] | Rules


def page(url: str, main_text: str, scope: str) -> Page:
    return Page(url, main_text, SIGNED[main_text], scope=scope)


def take(step: Step, path: Path, store: Store, reference: Methods) -> list[Verdict]:
    """Take one step in both, and compare what they say of it and what they hold then."""
    verdicts: list[Verdict] = []
    if isinstance(step, Rules):
        store.admin.rebuild(rules=step)
        reference.rules = step
    else:
        urls = [item for item in step if isinstance(item, str)]
        batch = [item for item in step if isinstance(item, Page)]
        verdicts = store.check(batch, rules=reference.rules)
        assert compared(verdicts) == compared(map(reference.check, batch))
        assert store.admin.forget(urls, rules=reference.rules) == reference.forget(urls)
    assert groups_of(path) == reference.groups()
    verify(path)
    return verdicts


def walk(turns: int, seed: int, many: int) -> list[Step]:
    """Return checks of batches and of single pages, with every eighth step a forget."""
    chance = random.Random(seed)
    urls = [
        f"https://{'other' if number % 4 == 3 else 'example'}.org/{number}"
        for number in range(many)
    ]
    steps: list[Step] = []
    for turn in range(turns):
        if turn % 8 == 7:
            steps.append(chance.sample(urls, 2))
            continue
        texts = chance.choices(EVERY, k=chance.choice([1, 1, 3, 6]))
        steps.append(
            [page(chance.choice(urls), main_text, chance.choice(SCOPES)) for main_text in texts]
        )
    return steps


@pytest.mark.parametrize(
    "rules",
    [ALL_RULES[0], *(rules for rules in ALL_RULES if rules.containment)],
    ids=lambda rules: f"{rules.method} {rules.containment}",
)
def test_a_long_walk_by_one_method_is_decided_as_by_the_definition(
    file: Path, rules: Rules
) -> None:
    reference = Methods(rules=rules)
    kinds: Counter[str] = Counter()
    with Store.open(url_of(file), rules=rules) as store:
        for step in walk(turns=70, seed=1, many=14):
            before = {known.number: known.head for known in reference.ordered()}
            for verdict in take(step, file, store, reference):
                kinds[verdict.status] += 1
                kinds["piece"] += verdict.reason == "piece"
                kinds["contains"] += verdict.contains is not None
            kinds["promoted"] += sum(
                known.head is None and before.get(known.number) is not None
                for known in reference.ordered()
            )
    least = {"new", "exact", "near", "unchanged", "changed", "skipped", "promoted"}
    if rules.containment is not None:
        least |= {"piece", "contains"}
    assert all(kinds[kind] >= 3 for kind in least), kinds


@both_databases
def test_a_walk_through_all_methods_is_decided_as_by_the_definition(file: Path) -> None:
    reference = Methods()
    steps = walk(turns=50, seed=2, many=20)
    with Store.open(url_of(file), rules=ALL_RULES[0]) as store:
        for turn, step in enumerate(steps):
            if turn % 6 == 5:
                take(ALL_RULES[turn % 8], file, store, reference)
                again = [page(one.url, one.text, one.scope) for one in reference.ordered()]
                take(again, file, store, reference)
            take(step, file, store, reference)
