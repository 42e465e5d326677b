"""What is read from a page: main text, title, language, and why there is nothing."""

from __future__ import annotations

import encodings
import gzip
import pkgutil
from types import SimpleNamespace

import pytest
import trafilatura
from hypothesis import given, strategies as st

from shingling import canonical_words, extract
from shingling.errors import ExtractionError, SettingsError
from shingling.extraction.decoding import decode
from shingling.extraction.html import sniff_html
from shingling.extraction.main_text import MainText, extract_page
from shingling.extraction.trafilatura import TrafilaturaPage
from tests.hostile.growth import is_linear

ENGLISH = "The new railway bridge over the river was opened on Monday by the mayor of the town. "
RUSSIAN = "Новый железнодорожный мост через реку открыл в понедельник мэр города. "
JAPANESE = "新しい鉄道の橋が川の上に完成し、月曜日に市長が式典で開通を宣言しました。"
CHINESE = "新的铁路大桥横跨河流，市长于星期一在典礼上宣布大桥正式开通。"


def page_of(text: str, *, head: str = "", attributes: str = 'lang="en"', times: int = 6) -> str:
    return (
        f"<!DOCTYPE html><html {attributes}><head>{head}<title>Bridge</title></head><body>"
        "<nav><ul><li><a href='/'>Home</a></li><li><a href='/about'>About us</a></li></ul></nav>"
        f"<article><h1>Bridge</h1><p>{text * times}</p></article>"
        "<footer>Copyright, all rights reserved</footer></body></html>"
    )


def test_the_main_text_is_the_article_without_what_surrounds_it() -> None:
    main = extract_page(page_of(ENGLISH), "https://example.com/bridge")
    assert canonical_words(main.text) == canonical_words("Bridge " + ENGLISH * 6)
    assert main.title == "Bridge"
    assert main.language == "en"
    assert "Home" not in main.text
    assert "rights" not in main.text


def test_extract_gives_the_text_of_an_extractor_or_of_the_default_one() -> None:
    page = extract_page(page_of(ENGLISH), parser=TrafilaturaPage)
    assert extract(page_of(ENGLISH), extractor="trafilatura") == page.text
    assert extract(page_of(ENGLISH)) == extract_page(page_of(ENGLISH)).text
    with pytest.raises(SettingsError, match="extractor 'none' is not known"):
        extract(page_of(ENGLISH), extractor="none")
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
        ("<svg><title>Icon</title></svg><title>Plain</title>", "Plain"),
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


def _reason(html: bytes | str) -> str:
    with pytest.raises(ExtractionError) as caught:
        extract_page(html)
    assert "\n" not in str(caught.value)
    assert extract(html) is None
    return caught.value.reason


@pytest.mark.parametrize(
    ("html", "reason"),
    [
        (b"", "no_main_text"),
        ("", "no_main_text"),
        (b"\xef\xbb\xbf", "no_main_text"),
        (b"<!DOCTYPE html><html><head><title>T</title></head><body></body></html>", "no_main_text"),
        (b"<!-- nothing -->", "no_main_text"),
        (b'{"title": "A page", "count": 3}', "no_main_text"),
        (b"just words", "no_main_text"),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3", "not_html"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "not_html"),
        (b"PK\x03\x04\x14\x00", "not_html"),
        (gzip.compress(page_of(ENGLISH).encode(), mtime=0), "not_html"),
    ],
)
def test_what_has_no_main_text_has_a_reason(html: bytes | str, reason: str) -> None:
    assert _reason(html) == reason


def test_a_page_of_the_largest_accepted_size_is_read_and_50_mb_are_not() -> None:
    assert _reason(b"<p>" + b"a" * 50_000_000) == "too_large"
    html = page_of(ENGLISH)
    assert extract_page(html, max_bytes=len(html)).title == "Bridge"
    with pytest.raises(ExtractionError, match="more than") as caught:
        extract_page(html, max_bytes=len(html) - 1)
    assert caught.value.reason == "too_large"


def test_a_page_of_eight_megabytes_is_read_whole() -> None:
    paragraphs = "".join(f"<p>{ENGLISH} {number}</p>" for number in range(1000))
    html = page_of("").replace("</article>", paragraphs + "</article>")
    html = html.replace("</head>", f"<style>{'.a { color: red }' * 400_000}</style></head>")
    text = extract(html)
    assert text is not None
    assert text.count("railway") == 1000


