"""Tables of the pages on other libraries: both numbers, on the same texts and crawls."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from shingling import Rules
from shingling.bulk import Options, deduplicate
from tests.peers.texts import edited_pairs
from tests.repository.docs.pages import blocks, read
from tests.support.crawls import Project
from tests.support.pages import article, html, links
from tests.support.serving import serving

if TYPE_CHECKING:
    from pathlib import Path

PAIRS = edited_pairs(1000)
TEXTS = [pair.text for pair in PAIRS] + [pair.copy for pair in PAIRS]
THRESHOLDS = (0.5, 0.7, 0.8)


def score(removed: set[int], threshold: float) -> tuple[int, int]:
    """Copies that were found, and texts that were removed wrongly."""
    alike = {
        len(PAIRS) + place for place, pair in enumerate(PAIRS) if pair.resemblance >= threshold
    }
    return len(removed & alike), len(removed - alike)


def duplicates(threshold: float) -> int:
    return sum(pair.resemblance >= threshold for pair in PAIRS)


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> dict[float, tuple[int, int]]:
    """Score of bulk deduplication at each threshold."""
    folder = tmp_path_factory.mktemp("texts")
    rows = folder / "texts.jsonl"
    lines = (json.dumps({"id": place, "text": text}) for place, text in enumerate(TEXTS))
    rows.write_text("\n".join(lines), encoding="utf-8")
    scores = {}
    for threshold in THRESHOLDS:
        out = folder / str(threshold)
        deduplicate([str(rows)], out, Options(rules=Rules(threshold=threshold), workers=0))
        removed = (out / "removed.jsonl").read_text(encoding="utf-8").splitlines()
        scores[threshold] = score({int(json.loads(line)["id"]) for line in removed}, threshold)
    return scores


def test_the_table_on_datasketch_is_what_both_find(ours: dict[float, tuple[int, int]]) -> None:
    pytest.importorskip("datasketch")
    from tests.peers.minhash_lsh import datasketch_removed

    page = read("coming-from/datasketch.md")
    for threshold in THRESHOLDS:
        theirs = score(datasketch_removed(TEXTS, threshold), threshold)
        cells = (threshold, duplicates(threshold), *theirs, *ours[threshold])
        assert f"\n| {' | '.join(map(str, cells))} |\n" in page


def test_the_table_on_text_dedup_is_what_both_find(ours: dict[float, tuple[int, int]]) -> None:
    pytest.importorskip("datasketch")
    from tests.peers.minhash_lsh import text_dedup_removed

    page = read("coming-from/text-dedup.md")
    found, wrong = score(text_dedup_removed(TEXTS), 0.7)
    assert f"| found of {duplicates(0.7)} |" in page
    assert f"\n| text-dedup, 250 minima, 25 bands of 10 | {found} | {wrong} |\n" in page
    found, wrong = ours[0.7]
    assert f"\n| here, `--threshold 0.7` | {found} | {wrong} |\n" in page


DELTAFETCH_SPIDER = """
import scrapy

class Spider(scrapy.Spider):
    name = "spider"

    async def start(self):
        yield scrapy.Request(self.site + "/", callback=self.parse_links)

    def parse_links(self, response):
        yield from response.follow_all(css="a")

    def parse(self, response):
        yield {"url": response.url}
"""
ARTICLES = {
    f"/{number}{query}": html(article(number), f"Article {number}")
    for number in range(4)
    for query in ("", "?from=home")
}
DELTAFETCH_PAGE = read("coming-from/scrapy-deltafetch.md")
WITHOUT = ("-s", "DEDUP_ENABLED=False")
DELTA = ("-s", 'SPIDER_MIDDLEWARES={"delta.AsyncDeltaFetch": 100}', "-s", "DELTAFETCH_ENABLED=1")
SYSTEMS = {
    "Scrapy alone": WITHOUT,
    "scrapy-deltafetch": (*WITHOUT, *DELTA),
    "scrapy-shingling": (),
    "both": DELTA,
}


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_table_on_deltafetch_is_what_crawls_fetch_and_keep(tmp_path: Path, system: str) -> None:
    if DELTA[1] in SYSTEMS[system]:
        pytest.importorskip("scrapy_deltafetch")
    project = Project(tmp_path, DELTAFETCH_SPIDER)
    [middleware] = [
        block.text for block in blocks(DELTAFETCH_PAGE) if "AsyncDeltaFetch(" in block.text
    ]
    (tmp_path / "delta.py").write_text(middleware, encoding="utf-8")
    site: dict[str, str] = {}
    cells = [system]
    with serving(site) as server:
        for number_of_articles in (3, 4):
            known = {p: page for p, page in ARTICLES.items() if int(p[1]) < number_of_articles}
            site.update({"/": links(known), **known})
            before = len(server.asked)
            crawl = project.crawl("-a", f"site={server.url}", *SYSTEMS[system])
            assert crawl.status == 0, crawl.log
            fetched = len(server.asked) - before - 1  # without the home page
            cells += [str(fetched), str(len(crawl.items))]
    assert f"\n| {' | '.join(cells)} |\n" in DELTAFETCH_PAGE
