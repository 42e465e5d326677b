"""Extractors by name, and what they make of what was fetched: a signed main text or a reason."""

from __future__ import annotations

import asyncio
import sys
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings, strategies as st

from shingling import Reason
from shingling.errors import ExtractionError, SettingsError
from shingling.extraction.extractors import BUILT_IN, Extracted, find_extractor
from shingling.extraction.html import EXTRACTION_VERSION
from shingling.extraction.pages import Extraction, Fetched, PageExtractor
from shingling.extraction.pool import ExtractionPool
from shingling.sketch import Scheme, sign
from shingling.text import PreparedText

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HTML = '<html lang="en-GB"><head><title>Of the page</title></head><body><p>Words.</p></body></html>'
TEXT = "The new railway bridge over the river was opened on Monday by the mayor. " * 6
BRIDGE = (
    '<!DOCTYPE html><html lang="en-GB"><head><title>Bridge</title></head>'
    f"<body><article><p>{TEXT}</p></article></body></html>"
)
QUICK = PageExtractor(Scheme())
CODE = """
from shingling import Extracted

def capitals(html, url):
    return Extracted("MAIN TEXT", title=" Of the  extractor ", language="de-AT")

not_a_function = 1
"""
OFFERED = "capitals = offering:capitals"


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """What installs a package that offers extractors, as pip does."""

    def install(offered: str, name: str = "offering", number: str = "1.0") -> None:
        (tmp_path / f"{name}.py").write_text(CODE)
        info = tmp_path / f"{name}-{number}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {number}\n")
        (info / "entry_points.txt").write_text(f"[shingling.extractors]\n{offered}\n")

    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "offering", raising=False)
    return install


def own(monkeypatch: pytest.MonkeyPatch, function: Callable[..., Any]) -> PageExtractor:
    """Extract pages by a function that is found by its import path."""
    monkeypatch.setattr("tests.extraction.extractors.plain", function)
    return PageExtractor(Scheme(), find_extractor("tests.extraction.extractors.plain"))


def test_worker_processes_find_the_extractor_that_another_package_offers_by_name(
    install: Callable[..., None],
) -> None:
    install(OFFERED)
    extractor = PageExtractor(Scheme(), find_extractor("capitals"))
    expected = Extraction(PreparedText("MAIN TEXT"), "Of the extractor", "de", sign("MAIN TEXT"))
    pool = ExtractionPool(extractor, 1, 30)
    try:
        assert asyncio.run(pool.extract(Fetched(HTML, is_html=True))) == expected
    finally:
        pool.close()


def test_the_version_of_the_package_decides_which_bodies_are_known(
    install: Callable[..., None],
) -> None:
    install(OFFERED)
    extractor = find_extractor("capitals")
    names = ("resiliparse", "trafilatura", "lxml")
    libraries = " ".join(f"{name} {version(name)}" for name in names)
    keys = {
        PageExtractor(Scheme(), one).body_key(Fetched(HTML, is_html=True))
        for one in (extractor, *BUILT_IN.values())
    }
    assert extractor.version() == f"capitals offering 1.0 {libraries}"
    assert len(keys) == 1 + len(BUILT_IN)
    assert EXTRACTION_VERSION == "8", "stores know bodies by it: raise it with what is extracted"


def test_a_name_that_nobody_offers_is_refused_with_those_that_there_are(
    install: Callable[..., None],
) -> None:
    install(OFFERED)
    with pytest.raises(SettingsError) as caught:
        find_extractor("capital")
    assert "'capital' is not known: quick, trafilatura, resiliparse, capitals, or" in str(
        caught.value
    )


