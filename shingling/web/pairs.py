"""A pair of stored pages: what was measured, why it was decided so, and the review of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shingling.rules.methods import METHODS
from shingling.similarity import distance, estimate, overlap, standard_error
from shingling.sketch import fingerprint_set
from shingling.store import Store
from shingling.web.aligned import AlignedRow, aligned_rows
from shingling.web.requests import RequestError
from shingling.web.shown import cut

if TYPE_CHECKING:
    from shingling.rules.rules import Rules
    from shingling.sketch import Scheme, Signature
    from shingling.store import Review, SplitText, StoredPage
    from shingling.store.session import Session


@dataclass(frozen=True)
class Side:
    """One page of a pair.

    Args:
        page: as it is stored.
        text: what is compared and what is template; None where texts are not kept.
    """

    page: StoredPage
    text: SplitText | None


@dataclass(frozen=True)
class Measured:
    """A measure of a pair: its name, its value as it is shown, and what it is measured on."""

    name: str
    value: str
    explained: str


@dataclass(frozen=True)
class Step:
    """One of the steps by which a page is decided, and whether it decides this one."""

    question: str
    answer: str
    decides: bool = False


@dataclass(frozen=True)
class Pair:
    """Two pages to look at.

    Args:
        left: the older one, as a rule the original.
        right: the other one.
        rows: of both texts; None where a text is not kept.
        measures: of the two.
        steps: why the second page stands as it does; none where the two are not in one group.
        review: that a person made of them.
    """

    left: Side
    right: Side
    rows: list[AlignedRow] | None
    measures: list[Measured]
    steps: list[Step]
    review: Review | None

    @property
    def same_group(self) -> bool:
        """Whether the store has them in one group now."""
        heads = {side.page.original or side.page.url for side in (self.left, self.right)}
        return len(heads) == 1


def read_pair(session: Session, first: str, second: str) -> Pair:
    """Read two pages by their URLs, the older one first.

    Raises:
        RequestError: they are one page, or one is not stored.
        StoreError: one has just been removed.
    """
    store = Store(session)
    pages = sorted((stored_page(store, url) for url in (first, second)), key=lambda page: page.id)
    if pages[0].id == pages[1].id:
        raise RequestError("a page is always the same as itself: name two URLs")
    left, right = (Side(page, store.split_text(page)) for page in pages)
    if pages[0].original == pages[1].url:
        left, right = right, left
    signatures = store.signature(left.page), store.signature(right.page)
    review = find_review(store, left.page.url, right.page.url)
    same_text = signatures[0].text_hash == signatures[1].text_hash
    return Pair(
        left,
        right,
        rows=None
        if left.text is None or right.text is None
        else aligned_rows(left.text.compared, right.text.compared),
        measures=[*_measures(store, left, right), *_estimates(*signatures)],
        steps=_steps(right, review, store.scheme, session.fitting_rules, same_text=same_text)
        if right.page.original == left.page.url
        else [],
        review=review,
    )


def find_review(store: Store, first: str, second: str) -> Review | None:
    """Review of two URLs."""
    found = (review for review in store.admin.reviews(first) if second in (review.a, review.b))
    return next(found, None)


def stored_page(store: Store, url: str) -> StoredPage:
    """Page that is stored under a URL, of several scopes the first.

    Raises:
        RequestError: there is none.
    """
    found = store.find(url)
    if not found:
        raise RequestError(f"no page is stored under {cut(url)}", 404)
    return found[0]


def _estimates(left: Signature, right: Signature) -> list[Measured]:
    likely = estimate(left, right)
    return [
        Measured(
            "Resemblance, estimated",
            f"{likely:.3f} ± {standard_error(likely):.3f}",
            "of the whole texts, with its standard error",
        ),
        Measured(
            "SimHash distance",
            f"{distance(left.simhash, right.simhash)} bits",
            "of the whole texts",
        ),
    ]


def _measures(store: Store, left: Side, right: Side) -> list[Measured]:
    if left.text is None or right.text is None:
        return []
    texts = left.text.compared, right.text.compared
    both = overlap(*(fingerprint_set(text, store.scheme) for text in texts))
    shown = [
        ("Resemblance, measured", both.resemblance, "without template: shared / all shingles"),
        ("Containment", both.containment, "shared / shingles of the smaller text"),
    ]
    return [Measured(name, f"{value:.3f}", explained) for name, value, explained in shown]


def _steps(
    duplicate: Side, review: Review | None, scheme: Scheme, rules: Rules, *, same_text: bool
) -> list[Step]:
    """Go through the steps of docs/explanation/deciding.md with what is stored of a duplicate."""
    page = duplicate.page
    words = page.words
    if duplicate.text is not None:
        words = duplicate.text.words_left(page.words, scheme.canonical)
    by_review = review is not None and review.same
    measured = "not measured" if page.resemblance is None else f"resemblance {page.resemblance:.3f}"
    asked = f"threshold {rules.threshold}" if METHODS[rules.method].threshold else rules.method
    return [
        Step(
            "Did a person review it?",
            "no" if review is None else f"yes: {'same' if review.same else 'different'}",
            decides=by_review,
        ),
        Step(
            "1. Is the URL known?",
            f"first seen {page.first_seen:%Y-%m-%d %H:%M}, last verdict: {page.last_verdict}",
        ),
        Step("2. Is enough text left?", f"{words:,} of {page.words:,} words, without template"),
        Step(
            "3. Does another page have the same text?",
            "yes" if same_text else "no",
            decides=page.status == "exact" and not by_review,
        ),
        Step(
            "4. Is another page nearly the same?",
            f"{measured}; {asked}",
            decides=page.status == "near" and not by_review,
        ),
        Step("5. Otherwise it is new.", "it is a duplicate"),
    ]
