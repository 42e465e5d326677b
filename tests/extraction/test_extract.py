"""HTML to main text, title and language."""

from __future__ import annotations

import gzip
import json
import tarfile
import unicodedata
from types import SimpleNamespace
from typing import TYPE_CHECKING, NamedTuple

import pytest
import trafilatura
from hypothesis import given, strategies as st

from shingling import canonical_words, extract
from shingling.errors import ExtractionError
from shingling.extraction.html import MainText, decode, extract_page, sniff_html
from shingling.extraction.trafilatura import TrafilaturaPage
from shingling.text import plain_line

if TYPE_CHECKING:
    from pathlib import Path

_ENGLISH = "The new railway bridge over the river was opened on Monday by the mayor of the town. "
_RUSSIAN = "Новый железнодорожный мост через реку открыл в понедельник мэр города. "
_JAPANESE = "新しい鉄道の橋が川の上に完成し、月曜日に市長が式典で開通を宣言しました。"
_CHINESE = "新的铁路大桥横跨河流，市长于星期一在典礼上宣布大桥正式开通。"


def _page(text: str, *, head: str = "", attributes: str = 'lang="en"', times: int = 6) -> str:
    return (
        f"<!DOCTYPE html><html {attributes}><head>{head}<title>Bridge</title></head><body>"
        "<nav><ul><li><a href='/'>Home</a></li><li><a href='/about'>About us</a></li></ul></nav>"
        f"<article><h1>Bridge</h1><p>{text * times}</p></article>"
        "<footer>Copyright, all rights reserved</footer></body></html>"
    )


def _reason(html: bytes | str) -> str:
    with pytest.raises(ExtractionError) as caught:
        extract_page(html)
    assert "\n" not in str(caught.value)
    assert extract(html) is None
    return caught.value.reason


class _DataPage(NamedTuple):
    html: bytes
    title: str | None


def _data_pages(path: Path, *, count: int, part: str = "") -> list[_DataPage]:
    """Return the first pages of a folder of DEDUP_DATA whose path contains `part`."""
    with gzip.open(path / "manifest.jsonl.gz", "rt", encoding="utf-8") as lines:
        titles = {row["file"]: row.get("title") for row in map(json.loads, lines)}
    pages: list[_DataPage] = []
    with tarfile.open(path / "html.tar.xz", "r|xz") as archive:
        for member in archive:
            file = archive.extractfile(member)
            if file and part in member.name:
                pages.append(_DataPage(file.read(), titles.get(member.name)))
                if len(pages) == count:
                    break
    assert len(pages) == count
    return pages


def test_the_main_text_is_the_article_without_what_surrounds_it() -> None:
    main = extract_page(_page(_ENGLISH), "https://example.com/bridge")

    assert canonical_words(main.text) == canonical_words("Bridge " + _ENGLISH * 6)
    assert main.title == "Bridge"
    assert main.language == "en"
    assert "Home" not in main.text
    assert "rights" not in main.text


def test_extract_gives_the_text_that_trafilatura_finds() -> None:
    page = extract_page(_page(_ENGLISH), parser=TrafilaturaPage)

    assert extract(_page(_ENGLISH)) == page.text
    assert extract(_page(_ENGLISH).encode(), "https://example.com/") == extract(_page(_ENGLISH))


def test_the_same_page_gives_the_same_text_again_and_after_other_pages() -> None:
    pages = [_page(text) for text in (_ENGLISH, _RUSSIAN, _JAPANESE, _CHINESE)]
    first = [extract(page) for page in pages]

    assert None not in first
    assert len(set(first)) == 4
    for _ in range(5):
        assert [extract(page) for page in pages] == first
        assert [extract(page) for page in reversed(pages)] == first[::-1]


@pytest.mark.data
def test_real_pages_give_the_same_text_again_and_in_another_order(data: Path) -> None:
    pages = [page.html for page in _data_pages(data / "waddle", count=10)]
    first = [extract(page) for page in pages]

    assert sum(text is not None for text in first) >= 8
    assert [extract(page) for page in reversed(pages)] == first[::-1]


@pytest.mark.data
@pytest.mark.parametrize(
    ("folder", "language", "script"),
    [
        ("de", "de", "LATIN"),
        ("ru", "ru", "CYRILLIC"),
        ("el", "el", "GREEK"),
        ("ja", "ja", "HIRAGANA"),
        ("ko", "ko", "HANGUL"),
        ("zh_CN", "zh", "CJK"),
    ],
)
def test_real_pages_of_a_manual_have_its_title_and_script(
    data: Path, folder: str, language: str, script: str
) -> None:
    pages = _data_pages(data / "installation-guide", count=8, part=f"/{folder}/")
    for page in pages:
        main = extract_page(page.html)
        letters = [char for char in main.text if char.isalpha()]

        assert page.title is not None
        assert main.title == plain_line(page.title)
        assert main.language in (language, None)
    assert any(unicodedata.name(char).startswith(script) for char in letters)


