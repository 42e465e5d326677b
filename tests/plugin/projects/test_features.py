"""Real projects that use what else Scrapy has: files, jobs, scripts, Scrapyd, commands."""

from __future__ import annotations

import ast
import signal
from typing import TYPE_CHECKING, Any

import pytest

from tests.plugin.projects.user_project import values, warnings_in
from tests.support.crawls import NEEDS_NO_REACTOR, Crawl, Crawling, stats
from tests.support.pages import article, edited, html, linked
from tests.support.serving import holding, serving

if TYPE_CHECKING:
    from pathlib import Path

    from tests.plugin.projects.user_project import Projects, UserProject

HEADLINES = [f"No {number}" for number in range(6)]
"""Of the unique articles; two of them have a copy as well."""


def site_pages() -> dict[str, str]:
    pages = {}
    for number, headline in enumerate(HEADLINES):
        file = f'<a class="file" href="/file/{number}.bin">The report</a></article>'
        page = html(article(number), headline).replace("</article>", file)
        pages[f"/article/{number}"] = page
        if number in (1, 4):
            copy = html(edited(article(number)), headline).replace("</article>", file)
            pages[f"/article/{number}/print"] = copy
    others = {f"/file/{name}.bin": f"File {name}" for name in range(6)}
    others["/print/0"] = html(edited(article(0)), HEADLINES[0])  # nothing links to it
    return {**linked(pages), **others}


PAGES = site_pages()


def test_files_of_duplicates_are_not_downloaded_where_the_pipeline_of_files_comes_later(
    project: Projects, site: str
) -> None:
    later = 'ITEM_PIPELINES={"scrapy.pipelines.files.FilesPipeline": 300}'
    crawl = project("files").crawl("reports", site, "-s", later)
    assert values(crawl.items, "headline") == HEADLINES
    assert crawl.stat("file_count") == "6"


def test_every_item_of_a_job_that_was_stopped_and_resumed_comes_out_exactly_once(
    project: Projects,
) -> None:
    articles = project("plain")
    with holding(PAGES, lambda path: path == "/article/2") as (server, held):
        job = ("-s", "JOBDIR=job", "-o", "items.jsonl")
        crawl = ("crawl", "articles", "-a", f"site={server.url}", *job)
        # One page after the other, each when the item of the one before has come out.
        slowly = ["-s", "CONCURRENT_REQUESTS=1", "-s", "SCRAPER_SLOT_MAX_ACTIVE_SIZE=1"]
        running = Crawling(articles.folder, command=("-m", "scrapy", *crawl, *slowly))
        running.wait_for(lambda: "Scraped from" in running.log and "/article/2" in server.asked)
        running.process.send_signal(signal.SIGINT)
        running.wait_for(lambda: "shutting down gracefully" in running.log)
        held.let_go()
        assert running.wait() == 0, running.log
        assert "(shutdown)" in running.log
        assert "Traceback" not in running.log
        stopped = articles.items()
        assert 0 < len(stopped) < len(HEADLINES)
        articles.scrapy(*crawl)
    assert values(articles.items(), "headline") == HEADLINES
    runs: list[Any] = articles.stored()["runs"]
    assert len(runs) == 2


def test_of_two_spiders_in_one_process_one_yields_what_both_find(project: Projects) -> None:
    """Two papers have two of their three articles in common."""
    pages: dict[str, str] = {}
    for paper, numbers in (("morning", (0, 1, 2)), ("evening", (1, 2, 3))):
        own = {
            f"/{paper}/{number}": html(article(number), HEADLINES[number], navigation=paper)
            for number in numbers
        }
        pages |= {**own, f"/{paper}/": linked(own)["/"]}
    papers = project("plain")
    with serving(pages) as server:
        papers.python("together.py", f"{server.url}/morning", f"{server.url}/evening")
    items = papers.items("articles.jsonl") + papers.items("contracted.jsonl")
    assert values(items, "headline") == HEADLINES[:4]


