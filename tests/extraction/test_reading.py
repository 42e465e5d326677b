"""What was fetched, to signed main text or a reason."""

from __future__ import annotations

import gzip
import pickle
import sys
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings, strategies as st

from shingling import Scheme, Signature, sign
from shingling.errors import SettingsError, ShinglingError
from shingling.extraction.reader import Content, Reader, Reading, load_extractor

if TYPE_CHECKING:
    from collections.abc import Callable

_TEXT = "The new railway bridge over the river was opened on Monday by the mayor. " * 6
_HTML = (
    '<!DOCTYPE html><html lang="en-GB"><head><title>Bridge</title></head>'
    f"<body><article><p>{_TEXT}</p></article></body></html>"
)
_READER = Reader(Scheme())


def _install(monkeypatch: pytest.MonkeyPatch, extractor: object) -> Reader:
    """Return a reader whose extractor is an attribute of an importable module."""
    module = ModuleType("extractor_of_a_test")
    vars(module)["extractor"] = extractor
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return Reader(Scheme(), f"{module.__name__}.extractor")


@pytest.mark.parametrize("body", [_HTML, _HTML.encode()])
def test_html_is_read_to_its_main_text_and_signature(body: bytes | str) -> None:
    reading = _READER.read(Content(body, is_html=True, url="https://example.com/"))

    assert reading == Reading(
        text=_TEXT.strip(),
        title="Bridge",
        language="en",
        signature=sign(_TEXT).to_bytes(),
        reason=None,
    )


@pytest.mark.parametrize("body", [_TEXT, _TEXT.encode()])
def test_a_main_text_is_signed_as_it_is(body: bytes | str) -> None:
    assert _READER.read(Content(body, is_html=False)) == Reading(
        text=_TEXT, signature=sign(_TEXT).to_bytes()
    )


def test_markup_in_a_main_text_is_text() -> None:
    assert _READER.read(Content("<p>one</p>", is_html=False)).text == "<p>one</p>"


@pytest.mark.parametrize("text", ["", " ", "!?"])
def test_a_main_text_without_words_has_a_signature_of_no_words(text: str) -> None:
    reading = _READER.read(Content(text, is_html=False))

    assert reading.text == text
    assert reading.signature is not None
    assert Signature.from_bytes(reading.signature).words == 0


def test_the_signature_is_made_under_the_scheme_of_the_reader() -> None:
    reading = Reader(Scheme(3)).read(Content(_HTML, is_html=True))

    assert reading.signature == sign(_TEXT, Scheme(3)).to_bytes()


def test_the_encoding_of_the_http_header_is_used() -> None:
    html = _HTML.replace("railway", "железная")
    content = Content(html.encode("koi8-r"), is_html=True, encoding="koi8-r")

    assert _READER.read(content) == _READER.read(Content(html, is_html=True))


@pytest.mark.parametrize(
    ("body", "is_html", "reason"),
    [
        (b"", True, "no_main_text"),
        ("", True, "no_main_text"),
        (b"<html><body></body></html>", True, "no_main_text"),
        (b"%PDF-1.7", True, "not_html"),
        (gzip.compress(_HTML.encode(), mtime=0), True, "not_html"),
        (b"x" * 3001, True, "too_large"),
        ("x" * 3001, True, "too_large"),
        (b"x" * 3001, False, "too_large"),
        ("x" * 3001, False, "too_large"),
    ],
)
def test_what_cannot_be_read_has_a_reason_and_nothing_else(
    body: bytes | str, is_html: bool, reason: str
) -> None:
    reader = Reader(Scheme(), max_bytes=3000)

    assert reader.read(Content(body, is_html)) == Reading(reason=reason)


@pytest.mark.parametrize("body", ["x" * 3000, b"x" * 3000])
def test_the_largest_accepted_text_is_read(body: bytes | str) -> None:
    assert Reader(Scheme(), max_bytes=3000).read(Content(body, is_html=False)).text == "x" * 3000


def test_bytes_and_surrogates_that_are_no_utf_8_are_replaced_in_a_main_text() -> None:
    assert _READER.read(Content(b"caf\xe9 one", is_html=False)).text == "caf\ufffd one"
    assert _READER.read(Content("caf\ud800 one", is_html=False)).text == "caf? one"


def test_resiliparse_takes_the_main_text_out_too() -> None:
    pytest.importorskip("resiliparse")
    article = "<p>The old railway bridge over the river reopens after six years of repair.</p>" * 9
    page = (
        '<html lang="en"><head><title>Bridge</title></head><body><nav><ul><li><a href="/">Home</a>'
        "</li><li><a href='/s'>Sport</a></li></ul></nav><main><article><h1>Bridge</h1>"
        f"{article}</article></main><footer>Imprint</footer></body></html>"
    )
    reading = Reader(Scheme(), "resiliparse").read(Content(page, is_html=True))

    assert reading.text is not None
    assert reading.text.count("reopens after six years") == 9
    assert "Sport" not in reading.text
    assert (reading.title, reading.language, reading.reason) == ("Bridge", "en", None)
    empty = Content("<html><body><nav>Home</nav></body></html>", is_html=True)
    assert Reader(Scheme(), "resiliparse").read(empty).reason == "no_main_text"


