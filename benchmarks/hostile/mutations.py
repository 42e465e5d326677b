"""Real pages, mutated: bytes, tags, headers, cuts and splices, the same for each seed."""

from __future__ import annotations

import gzip
import html
import random
import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from benchmarks.crawl import chosen_bodies
from benchmarks.hostile.server import Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from random import Random

    Mutation: TypeAlias = "Callable[[bytes, Random], bytes]"

SETS = {"trafilatura-eval": 2, "installation-guide": 3, "docs-multilang": 3, "waddle": 2}
"""Sets of the labelled data, and the tenths of the pages that are taken of each."""
SITES = 40
_MAX_BODY = 300_000  # bytes of a real page
_MAX_MUTATED = 1_000_000  # bytes of a mutated one: larger ones are bombs, which are another part
_TAG = re.compile(rb"<[^<>]{1,200}>")
_REFRESH = re.compile(rb"http-equiv\W{0,3}refresh", re.I)
_TEXT = re.compile(rb">([^<>]{20,})<")
_SCRIPTS = ((0x3B1, 24), (0x430, 32), (0x5D0, 27), (0x627, 28), (0x905, 50), (0x4E00, 20000))
_HOSTILE_URLS = (
    *("//", "http://", "http://[", "http://[::1", "javascript:alert(1)", "data:text/html,a"),
    *("file:///etc/passwd", "http://user:secret@site1.example/", "http://" + "a:" * 20000 + "?@"),
    *("http://site1.example:99999/", "http://site1.example/" + "a" * 100_000, "?", "#", "\\\\a"),
    *("http://xn--a.example/", "http://\u0130.example/", "http://a\u202eb.example/", "%zz%00"),
    *("http://site1.example/\x1b[31m", "http://" + "a." * 300 + "example/", "../" * 5000),
)
_KINDS = ("application/octet-stream", "image/png", "text/plain", "application/xhtml+xml")
_CHARSETS = ("utf-8", "latin-1", "utf-16", "utf-7", "shift_jis", "big5", "koi8-r", "x-user-defined")


