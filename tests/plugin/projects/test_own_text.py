"""Pages with one title and nearly the same text, some words of which are their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.crawls import Crawl, Project
from tests.support.pages import article, html
from tests.support.serving import serving

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

TEXT = article(1, 120)
NEEDS = {
    f"/program/{megabytes}": html(f"{TEXT}<p>The program needs {megabytes}MB to run.</p>", "Manual")
    for megabytes in (485, 780, 1200)
}
PRICES = {
    f"/ticket/{words}": html(f"{TEXT}<p>The ticket costs {words} crowns for adults.</p>", "Prices")
    for words in ("twelve", "fifteen", "twenty", "thirty", "forty", "fifty")
}
KEPT = "items kept because the text says something of its own"


def crawl(folder: Path, pages: Mapping[str, str], *settings: str) -> Crawl:
    options = [part for setting in settings for part in ("-s", setting)]
    with serving(pages) as server:
        paths = ",".join(pages)
        return Project(folder).crawl(
            *("-a", f"site={server.url}", "-a", f"paths={paths}"),
            *("-s", "CONCURRENT_REQUESTS=1", *options),
        )


def line_of(done: Crawl, words: str) -> str:
    [line] = [line for line in done.log.splitlines() if words in line]
    return line


def test_the_log_ends_with_what_was_kept_for_its_text_one_pair_and_what_lets_it_go(
    tmp_path: Path,
) -> None:
    done = crawl(tmp_path, NEEDS)
    assert len(done.items) == 3
    assert done.stat("dedup/own_text") == "2"
    assert "2 kept for a reason (2 own_text)" in line_of(done, " 3 items: ")
    line = line_of(done, f"2 {KEPT}")
    assert '/program/780: "The program needs 780MB to run."' in line
    assert 'where "The program needs 485MB to run." stands in http://' in line
    assert line.endswith('/program/485. To let such pages go: DEDUP_OWN_TEXT = "ignore"')
    assert "fields differ" not in done.log
    assert "series" not in done.log
    assert "1200MB" not in done.log, "one pair is shown"


def test_what_a_page_says_is_shown_without_what_a_terminal_obeys_and_never_whole(
    tmp_path: Path,
) -> None:
    hostile = "\u202e\u200b" + "long words here " * 20
    pages = {
        path: page.replace("needs", f"needs {path[-3:]} \u202e{hostile}")
        for path, page in NEEDS.items()
    }
    line = line_of(crawl(tmp_path, pages), f"2 {KEPT}")
    assert line.isprintable()
    assert line.count("long words here") < 12


def test_five_pages_that_differ_from_one_in_the_same_line_look_like_a_series(
    tmp_path: Path,
) -> None:
    done = crawl(tmp_path, PRICES)
    assert len(done.items) == 1
    line = line_of(done, "differ from it by words in the same line")
    assert "Dedup: 5 items dropped as near-duplicates of http://" in line
    assert '/ticket/twelve differ from it by words in the same line: "The ticket costs' in line
    assert 'where "The ticket costs twelve crowns for adults." stands in it' in line
    assert line.endswith('DEDUP_OWN_TEXT = "strict"')
    assert KEPT not in done.log


def test_four_such_pages_are_no_series(tmp_path: Path) -> None:
    done = crawl(tmp_path, dict([*PRICES.items()][:5]))
    assert done.stat("dedup/dropped") == "4"
    assert "same line" not in done.log


@pytest.mark.parametrize(
    ("value", "pages", "items"), [("ignore", NEEDS, 1), ("strict", PRICES, len(PRICES))]
)
def test_the_settings_that_the_log_names_do_what_it_says(
    tmp_path: Path, value: str, pages: dict[str, str], items: int
) -> None:
    done = crawl(tmp_path, pages, f"DEDUP_OWN_TEXT={value}")
    assert len(done.items) == items
    assert "same line" not in done.log


def test_without_stored_texts_resemblance_decides_and_the_log_says_so_once(
    tmp_path: Path,
) -> None:
    done = crawl(tmp_path, NEEDS, "DEDUP_STORE_TEXT=False")
    assert len(done.items) == 1
    assert line_of(done, "texts are not kept").endswith("resemblance decides")
    again = crawl(tmp_path, NEEDS, "DEDUP_STORE_TEXT=False", "DEDUP_OWN_TEXT=ignore")
    assert "texts are not kept" not in again.log


def test_a_page_that_was_kept_before_is_not_counted_again(tmp_path: Path) -> None:
    with serving(NEEDS) as server:
        arguments = ("-a", f"site={server.url}", "-a", f"paths={','.join(NEEDS)}")
        for counted in ("2", None):
            done = Project(tmp_path).crawl(*arguments, "-s", "CONCURRENT_REQUESTS=1")
            assert len(done.items) == 3
            assert done.stat("dedup/own_text") == counted
    assert KEPT not in done.log
