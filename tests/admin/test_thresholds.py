"""What is told of other thresholds is what a rebuild would give."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import shingling.admin.candidates as module
from shingling import Page, Rules, Store
from shingling.extraction.html import extract_page
from tests.support.installed import ROOT
from tests.support.invariants import ending, text, words
from tests.support.pages import article
from tests.support.stores import url_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from shingling import Candidates

COMPARED = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
LONG = 240  # words, from which on a text says more than its title


def dry_runs(store: Store, rules: Rules) -> dict[float, int]:
    """Pages that are dropped at each threshold, if all are decided again."""
    found = {}
    for threshold in COMPARED:
        asked = Rules(**{**vars(rules), "threshold": threshold})
        changes = store.admin.redecide(asked, dry_run=True)
        found[threshold] = changes.pages - changes.originals[1]
    return found


def told(found: Candidates) -> dict[float, int]:
    return {one.threshold: one.pages for one in found.dropped if one.threshold in COMPARED}


def look(file: Path, rules: Rules, seed: int = 84) -> Candidates:
    with Store.open(url_of(file), rules=rules) as opened:
        return opened.admin.candidates(seed)


def versions(name: str, *, site: str, same_title: bool) -> Iterator[Page]:
    """Yield a page and later versions of it, each of which is like the one before."""
    parts = words(name, LONG)
    for number, count in enumerate((0, 8, 16, 30, 60, 110)):
        parts = [*words(f"{name} {number}", count), *parts[count:]]
        title = name if same_title else f"{name} in the edition of {words(name, 9)[number]}"
        yield Page(f"http://{site}/{name}/{number}", text(parts), title=title)


def templated(site: str, count: int) -> Iterator[Page]:
    """Yield pages of a site that have more of its template than text of their own."""
    frame = "\n".join(article(900 + number, 40) for number in range(4))
    for number in range(count):
        own = article(number // 2, 12 + 30 * (number % 3))
        yield Page(f"http://{site}/{number}", f"{frame}\n{own}", title=f"Entry {words(number, 3)}")


def mixed() -> list[Page]:
    """Pages that are decided by texts, titles, templates, scopes, or a word."""
    shared = words("shared", LONG)
    return [
        *versions("chain", site="a.example", same_title=True),
        *versions("titles", site="b.example", same_title=False),
        *templated("c.example", 24),
        *(Page(f"http://copy{n}.example/", text(shared), title="Copy") for n in range(3)),
        *(
            Page(f"http://e{n}.example/", text(ending(shared, n, 20 * n)), scope="x" * (n % 2))
            for n in range(1, 7)
        ),
        Page("http://short.example/1", "only a few words here", title="Short"),
        Page("http://short.example/2", "only a few words here", title="Short"),
    ]


@pytest.mark.parametrize("rules", [Rules(), Rules(templates=False), Rules(containment=0.9)])
def test_where_all_pages_are_looked_at_it_is_what_a_dry_run_gives(file: Path, rules: Rules) -> None:
    with Store.open(url_of(file), rules=rules) as store:
        for page in mixed():
            store.check([page])
        for same, (a, b) in ((True, (0, 5)), (False, (0, 1))):
            urls = (f"http://a.example/chain/{number}" for number in (a, b))
            store.admin.review(*urls, same=same)
        expected = dry_runs(store, rules)
        stored = store.status()
    found = look(file, rules)
    assert told(found) == expected
    assert (found.stored, found.duplicates) == (stored.pages, stored.duplicates)
    assert found.sampled == stored.pages
    assert len({*expected.values()}) > 4


def sample_site() -> list[Page]:
    """Pages of the sample site: three releases of a manual."""
    pages = []
    for path in sorted((ROOT / "crawler" / "sample").rglob("*.html")):
        read = extract_page(path.read_bytes())
        name = path.relative_to(ROOT / "crawler" / "sample").as_posix()
        pages.append(Page(f"http://manual.example/{name}", read.text, title=read.title))
    return pages


def edited(pages: Sequence[Page], copies: int) -> Iterator[Page]:
    """Yield copies of pages, each of which lacks some of its words."""
    for copy in range(copies):
        for number, page in enumerate(pages):
            assert page.main_text is not None
            parts = page.main_text.text.split()
            gone = (number * 7 + copy * 13) % (len(parts) // 2 + 1)
            address = f"http://copy{copy}.example/{number}"
            yield Page(address, " ".join(parts[gone:]), title=page.title)


def test_a_sample_of_real_pages_tells_nearly_what_a_dry_run_gives(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_PAGES_SAMPLED", 75)
    real = [page for page in sample_site() if page.main_text is not None]
    pages = [*real, *edited(real, 6)]
    with Store.open(url_of(file)) as store:
        store.check(pages)
        expected = dry_runs(store, Rules())
        duplicates = store.status().duplicates
    margin = 1.96 * 0.5 / 75**0.5  # of a share, by 75 pages
    draws = [look(file, Rules(), seed) for seed in range(5)]
    held = [
        abs(expected[one.threshold] / found.stored - one.share) <= margin
        for found in draws
        for one in found.dropped
        if one.threshold in COMPARED
    ]
    assert sum(held) >= 0.9 * len(held)
    for found in draws:
        assert found.sampled < found.stored == len(pages)
        assert found.duplicates == duplicates


def test_pairs_without_a_difference_that_can_be_seen_are_not_asked_about(file: Path) -> None:
    frame = "\n".join(article(number, 60) for number in range(4))
    own = [article(50 + number, 80) for number in range(3)]
    # The template of the site is learned from pages with other titles.
    entries = [
        Page(f"http://a.example/{number}", f"{frame}\n{one}", title=f"Entry {words(number, 2)}")
        for number, one in enumerate(own)
    ]
    others = [
        Page("http://b.example/", own[0].replace(" ", ", ", 3), title="Punctuation alone"),
        Page("http://c.example/", own[1].replace(" ", " one word more ", 1), title="A word more"),
        Page("http://a.example/x", frame, title="Nothing but template"),
    ]
    with Store.open(url_of(file)) as store:
        for page in (*entries, *others):
            store.check([page])
        split = store.split_text(store.find("http://a.example/0")[0])
        assert split is not None
        assert split.compared == own[0]
        expected = dry_runs(store, Rules())
    found = look(file, Rules())
    assert [(pair.url, pair.nearest) for pair in found.pairs] == [
        ("http://c.example/", "http://a.example/1")
    ]
    assert told(found) == expected  # what cannot be seen is decided all the same
