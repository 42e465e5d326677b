"""Pages made to take a parser or an extractor long, or to grow in its memory.

`BOMBS` has them by name: each is a function of the size of the page in bytes, which is about met,
and gives the body of an HTML page. Pages differ by their names and sizes only.
"""

from __future__ import annotations

from functools import partial
from itertools import accumulate, takewhile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_BEFORE = b"<!doctype html><html lang=en><head><title>A bomb</title></head><body>"
_AFTER = b"</body></html>"


def _page(content: bytes) -> bytes:
    return _BEFORE + content + _AFTER


def _repeated(unit: str, size: int, *, before: str = "", after: str = "") -> bytes:
    """A page of one string, again and again."""
    raw = unit.encode("utf-8", "surrogatepass")
    return _page(before.encode() + raw * (size // len(raw)) + after.encode())


def _halves(first: str, second: str, size: int, *, before: str = "") -> bytes:
    """A page of one string again and again, and then as often of another one."""
    number = size // len((first + second).encode())
    return _page((before + first * number + second * number).encode())


def _numbered(unit: str, size: int, *, before: str = "", after: str = "") -> bytes:
    """A page of one string again and again, each time with another number in it."""
    return _page((before + "".join(_units(unit, size)) + after).encode())


def _units(unit: str, size: int) -> Iterator[str]:
    digits = len(str(size))
    length = len(unit.format(n="0" * digits))
    return (unit.format(n=f"{number:0{digits}}") for number in range(size // length))


def _nested_differently(size: int) -> bytes:
    """Each list deeper than the one before it."""
    depths = takewhile(lambda total: total[1] < size, enumerate(accumulate(range(1, size, 9))))
    return _page(b"".join(b"<ul>" * depth + b"a" + b"</ul>" * depth for depth, _ in depths))


def _long_attributes(size: int) -> bytes:
    """Eight attributes of an eighth of the page."""
    value = b"x " * (size // 16)
    return _page(b"<p" + b"".join(b' data-%d="%s"' % (n, value) for n in range(8)) + b">a</p>")


BOMBS: dict[str, Callable[[int], bytes]] = {
    # What browsers that run scripts do not show.
    "noscript": partial(_repeated, "<noscript>a</noscript>"),
    "noscript without its end": partial(_repeated, "<noscript><p>"),
    "noscript and comments": partial(_halves, "<!-- <noscript> -", "</noscript>"),
    # Elements, closed and not.
    "p": partial(_repeated, "<p>a"),
    "p of one sentence": partial(_repeated, "<p>A sentence of seven words, no more.</p>\n"),
    "br": partial(_repeated, "<br>"),
    "br and letters": partial(_repeated, "<br>a"),
    "li": partial(_repeated, "<li>"),
    "li and letters": partial(_repeated, "<li>a", before="<ul>"),
    "hr": partial(_repeated, "<hr>"),
    "input": partial(_repeated, "<input>"),
    "img": partial(_repeated, "<img src=a alt=b>"),
    "links": partial(_numbered, '<a href="/{n}">a</a> '),
    "span": partial(_repeated, "<span>a</span>"),
    "empty divs": partial(_repeated, "<div></div>"),
    "scripts": partial(_repeated, "<script>1</script>"),
    "styles": partial(_repeated, "<style>a</style>"),
    "titles": partial(_repeated, "<title>a</title>"),
    "html and body": partial(_numbered, "<html a{n}=b><body c{n}=d>"),
    "unknown elements": partial(_numbered, "<x{n}>a"),
    "unclosed tags": partial(_repeated, "<b"),
    "end tags": partial(_repeated, "</p>"),
    "end tags of others": partial(_halves, "<i>", "</b>"),
    "table cells": partial(_repeated, "<td>a", before="<table>"),
    "table rows": partial(_repeated, "<tr><td>a", before="<table>"),
    "text in tables": partial(_repeated, "<tr>a", before="<table>"),
    "options": partial(_repeated, "<option>a", before="<select>"),
    "headings": partial(_repeated, "<h2>a</h2>"),
    # Nested elements.
    "nested divs": partial(_repeated, "<div>"),
    "nested divs with text": partial(_repeated, "<div>a "),
    "nested and closed divs": partial(_halves, "<div>", "</div>"),
    "nested lists": partial(_repeated, "<ul><li>a"),
    "nested lists of all depths": _nested_differently,
    "nested spans": partial(_repeated, "<span>"),
    "nested articles": partial(_repeated, "<article>a "),
    "nested quotes": partial(_repeated, "<blockquote>a"),
    "nested tables": partial(_repeated, "<table><tr><td>"),
    "nested tables without cells": partial(_repeated, "<table>"),
    "nested templates": partial(_repeated, "<template>"),
    "nested svg": partial(_repeated, "<svg>"),
    "nested svg and html": partial(_repeated, "<svg><desc>"),
    "nested math": partial(_repeated, "<math><mi>"),
    "nested buttons": partial(_repeated, "<button><div>"),
    "nested unknown elements": partial(_numbered, "<x{n}>"),
    # Misnested elements: the adoption agency, and what is to be opened again.
    "misnested a": partial(_repeated, "<a><div>"),
    "misnested b": partial(_repeated, "<b><p>"),
    "misnested b, closed": partial(_halves, "<b><p>", "</b>"),
    "misnested b and i": partial(_repeated, "<b><i><p></b></i>a"),
    "misnested b of other classes": partial(_numbered, "<p><b id={n}>"),
    "misnested font": partial(_repeated, "<p><font size=1><font size=2><font size=3>a"),
    "misnested form": partial(_repeated, "<form><div></form>"),
    "misnested table": partial(_repeated, "<table><b>a"),
    "misnested nobr": partial(_repeated, "<nobr>a"),
    "misnested select": partial(_repeated, "<select><table>"),
    # Attributes.
    "attributes": partial(_numbered, " a{n}=b", before="<p", after=">a"),
    "attributes without values": partial(_numbered, " a{n}", before="<p", after=">a"),
    "attributes between slashes": partial(_numbered, "/a{n}", before="<p", after=">a"),
    "attributes after a quote": partial(_numbered, " a{n}='>'", before="<p", after=">a"),
    "attributes of the same name": partial(_repeated, " a=b", before="<p", after=">a"),
    "attributes of many elements": partial(
        _repeated, "<p" + "".join(f" a{n}=b" for n in range(200)) + ">a"
    ),
    "attributes of an end tag": partial(_numbered, " a{n}=b", before="<p>a</p", after=">a"),
    "attributes of an unclosed tag": partial(_numbered, " a{n}=b", before="<p>a<p"),
    "long attributes": _long_attributes,
    "long attribute without its end": partial(_repeated, "a ", before='<p title="'),
    "JSON in attributes": partial(_repeated, "<p data='{\"a\":1}'>"),
    "classes": partial(_numbered, "c{n} ", before='<p class="', after='">a'),
    "ids": partial(_numbered, "<p id=a{n}>a"),
    # Markup that is none.
    "less-than signs": partial(_repeated, "<"),
    "less-than signs and letters": partial(_repeated, "a<"),
    "comments": partial(_repeated, "<!--a-->"),
    "comments without their end": partial(_repeated, "<!--"),
    "comments without their end and text": partial(_repeated, "<!-- a --"),
    "one comment": partial(_repeated, "a ", before="<!--", after="-->"),
    "one comment of dashes": partial(_repeated, "-", before="<!--", after="-->"),
    "processing instructions": partial(_repeated, "<?a?>"),
    "declarations": partial(_repeated, "<!a>"),
    "CDATA": partial(_repeated, "<svg><![CDATA[a"),
    "script without its end": partial(_repeated, "<!--<script>", before="<script>"),
    "title without its end": partial(_repeated, "a ", before="<title>"),
    "textarea without its end": partial(_repeated, "<p>a", before="<textarea>"),
    "plaintext": partial(_repeated, "<p>a", before="<plaintext>"),
    "links in scripts": partial(
        _repeated, "<a ", before="<main><ul><li><script>", after="</a></script></ul></main>"
    ),
    "less-than signs in a link": partial(
        _repeated, "<", before="<main><ul><li><a href=b><script>", after="</a></script></ul></main>"
    ),
    "ampersands": partial(_repeated, "&"),
    "references": partial(_repeated, "&amp;", before="<p>"),
    "references of two characters": partial(_repeated, "&NotEqualTilde;", before="<p>"),
    "references to controls": partial(_repeated, "&#1;", before="<p>"),
    "references without their end": partial(_repeated, "&#x", before="<p>"),
    "numeric references": partial(_repeated, "&#x1F600;", before="<p>"),
    "one numeric reference": partial(_repeated, "0", before="<p>&#", after=";"),
    "entities": partial(
        _repeated,
        "&b;",
        before='<!DOCTYPE x [<!ENTITY a "aaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]><p>',
    ),
    "NULs": partial(_repeated, "\0"),
    "NULs in tags": partial(_repeated, "<p\0>a"),
    "line breaks": partial(_repeated, "\r\n"),
    "spaces": partial(_repeated, " "),
    # Half as many characters, which are decoded first.
    "UTF-16": lambda size: _repeated("<p>a", size // 2).decode().encode("utf-16"),
    "broken UTF-8": partial(_repeated, "<p>\ud800a"),
    # Texts.
    # One letter with marks that are to be sorted when they are normalised.
    "marks": partial(_halves, "\u0301", "\u0316", before="<p>a"),
    "marks in elements": partial(_repeated, "<b>\u0301</b>", before="<p>a"),
    "U+FDFA": partial(_repeated, "\ufdfa", before="<p>"),
    "one word": partial(_repeated, "a", before="<p>"),
    "one-letter words": partial(_repeated, "a ", before="<p>"),
    "one-letter lines": partial(_repeated, "a\n", before="<pre>"),
    "other words": partial(_numbered, "w{n} ", before="<p>"),
    "Chinese": partial(_repeated, "\u6587", before="<p>"),
    "jamo": partial(_repeated, "\u1112\u1161\u11ab", before="<p>"),
    "invisible characters": partial(_repeated, "\u200b", before="<p>"),
    "lone surrogates": partial(_repeated, "\ud800", before="<p>"),
    "bidi": partial(_repeated, "\u202e\u2066a", before="<p>"),  # never closed
    "full stops": partial(_repeated, ".", before="<p>"),
    "pipes": partial(_repeated, "|", before="<p>"),
    "dates": partial(_repeated, "2024-01-01 ", before="<p>"),
    "URLs": partial(_repeated, "http://a.b/c?d=e ", before="<p>"),
}
"""Bodies of pages by name: each function takes a size in bytes."""
