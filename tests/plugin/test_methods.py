"""Schemes, methods and containment as settings, in real crawls, and asked for by commands."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from shingling.rules import MIN_WORDS_FOR_SIMHASH
from shingling.sketch.idf import Idf
from tests.support.pages import article, html

if TYPE_CHECKING:
    from tests.support.crawls import Project

TEXT = article(1, 1200)
WORDS = TEXT.split()
PAGES = {
    "/a": html(TEXT, "A"),
    "/edited": html(" ".join([*WORDS[:600], "edited", *WORDS[601:]]), "A"),
    "/piece": html(" ".join(WORDS[300:500]), "A"),
    "/more": html(f"{TEXT} {article(3, 900)}", "More"),
    "/other": html(article(2, 1200), "Other"),
    "/short": html(article(4, 60), "Short"),
}
ONE_BY_ONE = ("-s", "CONCURRENT_REQUESTS=1", "-s", "DEDUP_ACTION=tag")


def test_texts_too_short_for_simhash_are_counted_and_warned_of_once(
    project: Project, site: str
) -> None:
    crawl = project.crawl(
        "-a", f"site={site}", "-a", "paths=/short,/piece,/a", "-s", "DEDUP_METHOD=simhash"
    )
    [line] = [line for line in crawl.log.splitlines() if "WARNING" in line and "DEDUP_" in line]
    assert f"fewer than {MIN_WORDS_FOR_SIMHASH} words" in line
    assert crawl.stat("dedup/short_for_simhash") == "1"


def test_a_piece_of_a_page_is_near_and_a_page_with_more_is_new(project: Project, site: str) -> None:
    where = ("-a", f"site={site}", "-a", "paths=/a,/piece,/more,/other", *ONE_BY_ONE)
    # Each has a heading of its own, which would keep it.
    settings = ("-s", "DEDUP_CONTAINMENT=0.9", "-s", "DEDUP_FIELDS=", "-s", "DEDUP_ACTION=drop")
    crawl = project.crawl(*where, *settings)
    assert [item["url"].removeprefix(site) for item in crawl.items] == ["/a", "/more", "/other"]
    assert (crawl.stat("dedup/pieces"), crawl.stat("dedup/contains")) == ("1", "1")
    assert f"{site}/piece: piece of {site}/a (containment" in crawl.log


SCHEME: dict[str, Any] = {
    "family": "crc",
    "ordered": False,
    "canonical": {"language": "it", "stop_words": True, "lemmas": "simplemma"},
    "simhash": {"bits": 32, "features": "words", "keywords": 64, "idf": "idf.json"},
}


def test_a_scheme_in_the_settings_signs_and_is_kept_by_the_store(
    project: Project, site: str
) -> None:
    pytest.importorskip("simplemma")
    project.write("idf.json", Idf.learn([["a", "b"], ["a", "c"]]).to_json())
    # Signed in a worker: the scheme goes there, too.
    scheme = ("-s", f"DEDUP_SCHEME={json.dumps(SCHEME)}", "-s", "DEDUP_WORKERS=1")
    crawl = project.crawl("-a", f"site={site}", "-a", "paths=/a,/edited", *ONE_BY_ONE, *scheme)
    assert [item["dedup"]["status"] for item in crawl.items] == ["new", "near"], crawl.log
    shown = project.dedup("status")["scheme"]
    assert shown["family"] == "crc"
    assert shown["canonical"] == {**SCHEME["canonical"], "stop_words": "short"}
    assert shown["simhash"]["idf"] == "Idf(2 documents, 1 words)"
    assert project.dedup("similar", f"{site}/a")[0]["url"] == f"{site}/edited"
