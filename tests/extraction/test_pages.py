"""What was fetched becomes a signed main text or a reason."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest
from hypothesis import given, settings, strategies as st

from shingling import Scheme, sign
from shingling.extraction.extractors import find_extractor
from shingling.extraction.pages import Extraction, Fetched, PageExtractor
from shingling.text import PreparedText

_TEXT = "The new railway bridge over the river was opened on Monday by the mayor. " * 6
_HTML = (
    '<!DOCTYPE html><html lang="en-GB"><head><title>Bridge</title></head>'
    f"<body><article><p>{_TEXT}</p></article></body></html>"
)
_EXTRACTOR = PageExtractor(Scheme())


def _install(monkeypatch: pytest.MonkeyPatch, extractor: object) -> PageExtractor:
    """Make a function an attribute of an importable module, and extract pages by it."""
    module = ModuleType("extractor_of_a_test")
    vars(module)["extractor"] = extractor
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return PageExtractor(Scheme(), find_extractor(f"{module.__name__}.extractor"))


@pytest.mark.parametrize("body", [_HTML, _HTML.encode()])
def test_html_becomes_its_main_text_and_signature(body: bytes | str) -> None:
    page = _EXTRACTOR.extract(Fetched(body, is_html=True, url="https://example.com/"))
    assert page == Extraction(
        prepared=PreparedText(_TEXT.strip()),
        title="Bridge",
        language="en",
        signature=sign(_TEXT),
        reason=None,
    )


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (_TEXT, _TEXT),
        (_TEXT.encode(), _TEXT),
        ("", ""),
        ("!?", "!?"),
        (b"caf\xe9 one", "caf\ufffd one"),
        ("caf\ud800 one", "caf? one"),
    ],
)
def test_a_main_text_is_signed_as_it_is_and_no_extractor_is_asked(
    monkeypatch: pytest.MonkeyPatch, body: bytes | str, text: str
) -> None:
    page = _install(monkeypatch, lambda html, url: "another text").extract(
        Fetched(body, is_html=False)
    )
    assert page == Extraction(prepared=PreparedText(text), signature=sign(text))


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (ValueError("no"), "extraction_failed"),
        (RecursionError("no"), "extraction_failed"),
        (MemoryError("no"), "too_much_memory"),
        (None, "no_main_text"),
        (" \n", "no_main_text"),
    ],
)
def test_an_extractor_that_raises_or_finds_nothing_is_a_reason(
    monkeypatch: pytest.MonkeyPatch, outcome: Exception | str | None, reason: str
) -> None:
    def extractor(html: str, url: str | None) -> str | None:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    page = _install(monkeypatch, extractor).extract(Fetched(_HTML, is_html=True))
    assert page == Extraction(reason=reason)


_ENCODINGS = st.sampled_from(
    [None, "utf-8", "utf-16", "utf-7", "windows-1251", "shift_jis", "iso-2022-jp", "no-such", ""]
)
_PIECES = st.lists(
    st.binary(max_size=20)
    | st.sampled_from([b"<p>", b"</p>", b"<!--", b"-->", b"&#", b"\0", b"words " * 60, b"<a href="])
).map(b"".join)
_OPENINGS = st.sampled_from([b"", b"<html><body>", b"\xff\xfe"])


@given(
    st.text(st.characters(categories=None)) | st.tuples(_OPENINGS, _PIECES).map(b"".join),
    _ENCODINGS,
    st.booleans(),
)
@settings(max_examples=200)
def test_nothing_raises_and_what_is_extracted_can_be_stored(
    body: bytes | str, encoding: str | None, is_html: bool
) -> None:
    page = _EXTRACTOR.extract(Fetched(body, is_html, None, encoding))
    if page.reason is None:
        assert page.text is not None
        assert page.signature == sign(page.text)
        assert page.text.encode().decode() == page.text
    else:
        assert page == Extraction(reason=page.reason)
        assert page.reason in ("no_main_text", "not_html")
        assert is_html
