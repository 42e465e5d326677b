"""What the log says of a crawl, beside what became of its items."""

from __future__ import annotations

import csv
import json
import re
from typing import TYPE_CHECKING, Any

from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from shingling import Store
from shingling.plugin.report import LINES, Report
from shingling.plugin.settings import DedupSettings
from shingling.rules.reasons import Reason
from shingling.store.model import Verdict
from shingling.store.session import Session
from shingling.web.overview import count_all
from shingling.web.pages import show_run
from shingling.web.report import report_page
from tests.support.commands import dedup_command
from tests.support.crawls import Crawl, Project
from tests.support.pages import article
from tests.support.stores import rows_of

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

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
LATER = """
from scrapy.exceptions import DropItem

class DropFour:
    def process_item(self, item):
        if item["url"].endswith("/4"):
            raise DropItem("no four")
        return item
"""
SAVE = """
class Save:
    def process_item(self, item):
        pass

class Model:
    def process_item(self, item):
        return self

class After:
    def process_item(self, item):
        return {"came": type(item).__name__}
"""
PLAIN = ("status", "duplicate", "original", "resemblance")


def crawl(folder: Path, items: list[dict[str, Any]], *settings: str, feed: str = "") -> Crawl:
    """Crawl a spider of these items, which has no requests."""
    project = Project(folder, SPIDER)
    project.write("made.json", json.dumps(items))
    options = [part for setting in settings for part in ("-s", setting)]
    return project.crawl(*options, feed=feed or "items.jsonl")


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


def test_fields_that_keep_the_same_items_are_ignored_together(tmp_path: Path) -> None:
    items = [
        {"url": f"https://a.example/{n}", "text": article(1), "file": f"{n}.html", "folder": n}
        for n in range(4)
    ]
    items[3]["views"] = 7
    done = crawl(tmp_path, items)
    assert len(done.items) == 4
    (line,) = lines(done, "Dedup: 3 items kept because the fields differ: file (3), folder (3), ")
    assert line.endswith('. If file, folder say nothing: DEDUP_IGNORE_FIELDS = ["file", "folder"]')
    (tmp_path / "dedup.db").unlink()
    done = crawl(tmp_path, items, 'DEDUP_IGNORE_FIELDS=["file", "folder"]')
    assert len(done.items) == 2
    (line,) = lines(done, "If views says nothing: ")
    assert line.endswith('DEDUP_IGNORE_FIELDS = ["file", "folder", "views"]')


def test_what_is_no_item_is_kept_and_the_log_says_what_may_be_missing(tmp_path: Path) -> None:
    project = Project(tmp_path, SPIDER)
    project.write("made.json", json.dumps([{"url": "https://a.example/1", "text": article(1)}] * 3))
    project.write("shop/save.py", SAVE)
    for before, came in (("Save", "NoneType"), ("Model", "Model")):
        pipelines = json.dumps({f"shop.save.{before}": 100, "shop.save.After": 300})
        done = project.crawl("-s", f"ITEM_PIPELINES={pipelines}", "-s", "DEDUP_ACTION=tag")
        assert done.items == [{"came": came}] * 3
        assert done.stat("dedup/skipped/no_item") == "3"
        assert not lines(done, "Dedup failed")
        (line,) = lines(
            done, "WARNING: Dedup did not compare 3 of 3 items (no_item): they are None"
        )
        assert line.endswith("a pipeline before this one may lack its `return item`")


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
    (line,) = lines(first, "Dedup: 1 item kept because a page that is alike has another title.")
    assert "If another field has the title of the page, name that one in DEDUP_TITLE_FIELD" in line
    assert line.endswith('headlines that change with each update: DEDUP_TITLES = "ignore"')
    with (tmp_path / "first.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [tuple(row[f"dedup_{name}"] for name in PLAIN) for row in rows] == [
        ("new", "False", "", ""),
        ("exact", "True", "https://a.example/a", "1.0"),
        ("new", "False", "", "1.0"),
    ]
    assert "dedup" not in rows[0], "plain values take the place of the dict"
    again = crawl(tmp_path, items[:3], "DEDUP_ACTION=tag")
    assert lines(again, "3 unchanged (of these, 1 duplicate), 0 changed, 0 skipped, 0 errors")
    assert [item["dedup_duplicate"] for item in again.items] == [False, True, False]
    one = crawl(tmp_path, items[3:])
    assert lines(one, "Dedup: 1 item: 0 dropped, 0 new, ")


