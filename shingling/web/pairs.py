"""A pair of stored pages: their texts, what was measured, why it was decided so, and its review."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from shingling.admin.reviews import reviews_of
from shingling.rules.reasons import KEEPING, REJECTING
from shingling.similarity.diff import word_diff, written_words
from shingling.store.decided import (
    DecidingStep,
    PairMeasures,
    deciding_step,
    pair_decision,
    why,
)
from shingling.store.store import Store
from shingling.web.requests import RequestError
from shingling.web.shown import cut, link

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shingling.similarity.diff import DiffStretch
    from shingling.sketch import Scheme
    from shingling.store.decided import PairDecision
    from shingling.store.model import Review, SplitText, StoredPage
    from shingling.store.session import Session

MIN_WORDS_OF_SHARED_ROW = 25  # shorter passages stay in the row of what differs around them
WORDS_SHOWN_AT_ENDS = 20  # of a shared passage that is folded


class Side(NamedTuple):
    """One page of a pair.

    Args:
        page: as it is stored.
        text: what is compared and what is template; None if texts are not kept.
    """

    page: StoredPage
    text: SplitText | None

    def as_dict(self) -> dict[str, Any]:
        """Page as data, with what is left out of it as template."""
        left_out = None if self.text is None else self.text.template
        return {**self.page.as_dict(), "left_out": left_out}


class Answered(NamedTuple):
    """One of the steps by which a page is decided, and whether it decides this one."""

    question: str
    answer: str
    decides: bool = False


class ShownPair(NamedTuple):
    """Two pages to look at.

    Args:
        left: the older one, as a rule the original.
        right: the other one.
        passages: of both texts; None if a text is not kept.
        decision: on the two; None if neither was decided by the other.
        known: what is measured now.
        fields: own fields of items in which the one that was decided differs.
        steps: why the second page stands as it does.
        review: that a person made of them.
    """

    left: Side
    right: Side
    passages: list[DiffStretch] | None
    decision: PairDecision | None
    known: PairMeasures
    fields: tuple[str, ...]
    steps: list[Answered]
    review: Review | None


def read_pair(session: Session, first: str, second: str) -> ShownPair:
    """Read two pages by their URLs, the older one first.

    Raises:
        RequestError: they are one page, or one is not stored.
        StoreError: one has just been removed.
    """
    store = Store(session)
    pages = (stored_page(store, url) for url in (first, second))
    older, younger = sorted(pages, key=lambda page: page.id)
    if older.id == younger.id:
        raise RequestError("a page is always the same as itself: name two URLs")
    decision = pair_decision(older, younger, store.find)
    if decision is not None and decision.page is older:
        older, younger = younger, older
    left, right = (Side(page, store.split_text(page)) for page in (older, younger))
    signatures = store.signature(left.page), store.signature(right.page)
    with session.reading() as connection:
        [review] = reviews_of(connection, [(left.page.url, right.page.url)])
    return ShownPair(
        left,
        right,
        passages=word_diff(left.text.compared, right.text.compared)
        if left.text and right.text
        else None,
        decision=decision,
        known=PairMeasures.of_texts(left.text, right.text, signatures, store.scheme),
        fields=store.differing_fields(right.page, left.page),
        steps=steps(right, review, store.scheme),
        review=review,
    )


def aligned_rows(passages: Iterable[DiffStretch]) -> list[tuple[bool, list[DiffStretch]]]:
    """Two texts as rows, in order.

    Returns:
        Whether a row is a passage that both have, else what differs with what is short between;
        and the changes that are shown in it.
    """

    def is_shared(change: DiffStretch) -> bool:
        return change.same and len(written_words(change.a)) >= MIN_WORDS_OF_SHARED_ROW

    return [(shared, [*changes]) for shared, changes in groupby(passages, is_shared)]


def folded(passage: str) -> tuple[str, str, str, int]:
    """Fold a shared passage: its beginning, middle and end, and the number of words in the middle.

    A short one is all beginning.
    """
    words, shown = written_words(passage), WORDS_SHOWN_AT_ENDS
    if len(words) <= 3 * shown:
        return passage, "", "", 0
    parts = words[:shown], words[shown:-shown], words[-shown:]
    beginning, middle, end = ("".join(part).strip() for part in parts)
    return beginning, middle, end, len(parts[1])


def stored_page(store: Store, url: str) -> StoredPage:
    """Page that is stored under a URL, of several scopes the first.

    Raises:
        RequestError: there is none.
    """
    pages = store.find(url)
    if not pages:
        known = link("/page", {"url": url})
        raise RequestError(f"no page is stored under {cut(url)}", 404, known)
    return pages[0]


def steps(side: Side, review: Review | None, scheme: Scheme) -> list[Answered]:
    """Go through the steps of docs/explanation/deciding.md with what is stored of a page.

    Args:
        side: the page.
        review: of the pair that it is shown in.
        scheme: by which words are counted.
    """
    page, decided, split = side.page, deciding_step(side.page), side.text
    words = page.words if split is None else split.words_left(page.words, scheme.canonical)
    reviewed = "yes, of another pair" if decided is DecidingStep.REVIEW else "no"
    if review is not None:
        reviewed = f"yes: {'same' if review.same else 'different'}"
    answers = {
        DecidingStep.REVIEW: reviewed,
        DecidingStep.URL: (
            f"first seen {page.first_seen:%Y-%m-%d %H:%M}, last verdict: {page.last_verdict}"
        ),
        DecidingStep.ENOUGH: f"{words:,} of {page.words:,} words, without template as known now",
    }
    if page.reason in (*REJECTING, *KEEPING):
        answers |= dict.fromkeys((DecidingStep.SAME, DecidingStep.NEAR), "none that counts")
    # What is skipped was compared before.
    last = DecidingStep.NEW if page.status == "skipped" else decided
    order = [*DecidingStep]
    reached = order[: order.index(last) + 1]
    shown = {**dict.fromkeys(order, "not asked"), **dict.fromkeys(reached, "no"), **answers}
    shown[decided] = "; ".join(filter(None, (answers.get(decided), why(page))))
    return [Answered(step.value, answer, step is decided) for step, answer in shown.items()]
