"""The changes of a URL that may make no difference to what is fetched, and those between two URLs.

A change has a stable text, such as `drop-parameter sid`, by which the store, commands and
messages name it. Of two forms of a URL, each change chooses the same one: an exchange of segments
puts the smaller one (by code points) in place of the greater one, so that changes never go in a
circle. Numbers in a last segment that is dropped are written `#`: `post-52` is `post-#`.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from shingling.fetching.learning.parts import Parts, name_of
from shingling.store.urls import HOST_LABELS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_MAX_NAME_CHARACTERS = 64  # of a name, a value or a segment that a change is made of
_MAX_DIFFERENCES = 12  # between two URLs: with more, nobody knows which one mattered
_NUMBERS = re.compile(r"\d+")
_EXTENSIONS = frozenset(("html", "htm", "xhtml", "shtml", "php", "asp", "aspx", "jsp"))
_INDEX_NAMES = ("index.", "default.", "home.")


class UrlChange(NamedTuple):
    """One way to change a URL.

    Args:
        kind: one of `KINDS`.
        what: name of the parameter or segment that it is about.
        other: value of the parameter, or the segment that is put in its place.
    """

    kind: str
    what: str = ""
    other: str = ""

    @property
    def text(self) -> str:
        """Its stable text form."""
        if self.kind in _OF_VALUES:
            return f"{self.kind} {self.what}={self.other}"
        return " ".join(part for part in self if part)


class AppliedChange(NamedTuple):
    """A change that was applied to a URL.

    Args:
        change: the change.
        dropped: what exactly it dropped, so that two URLs can be compared.
        risk: probability that it loses something.
    """

    change: UrlChange
    dropped: str
    risk: float


class Reduced(NamedTuple):
    """A reduced URL, and how it came about."""

    parts: Parts
    steps: tuple[AppliedChange, ...]

    @property
    def key(self) -> int:
        """64-bit hash of the reduced URL, of this process."""
        return hash(self.parts)


DROP_PARAMETER = "drop-parameter"
DROP_VALUE = "drop-value"
ONE_PAGE = "one-page"
DROP_HOST = "drop-host"
DROP_PATH_PARAMETER = "drop-path-parameter"
DROP_LAST = "drop-last-segment"
DROP_SEGMENT = "drop-segment"
DROP_PAIR = "drop-segment-pair"
DROP_EXTENSION = "drop-extension"
EXCHANGE_SEGMENT = "exchange-segment"

HTTPS = UrlChange("use-https")
WWW = UrlChange("drop-www")
SLASH = UrlChange("drop-slash")
LOWER = UrlChange("lower-case")
FOLD = UrlChange("fold-segments")
SLUG = UrlChange("drop-slug")
SORT = UrlChange("sort-parameters")
_OF_VALUES = (DROP_VALUE, ONE_PAGE)


def _is_nameable(name: str) -> bool:
    """Whether a change may be made of a name, a value or a segment."""
    return 0 < len(name) <= _MAX_NAME_CHARACTERS and " " not in name and name.isprintable()


def read_change(text: str) -> UrlChange | None:
    """Read the text form of a change; None if it is none."""
    kind, _, names = text.partition(" ")
    what, _, other = names.partition("=" if kind in _OF_VALUES else " ")
    change = UrlChange(kind, what, other)
    if kind not in KINDS or change.text != text:
        return None
    if kind in _OF_VALUES:
        is_valid = _is_nameable(what) and (not other or _is_nameable(other))
    elif kind == EXCHANGE_SEGMENT:
        is_valid = _is_nameable(what) and _is_nameable(other) and what > other
    elif UrlChange(kind) in _ALWAYS_TRIED:
        is_valid = not names
    else:
        is_valid = _is_nameable(names) and not (kind == DROP_PARAMETER and "=" in names)
    return change if is_valid else None


def apply(change: UrlChange, parts: Parts) -> Parts | None:
    """Change a URL; None if there is nothing to change."""
    changed = KINDS[change.kind](change, parts)
    return None if changed == parts else changed


def is_index(segment: str) -> bool:
    """Whether a segment is a usual name of what a folder shows."""
    return segment.lower().startswith(_INDEX_NAMES)


def masked(segment: str) -> str:
    """Write `#` for each number of a segment."""
    return _NUMBERS.sub("#", segment)


def kind_of(parts: Parts) -> int:
    """Key of what URLs have in common that differ in numbers, the last segment and values."""
    folders = tuple(map(masked, parts.segments[:-1]))
    return hash((folders, len(parts.segments), *map(name_of, parts.query)))


def extension(segment: str) -> str:
    """Take the ending of a page's name, such as `html`; empty if it has none."""
    name, _, ending = segment.rpartition(".")
    return ending if name and ending.lower() in _EXTENSIONS else ""