@pytest.mark.data
def test_heavy_real_pages_are_sniffed_as_html_and_have_main_text(data: Path) -> None:
    pages = _data_pages(data / "trafilatura-eval", count=20)

    assert all(sniff_html(page.html) for page in pages)
    texts = [extract(page.html) for page in pages]
    assert sum(bool(text and canonical_words(text)) for text in texts) >= 19


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (_ENGLISH, "ascii"),
        (_RUSSIAN, "utf-8"),
        (_RUSSIAN, "utf-8-sig"),
        (_RUSSIAN, "windows-1251"),
        (_RUSSIAN, "koi8-r"),
        (_JAPANESE, "shift_jis"),
        (_JAPANESE, "euc-jp"),
        (_JAPANESE, "iso-2022-jp"),
        (_CHINESE, "gb18030"),
        (_CHINESE, "gb2312"),
    ],
)
def test_bytes_are_read_as_their_meta_element_declares(text: str, encoding: str) -> None:
    declared = encoding.removesuffix("-sig")
    page = _page(text, head=f'<meta charset="{declared}">')

    assert decode(page.encode(encoding)) == page
    assert extract_page(page.encode(encoding)) == extract_page(page)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (_RUSSIAN, "windows-1251"),
        (_RUSSIAN, "koi8-r"),
        (_JAPANESE, "shift_jis"),
        (_JAPANESE, "iso-2022-jp"),
        (_CHINESE, "gb18030"),
    ],
)
def test_bytes_are_read_as_their_http_header_declares(text: str, encoding: str) -> None:
    page = _page(text)

    assert decode(page.encode(encoding), encoding) == page
    assert extract_page(page.encode(encoding), encoding=encoding) == extract_page(page)


def test_the_http_header_wins_over_the_meta_element() -> None:
    page = _page(_RUSSIAN, head='<meta charset="iso-8859-1">')

    assert decode(page.encode("windows-1251"), "windows-1251") == page


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
@pytest.mark.parametrize("declared", [None, "windows-1251", "utf-8"])
def test_a_byte_order_mark_wins_over_what_is_declared(encoding: str, declared: str | None) -> None:
    page = _page(_RUSSIAN, head='<meta charset="iso-8859-1">')

    assert decode(page.encode(encoding), declared) == page


@pytest.mark.parametrize("mark", ["utf-16-le", "utf-16-be"])
def test_utf_16_of_both_byte_orders_is_read(mark: str) -> None:
    assert extract_page(("\ufeff" + _page(_RUSSIAN)).encode(mark)) == extract_page(_page(_RUSSIAN))


@pytest.mark.parametrize("declared", ["iso-8859-1", "windows-1251", "shift_jis", "gb18030"])
def test_valid_utf_8_is_utf_8_whatever_is_declared(declared: str) -> None:
    page = _page(_RUSSIAN, head=f'<meta charset="{declared}">')

    assert decode(page.encode(), declared) == page
    assert extract_page(page.encode(), encoding=declared) == extract_page(page)


@pytest.mark.parametrize("declared", ["no-such-charset", "", "\n", "x y", "\0", "é"])
def test_bytes_of_an_unknown_declared_encoding_are_guessed(declared: str) -> None:
    assert decode(_page(_RUSSIAN).encode("windows-1251"), declared) == _page(_RUSSIAN)


@given(st.binary(), st.sampled_from([None, "utf-8", "ascii", "utf-16", "shift_jis", "gb18030"]))
def test_any_bytes_are_decoded(body: bytes, declared: str | None) -> None:
    assert len(decode(body, declared)) <= len(body)


@pytest.mark.parametrize(
    ("html", "reason"),
    [
        (b"", "no_main_text"),
        ("", "no_main_text"),
        (b" \r\n\t ", "no_main_text"),
        (b"\xef\xbb\xbf", "no_main_text"),
        (b"<!DOCTYPE html><html><head><title>T</title></head><body></body></html>", "no_main_text"),
        (b"<!-- nothing -->", "no_main_text"),
        (b'{"title": "A page", "count": 3}', "no_main_text"),
        (b"just words", "no_main_text"),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3", "not_html"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "not_html"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF", "not_html"),
        (b"GIF89a\x01\x00", "not_html"),
        (b"PK\x03\x04\x14\x00", "not_html"),
        (gzip.compress(_page(_ENGLISH).encode(), mtime=0), "not_html"),
    ],
)
def test_what_has_no_main_text_has_a_reason(html: bytes | str, reason: str) -> None:
    assert _reason(html) == reason


