"""An extractor that hangs, dies, fails or returns nonsense costs its own page only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.crawls import LIST_SPIDER, Crawling, Project, items, listed, stats
from tests.support.pages import article
from tests.support.serving import page, serving

if TYPE_CHECKING:
    from pathlib import Path

EXTRACTOR = """
import os
import re
import signal
import time

def extract(html, url):
    kind = url.rpartition("/")[2].partition("-")[0]
    if kind == "hangs":
        time.sleep(3600)
    if kind == "exits":
        os._exit(1)
    if kind == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "raises":
        raise RuntimeError("this extractor does not like the page")
    if kind == "leaves":
        raise SystemExit(1)
    if kind == "nothing":
        return None
    if kind == "prints":
        print("not a message of the worker")
    text = re.sub("<[^>]*>", " ", html)
    if kind == "surrogate":
        return text + " \\ud800"
    if kind == "much":
        return text * 1000
    return text
"""
REASONS = {
    "hangs": "timeout",
    "exits": "worker_died",
    "killed": "worker_died",
    "raises": "extraction_failed",
    "leaves": "worker_died",  # by sys.exit
    "nothing": "no_main_text",
}
SIGNED = ("prints", "surrogate", "much", "good-1", "good-2", "good-3", "good-4")


def crawl(folder: Path, names: list[str], *arguments: str) -> Crawling:
    """Crawl pages by name, of which good-4 is a copy of good-1 with one word more."""
    Project(folder, LIST_SPIDER).write("shop/extractor.py", EXTRACTOR)
    answers = {f"/{name}": page(article(place)) for place, name in enumerate(names)}
    if "/good-4" in answers:
        answers["/good-4"] = page(article(names.index("good-1")) + " more")
    with serving(answers) as server:
        crawling = Crawling(
            folder,
            *listed(folder, {name: f"{server.url}/{name}" for name in names}),
            *("-s", "DEDUP_ACTION=tag", "-s", "DEDUP_EXTRACTOR=shop.extractor.extract"),
            *arguments,
        )
        crawling.wait()
    return crawling


@pytest.mark.parametrize("workers", [0, 2])
def test_an_extractor_that_hangs_dies_or_fails_costs_its_own_page_only(
    tmp_path: Path, workers: int
) -> None:
    # What ends its process would end the crawl where there is no process of its own.
    expected = dict(REASONS)
    if not workers:
        del expected["exits"], expected["killed"]
        expected["leaves"] = "extraction_failed"
    bad = list(expected)
    names = [*bad[:3], *SIGNED[:4], *bad[3:], *SIGNED[4:]]
    # So that a new worker starts in time on a slow machine.
    crawling = crawl(tmp_path, names, "-s", "DEDUP_TIMEOUT=3", "-s", f"DEDUP_WORKERS={workers}")
    assert crawling.process.returncode == 0, crawling.log
    assert crawling.all_gone()
    found = items(tmp_path)
    assert set(found) == set(names)
    reasons = {name: found[name]["dedup"]["reason"] for name in bad}
    assert reasons == expected
    assert {found[name]["dedup"]["status"] for name in bad} == {"skipped"}
    pair = sorted(("good-1", "good-4"), key=lambda name: found[name]["dedup"]["page_id"])
    verdicts = {name: found[name]["dedup"]["status"] for name in SIGNED}
    assert verdicts == {**dict.fromkeys(SIGNED, "new"), pair[1]: "near"}
    assert found[pair[1]]["dedup"]["original"] == found[pair[0]]["url"]
    assert stats(crawling.log)["finish_reason"] == "finished"
    assert "Traceback" not in crawling.log