def test_a_name_that_two_packages_offer_is_refused_and_a_built_in_one_never_replaced(
    install: Callable[..., None],
) -> None:
    install(f"{OFFERED}\ntrafilatura = offering:capitals")
    install(OFFERED, name="rival")
    with pytest.raises(SettingsError, match="'capitals' is offered by offering and rival"):
        find_extractor("capitals")
    assert find_extractor("trafilatura") is BUILT_IN["trafilatura"]


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        ("no_such_module:capitals", "cannot be imported: No module named"),
        ("offering:no_such_name", "cannot be imported: module 'offering' has no attribute"),
        ("offering:not_a_function", "is not a function"),
    ],
)
def test_a_broken_entry_point_is_named_with_its_package(
    install: Callable[..., None], function: str, problem: str
) -> None:
    install(f"capitals = {function}")
    extractor = find_extractor("capitals")
    with pytest.raises(SettingsError) as caught:
        extractor.load_function()
    assert f"extractor 'capitals' ({function} of offering) {problem}" in str(caught.value)


@pytest.mark.parametrize(
    ("returned", "title", "language"),
    [
        ("text", "Of the page", "en"),
        (Extracted("text", title="", language=""), "Of the page", "en"),
        (Extracted("text", title="Own", language="DE-AT"), "Own", "de"),
        (Extracted("text", language="german"), "Of the page", "en"),
        (Extracted("text", title="a\ud800\n b" + "x" * 999), "a? b" + "x" * 496, "en"),
    ],
)
def test_title_and_language_of_the_extractor_go_before_those_of_the_page(
    monkeypatch: pytest.MonkeyPatch, returned: str | Extracted, title: str, language: str
) -> None:
    page = own(monkeypatch, lambda html, url: returned).extract(Fetched(HTML, is_html=True))
    assert (page.text, page.title, page.language) == ("text", title, language)


@pytest.mark.parametrize("body", [BRIDGE, BRIDGE.encode()])
def test_html_becomes_its_main_text_and_signature(body: bytes | str) -> None:
    page = QUICK.extract(Fetched(body, is_html=True, url="https://example.com/"))
    assert page == Extraction(
        prepared=PreparedText(TEXT.strip()),
        title="Bridge",
        language="en",
        signature=sign(TEXT),
        reason=None,
    )


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (TEXT, TEXT),
        (TEXT.encode(), TEXT),
        ("", ""),
        ("!?", "!?"),
        (b"caf\xe9 one", "caf\ufffd one"),
        ("caf\ud800 one", "caf? one"),
    ],
)
def test_a_main_text_is_signed_as_it_is_and_no_extractor_is_asked(
    monkeypatch: pytest.MonkeyPatch, body: bytes | str, text: str
) -> None:
    page = own(monkeypatch, lambda html, url: "another text").extract(Fetched(body, is_html=False))
    assert page == Extraction(prepared=PreparedText(text), signature=sign(text))


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (ExtractionError(Reason.NOT_HTML, "only a teaser"), "not_html"),
        (ValueError("no"), "extraction_failed"),
        (RecursionError("no"), "extraction_failed"),
        (MemoryError("no"), "too_much_memory"),
        (b"text", "extraction_failed"),
        (("text", "title", "en"), "extraction_failed"),
        (Extracted(b"text"), "extraction_failed"),  # type: ignore[arg-type]
        (Extracted("text", title=1), "extraction_failed"),  # type: ignore[arg-type]
        (None, "no_main_text"),
        (" \n", "no_main_text"),
    ],
)
def test_an_extractor_that_raises_finds_nothing_or_returns_something_else_is_a_reason(
    monkeypatch: pytest.MonkeyPatch, outcome: Any, reason: Reason
) -> None:
    def extractor(html: str, url: str | None) -> Any:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    page = own(monkeypatch, extractor).extract(Fetched(BRIDGE, is_html=True))
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
    page = QUICK.extract(Fetched(body, is_html, None, encoding))
    if page.reason is None:
        assert page.text is not None
        assert page.signature == sign(page.text)
        assert page.text.encode().decode() == page.text
    else:
        assert page == Extraction(reason=page.reason)
        assert page.reason in ("no_main_text", "not_html")
        assert is_html
