"""Crawls with other settings than those that their store was made with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.crawls import REFUSED, Crawl, Crawling, Project, stats
from tests.support.invariants import verify
from tests.support.pages import article, html
from tests.support.serving import Held, serving
from tests.support.stores import rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator

WORDS = article(1).split()
PAGES = {
    "/a": html(article(1)),
    "/less": html(" ".join([*WORDS[:188], *article(2, 112).split()])),  # resemblance .45
    "/edited": html(" ".join([*WORDS[:150], "edited", *WORDS[151:]])),
    "/other": html(article(3)),
    "/another": html(article(4)),
    "/held": html(article(5)),
}
INDEX = "SELECT indexed, bands, rows, sampled FROM scheme"


@pytest.fixture
def held() -> Held:
    """The answers of the site, which keeps one of its pages until it is let go."""
    return Held(PAGES, lambda path: path == "/held")


@pytest.fixture
def site(held: Held) -> Iterator[str]:
    with serving(held) as server:
        yield server.url
        held.let_go()


def arguments(site: str, paths: str, *more: str) -> tuple[str, ...]:
    return ("-a", f"site={site}", "-a", f"paths={paths}", "-s", "DEDUP_ACTION=tag", *more)


def crawl(project: Project, site: str, paths: str, *more: str) -> Crawl:
    """Crawl to the end, and see that all items come out."""
    done = project.crawl(*arguments(site, paths, *more))
    assert done.stat("finish_reason") == "finished", done.log
    assert sorted(item["url"].removeprefix(site) for item in done.items) == sorted(paths.split(","))
    assert "ERROR" not in done.log
    return done


def verdicts(site: str, done: Crawl) -> dict[str, str]:
    return {item["url"].removeprefix(site): item["dedup"]["status"] for item in done.items}


def lines(done: Crawl | Crawling, level: str) -> list[str]:
    """Lines that this package has logged, without times and names."""
    return [
        line.partition(f"{level}: ")[2]
        for line in done.log.splitlines()
        if f" {level}: " in line and "[shingling" in line
    ]


def test_a_lower_threshold_gets_its_index_at_the_start_of_the_crawl(
    project: Project, site: str
) -> None:
    crawl(project, site, "/a,/other", "-s", "DEDUP_THRESHOLD=0.5")
    done = crawl(project, site, "/less,/another", "-s", "DEDUP_THRESHOLD=0.4")
    assert verdicts(site, done) == {"/less": "near", "/another": "new"}
    [less] = [item["dedup"] for item in done.items if item["url"].endswith("/less")]
    assert 0.4 < less["resemblance"] < 0.5
    first, making, made, *_ = lines(done, "INFO")
    assert first.startswith("Dedup: store")
    assert "finds about 84% of the pages with a resemblance of 0.4; making one" in making
    assert "2 originals" in making
    assert made.startswith("Dedup: made a new index in")
    assert lines(done, "WARNING") == []
    again = crawl(project, site, "/edited", "-s", "DEDUP_THRESHOLD=0.5")
    assert verdicts(site, again) == {"/edited": "near"}
    assert "making one" not in again.log
    assert rows_of(project.folder / "dedup.db", INDEX) == [("minima", 42, 2, 0)]
    verify(project.folder / "dedup.db")


@pytest.mark.parametrize(
    ("settings", "verdict", "said"),
    [
        (("-s", "DEDUP_THRESHOLD=0.4"), "near", "made a new index"),
        (
            ("-s", "DEDUP_METHOD=simhash", "-s", "DEDUP_SIMHASH_DISTANCE=7"),
            "new",
            "goes on with it, because another crawl is using it",
        ),
    ],
)
def test_two_crawls_at_once_with_different_settings_both_go_on(
    project: Project,
    site: str,
    held: Held,
    settings: tuple[str, ...],
    verdict: str,
    said: str,
) -> None:
    store = project.folder / "dedup.db"
    running = Crawling(project.folder, *arguments(site, "/a,/held,/other", "-O", "running.jsonl"))
    running.wait_for(lambda: running.log.count("Scraped from") == 2)
    done = crawl(project, site, "/less,/another", *settings)
    assert verdicts(site, done) == {"/less": verdict, "/another": "new"}
    assert said in done.log
    held.let_go()
    assert running.wait() == 0, running.log
    assert stats(running.log)["finish_reason"] == "finished"
    assert len((project.folder / "running.jsonl").read_bytes().splitlines()) == 3
    assert (lines(running, "WARNING"), lines(running, "ERROR")) == ([], [])
    verify(store)


def test_an_index_that_another_process_makes_during_a_crawl_is_warned_of_once(
    project: Project, site: str, held: Held
) -> None:
    running = Crawling(project.folder, *arguments(site, "/a,/held,/other", "-O", "running.jsonl"))
    running.wait_for(lambda: running.log.count("Scraped from") == 2)
    assert project.run("dedup", "rebuild", "--method", "simhash").returncode == 0
    held.let_go()
    assert running.wait() == 0, running.log
    [warning] = lines(running, "WARNING")
    assert "only pages whose SimHashes differ in at most 3 bits. This crawl goes on" in warning
    assert "because another process has made it during the crawl; `scrapy dedup rebuild" in warning
    assert running.log.count("Scraped from") == 3


def test_scrapy_parse_leaves_the_index_as_it_is(project: Project, site: str) -> None:
    crawl(project, site, "/a")
    index = rows_of(project.folder / "dedup.db", INDEX)
    more = ("-s", "DEDUP_THRESHOLD=0.4")
    done = project.run("parse", f"{site}/edited", "--spider", "spider", "--pipelines", *more)
    assert "goes on with it, because a dry run changes nothing" in done.stderr
    assert "'status': 'near'" in done.stdout
    assert rows_of(project.folder / "dedup.db", INDEX) == index


def test_with_another_scheme_a_crawl_does_not_start_and_names_the_ways_out(
    project: Project, site: str
) -> None:
    before = crawl(project, site, "/a")
    done = project.crawl(*arguments(site, "/a", "-s", "DEDUP_SHINGLE_SIZE=4"), status=REFUSED)
    assert done.items == before.items, "the feed is not touched"
    assert "GET http" not in done.log
    [error] = lines(done, "ERROR")
    assert "made with DEDUP_SHINGLE_SIZE = 5" in error
    for way in ("set them to the former", "`scrapy dedup rebuild --scheme`", "DEDUP_STORE_URL"):
        assert way in error
    command = ("dedup", "-s", "DEDUP_SHINGLE_SIZE=4", "rebuild", "--scheme")
    assert project.run(*command).returncode == 0
    crawl(project, site, "/edited", "-s", "DEDUP_SHINGLE_SIZE=4")
