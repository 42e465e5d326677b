"""What is extracted twice: the text that people read, by trafilatura; and what never is again."""

from __future__ import annotations

import pytest

from shingling import Store, extract, sign
from shingling.extraction.extractors import find_extractor
from shingling.extraction.pages import Fetched, PageExtractor
from shingling.sketch import Scheme
from tests.support.crawls import SPIDER as PLAIN, Project
from tests.support.invariants import dump
from tests.support.pages import article, html
from tests.support.serving import serving
from tests.support.stores import rows_of

# Behind the end of the page: trafilatura leaves it out, what compares pages does not.
FOOTER = "<p>The footer that every page of this site has below whatever else it says.</p>"
TOPICS = [html(article(n), f"Page {n}", navigation="Home") + FOOTER for n in range(4)]
PAGES = {f"/{n}": topic for n, topic in enumerate(TOPICS)} | {
    f"/{n}/copy": topic.replace(">Home<", ">Start<") for n, topic in enumerate(TOPICS)
}
FIELDS = '"text": None, "title": None, "language": "", "dedup": None'
SPIDER = PLAIN.replace('"heading": response.css("h1::text").get()', FIELDS)
FILL = ("-s", "DEDUP_FILL_FIELDS=text,title,language")


def arguments(site: str, *paths: str) -> tuple[str, ...]:
    return ("-a", f"site={site}", "-a", f"paths={','.join(paths or PAGES)}")


def test_kept_pages_are_asked_for_their_main_text_and_dropped_ones_never(
    project: Project, site: str
) -> None:
    project.write("shop/spiders/spider.py", SPIDER.replace('"dedup"', '"markdown": "", "dedup"'))
    fill = ("-s", "DEDUP_FILL_FIELDS=text,markdown,title,language")
    crawl = project.crawl(*arguments(site), *fill, "-s", "DEDUP_WORKERS=2")
    assert crawl.stat("item_dropped_reasons_count/DuplicatePage") == "4", crawl.log
    assert crawl.stat("dedup/main_texts") == "8"
    assert crawl.stat("dedup/main_texts_missing") is None
    assert len(crawl.items) == 4
    for item in crawl.items:
        number = int(item["title"].removeprefix("Page "))
        assert article(number).split()[0] in item["text"]
        assert "footer" not in item["text"]
        assert item["language"] == "en"
        assert item["markdown"].startswith(f"# Page {number}\n")


def test_an_item_is_filled_with_what_was_compared_without_marks_of_links(project: Project) -> None:
    spider = SPIDER.replace('"text"', '"compared_text": "", "text"')
    project.write("shop/spiders/spider.py", spider)
    link = "<p><a href='/print'>Print this page</a></p></article>"
    pages = {path: body.replace("</article>", link, 1) for path, body in PAGES.items()}
    with serving(pages) as server:
        settings = ("-s", "DEDUP_FILL_FIELDS=compared_text")
        crawl = project.crawl(*arguments(server.url), *settings)
    assert len(crawl.items) == 4
    for item in crawl.items:
        assert "Print this page" in item["compared_text"].split("\n")


@pytest.mark.parametrize(
    ("fields", "settings", "text"),
    [
        ('"text": None', ("-s", "DEDUP_FILL_FIELDS=title"), ""),
        ('"text": "Own."', FILL, "Own."),
        ('"heading": None', FILL, ""),
        ('"text": None', (*FILL, "-s", "DEDUP_EXTRACTOR=trafilatura"), article(0)[:50]),
        ('"compared_text": None', ("-s", "DEDUP_FILL_FIELDS=compared_text"), article(0)[:50]),
    ],
    ids=["not asked for", "a text of its own", "no such field", "trafilatura decides", "compared"],
)
def test_a_main_text_that_nobody_needs_is_not_made(
    project: Project, site: str, fields: str, settings: tuple[str, ...], text: str
) -> None:
    project.write("shop/spiders/spider.py", SPIDER.replace('"text": None', fields))
    crawl = project.crawl(*arguments(site, "/0"), *settings)
    (item,) = crawl.items
    filled = item.get("text") or item.get("compared_text") or ""
    assert (text in filled, bool(filled)) == (True, bool(text))
    assert ("footer" in filled) == ("compared_text" in item)
    assert crawl.stat("dedup/main_texts") is None


def test_the_text_of_a_page_that_is_known_is_trafilaturas_as_well(
    project: Project, site: str
) -> None:
    first, again = (project.crawl(*arguments(site, "/0", "/1"), *FILL) for _ in range(2))
    assert again.stat("dedup/known_bodies") == "2"
    assert again.stat("dedup/main_texts") == "2"
    filled = [
        {item["url"]: (item["title"], item["text"], item["language"]) for item in crawl.items}
        for crawl in (first, again)
    ]
    assert filled[0] == filled[1]
    assert filled[0][f"{site}/1"][0] == "Page 1"


