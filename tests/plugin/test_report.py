"""What the log says of a crawl, beside what became of its items."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

from shingling import Store
from shingling.store.session import Session
from shingling.web.overview import count_all
from tests.support.crawls import Crawl, Project
from tests.support.pages import article

if TYPE_CHECKING:
    from pathlib import Path

SPIDER = """
import json
from pathlib import Path

import scrapy

class Spider(scrapy.Spider):
    name = "spider"

    async def start(self):
        for item in json.loads(Path("made.json").read_text()):
            yield item
"""
PLAIN = ("status", "duplicate", "original", "resemblance")


def crawl(folder: Path, items: list[dict[str, Any]], *settings: str, feed: str = "") -> Crawl:
    """Crawl a spider of these items, which has no requests."""
    project = Project(folder, SPIDER)
    project.write("made.json", json.dumps(items))
    options = [part for setting in settings for part in ("-s", setting)]
    done = project.crawl(*options, feed=feed or "items.jsonl")
    assert done.status == 0, done.log
    return done


def lines(done: Crawl, words: str) -> list[str]:
    return [line for line in done.log.splitlines() if words in line and "Overridden" not in line]


def test_a_setting_that_names_a_field_which_no_item_has_is_said_once(tmp_path: Path) -> None:
    items = [
        {"url": f"https://shop.example/{n}", "sku": n, "views": 5, "body": article(1)}
        for n in range(24)
    ]
    done = crawl(
        tmp_path, items, "DEDUP_FIELDS=skuu", "DEDUP_TEXT_FIELD=bodies,body",
        "DEDUP_TITLE_FIELD=headline", "DEDUP_IGNORE_FIELDS=view",
    )  # fmt: skip
    said = [
        line.partition(" WARNING: ")[2].removesuffix(" items, none has such a field")
        for line in lines(done, "none has such a field")
    ]
    assert said == [
        "DEDUP_FIELDS names 'skuu' (did you mean 'sku'?): of the first 20",
        "DEDUP_IGNORE_FIELDS names 'view' (did you mean 'views'?): of 24",
        "DEDUP_TITLE_FIELD names 'headline': of 24",
    ]
    guess = 'ADDONS={"scrapy_shingling.Addon": 500}'  # by the name of the distribution
    few = crawl(tmp_path, items[:2], guess, "DEDUP_FIELDS=sku,skuu", "DEDUP_TEXT_FIELD=text")
    (line,) = lines(few, "none has such a field")
    assert "DEDUP_FIELDS names 'skuu'" in line


def test_a_sub_domain_of_a_preferred_site_is_told_apart(tmp_path: Path) -> None:
    urls = (
        "https://copies.example/a",
        "https://me:secret@news.own.example/a",
        "https://own.example/a",
    )
    items = [{"url": url, "text": article(1)} for url in urls]
    done = crawl(tmp_path, items, "DEDUP_PREFER_SITES=own.example")
    assert [item["url"] for item in done.items] == [urls[0], urls[2]]
    (line,) = lines(done, "DEDUP_PREFER_SITES names")
    assert "names own.example, not its sub-domain news.own.example, whose items are" in line
    assert lines(
        done, "Dropped the item of https://news.own.example/a: duplicate of https://copies"
    )
    assert "secret" not in done.log


def test_a_preferred_site_without_a_page_is_a_warning(tmp_path: Path) -> None:
    items = [{"url": "https://own.example/a", "text": article(1)}]
    setting = 'DEDUP_PREFER_SITES=["own.example", "owm.example"]'
    for _ in range(2):  # in the second crawl, the store has the page
        (line,) = lines(crawl(tmp_path, items, setting), "WARNING: DEDUP_PREFER_SITES")
        assert "names owm.example: neither this crawl nor the store has a page of it" in line


def test_kept_items_and_known_duplicates_are_counted_with_what_changes_it(tmp_path: Path) -> None:
    said = [("/a", "Harbour"), ("/copy", "Harbour"), ("/b", "Railway station"), ("/c", "Library")]
    fields = {f"dedup_{name}": None for name in PLAIN}
    items = [
        {"url": f"https://a.example{path}", "title": title, "text": article(1, 120), **fields}
        for path, title in said
    ]
    first = crawl(tmp_path, items[:3], "DEDUP_ACTION=tag", feed="first.csv")
    assert first.stat("dedup/other_title") == "1"
    assert lines(first, "Dedup: 3 items: 0 dropped, 1 new, 0 unchanged, 0 changed, 1 duplicate")
    assert lines(first, "kept, 1 kept for a reason (1 other_title), 0 skipped, 0 errors")
    (line,) = lines(first, "Dedup: 1 near-duplicate kept because the titles tell other pages.")
    assert line.endswith(': DEDUP_TITLE_FIELD = "headline"')
    with (tmp_path / "first.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [tuple(row[f"dedup_{name}"] for name in PLAIN) for row in rows] == [
        ("new", "False", "", ""),
        ("exact", "True", "https://a.example/a", "1.0"),
        ("new", "False", "", ""),
    ]
    assert "dedup" not in rows[0], "plain values take the place of the dict"
    again = crawl(tmp_path, items[:3], "DEDUP_ACTION=tag")
    assert lines(again, "3 unchanged (of these, 1 duplicate), 0 changed, 0 skipped, 0 errors")
    assert [item["dedup_duplicate"] for item in again.items] == [False, True, False]
    one = crawl(tmp_path, items[3:])
    assert lines(one, "Dedup: 1 item: 0 dropped, 0 new, ")


def test_what_became_of_the_items_adds_up_wherever_it_is_shown(tmp_path: Path) -> None:
    def item(path: str, number: int, **fields: Any) -> dict[str, Any]:
        return {"url": f"https://a.example/{path}", "text": article(number), **fields}

    copies = [item("1", 1), item("copy", 1), item("red", 1, price=5), item("2", 2)]
    unknown = {"url": "https://a.example/empty", "text": ""}
    days = (
        ([*copies, item("1", 1), unknown], ()),
        ([*copies, item("3", 3)], ("DEDUP_DROP_UNCHANGED=True",)),
        ([*copies, item("4", 3)], ("DEDUP_ACTION=tag",)),
    )
    drawn, came = [], []
    for items, settings in days:
        done = crawl(tmp_path, items, *settings)
        came.append(len(done.items))
        plural = "" if came[-1] == 1 else "s"
        assert lines(done, f"Dedup: {came[-1]} item{plural} came out")
        with Session.open(f"sqlite:///{tmp_path}/dedup.db") as session:
            [run] = Store(session).runs(1)
            chart = count_all(session)["charts"][1]
        assert run.counts["items"] == len(items)
        assert run.counts["came_out"] == came[-1]
        others = (run.counts.get(f"dropped_{one}", 0) for one in ("repeated", "unchanged"))
        dropped = len(items) - came[-1]
        tagged = sum(one.get("dedup", {}).get("duplicate", False) for one in done.items)
        assert run.counts["duplicate_items"] + sum(others) == dropped + tagged
        drawn.append(dict(zip(chart.series, chart.rows[-1][1], strict=True)))
        assert sum(drawn[-1].values()) == len(items)
    assert came == [4, 1, 5]
    assert drawn == [
        {"kept": 4, "unchanged": 0, "repeated": 1, "duplicates": 1},
        {"kept": 1, "unchanged": 3, "repeated": 0, "duplicates": 1},
        {"kept": 3, "unchanged": 0, "repeated": 0, "duplicates": 2},
    ]