def test_nul_bytes_are_ignored() -> None:
    page = page_of(ENGLISH)
    assert extract_page(page.replace("railway", "rail\0way")) == extract_page(page)
    assert extract_page(page.replace("railway", "rail\0way").encode()) == extract_page(page)


@pytest.mark.parametrize(
    "odd",
    [
        *("&#0;", "&#xD800;", "&#x110000;", "&#8;", "&#x1B;", "&#xFFFF;"),
        *("\ud800", "\x01", "\x0b", "\x1b[31m", "\x7f", "\ufffe"),
    ],
)
def test_what_is_no_character_does_not_reach_the_text_nor_hide_it(odd: str) -> None:
    main = extract_page(page_of(f"{ENGLISH}{odd} "))
    assert main.text.encode()
    assert not {"\0", "\x08", "\x1b"} & {*main.text}
    assert canonical_words(main.text).count("railway") == 6


def test_a_page_with_an_xml_declaration_is_read_as_bytes_and_as_str() -> None:
    page = (
        '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 '
        'Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">'
        f'<html xmlns="http://www.w3.org/1999/xhtml"><head><title>Мост</title></head>'
        f"<body><p>{RUSSIAN * 6}</p></body></html>"
    )
    assert extract_page(page) == extract_page(page.encode())
    assert extract_page(page).title == "Мост"
    assert canonical_words(extract_page(page).text) == canonical_words(RUSSIAN * 6)


@pytest.mark.parametrize("element", ["p", "section", "table><tr><td"])
def test_a_part_of_a_page_is_html_too(element: str) -> None:
    words = "Some words of an article that a spider has cut out of its page. " * 5
    closing = "".join(f"</{name}>" for name in reversed(element.split("><")))
    assert words.strip()[:60] in extract_page(f"<{element}>{words}{closing}").text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (ENGLISH, "ascii"),
        (RUSSIAN, "utf-8"),
        (RUSSIAN, "windows-1251"),
        (RUSSIAN, "koi8-r"),
        (JAPANESE, "shift_jis"),
        (JAPANESE, "euc-jp"),
        (JAPANESE, "iso-2022-jp"),
        (CHINESE, "gb18030"),
    ],
)
def test_bytes_are_read_as_their_meta_element_or_http_header_declares(
    text: str, encoding: str
) -> None:
    page = page_of(text, head=f'<meta charset="{encoding}">')
    assert decode(page.encode(encoding)) == page
    assert extract_page(page.encode(encoding)) == extract_page(page)
    page = page_of(text)
    assert decode(page.encode(encoding), encoding) == page
    assert extract_page(page.encode(encoding), encoding=encoding) == extract_page(page)


def test_the_http_header_wins_over_the_meta_element() -> None:
    page = page_of(RUSSIAN, head='<meta charset="iso-8859-1">')
    assert decode(page.encode("windows-1251"), "windows-1251") == page


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("declared", [None, "windows-1251", "utf-8"])
def test_a_byte_order_mark_wins_over_what_is_declared(encoding: str, declared: str | None) -> None:
    page = page_of(RUSSIAN, head='<meta charset="iso-8859-1">')
    assert decode(f"\ufeff{page}".encode(encoding), declared) == page


@pytest.mark.parametrize("declared", ["iso-8859-1", "windows-1251", "shift_jis"])
def test_valid_utf_8_is_utf_8_whatever_is_declared(declared: str) -> None:
    page = page_of(RUSSIAN, head=f'<meta charset="{declared}">')
    assert decode(page.encode(), declared) == page
    assert extract_page(page.encode(), encoding=declared) == extract_page(page)


UKRAINIAN = "Вірші та пісні мого народу співають у кожному селі біля річки. "


@pytest.mark.parametrize("text", [RUSSIAN, RUSSIAN.upper(), UKRAINIAN])
@pytest.mark.parametrize("encoding", ["windows-1251", "koi8-u", "iso-8859-5", "cp866"])
def test_cyrillic_without_a_declaration_is_not_read_by_another_charset(
    text: str, encoding: str
) -> None:
    page = page_of(text if encoding != "cp866" else text.replace("і", "и"))
    assert decode(page.encode(encoding)) == page


def test_capitals_of_windows_1251_are_no_small_letters_of_koi8() -> None:
    page = "<title>x</title><p>ЗАВТРА В МОСКВЕ ПРОЙДЕТ ПАРАД ВОЙСК ГАРНИЗОНА, А ВЕЧЕРОМ САЛЮТ</p>"
    assert decode(page.encode("windows-1251")) == page


