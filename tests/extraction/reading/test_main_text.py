"""The main text of a page, its title and its language."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import trafilatura

from shingling import canonical_words, extract
from shingling.extraction.html import extract_page
from shingling.extraction.trafilatura import TrafilaturaPage
from tests.extraction.reading.pages import CHINESE, ENGLISH, JAPANESE, RUSSIAN, page_of


def test_the_main_text_is_the_article_without_what_surrounds_it() -> None:
    main = extract_page(page_of(ENGLISH), "https://example.com/bridge")
    assert canonical_words(main.text) == canonical_words("Bridge " + ENGLISH * 6)
    assert main.title == "Bridge"
    assert main.language == "en"
    assert "Home" not in main.text
    assert "rights" not in main.text


def test_extract_gives_the_text_that_trafilatura_finds() -> None:
    page = extract_page(page_of(ENGLISH), parser=TrafilaturaPage)
    assert extract(page_of(ENGLISH)) == page.text
    assert extract(page_of(ENGLISH).encode(), "https://example.com/") == extract(page_of(ENGLISH))


def test_the_same_page_gives_the_same_text_again_and_after_other_pages() -> None:
    pages = [page_of(text) for text in (ENGLISH, RUSSIAN, JAPANESE, CHINESE)]
    first = [extract(page) for page in pages]
    assert None not in first
    assert len(set(first)) == 4
    assert [extract(page) for page in reversed(pages)] == first[::-1]


@pytest.mark.parametrize(("left_out", "asked"), [(30, False), (70, True)])
def test_other_extractors_are_asked_for_small_pages_only_where_most_words_are_left_out(
    monkeypatch: pytest.MonkeyPatch, left_out: int, asked: bool
) -> None:
    found, taken = " ".join(["found"] * 30), []

    def take(_: object, *, fast: bool = False, **__: object) -> SimpleNamespace:
        taken.append(fast)
        return SimpleNamespace(text=found)

    monkeypatch.setattr(trafilatura, "bare_extraction", take)
    rest = " ".join(["left"] * left_out)
    script = "<script>" + "no text " * 500 + "</script>"
    page = f"<html><body><p>{found}</p>{script}<div>{rest}</div></body></html>"
    assert extract_page(page, parser=TrafilaturaPage).text == found
    assert taken == [True, True] + [False] * asked


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("<title>Plain</title>", "Plain"),
        ("<title> two\r\n\tlines&nbsp;here </title>", "two lines here"),
        ("<title>a\x1b[31mred\x07\u202eb\u200b</title>", "a[31mred b"),
        ("<title>Fish &amp; chips &lt;b&gt;</title>", "Fish & chips <b>"),
        ("<title>a&#0;&#xD800;b</title>", "a\ufffd\ufffdb"),
        (f"<title>{'é' * 10_000}</title>", "é" * 500),
        ("<title>Plain</title><svg><title>Icon</title></svg>", "Plain"),
        ("<title> \u200b </title>", None),
        ("", None),
    ],
)
def test_a_title_is_one_line_without_control_characters(title: str, expected: str | None) -> None:
    html = page_of(ENGLISH).replace("<title>Bridge</title>", title)
    assert extract_page(html).title == expected


@pytest.mark.parametrize(
    ("attributes", "language"),
    [
        ('lang="de-DE"', "de"),
        ('lang="zh_CN"', "zh"),
        ('lang=" EN "', "en"),
        ('lang="nds"', "nds"),
        ("", None),
        ('lang="deutsch"', None),
        ('lang="x-klingon"', None),
        ('lang="{{ lang }}"', None),
        ('lang="русский"', None),
    ],
)
def test_the_language_is_the_primary_tag_that_the_page_declares(
    attributes: str, language: str | None
) -> None:
    assert extract_page(page_of(ENGLISH, attributes=attributes)).language == language
