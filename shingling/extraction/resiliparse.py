"""The extractors `quick` and `resiliparse`: main text by rules on elements, very quickly."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING, Self

from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.html import HTMLParserException, HTMLTree

from shingling.extraction.parsed import ParsedPage, is_enough, words
from shingling.extraction.shown import LINES, characters, largest_listing, show_content
from shingling.text import LINK_MARK, title_share, without_marks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from resiliparse.parse.html import DocumentNode, ElementNode

# Resiliparse looks at the whole content of each of these elements, however they are nested.
_MEASURED_ELEMENTS = "div, ul, article"
_MAX_DEPTH = 512  # of one of them; libxml2 reads no deeper than 256
_DEPTH_CHECKED = 256  # one in this number of elements
_NOT_IN_XML = re.compile("[\x01-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
# What the source has if nodes of the tree, which are slow to ask, may have data for scripts.
_MAY_HAVE_DATA_SCRIPT = re.compile(r"json|__(?:[A-Z]+_STATE|NEXT_DATA|NUXT|DATA)__", re.IGNORECASE)
_MAY_HAVE_JSON_ATTRIBUTE = re.compile(
    r"""=\s*["']?\[?\{(?:"|&quot;|&#0*34;|&#x0*22;)""", re.IGNORECASE
)
_BEGINS_AS_HTML = re.compile(r"\s*<(?:[a-z]|!|\?xml\b(?=.*?<html))", re.IGNORECASE | re.DOTALL)
_HAS_HTML = re.compile(r"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)

_LONG_LINE = 100  # characters; headlines and entries of lists are shorter
_LEAST_MISSED = 400  # characters of long lines that may be an article
_MUCH_MISSED = 4000  # of them that may be it although the text has the words of the title
_MANY_TIMES = 8  # as much as was taken
_LONG_TEXT = 2000  # characters; with the words of the title it is not looked at again
_ENOUGH_OF_TITLE = 0.5

_LINK_TAG = re.compile(r"<(/?)a(?=[\s>])", re.IGNORECASE)
_NEAR, _BETWEEN_LINKS = 4, "<|/·•»«,"  # characters behind a link that no text follows
_MANY_IN_TEXT = 0.25  # of the links
_LEAST_DECLARED, _LEAST_LISTED = 0.25, 0.5  # of the text with them


class ResiliparsePage(ParsedPage):
    """A page as Resiliparse parses it (Bevendorff et al. 2018), by the rules of HTML 5.

    Args:
        html: of the page.
    """

    def __init__(self, html: str) -> None:
        self._html = html
        self._pieces: list[str] = []  # up to the end of each link, and what is behind the last
        self._link_texts: list[str] = []
        try:
            self._tree = HTMLTree.parse(html)
        except HTMLParserException as error:  # it takes any markup, as long as there is memory
            raise MemoryError from error

    @classmethod
    def parse(cls, html: str) -> Self | None:
        """Parse a page; None if it does not look like one: the parser takes anything."""
        return cls(html) if _BEGINS_AS_HTML.match(html) or _HAS_HTML.search(html) else None

    def main_text(self, url: str | None) -> str | None:  # noqa: ARG002 (other extractors use it)
        """Extract the main text; None also if elements are nested too deeply to be measured."""
        if self._is_nested_deeply():
            return None
        self._pieces = self._html.split("</a>")
        self._link_texts = [*map(_last_text, self._pieces[:-1])]
        return self._marked(self._taken()) or None

    def _taken(self) -> str:
        """Take the main text from the tree."""
        text: str = extract_plain_text(self._tree, main_content=True, alt_texts=False)
        return _NOT_IN_XML.sub("", text)

    def _marked(self, text: str) -> str:
        """Mark the lines of a text that are a link of the page and nothing else."""
        links = {*self._link_texts} - {""}  # a picture has none
        lines = without_marks(text).split("\n")
        return "\n".join(line + LINK_MARK * (line.strip() in links) for line in lines)

    @property
    def _document(self) -> DocumentNode:
        document = self._tree.document
        assert document is not None
        return document

    def _is_nested_deeply(self) -> bool:
        """Whether elements are nested so deeply that measuring them takes a long time."""
        elements = self._document.query_selector_all(_MEASURED_ELEMENTS)
        return len(elements) > _MAX_DEPTH and any(
            _depth(element) > _MAX_DEPTH for element in elements[::_DEPTH_CHECKED]
        )

    def _title_text(self) -> str | None:
        return _NOT_IN_XML.sub("", self._tree.title or "")

    def _root_attribute(self, name: str) -> str | None:
        root = self._document.document_element
        return None if root is None else root.get_attribute(name)

    def _links(self) -> list[tuple[str | None, str]]:
        links = self._document.query_selector_all("link[href]").values()
        return [(link.get_attribute("rel"), link.get_attribute("href") or "") for link in links]

    def _scripts(self) -> Iterator[tuple[str | None, str]]:
        if not _MAY_HAVE_DATA_SCRIPT.search(self._html):
            return
        for script in self._document.get_elements_by_tag_name("script").values():
            yield script.get_attribute("type"), script.text_content or ""

    def _has_json_attribute(self) -> bool:
        return _MAY_HAVE_JSON_ATTRIBUTE.search(self._html) is not None and any(
            (attribute.value or "").startswith(('{"', '[{"'))
            for element in self._document.query_selector_all("*").values()
            for attribute in element.attributes.values()
        )


class QuickPage(ResiliparsePage):
    """A page for which trafilatura is asked if Resiliparse may have missed the article."""

    def _taken(self) -> str:
        show_content(self._document)
        return super()._taken()

    def main_text(self, url: str | None) -> str | None:
        """Extract the text by Resiliparse or trafilatura, with the links that are content."""
        text = self._article(url) or ""
        return self._with_links(text) or text

    def _article(self, url: str | None) -> str | None:
        """Extract the text by Resiliparse; if it seems to be another one, also by trafilatura.

        It seems so if the text has few words or little of the title, and most long lines of the
        page are not in it; or if it is short, and nearly all of them are not in it.
        """
        own, title = super().main_text(url) or "", self.title or ""
        is_fit = is_enough(own) and title_share(title, own) >= _ENOUGH_OF_TITLE
        if len(own) > _LONG_TEXT and is_fit:
            return own
        if own:
            times, least = (_MANY_TIMES, _MUCH_MISSED) if is_fit else (1, _LEAST_MISSED)
            shown = extract_plain_text(self._tree, main_content=False, alt_texts=False)
            long = _long_lines(own)
            if _long_lines(shown) - long < max(times * long, least):
                return own
        from shingling.extraction.trafilatura import FastTrafilaturaPage

        page = FastTrafilaturaPage.parse(self._html)
        other = (None if page is None else page.main_text(url)) or ""
        texts = own, other
        return max(
            texts, key=lambda text: (min(title_share(title, text), _ENOUGH_OF_TITLE), words(text))
        )

    def _with_links(self, text: str) -> str | None:
        """Extract an index, or declarations whose types are links; None if the page is neither.

        For Resiliparse, parts that are mostly links lead elsewhere. If those of one kind are a
        large share of the page, they are what it says, and links are text there.
        """
        links, taken = sum(map(len, self._link_texts)), len(text)
        if links > taken and _long_lines(text) < _LEAST_MISSED:
            parts, least = f"ul, {LINES}", _LEAST_LISTED
        elif links > _LEAST_DECLARED * taken and self._has_links_in_text():
            parts, least = LINES, _LEAST_DECLARED
        else:
            return None
        listed = largest_listing(self._document, parts)
        if listed <= least * taken:
            return None
        whole = QuickPage(_LINK_TAG.sub(r"<\1span", self._html))._taken()
        return self._marked(whole) if listed >= least * characters(whole) else None

    def _has_links_in_text(self) -> bool:
        """Whether text follows many links: types in declarations, say."""
        behind = (piece[:_NEAR].lstrip()[:1] for piece in self._pieces[1:])
        in_text = sum(first not in _BETWEEN_LINKS for first in behind)
        return in_text >= _MANY_IN_TEXT * len(self._link_texts)


def _last_text(html: str) -> str:
    """Text at the end of a piece of HTML, or of an element that ends there; "" if none does."""
    end = html.rfind("<") if html.endswith(">") else len(html)
    if end < len(html) and not html.startswith("</", end):
        return ""  # a picture, say
    return " ".join(unescape(html[html.rfind(">", 0, end) + 1 : end]).split())


def _long_lines(text: str) -> int:
    """Count the characters of lines that are long enough to be paragraphs."""
    return sum(len(line) for line in text.splitlines() if len(line) >= _LONG_LINE)


def _depth(element: ElementNode | None) -> int:
    """Count the elements around an element, up to one more than are accepted."""
    depth = 0
    while element is not None and depth <= _MAX_DEPTH:
        depth, element = depth + 1, element.parent_element
    return depth
