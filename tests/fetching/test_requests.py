"""Which requests may be skipped, requests as JSON, and what costs nothing where all are made."""

from __future__ import annotations

import asyncio
import pickle
import subprocess
import sys
from typing import Any

import pytest
from scrapy import FormRequest, Request, Spider
from scrapy.exceptions import UsageError
from scrapy.http import JsonRequest
from scrapy.http.request import NO_CALLBACK
from scrapy.settings import Settings

from shingling import Addon, RepeatedPage
from shingling.console.options import CommandOptions
from shingling.errors import SettingsError
from shingling.fetching.commands import COMMANDS
from shingling.fetching.counting import interval, lost
from shingling.fetching.requests import (
    asked_for,
    from_json,
    is_from_elsewhere,
    mark,
    may_be_skipped,
    to_json,
)
from shingling.fetching.turns import Turns

URL = "https://example.org/a?sid=1"


class Methods(Spider):
    name = "methods"

    def found(self, response: Any, number: int = 0) -> None:
        """A callback."""

    def _parse_sitemap(self, response: Any) -> None:
        """As SitemapSpider has it."""


def marked(url: str = URL, **given: Any) -> Request:
    request = Request(url, **given)
    mark(request, URL)
    return request


def test_a_request_knows_whether_another_site_has_made_up_its_url() -> None:
    request = Request(URL)
    mark(request, "https://www.example.org/list")
    assert not is_from_elsewhere(request)
    mark(request, "https://elsewhere.example/")
    assert is_from_elsewhere(request)
    assert may_be_skipped(request)
    assert is_from_elsewhere(request.replace(url="https://example.org/redirected"))
    mark(request, URL)  # a callback that hands on all metadata
    assert not is_from_elsewhere(request)


def test_only_what_a_callback_has_asked_for_may_be_skipped() -> None:
    assert may_be_skipped(marked())
    assert may_be_skipped(marked(meta={"retry_times": 2, "redirect_urls": [URL]})), "of another"
    assert may_be_skipped(marked(meta={"category": "chairs", "splash": {"wait": 1}}))
    spider = Methods()
    never = [
        Request(URL),
        marked(method="POST"),
        marked(body=b"x"),
        marked(dont_filter=True),
        marked(callback=NO_CALLBACK),
        marked(callback=spider._parse_sitemap),
        marked(meta={"dedup": False}),
        marked(meta={"dedup_fetch": True}),
        marked(meta={"item": {"name": "A chair"}}),
        marked(cb_kwargs={"number": 3}),
        marked("https://example.org/Sitemap.XML?x=1"),
        marked("https://example.org/sitemap.xml.gz"),
        marked("ftp://example.org/a"),
        marked("data:,a"),
        marked().replace(url="https://example.org/target"),  # a redirect
        marked().replace(meta={**marked().meta, "retry_times": 1}),
    ]
    assert [request for request in never if may_be_skipped(request)] == []


def test_redirects_are_told_from_those_that_came_with_foreign_metadata() -> None:
    foreign = ["https://example.org/foreign"]
    request = marked(meta={"redirect_urls": foreign})
    assert asked_for(request) == (URL, ())
    there = request.replace(
        url="https://example.org/there", meta={**request.meta, "redirect_urls": [*foreign, URL]}
    )
    assert asked_for(there) == (URL, (URL,))
    start = Request("https://example.org/there", meta={"redirect_urls": [URL]})
    assert asked_for(start) == (URL, (URL,))
    assert asked_for(Request(URL)) == (URL, ())
    assert asked_for(Request(URL, meta={"dedup_followed": "nonsense"})) == (URL, ())


def test_a_request_comes_through_json_unless_it_may_hold_a_secret_or_is_not_plain() -> None:
    spider = Methods()
    request = marked(
        callback=spider.found,
        errback=spider.found,
        cb_kwargs={"number": 3},
        meta={"depth": 2},
        priority=7,
        headers={"Referer": "https://example.org/"},
        flags=["x"],
    )
    written = to_json(request, spider)
    assert written is not None
    assert "dedup_followed" not in written
    again = from_json(written, URL, spider)
    assert again is not None
    expected = request.replace(meta={"depth": 2})
    assert again.to_dict(spider=spider) == expected.to_dict(spider=spider)
    for refused in (
        Request(URL, cookies={"session": "secret"}),
        Request(URL, headers={"Authorization": "Bearer secret"}),
        Request(URL, meta={"proxy": "http://user:secret@proxy.example"}),
        Request(URL, meta={"x": object()}),
        Request(URL, meta={"x": (1, 2)}),
        Request(URL, meta={"x": "y" * 10_000}),
        Request(URL, callback=print),
        FormRequest(URL),
        JsonRequest(URL),
    ):
        assert to_json(refused, spider) is None, refused