def test_a_page_of_50_mb_is_too_large() -> None:
    assert _reason(b"<p>" + b"a" * 50_000_000) == "too_large"
    assert _reason("<p>" + "a" * 50_000_000) == "too_large"


def test_a_page_of_the_largest_accepted_size_is_read() -> None:
    html = _page(_ENGLISH)

    assert extract_page(html, max_bytes=len(html)).title == "Bridge"
    with pytest.raises(ExtractionError, match="more than") as caught:
        extract_page(html, max_bytes=len(html) - 1)
    assert caught.value.reason == "too_large"


def test_a_page_of_eight_megabytes_is_read_whole() -> None:
    paragraphs = "".join(f"<p>{_ENGLISH} {number}</p>" for number in range(1000))
    html = _page("").replace("</article>", paragraphs + "</article>")
    html = html.replace("</head>", f"<style>{'.a { color: red }' * 400_000}</style></head>")
    text = extract(html)

    assert text is not None
    assert text.count("railway") == 1000


@pytest.mark.parametrize("tag", ["div", "b", "table", "ul", "blockquote", "span"])
def test_100_000_nested_elements_do_not_crash(tag: str) -> None:
    nested = _page(_ENGLISH).replace("<article>", f"<{tag}>" * 100_000 + "<article>")

    # The parser gives up on what is nested so deeply; what stands before it is read.
    assert extract_page(nested).text


def test_nul_bytes_are_ignored() -> None:
    page = _page(_ENGLISH)

    assert extract_page(page.replace("railway", "rail\0way")) == extract_page(page)
    assert extract_page(page.replace("railway", "rail\0way").encode()) == extract_page(page)


def test_lone_surrogates_of_a_str_do_not_reach_the_text() -> None:
    main = extract_page(_page(_ENGLISH.replace("railway", "rail\ud800 way")))

    assert "\ud800" not in main.text
    assert main.text.encode()
    assert canonical_words(main.text).count("rail") == 6


@pytest.mark.parametrize("reference", ["&#0;", "&#xD800;", "&#xDFFF;", "&#x110000;"])
def test_character_references_to_no_character_do_not_reach_the_text(reference: str) -> None:
    main = extract_page(_page(f"rail{reference}way {_ENGLISH}"))

    assert main.text.encode()
    assert "\0" not in main.text
    assert canonical_words(main.text).count("rail") == 6


@pytest.mark.parametrize("control", ["\x01", "\x08", "\x0b", "\x0c", "\x1b[31m", "\x7f", "\ufffe"])
def test_control_characters_do_not_hide_the_main_text(control: str) -> None:
    main = extract_page(_page(f"{_ENGLISH}{control}"))

    assert canonical_words(main.text).count("railway") == 6


def test_a_page_with_an_xml_declaration_is_read_as_bytes_and_as_str() -> None:
    page = (
        '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 '
        'Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">'
        f'<html xmlns="http://www.w3.org/1999/xhtml"><head><title>Мост</title></head>'
        f"<body><p>{_RUSSIAN * 6}</p></body></html>"
    )

    assert extract_page(page) == extract_page(page.encode())
    assert extract_page(page).title == "Мост"
    assert canonical_words(extract_page(page).text) == canonical_words(_RUSSIAN * 6)


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("<title>Plain</title>", "Plain"),
        ("<title> two\r\n\tlines&nbsp;here </title>", "two lines here"),
        ("<title>a\x1b[31mred\x07\u202eb\u200b</title>", "a[31mred b"),
        ("<title>Fish &amp; chips &lt;b&gt;</title>", "Fish & chips <b>"),
        ("<title>a&#0;&#xD800;b</title>", "a\ufffd\ufffdb"),
        ("<title></title>", None),
        ("<title> \u200b </title>", None),
        ("", None),
    ],
)
def test_a_title_is_one_line_without_control_characters(title: str, expected: str | None) -> None:
    html = _page(_ENGLISH).replace("<title>Bridge</title>", title)

    assert extract_page(html).title == expected


def test_a_title_is_cut_at_500_characters() -> None:
    html = _page(_ENGLISH).replace("<title>Bridge</title>", f"<title>{'é' * 10_000}</title>")

    assert extract_page(html).title == "é" * 500


