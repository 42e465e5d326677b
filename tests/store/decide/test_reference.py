"""The store against a slow store of plain dictionaries: any sequence of steps, every method."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cache
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings, strategies as st

import shingling.store.decide.titles
import shingling.store.templates
from shingling import Page, Reason, Rules, Store, Verdict, sign
from shingling.sketch import shingle_words, winnow
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
from tests.support.stores import ENDINGS, both_databases, both_empty, emptied, url_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from shingling.sketch import Signature
    from shingling.store.model import Status

pytestmark = pytest.mark.usefixtures("few_recent", "nothing_learned")

THRESHOLD, LOWER = 0.8, 0.6
LEAST = 20
SIZE = 5
MUCH, SURELY = 200, 0.9
CONTAINMENT = 0.9
ALL_RULES = [
    Rules(THRESHOLD, LEAST, method, containment=least, own_text="ignore")
    for method in ("minhash", "megashingle", "simhash", "minhash+simhash")
    for least in (None, CONTAINMENT)
]

EXACT = Rules(THRESHOLD, LEAST, "exact", own_text="ignore")

LETTERS = str.maketrans("0123456789", "abcdefghij")
FIRST, SECOND = words("first", 120), words("second", 90)
LONGEST = text(words("longest", 240)).translate(LETTERS).split()
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
TITLED = [  # more, which are long enough to be one under two titles
    *TEXTS,
    text(LONGEST),
    text(ending(LONGEST, 9, 7)).translate(LETTERS),
    text([*LONGEST[:99], "1986", *LONGEST[100:]]),
    text([*LONGEST[:99], "1986", "2018", *LONGEST[100:]]),
    text(beginning(LONGEST, 10, 16)).translate(LETTERS),
]
PIECES = [  # and pieces of texts, of one and of several
    *TEXTS,
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
EVERY = [*dict.fromkeys([*PIECES, *TITLED])]
LIKENESS = {(a, b): 1.0 if a == b else jaccard(a, b) for a in EVERY for b in EVERY if a and b}
SAMPLES = {
    main_text: set(winnow(shingle_words(main_text.split())).tolist())
    for main_text in EVERY
    if len(main_text.split()) >= SIZE
}
CENTRES = (0, 1 << 63, (1 << 64) - 1)


def simhash_of(place: int) -> int:
    """Return a value within four bits of one of the centres: chains, and equal ones."""
    chance = Random(f"simhash {place}")
    value = CENTRES[0 if place < 8 else place % 3]
    for bit in chance.sample(range(64), chance.choice([0, 1, 2, 2, 3, 4])):
        value ^= 1 << bit
    return value


@cache
def signature_of(main_text: str) -> Signature:
    return replace(sign(main_text), simhash=simhash_of(EVERY.index(main_text)))


def apart(a: str, b: str) -> int:
    return (signature_of(a).simhash ^ signature_of(b).simhash).bit_count()


def in_common(a: str, b: str) -> int:
    return len(SAMPLES[a] & SAMPLES[b])


def long(_: str, whole: str) -> int:
    return len(whole.split())


def supershingles(a: str, b: str) -> int:
    first, second = (signature_of(main_text).minima.tolist() for main_text in (a, b))
    return sum(first[at : at + 14] == second[at : at + 14] for at in range(0, 84, 14))


def are_near(a: str, b: str, rules: Rules) -> bool:
    """Return whether a method takes two texts for near-duplicates."""
    near = LIKENESS[a, b] >= rules.threshold, apart(a, b) <= rules.simhash_distance
    return {
        "minhash": near[0],
        "megashingle": supershingles(a, b) >= 2,
        "simhash": near[1],
        "minhash+simhash": all(near),
        "exact": False,
    }[rules.method]


SCOPES = ("", "other")
TITLES = (None, "Rain falls", "rain falls!", "Rain falls 2", "Flooded")


@pytest.fixture
def nothing_learned() -> Iterator[None]:
    """Have sites teach nothing, and titles stand in all texts: both have tests of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shingling.store.decide.titles, "title_share", lambda *_: 1.0)
        for name in ("learn", "learn_title"):
            patch.setattr(shingling.store.templates.Templates, name, lambda *_: None)
        yield


