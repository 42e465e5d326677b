"""The extractor `resiliparse`: main text by rules on the elements of a page, very quickly."""

from __future__ import annotations

from resiliparse.extract.html2text import extract_plain_text


def resiliparse(html: str, url: str | None) -> str | None:  # noqa: ARG001 (an extractor's arguments)
    """Extract the main text of a page by Resiliparse (Bevendorff et al. 2018)."""
    text: str = extract_plain_text(html, main_content=True, alt_texts=False)
    return text or None
