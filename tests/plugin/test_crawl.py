"""The plugin in real crawls of a real server."""

from __future__ import annotations

import csv
import sys
import time
from pathlib import Path

import pytest
from scrapy.settings import Settings

from shingling.errors import SettingsError
from shingling.plugin.settings import DedupSettings
from tests.support.crawls import NEEDS_NO_REACTOR, SPIDER, Crawling, Project, read_feed, stats
from tests.support.invariants import dump
from tests.support.pages import article, html
from tests.support.processes import PATIENCE
from tests.support.serving import serving
from tests.support.stores import execute

TEXT = article(1)
PAGES = {
    "/a": html(TEXT, "A", navigation="Home News Sport"),
    "/copy": html(TEXT, "A", navigation="Other menu of another site"),
    "/edited": html(TEXT.replace(TEXT.split()[100], "edited", 1), "A"),
    "/other": html(article(2), "Other"),
}
ALL = "paths=/a,/copy,/edited,/other"
WITHOUT_REACTOR = pytest.param(
    *(("-s", "TWISTED_REACTOR_ENABLED=False"), "2"), marks=NEEDS_NO_REACTOR, id="without a reactor"
)
GATED_SPIDER = """
import time
from pathlib import Path

import scrapy
from shingling.plugin import middleware

middleware._MAX_BACKLOG = 8

def extract_when_let(html, url):
    while not Path("let").exists():
        time.sleep(0.02)
    return html

class Spider(scrapy.Spider):
    name = "spider"

    async def start(self):
        for number in range(40):
            yield scrapy.Request(f"{self.site}/{number}")

    def parse(self, response):
        yield {"url": response.url}
"""
ONE_BY_ONE = ("-s", "CONCURRENT_REQUESTS=1")


@pytest.mark.fast
@pytest.mark.parametrize(("mode", "workers"), [((), "0"), WITHOUT_REACTOR])
def test_one_line_in_the_settings_drops_duplicates(
    project: Project, site: str, mode: tuple[str, ...], workers: str
) -> None:
    crawl = project.crawl(
        "-a", f"site={site}", "-a", ALL, *ONE_BY_ONE, *mode, "-s", f"DEDUP_WORKERS={workers}"
    )
    assert [item["heading"] for item in crawl.items] == ["A", "Other"]
    assert "dedup" not in crawl.items[0], "a dict item is left as the spider made it"
    assert crawl.stat("dedup/checked") == "4"
    assert crawl.stat("dedup/new") == "2"
    assert crawl.stat("dedup/exact") == "1"
    assert crawl.stat("dedup/near") == "1"
    assert crawl.stat("item_dropped_reasons_count/DuplicatePage") == "2"
    status = project.dedup("status")
    assert (status["pages"], status["originals"], status["duplicates"]) == (4, 2, 2)
    assert status["last_runs"][0]["counts"] == {
        "new": 2,
        "exact": 1,
        "near": 1,
        "items": 4,
        "came_out": 2,
        "dropped_later": 0,
        "duplicate_items": 2,
    }
    assert status["last_runs"][0]["outcome"] == "finished"


def test_the_log_says_how_pages_are_compared_and_what_came_of_it_and_shows_a_drop_or_all(
    project: Project, site: str
) -> None:
    where = ("-a", f"site={site}", "-a", "paths=/a,/edited,/copy,/other", *ONE_BY_ONE)
    crawl = project.crawl(*where)
    first, *_, last = (line for line in crawl.log.splitlines() if " INFO: Dedup: " in line)
    store = f"sqlite:///{project.folder / 'dedup.db'}"
    assert first.endswith(f"Dedup: store {store}, action drop, method minhash, threshold 0.5")
    assert "DEBUG: Dedup: pages extracted in a thread, " in crawl.log
    assert last.endswith(
        "Dedup: 4 items: 2 dropped (1 near, 1 exact), 2 new, 0 unchanged, 0 changed,"
        " 0 skipped, 0 errors"
    )
    assert crawl.stat("dedup/dropped") == "2"
    (line,) = [line for line in crawl.log.splitlines() if "Dropped" in line]
    assert "INFO" in line
    assert f"the item of {site}/edited: duplicate of {site}/a (resemblance 0.9" in line
    assert "DEDUP_DEBUG" in line
    again = project.crawl(*where, "-s", "DEDUP_DEBUG=True")
    lines = [line for line in again.log.splitlines() if "Dropped" in line]
    assert len(lines) == 2
    assert all("DEBUG: Dropped: duplicate of" in line for line in lines)


