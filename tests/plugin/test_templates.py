"""Templates of sites: in a crawl, in what the commands show, and in exports."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from shingling import Page, Store
from tests.support.commands import dedup_command
from tests.support.pages import article, html
from tests.support.serving import serving

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.crawls import Project

FOOTER = article(99, 60)
LONG_FOOTER = article(97, 240)
SHARE = 0.49  # of the footer in a page, by characters
WALL = article(98, 60)
ONE_BY_ONE = ("-s", "CONCURRENT_REQUESTS=1", "-s", "DEDUP_ACTION=tag")


def lines(text: str) -> str:
    """Return a text in lines of twenty words."""
    words = text.split()
    return "\n".join(" ".join(words[at : at + 20]) for at in range(0, len(words), 20))


def page(number: int) -> Page:
    """Return a short article with a long footer."""
    text = f"{lines(article(number, 60))}\n{lines(FOOTER)}"
    return Page(f"https://a.example/{number}", text, title=f"Headline {'ABCDEFG'[number]}")


def test_a_footer_makes_no_duplicates_and_a_wall_is_kept(project: Project) -> None:
    def shown(text: str, title: str) -> str:
        return html(text, title).replace("</p></article>", f"</p><p>{LONG_FOOTER}</p></article>")

    pages = {f"/{at}": shown(article(at, 60), f"Headline {'abcdef'[at]}") for at in range(4)}
    pages |= {f"/wall{at}": f"<title>About {at}</title><p>{WALL}</p>" for at in "xyz"}
    pages["/copy"] = shown(article(1, 60), "Headline b")
    with serving(pages) as site:
        where = ("-a", f"site={site.url}", "-a", f"paths={','.join(pages)}", *ONE_BY_ONE)
        crawl = project.crawl(*where)
        whole = project.crawl(
            *where, "-s", "DEDUP_TEMPLATES=False", "-s", "DEDUP_STORE_URL=sqlite:///whole.db"
        )
    results = {item["url"].removeprefix(site.url): item["dedup"] for item in crawl.items}
    assert [results[f"/{at}"]["status"] for at in range(4)] == ["new"] * 4
    assert results["/0"]["template"] == 0.0
    assert results["/3"]["template"] == pytest.approx(0.8, abs=0.1)
    assert results["/copy"]["original"] == f"{site.url}/1"
    assert [results[f"/wall{at}"]["reason"] for at in "yz"] == ["other_title"] * 2
    results = {item["url"].removeprefix(site.url): item["dedup"] for item in whole.items}
    assert [url for url, result in results.items() if result["original"]] == ["/copy"]
    kept = {url for url, result in results.items() if result["reason"] == "other_title"}
    assert kept == {"/1", "/2", "/3", "/wally", "/wallz"}


@pytest.fixture
def url(tmp_path: Path) -> str:
    """Return a store in which a site's footer was learned, and an article has a copy."""
    url = f"sqlite:///{tmp_path / 'dedup.db'}"
    copy = Page("https://b.example/1", lines(article(1, 60) + " added words"))
    with Store.open(url) as store:
        verdicts = store.check([*map(page, range(3)), copy])
    assert [verdict.status for verdict in verdicts] == ["new", "new", "new", "near"]
    return url


def test_compare_and_show_explain_what_was_compared(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dedup = partial(dedup_command, monkeypatch, DEDUP_STORE_URL=url)
    pair = "https://a.example/1", "https://b.example/1"
    done = dedup("compare", *pair, "--explain")
    assert "template of their sites, as known now: 49% of A, 0% of B." in done.out
    assert "Measured now on what is left: resemblance 0.966, containment 1.000." in done.out
    assert "{+added words+}" in done.out
    assert f"Template in A:\n  {' '.join(FOOTER.split()[:15])}" in done.out
    assert "Template in B" not in done.out
    shown = dedup("compare", *pair, "--explain", "--json").json()
    assert shown["resemblance"] < 0.5, "of the whole texts"
    explained = shown["explained"]
    assert explained["measured_now"]["resemblance"] == pytest.approx(0.9655)
    assert explained["template"] == {"a": pytest.approx(SHARE, abs=0.005), "b": 0.0}
    assert explained["left_out"] == {"a": lines(FOOTER).split("\n"), "b": []}
    assert [passage["b"] for passage in explained["passages"] if not passage["same"]] == [
        "added words"
    ]
    whole = dedup("compare", *pair, "--explain", "--json", DEDUP_TEMPLATES=False).json()
    assert whole["explained"]["left_out"] == {"a": [], "b": []}

    assert "template      0.49" in dedup("show", "https://a.example/1").out
    out = dedup("show", "https://b.example/1", "--explain").out
    assert "Beside its original (B), https://a.example/1:" in out
    assert "0% of A, 49% of B" in out
    assert "[-added words-]" in out
    [one] = dedup("show", "https://b.example/1", "--explain", "--json").json()
    assert one["template"] == 0.0
    assert one["explained"]["measured_now"]["resemblance"] == pytest.approx(0.9655)
