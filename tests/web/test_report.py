"""`scrapy dedup report`: what a store holds as one file, harmless wherever it is opened."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import stat
import sys
from typing import TYPE_CHECKING

import pytest

from shingling import Store
from shingling.web.report import write_page
from tests.support.commands import dedup_command
from tests.web.conftest import OF_COLOURS, tab_of, violations, watched
from tests.web.stores import fill_with_attacks, fill_with_news

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Browser

    from tests.support.commands import Done

FILLED = {"news": fill_with_news, "attacks": fill_with_attacks}


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("stores")
    urls = {name: f"sqlite:///{folder / name}.db" for name in FILLED}
    for name, fill in FILLED.items():
        fill(urls[name])
    return urls


@pytest.fixture
def report(
    stores: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Done]:
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str, store: str = "news") -> Done:
        return dedup_command(monkeypatch, "report", "--store", stores[store], *arguments)

    return call


def test_a_report_has_the_pictures_their_tables_groups_and_pairs_in_one_file(
    report: Callable[..., Done], stores: dict[str, str], tmp_path: Path
) -> None:
    done = report("out.html", "--json")
    page = (tmp_path / "out.html").read_text("utf-8")
    assert done.json() == {"file": "out.html", "bytes": len(page.encode())}
    assert page.startswith("<!doctype html>")
    assert page.count("<figure ") == page.count("<summary>Table: ") == 3
    with Store.open(stores["news"]) as store:
        pages, held = list(store.pages()), store.status()
    assert f"<dt>Pages</dt><dd>{held.pages}</dd>" in page
    near = [one.resemblance for one in pages if one.status == "near" and one.resemblance]
    pairs = page.partition("<h2>Least alike</h2>")[2].partition("</table>")[0]
    groups = page.partition("<h2>Largest groups</h2>")[2].partition("</table>")[0]
    shown = [float(value) for value in re.findall(r'class="number">([\d.]+)<', pairs)]
    assert shown == sorted(round(value, 3) for value in near)[: len(shown)]
    assert len(shown) == min(len(near), 20)
    numbers = [int(value) for value in re.findall(r'class="number">(\d+)<', groups)]
    assert numbers == sorted(numbers, reverse=True)
    assert numbers[0] == 3

    # Nothing is fetched, and the only style is the one that is named by its hash.
    fetched = r"<(?:script|link|img|iframe|object|form)\b|\bstyle=|@import|url\("
    assert re.findall(fetched, page) == []
    style = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style[0].encode()).digest()).decode()
    assert len(style) == 1
    assert f"default-src 'none'; style-src 'sha256-{digest}'" in page

    printed = report("-")
    assert printed.code == 0
    assert _without_time(printed.out) == _without_time(page)
    assert names(tmp_path) == ["out.html"]


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def _without_time(page: str) -> str:
    return re.sub(r"As of [^<]+", "", page)


def test_an_empty_store_has_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{tmp_path / 'empty.db'}"
    Store.open(url).close()
    done = dedup_command(monkeypatch, "report", "--store", url, str(tmp_path / "out.htm"))
    assert done.code == 0, done
    assert "<dt>Pages</dt><dd>0</dd>" in (tmp_path / "out.htm").read_text("utf-8")


def test_a_report_takes_the_place_of_html_only(report: Callable[..., Done], tmp_path: Path) -> None:
    (tmp_path / "folder.html").mkdir()
    os.mkfifo(tmp_path / "pipe.html")
    (tmp_path / "dedup.db").write_text("a store")
    for name, said in {
        "dedup.db": ".html",
        "report": ".html",
        "folder.html": "folder.html: it is no file",
        "pipe.html": "pipe.html: it is no file",
        "nowhere/out.html": "nowhere/out.html: No such file or directory",
        f"{'n' * 300}.html": "File name too long",
    }.items():
        done = report(name)
        assert (done.code, done.out) == (2, "")
        assert said in done.err
        assert "Traceback" not in done.err
    assert report("-", "--json").code == 2
    assert report().code == 2
    assert (tmp_path / "dedup.db").read_text() == "a store"
    assert names(tmp_path) == ["dedup.db", "folder.html", "pipe.html"]


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    file, link = tmp_path / "out.html", tmp_path / "link.html"
    file.write_text("old")
    file.chmod(0o640)
    link.symlink_to(file)
    with pytest.raises(UnicodeEncodeError):
        write_page("\ud800", str(link))
    assert file.read_text() == "old"
    write_page("new", str(link))
    assert (file.read_text(), link.is_symlink()) == ("new", True)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert names(tmp_path) == ["link.html", "out.html"]


def test_a_missing_extra_is_named(
    report: Callable[..., Done], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The package that is imported in its place is forgotten after the test, there as well.
    monkeypatch.setattr("shingling.web", sys.modules["shingling.web"])
    for name in [name for name in sys.modules if name.startswith("shingling.web")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.setitem(sys.modules, "markupsafe", None)
    refusal = report("out.html").refusal()
    assert "the report needs jinja2: pip install jinja2 (extra web)" in refusal
    assert names(tmp_path) == []


@pytest.mark.parametrize("name", FILLED)
def test_a_browser_shows_a_report_asks_for_nothing_and_runs_nothing(
    report: Callable[..., Done], tmp_path: Path, browser: Browser, axe: str, name: str
) -> None:
    assert report("out.html", store=name).code == 0
    address = (tmp_path / "out.html").as_uri()
    for scheme in ("light", "dark"):
        with tab_of(browser, color_scheme=scheme) as tab:
            asked, troubles = watched(tab)
            tab.goto(address)
            assert tab.title() == "Overview · scrapy dedup"
            assert tab.locator("main").is_visible()
            assert tab.locator("figure svg rect").count() > 0
            assert (
                tab.locator(
                    "main :is(img, script, style, svg:not(figure svg, .bar-in-row))"
                ).count()
                == 0
            )
            assert tab.locator("a:not([href^='http'])").count() == 0
            assert {link.get_attribute("rel") for link in tab.locator("main a").all()} == {
                "noreferrer noopener nofollow"
            }
            assert not set("\u202e\u2066\u200b\x07") & set(tab.content())
            ground = "getComputedStyle(document.body).backgroundColor"
            assert (tab.evaluate(ground) == "rgb(255, 255, 255)") == (scheme == "light")
            tab.set_viewport_size({"width": 320, "height": 640})
            assert tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
            tab.set_viewport_size({"width": 1280, "height": 720})
            assert asked == [address]
            assert troubles == []
            if name == "attacks":
                continue
            tab.locator("main summary").last.click()
            rules = OF_COLOURS if scheme == "dark" else ()  # the others are the same in both
            assert violations(tab, axe, *rules) == []