@dataclass(eq=False)
class Known:
    """A page as the dictionaries know it."""

    number: int
    scope: str
    url: str
    text: str
    title: str | None
    seen: float = 0
    head: Known | None = None
    exact: bool = False
    decided_by: object = None
    rejected: Known | None = None  # the most alike one that its title tells the page apart from
    rejected_likeness: float | None = None
    rejected_containment: float | None = None

    @property
    def top(self) -> Known:
        return self.head or self

    @property
    def site(self) -> str:
        return self.url.split("/")[2]

    @property
    def likeness(self) -> float | None:
        """Return the resemblance to the page that decided: of a copy, to the one that it equals."""
        if self.head is None:
            return self.rejected_likeness
        return 1.0 if self.exact else LIKENESS[self.text, self.head.text]

    def has_title_of(self, other: Known) -> bool | None:
        if self.title is None or other.title is None:
            return None
        return self.title.lower().strip("!") == other.title.lower().strip("!")

    def is_another(self, other: Known) -> bool:
        """Return whether two pages that are alike are two documents by their titles."""
        if self.site != other.site or self.has_title_of(other) is not False:
            return False
        if min(len(self.text.split()), len(other.text.split())) < MUCH:
            return True
        return LIKENESS[self.text, other.text] < SURELY


@dataclass
class Dictionaries:
    """The five steps of DESIGN.md, and a person's word, without signatures, bands or SQL."""

    rules: Rules = ALL_RULES[0]
    pages: dict[tuple[str, str], Known] = field(default_factory=dict)
    reviews: dict[frozenset[str], bool] = field(default_factory=dict)
    numbers: int = 0
    waiting: set[Known] = field(default_factory=set)  # to be decided, or forgotten
    former: Known | None = None  # original of a page that is decided again, because rules differ
    was_placed: bool = False
    inner: Known | None = None  # a piece of the page that was decided last

    def check(self, page: Page) -> Verdict:
        self.inner, self.was_placed = None, False
        verdict = self.decide(page)
        known = self.pages.get((page.scope, page.url))
        is_decided = self.was_placed and verdict.page_id is not None
        if known is None or not is_decided or verdict.reason == "short" or known.exact:
            return verdict
        if known.head is None:
            return verdict if self.inner is None else replace(verdict, contains=self.inner.url)
        if "simhash" not in self.rules.method or verdict.reason in ("piece", "review"):
            return verdict
        return replace(verdict, distance=apart(known.text, known.head.text))

    def decide(self, page: Page) -> Verdict:
        main_text = page.text or ""
        if not main_text:
            return Verdict("skipped", reason=Reason.NO_MAIN_TEXT)
        known, previous = self.pages.get((page.scope, page.url)), None
        self.former = None
        if known is None:
            self.numbers += 1
            known = Known(
                self.numbers, page.scope, page.url, main_text, page.title, page.fetched or 0
            )
            self.pages[page.scope, page.url] = known
        elif known.text == main_text:
            return self.verdict(known, *self.check_again(known))
        else:
            previous = LIKENESS[known.text, main_text]
            known.title = page.title
        known.decided_by = self.rules
        status, reason = self.settle(known, main_text)
        if status == "new" and previous is not None:
            status = "changed"
        return self.verdict(known, status, previous, reason)

    def check_again(self, known: Known) -> tuple[Status, None, Reason | None]:
        """Decide a page whose text is the same: again, if that is by other rules now."""
        if known.decided_by == self.rules:
            return "unchanged", None, None
        self.former, known.decided_by = known.top, self.rules
        former = known.top
        status, reason = self.settle(known, known.text)
        return status if known.head not in (None, former) else "unchanged", None, reason

    def settle(
        self, known: Known, main_text: str, head: Known | None = None
    ) -> tuple[Status, Reason | None]:
        """Decide a page, which may follow a page by a review, and then those that it leaves."""
        before, led = replace(known), self.members(known)
        known.text, known.head, known.exact = main_text, None, False
        known.rejected = known.rejected_likeness = known.rejected_containment = None
        if head is None:
            status, reason = self.place(known)
        else:
            status, reason = self.follow(known, head), Reason.REVIEW
        if before.text != main_text or (known.head, known.exact) != (before.head, before.exact):
            self.hand_on(before)
        self.former, inner = None, self.inner
        if before.text != main_text or known.head is not None:
            self.regroup(led)
        self.inner = inner
        return status, reason

    def counts(self, other: Known) -> bool:
        """Return whether a page counts: decided by the rules of now, or followed before."""
        if other in self.waiting or other.top in self.waiting:
            return False
        return self.former is None or other.top is self.former or other.top.decided_by == self.rules

    def place(self, known: Known) -> tuple[Status, Reason | None]:
        self.was_placed, self.inner = True, None
        status, reason = self.place_whole(known)
        if status != "new" or self.rules.containment is None:
            return status, reason
        others = [other for other in self.scope(known.scope) if self.counts(other)]
        known.head = self.part_of(known, others, in_common, whole=True)
        if known.head is not None:
            return "near", Reason.PIECE
        self.inner = self.part_of(known, others, in_common, whole=False)
        return status, reason

    def place_whole(self, known: Known) -> tuple[Status, Reason | None]:
        barred = self.barred(known)
        for other in self.said(known, same=True):
            is_waiting = other in self.waiting or other.top in self.waiting
            if other.top is not known and other.top not in barred and not is_waiting:
                return self.follow(known, other.top), Reason.REVIEW
        others = [other for other in self.scope(known.scope) if other.top is not known]
        others = [other for other in others if other.top not in barred and self.counts(other)]
        count, is_exact = len(known.text.split()), self.rules.method == "exact"
        twins = [other for other in others if other.text == known.text and not other.exact]
        if count < LEAST:
            twins = [
                twin
                for twin in twins
                if known.has_title_of(twin) or (is_exact and not (known.title or twin.title))
            ]
        same = [one for one in twins if not (known.is_another(one) or known.is_another(one.top))]
        if (count >= SIZE or is_exact) and same:
            known.head, known.exact = same[0].top, True
            return "exact", None
        if count < LEAST:
            return "skipped", Reason.SHORT
        originals = [other for other in others if other.head is None]
        known.head = self.best(known, originals)
        if known.head:
            return "near", None
        told_apart = [twin if known.is_another(twin) else twin.top for twin in twins]
        told_apart += [one for one in self.alike(known, originals) if known.is_another(one)]
        if not told_apart:
            return "new", None
        known.rejected_likeness, _, known.rejected = max(
            (LIKENESS[known.text, other.text], -other.number, other) for other in told_apart
        )
        known.rejected_containment = containment(known.text, known.rejected.text)
        return "new", Reason.OTHER_TITLE

    def follow(self, known: Known, head: Known) -> Status:
        known.head, known.exact = head, known.text == head.text
        return "exact" if known.exact else "near"

    def hand_on(self, known: Known) -> None:
        if known.head is not None and not known.exact:
            others = [one for one in self.members(known.head) if one.number != known.number]
            copies = [one for one in others if one.text == known.text and one not in self.waiting]
            if copies and all(copy.exact for copy in copies):
                copies[0].exact = False

    def forget(self, urls: list[str]) -> int:
        gone = [known for known in self.ordered() if known.url in urls]
        for known in gone:
            del self.pages[known.scope, known.url]
        self.waiting = {*gone}
        for known in gone:
            if known.head is None:
                self.regroup(self.members(known))
            else:
                self.hand_on(known)
        self.waiting = set()
        return len(gone)

    def review(self, a: str, b: str, same: bool | None) -> bool:
        pair = frozenset([a, b])
        before = self.reviews.pop(pair, None)
        if same is not None:
            self.reviews[pair] = same
        elif before is None:
            return False
        for scope in SCOPES:
            both = [known for known in self.scope(scope) if known.url in pair]
            if len(both) < 2:
                continue
            older, younger = both
            together = older.top is younger.top
            if (together and not same) or (same is None and not self.members(younger)):
                row = older if together and younger.head is None else younger
                self.settle(row, row.text)
            elif same and older.top is not younger.top:
                for row, other in ((younger, older), (older, younger)):
                    head = other.top
                    if head not in self.barred(row):
                        self.settle(row, row.text, head)
                        break
        return before is not None

    def redecide(self, rules: Rules) -> None:
        self.rules = rules
        todo = sorted(self.pages.values(), key=lambda known: (known.seen, known.number))
        self.pages = {}
        for known in todo:
            known.head, known.exact = None, False
            known.rejected = known.rejected_likeness = known.rejected_containment = None
            self.pages[known.scope, known.url] = known
            known.decided_by = self.rules
            self.place(known)

    def said(self, known: Known, *, same: bool) -> list[Known]:
        words = [pair - {known.url} for pair, said in self.reviews.items() if said is same]
        return [other for other in self.scope(known.scope) if {other.url} in words]

    def barred(self, known: Known) -> list[Known]:
        return [other.top for other in self.said(known, same=False)]

    def ordered(self) -> list[Known]:
        return sorted(self.pages.values(), key=lambda known: known.number)

    def scope(self, name: str) -> list[Known]:
        return [known for known in self.ordered() if known.scope == name]

    def members(self, head: Known) -> list[Known]:
        return [known for known in self.ordered() if known.head is head]

    def regroup(self, members: list[Known]) -> None:
        """Decide pages whose original is gone: none follows one that waits."""
        self.waiting |= {*members}
        for known in members:
            self.waiting.discard(known)
            self.settle(known, known.text)

    def best(self, known: Known, heads: list[Known]) -> Known | None:
        alike = [
            (-LIKENESS[known.text, head.text], head.number, head)
            for head in self.alike(known, heads)
            if not known.is_another(head)
        ]
        return min(alike)[2] if alike else None

    def alike(self, known: Known, heads: list[Known]) -> list[Known]:
        return [
            head
            for head in heads
            if len(head.text.split()) >= LEAST
            and are_near(known.text, head.text, self.rules)
            and not self.is_whole(known.text, head.text)
        ]

    def is_whole(self, a: str, b: str) -> bool:
        """Return whether a text contains another one, and more."""
        first, second, least = shingles(a), shingles(b), self.rules.containment
        shared = len(first & second)
        return least is not None and least * len(second) <= shared < least * len(first)

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

    def verdict(
        self,
        known: Known,
        status: Status,
        previous: float | None = None,
        reason: Reason | None = None,
    ) -> Verdict:
        head, twin = known.head, None
        if head is not None:
            head.decided_by = self.rules
        if head is not None and known.exact and head.text != known.text:
            copies = [other for other in self.members(head) if other.text == known.text]
            twin = min((copy for copy in copies if not copy.exact), key=known.is_another)
        compared = twin or head
        rejected = known.rejected if head is None else None
        is_there = rejected is not None and rejected in self.pages.values()
        named = twin or (rejected if is_there else None)
        return Verdict(
            status,
            original=None if head is None else head.url,
            resemblance=previous if status == "changed" else known.likeness,
            containment=known.rejected_containment
            if compared is None
            else containment(known.text, compared.text),
            page_id=known.number,
            reason=reason,
            previous=previous,
            compared_with=None if named is None else named.url,
        )

    def groups(self) -> dict[str, tuple[str | None, float | None, str]]:
        return {
            known.scope + known.url: (
                None if known.head is None else known.head.url,
                known.likeness,
                signature_of(known.text).text_hash.hex(),
            )
            for known in self.pages.values()
        }