def _cuts(body: bytes, chance: Random) -> tuple[int, int]:
    """Choose a part of a page, up to a twentieth of it."""
    start = chance.randrange(len(body) + 1)
    return start, min(len(body), start + chance.randrange(len(body) // 20 + 2))


def _flip(body: bytes, chance: Random) -> bytes:
    changed = bytearray(body)
    for _ in range(chance.randrange(1, 2 + len(body) // 50)):
        if changed:
            changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _delete(body: bytes, chance: Random) -> bytes:
    start, end = _cuts(body, chance)
    return body[:start] + body[end:]


def _insert(body: bytes, chance: Random) -> bytes:
    start, _ = _cuts(body, chance)
    return body[:start] + chance.randbytes(chance.randrange(1, 500)) + body[start:]


def _duplicate(body: bytes, chance: Random) -> bytes:
    start, end = _cuts(body, chance)
    return body[:end] + body[start:end] * chance.randrange(1, 8) + body[end:]


def _cut(body: bytes, chance: Random) -> bytes:
    return body[: chance.randrange(len(body) + 1)]


def _change_tags(change: Callable[[bytes], bytes]) -> Mutation:
    def changed(body: bytes, chance: Random) -> bytes:
        share = chance.random() ** 2
        return _TAG.sub(lambda tag: change(tag[0]) if chance.random() < share else tag[0], body)

    return changed


def _nest(body: bytes, chance: Random) -> bytes:
    tag = chance.choice((b"div", b"table", b"ul", b"b", b"a", b"article", b"svg", b"template"))
    start, _ = _cuts(body, chance)
    return body[:start] + b"<%s>" % tag * chance.randrange(1, 2000) + body[start:]


def _change_texts(change: Callable[[str, Random], str]) -> Mutation:
    def changed(body: bytes, chance: Random) -> bytes:
        share = chance.random()

        def one(found: re.Match[bytes]) -> bytes:
            if chance.random() > share:
                return found[0]
            text = found[1].decode("utf-8", "replace")
            return b">" + change(text, chance).encode("utf-8", "replace") + b"<"

        return _TEXT.sub(one, body)

    return changed


def _in_entities(text: str, chance: Random) -> str:
    forms = ("&#{};", "&#x{:x};", "&#{}", "&#0000{};", "&amp;#{};")
    return "".join(chance.choice(forms).format(ord(character)) for character in text)


def _in_script(text: str, chance: Random) -> str:
    start, size = chance.choice(_SCRIPTS)
    return "".join(chr(start + ord(one) % size) if one.isalpha() else one for one in text)


def _with_marks(text: str, chance: Random) -> str:
    marks = chance.randrange(1, 12)
    return "".join(
        one + "".join(chr(0x300 + chance.randrange(112)) for _ in range(marks)) for one in text
    )


def _as_one_word(text: str, _: Random) -> str:
    return "".join(text.split()) * 5


def _with_controls(text: str, chance: Random) -> str:
    odd = "\0\x01\x1b\x7f\x85\u200b\u202e\u2066\ufeff\ufffe\U000e0001"
    return "".join(one + (chance.choice(odd) if chance.random() < 0.2 else "") for one in text)


def _attributes(body: bytes, chance: Random) -> bytes:
    many = b"".join(b" a%d='%d'" % (n, n) for n in range(chance.randrange(1, 3000)))
    return _TAG.sub(lambda tag: tag[0][:-1] + many + b">", body, count=3)


def _splice(body: bytes, chance: Random) -> bytes:
    """Put one half of a page before the other one."""
    start, _ = _cuts(body, chance)
    return body[start:] + body[:start]


MUTATIONS: dict[str, Mutation] = {
    "bytes flipped": _flip,
    "bytes deleted": _delete,
    "bytes inserted": _insert,
    "bytes duplicated": _duplicate,
    "cut": _cut,
    "halves exchanged": _splice,
    "tags removed": _change_tags(lambda _: b""),
    "tags duplicated": _change_tags(lambda tag: tag + tag),
    "tags unclosed": _change_tags(lambda tag: tag[:-1]),
    "tags nested": _nest,
    "end tags only": _change_tags(lambda tag: b"</" + tag.lstrip(b"</")),
    "attributes": _attributes,
    "entities": _change_texts(_in_entities),
    "another script": _change_texts(_in_script),
    "combining marks": _change_texts(_with_marks),
    "huge words": _change_texts(_as_one_word),
    "NULs and controls": _change_texts(_with_controls),
}


@dataclass(frozen=True)
class Made:
    """A page that was made.

    Args:
        names: what was done to it.
        reply: what the server answers.
        body: as a client reads it, without the coding of the way.
        use: of the page by the spider.
        may_fail: whether a client may rightly refuse the answer.
    """

    names: tuple[str, ...]
    reply: Reply
    body: bytes
    use: str = "page"
    may_fail: bool = False


class Mutator:
    """Makes pages by number.

    Args:
        data: folder of the labelled data.
        originals: real pages that the others are made of.
        seed: of everything that is random.
    """

    def __init__(self, data: Path, originals: int, seed: int) -> None:
        self._bodies = real_bodies(data, originals)
        self._seed = seed

    def url(self, number: int) -> str:
        """URL of a page: pages that were made of one real page are on several sites."""
        chance = random.Random(f"{self._seed} site {number}")
        return f"http://site{chance.randrange(SITES)}.example/pages/{number}"

    def make(self, number: int) -> Made:
        """Make a page: of ten, two as they are, two spliced, the others mutated."""
        chance = random.Random(f"{self._seed} page {number}")
        body = chance.choice(self._bodies)
        kind = chance.random()
        names: tuple[str, ...] = ("as it is",)
        if kind > 0.2:
            if kind > 0.8:
                other = chance.choice(self._bodies)
                body = body[: chance.randrange(len(body))] + other[chance.randrange(len(other)) :]
            names = tuple(chance.sample([*MUTATIONS], k=chance.choice((1, 1, 2, 3))))
            for name in names:
                body = MUTATIONS[name](body, chance)[:_MAX_MUTATED]
            names = ("spliced", *names) if kind > 0.8 else names
        # A real page may send its reader to another one.
        made = Made(names, Reply(body), body, may_fail=_REFRESH.search(body) is not None)
        return made if kind < 0.1 else self._sent(made, number, chance)

    def _sent(self, made: Made, number: int, chance: Random) -> Made:
        """Send some of the pages with odd headers, redirects or a broken coding."""
        reply, html_type = made.reply, ("Content-Type", "text/html")

        def with_headers(*headers: tuple[str, str]) -> Made:
            return replace(made, reply=replace(reply, headers=headers))

        kind = chance.randrange(40)
        if kind < 4:
            charset = chance.choice((*_CHARSETS, "none\xff", '"utf-8', "a" * 5000))
            return with_headers(("Content-Type", f"text/html; charset={charset}"))
        if kind == 4:
            return with_headers(("Content-Type", chance.choice(_KINDS)))
        if kind == 5:
            return with_headers()
        if kind in (6, 7):
            packed, coding = gzip.compress(made.body, 1, mtime=0), "gzip"
            if kind == 7:
                packed = packed[: chance.randrange(len(packed))]
                coding = chance.choice(("gzip", "gzip", "deflate"))
                made = replace(made, names=("gzip cut",), may_fail=True)
            return replace(made, reply=Reply(packed, (html_type, ("Content-Encoding", coding))))
        if kind in (8, 9, 10):
            url = html.escape(chance.choice((*_HOSTILE_URLS, self.url(number // 2))))
            link = f'<link rel="canonical" href="{url}">'.encode()
            head = made.body.replace(b"<head>", b"<head>" + link, 1)
            body = head if head != made.body else link + made.body
            return replace(made, reply=replace(reply, body=body), body=body, use="canonical")
        if kind == 11:
            url = chance.choice((*_HOSTILE_URLS, *[self.url(max(number - 1, 0))] * 10))
            url = "".join(one for one in url if one not in "\r\n").encode().decode("latin-1")
            status = chance.choice((301, 302, 303, 307, 308))
            reply = Reply(b"", (("Location", url),), status)
            return replace(made, names=("redirect",), reply=reply, may_fail=True)
        if kind == 12:
            missing = replace(reply, missing=chance.randrange(1, 1000))
            return replace(made, names=("cut on its way",), reply=missing, may_fail=True)
        if kind == 13:
            return replace(made, use="html")
        return made


@lru_cache(1)
def real_bodies(data: Path, count: int) -> Sequence[bytes]:
    """Real pages of several sets, none of them large."""
    bodies: list[bytes] = []
    for name, tenths in SETS.items():
        found = chosen_bodies(data / name / "html.tar.xz", max(count * tenths // 10, 1))
        bodies += [body for body in found if 0 < len(body) <= _MAX_BODY]
    return bodies