def test_an_extractor_that_is_not_installed_is_named_with_the_line_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "shingling.extraction.resiliparse", raising=False)
    monkeypatch.setitem(sys.modules, "resiliparse.extract.html2text", None)
    with pytest.raises(SettingsError, match=r'pip install "scrapy-shingling\[resiliparse\]"'):
        load_extractor("resiliparse")


def test_an_extractor_is_found_by_its_import_path(monkeypatch: pytest.MonkeyPatch) -> None:
    def extractor(html: str, url: str | None) -> str:
        return f"{url} has {len(html)} characters"

    reading = _install(monkeypatch, extractor).read(Content(_HTML, is_html=True, url="u"))

    assert reading.text == f"u has {len(_HTML)} characters"
    assert reading.signature == sign(reading.text).to_bytes()
    assert (reading.title, reading.language, reading.reason) == ("Bridge", "en", None)


@pytest.mark.parametrize("error", [ValueError("no"), RecursionError("no"), MemoryError("no")])
def test_an_extractor_that_raises_is_a_reason(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def extractor(html: str, url: str | None) -> str:
        raise error

    reading = _install(monkeypatch, extractor).read(Content(_HTML, is_html=True))

    assert reading == Reading(reason="extraction_failed")


@pytest.mark.parametrize("nothing", [None, "", " \n"])
def test_an_extractor_that_finds_nothing_is_a_reason(
    monkeypatch: pytest.MonkeyPatch, nothing: str | None
) -> None:
    reading = _install(monkeypatch, lambda html, url: nothing).read(Content(_HTML, is_html=True))

    assert reading == Reading(reason="no_main_text")


def test_an_extractor_is_not_asked_about_a_main_text(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = _install(monkeypatch, lambda html, url: "another text")

    assert reader.read(Content(_TEXT, is_html=False)).text == _TEXT


def test_trafilatura_needs_no_import_path() -> None:
    assert load_extractor("trafilatura") is None
    assert Reader(Scheme()) == Reader(Scheme(), "trafilatura")


def test_a_function_is_loaded_by_its_import_path() -> None:
    expected: Callable[..., str] = gzip.os.path.join  # type: ignore[attr-defined]

    assert load_extractor("os.path.join") is expected


@pytest.mark.parametrize(
    "name",
    ["", "nodot", ".", "a.", "no.such.module", "os.path.no_such_name", "os.path", "math.pi"],
)
def test_an_import_path_that_leads_to_no_function_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match="extractor") as caught:
        load_extractor(name)

    assert repr(name) in str(caught.value)
    assert isinstance(caught.value, ShinglingError)


@pytest.mark.parametrize("is_html", [True, False])
def test_contents_and_readings_travel_between_processes(is_html: bool) -> None:
    content = Content(_HTML, is_html, "https://example.com/", "utf-8")
    reader, content = pickle.loads(pickle.dumps((_READER, content)))  # noqa: S301

    assert reader.read(content) == _READER.read(content)
    assert pickle.loads(pickle.dumps(reader.read(content))) == reader.read(content)  # noqa: S301


_ENCODINGS = st.sampled_from(
    [None, "utf-8", "utf-16", "utf-7", "windows-1251", "shift_jis", "iso-2022-jp", "no-such", ""]
)
_PIECES = st.lists(
    st.binary(max_size=20)
    | st.sampled_from([b"<p>", b"</p>", b"<!--", b"-->", b"&#", b"\0", b"words " * 60, b"<a href="])
).map(b"".join)


@given(_PIECES, _ENCODINGS, st.booleans(), st.sampled_from([b"", b"<html><body>", b"\xff\xfe"]))
@settings(max_examples=200)
def test_no_bytes_raise_and_what_is_read_can_be_stored(
    body: bytes, encoding: str | None, is_html: bool, opening: bytes
) -> None:
    reading = _READER.read(Content(opening + body, is_html, None, encoding))

    if reading.reason is None:
        assert reading.text is not None
        assert reading.signature == sign(reading.text).to_bytes()
        assert reading.text.encode().decode() == reading.text
    else:
        assert reading == Reading(reason=reading.reason)
        assert reading.reason in ("no_main_text", "not_html")
        assert is_html


@given(st.text(st.characters(categories=None)), st.booleans())
def test_no_text_raises_and_what_is_read_can_be_stored(body: str, is_html: bool) -> None:
    reading = _READER.read(Content(body, is_html))

    assert (reading.text is None) == (reading.signature is None) == (reading.reason is not None)
    assert (reading.text or "").encode().decode() == (reading.text or "")