@pytest.mark.parametrize("declared", ["no-such-charset", "", "\0", "é"])
def test_bytes_of_an_unknown_declared_encoding_are_guessed(declared: str) -> None:
    assert decode(page_of(RUSSIAN).encode("windows-1251"), declared) == page_of(RUSSIAN)


@given(st.binary(), st.sampled_from([None, "utf-8", "ascii", "utf-16", "shift_jis", "gb18030"]))
def test_any_bytes_are_decoded(body: bytes, declared: str | None) -> None:
    assert len(decode(body, declared)) <= len(body)


@pytest.mark.parametrize(
    "russian", ["Первая статья о погоде и природе.", "Совсем другая новость: выборы мэра."]
)
def test_pages_declared_utf_8_that_are_not_keep_their_words(russian: str) -> None:
    latin = " ".join(f"product{number} model{number}" for number in range(40))
    page = f"<html><body><article><p>{russian * 3}</p><p>{latin}</p></article></body></html>"
    assert russian in extract_page(page.encode("cp1251"), encoding="utf-8").text


def test_a_few_broken_bytes_do_not_make_utf_8_something_else() -> None:
    page = f"<html><body><p>{'Слово и дело. ' * 30}</p></body></html>".encode()
    broken = page[:100] + b"\xd0" + page[100:]
    assert "Слово и дело" in extract_page(broken, encoding="utf-8").text


@pytest.mark.parametrize("charset", ["base64", "idna", "undefined", "punycode", "unicode_escape"])
def test_a_charset_that_is_none_does_not_raise(charset: str) -> None:
    words = "<p>Some words of an article, a \\path, and an accent: \xe9. </p>" * 9
    page = f"<html><meta charset='{charset}'><body>{words}</body></html>".encode("latin-1")
    assert "Some words" in extract_page(page).text
    assert "Some words" in extract_page(page, encoding=charset).text


def test_no_codec_of_python_that_a_page_declares_raises() -> None:
    codecs = {module.name for module in pkgutil.iter_modules(encodings.__path__)}
    assert len(codecs) > 100
    for codec in codecs:
        page = f"<meta charset={codec}><p>A word +AGE- \\q \\u0041 \xe9".encode("latin-1")
        assert decode(page), codec
        assert decode(page, codec), codec


def test_punycode_takes_as_long_as_other_pages() -> None:
    def page(length: int) -> bytes:
        return b"<meta charset=punycode>\xe9-" + b"zz9a" * (length // 4)

    assert is_linear(decode, page, 400_000)


OPENINGS_OF_HTML = [
    *(b"<HTML lang=de>", b'<div class="a">', b"<p/>", b"<body ", b"   \r\n\t<html>"),
    *(b"<!doctype HTML PUBLIC '-//W3C//DTD HTML 4.01//EN'>", b"<!DOCTYPE\n html>"),
    *(b"<!-- a comment first --><html>", b"<!-- one -->\n<!-- two --> <!DOCTYPE html>"),
    b'<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE html PUBLIC "a" "b">',
    b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">',
    *(b"\xef\xbb\xbf<!DOCTYPE html>", "\ufeff<html>".encode("utf-16-be")),
    *("<!DOCTYPE html><title>Мост</title>".encode("windows-1251"), b"<!-- a -->" * 500 + b"<html>"),
]
OPENINGS_OF_OTHERS = [
    *(b"", b'{"html": "<html>"}', b"function a() { return '<div>' }", b"Just words, then <p>."),
    *(b"%PDF-1.7", b"<divine>", b"<abbr>", b'<?xml version="1.0"?><rss version="2.0">'),
    *(b"<svg xmlns='http://www.w3.org/2000/svg'>", b"<!-- a comment only -->", b"\xff\xfea"),
    *(b"<!-- <html> never closed", b"<!---->" * 1000 + b"x", gzip.compress(b"<html>", mtime=0)),
]


def test_html_is_known_by_its_opening() -> None:
    assert [body for body in OPENINGS_OF_HTML if not sniff_html(body)] == []
    assert [body for body in OPENINGS_OF_OTHERS if sniff_html(body)] == []


@given(st.binary())
def test_only_the_opening_of_bytes_decides_whether_they_are_html(rest: bytes) -> None:
    assert sniff_html(b"<html>" + rest)
    assert not sniff_html(b"{" + rest)


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


def test_an_interruption_inside_an_extractor_is_not_swallowed() -> None:
    def extractor(html: str, url: str | None) -> str | None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        extract_page(page_of(ENGLISH), extractor=extractor)