def path_parameters(segments: tuple[str, ...]) -> list[str]:
    """Names of path parameters, such as `jsessionid` of `page;jsessionid=5`."""
    return [
        name_of(parameter)
        for segment in segments
        if ";" in segment
        for parameter in segment.split(";")[1:]
    ]


def words_of(parts: Parts) -> set[str]:
    """List what a change of a URL may be about: its `what`, which may be nothing."""
    last = parts.segments[-1] if parts.segments else ""
    return {
        *("", masked(last), extension(last), parts.host.partition(".")[0]),
        *parts.segments,
        *path_parameters(parts.segments),
        *map(name_of, parts.query),
    }


def fold(segments: tuple[str, ...]) -> tuple[str, ...]:
    """Write each run of segments that is repeated at once, of up to 4 segments, a single time."""
    folded: list[str] = []
    for segment in segments:
        folded.append(segment)
        for length in range(1, 5):
            if len(folded) >= 2 * length and folded[-length:] == folded[-2 * length : -length]:
                del folded[-length:]
                break
    return tuple(folded)


def _drop_parameter(change: UrlChange, parts: Parts) -> Parts:
    return parts._replace(
        query=tuple(parameter for parameter in parts.query if name_of(parameter) != change.what)
    )


def _drop_value(change: UrlChange, parts: Parts) -> Parts:
    dropped = (f"{change.what}={change.other}", "" if change.other else change.what)
    return parts._replace(
        query=tuple(parameter for parameter in parts.query if parameter not in dropped)
    )


def _drop_path_parameter(change: UrlChange, parts: Parts) -> Parts:
    def without(segment: str) -> str:
        page, *parameters = segment.split(";")
        return ";".join(
            (page, *(parameter for parameter in parameters if name_of(parameter) != change.what))
        )

    return parts._replace(segments=tuple(map(without, parts.segments)))


def _drop_last(change: UrlChange, parts: Parts) -> Parts:
    if not parts.segments or masked(parts.segments[-1]) != change.what:
        return parts
    return parts._replace(segments=parts.segments[:-1], slash=True)


def _drop_slug(_: UrlChange, parts: Parts) -> Parts:
    number, last = ("", "", *parts.segments)[-2:]
    words = [word for word in last.split("-") if word and not word.isdecimal()]
    if len(words) < 2 or not number.isdecimal():
        return parts
    return parts._replace(segments=parts.segments[:-1], slash=False)


def _drop_segments(change: UrlChange, parts: Parts) -> Parts:
    """Drop a segment, or a pair, but not the last one."""
    number = 2 if change.kind == DROP_PAIR else 1
    if change.what not in parts.segments[:-number]:
        return parts
    at = parts.segments.index(change.what)
    return parts._replace(segments=parts.segments[:at] + parts.segments[at + number :])


def _drop_extension(change: UrlChange, parts: Parts) -> Parts:
    *folders, last = parts.segments or ("",)
    if extension(last) != change.what:
        return parts
    return parts._replace(segments=(*folders, last.removesuffix(f".{change.what}")), slash=False)


def _exchange_segment(change: UrlChange, parts: Parts) -> Parts:
    if change.what not in parts.segments:
        return parts
    at = parts.segments.index(change.what)
    return parts._replace(segments=(*parts.segments[:at], change.other, *parts.segments[at + 1 :]))