@pytest.mark.parametrize(
    "written",
    [
        None,
        "",
        "[" * 100_000,
        "[]",
        "{}",
        '"x"',
        to_json(Request(URL), Methods()).replace('"callback": null', '"callback": "gone"'),  # type: ignore[union-attr]
        to_json(Request(URL), Methods()).replace('"callback": null', '"callback": "__init__"'),  # type: ignore[union-attr]
        to_json(Request(URL), Methods()).replace('"callback": null', '"callback": "name"'),  # type: ignore[union-attr]
        to_json(Request(URL), Methods()).replace('"meta": {}', '"meta": []'),  # type: ignore[union-attr]
        to_json(Request(URL), Methods()).replace('"cb_kwargs": {}', '"cb_kwargs": 5'),  # type: ignore[union-attr]
        to_json(Request(URL), Methods()).replace('"priority": 0', '"priority": "x"'),  # type: ignore[union-attr]
    ],
)
def test_a_request_that_cannot_be_made_again_is_none(written: str | None) -> None:
    assert from_json(written, URL, Methods()) is None


def test_the_exception_can_be_pickled_and_names_rule_and_page() -> None:
    error = RepeatedPage(URL, "https://example.org/a", ("drop-parameter sid",), 0.004)
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert str(again) == str(error)
    assert (again.url, again.page, again.rules, again.risk) == (URL, error.page, error.rules, 0.004)
    assert "https://example.org/a by: drop-parameter sid (0.40%)" in str(again)


def test_intervals_are_those_of_wilson() -> None:
    assert interval(0, 0) == (0.0, 1.0)
    assert interval(0, 300) == pytest.approx((0.0, 0.01264), abs=1e-4)
    assert interval(3, 100) == pytest.approx((0.01025, 0.08452), abs=1e-4)
    assert interval(5, 5) == pytest.approx((0.5655, 1.0), abs=1e-4)
    assert "no page" in lost(0, 0)
    assert "of 1,000 such pages that were looked at, 2 would have been lost (0.05% to 0.73%)" in (
        lost(2, 1000)
    )


def test_a_request_waits_for_the_first_one_of_its_form_until_that_is_known() -> None:
    async def ask() -> list[str]:
        turns, happened = Turns(), list[str]()

        async def second() -> None:
            assert await turns.wait(("site", 1), "second")
            happened.append("second")

        assert not await turns.wait(("site", 1), "first")
        assert not await turns.wait(("site", 2), "other")
        waiting = asyncio.create_task(second())
        await asyncio.sleep(0.01)
        turns.done("unknown")
        turns.done("other")
        happened.append("first")
        turns.done("first")
        turns.done("first")
        await waiting
        assert not await turns.wait(("site", 1), "third")
        return happened

    assert asyncio.run(ask()) == ["first", "second"]


def test_without_the_setting_nothing_of_it_is_imported_or_registered() -> None:
    code = (
        "import sys\n"
        "from scrapy.settings import Settings\n"
        "from shingling import Addon\n"
        "settings = Settings()\n"
        "Addon().update_settings(settings)\n"
        "print(len(settings['DOWNLOADER_MIDDLEWARES']), len(settings['SPIDER_MIDDLEWARES']),\n"
        "    sorted(name for name in sys.modules if name == 'numpy'\n"
        "        or name.startswith('shingling.fetching.') and not name.endswith('.room')))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "1 1 []\n"


def test_the_addon_registers_the_middlewares_where_fewer_pages_are_to_be_fetched() -> None:
    settings = Settings({"DEDUP_FETCH": "skip"})
    Addon().update_settings(settings)
    assert sorted(settings["DOWNLOADER_MIDDLEWARES"].values()) == [1, 120]
    assert sorted(settings["SPIDER_MIDDLEWARES"].values()) == [10, 950]
    for name, value in (("DEDUP_FETCH", "some"), ("DEDUP_SKIP_RISK", 0), ("DEDUP_SKIP_RISK", 2)):
        with pytest.raises(SettingsError, match=name):
            Addon().update_settings(Settings({name: value}))


@pytest.mark.parametrize(
    "words",
    [["pin", "", "drop-parameter sid"], ["pin", "example.org", " "], [""]],
)
def test_rules_of_no_site_are_refused(words: list[str]) -> None:
    options = CommandOptions(words=words, word="never", below=None, all=False, json=False)
    with pytest.raises(UsageError):
        COMMANDS[0].run(options)
