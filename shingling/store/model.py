"""What goes into the store and what comes out."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import compress
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypeAlias, get_args

import numpy as np

from shingling.errors import PageError, require_type
from shingling.rules.own_fields import OwnFields
from shingling.rules.reasons import KEEPING, Reason
from shingling.store.urls import safe_url
from shingling.text import LINK_MARK, PreparedText, clean, without_marks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shingling.arrays import Flags, Hashes
    from shingling.rules.rules import Rules
    from shingling.sketch import Scheme, Signature
    from shingling.text import Canonicaliser


DAY = 86_400  # seconds
FIRST_SECOND, LAST_SECOND = -62_135_596_800, 253_402_300_799  # the years 1 to 9999, since 1970
MAX_LINE_BYTES = 120  # of a line or title in what is stored of a change
MAX_SCOPE_CHARACTERS = 512  # PostgreSQL has room for 2,704 bytes in an entry of an index
_WHOLLY = 0.995  # containment from which on a page is wholly contained in another
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Status: TypeAlias = Literal["new", "exact", "near", "unchanged", "changed", "skipped"]
"""Status of a verdict. A stored page stands as new, exact, near or skipped (short)."""

STATUSES: tuple[Status, ...] = get_args(Status)
"""Every status of a verdict."""


@dataclass(frozen=True)
class Page:
    """A URL and what was fetched there, as it is handed to the store.

    Args:
        url: its address; user name and password are cut out.
        text: the main text, or None if there is none.
        signature: of the text; the store signs the text if it is None.
        title, language: kept for whoever asks the store.
        scope: pages are compared only within one scope.
        fetched: seconds since 1970, UTC; None is now.
        reason: why there is no text; the verdict repeats it.
        body_key: 128-bit hash of what the text, title and language were read from, and of how:
            `pages_by_body` finds them by it, if texts are kept.
        source: URL of the page that it is an item of; documents of one page are never
            duplicates of each other, nor of the page. None for a page.
        prepared: the main text as another process has prepared it, in place of `text`.
        fields: what else an item says of the page, by name: a page is a duplicate only of one
            whose fields are the same. Their digests are kept, not their values.
        learns_template: whether its site's template is learned from it: an API adds none to its
            texts.

    Raises:
        ArgumentError: a value has another type.
        PageError: `fetched` is not in the years 1 to 9999, or `scope` is too long.
    """

    url: str
    text: str | None = None
    signature: Signature | None = None
    title: str | None = None
    language: str | None = None
    scope: str = ""
    fetched: float | None = None
    reason: Reason | None = None
    body_key: bytes | None = None
    source: str | None = None
    prepared: PreparedText | None = field(default=None, compare=False, repr=False)
    fields: Mapping[str, Any] | None = field(default=None, repr=False)
    learns_template: bool = True

    def __post_init__(self) -> None:
        for name, accepted in _ACCEPTED_TYPES.items():
            require_type(name, getattr(self, name), *accepted)
        cleaned = {
            "url": safe_url(self.url),
            "source": None if self.source is None else safe_url(self.source),
            "title": None if self.title is None else clean(self.title),
            "language": None if self.language is None else clean(self.language),
            "scope": clean(self.scope),
        }
        for name, value in cleaned.items():
            object.__setattr__(self, name, value)
        if self.fields is not None and not isinstance(self.fields, OwnFields):
            from shingling.rules.values import own_fields  # a crawl has read them already

            digests = own_fields(self.fields.items(), [self.url])
            object.__setattr__(self, "fields", digests)
        if self.fetched is not None and not FIRST_SECOND <= self.fetched <= LAST_SECOND:
            raise PageError(f"{self.url}: fetched is {self.fetched}, not in the years 1 to 9999")
        if len(self.scope) > MAX_SCOPE_CHARACTERS:
            raise PageError(f"{self.url}: a scope has {MAX_SCOPE_CHARACTERS} characters at most")

    @cached_property
    def main_text(self) -> PreparedText | None:
        """The main text, prepared by whoever asks for it if nobody has done so."""
        return self.prepared if self.text is None else PreparedText(self.text)


_ACCEPTED_TYPES: dict[str, tuple[type, ...]] = {
    "url": (str,),
    "text": (str, NoneType),
    "title": (str, NoneType),
    "language": (str, NoneType),
    "scope": (str,),
    "fetched": (float, int, NoneType),
    "source": (str, NoneType),
    "fields": (Mapping, OwnFields, NoneType),
}


class SplitText:
    """A main text, split into what is compared and the blocks of its site's template.

    Args:
        text: the main text, prepared or not.
        is_template: which of its blocks are template, bool[n]; None: none of them.
        counts: whether the numbers in lines of a block, given by its key, count although it is
            template; None: no block is.
        is_common: whether so many pages show a block of the template, given by its key, that it
            says nothing of one, in a passage of so many characters; None: each is.
    """

    def __init__(
        self,
        text: str | PreparedText,
        is_template: Flags | None = None,
        counts: Callable[[int, Sequence[str]], bool] | None = None,
        is_common: Callable[[int, int], bool] | None = None,
    ) -> None:
        self._text = PreparedText.of(text)
        self._counts = counts or (lambda *_: False)
        self._is_common = is_common or (lambda *_: True)
        self._gone = None if is_template is None or not is_template.any() else is_template

    @property
    def has_template(self) -> bool:
        """Whether some blocks are template."""
        return self._gone is not None

    @property
    def lines(self) -> list[str]:
        """Lines that are compared: the blocks that are not template."""
        if self._gone is None:
            return self._text.lines
        return [*compress(self._text.lines, (~self._gone).tolist())]

    def lines_beside(self, other: SplitText) -> list[str]:
        """Lines that are compared with another text of the site.

        These are `lines`, and those of the template that the other text lacks, unless it has as
        many others in their place, or they are common on the site.
        """
        passages = self._template_lacking_in(other)
        if self._gone is None or not passages:
            return self.lines
        is_compared, others = ~self._gone, other._template_lacking_in(self)
        for place, passage in passages.items():
            characters, replaced = (
                int(text._text.characters[lines].sum())
                for text, lines in ((self, passage), (other, others.get(place, [])))
            )
            if len(passage) > len(others.get(place, [])) or characters > 2 * replaced:
                for at in passage:
                    key = int(self._text.keys[at])
                    is_compared[at] = not self._is_common(key, characters)
        return [*compress(self._text.lines, is_compared.tolist())]

    def _template_lacking_in(self, other: SplitText) -> dict[int, list[int]]:
        """Numbers of the lines of template that another text lacks, in passages.

        A passage is known by the key of the last line before it that both texts compare.
        """
        passages: dict[int, list[int]] = {}
        is_lacking = ~np.isin(self._text.keys, other._text.keys)
        if self._gone is None or not (self._gone & is_lacking).any():
            return passages
        place = 0
        for at, key in enumerate(self._text.keys.tolist()):
            if self._gone[at] and is_lacking[at]:
                passages.setdefault(place, []).append(at)
            elif not (self._gone[at] or is_lacking[at]):
                place = key
        return passages

    @cached_property
    def whole(self) -> str:
        """Whole text, as people get it."""
        return without_marks(self._text.text)

    @cached_property
    def compared(self) -> str:
        """What is compared: the blocks that are not template, or the whole text."""
        return self.whole if self._gone is None else without_marks("\n".join(self.lines))

    @cached_property
    def template(self) -> tuple[str, ...]:
        """The blocks that are template."""
        if self._gone is None:
            return ()
        return tuple(map(without_marks, compress(self._text.lines, self._gone.tolist())))

    @cached_property
    def numbered(self) -> dict[int, list[str]]:
        """Lines with numbers that do not count for their keys, by these; no links."""
        by_key: dict[int, list[str]] = {}
        for at in self._text.numbered.nonzero()[0].tolist():
            line = self._text.labelled_lines[at]
            if not line.endswith(LINK_MARK):
                by_key.setdefault(int(self._text.keys[at]), []).append(line)
        return by_key

    @property
    def counted_numbers(self) -> dict[int, list[str]]:
        """Of these, lines whose numbers are not known to move."""
        return {key: lines for key, lines in self.numbered.items() if self._counts(key, lines)}

    @property
    def own_keys(self) -> Hashes:
        """Keys of the blocks that are no template and have no such numbers, sorted."""
        left_out = self._text.numbered
        if self._gone is not None:
            left_out = left_out | self._gone
        return np.sort(self._text.keys[~left_out])

    @property
    def template_share(self) -> float:
        """Share of template, by characters."""
        if self._gone is None:
            return 0.0
        characters = self._text.characters
        return float(characters[self._gone].sum() / characters.sum())

    def words_left(self, words: int, canonical: Canonicaliser) -> int:
        """Count the words of what is compared, of a text with so many words."""
        if self._gone is None:
            return words
        if self._text.words is not None:
            return int(self._text.words[~self._gone].sum())
        return len(canonical.words(self.compared))

    def is_only_template(self, words: int, min_words: int, canonical: Canonicaliser) -> bool:
        """Whether too little is left of a text with so many words.

        Of a text of `min_words` or more, as many must be left; of a shorter one, a word.
        """
        least = min_words if words >= min_words else 1
        return self.has_template and self.words_left(words, canonical) < least


@dataclass(frozen=True)
class LastChange:
    """How a page that has changed differs from what it was; lines that move are left out.

    Lines and title are as `stored_line` cuts them.

    Args:
        line: the first line that is new; "" if none is.
        replaced: the line that stood in its place; without a new line, the first one that is gone;
            "" if there is none.
        came: how many lines are new.
        went: how many are gone.
        former_title: "" if the title is the same, or there was none.
    """

    line: str = ""
    replaced: str = ""
    came: int = 0
    went: int = 0
    former_title: str = ""

    @property
    def packed(self) -> str:
        """Change as the store has it."""
        return f"{self.came} {self.went}\n{self.line}\n{self.replaced}\n{self.former_title}"

    @classmethod
    def unpacked(cls, packed: str) -> Self:
        """Change of what the store has."""
        numbers, line, replaced, former_title = packed.split("\n")
        came, went = map(int, numbers.split())
        return cls(line, replaced, came, went, former_title)


def stored_line(text: str) -> str:
    """Cut a text to what is stored of a line."""
    line = " ".join(text.replace(LINK_MARK, "").split())
    return line.encode("utf-8", "replace")[:MAX_LINE_BYTES].decode("utf-8", "ignore").strip()


@dataclass(frozen=True)
class Verdict:
    """What was decided for one page.

    Args:
        status: one of `STATUSES`.
        original: URL of the original that the page is a duplicate of, or None; with the reason
            `other_fields` or `own_text`, that it would be a duplicate of.
        resemblance: to the page that decided; for `changed` pages without an original, to what
            the page was.
        containment: shared shingles / shingles of the smaller of the two pages.
        page_id: the page's row in the store, or None if it is not stored.
        reason: why it was skipped, kept or dropped: a `Reason`, or what `Page.reason` said.
        previous: resemblance to what the page was, if its text changed.
        change: what has changed, if it is kept for that; None if only its own fields have, or its
            text is not stored.
        distance: of the SimHashes of page and original, for methods that compare them.
        contains: URL of a stored original that is a piece of this page.
        moving_lines: lines in which the page has changed, new ones first, if all of them move from
            crawl to crawl; otherwise none.
        template: share of the text, by characters, that was left out as its site's template, or
            None if it was not looked at.
        compared_with: URL of the page that decided, if that is not the original: an exact duplicate
            may equal another duplicate.
        fields: names of the own fields in which its item says something else than that of the
            original; with the reason `other_fields`, those that count.
        own_text: passage of its text that an original on its site does not have, and what stands
            there in that one ("": nothing); with the reason `own_text`, for which it is kept.
        repeats: where the page of an `unchanged` verdict was met before with the text and the
            data that it has now: in this `crawl`, or else in the `store`. None: not known, or it
            was a duplicate then.
        candidates: stored pages that were looked at.
        threshold: resemblance that a near-duplicate has at least; None if the method asks for
            none.
    """

    status: Status
    original: str | None = None
    resemblance: float | None = None
    containment: float | None = None
    page_id: int | None = None
    reason: Reason | None = None
    previous: float | None = None
    change: LastChange | None = field(default=None, compare=False)
    distance: int | None = None
    contains: str | None = None
    compared_with: str | None = None
    fields: tuple[str, ...] = ()
    own_text: tuple[str, str] | None = field(default=None, compare=False)
    moving_lines: tuple[str, ...] = field(default=(), compare=False)
    template: float | None = field(default=None, compare=False)
    threshold: float | None = field(default=None, compare=False)
    repeats: str | None = field(default=None, compare=False)
    candidates: int = field(default=0, compare=False)

    @property
    def is_duplicate(self) -> bool:
        """Whether the page is a duplicate of another page, and says nothing else than it."""
        return self.original is not None and self.reason not in KEEPING

    def as_dict(self) -> dict[str, Any]:
        """Verdict as the result field of an item shows it."""
        change = None if self.change is None else {**vars(self.change)}
        shown = _rounded({**vars(self), "change": change})  # `asdict` would copy every value
        del shown["candidates"], shown["repeats"], shown["moving_lines"]
        return {"status": self.status, "duplicate": self.is_duplicate, **shown}


@dataclass(frozen=True)
class StoredPage:
    """A page as the store knows it.

    `original` is a URL, or None for an original; `source` is the URL of the page that it is an item
    of, or None for a page. `resemblance` and `containment` are to the page that decided: the
    original, or that of the URL `compared_with`, whose title is `compared_title`. `fields` are the
    names of those that differ, with the reason `other_fields`. `rules` are those that decided; None
    if they are not known. `packed_fields` are digests of all its own fields. `change` is the last
    one of its text or title; None if it is not known. `own_text` is what its text says with the
    reason `own_text`, as in `Verdict`, if texts were read: `Store.find` does so.
    """

    id: int
    url: str
    site: str
    scope: str
    title: str | None
    language: str | None
    words: int
    status: Status
    last_verdict: Status
    original: str | None
    resemblance: float | None
    containment: float | None
    first_seen: datetime
    last_seen: datetime
    run: int | None
    source: str | None
    reason: Reason | None = None
    compared_with: str | None = None
    compared_title: str | None = None
    last_run: int | None = None
    fields: tuple[str, ...] = ()
    own_text: tuple[str, str] | None = field(default=None, compare=False)
    change: LastChange | None = None
    rules: Rules | None = field(default=None, repr=False)
    packed_fields: bytes | None = field(default=None, repr=False)

    @property
    def threshold(self) -> float | None:
        """Resemblance that the rules ask for; None if they ask for none, or are not known."""
        return None if self.rules is None else self.rules.least_resemblance

    @property
    def decided_by(self) -> str | None:
        """URL of the page that `resemblance` and `containment` are to."""
        return self.compared_with or self.original

    def as_dict(self) -> dict[str, Any]:
        """Page with times in ISO 8601, and otherwise with the values of `Verdict.as_dict`."""
        shown = _rounded({**asdict(self), "threshold": self.threshold})
        del shown["rules"], shown["packed_fields"]
        for name in ("first_seen", "last_seen"):
            shown[name] = shown[name].isoformat()
        return shown


PAGE_COLUMNS = ("URL", "title", "status", "words", "resemblance", "original")
"""Columns of pages in a notebook."""


def page_cells(page: StoredPage) -> tuple[Any, ...]:
    """Cells of a page in a notebook."""
    return page.url, page.title, page.status, page.words, page.resemblance, page.original


class Match(NamedTuple):
    """A stored page that resembles what was asked for.

    `measured` tells whether resemblance and containment were measured on the texts, or
    estimated from the minima. `distance` is that of the SimHashes, if it was asked for, and
    `value` another measure that was.
    """

    page: StoredPage
    resemblance: float
    containment: float
    measured: bool
    distance: int | None = None
    value: float | None = None

    def shared_by(self, words: int) -> str:
        """Say what a page with so many words has in common with this one."""
        if self.containment < _WHOLLY:
            return f"{self.containment:.0%} of the shorter of both is shared with"
        return "wholly contained in" if words <= self.page.words else "contains the whole of"


@dataclass(frozen=True)
class Group:
    """One original and the duplicates attached to it."""

    original: StoredPage
    duplicates: tuple[StoredPage, ...]

    def as_dict(self) -> dict[str, Any]:
        """Group as data, with its size and the resemblance of its duplicates."""
        measured = [page.resemblance or 0.0 for page in self.duplicates]
        return {
            "original": self.original.as_dict(),
            "size": len(measured),
            "lowest": min(measured),
            "highest": max(measured),
            "duplicates": [page.as_dict() for page in self.duplicates],
        }

    def _repr_html_(self) -> str:
        from shingling.notebook import table  # a crawl does not need it

        caption = f"{self.original.title or ''} {self.original.url}"
        return table(map(page_cells, self.duplicates), PAGE_COLUMNS, caption)


class IndexShape(NamedTuple):
    """What the originals of a store are found by.

    Args:
        indexed: `minima` or `simhash`.
        bands: parts of a signature, each of which is a key.
        rows: minima, or bits of the SimHash, in a band.
        sampled: whether pieces of pages are found as well, by samples of their shingles.
    """

    indexed: str
    bands: int
    rows: int
    sampled: bool

    def __str__(self) -> str:
        unit = "bits of SimHashes" if self.indexed == "simhash" else "minima"
        samples = ", and samples" if self.sampled else ""
        return f"{self.bands} x {self.rows} {unit}{samples}"


@dataclass(frozen=True)
class StoreStatus:
    """What a store holds.

    Args:
        url: of the database, without its password.
        bytes: size on disk.
        pages, originals, skipped, duplicates: how many there are; `exact` and `near` are the
            duplicates of each kind.
        other_fields, own_text: originals that are kept for what they say besides others.
        runs, reviews: how many there are.
        full_keys: keys that more originals share than are looked at.
        scheme: of the signatures.
        index: what the originals are found by.
        extractors: names of those that the texts are by, the last one last; none if not known.
        revision: of the tables.
        url_rules: rules on URLs, each below one path of a site.
    """

    url: str
    bytes: int
    pages: int
    originals: int
    duplicates: int
    exact: int
    near: int
    runs: int
    reviews: int
    full_keys: int
    scheme: Scheme
    index: IndexShape
    extractors: tuple[str, ...]
    revision: str
    url_rules: int = 0
    skipped: int = 0
    other_fields: int = 0
    own_text: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Status as JSON has it."""
        shown = asdict(self)
        del shown["scheme"], shown["index"]
        scheme = {"id": self.scheme.id, **self.scheme.describe()}
        return {**shown, "scheme": scheme, "index": self.index._asdict()}


@dataclass(frozen=True)
class Review:
    """A review of two URLs: their pages are the same, or different."""

    a: str
    b: str
    same: bool
    note: str | None
    created: datetime

    def as_dict(self) -> dict[str, Any]:
        """Review with its time in ISO 8601."""
        return {**asdict(self), "created": self.created.isoformat()}


def _rounded(shown: dict[str, Any]) -> dict[str, Any]:
    """Values of a verdict or a page as JSON has them."""
    for name in ("resemblance", "containment", "previous", "template"):
        if shown.get(name) is not None:
            shown[name] = round(shown[name], 4)
    reason = shown["reason"] and str(shown["reason"])  # no enum: not every exporter takes one
    return {**shown, "reason": reason, "fields": list(shown["fields"]) or None}


def from_seconds(seconds: int) -> datetime:
    """Time of so many seconds since 1970, in UTC."""
    return _EPOCH + timedelta(seconds=seconds)  # `fromtimestamp` knows no 1969 on Windows


def fetched_at(page: Page) -> int:
    """When a page was fetched, in whole seconds since 1970, UTC."""
    return int(time.time() if page.fetched is None else page.fetched)