def test_the_title_of_a_drawing_is_not_the_title_of_the_page() -> None:
    drawing = "<svg><title>Icon</title></svg>"
    html = _page(_ENGLISH).replace("<article>", f"{drawing}<article>")

    assert extract_page(html).title == "Bridge"


@given(st.text(st.characters(categories=None)))
def test_a_plain_line_is_one_line_that_can_be_printed(text: str) -> None:
    line = plain_line(text)

    assert line == " ".join(line.split())
    assert not any(unicodedata.category(char)[0] == "C" for char in line)
    assert plain_line(line) == line
    assert line.encode().decode() == line


@pytest.mark.parametrize(
    ("attributes", "language"),
    [
        ('lang="de-DE"', "de"),
        ('lang="zh_CN"', "zh"),
        ('lang="EN"', "en"),
        ('lang=" fr "', "fr"),
        ('lang="nds"', "nds"),
        ("", None),
        ('lang=""', None),
        ('lang="deutsch"', None),
        ('lang="x-klingon"', None),
        ('lang="e"', None),
        ('lang="123"', None),
        ('lang="{{ lang }}"', None),
        ('lang="русский"', None),
    ],
)
def test_the_language_is_the_primary_tag_that_the_page_declares(
    attributes: str, language: str | None
) -> None:
    assert extract_page(_page(_ENGLISH, attributes=attributes)).language == language


@pytest.mark.parametrize(
    "body",
    [
        b"<!DOCTYPE html>",
        b"<!doctype HTML PUBLIC '-//W3C//DTD HTML 4.01//EN'>",
        b"<!DOCTYPE\n html>",
        b"<html>",
        b"<HTML lang=de>",
        b"<head><title>",
        b"<!-- a comment first --><html>",
        b"<!-- one -->\n<!-- two --> <!DOCTYPE html>",
        b'<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE html PUBLIC "a" "b">',
        b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">',
        b"\xef\xbb\xbf<!DOCTYPE html>",
        b"   \r\n\t<html>",
        b'<div class="a">',
        b"<p/>",
        b"<br>",
        b"<body ",
        b"<main>",
        "<!DOCTYPE html>".encode("utf-16"),
        "\ufeff<html>".encode("utf-16-be"),
        "<!DOCTYPE html><title>Мост</title>".encode("windows-1251"),
        b"<html>" + b"a" * 100_000,
    ],
)
def test_html_is_known_by_its_opening(body: bytes) -> None:
    assert sniff_html(body)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" \n",
        b'{"html": "<html>"}',
        b'["<p>"]',
        b"body { color: red }",
        b"function a() { return '<div>' }",
        b"Just words, then <p>.",
        b"%PDF-1.7",
        b"\x89PNG\r\n\x1a\n",
        b"<divine>",
        b"<abbr>",
        b"html>",
        b'<?xml version="1.0"?><rss version="2.0">',
        b'<?xml version="1.0"?><urlset>',
        b"<svg xmlns='http://www.w3.org/2000/svg'>",
        b"<!-- a comment only -->",
        b"<!-- <html> never closed",
        b"\xff\xfe",
        b"\xff\xfea",
        gzip.compress(b"<html>", mtime=0),
    ],
)
def test_what_is_not_html_is_known_by_its_opening(body: bytes) -> None:
    assert not sniff_html(body)


@given(st.binary())
def test_only_the_opening_of_bytes_decides_whether_they_are_html(rest: bytes) -> None:
    assert sniff_html(b"<html>" + rest)
    assert not sniff_html(b"{" + rest)


def test_an_extractor_is_given_the_html_and_the_url() -> None:
    given_to: list[tuple[str, str | None]] = []

    def extractor(html: str, url: str | None) -> str | None:
        given_to.append((html, url))
        return "its text"

    page = _page(_RUSSIAN)
    main = extract_page(
        page.encode("koi8-r"), "https://a.example/", encoding="koi8-r", extractor=extractor
    )

    assert main == MainText("its text", "Bridge", "en")
    assert given_to == [(page, "https://a.example/")]


def test_an_extractor_is_given_html_without_nul_and_lone_surrogates() -> None:
    given_to: list[str] = []

    def extractor(html: str, url: str | None) -> str | None:
        given_to.append(html)
        return "its text"

    extract_page(_page("rail\0way\ud800 "), extractor=extractor)

    assert given_to == [_page("railway? ")]


@pytest.mark.parametrize("nothing", [None, "", " \n"])
def test_an_extractor_that_finds_nothing_leaves_a_page_without_main_text(
    nothing: str | None,
) -> None:
    with pytest.raises(ExtractionError) as caught:
        extract_page(_page(_ENGLISH), extractor=lambda html, url: nothing)

    assert caught.value.reason == "no_main_text"