def test_what_became_of_the_items_is_the_same_wherever_it_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five runs of three sites: each figure beside SQL on the verdicts, and the feed."""

    def item(path: str, number: int, site: str = "a", **fields: Any) -> dict[str, Any]:
        return {"url": f"https://{site}.example/{path}", "text": article(number), **fields}

    copies = [item("1", 1), item("copy", 1), item("red", 1, price=5), item("2", 2, "b")]
    unknown = {"url": "https://a.example/empty", "text": ""}
    new = ("DEDUP_DROP_UNCHANGED=True",)
    days = (
        ([*copies, item("1", 1), unknown], ()),
        ([*copies, item("3", 3), item("syndicated", 3, "c")], new),
        ([*copies, item("4", 3)], ("DEDUP_ACTION=tag", 'ITEM_PIPELINES={"later.DropFour": 900}')),
        ([item("1", 11), item("copy", 1), item("2", 2, "c"), item("3", 3, "b")], new),
        ([*copies, item("2", 2, "c"), unknown, item("5", 5), item("5", 5)], new),
    )
    url, shown = f"sqlite:///{tmp_path}/dedup.db", []
    (tmp_path / "later.py").write_text(LATER)
    for items, settings in days:
        done = crawl(tmp_path, items, *settings)
        came_out = len(done.items)
        later = len(items) - came_out - int(done.stat("dedup/dropped") or 0)
        assert lines(done, f"Dedup: {came_out} item{'' if came_out == 1 else 's'} came out")
        assert bool(lines(done, f"came out; later pipelines dropped {later}")) is (later > 0)
        assert lines(done, f"Dedup: {len(items)} items: ")
        with Store.open(url) as store:
            [run] = store.runs(1)
        of_run = f"SELECT page_id FROM verdicts WHERE run_id = {run.id} AND original_id IS"
        followed = rows_of(tmp_path / "dedup.db", f"{of_run} NOT NULL")
        is_kept = "verdict <> 'unchanged' OR reason = 'original_missing'"
        dropped = rows_of(tmp_path / "dedup.db", f"{of_run} NULL AND ({is_kept}) IS NOT TRUE")
        # An item that repeats one of this crawl is the second one of its URL.
        repeated = len(items) - len({one["url"] for one in items})
        unchanged = len(dropped) if settings == new else 0
        expected = {
            "items": len(items),
            "came_out": came_out,
            "dropped_later": later,
            "kept": len(items) - len(followed) - repeated - unchanged,
            "unchanged": unchanged,
            "repeated": repeated,
            "duplicates": len(followed),
        }
        assert run.items == expected
        if "DEDUP_ACTION=tag" not in settings:
            assert expected["kept"] == came_out + later
        shown.append([f"{number}" for number in expected.values()])
    printed = dedup_command(monkeypatch, "status", "--store", url).out.splitlines()
    told = [line.split()[-7:] for line in printed[-5:]]
    assert told == shown[::-1]
    with Session.open(url) as session:
        overview = count_all(session)
        chart = overview["charts"][1]
        assert [row["items"] for row in overview["runs"]] == [
            dict(zip(row["items"], map(int, numbers), strict=True))
            for row, numbers in zip(overview["runs"], shown[::-1], strict=True)
        ]
        pages = [show_run(session, {"id": f"{number}"}) for number in range(1, 6)]
        written = report_page(session)
    assert [[f"{number}" for number in page["run"]["items"].values()] for page in pages] == shown
    assert [[f"{bar}" for bar in bars] for _, bars in chart.rows] == [one[3:] for one in shown]
    cells = [" ".join(f'<td class="number">{number}</td>' for number in one) for one in shown]
    table = written.replace("</td><td", "</td> <td")
    assert all(row in table for row in cells)
    assert [one[1:3] for one in shown] == [
        *(["4", "0"], ["1", "0"], ["4", "1"], ["1", "0"], ["4", "0"]),
    ]


# Names of fields that no setting may name, and others that are odd.
TAKEN = ("title", "html", "dedup", " text ", " ", "")
ODD = ("price, EUR", 'the "real" price', " price ", "пре\u200bдел", "[]")


def log_of(given: dict[str, Any], fields: tuple[str, ...], caplog: pytest.LogCaptureFixture) -> str:
    """Log of a crawl that ends after one item of each kind, which differs in some fields."""
    crawler = get_crawler(settings_dict={"DEDUP_STORE_URL": "sqlite://", **given})
    report = Report(crawler, DedupSettings.from_settings(crawler.settings))
    here, there = "https://a.example/1", "https://b.example/1"
    own = ("It costs 5 EUR.", "It costs 9 EUR.")
    for reason in (Reason.OTHER_FIELDS, Reason.OWN_TEXT, Reason.OTHER_TITLE):
        report.kept(Verdict("near", there, reason=reason, fields=fields, own_text=own), here)
    report.kept(Verdict("unchanged", reason=Reason.ORIGINAL_MISSING), here)
    for status in ("changed", "unchanged"):
        report.kept(Verdict(status, fields=fields, moving_lines=("3 hours ago",)), here)
    for number in range(21):
        report.dropped(Verdict("near", there, fields=fields, own_text=own), f"{here}/{number}")
    caplog.set_level("INFO")
    caplog.clear()
    report.end()
    return caplog.text


def test_no_setting_that_the_log_advises_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    for given in ({}, {"DEDUP_IGNORE_FIELDS": ["views"]}):
        for field in (*TAKEN, *ODD):
            log = log_of(given, (field, "title"), caplog)
            advised = dict(re.findall(r'(DEDUP_\w+) = ("\w+"|\[.*\])', log))
            for name, value in advised.items():
                DedupSettings.from_settings(Settings({**given, name: json.loads(value)}))
            assert ("DEDUP_FIELDS" in advised) == (field in ODD)
            assert ("DEDUP_IGNORE_FIELDS" in advised) == (field in ODD)
    about = {line.setting.partition(":")[0].partition("{")[0] for line in LINES}
    assert all(words in log for words in about), "every line of the table has been logged"


def test_fields_that_no_setting_may_name_are_named_without_advice(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = log_of({}, ("title",), caplog)
    assert "1 item kept because the fields differ: title (1)\n" in log
    assert "items have changed in their fields alone: title (1)\n" in log
    assert "although these fields differ: title (21)\n" in log
    both = log_of({}, ("author", "title"), caplog)
    assert "differ: author (21), title (21). To keep items that differ in author: DEDUP_FIE" in both


def test_settings_that_the_method_does_not_look_at_are_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    names = "DEDUP_THRESHOLD", "DEDUP_SIMHASH_DISTANCE"
    for method, idle in (("minhash", names[1:]), ("simhash", names[:1]), ("exact", names)):
        given = {"DEDUP_METHOD": method, "DEDUP_THRESHOLD": 0.8, "DEDUP_SIMHASH_DISTANCE": 2}
        crawler = get_crawler(settings_dict={"DEDUP_STORE_URL": "sqlite://", **given})
        caplog.clear()
        Report(crawler, DedupSettings.from_settings(crawler.settings)).start()
        for name in names:
            line = f"Dedup: {name} has no effect with DEDUP_METHOD = '{method}'"
            assert (line in caplog.messages) == (name in idle)