URLS = [f"https://{'other' if letter in 'cf' else 'example'}.org/{letter}" for letter in "abcdefg"]
Step = tuple[str, Any]


def page(url: str, main_text: str, title: str | None, scope: str, fetched: int = 0) -> Page:
    return Page(url, main_text, signature_of(main_text), title, scope=scope, fetched=fetched)


def compared(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Return what is compared of verdicts: an unchanged page repeats why it stands as it does."""
    return [
        replace(one, reason=None, threshold=None)
        if one.status == "unchanged"
        else replace(one, threshold=None)
        for one in verdicts
    ]


def take(
    step: Step, path: Path, store: Store, reference: Dictionaries, *, verifies: bool = True
) -> list[Verdict]:
    """Take one step in both, and compare what they say of it, and the groups that they hold then.

    Args:
        verifies: whether the whole store is looked at as well; in long walks, a fault would stay.
    """
    kind, what = step
    verdicts: list[Verdict] = []
    rules = reference.rules
    if kind == "check":
        verdicts = store.check(what, rules=rules)
        numbers = {one.page_id for one in verdicts if one.page_id is not None}
        new = numbers - {known.number for known in reference.ordered()}
        # In PostgreSQL, a batch that is decided again leaves a gap in the numbers.
        reference.numbers = min(new, default=reference.numbers + 1) - 1
        assert compared(verdicts) == compared(map(reference.check, what))
    elif kind == "forget":
        assert store.admin.forget(what, dry_run=True) == sum(
            known.url in what for known in reference.ordered()
        )
        assert store.admin.forget(what, rules=rules) == reference.forget(what)
    elif kind == "review":
        (a, b), same = what
        assert store.admin.review(a, b, same=same, rules=rules) == reference.review(a, b, same)
        said = {frozenset([word.a, word.b]): word.same for word in store.admin.reviews()}
        assert said == reference.reviews
    elif kind == "decide":
        redecide(what, store, reference)
    else:
        store.admin.rebuild(rules=what)
        reference.rules = what
    assert groups_of(path) == reference.groups()
    if verifies:
        compare(path, store, reference)
    return verdicts


def redecide(rules: Rules, store: Store, reference: Dictionaries) -> None:
    def heads() -> dict[int, int]:
        return {known.number: known.top.number for known in reference.ordered()}

    was = heads()
    dry = store.admin.redecide(rules, dry_run=True)
    changes = store.admin.redecide(rules)
    reference.redecide(rules)
    now = heads()
    assert changes == dry
    assert changes.pages == len(now)
    assert changes.originals == tuple(
        sum(number == head for number, head in side.items()) for side in (was, now)
    )
    moved = [number for number in now if was[number] != now[number]]
    assert changes.to_original == sum(now[number] == number for number in moved)
    assert changes.to_duplicate == sum(was[number] == number for number in moved)
    assert changes.to_original + changes.to_duplicate + changes.moved == len(moved)
    assert len(changes.examples) == min(len(moved), 20)


def compare(path: Path, store: Store, reference: Dictionaries) -> None:
    """Check that both hold the same pages, and that the store is in order."""
    verify(path)
    assert {stored.id: stored.status == "exact" for stored in store.pages()} == {
        known.number: known.exact for known in reference.ordered()
    }
    heads = Counter(known.head is None for known in reference.ordered())
    status = store.status()
    assert (status.originals + status.skipped, status.duplicates) == (heads[True], heads[False])
    assert status.pages == len(reference.pages)
    assert status.exact + status.near == status.duplicates
    groups = {group.original.id: len(group.duplicates) for group in store.groups()}
    assert groups == Counter(known.head.number for known in reference.ordered() if known.head)


fetches = st.lists(
    st.builds(
        page,
        st.sampled_from(URLS),
        st.sampled_from(TITLED),
        st.sampled_from(TITLES),
        st.sampled_from(SCOPES[:1] * 4 + SCOPES[1:]),
        st.integers(0, 3),
    ),
    min_size=1,
    max_size=6,
)
some_urls = st.lists(st.sampled_from(URLS), min_size=1, max_size=3, unique=True)
pairs = st.lists(st.sampled_from(URLS), min_size=2, max_size=2, unique=True)
checks = st.tuples(st.just("check"), fetches)
forgets = st.tuples(st.just("forget"), some_urls)
reviews = st.tuples(
    st.just("review"), st.tuples(pairs, st.sampled_from([True, True, False, False, None]))
)
rebuilds = st.tuples(
    st.sampled_from(["decide", "rebuild"]),
    st.sampled_from([THRESHOLD, THRESHOLD, LOWER]).map(
        lambda threshold: Rules(threshold, own_text="ignore")
    ),
)


@both_empty
@settings(max_examples=20)
@given(st.lists(st.one_of(checks, checks, forgets, reviews, reviews, rebuilds), max_size=10))
def test_every_sequence_of_steps_is_decided_as_defined(empty: Path, steps: list[Step]) -> None:
    reference = Dictionaries()
    with emptied(empty) as path, Store.open(url_of(path)) as store:
        for step in steps:
            take(step, path, store, reference)


def walk(seed: int, turns: int, many: int, reference: Dictionaries) -> Iterator[Step]:
    """Yield steps by chance; where pieces are looked for, pages have no titles, nor reviews."""
    chance, is_plain = Random(seed), reference.rules.containment is not None
    urls = [f"https://{'other' if at % 4 == 3 else 'example'}.org/{at}" for at in range(many)]
    for turn in range(turns):
        if turn % 9 == 8:
            yield "forget", chance.sample(urls, 2)
        elif turn % 3 == 2 and not is_plain:
            said = chance.choice([True, True, False, False, None])
            yield "review", (chance.sample(urls, 2), said)
        elif turn % 20 == 6 and not is_plain:
            kind = chance.choice(["decide", "rebuild"])
            threshold = chance.choice([THRESHOLD, THRESHOLD, LOWER])
            yield kind, Rules(threshold, own_text="ignore")
        else:
            batch = []
            for main_text in chance.choices(PIECES if is_plain else TITLED, k=chance.randint(1, 5)):
                url, title = chance.choice(urls), None if is_plain else chance.choice(TITLES)
                scope = chance.choice(SCOPES) if is_plain else ""
                known = reference.pages.get((scope, url))
                again = known.text if known and chance.random() < 0.2 else main_text
                batch.append(page(url, again, title, scope, chance.randrange(9)))
            yield "check", batch


@pytest.mark.parametrize(
    ("file", "rules", "seed", "many"),
    [
        ("sqlite", ALL_RULES[0], 0, 5),
        *((file, ALL_RULES[0], 2, 25) for file in ENDINGS),
        *(("sqlite", rules, 1, 14) for rules in ALL_RULES if rules.containment),
        ("sqlite", EXACT, 1, 6),
    ],
    indirect=["file"],
    ids=lambda given: given.method if isinstance(given, Rules) else str(given),
)
def test_a_long_walk_is_decided_as_defined(file: Path, rules: Rules, seed: int, many: int) -> None:
    reference = Dictionaries(rules)
    kinds: Counter[str] = Counter()
    with Store.open(url_of(file), rules=rules) as store:
        for turn, step in enumerate(walk(seed, 80, many, reference)):
            before = {known.number: known.head for known in reference.ordered()}
            for verdict in take(step, file, store, reference, verifies=turn % 4 == 3):
                kinds[verdict.status] += 1
                kinds["piece"] += verdict.reason == "piece"
                kinds["contains"] += verdict.contains is not None
            kinds["promoted"] += sum(
                known.head is None and before.get(known.number) is not None
                for known in reference.ordered()
            )
    least = {"new", "exact", "unchanged", "changed", "skipped", "promoted"}
    if rules != EXACT:
        least.add("near")
    if rules.containment is not None:
        least |= {"piece", "contains"}
    assert all(kinds[kind] >= 3 for kind in least), kinds


@both_databases
def test_a_walk_through_all_methods_is_decided_as_defined(file: Path) -> None:
    reference = Dictionaries(ALL_RULES[1])
    with Store.open(url_of(file), rules=reference.rules) as store:
        for turn, step in enumerate(walk(2, 50, 20, reference)):
            if turn % 6 == 5:
                take(("rebuild", ALL_RULES[turn % 8]), file, store, reference)
                again = [page(one.url, one.text, None, one.scope) for one in reference.ordered()]
                take(("check", again), file, store, reference)
            take(step, file, store, reference, verifies=turn % 4 == 3)
