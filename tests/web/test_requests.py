"""Requests and answers of the server, also to two people who review one pair."""

from __future__ import annotations

import html
import http.client
import re
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode, urlsplit

import pytest
from scrapy.settings import Settings

from shingling import Store
from shingling.plugin.settings import DedupSettings
from shingling.web.guard import CONTENT_SECURITY_POLICY
from shingling.web.serving import access_at, serve
from shingling.web.shown import cut, differing, environment, visible, web_link
from shingling.web.store_threads import StoreThreads
from tests.support.processes import PATIENCE
from tests.support.stores import originals, url_of
from tests.web.conftest import serving
from tests.web.stores import fill_with_news, fill_with_runs

if TYPE_CHECKING:
    from pathlib import Path

    from tests.web.conftest import Served


CITY = "https://city.example/harbour/terminal"
AGENCY = "https://agency.example/news/20418"
PAIR = {"a": CITY, "b": AGENCY}
SHOP = "https://www.shop.example/item"


def ask(
    served: Served, path: str, form: dict[str, str] | bytes | None = None, **headers: str
) -> tuple[int, dict[str, str], str]:
    """Send a request; return its status, headers and body."""
    parts = urlsplit(served.address)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port or 0, timeout=PATIENCE)
    body = urlencode(form) if isinstance(form, dict) else form
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    if form is not None:
        given = {"Content-Type": "application/x-www-form-urlencoded", **given}
    try:
        connection.request("GET" if form is None else "POST", path, body, given)
        answer = connection.getresponse()
        shown = {name.lower(): value for name, value in answer.getheaders()}
        return answer.status, shown, answer.read().decode()
    finally:
        connection.close()


def kind_of(address: str) -> str:
    """Path of an address and names of its parameters, without their values."""
    return re.sub(r"=[^&]*", "", address)


def fields_of(page: str, action: str = "/review") -> dict[str, str]:
    """Hidden fields of a form of a page."""
    form = page.partition(f'action="{action}"')[2].partition("</form>")[0]
    found = re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', form)
    return {name: html.unescape(value) for name, value in found}


def test_only_our_own_pages_and_addresses_are_answered(news: Served) -> None:
    port = urlsplit(news.address).port
    status, headers, page = ask(news, f"/pair?{urlencode(PAIR)}")
    assert status == 200
    assert headers["content-security-policy"] == CONTENT_SECURITY_POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert "server" not in headers
    form = {**fields_of(page), "answer": "same"}

    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1.evil:{port}", ""):
        assert ask(news, "/groups", Host=host)[0] == 421
    assert ask(news, "/groups", Host=f"localhost:{port}")[0] == 200

    own = f"http://127.0.0.1:{port}"
    for headers in (
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": f"{own}0"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Origin": own, "Sec-Fetch-Site": "same-site"},
    ):
        assert ask(news, "/review", form, **headers)[0] == 403
    for wrong in ("", "é", form["form_token"][:-1]):
        assert ask(news, "/review", {**form, "form_token": wrong}, Origin=own)[0] == 403
    with Store.open(news.store) as store:
        assert store.admin.reviews() == []

    for path in ("/review", "/undo"):
        assert ask(news, path)[0] == 405
    assert ask(news, "/groups", form)[0] == 405


BAD = {
    "/groups?low=2": "low takes a number from 0 to 1",
    "/groups?low=nan": "low takes a number from 0 to 1",
    "/groups?run=-1": "run takes a whole number",
    "/groups?run=99999999999": "run takes a whole number",
    "/groups?since=yesterday": "since takes a date",
    "/groups?until=9999-12-32": "until takes a date",
    "/groups?order=price": "order takes size, resemblance or date",
    "/groups?after=%5B1": "The list does not go on there",
    "/groups?after=1_1e400": "The list does not go on there",
    f"/groups?after=1_{2**63}": "The list does not go on there",
    "/groups?words=%FF": "not one that these pages make",
    "/groups?words=%00": "a character that no store can keep",
    "/groups?" + "&".join(["a=1"] * 200): "not one that these pages make",
    "/pair": "The address lacks",
    f"/pair?a={CITY}&b={CITY}": "A page is always the same as itself",
}


def test_bad_input_gets_a_clear_page_and_status(news: Served) -> None:
    for path, told in BAD.items():
        status, _, page = ask(news, path)
        assert (status, told.lower() in page.lower()) == (400, True), (path, page)
    assert ask(news, f"/pair?a={CITY}&b=https://nowhere.example/")[0] == 404
    assert ask(news, "/nothing")[0] == 404
    assert ask(news, "/static/../app.py")[0] == 404
    assert ask(news, "/static/%2e%2e/app.py")[0] == 404
    form = fields_of(ask(news, f"/pair?{urlencode(PAIR)}")[2])
    assert ask(news, "/review", {**form, "answer": "maybe"})[0] == 400
    assert ask(news, "/review", {**form, "answer": "same", "seen": "another"})[0] == 409
    assert ask(news, "/review", {**form, "answer": "same", "note": "x" * 2001})[0] == 400
    assert ask(news, "/review", b"x" * 700_000)[0] == 413
    assert ask(news, "/review", b"{}", Content_Type="application/json")[0] == 415
    assert ask(news, "/undo", {**form, "decided": "77"})[0] == 404
    with Store.open(news.store) as store:
        assert store.admin.reviews() == []