@pytest.mark.parametrize(
    "script", ["process.py", pytest.param("runner.py", marks=NEEDS_NO_REACTOR)]
)
def test_a_script_without_a_guard_and_without_a_project_drops_duplicates(
    project: Projects, site: str, script: str
) -> None:
    scripts = project("script")
    done = scripts.python(script, site)
    crawl = Crawl(done.returncode, done.stderr, scripts.items())
    assert values(crawl.items, "headline") == HEADLINES
    assert crawl.stat("dedup/near") == "2"
    assert "worker processes" in crawl.log
    assert "dedup.db" in scripts.files()
    assert not warnings_in(crawl)


def test_the_jobs_of_scrapyd_share_a_store_with_an_absolute_path(
    project: Projects, site: str, tmp_path: Path
) -> None:
    """The project is an egg in the folder of the server, which starts `scrapyd.runner` there."""
    articles, server = project("plain"), tmp_path / "scrapyd"
    eggs, store = server / "eggs" / "plain", tmp_path / "stores" / "dedup.db"
    store.parent.mkdir()
    articles.python("setup.py", "bdist_egg", "--dist-dir", str(eggs))
    (egg,) = eggs.iterdir()
    egg.rename(eggs / "1.egg")
    command = ("-m", "scrapyd.runner", "crawl", "articles", "-a", f"site={site}", "-O", "items.jl")
    absolute = ("-s", f"DEDUP_STORE_URL=sqlite:///{store.as_posix()}")
    first, second = (
        articles.python(*command, *absolute, *more, folder=server, SCRAPY_PROJECT="plain").stderr
        for more in ((), ("-s", "DEDUP_WORKERS=0"))
    )
    assert stats(first)["item_scraped_count"] == str(len(HEADLINES))
    assert stats(first)["dedup/near"] == "2"
    assert stats(second)["dedup/unchanged"] == "8"
    assert {path.name for path in store.parent.iterdir()} == {store.name}
    assert not (server / "dedup.db").exists()


# Commands of Scrapy: they look, and leave nothing behind


# Of a module that Python imports before anything else: it notes that a worker has started.
NOTES_WORKERS = """
import sys
from pathlib import Path

if "shingling.extraction.worker" in sys.orig_argv:
    Path(__file__).with_name("started").touch()
"""


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of a file that is there once a worker process has started."""
    folder = tmp_path / "python"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(NOTES_WORKERS)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return folder / "started"


def parse(project: UserProject, url: str) -> dict[str, Any]:
    """Return the one item that `scrapy parse` prints of a page."""
    done = project.scrapy(
        *("parse", url, "--spider", "articles", "--callback", "parse_article"),
        *("--nocolour", "--nolinks", "--pipelines"),
    )
    items = ast.literal_eval(done.stdout.partition("# Scraped Items")[2].partition("\n")[2])
    (item,) = items
    assert isinstance(item, dict)
    return item


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("shell", "{site}/article/0", "-c", "response.url"), "{site}/article/0"),
        (("list",), "articles\ncontracted"),
        (("check",), ""),
        (("fetch", "{site}/article/0"), "<h1>No 0</h1>"),
        (("parse", "{site}/article/0", "--spider", "articles", "-c", "parse_article"), "No 0"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_command_that_crawls_nothing_leaves_no_store_and_starts_no_worker(
    project: Projects, site: str, arguments: tuple[str, ...], said: str, started: Path
) -> None:
    plain = project("plain")
    before = plain.files()
    done = plain.scrapy(*(one.format(site=site) for one in arguments), SITE=site)
    assert said.format(site=site) in done.stdout
    assert plain.files() == before
    assert not started.exists()


def test_parse_with_pipelines_asks_the_store_if_there_is_one_and_changes_nothing(
    project: Projects, site: str, started: Path
) -> None:
    plain = project("plain")
    files = plain.files()
    item = parse(plain, f"{site}/article/0")
    assert (item["headline"], item["dedup"]["status"]) == ("No 0", "new")
    assert plain.files() == files
    plain.crawl("articles", site, "-s", "DEDUP_WORKERS=auto")
    assert started.exists(), "so that the absence of it says something"
    before, files = plain.stored(), plain.files()
    for path, status, original in (
        ("/article/0", "unchanged", None),
        ("/print/0", "near", f"{site}/article/0"),
    ):
        item = parse(plain, f"{site}{path}")
        assert (item["dedup"]["status"], item["dedup"]["original"]) == (status, original), path
    assert len(before["pages"]) == 8
    assert plain.stored() == before
    assert plain.files() == files
