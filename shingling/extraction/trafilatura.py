"""The extractor `trafilatura`: main text by what is known of many sites, with care."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

from lxml.html import HTMLParser, document_fromstring

from shingling.extraction.parsed import ParsedPage, is_enough, words
from shingling.text import nfc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lxml.html import HtmlElement

_XML_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_STAND_IN = "\N{REVERSE SOLIDUS OPERATOR}"
_BACKSLASH = re.compile(r"\\|&(?:#0*+92|#x0*+5c|bsol);?", re.IGNORECASE)
_BEFORE_ESCAPE = re.compile(rf"(?<!{_STAND_IN}){_STAND_IN}++(?=\\)")
_OTHER_SCHEME = re.compile("(?!https?:|mailto:)[^/]*:", re.IGNORECASE)
_URL_CHARACTERS = "%/:?#[]@!$&'*+,;=~"  # and letters, digits and `-._`; parentheses end a link
_SMALL_PAGE_CHARACTERS = 15_000  # in a smaller page, other extractors find little else
_ENOUGH_FRACTION = 0.4  # of the words of a page
# The first element of a part of a page: neither <html> nor <head> nor <body>.
_FRAGMENT = re.compile(r"\s*<(?!html|head|body|title|meta|frameset)[a-z][^<]*>", re.IGNORECASE)


class TrafilaturaPage(ParsedPage):
    """A page as lxml parses it.

    Args:
        tree: of its elements.
        size: of its HTML, in characters.
    """

    def __init__(self, tree: HtmlElement, size: int) -> None:
        self._tree = tree
        self._size = size

    @classmethod
    def parse(cls, html: str) -> Self | None:
        """Parse a page as trafilatura does; None if it takes it for something else."""
        import trafilatura  # a tenth of a second and 10 MB, which most workers do not spend

        # trafilatura takes a lone element for something else than HTML.
        whole = f"<html><body>{html}</body></html>" if _FRAGMENT.match(html) else html
        tree = trafilatura.load_html(whole)
        return None if tree is None else cls(tree, len(html))

    @classmethod
    def parse_head(cls, html: str) -> Self:
        """Parse the beginning of a page without trafilatura."""
        parser = HTMLParser(encoding="utf-8")
        return cls(document_fromstring(html.encode(), parser=parser), len(html))

    def main_text(self, url: str | None) -> str | None:
        """Extract what trafilatura is sure of; if that is little, what it takes for text.

        Where its own rules have found a text, its comparison with other extractors changes little,
        and takes half of the time. In small pages they are asked only if most words are left
        out.
        """
        take = self._take(url)
        sure = take(favor_precision=True, fast=True)
        if is_enough(sure):
            return sure
        if self._size < _SMALL_PAGE_CHARACTERS:
            more = take(fast=True)
            if is_enough(more) or self._is_most(more):
                return more
        else:
            sure = take(favor_precision=True) or sure
            if is_enough(sure):
                return sure
        return take() or sure

    def _take(self, url: str | None) -> Callable[..., str | None]:
        # `deduplicate` would make the text depend on the pages extracted before.
        return partial(_extract, self._tree, url=url, include_comments=False, deduplicate=False)

    def _is_most(self, text: str | None) -> bool:
        """Whether a text has enough of the page's words: there is little else to be found."""
        shown = "//body//text()[not(parent::script or parent::style)]"
        return bool(text) and words(text) >= _ENOUGH_FRACTION * words(
            " ".join(self._tree.xpath(shown))
        )

    def _title_text(self) -> str | None:
        elements = self._tree.xpath("//title[not(ancestor::svg or ancestor::math)]")
        return str(elements[0].text_content()) if elements else None

    def _root_attribute(self, name: str) -> str | None:
        value: str | None = self._tree.get(_XML_LANGUAGE if name == "xml:lang" else name)
        return value

    def _links(self) -> list[tuple[str | None, str]]:
        links = self._tree.iterfind(".//link[@href]")
        return [(link.get("rel"), link.get("href")) for link in links]

    def _scripts(self) -> Iterator[tuple[str | None, str]]:
        for script in self._tree.iter("script"):
            yield script.get("type"), script.text or ""

    def _has_json_attribute(self) -> bool:
        query = "boolean(//@*[starts-with(., '{\"') or starts-with(., '[{\"')])"
        return bool(self._tree.xpath(query))


class FastTrafilaturaPage(TrafilaturaPage):
    """A page whose main text trafilatura extracts by its own rules alone."""

    def main_text(self, url: str | None) -> str | None:
        """Extract what trafilatura is sure of; if that is little, what it takes for text."""
        take = self._take(url)
        sure = take(favor_precision=True, fast=True)
        return sure if is_enough(sure) else take(fast=True) or take() or sure


class MarkdownPage(TrafilaturaPage):
    """A page whose main text is Markdown, with headings, emphasis, lists, tables and links.

    trafilatura escapes what a text has of Markdown, but not what URLs have of it, and not what is
    between LaTeX's delimiters: with a stand-in for each backslash, it finds none.
    """

    @classmethod
    def parse(cls, html: str) -> Self | None:
        """Parse a page without backslashes."""
        return super().parse(_BACKSLASH.sub(_STAND_IN, html))

    def main_text(self, url: str | None) -> str | None:
        """Extract it; links to anything but pages and addresses lose their URLs."""
        for link in self._tree.iter("a", "ref"):
            href = quote(link.attrib.pop("href", "").strip(), safe=_URL_CHARACTERS)
            if not _OTHER_SCHEME.match(href):
                link.set("href", href)
        text = super().main_text(url)
        # Where something is escaped behind them, backslashes are escaped as well.
        return text and _BEFORE_ESCAPE.sub(r"\g<0>\g<0>", text).replace(_STAND_IN, "\\")

    def _take(self, url: str | None) -> Callable[..., str | None]:
        return partial(super()._take(url), include_formatting=True, include_links=True)


def _extract(tree: HtmlElement, **options: Any) -> str | None:
    """Do what `trafilatura.extract` does, but bound the text before it is normalised."""
    import trafilatura

    document: Any = trafilatura.bare_extraction(tree, as_dict=False, **options)
    return None if document is None else nfc(document.text.strip())