def test_another_address_asks_for_a_token_and_read_only_takes_no_reviews(tmp_path: Path) -> None:
    options = ("--host", "0.0.0.0", "--read-only")  # noqa: S104 (what is tested)
    with serving(tmp_path / "news", fill_with_news, *options) as served:
        parts = urlsplit(served.address)
        assert parts.hostname == "127.0.0.1", "a browser can open it"
        assert parts.query.startswith("token=")
        assert ask(served, "/groups")[0] == 403
        assert ask(served, "/groups?token=wrong")[0] == 403
        assert ask(served, "/groups", Cookie="dedup=; =;")[0] == 403

        status, headers, _ = ask(served, f"//evil.example?{parts.query}&words=x")
        assert (status, headers["location"]) == (303, "/evil.example?words=x")
        cookie = headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        kept = cookie.partition(";")[0]
        status, _, page = ask(served, f"/pair?{urlencode(PAIR)}", Cookie=kept)
        assert status == 200
        assert '/review"' not in page
        name = kept.partition("=")[0]
        for cookies in (f"{kept}; {name}=another server's", f"{name}=; {kept}; {name}="):
            assert ask(served, "/groups", Cookie=cookies)[0] == 200
        assert ask(served, "/groups", Cookie=f"x{kept}; {kept}0")[0] == 403
        assert ask(served, "/groups", Cookie=kept, Host=f"evil.example:{parts.port}")[0] == 421
        assert ask(served, "/review", {**PAIR, "answer": "same"}, Cookie=kept)[0] == 403


@pytest.mark.parametrize(
    ("host", "is_open"),
    [
        ("127.0.0.1", True),
        ("127.0.0.2", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),  # noqa: S104 (nothing listens)
        ("192.0.2.7", False),
        ("example.com", False),
    ],
)
def test_only_loopback_needs_no_token(host: str, is_open: bool) -> None:
    assert (access_at(host, 8642).token is None) is is_open
    assert access_at(host, 8642, "https://crawler.example").token is not None


def test_what_is_not_to_be_seen_is_shown_as_an_escape() -> None:
    assert visible("a\u202eb\x07c\ud800d\U000e0041") == r"a\u202eb\u0007c\ud800d\U000e0041"
    assert cut("a\n b" + "c" * 400, 6) == "a bcc…"
    assert cut(f"https://a.example/{'c' * 400}/1", 20) == "https://a…cccccccc/1"
    assert (
        differing("http://a.example/en/2.html?x=1", "http://a.example/en/2.html") == "…/2.html?x=1"
    )
    assert differing("http://a.example/en/2.html", "http://a.example/de/2.html") == "…/en/2.html"
    assert differing("http://a.example/2", "http://b.example/2") == "…/a.example/2"
    assert web_link("https://a.example/") is not None
    for url in ("javascript:alert(1)", "data:text/html,x", "//a.example", "https://[", "file:///x"):
        assert web_link(url) is None


def test_each_row_and_column_of_who_copies_whom_has_a_number() -> None:
    copies = [("s0", f"o{at}", 90 - at) for at in range(8)] + [("s1", "o8", 50), ("s2", "o1", 40)]
    named = [dict(zip(("site", "original_site", "pairs"), one, strict=True)) for one in copies]
    shown = environment().get_template("charts.html").module.beside(named, True)  # type: ignore[attr-defined]
    rows = [row.split("</th>") for row in re.findall(r'<tr><th scope="row">(.*?)</tr>', shown)]
    numbers = [re.findall(r'data-number="(\d+)"', row) for _, row in rows]
    assert [re.sub("<.*?>", "", name) for name, _ in rows] == ["s0", "s2"]
    assert numbers == [[f"{90 - at}" for at in range(8)], ["40"]]


def reviewed(store: str) -> set[tuple[bool, str | None]]:
    with Store.open(store) as opened:
        return {(one.same, one.note) for one in opened.admin.reviews()}


def follow(served: Served, path: str, form: dict[str, str]) -> str:
    """Send a form, and return the page that the browser is sent on to."""
    status, headers, page = ask(served, path, form)
    assert status == 303, page
    return ask(served, headers["location"], Cookie=headers["set-cookie"].partition(";")[0])[2]


