"""URLs made to take long, or to keep their user name and password."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from scrapy.http import HtmlResponse
from scrapy.settings import Settings

from shingling.extraction.html import extract_head
from shingling.plugin.items.documents import choose_document, is_same_page
from shingling.plugin.middleware import Source
from shingling.plugin.settings import DedupSettings
from shingling.store import Page, safe_url, site_of
from tests.hostile.growth import is_linear


def _unsorted_marks(number: int) -> str:
    return "é" + "\u0301" * (number // 2) + "\u0316" * (number // 2)


_ATTACKS = {
    "colons, but no @ in the authority": lambda n: "http://" + "a:" * (n // 2) + "?@",
    "colons, and a slash before the @": lambda n: "http://" + "a:" * (n // 2) + "/@",
    "colons before ports": lambda n: "http://a" + ":1" * (n // 2) + "/@",
    "colons, but no scheme": lambda n: "a:" * (n // 2) + "?@",
    "many @": lambda n: "http://" + "a@" * (n // 2),
    "many @ behind slashes": lambda n: "http://" + "a:b/@" * (n // 5),
    "many @, but no scheme": lambda n: "a:b@" * (n // 4),
    "slashes": lambda n: "http:" + "/" * n + "@",
    "a long scheme": lambda n: "a" * n + "://@",
    "a long host": lambda n: "http://" + "a" * n + "@",
    "an open bracket": lambda n: "http://[" + ":" * n + "@",
    "marks in the host": lambda n: "http://" + _unsorted_marks(n) + "/@",
    "U+FDFA in the host": lambda n: "http://" + "\ufdfa" * n + "/@",
    "marks in the path": lambda n: "http://host/" + _unsorted_marks(n) + "@",
    "marks alone": _unsorted_marks,
    "parameters": lambda n: "http://host/?" + "a=b&" * (n // 4) + "@",
    "segments": lambda n: "http://host/" + "a/" * (n // 2) + "@",
    "segments up": lambda n: "http://host/" + "a/../" * (n // 5) + "@",
    "control characters": lambda n: "http://host/@" + "\x01" * n,
    "tabs": lambda n: "http://host/@" + "\t" * n + "a",
    "percent signs": lambda n: "http://host/@" + "%" * n,
}
_RESPONSE = HtmlResponse("https://example.org/page")
_SETTINGS = DedupSettings.from_settings(Settings())


def _choose(url: str) -> object:
    source = Source(_RESPONSE, is_only_item=True)
    return choose_document({"url": url}, source, _SETTINGS, set())


_USES = {
    "safe_url": safe_url,
    "site_of": site_of,
    "a page": lambda url: Page(url).url,
    "is_same_page": lambda url: is_same_page(url, "https://example.org/page"),
    "the document of an item": _choose,
    "a canonical link": lambda url: extract_head(f'<link rel=canonical href="{url}">', "http://a/"),
}


@pytest.mark.parametrize("attack", _ATTACKS)
@pytest.mark.parametrize("use", _USES)
def test_the_time_grows_with_the_length_of_a_url(use: str, attack: str) -> None:
    assert is_linear(_USES[use], _ATTACKS[attack], 80_000)


# What browsers take for the beginning of the same URL, and wrong ones.
_BEGINNINGS = [
    *("http://", "https://", "HTTP://", "http:/", "http:", "http:///", "https:\\\\", "ftp://"),
    *("ht\ntp://", "http:/\t/", " http://", "\x01http://", "\u200bhttp://", "//", "///", ""),
    *("file://", "x-y.z+1://", "ht tp://", "é://", "http://a:b@", "http://a:b/@"),
]


@given(
    st.sampled_from(_BEGINNINGS),
    st.from_regex(r"[a-z][a-z0-9.%é-]{0,5}", fullmatch=True),
    st.text("ab1:%. é\u0301\t\ud800&=[]", max_size=6),
    st.text("ab1:%. é&=+[]", max_size=6),
    st.sampled_from(["host", "host:80", "[::1]", "www.host.org", "", "host:x"]),
    st.sampled_from(["", "/", "/path@x", "?a=b@c", "#a:b@c", "/a:b"]),
)
def test_a_user_name_and_a_password_never_get_through(
    beginning: str, user: str, before: str, after: str, host: str, rest: str
) -> None:
    password = f"{before}S3CRET{after}"
    assert "S3CRET" not in safe_url(f"{beginning}{user}:{password}@{host}{rest}")
    if beginning:
        assert "S3CRET" not in safe_url(f"{beginning}S3CRET{user}@{host}{rest}")
        assert "S3CRET" not in safe_url(f"{beginning}{user}:a@{password}@{host}{rest}")


@given(
    st.sampled_from([one for one in _BEGINNINGS if one]),
    st.from_regex(r"[a-z][a-z0-9.%é-]{0,5}", fullmatch=True),
    st.text("ab1:/?#\\%. é&=+[]", max_size=6),
    st.text("ab1:/?#\\%. é&=+[]", max_size=6),
)
def test_a_password_with_a_delimiter_in_it_does_not_get_through(
    beginning: str, user: str, before: str, after: str
) -> None:
    # Digits and a delimiter after the colon could be a port, and the URL a right one.
    assert "S3CRET" not in safe_url(f"{beginning}{user}:x{before}S3CRET{after}@host/path")


@pytest.mark.parametrize(
    ("url", "safe"),
    [
        ("http://a:b/c@d", "http://d"),
        ("http://:a@b", "http://b"),
        ("http://::a/@b", "http://b"),
        ("http://a:1/b@c", "http://a:1/b@c"),
        ("http://a:1b?@c:d/@e", "http://e"),
        ("http://a@b/c@d", "http://b/c@d"),
    ],
)
def test_no_more_than_user_name_and_password_is_left_out(url: str, safe: str) -> None:
    assert safe_url(url) == safe


@pytest.mark.parametrize(
    "url",
    [
        *("https://example.org/@user", "https://example.org:8080/@user:name", "/@user", "page"),
        *("https://example.org/?mail=a@b.c", "https://example.org?mail=a:b@c.d"),
        *("https://example.org#a@b", "https://example.org:/@user", "https://[2001:db8::1]/@user"),
        *("https://[::1]:8080/?mail=a@b.c", "https://example.org/http://a:b@c/"),
        *("file:///home/a@b/page.html", "file:///home/a:b@c"),
    ],
)
def test_a_right_url_stays_as_it_is(url: str) -> None:
    assert safe_url(url) == url
