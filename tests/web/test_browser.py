"""`scrapy dedup serve` as people use it: in a real browser."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from shingling import Page, Store
from tests.support.serving import serving as serving_other
from tests.support.stores import originals
from tests.web.conftest import OF_COLOURS, serving, tab_of, violations, watched
from tests.web.stores import HOSTILE_URL, fill_with_news, fill_with_runs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page as Tab

    from tests.web.conftest import Served

CITY = "https://city.example/harbour/terminal"
AGENCY = "https://agency.example/news/20418"
COAST = "https://coast.example/2026/terminal"
NEWS_PAGES = (
    "/groups",
    f"/group?url={CITY}",
    f"/pair?a={CITY}&b={AGENCY}",
    "/reviews",
    "/pairs?status=near&low=0.8&below=0.9",
    "/copies",
)
FOUND_PAGES = ("/threshold", "/audit", "/savings")  # with what is found in the background
_MAX_WIDTH = "document.documentElement.scrollWidth <= window.innerWidth"


@pytest.fixture
def tab(browser: Browser) -> Iterator[Tab]:
    with tab_of(browser) as tab:
        yield tab


def reviews(store: str) -> dict[frozenset[str], tuple[bool, str | None]]:
    with Store.open(store) as opened:
        found = opened.admin.reviews()
        return {frozenset((one.a, one.b)): (one.same, one.note) for one in found}


def test_pairs_are_reviewed_by_keyboard_alone(tmp_path: Path, tab: Tab, browser: Browser) -> None:
    with serving(tmp_path / "news", fill_with_news) as served:
        keys = tab.keyboard
        tab.goto(served.address)
        assert tab.locator("h1").inner_text() == "Overview"
        keys.press("g")
        tab.wait_for_url("**/groups")
        keys.press("f")
        keys.type("ferry")
        keys.press("Enter")
        tab.wait_for_url("**words=ferry**")
        assert tab.locator("a.row").count() == 1
        keys.press("j")
        keys.press("Enter")
        tab.wait_for_url("**/pair?**")
        deleted = tab.locator(".texts del").first.text_content()
        assert deleted == "on Tuesday after a debate of four hours."
        assert tab.locator(".texts ins").first.text_content() == "this week."

        keys.press("m")
        keys.type("sdn one agency")  # keys mean nothing while one writes
        keys.press("Enter")  # and this answers nothing
        assert reviews(served.store) == {}
        keys.press("Escape")
        keys.press("s")
        tab.wait_for_url("**decided=1")
        assert reviews(served.store) == {frozenset((CITY, AGENCY)): (True, "sdn one agency")}
        assert tab.locator(".side").nth(1).locator(".url").text_content().strip() == COAST  # type: ignore[union-attr]

        keys.press("d")
        tab.wait_for_url("**decided=2")
        assert reviews(served.store)[frozenset((CITY, COAST))] == (False, None)
        assert originals(served.store)[COAST] != CITY

        keys.press("u")
        tab.wait_for_url("**decided=3")
        assert frozenset((CITY, COAST)) not in reviews(served.store)
        assert originals(served.store)[COAST] == CITY
        assert "Undone" in tab.locator("[role=status]").inner_text()

        keys.press("n")
        tab.wait_for_url("**mirror.example**")
        assert "This is the last pair" in tab.locator(".decide").inner_text()
        keys.press("r")
        tab.wait_for_url("**/reviews")
        assert tab.locator("a.row").count() == 1

        # Another browser answers first: this one is told, and changes nothing.
        pair = f"{served.address}/pair?a={CITY}&b={COAST}"
        tab.goto(pair)
        with tab_of(browser) as other:
            other.goto(pair)
            other.keyboard.press("s")
            other.wait_for_url("**decided=*")
        with tab.expect_response(lambda response: response.url.endswith("/review")) as answered:
            keys.press("d")
        assert answered.value.status == 409
        assert "somebody else" in tab.locator("main").inner_text().lower()
        assert reviews(served.store)[frozenset((CITY, COAST))] == (True, None)


def test_pairs_are_reviewed_without_javascript(tmp_path: Path, browser: Browser) -> None:
    with (
        serving(tmp_path / "news", fill_with_news) as served,
        tab_of(browser, java_script_enabled=False) as tab,
    ):
        tab.goto(f"{served.address}/groups")
        tab.get_by_label("Order").select_option("resemblance")
        tab.get_by_label("Reviewed").select_option("no")
        tab.get_by_role("button", name="Show").click()
        tab.locator("a.row").first.click()
        tab.get_by_text("more words").first.click()
        tab.get_by_label("Note").fill("two articles")
        tab.get_by_role("button", name="Different").click()
        assert frozenset((CITY, AGENCY)) in reviews(served.store)
        tab.get_by_role("button", name="Undo").click()
        assert reviews(served.store) == {}


def test_the_line_of_the_histogram_is_moved_and_bars_lead_to_their_pairs(
    tmp_path: Path, tab: Tab
) -> None:
    with serving(tmp_path / "news", fill_with_news) as served:
        tab.goto(f"{served.address}/threshold")
        said, line = tab.locator("#slid"), tab.locator("#slide")
        assert "At the present threshold" in said.inner_text()
        line.focus()
        for _ in range(30):
            tab.keyboard.press("ArrowRight")
        assert tab.locator("#threshold").input_value() == "0.8"
        assert "At 0.8, 1 of 14 near-duplicates would be kept" in said.inner_text()
        box = line.bounding_box()
        assert box is not None
        y = box["y"] + box["height"] / 2
        tab.mouse.move(box["x"] + 12 + 0.6 * (box["width"] - 24), y)
        tab.mouse.down()
        tab.mouse.move(box["x"] + 12 + 0.9 * (box["width"] - 24), y, steps=5)
        tab.mouse.up()
        assert tab.locator("#threshold").input_value() == "0.95"
        assert "At 0.95, 14 of 14 near-duplicates would be kept" in said.inner_text()
        tab.locator("a .target").first.click()
        tab.wait_for_url("**/pairs?status=near&low=0.76&below=0.78")
        assert tab.locator("a.row").all_inner_texts() == [COAST]


def test_a_phone_shows_words_first_and_paper_no_keys(news: Served, browser: Browser) -> None:
    def top(tab: Tab, selector: str) -> float:
        box = tab.locator(selector).first.bounding_box()
        assert box is not None
        return box["y"]

    with tab_of(browser, viewport={"width": 390, "height": 844}) as tab:
        tab.goto(f"{news.address}/pair?a={CITY}&b={AGENCY}")
        assert top(tab, ".texts") < 400
        assert top(tab, ".texts") < top(tab, ".numbers")
        assert not tab.locator(".measures").is_visible()
        assert tab.locator("kbd:visible, #keys:visible").count() == 0
        assert tab.locator(".same").is_visible()
    with tab_of(browser) as tab:
        tab.goto(f"{news.address}/pair?a={CITY}&b={AGENCY}")
        assert tab.locator(".measures").is_visible()
        tab.emulate_media(media="print")
        for hidden in (".bar", ".decide form", "footer"):
            assert not tab.locator(hidden).is_visible(), hidden
        assert tab.locator(".decide").evaluate("e => getComputedStyle(e).position") == "static"
        adjusted = "e => getComputedStyle(e).printColorAdjust"
        assert tab.locator(".legend del").evaluate(adjusted) == "exact"


def test_titles_from_right_to_left_stand_right(tmp_path: Path, browser: Browser) -> None:
    title, text = "\u0639\u0646\u0648\u0627\u0646", " ".join("abcdefgh")

    def fill(url: str) -> None:
        with Store.open(url) as store:
            for end in "12":
                store.check([Page(f"https://a.example/{end}", text=text * 20, title=title)])

    ends = """() => [...document.querySelectorAll("main bdi")]
        .filter(one => one.textContent === "%s").map(one => {
            const range = document.createRange(); range.selectNodeContents(one);
            return one.closest("h1, h2, td").getBoundingClientRect().right
                - range.getBoundingClientRect().right;
        })"""
    pair = "a=https://a.example/1&b=https://a.example/2"
    with serving(tmp_path, fill) as served, tab_of(browser) as tab:
        page = "/page?url=https://a.example/1"
        for path, number in (("/groups", 1), (f"/pair?{pair}", 2), (page, 1)):
            tab.goto(served.address + path)
            right = tab.evaluate(ends % title)
            assert len(right) == number, path
            assert max(right) < 20, path


def test_threshold_audit_and_savings_are_read_without_javascript(
    news: Served, browser: Browser
) -> None:
    with tab_of(browser, java_script_enabled=False) as tab:
        for width, path in product((390, 1440), FOUND_PAGES):
            tab.set_viewport_size({"width": width, "height": 800})
            tab.goto(news.address + path)
            while tab.get_by_text("Look again").count():
                tab.get_by_text("Look again").click()
            box = tab.locator("main h1").bounding_box()
            assert box is not None
            assert box["x"] + box["width"] <= width
            assert tab.locator("main .row, main .line").first.is_visible()


def test_hostile_pages_run_send_and_break_nothing(attacks: Served, browser: Browser) -> None:
    with tab_of(browser, viewport={"width": 1000, "height": 700}) as tab:
        asked, troubles = watched(tab)

        def look() -> None:
            assert tab.title().endswith("scrapy dedup")
            assert tab.evaluate(_MAX_WIDTH)
            assert tab.locator("main").is_visible()
            active = "main :is(img, script, style, svg:not(figure svg, .bar-in-row))"
            assert tab.locator(active).count() == 0
            assert tab.locator("a[href^='javascript:' i]").count() == 0
            assert not set("\u202e\u2066\u200b\x07") & set(tab.content())

        tab.goto(f"{attacks.address}/groups")
        look()
        tab.keyboard.press("j")
        tab.keyboard.press("Enter")
        tab.wait_for_url("**/pair?**")
        for details in tab.locator("main summary").all():
            details.click()
        look()
        link = tab.locator(".side .url a")
        assert link.count() == 1  # javascript: is none
        assert link.get_attribute("rel") == "noreferrer noopener nofollow"
        tab.set_viewport_size({"width": 360, "height": 700})
        look()
        tab.keyboard.press("m")
        tab.keyboard.type("<script>alert(1)</script>\u202e")
        tab.keyboard.press("Escape")
        tab.keyboard.press("s")
        tab.wait_for_url("**decided=1")
        look()
        searched = f"/groups?words={quote('<script>alert(1)</script>')}"
        listed = ("/reviews", "/overview", "/pages", "/runs", "/run?id=1", "/pairs", "/copies")
        pages = (*listed, searched)
        for path in (*pages, f"/page?url={quote(HOSTILE_URL)}", "/page?url=%3Cscript%3E"):
            tab.goto(attacks.address + path)
            look()
        assert [url for url in asked if not url.startswith(attacks.address)] == []
        assert troubles == []


OTHER_SITE = """<!doctype html><title>Other</title>
<form method=post action="{ours}/review">
<input name=a value="{a}"><input name=b value="{b}"><input name=answer value=same>
<input name=form_token value=guessed></form>
<iframe src="{ours}/groups"></iframe>
<script>
var form = document.querySelector("form");
var read = options => fetch("{ours}/groups.json", options).then(() => "read", () => "refused");
var sent = options => fetch(
    form.action, {{method: "POST", body: new URLSearchParams(new FormData(form)), ...options}}
).then(() => "read", () => "refused");
var run = () => new Promise(done => {{
    var script = document.createElement("script");
    script.onload = () => done("run"); script.onerror = () => done("refused");
    script.src = "{ours}/groups.json"; document.head.append(script);
}});
var cookie = {{credentials: "include"}};
var all = () => Promise.all([read(cookie), sent(cookie), run()]);
</script>"""


def test_another_site_of_the_same_host_reads_and_sends_nothing(
    tmp_path: Path, browser: Browser
) -> None:
    options = ("--root-path", "/dedup")
    with serving(tmp_path / "news", fill_with_news, *options) as shown, tab_of(browser) as tab:
        tab.goto(shown.address)  # it has the cookie now
        ours = shown.address.rstrip("/")
        other = OTHER_SITE.format(ours=ours, a=CITY, b=AGENCY)
        with serving_other({"/": other}) as evil:
            tab.goto(evil.url)
            assert tab.evaluate("all()") == ["refused"] * 3
            assert "Groups" not in tab.frame_locator("iframe").locator("body").inner_text()
            tab.evaluate("form.submit()")
            tab.wait_for_url("**/review")
            shown_text = tab.locator("main").inner_text()
            assert "Another site sent this form; nothing was changed." in shown_text
    assert reviews(shown.store) == {}


RUNS_PAGES = (
    *("/pages?run=2&change=moved", "/pages?words=none", "/run?id=2", "/reviews", "/overview"),
    *(f"/page?url=https://www.shop.example/item/{one}" for one in ("10", "none")),
)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("runs"), fill_with_runs) as served:
        yield served


def test_axe_finds_no_violation(news: Served, runs: Served, browser: Browser, axe: str) -> None:
    with tab_of(browser, bypass_csp=True) as tab:
        of_news = (*NEWS_PAGES, "/overview", *FOUND_PAGES, "/nothing")
        addresses = [*(news.address + path for path in of_news)]
        for address in (*addresses, *(runs.address + path for path in RUNS_PAGES)):
            tab.set_viewport_size({"width": 1440, "height": 720})
            tab.goto(address)
            if tab.locator("main summary").count():
                tab.locator("main summary").last.click()
            tab.locator("#keys > summary").click()
            assert violations(tab, axe) == [], address
            tab.emulate_media(color_scheme="dark")
            assert violations(tab, axe, *OF_COLOURS) == [], address
            tab.emulate_media(color_scheme="light")
            tab.locator("#keys > summary").click()
            tab.set_viewport_size({"width": 390, "height": 640})
            # A narrow page shows nothing that a wide one does not, but it wraps and scrolls.
            assert violations(tab, axe, "scrollable-region-focusable") == [], address
            tab.set_viewport_size({"width": 320, "height": 640})
            assert tab.evaluate(_MAX_WIDTH), address
