"""The commands of Scrapy in a real project: they look, and leave nothing behind."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.pages import article, edited, html, linked
from tests.support.serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.plugin.projects.user_project import Projects, UserProject


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


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    pages = {f"/article/{number}": html(article(number), f"No {number}") for number in range(2)}
    copy = html(edited(article(0)), "No 0")
    with serving({**linked(pages), "/print/0": copy}) as server:
        yield server.url


def parse(project: UserProject, site: str, path: str, *arguments: str) -> dict[str, Any]:
    """Return the one item that `scrapy parse` prints of a page."""
    done = project.scrapy(
        *("parse", f"{site}{path}", "--spider", "articles", "--callback", "parse_article"),
        *("--nocolour", "--nolinks", *arguments),
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
    project: Projects,
    site: str,
    arguments: tuple[str, ...],
    said: str,
    started: Path,
) -> None:
    plain = project("plain")
    before = plain.files()
    done = plain.scrapy(*(one.format(site=site) for one in arguments), SITE=site)
    assert said.format(site=site) in done.stdout
    assert plain.files() == before
    assert not started.exists()


def test_parse_with_pipelines_shows_a_verdict_and_leaves_no_store(
    project: Projects, site: str
) -> None:
    plain = project("plain")
    before = plain.files()
    item = parse(plain, site, "/article/0", "--pipelines")
    assert item["headline"] == "No 0"
    assert item["dedup"]["status"] == "new"
    assert plain.files() == before


def test_parse_with_pipelines_asks_the_store_that_is_there_and_does_not_change_it(
    project: Projects, site: str, started: Path
) -> None:
    plain = project("plain")
    plain.crawl("articles", site)
    assert started.exists(), "so that the absence of it says something"
    before, files = plain.stored(), plain.files()
    for path, status, original in (
        ("/article/0", "unchanged", None),
        ("/print/0", "near", f"{site}/article/0"),
    ):
        item = parse(plain, site, path, "--pipelines")
        assert (item["dedup"]["status"], item["dedup"]["original"]) == (status, original), path
    assert len(before["pages"]) == 2
    assert plain.stored() == before
    assert plain.files() == files
