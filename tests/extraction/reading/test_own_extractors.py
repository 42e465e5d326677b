"""Extractors that a user brings: what they are given, and what they return."""

from __future__ import annotations

import pytest

from shingling.errors import ExtractionError
from shingling.extraction.html import MainText, extract_page
from tests.extraction.reading.pages import ENGLISH, RUSSIAN, page_of


def test_an_extractor_is_given_the_html_and_the_url() -> None:
    given_to: list[tuple[str, str | None]] = []

    def extractor(html: str, url: str | None) -> str | None:
        given_to.append((html, url))
        return "its text"

    page = page_of(RUSSIAN)
    main = extract_page(
        page.encode("koi8-r"), "https://a.example/", encoding="koi8-r", extractor=extractor
    )
    assert main == MainText("its text", "Bridge", "en")
    extract_page(page_of("rail\0way\ud800 "), extractor=extractor)
    assert given_to == [(page, "https://a.example/"), (page_of("railway? "), None)]


def test_an_extractor_may_give_its_own_reason() -> None:
    def extractor(html: str, url: str | None) -> str | None:
        raise ExtractionError("paywall", "only a teaser")

    with pytest.raises(ExtractionError) as caught:
        extract_page(page_of(ENGLISH), extractor=extractor)
    assert caught.value.reason == "paywall"


def test_an_interruption_inside_an_extractor_is_not_swallowed() -> None:
    def extractor(html: str, url: str | None) -> str | None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        extract_page(page_of(ENGLISH), extractor=extractor)
