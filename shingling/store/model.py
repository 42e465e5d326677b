"""What goes into the store and what comes out."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict
from urllib.parse import quote, urlsplit

from shingling.defaults import (
    DEFAULT_MIN_WORDS,
    DEFAULT_SIMHASH_DISTANCE,
    DEFAULT_THRESHOLD,
    METHODS,
    MOST_DISTANCE,
)
from shingling.errors import SettingsError
from shingling.text import clean

if TYPE_CHECKING:
    from shingling.sketch import Signature

DAY = 86_400  # seconds

STATUSES = ("new", "exact", "near", "unchanged", "changed", "skipped")
"""Every status of a verdict. A stored page stands as new, exact, near or skipped (short)."""


@dataclass(frozen=True)
class Page:
    """A URL and what was fetched there, as it is handed to the store.

    Args:
        url: its address; user name and password are cut out.
        text: the main text, or None where there is none.
        signature: of the text; the store signs the text where it is None.
        title, language: kept for whoever asks the store.
        scope: pages are compared only within one scope.
        fetched: seconds since 1970, UTC; None is now.
        reason: why there is no text; the verdict repeats it.
        body_key: 128-bit hash of what the text, title and language were read from, and of how:
            `Store.by_body` finds them by it, where texts are kept.
        source: URL of the page that it is an item of; documents of one page are never
            duplicates of each other, nor of the page. None for a page.
    """

    url: str
    text: str | None = None
    signature: Signature | None = None
    title: str | None = None
    language: str | None = None
    scope: str = ""
    fetched: float | None = None
    reason: str | None = None
    body_key: bytes | None = None
    source: str | None = None

    def __post_init__(self) -> None:
        cleaned = {
            "url": safe_url(self.url),
            "source": None if self.source is None else safe_url(self.source),
            "title": None if self.title is None else clean(self.title),
            "language": None if self.language is None else clean(self.language),
            "scope": clean(self.scope),
        }
        for name, value in cleaned.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True)
class Rules:
    """How a page is decided.

    Args:
        threshold: resemblance at or above which a page is a near-duplicate, 0 < t <= 1, for
            the methods that measure it.
        min_words: shorter texts match only exactly, and under the same title.
        method: one of `METHODS`: `minhash` by resemblance, `megashingle` by two of six equal
            supershingles, `simhash` by distance, `minhash+simhash` where both agree, `exact`
            for exact duplicates only.
        simhash_distance: bits in which the SimHashes of near-duplicates differ at most, 0 to 7.
        containment: share of a page's shingles from which on it is a piece of another; None
            does not look for pieces.
        window_days: originals not seen for longer do not count; None is for ever.
        store_text: keep the texts, which lets verdicts be measured exactly.
        templates: measure texts without what the pages of their sites have in common; without
            `store_text` it has no effect.

    Raises:
        SettingsError: a value that is not accepted, or values that contradict each other.
    """

    threshold: float = DEFAULT_THRESHOLD
    min_words: int = DEFAULT_MIN_WORDS
    method: str = "minhash"
    window_days: float | None = None
    store_text: bool = True
    simhash_distance: int = DEFAULT_SIMHASH_DISTANCE
    containment: float | None = None
    templates: bool = True

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise SettingsError(f"method {self.method!r} is not known: {' or '.join(METHODS)}")
        distance = self.simhash_distance
        if type(distance) is not int or not 0 <= distance <= MOST_DISTANCE:
            raise _not_accepted("simhash distance", distance, f"0 to {MOST_DISTANCE} bits")
        if not (_is_number(self.threshold) and 0 < self.threshold <= 1):
            raise _not_accepted("threshold", self.threshold, "above 0, at most 1")
        if type(self.min_words) is not int or self.min_words < 0:
            raise _not_accepted("min_words", self.min_words, "a whole number from 0 on")
        days = self.window_days
        if days is not None and not (_is_number(days) and days > 0):
            raise _not_accepted("window_days", days, "a number above 0, or None")
        for name in ("store_text", "templates"):
            if not isinstance(getattr(self, name), bool):
                raise _not_accepted(name, getattr(self, name), "True or False")
        if self.containment is None:
            return
        if not (_is_number(self.containment) and 0 < self.containment <= 1):
            raise _not_accepted("containment", self.containment, "above 0, at most 1")
        if not self.store_text:
            raise SettingsError(
                "containment (DEDUP_CONTAINMENT) is measured on stored texts: it needs store_text"
                " (DEDUP_STORE_TEXT = True)"
            )
        if self.method == "exact":
            raise SettingsError("containment (DEDUP_CONTAINMENT) needs a method other than exact")

    @classmethod
    def given(cls, rules: Rules | None, single: RuleValues) -> Rules | None:
        """Return the rules that were given, whole or one by one; None where none were.

        Raises:
            SettingsError: both were given, or a value is not accepted.
        """
        if rules is None:
            return cls(**single) if single else None
        if single:
            raise SettingsError(f"rules were given, and {', '.join(single)} besides")
        return rules


class RuleValues(TypedDict, total=False):
    """Values of `Rules` by name."""

    threshold: float
    min_words: int
    method: str
    window_days: float | None
    store_text: bool
    simhash_distance: int
    containment: float | None
    templates: bool


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _not_accepted(name: str, value: object, accepted: str) -> SettingsError:
    return SettingsError(f"{name} {value!r} is not accepted: {accepted}")


@dataclass(frozen=True)
class Verdict:
    """What was decided for one page.

    Args:
        status: one of `STATUSES`.
        original: URL of the original that the page is a duplicate of, or None.
        resemblance: to the original; for `changed` pages without one, to what the page was.
        containment: shared shingles / shingles of the smaller of the two pages.
        page_id: the page's row in the store, or None where it is not stored.
        reason: why it was skipped (`template`: its text is what its site has on every page);
            `piece` where a near-duplicate is a piece of its original,
            `review` where a person has said so; `other_title` where a page would be a
            duplicate of another one of its site, but for its title.
        previous: resemblance to what the page was, where its text changed.
        distance: of the SimHashes of page and original, for methods that compare them.
        contains: URL of a stored original that is a piece of this page.
        template: share of the text, by characters, that was left out as its site's template, or
            None where it was not looked at.
        candidates: stored pages that were looked at.
    """

    status: str
    original: str | None = None
    resemblance: float | None = None
    containment: float | None = None
    page_id: int | None = None
    reason: str | None = None
    previous: float | None = None
    distance: int | None = None
    contains: str | None = None
    template: float | None = field(default=None, compare=False)
    candidates: int = field(default=0, compare=False)

    @property
    def is_duplicate(self) -> bool:
        """Return whether the page is a duplicate of another page."""
        return self.original is not None

    def as_dict(self) -> dict[str, Any]:
        """Return the verdict as the result field of an item shows it."""
        shown = asdict(self)
        del shown["candidates"]
        for name in ("resemblance", "containment", "previous", "template"):
            if shown[name] is not None:
                shown[name] = round(shown[name], 4)
        return shown


@dataclass(frozen=True)
class StoredPage:
    """A page as the store knows it.

    `original` is a URL, or None for an original; `source` is the URL of the page that it is an item
    of, or None for a page.
    """

    id: int
    url: str
    site: str
    scope: str
    title: str | None
    language: str | None
    words: int
    status: str
    last_verdict: str
    original: str | None
    resemblance: float | None
    containment: float | None
    first_seen: datetime
    last_seen: datetime
    run: int | None
    source: str | None

    def as_dict(self) -> dict[str, Any]:
        """Return the page with times in ISO 8601."""
        shown = asdict(self)
        for name in ("first_seen", "last_seen"):
            shown[name] = shown[name].isoformat()
        return shown


class Match(NamedTuple):
    """A stored page that resembles what was asked for.

    `exact` tells whether resemblance and containment were measured on the texts, or
    estimated from the minima. `distance` is that of the SimHashes, where it was asked for.
    """

    page: StoredPage
    resemblance: float
    containment: float
    exact: bool
    distance: int | None = None


@dataclass(frozen=True)
class Group:
    """One original and the duplicates attached to it."""

    original: StoredPage
    duplicates: tuple[StoredPage, ...]


@dataclass(frozen=True)
class Review:
    """What a person has said of two URLs: that their pages are the same, or different."""

    a: str
    b: str
    same: bool
    note: str | None
    created: datetime

    def as_dict(self) -> dict[str, Any]:
        """Return it with its time in ISO 8601."""
        return {**asdict(self), "created": self.created.isoformat()}


def from_seconds(seconds: int) -> datetime:
    """Return a stored time."""
    return datetime.fromtimestamp(seconds, UTC)


# User name and password: before an @ in the authority, also where a password with a slash in it
# or the lack of a scheme makes the URL a wrong one.
_CREDENTIALS = re.compile(
    r"^([a-z][a-z0-9+.-]*://|//)[^/?#]*@"
    r"|^([a-z][a-z0-9+.-]*://|//)[^/@?#]+:(?!\d*(?:[/?#]|$))[^@?#]*@"
    r"|^()[^/?#@:]+:[^/@?#]*@",
    re.IGNORECASE,
)


def safe_url(url: str) -> str:
    """Return a URL without user name and password, and with control characters escaped."""
    url = url.strip()
    if not url.isprintable():
        url = "".join(char if char.isprintable() else quote(char, errors="replace") for char in url)
    if "@" not in url:
        return url
    return _CREDENTIALS.sub(lambda match: match[1] or match[2] or "", url)


_USUAL = re.compile(r"https?://([a-z0-9.-]+)(?:[/?#]|$)")


def site_of(url: str) -> str:
    """Return the host of a URL, in lower case and without `www.`; "" where it has none."""
    usual = _USUAL.match(url)  # much faster than urlsplit
    if usual:
        return usual[1].removeprefix("www.")
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return ""
    return host.removeprefix("www.")