def _drop_host(change: UrlChange, parts: Parts) -> Parts:
    return parts._replace(host=parts.host.removeprefix(f"{change.what or 'www'}."))


def _one_page(change: UrlChange, parts: Parts) -> Parts:
    parameter = f"{change.what}={change.other}"
    if not parts.segments or parameter not in parts.query:
        return parts
    return parts._replace(segments=(), slash=True, query=(parameter,))


KINDS: dict[str, Callable[[UrlChange, Parts], Parts]] = {
    DROP_PATH_PARAMETER: _drop_path_parameter,
    HTTPS.kind: lambda _, parts: parts._replace(scheme="https"),
    WWW.kind: _drop_host,
    DROP_HOST: _drop_host,
    ONE_PAGE: _one_page,
    LOWER.kind: lambda _, parts: parts._replace(segments=tuple(map(str.lower, parts.segments))),
    FOLD.kind: lambda _, parts: parts._replace(segments=fold(parts.segments)),
    DROP_SEGMENT: _drop_segments,
    DROP_PAIR: _drop_segments,
    EXCHANGE_SEGMENT: _exchange_segment,
    SLUG.kind: _drop_slug,
    DROP_LAST: _drop_last,
    DROP_EXTENSION: _drop_extension,
    SLASH.kind: lambda _, parts: parts._replace(slash=not parts.segments),
    DROP_PARAMETER: _drop_parameter,
    DROP_VALUE: _drop_value,
    SORT.kind: lambda _, parts: parts._replace(query=tuple(sorted(parts.query))),
}
"""What each kind of change does, in the order in which a URL is reduced."""

_ORDER = {kind: number for number, kind in enumerate(KINDS)}

_ALWAYS_TRIED = (HTTPS, WWW, LOWER, FOLD, SLUG, SLASH, SORT)


def changes_of(parts: Parts, also: Iterable[UrlChange] = ()) -> dict[UrlChange, Parts]:
    """Try the changes on a URL that one URL alone shows, and some others: what each makes of it.

    Pages that differ are found by these forms of their URLs. A kind that is missing here is only
    ever agreed with, and its rules lose pages.
    """
    query = [parameter.partition("=") for parameter in parts.query]
    last = parts.segments[-1] if parts.segments else ""
    found = (
        *(UrlChange(DROP_PARAMETER, name) for name, _, _ in query),
        *(UrlChange(DROP_PATH_PARAMETER, name) for name in path_parameters(parts.segments)),
        UrlChange(DROP_HOST, parts.host.partition(".")[0]),
        *(UrlChange(ONE_PAGE, name, value) for name, _, value in query if value.isalpha()),
        *(UrlChange(DROP_PAIR, segment) for segment in parts.segments[:2]),
        UrlChange(DROP_LAST, masked(last)),
        UrlChange(DROP_EXTENSION, extension(last)),
    )
    named = (
        change
        for change in found
        if _is_nameable(change.what) and _is_nameable(change.other or change.what)
    )
    tried = ((change, apply(change, parts)) for change in (*named, *_ALWAYS_TRIED, *also))
    return {change: changed for change, changed in tried if changed is not None}


def differences(a: Parts, b: Parts) -> tuple[UrlChange, ...]:
    """Find the changes that make two URLs equal when they are applied to both.

    None are found if there are too many, or if one of them is not known.
    """
    found = [HTTPS] if a.scheme != b.scheme else []
    if a.host != b.host:
        found += _of_hosts(a.host, b.host)
    found += _of_queries(a.query, b.query)
    for in_segments in _in_segments(a, b):
        for of_path in _of_paths(make_equal(in_segments, a), make_equal(in_segments, b)):
            for slash in ((), (SLASH,)):
                changes = (*found, *in_segments, *of_path, *slash)
                if make_equal(changes, a) == make_equal(changes, b):
                    named = all(_is_nameable(change.what) for change in changes if change.what)
                    return changes if named and len(changes) <= _MAX_DIFFERENCES else ()
    return ()


