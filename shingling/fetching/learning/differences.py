"""The changes that make two URLs equal."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from shingling.fetching.learning.changes import (
    DROP_EXTENSION,
    DROP_LAST,
    DROP_PAIR,
    DROP_PARAMETER,
    DROP_PATH_PARAMETER,
    DROP_SEGMENT,
    DROP_VALUE,
    FOLD,
    HTTPS,
    LOWER,
    ORDER,
    SLASH,
    SORT,
    WWW,
    Change,
    apply,
    exchange,
    extension,
    fold,
    is_nameable,
    path_parameters,
)
from shingling.fetching.learning.parts import Parts, name_of

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_DIFFERENCES = 6
"""Changes between two URLs that are still compared: with more, nobody knows which one mattered."""

_MAX_EXCHANGED_SEGMENTS = 2


def differences(a: Parts, b: Parts) -> tuple[Change, ...] | None:
    """Find the changes that make two URLs equal when they are applied to both.

    None where there are too many, or none that is known.
    """
    found: list[Change] = []
    if a.scheme != b.scheme:
        found.append(HTTPS)
    if a.host != b.host:
        if a.host.removeprefix("www.") != b.host.removeprefix("www."):
            return None
        found.append(WWW)
    if a.segments != b.segments:
        of_paths = _of_paths(a, b)
        if of_paths is None:
            return None
        found += of_paths
    elif a.slash != b.slash:
        found.append(SLASH)
    if a.query != b.query:
        found += _of_queries(a.query, b.query)
    if not all(is_nameable(one.what) for one in found if one.what):
        return None
    if len(found) > MAX_DIFFERENCES or not _make_equal(found, a, b):
        return None
    return tuple(found)


def _make_equal(changes: list[Change], a: Parts, b: Parts) -> bool:
    """Whether the changes do so: of a segment that is repeated, only the first is exchanged."""
    for change in sorted(changes, key=lambda one: ORDER[one.kind]):
        a, b = apply(change, a) or a, apply(change, b) or b
    return a == b


def value_dropped(a: Parts, b: Parts, change: Change) -> Change | None:
    """Find the narrower change where one URL has one value of a parameter, the other none."""
    if change.kind != DROP_PARAMETER:
        return None
    values = [[one for one in parts.query if name_of(one) == change.what] for parts in (a, b)]
    if sorted(map(len, values)) != [0, 1]:
        return None
    value = max(values)[0].partition("=")[2]
    return Change(DROP_VALUE, change.what, value) if not value or is_nameable(value) else None


def _of_queries(a: tuple[str, ...], b: tuple[str, ...]) -> Iterable[Change]:
    counts_a, counts_b = Counter(a), Counter(b)
    names = {name_of(one) for one in (counts_a - counts_b) + (counts_b - counts_a)}
    yield from (Change(DROP_PARAMETER, name) for name in sorted(names))
    left = [[one for one in query if name_of(one) not in names] for query in (a, b)]
    if left[0] != left[1]:
        yield SORT


def _of_paths(a: Parts, b: Parts) -> list[Change] | None:
    found: list[Change] = []
    names = sorted({*path_parameters(a.segments)} | {*path_parameters(b.segments)})
    for name in names[:MAX_DIFFERENCES]:
        change = Change(DROP_PATH_PARAMETER, name)
        a_without, b_without = apply(change, a) or a, apply(change, b) or b
        if (a_without.segments == b_without.segments) or (a.segments, b.segments) != (
            a_without.segments,
            b_without.segments,
        ):
            found.append(change)
            a, b = a_without, b_without
    if a.segments != b.segments and _lowered(a) == _lowered(b):
        found.append(LOWER)
        return found + ([SLASH] if a.slash != b.slash else [])
    if a.segments != b.segments and fold(a.segments) == fold(b.segments):
        found.append(FOLD)
        return found + ([SLASH] if a.slash != b.slash else [])
    if len(a.segments) == len(b.segments):
        pairs = [(x, y) for x, y in zip(a.segments, b.segments, strict=True) if x != y]
        is_last = len(pairs) == 1 and a.segments[-1] != b.segments[-1]
        if is_last and (ending := _dropped_extension(*pairs[0])):
            found.append(Change(DROP_EXTENSION, ending))
            return found + ([SLASH] if a.slash or b.slash else [])
        if len(pairs) > _MAX_EXCHANGED_SEGMENTS:
            return None
        found += [exchange(x, y) for x, y in pairs]
        return found + ([SLASH] if a.slash != b.slash else [])
    long, short = (a, b) if len(a.segments) > len(b.segments) else (b, a)
    more = len(long.segments) - len(short.segments)
    if more not in (1, 2):
        return None
    at = next(
        (n for n, one in enumerate(short.segments) if one != long.segments[n]),
        len(short.segments),
    )
    if long.segments[at + more :] != short.segments[at:]:
        return None
    if more == 2:
        if at == len(short.segments):
            return None
        found.append(Change(DROP_PAIR, long.segments[at]))
        return found + ([SLASH] if a.slash != b.slash else [])
    if at == len(short.segments):
        found.append(Change(DROP_LAST, long.segments[at]))
        return found + ([] if short.slash else [SLASH])
    found.append(Change(DROP_SEGMENT, long.segments[at]))
    return found + ([SLASH] if a.slash != b.slash else [])


def _dropped_extension(a: str, b: str) -> str:
    """Find the ending by which two segments differ; empty where they differ otherwise."""
    long, short = max(a, b, key=len), min(a, b, key=len)
    ending = extension(long)
    return ending if ending and long == f"{short}.{ending}" else ""


def _lowered(parts: Parts) -> list[str]:
    return [segment.lower() for segment in parts.segments]
