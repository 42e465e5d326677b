"""What there is to extract from: an item's own content, or the body of its response."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from w3lib.encoding import http_content_type_encoding

from shingling.extraction.html import sniff_html
from shingling.extraction.pages import Fetched
from shingling.plugin.items.documents import Skipped

if TYPE_CHECKING:
    from scrapy.http import Response

    from shingling.plugin.items.documents import Document


class NotModified:
    """The server says that the page is still what the store has: status 304."""


def fetched_for(
    document: Document, response: Response | None, max_bytes: int
) -> Fetched | NotModified | Skipped:
    """Choose what a document is extracted from.

    Args:
        document: with or without a content of its own.
        response: that it came from; None where its content is its own.
        max_bytes: larger bodies are skipped, and longer contents.
    """
    for own in (document.text, document.html):
        if own is not None and len(own) > max_bytes:
            return Skipped("too_large")
    if document.text is not None:
        return Fetched(document.text, is_html=False, url=document.url)
    if document.html is not None:
        return Fetched(document.html, is_html=True, url=document.url)
    assert response is not None
    if response.status == HTTPStatus.NOT_MODIFIED:
        return NotModified()
    if not response.body:
        return Skipped("no_main_text")
    if len(response.body) > max_bytes:
        return Skipped("too_large")
    return fetched_page(response) or Skipped("not_html")


def fetched_page(response: Response) -> Fetched | None:
    """Body of a response; None where it is not HTML."""
    header = response.headers.get("Content-Type") or b""
    if not response.body or not (b"html" in header.lower() or sniff_html(response.body)):
        return None
    encoding = http_content_type_encoding(header.decode("latin-1"))
    return Fetched(response.body, is_html=True, url=response.url, encoding=encoding)