@pytest.mark.parametrize("error", [ValueError("<html>secret"), RecursionError(), MemoryError()])
def test_an_extractor_that_raises_fails_with_the_name_of_its_error(error: Exception) -> None:
    def extractor(html: str, url: str | None) -> str | None:
        raise error

    with pytest.raises(ExtractionError) as caught:
        extract_page(_page(_ENGLISH), extractor=extractor)

    reason = "too_much_memory" if isinstance(error, MemoryError) else "extraction_failed"
    assert caught.value.reason == reason
    assert str(caught.value) == type(error).__name__
    assert caught.value.__cause__ is error


def test_an_extractor_may_give_its_own_reason() -> None:
    def extractor(html: str, url: str | None) -> str | None:
        raise ExtractionError("paywall", "only a teaser")

    with pytest.raises(ExtractionError) as caught:
        extract_page(_page(_ENGLISH), extractor=extractor)

    assert caught.value.reason == "paywall"


def test_an_interruption_inside_an_extractor_is_not_swallowed() -> None:
    def extractor(html: str, url: str | None) -> str | None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        extract_page(_page(_ENGLISH), extractor=extractor)


@given(
    st.text()
    | st.lists(
        st.sampled_from(
            ["<p>", "</", "<!--", "&#", "\0", "x " * 99, "<a ", "<html lang=", "<title>"]
        )
    ).map("".join)
)
def test_any_text_is_read_or_has_a_reason(html: str) -> None:
    try:
        outcome = extract_page("<html><body>" + html).text and "text"
    except ExtractionError as error:
        outcome = error.reason
    assert outcome in ("text", "no_main_text")


def test_pages_declared_utf_8_that_are_not_keep_their_words() -> None:
    latin = " ".join(f"product{number} model{number}" for number in range(40))
    texts = []
    for russian in ("Первая статья о погоде и природе.", "Совсем другая новость: выборы мэра."):
        page = f"<html><body><article><p>{russian * 3}</p><p>{latin}</p></article></body></html>"
        texts.append(extract_page(page.encode("cp1251"), encoding="utf-8").text)
    assert "погоде" in texts[0]
    assert "выборы" in texts[1]


def test_a_few_broken_bytes_do_not_make_utf_8_something_else() -> None:
    page = f"<html><body><p>{'Слово и дело. ' * 30}</p></body></html>".encode()
    broken = page[:100] + b"\xd0" + page[100:]
    assert "Слово и дело" in extract_page(broken, encoding="utf-8").text


def test_what_an_extractor_returns_is_checked_and_cleaned() -> None:
    page = "<html><body><p>some words</p></body></html>"
    for wrong in (5, b"bytes"):
        with pytest.raises(ExtractionError) as caught:
            extract_page(page, extractor=lambda *_, wrong=wrong: wrong)
        assert caught.value.reason == "extraction_failed"
    assert extract_page(page, extractor=lambda *_: "a\ud800b\0c").text == "a?bc"


@pytest.mark.parametrize("element", ["div", "p", "article", "section", "table><tr><td"])
def test_a_part_of_a_page_is_html_too(element: str) -> None:
    words = "Some words of an article that a spider has cut out of its page. " * 5
    closing = "".join(f"</{name}>" for name in reversed(element.split("><")))
    assert words.strip()[:60] in extract_page(f"<{element}>{words}{closing}").text


def test_many_comments_before_the_first_element_are_passed_over_at_once() -> None:
    assert sniff_html(b"<!-- a -->" * 500 + b"<html>")
    assert not sniff_html(b"<!---->" * 1000 + b"x")


@pytest.mark.parametrize("charset", ["base64", "hex", "rot13", "idna", "undefined", "punycode"])
def test_a_charset_that_is_none_does_not_raise(charset: str) -> None:
    words = "<p>Some words of an article, and an accent: \xe9. </p>" * 9
    page = f"<html><meta charset='{charset}'><body>{words}</body></html>".encode("latin-1")
    assert "Some words" in extract_page(page).text
    assert "Some words" in extract_page(page, encoding=charset).text


@pytest.mark.parametrize("reference", ["&#8;", "&#12;", "&#27;", "&#x1B;", "&#xFFFF;"])
def test_a_reference_to_a_control_character_does_not_cost_the_text(reference: str) -> None:
    words = "Some words of an article that somebody has written. " * 5
    page = f"<html><body><article><p>{words}{reference}</p></article></body></html>"
    assert "Some words of an article" in extract_page(page).text


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
