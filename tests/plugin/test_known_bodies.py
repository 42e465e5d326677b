"""A body that is known is not extracted again, and nothing else depends on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shingling.extraction.extractors import find_extractor
from shingling.extraction.pages import Fetched, PageExtractor
from shingling.sketch import Scheme
from tests.support.invariants import dump
from tests.support.pages import article, html
from tests.support.serving import serving
from tests.support.stores import rows_of

if TYPE_CHECKING:
    from tests.support.crawls import Project

FOOTER = "<p>The footer that every page of this site has below whatever else it says.</p>"
PAGES = {f"/{n}": html(article(n), f"Page {n}", navigation="Home") + FOOTER for n in range(6)}
PAGES["/edited"] = html(article(1).replace(article(1).split()[50], "edited", 1), "Page 1") + FOOTER
PAGES["/empty"] = "<html><body><img src=x></body></html>"
LATER = {
    **PAGES,
    "/mirror": PAGES["/2"],  # another URL
    "/2": html(article(2), "Page 2", navigation="Home New") + FOOTER,  # other bytes, same text
    "/3": html(article(30), "Page 3") + FOOTER,  # another text
    "/4": PAGES["/4"].replace("<title>Page 4<", "<title>Another title<"),
    "/empty2": PAGES["/empty"],
}
_ONE_BY_ONE = ("-s", "CONCURRENT_REQUESTS=1")
_SAME = "tests.extraction.extractors.plain"  # as the default, but of the user's own


def test_what_is_known_changes_neither_verdicts_nor_the_store(project: Project) -> None:
    seen = []
    with serving(PAGES) as server:
        for name, extractor in (("known", "trafilatura"), ("read", _SAME)):
            crawls = []
            for pages in (PAGES, LATER):
                server.answers = pages
                done = project.crawl(
                    *("-a", f"site={server.url}", "-a", f"paths={','.join(pages)}", *_ONE_BY_ONE),
                    *("-s", "DEDUP_ACTION=tag", "-s", f"DEDUP_EXTRACTOR={extractor}"),
                    *("-s", f"DEDUP_STORE_URL=sqlite:///{name}.db"),
                )
                assert done.status == 0, done.log
                crawls.append(done)
            verdicts = [[(item["url"], item["dedup"]) for item in done.items] for done in crawls]
            known = [done.stat("dedup/known_bodies") for done in crawls]
            seen.append((verdicts, dump(project.folder / f"{name}.db"), known))
    assert seen[0][0] == seen[1][0]
    for table, rows in seen[0][1].items():
        assert rows == seen[1][1][table], table
    # Later: /0, /1, /5, /edited and /mirror.
    assert seen[0][2] == ["0", "5"]
    assert seen[1][2] == ["0", "0"]
    known_pages = "SELECT page_id FROM texts WHERE body_key IS NOT NULL ORDER BY page_id"
    assert rows_of(project.folder / "known.db", known_pages) == [(n,) for n in range(1, 9)]


def test_the_key_of_a_body_is_that_of_all_that_decides_what_is_extracted() -> None:
    extractor = PageExtractor(Scheme())
    body = "<p>café".encode()
    pages = [
        Fetched(body, is_html=True),
        Fetched(body, is_html=True, encoding="utf-8"),
        Fetched(body, is_html=True, encoding="latin-1"),
        Fetched(body + b" ", is_html=True),
        Fetched("<p>café", is_html=True),
        Fetched("<p>café\ud800", is_html=True),
    ]
    keys = [extractor.body_key(page) for page in pages]
    keys.append(PageExtractor(Scheme(), find_extractor("resiliparse")).body_key(pages[0]))
    assert len({*keys}) == len(keys)
    assert all(key is not None and len(key) == 16 for key in keys)
    # Neither the address nor the scheme, which the store has one of, changes what is extracted.
    elsewhere = Fetched(body, is_html=True, url="https://a.example/")
    assert PageExtractor(Scheme(3)).body_key(elsewhere) == keys[0]
    assert PageExtractor(Scheme(), find_extractor(_SAME)).body_key(pages[0]) is None
