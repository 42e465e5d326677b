"""What the plugin must show on real pages, by crawls of the labelled archives."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from shingling import canonical_words
from tests.support.crawls import run_scrapy
from tests.support.installed import ROOT

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.data

# Copies among the pages of trafilatura-eval.
KNOWN = {
    ("archive.modabot.de.serkan.html", "modabot.de.serkan.html"),
    (
        "eichtathletik-berlin.de-norddeutschland.html",
        "leichtathletik-berlin.de-norddeutschland.html",
    ),
    ("heavenlynnhealthy.de.areenburk.html", "heavenlynnhealthy.de.mareenburk.html"),
    (
        "reisen-mit-dem-internet.de.emden-21416",
        "reisen-mit-dem-internet.de.emden-21416.html",
    ),
    ("womencantalksports.com-top10.html", "womencantalksports.com.top10.html"),
}
LANGUAGES = ("en", "ja")


def crawl(folder: Path, archive: Path, *arguments: str) -> list[dict[str, Any]]:
    feed = folder / "items.jsonl"
    done = run_scrapy(
        ROOT,
        *("crawl", "archive", "-a", f"path={archive}", *arguments, "-O", str(feed)),
        *("-L", "ERROR", "-s", "DEDUP_ACTION=tag"),
        *("-s", f"DEDUP_STORE_URL=sqlite:///{folder / 'dedup.db'}"),
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return [json.loads(line) for line in feed.read_bytes().splitlines()]


def shingles(text: str | None) -> set[tuple[str, ...]]:
    words = canonical_words(text or "")
    return {tuple(words[i : i + 5]) for i in range(max(len(words) - 4, 1))} if words else set()


def resemblance(a: dict[str, Any], b: dict[str, Any]) -> float:
    first, second = shingles(a["text"]), shingles(b["text"])
    return len(first & second) / max(len(first | second), 1)


def test_the_guide_for_another_architecture_is_found_page_by_page_in_two_languages(
    data: Path, tmp_path: Path
) -> None:
    archive = data / "installation-guide" / "html.tar.xz"
    only = ",".join(f"{arch}/{lang}/*" for lang in LANGUAGES for arch in ("amd64", "i386"))
    items = crawl(tmp_path, archive, "-a", f"only={only}")
    by_url = {item["url"]: item for item in items}
    wanted, found = 0, 0
    for item in items:
        twin = by_url.get(item["url"].replace("/i386/", "/amd64/"))
        if "/i386/" not in item["url"] or twin is None or twin["title"] != item["title"]:
            continue
        if resemblance(item, twin) < 0.8:
            continue
        wanted += 1
        result = item["dedup"]
        found += result["status"] in ("near", "exact")
    assert wanted > 80 * len(LANGUAGES) - 10
    assert found >= 0.99 * wanted
    for item in items:
        if item["dedup"]["original"]:
            original = by_url[item["dedup"]["original"]]
            alike = resemblance(item, original)
            assert alike >= 0.5, item["url"]
            if not item["dedup"]["template"]:
                assert item["dedup"]["resemblance"] == pytest.approx(alike, abs=0.1)

    again = crawl(tmp_path, archive, "-a", f"only={only}")
    assert {item["dedup"]["status"] for item in again} == {"unchanged"}
    assert [item["dedup"]["original"] for item in again] == [
        item["dedup"]["original"] for item in sorted(items, key=order(again))
    ]


def order(items: list[dict[str, Any]]) -> Any:
    places = {item["url"]: place for place, item in enumerate(items)}
    return lambda item: places[item["url"]]


def test_of_pages_of_hundreds_of_sites_only_the_known_copies_are_tagged(
    data: Path, tmp_path: Path
) -> None:
    only = ("[a-c]*", *sorted({name for pair in KNOWN for name in pair}))
    archive = data / "trafilatura-eval" / "html.tar.xz"
    items = crawl(tmp_path, archive, "-a", f"only={','.join(f'html/{name}' for name in only)}")
    assert len(items) > 200
    tagged = {
        frozenset(url.rpartition("/html/")[2] for url in (item["url"], item["dedup"]["original"]))
        for item in items
        if item["dedup"]["original"]
    }
    assert tagged == {frozenset(pair) for pair in KNOWN}