def test_tag_puts_the_result_into_every_item_and_row(project: Project, site: str) -> None:
    where = ("-a", f"site={site}", "-a", ALL, *ONE_BY_ONE)
    crawl = project.crawl(*where, "-s", "DEDUP_ACTION=tag", "-O", "items.csv")
    results = {item["url"].removeprefix(site): item["dedup"] for item in crawl.items}
    assert {path: result["status"] for path, result in results.items()} == {
        "/a": "new",
        "/copy": "exact",
        "/edited": "near",
        "/other": "new",
    }
    edited = results["/edited"]
    assert edited["original"] == f"{site}/a"
    assert 0.9 < edited["resemblance"] < 1
    assert edited["resemblance"] < edited["containment"] <= 1
    assert edited["page_id"] == 3
    assert results["/a"]["original"] is None
    assert results["/a"]["resemblance"] is None
    with (project.folder / "items.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4
    assert all("'status': " in row["dedup"] for row in rows)


@pytest.mark.parametrize(
    ("setting", "checked"), [("DEDUP_ACTION=observe", "4"), ("DEDUP_ENABLED=False", None)]
)
def test_items_are_left_alone_where_that_is_asked_for(
    project: Project, site: str, setting: str, checked: str | None
) -> None:
    crawl = project.crawl("-a", f"site={site}", "-a", ALL, "-s", setting)
    assert [set(item) for item in crawl.items] == [{"url", "heading"}] * 4
    assert crawl.stat("dedup/checked") == checked
    assert (project.folder / "dedup.db").exists() is bool(checked)
    assert ("Dedup is switched off: DEDUP_ENABLED = False" in crawl.log) is (checked is None)


def test_two_near_duplicates_in_flight_at_the_same_moment_end_with_one_original(
    project: Project,
) -> None:
    pages = {}
    for number in range(16):
        words = TEXT.split()
        words[number * 7] = f"edit{number}"
        pages[f"/{number}"] = html(" ".join(words), "A")
    with serving(pages) as site:
        crawl = project.crawl(
            "-a", f"site={site.url}", "-a", f"paths={','.join(pages)}",
            "-s", "CONCURRENT_REQUESTS=64", "-s", "CONCURRENT_REQUESTS_PER_DOMAIN=64",
            "-s", "DEDUP_WORKERS=2", "-s", "DEDUP_ACTION=tag",
        )  # fmt: skip
    statuses = [item["dedup"]["status"] for item in crawl.items]
    assert sorted(statuses) == ["near"] * 15 + ["new"]
    assert len({item["dedup"]["original"] for item in crawl.items} - {None}) == 1


def test_meta_dedup_false_opts_a_page_out(project: Project, site: str) -> None:
    project.write(
        "shop/spiders/spider.py",
        SPIDER.replace("self.site + path)", "self.site + path, meta={'dedup': False})"),
    )
    crawl = project.crawl("-a", f"site={site}", "-a", ALL, "-s", "DEDUP_ACTION=tag")
    assert {item["dedup"]["reason"] for item in crawl.items} == {"opted_out"}
    assert crawl.stat("dedup/skipped/opted_out") == "4"
    assert project.dedup("status")["pages"] == 0


def test_without_the_addon_the_pipeline_alone_compares_the_fields_of_items(
    project: Project, site: str
) -> None:
    project.write(
        "shop/settings.py",
        """
        SPIDER_MODULES = ["shop.spiders"]
        ITEM_PIPELINES = {"shingling.DedupPipeline": 250}
        DEDUP_HTML_FIELD = "body"
        DEDUP_WORKERS = 1
        """,
    )
    project.write(
        "shop/spiders/spider.py",
        SPIDER.replace('"heading": ', '"body": response.text, "heading": '),
    )
    crawl = project.crawl("-a", f"site={site}", "-a", ALL, *ONE_BY_ONE)
    assert [item["heading"] for item in crawl.items] == ["A", "Other"]
    (line,) = (line for line in crawl.log.splitlines() if " WARNING: " in line)
    assert "SourceMiddleware or SourcePipeline is missing" in line
    assert "SPIDER_MIDDLEWARES = {'shingling.SourceMiddleware': 10}" in line


def test_fields_are_called_and_texts_kept_as_the_settings_say(project: Project, site: str) -> None:
    fields = '"link": response.url, "name": "A name", "body": response.css("p::text").get(),'
    project.write("shop/spiders/spider.py", SPIDER.replace('"url": response.url,', fields))
    names = {"URL": "link", "TITLE": "name", "TEXT": "body", "RESULT": "seen"}
    chosen = [f"-sDEDUP_{name}_FIELD={field}" for name, field in names.items()]
    crawl = project.crawl(
        *("-a", f"site={site}", "-a", "paths=/a,/copy", *ONE_BY_ONE, *chosen),
        *("-s", "DEDUP_ACTION=tag", "-s", "DEDUP_STORE_TEXT=False"),
    )
    assert [item["seen"]["status"] for item in crawl.items] == ["new", "exact"]
    [shown] = project.dedup("show", f"{site}/a", "--text")
    assert (shown["title"], shown["text"]) == ("A name", None)


def test_a_page_has_limits_and_an_original_a_time_in_which_it_is_met(
    project: Project, site: str
) -> None:
    pages = {**PAGES, "/long": html(article(3, 3000)), "/few": html(article(4, 50))}
    limits = ("-s", "DEDUP_MAX_BYTES=9000", "-s", "DEDUP_MIN_WORDS=100")
    tagged = ("-s", "DEDUP_ORIGINAL_MAX_AGE_DAYS=1", "-s", "DEDUP_ACTION=tag")
    with serving(pages) as server:
        where = ("-a", f"site={server.url}", *tagged, *limits)
        project.crawl(*where, "-a", "paths=/a")
        execute(project.folder / "dedup.db", "UPDATE pages SET last_seen = last_seen - 90000")
        crawl = project.crawl(*where, "-a", "paths=/edited,/long,/few", *ONE_BY_ONE)
    edited, long, few = (item["dedup"] for item in crawl.items)
    assert edited["status"] == "new"
    assert (long["reason"], few["reason"]) == ("too_large", "short")


@pytest.mark.parametrize(("scope", "kept"), [("all", 1), ("site", 2)])
def test_scope_says_what_is_compared_with_what(project: Project, scope: str, kept: int) -> None:
    with serving(PAGES) as first, serving(PAGES) as second:
        # The same server under two host names.
        mirror = second.url.replace("127.0.0.1", "localhost")
        project.write("shop/spiders/spider.py", SPIDER.replace("self.site + path", "path"))
        crawl = project.crawl(
            "-a", f"paths={first.url}/a,{mirror}/a", *ONE_BY_ONE, "-s", f"DEDUP_SCOPE={scope}"
        )
    assert len(crawl.items) == kept


def test_neither_verdicts_nor_the_store_depend_on_workers_the_kernel_or_main_texts(
    project: Project,
) -> None:
    project.write("shop/spiders/spider.py", SPIDER.replace('"heading": ', '"text": None, "h": '))
    filled = ("-s", "DEDUP_FILL_FIELDS=text")
    pages = {
        f"/{n}": html(f"{article(n % 5, 60 + 40 * (n % 7))} Straße ½", f"Page {n % 5}")
        for n in range(40)
    }
    verdicts, stores = [], []
    with serving(pages) as site:
        runs = [("0", "1", ()), ("1", "0", ()), ("2", "1", filled)]
        for number, (workers, compiled, more) in enumerate(runs):
            # A process of its own: others are forked from one that has chosen already.
            crawling = Crawling(
                project.folder,
                *("-O", "items.jsonl"),
                *("-a", f"site={site.url}", "-a", f"paths={','.join(pages)}", *ONE_BY_ONE),
                *("-s", f"DEDUP_WORKERS={workers}", "-s", "DEDUP_ACTION=tag"),
                *("-s", f"DEDUP_STORE_URL=sqlite:///{number}.db", *more),
                environment={"SHINGLING_COMPILED": compiled},
                forked=compiled == "1",
            )
            assert crawling.wait() == 0, crawling.log
            items = read_feed(project.folder / "items.jsonl")
            verdicts.append({item["url"]: item["dedup"] for item in items})
            stores.append(dump(project.folder / f"{number}.db"))
    assert all(item["text"] for item in items)
    assert verdicts.count(verdicts[0]) == stores.count(stores[0]) == 3
    assert {result["status"] for result in verdicts[0].values()} == {"new", "near", "exact"}


def test_no_more_pages_are_fetched_than_can_soon_be_decided(tmp_path: Path) -> None:
    Project(tmp_path, GATED_SPIDER)
    gated = ("-s", "DEDUP_EXTRACTOR=shop.spiders.spider.extract_when_let")
    limits = ("-s", "CONCURRENT_REQUESTS=4", "-s", f"DEDUP_TIMEOUT={PATIENCE}")
    with serving({f"/{n}": html(article(n), "A") for n in range(40)}) as server:
        crawling = Crawling(tmp_path, "-a", f"site={server.url}", *limits, *gated)
        crawling.wait_for(lambda: len(server.asked) >= 8)
        time.sleep(1)  # in which others could be fetched
        assert len(server.asked) < 20
        (tmp_path / "let").touch()
        assert crawling.wait() == 0, crawling.log
    assert stats(crawling.log)["dedup/checked"] == "40"


# `DEDUP_REPORT`: a crawl writes its report when it ends, and never fails for it


def test_a_crawl_writes_its_report_with_its_own_run(project: Project, site: str) -> None:
    report = ("-s", "DEDUP_REPORT=out/report.html")
    crawl = project.crawl("-a", f"site={site}", "-a", ALL, *ONE_BY_ONE, *report)
    file = project.folder / "out" / "report.html"
    assert " ERROR: " not in crawl.log
    assert f"Dedup: wrote the report {file}" in crawl.log
    page = file.read_text("utf-8")
    assert "<dt>Pages</dt><dd>4</dd>" in page
    assert "<bdi>finished</bdi>" in page
    assert f"{site}/edited" in page.partition("<h2>Least alike</h2>")[2]

    # A run of `parse` changes no store, and has nothing to tell; nor has one without items.
    file.unlink()
    done = project.run("parse", f"{site}/a", "--spider", "spider", "--pipelines", *report)
    assert done.returncode == 0, done.stderr
    crawl = project.crawl("-a", f"site={site}", "-a", "paths=/absent", *report)
    assert " ERROR: " not in done.stderr + crawl.log
    assert not file.exists()


def test_a_report_that_cannot_be_written_is_one_error_and_costs_no_item(
    project: Project, site: str
) -> None:
    crawl = project.crawl(
        "-a", f"site={site}", "-a", ALL, *ONE_BY_ONE, "-s", "DEDUP_REPORT=scrapy.cfg/report.html"
    )
    assert crawl.stat("finish_reason") == "finished"
    assert len(crawl.items) == 2
    (line,) = [line for line in crawl.log.splitlines() if " ERROR: " in line]
    assert "Dedup could not write its report: " in line
    assert "scrapy.cfg" in line


def test_the_path_begins_at_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "scrapy.cfg").touch()
    (tmp_path / "work" / "folder.html").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work")
    for value in ("out/report.HTML", Path("out", "report.HTML")):
        chosen = DedupSettings.from_settings(Settings({"DEDUP_REPORT": value}))
        assert chosen.of_rooms["DEDUP_REPORT"] == str(tmp_path / "work" / "out" / "report.HTML")
    for nothing in (None, "", "None"):
        chosen = DedupSettings.from_settings(Settings({"DEDUP_REPORT": nothing}))
        assert chosen.of_rooms["DEDUP_REPORT"] is None
    with pytest.raises(SettingsError, match="it is a folder"):
        DedupSettings.from_settings(Settings({"DEDUP_REPORT": "folder.html"}))


def test_a_missing_extra_is_named_before_the_crawl_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    settings = Settings({"DEDUP_REPORT": "report.html"})
    with pytest.raises(SettingsError, match=r"needs jinja2: pip install .+ \(extra web\)"):
        DedupSettings.from_settings(settings)
    chosen = DedupSettings.from_settings(settings, crawl=False)
    assert chosen.of_rooms["DEDUP_REPORT"] is not None
