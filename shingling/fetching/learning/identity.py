"""Whether two fetched pages are the same."""

from __future__ import annotations

import zlib
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from shingling.fetching.learning.pages import FetchedPage

MIN_WORDS = 8
"""Pages with fewer words say nothing: they are empty, or errors."""

MAX_LINKS_KEPT = 40
"""Links of a page that are compared."""

NEAR = 0.9
"""Resemblance from which pages are the same but for counters and times, if their links agree."""

_MAX_LOST_LINKS = 0.1  # of the links of a page, so that it is the same


class Look(NamedTuple):
    """What is kept of a fetched page so that others can be compared with it.

    Args:
        content: 64-bit hash of its text and title.
        minima: of its signature, as bytes.
        links: a sample, compressed.
        original, resemblance, has_other_fields: the verdict of the store.
    """

    content: int
    minima: bytes
    links: bytes
    original: str | None
    resemblance: float
    has_other_fields: bool = False


def look_of(page: FetchedPage) -> Look | None:
    """Keep what is to be compared of a page; None where it has too few words."""
    signature = page.signature
    if signature is None or signature.words < MIN_WORDS:
        return None
    title = (page.title or "").encode("utf-8", "replace")
    digest = blake2b(signature.text_hash + title, digest_size=8).digest()
    links = "\n".join(_sample(page.links)).encode("utf-8", "surrogatepass")
    return Look(
        int.from_bytes(digest, "big"),
        signature.minima.tobytes(),
        zlib.compress(links, 1),
        page.original,
        page.resemblance or 0.0,
        page.has_other_fields,
    )


def links_of(look: Look) -> list[str]:
    """Links that were kept of a page."""
    text = zlib.decompress(look.links).decode("utf-8", "surrogatepass")
    return text.split("\n") if text else []


def resemblance(a: Look, b: Look) -> float:
    """Estimated resemblance of two pages, from their minima."""
    if a.content == b.content:
        return 1.0
    if len(a.minima) != len(b.minima):
        return 0.0
    equal = np.frombuffer(a.minima, np.uint32) == np.frombuffer(b.minima, np.uint32)
    return float(np.count_nonzero(equal)) / len(equal)


def is_same(
    fetched: Look,
    other: Look,
    *,
    near: bool,
    key: Callable[[str], object],
    is_known: Callable[[str], bool],
) -> bool | None:
    """Say whether a page adds nothing to one fetched before; None where nobody can tell.

    Args:
        fetched: the earlier page.
        other: the later one.
        near: a few words may differ.
        key: reduces a link by the changes that lie between both pages.
        is_known: a link of the later page was seen on the site before.
    """
    if other.has_other_fields:
        return False
    if fetched.content != other.content and not (
        near and max(resemblance(fetched, other), _of_store(fetched, other)) >= NEAR
    ):
        return False
    links = links_of(other)
    before = links_of(fetched)
    new = set(links).difference(before)
    if not new:
        return True
    keys = set(map(key, before))
    lost = sum(key(link) not in keys and not is_known(link) for link in new)
    return True if lost <= _MAX_LOST_LINKS * len(links) else None


def _of_store(fetched: Look, other: Look) -> float:
    if other.original is not None and other.original == fetched.original:
        return min(other.resemblance, fetched.resemblance)
    return 0.0


def _sample(links: Collection[str]) -> list[str]:
    """At most `MAX_LINKS_KEPT` links: of two copies of a page, those to the same pages."""
    unique = list(dict.fromkeys(link[:2048] for link in links if "\n" not in link[:2048]))
    if len(unique) <= MAX_LINKS_KEPT:
        return unique

    def place(number: int) -> tuple[int, int]:
        last = unique[number].partition("?")[0].rpartition("/")[2]
        return zlib.crc32(last.encode("utf-8", "replace")), number

    return [unique[number] for number in sorted(range(len(unique)), key=place)[:MAX_LINKS_KEPT]]
