"""What decided how a stored page stands: the step, and the value beside what was asked for.

It is taken from what the store keeps of the decision, and nothing is measured again.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from shingling.errors import shortened
from shingling.rules import METHODS
from shingling.rules.reasons import REJECTING, Reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from shingling.similarity.measures import Overlap
    from shingling.sketch import Scheme, Signature
    from shingling.store.model import LastChange, Match, SplitText, StoredPage

_MAX_TITLE = 100  # characters shown
_SHOWN = (
    *("url", "status", "reason", "original", "compared_with"),
    *("resemblance", "containment", "threshold", "fields"),
)


class DecidingStep(Enum):
    """The steps by which a page is decided, as docs/explanation/deciding.md has them."""

    REVIEW = "Did a person review it?"
    URL = "1. Is the URL known?"
    ENOUGH = "2. Is enough text left?"
    SAME = "3. Does another page have the same text?"
    NEAR = "4. Is another page nearly the same?"
    NEW = "5. Otherwise it is new."


def deciding_step(page: StoredPage) -> DecidingStep:
    """Find the step by which a page stands as it does."""
    if page.reason == Reason.REVIEW:
        return DecidingStep.REVIEW
    if page.reason == Reason.ORIGINAL_MISSING:
        return DecidingStep.URL
    steps = {"exact": DecidingStep.SAME, "near": DecidingStep.NEAR, "skipped": DecidingStep.ENOUGH}
    return steps.get(page.status, DecidingStep.NEW)


def deciding_value(page: StoredPage) -> float | None:
    """Value that decided, of a page that follows another one, or would follow it.

    Of a piece it is its containment, of any other page its resemblance.
    """
    return page.containment if page.reason == Reason.PIECE else page.resemblance


def required_value(page: StoredPage) -> float | None:
    """Least value that was required; None if there is none, or it is not known."""
    least = page.threshold if deciding_step(page) in (DecidingStep.NEAR, DecidingStep.NEW) else None
    if page.reason == Reason.PIECE:
        least = None if page.rules is None else page.rules.containment
    value = deciding_value(page)
    # A page whose group has lost its original may have been decided again by other rules.
    return None if value is None or least is None or value < least else least


def deciding_reason(page: StoredPage) -> str:
    """Say what decided besides a value; "" if that is all."""
    other = page.compared_with or "a page that is gone"
    if page.reason == Reason.OWN_TEXT:
        return f"kept because its text says {text_said(page.own_text, other)}"
    if page.reason == Reason.OTHER_FIELDS:
        names = f" ({', '.join(page.fields)})" if page.fields else ""
        return f"kept because its own fields{names} differ from those of {other}"
    if page.reason in REJECTING:
        title, compared_title = (
            shortened(title or "", _MAX_TITLE) for title in (page.title, page.compared_title)
        )
        titles = f'its title is "{title}", that of {other} is "{compared_title}"'
        return f"{_REASONS[page.reason]}: {titles}"
    if page.reason in _REASONS:
        return _REASONS[page.reason]
    step = deciding_step(page)
    if step is DecidingStep.SAME:
        return f"the same text as {page.compared_with}" if page.compared_with else "the same text"
    if step is DecidingStep.NEAR:
        return _other_requirements(page)
    return "like no other page" if step is DecidingStep.NEW else "too little text"


_REASONS: dict[str, str] = {
    Reason.REVIEW: "a review has decided",
    Reason.PIECE: "a piece of it",
    Reason.OTHER_TITLE: "kept because a page of its site that is alike has another title",
    Reason.ORIGINAL_MISSING: "its original was no longer met, so it took its place",
    Reason.PREFERRED_SITE: "its site comes before that of its original, so it took its place",
    Reason.TITLE_NOT_IN_TEXT: "kept because one text lacks the title of the other, which is alike",
    Reason.MOVING_LINES: "nothing has changed but lines that move from crawl to crawl",
    Reason.SHORT: "fewer words than the minimum, and no page with the same text and title",
    Reason.TEMPLATE: "nothing is left without the template of its site",
}


def text_said(own_text: tuple[str, str] | None, other: str) -> str:
    """Say what a page says of its own, and what stands there in another one.

    Args:
        own_text: both, as in `Verdict`; None: it is not found any more.
        other: the other page.
    """
    line, there = own_text or ("", "")
    if there:
        return f'"{line}", where "{there}" stands in {other}'
    if line:
        return f'"{line}", which does not stand in {other}'
    return (
        f"what that of {other} does not say (not found now: template of the site, changed,"
        " or not stored)"
    )


def change_said(change: LastChange) -> str:
    """Say how a page differs from what it was."""
    parts = []
    if change.line and change.replaced:
        parts.append(f'"{change.line}" is in the place of "{change.replaced}"')
    elif change.line:
        parts.append(f'"{change.line}" is new')
    elif change.replaced:
        parts.append(f'"{change.replaced}" is gone')
    if change.came or change.went:
        parts.append(f"lines that came: {change.came}, that went: {change.went}")
    if change.former_title:
        parts.append(f'its title was "{change.former_title}"')
    return "; ".join(parts)


def reason_said(reason: str) -> str:
    """Say a reason in words, or as it is."""
    return _REASONS.get(reason, reason.replace("_", " "))


def _other_requirements(page: StoredPage) -> str:
    """Say what the method requires other than a resemblance."""
    if page.rules is None:
        return ""
    method, required = METHODS[page.rules.method], []
    if method.distance:
        required.append(f"SimHashes within {page.rules.simhash_distance} bits")
    if method.supershingles:
        required.append(f"{method.supershingles} of 6 supershingles equal")
    return ", ".join(required)


def why(page: StoredPage) -> str:
    """Say what decided how a page stands, with the value beside what was required."""
    parts = [deciding_reason(page)]
    value, least = deciding_value(page), required_value(page)
    if value is not None:
        is_piece = page.reason == Reason.PIECE
        line = f"{'containment' if is_piece else 'resemblance'} {value:.3f}"
        if least is not None:
            line += f", at or above {'' if is_piece else 'the threshold '}{least:g}"
        parts.append(line)
    return ": ".join(filter(None, parts))


class PairDecision(NamedTuple):
    """What decided on two pages.

    Args:
        page: that follows the other one, or would follow it but for its own fields.
        equal: duplicate of the other one whose text the page has; None: the other one decided.
    """

    page: StoredPage
    equal: StoredPage | None = None

    @property
    def value(self) -> float | None:
        """Value that decided."""
        return deciding_value(self.page)

    def __str__(self) -> str:
        of_page = why(self.page)
        return (
            of_page if self.equal is None else f"{of_page}; which is a duplicate: {why(self.equal)}"
        )

    def as_dict(self) -> dict[str, Any]:
        """Decision as JSON has it, with the names of the result field."""
        shown = self.page.as_dict()
        return {**{name: shown[name] for name in _SHOWN}, "why": str(self)}


def page_beside(
    page: StoredPage, url: str | None, find: Callable[[str], list[StoredPage]]
) -> StoredPage | None:
    """Find the page of a URL in the scope of another one; None if there is none.

    Args:
        page: that was compared with it.
        url: of the page that is looked for; None finds none.
        find: finds the pages of a URL.
    """
    pages = [] if url is None else find(url)
    return next((other for other in pages if other.scope == page.scope), None)


def pair_decision(
    a: StoredPage, b: StoredPage, find: Callable[[str], list[StoredPage]]
) -> PairDecision | None:
    """Find what decided on two pages; None if neither was decided by the other.

    Args:
        a: a page.
        b: another one.
        find: finds the pages of a URL.
    """
    pairs = [(b, a), (a, b)] if a.scope == b.scope else []
    for page, other in pairs:
        if page.original == other.url:
            return PairDecision(page, page_beside(page, page.compared_with, find))
    for page, other in pairs:
        if page.compared_with == other.url:
            return PairDecision(page)
    return None


class PairMeasures(NamedTuple):
    """What is known of two texts besides what decided.

    Args:
        left: shingles without the templates of their sites, as known now; None if a text is
            not kept.
        whole: shingles of the whole texts; None likewise.
        estimate: resemblance of the whole texts by their minima.
        distance: bits in which their SimHashes differ.
    """

    left: Overlap | None
    whole: Overlap | None
    estimate: float
    distance: int

    @classmethod
    def of_texts(
        cls,
        a: SplitText | None,
        b: SplitText | None,
        signatures: tuple[Signature, Signature],
        scheme: Scheme,
    ) -> PairMeasures:
        """Measure two texts, and estimate by their signatures."""
        # To say what decided, nothing is measured.
        from shingling.similarity.measures import distance, estimate, overlap
        from shingling.sketch import fingerprint_set

        both = [text for text in (a, b) if text is not None]
        left = whole = None
        if len(both) == 2:
            whole = overlap(*(fingerprint_set(text.whole, scheme) for text in both))
            left = overlap(*(fingerprint_set(text.compared, scheme) for text in both))
        bits = distance(*(signature.simhash for signature in signatures))
        return cls(left, whole, estimate(*signatures), bits)

    def as_dict(self) -> dict[str, Any]:
        """Measures as JSON has them."""
        return {
            "measured_now": self.left and rounded_measures(self.left),
            "whole_texts": self.whole and rounded_measures(self.whole),
            "estimate": {
                "resemblance": round(self.estimate, 4),
                "standard_error": round(self.standard_error, 4),
            },
        }

    @property
    def standard_error(self) -> float:
        """Standard error of the estimate."""
        from shingling.similarity.measures import standard_error

        return standard_error(self.estimate if self.whole is None else self.whole.resemblance)


def rounded_measures(both: Overlap | Match) -> dict[str, float]:
    """Resemblance and containment as JSON has them."""
    return {
        "resemblance": round(both.resemblance, 4),
        "containment": round(both.containment, 4),
    }