def test_any_url_or_word_is_found_whatever_its_verdict(tmp_path: Path) -> None:
    with serving(tmp_path / "runs", fill_with_runs) as served:

        def found(asked: str) -> str:
            status, headers, _ = ask(served, f"/find?{urlencode({'q': asked})}")
            assert status == 303
            return headers["location"]

        def page(number: object) -> str:
            address = found(f"shop.example/item/{number}/")
            assert address.startswith("/page?")
            return " ".join(re.sub(r"<[^>]+>", " ", ask(served, address)[2]).split())

        for asked in (
            *("https://www.shop.example/item/0", "HTTP://shop.example/item/0/"),
            *("https://www.shop.example/item/0#top", "shop.example/item/0/#a#b"),
        ):
            assert found(asked) == f"/page?url={quote(f'{SHOP}/0', safe='')}"
        assert found("shop.example/it") == "/pages?words=shop.example%2Fit"
        assert "Near duplicate of" in page(10)
        assert "Exact duplicate of" in page(40)
        assert "Original : kept because a page of its site" in page(31)
        skipped = page(12)
        assert "Skipped , and compared with no other page" in skipped
        assert "fewer words than the minimum" in skipped
        assert "unchanged , skipped" in skipped  # by the last run
        assert f"near , a duplicate of {SHOP}/2" in skipped  # by the first one
        never = ask(served, found("https://never.example/x"))[2]
        assert "No run has stored a page under this URL" in never
        searched = ask(served, found("article 3"))[2]
        assert searched.count("<bdi>Article 3</bdi>") >= 2
        assert "Original" not in skipped


def test_ticked_pairs_are_reviewed_at_once_and_any_review_undone(tmp_path: Path) -> None:
    with serving(tmp_path / "news", fill_with_news) as served:
        path = f"/group?{urlencode({'url': CITY})}"
        _, _, page = ask(served, path)
        form = fields_of(page)
        ticks = dict(re.findall(r'name="(tick\.\d+)" value="([^"]+)"', page))
        assert len(ticks) == 3
        assert ask(served, "/review", {**form, "answer": "same"})[0] == 400  # none is ticked
        two = dict([*ticks.items()][:2])
        told = follow(served, "/review", {**form, **two, "answer": "same", "note": "both"})
        assert "and 1 more pair" in told
        assert "Group of" in told  # the place is kept
        assert reviewed(served.store) == {(True, "both")}
        status, _, page = ask(served, "/review", {**form, **ticks, "answer": "different"})
        assert status == 409
        assert 'href="/pair?a=' in page  # to the pair that others have reviewed
        assert reviewed(served.store) == {(True, "both")}

        undo = fields_of(told, "/undo")
        _, _, page = ask(served, "/reviews")
        of_list = fields_of(page)
        told = follow(served, "/review", {**of_list, "answer": "none"})
        assert "<h1>Reviews</h1>" in told
        assert told.count('aria-label="Undo the review') == 1
        assert ask(served, "/undo", undo)[0] == 409  # of two, one was undone elsewhere
        again = follow(served, "/undo", fields_of(told, "/undo"))
        assert "Undone: " in again
        assert reviewed(served.store) == {(True, "both")}


def test_a_link_to_what_somebody_has_decided_shows_others_neither_banner_nor_undo(
    tmp_path: Path,
) -> None:
    with serving(tmp_path / "news", fill_with_news) as served:
        form = fields_of(ask(served, f"/pair?{urlencode(PAIR)}")[2])
        _, headers, _ = ask(served, "/review", {**form, "answer": "same"})
        copied, (cookie, *how) = headers["location"], headers["set-cookie"].split("; ")
        assert {"HttpOnly", "Path=/", "SameSite=strict"} == {*how}
        own = ask(served, copied, Cookie=cookie)[2]
        assert "Reviewed as same: " in own
        for others in ("", f"{cookie}x", cookie.partition("=")[0] + "="):
            page = ask(served, copied, Cookie=others)[2]
            assert "Reviewed as same: " not in page
            assert 'action="/undo"' not in page
        assert "Undone: " in follow(served, "/undo", fields_of(own, "/undo"))
        assert reviewed(served.store) == set()


def test_a_review_is_undone_and_not_written_over(file: Path, tmp_path: Path) -> None:
    with serving(tmp_path / "news", fill_with_news, store=url_of(file)) as served:
        before = originals(served.store)
        form = fields_of(ask(served, f"/pair?{urlencode(PAIR)}")[2])
        told = follow(served, "/review", {**form, "answer": "different", "note": "two editions"})
        assert "Reviewed as different: " in told
        assert reviewed(served.store) == {(False, "two editions")}
        undo = fields_of(told, "/undo")

        # Whoever has seen what was there before is told, and changes nothing.
        status, _, page = ask(served, "/review", {**form, "answer": "same"})
        assert status == 409
        assert "nothing is written" in page
        assert reviewed(served.store) == {(False, "two editions")}

        assert "Undone: " in follow(served, "/undo", undo)
        assert reviewed(served.store) == set()
        assert originals(served.store) == before
        assert ask(served, "/undo", undo)[0] == 409  # it is undone already


def test_a_server_that_is_interrupted_as_soon_as_it_says_its_address_ends_quietly(
    tmp_path: Path,
) -> None:
    stores = StoreThreads(f"sqlite:///{tmp_path / 'dedup.db'}", None)
    told: list[str] = []

    def announce(address: str) -> None:
        told.append(address)
        raise KeyboardInterrupt

    settings = DedupSettings.from_settings(Settings())
    serve(stores, ("127.0.0.1", 0), announce, settings=settings)
    assert len(told) == 1
    assert stores._stopped.is_set()