def dropped_between(before: Parts, after: Parts) -> str:
    """Tell two URLs apart that a change makes equal: the segments or parameters it is about."""
    if before.segments != after.segments:
        return "/".join((Counter(before.segments) - Counter(after.segments)).elements())
    if before.query == after.query:
        return ""
    dropped = [parameter for parameter in before.query if parameter not in after.query]
    return "&".join(dropped or map(name_of, before.query))  # or they are sorted


def in_order(changes: Iterable[UrlChange]) -> list[UrlChange]:
    """Sort changes as they are applied: of segments, the greatest is exchanged first."""
    return sorted(sorted({*changes}, reverse=True), key=lambda change: _ORDER[change.kind])


def make_equal(changes: Iterable[UrlChange], parts: Parts) -> Parts:
    """Apply changes to a URL: of a segment that is repeated, only the first is exchanged."""
    for change in in_order(changes):
        parts = KINDS[change.kind](change, parts)
    return parts


def value_dropped(a: Parts, b: Parts, change: UrlChange) -> UrlChange | None:
    """Find the narrower change if one URL has one value of a parameter, the other none."""
    if change.kind != DROP_PARAMETER:
        return None
    values = [
        [parameter for parameter in parts.query if name_of(parameter) == change.what]
        for parts in (a, b)
    ]
    if sorted(map(len, values)) != [0, 1]:
        return None
    value = max(values)[0].partition("=")[2]
    return UrlChange(DROP_VALUE, change.what, value) if not value or _is_nameable(value) else None


def _of_hosts(a: str, b: str) -> Iterator[UrlChange]:
    for label in sorted({a.partition(".")[0], b.partition(".")[0]}):
        if label == "www":
            yield WWW
        elif label in HOST_LABELS:
            yield UrlChange(DROP_HOST, label)


def _of_queries(a: tuple[str, ...], b: tuple[str, ...]) -> Iterator[UrlChange]:
    counts_a, counts_b = Counter(a), Counter(b)
    names = {name_of(parameter) for parameter in (counts_a - counts_b) + (counts_b - counts_a)}
    yield from (UrlChange(DROP_PARAMETER, name) for name in sorted(names))
    left = [
        [parameter for parameter in query if name_of(parameter) not in names] for query in (a, b)
    ]
    if left[0] != left[1]:
        yield SORT


def _in_segments(a: Parts, b: Parts) -> Iterator[tuple[UrlChange, ...]]:
    """Yield the changes that may be needed inside the segments of a path, first most of them."""
    if a.segments != b.segments:
        names = {*path_parameters(a.segments), *path_parameters(b.segments)}
        parameters = tuple(UrlChange(DROP_PATH_PARAMETER, name) for name in sorted(names))
        endings = {extension(last) for last in (*a.segments[-1:], *b.segments[-1:])}
        if len(endings) > 1:
            yield (
                *parameters,
                *(UrlChange(DROP_EXTENSION, ending) for ending in endings if ending),
            )
        if parameters:
            yield parameters
    yield ()


def _of_paths(a: Parts, b: Parts) -> Iterator[tuple[UrlChange, ...]]:
    """Yield the changes that may make two paths equal, the plainest first."""
    yield ()
    if a.segments == b.segments:
        return
    yield from ((LOWER,), (FOLD,), (SLUG,))
    long, short = sorted((a.segments, b.segments), key=len, reverse=True)
    if len(long) == len(short):
        pairs = [(x, y) for x, y in zip(long, short, strict=True) if x != y]
        if masked(long[-1]) == masked(short[-1]):
            yield (UrlChange(DROP_LAST, masked(long[-1])),)
        if len(pairs) == 1:  # of `/posts/52` and `/threads/5`, no exchange holds without the other
            yield (UrlChange(EXCHANGE_SEGMENT, max(pairs[0]), min(pairs[0])),)
        return
    at = next((n for n, segment in enumerate(short) if segment != long[n]), len(short))
    yield (UrlChange(DROP_LAST, masked(long[-1])),)
    yield (UrlChange(DROP_SEGMENT, long[at]),)
    yield (UrlChange(DROP_PAIR, long[at]),)