def test_a_page_that_is_not_modified_is_unchanged_and_gets_the_compared_text(
    project: Project, site: str
) -> None:
    project.crawl(*arguments(site, "/0"), *FILL)
    asking = """self.site + path, headers={"If-None-Match": '"tag"'})"""
    project.write("shop/spiders/spider.py", SPIDER.replace("self.site + path)", asking))
    tagged = ("-s", "HTTPERROR_ALLOW_ALL=True", "-s", "DEDUP_ACTION=tag")
    known = project.crawl(*arguments(site, "/0"), *FILL, *tagged)
    elsewhere = ("-s", "DEDUP_STORE_URL=sqlite:///other.db")
    unknown = project.crawl(*arguments(site, "/0"), *tagged, *elsewhere)
    verdicts = [(item["dedup"]["status"], item["dedup"]["reason"]) for item in unknown.items]
    assert verdicts == [("skipped", "not_modified")]
    assert unknown.stat("dedup/skipped/not_modified") == "1"
    assert known.stat("downloader/response_status_count/304") == "1"
    assert known.items[0]["dedup"]["status"] == "unchanged"
    assert "footer" in known.items[0]["text"], known.log
    assert known.stat("dedup/main_texts_missing") == "1"
    assert "trafilatura found no main text in time for 1 of 1 pages" in known.log


def test_a_duplicate_waits_until_its_original_has_got_its_main_text(
    project: Project, site: str
) -> None:
    """An original that a later pipeline drops for its main text gives its place to the copy."""
    project.write(
        "shop/pipelines.py",
        """
        from scrapy.exceptions import DropItem

        class NotTheFirst:
            def process_item(self, item):
                if item["url"].endswith("/0"):
                    raise DropItem("footer" in item["text"])
                return item
        """,
    )
    pipelines = '{"shop.pipelines.NotTheFirst": 900}'
    crawl = project.crawl(
        *arguments(site, "/0", "/0/copy"),
        *(*FILL, "-s", f"ITEM_PIPELINES={pipelines}"),
        *("-s", "CONCURRENT_REQUESTS=1"),  # the original is met first
    )
    assert [item["url"] for item in crawl.items] == [f"{site}/0/copy"], crawl.log
    assert crawl.stat("dedup/withdrawn") == "1"


def test_a_crawl_that_compares_by_another_extractor_warns(project: Project, site: str) -> None:
    for extractor, warned in (("trafilatura", 0), ("quick", 1), ("quick", 0)):
        crawl = project.crawl(*arguments(site, "/0"), "-s", f"DEDUP_EXTRACTOR={extractor}")
        assert crawl.log.count("texts were extracted by trafilatura") == warned, crawl.log
    status = project.run("dedup", "status").stdout
    assert "extractor   quick (older texts: trafilatura)" in status
    rebuilt = project.run("dedup", "rebuild", "--decide").stdout
    assert "some texts are by trafilatura, others by quick" in rebuilt
    project.run("dedup", "export", "store.jsonl")
    project.run("dedup", "import", "store.jsonl", "--store", "sqlite:///restored.db")
    assert project.dedup("status", "--store", "sqlite:///restored.db")["extractors"] == [
        "trafilatura",
        "quick",
    ]


# A body that is known is not extracted again, and nothing else depends on it


FIRST = {f"/{n}": html(article(n), f"Page {n}", navigation="Home") + FOOTER for n in range(6)}
FIRST["/edited"] = html(article(1).replace(article(1).split()[50], "edited", 1), "Page 1") + FOOTER
FIRST["/empty"] = "<html><body><img src=x></body></html>"
LATER = {
    "/mirror": FIRST["/2"],  # another URL, before the body of /2 is another one
    **FIRST,
    "/2": html(article(2), "Page 2", navigation="Home New") + FOOTER,  # other bytes, same text
    "/3": html(article(30), "Page 3") + FOOTER,  # another text
    "/4": FIRST["/4"].replace("<title>Page 4<", "<title>Another title<"),
    "/empty2": FIRST["/empty"],
}
_ONE_BY_ONE = ("-s", "CONCURRENT_REQUESTS=1")
_SAME = "tests.extraction.extractors.plain"  # as trafilatura, but of the user's own


def test_what_is_known_changes_neither_verdicts_nor_the_store(project: Project) -> None:
    seen = []
    with serving(FIRST) as server:
        for name, extractor in (("known", "trafilatura"), ("read", _SAME)):
            crawls = []
            for pages in (FIRST, LATER):
                server.answers = pages
                done = project.crawl(
                    *("-a", f"site={server.url}", "-a", f"paths={','.join(pages)}", *_ONE_BY_ONE),
                    *("-s", "DEDUP_ACTION=tag", "-s", f"DEDUP_EXTRACTOR={extractor}"),
                    *("-s", f"DEDUP_STORE_URL=sqlite:///{name}.db"),
                )
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


def test_python_extracts_what_the_crawl_has_compared(project: Project, site: str) -> None:
    project.crawl(*arguments(site), "-s", "DEDUP_ACTION=tag")
    with Store.open(project.folder / "dedup.db") as store:
        for path, page in PAGES.items():
            text = extract(page, f"{site}{path}")
            assert text is not None
            assert text != extract(page, f"{site}{path}", extractor="trafilatura")
            assert {match.resemblance for match in store.similar(sign(text, store.scheme))[:1]} == {
                1
            }
            assert store.check_one(f"{site}{path}", text).status == "unchanged"
