"""The extractor `quick`: one tree for everything, and trafilatura only where it is needed."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from shingling import canonical_words
from shingling.errors import ExtractionError
from shingling.extraction.extractors import BUILT_IN, find_extractor
from shingling.extraction.html import Head
from shingling.extraction.main_text import extract_head, extract_page
from shingling.extraction.pages import Fetched, PageExtractor
from shingling.extraction.resiliparse import QuickPage, ResiliparsePage
from shingling.extraction.trafilatura import FastTrafilaturaPage, TrafilaturaPage
from shingling.sketch import Scheme
from tests.hostile.bombs import BOMBS
from tests.support.installed import ROOT

if TYPE_CHECKING:
    from shingling.extraction.parsed import Parser

PARSERS = (QuickPage, ResiliparsePage, TrafilaturaPage, FastTrafilaturaPage)
SENTENCE = "The new railway bridge over the river was opened on Monday by the mayor of the town. "
ARTICLE = f"<article><p>{SENTENCE * 8}</p></article>"
# Resiliparse leaves out what is marked as navigation, whatever is in it.
HIDDEN = f'<div class="content"><nav><div><p>{SENTENCE * 8}</p></div></nav></div>'


def page(body: str, head: str = "<title>Bridge</title>", attributes: str = 'lang="en"') -> str:
    return f"<!DOCTYPE html><html {attributes}><head>{head}</head><body>{body}</body></html>"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The pages of which trafilatura is asked."""
    pages: list[str] = []
    parse = FastTrafilaturaPage.parse

    def remembered(html: str) -> FastTrafilaturaPage | None:
        pages.append(html)
        return parse(html)

    monkeypatch.setattr(FastTrafilaturaPage, "parse", remembered)
    return pages


@pytest.mark.parametrize("times", [8, 1], ids=["enough", "little, and most of the page"])
def test_trafilatura_is_not_asked_where_resiliparse_finds_a_text(
    asked: list[str], times: int
) -> None:
    main = extract_page(page(f"<nav><a href='/'>Home</a></nav><p>{SENTENCE * times}</p>"))
    assert canonical_words(main.text) == canonical_words(SENTENCE * times)
    assert asked == []


LINE = "One line is all that is found."


@pytest.mark.parametrize(
    ("line", "its_text", "expected"),
    [
        ("", SENTENCE * 8, SENTENCE * 8),
        (f"<p>{LINE}</p>", SENTENCE * 8, SENTENCE * 8),
        (f"<p>{LINE}</p>", "Home", LINE),
        (f"<p>{LINE}</p>", None, LINE),
    ],
)
def test_trafilatura_is_asked_where_resiliparse_finds_little_and_the_longer_text_is_taken(
    asked: list[str],
    monkeypatch: pytest.MonkeyPatch,
    line: str,
    its_text: str | None,
    expected: str,
) -> None:
    html = page(HIDDEN + line)
    monkeypatch.setattr(FastTrafilaturaPage, "main_text", lambda *_: its_text)
    assert canonical_words(extract_page(html).text) == canonical_words(expected)
    assert asked == [html]


# Resiliparse leaves out what is called a permalink, also where it is the article.
LEFT_OUT = '<div class="post permalink"><div class="post-body">{}</div></div>'
SIDEBAR = "".join(
    f"<p>A white paper by vendor {number} has what is to be known about the desks that serve the"
    " people of an office, and why it is better to read it sooner than later.</p>"
    for number in range(9)
)
STORIES = {
    f"{verb} {thing}": "".join(
        f"<p>In part {number} of the story, the people of the town say that they {verb.lower()} the"
        f" {thing}, and that nobody has asked them about the {thing} before.</p>"
        for number in range(part, part + 20)
    )
    for part, (verb, thing) in enumerate(
        [
            *(("Painting", "bridges"), ("Building", "libraries"), ("Feeding", "pigeons")),
            *(("Closing", "theatres"), ("Planting", "chestnuts")),
        ]
    )
}


def test_different_articles_are_taken_though_resiliparse_takes_what_is_beside_all_of_them() -> None:
    own, texts = set(), {}
    for title, story in STORIES.items():
        content = LEFT_OUT.format(f"<h1>{title}</h1>{story}")
        html = page(f"{content}<div>{SIDEBAR}</div>", f"<title>{title} | Town News</title>")
        own.add(extract_page(html, parser=ResiliparsePage).text)
        texts[title] = extract_page(html).text
    assert len(own) == 1, "the article is in it"
    for title, text in texts.items():
        assert f"{title.split()[1]} before" in text
        assert "white paper" not in text
    assert len({*texts.values()}) == len(STORIES)


NOTICE = f"This site needs JavaScript. Please switch it on in your browser. {SENTENCE * 8}"


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize(
    "notice",
    [
        f"<noscript>{NOTICE}</noscript>",
        f"<NOSCRIPT class=a><div><p>{NOTICE}</p></div></NoScript >",
        f"<noscript>{NOTICE}",
    ],
    ids=["text", "elements", "without its end"],
)
def test_a_page_whose_words_are_for_browsers_without_scripts_has_no_main_text(
    parser: Parser, notice: str
) -> None:
    with pytest.raises(ExtractionError, match="no main text"):
        extract_page(page(f'{notice}<div id="root"></div>'), parser=parser)


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize(
    "image",
    [
        "<noscript><img src=a.jpg></noscript>",
        "<noscript><p><img src=a.jpg></noscript>",
        "<noscript><div><a href=a><img src=a.jpg></noscript>",
        "<!-- <noscript> -->",
        "<script>document.write('<noscript>')</script>",
        "<b data-image='<noscript><img></noscript>'></b>",
    ],
)
def test_images_for_browsers_without_scripts_cost_no_text(parser: Parser, image: str) -> None:
    paragraphs = [f"<p>{SENTENCE}{image}That is paragraph {number}.</p>" for number in range(8)]
    html = page(f"{image}<article>{image.join(paragraphs)}</article>")
    text = extract_page(html, parser=parser).text
    assert [n for n in range(8) if f"That is paragraph {n}." not in text] == []


def test_resiliparse_alone_does_not_ask_trafilatura(asked: list[str]) -> None:
    with pytest.raises(ExtractionError, match="no main text"):
        extract_page(page(HIDDEN), parser=ResiliparsePage)
    assert asked == []


WORKER = """
import json, pickle, sys

extractor, fetched = pickle.load(sys.stdin.buffer)
answer = extractor.prepare()
assert answer(("extract", fetched)).reason is None
answer(("head", fetched))
print(json.dumps([*sys.modules]))
"""


def test_a_worker_imports_neither_trafilatura_nor_lxml_for_plain_pages() -> None:
    fetched = Fetched(page(ARTICLE).encode(), is_html=True, url="http://a.example/")
    done = subprocess.run(
        [sys.executable, "-c", WORKER],
        input=pickle.dumps((PageExtractor(Scheme()), fetched)),
        capture_output=True,
        cwd=ROOT,
        check=True,
    )
    modules = {*json.loads(done.stdout)}
    assert "resiliparse" in modules
    assert not modules & {"trafilatura", "lxml", "lxml.etree", "scrapy", "sqlalchemy"}


WITHOUT_RESILIPARSE = """
import logging, sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "resiliparse":
            raise ImportError("no wheel for this platform")

sys.meta_path.insert(0, Blocker())
logging.basicConfig(format="%(levelname)s %(message)s")
from shingling.errors import SettingsError
from shingling.extraction.extractors import find_extractor
from shingling.extraction.main_text import extract_head, extract_page
from shingling.extraction.pages import PageExtractor
from shingling.sketch import Scheme

html = sys.stdin.read()
for _ in range(3):
    extractor = find_extractor("quick")
    main = extract_page(html)
assert PageExtractor(Scheme()).extractor == extractor
try:
    find_extractor("resiliparse").load_function()
except SettingsError as error:
    assert str(error).endswith("pip install resiliparse")
else:
    raise AssertionError
print([main.text, main.title, main.language, *extract_head(html)])
print(extractor.version())
print(find_extractor("os.path.join").parser)
"""


def test_without_resiliparse_quick_is_the_fast_mode_of_trafilatura_which_is_said_once() -> None:
    html = page(ARTICLE, '<title>Bridge</title><link rel="canonical" href="http://a.example/b">')
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_RESILIPARSE],
        input=html,
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    first, version, parser = done.stdout.splitlines()
    expected = extract_page(html, parser=FastTrafilaturaPage)
    head = ["Bridge", "en", "http://a.example/b"]
    assert first == str([expected.text, expected.title, expected.language, *head])
    assert version == "quick " + str(BUILT_IN["trafilatura"].version()).partition(" ")[2]
    assert version != find_extractor("quick").version()
    assert parser == "shingling.extraction.trafilatura:FastTrafilaturaPage"
    [said] = done.stderr.splitlines()
    assert said.startswith("WARNING Resiliparse cannot be imported (")


HEADS = {
    "plain": "<title>Bridge</title>",
    "two titles": "<title>One</title><title>Two</title>",
    "references": "<title>Fish &amp; chips &#8211; &lt;b&gt;</title>",
    "link": '<title>T</title><link rel="stylesheet" href="a"><link REL="x Canonical" href=" /b ">',
    "two links": "<link rel=canonical href=/a><link rel=canonical href=/b>",
    "no href": "<link rel=canonical><link rel=canonical href=/b>",
    "control": "<title>a\x1b[31mred\x07</title>",
    "noscript": "<noscript><link rel=canonical href=/c></noscript><title>T</title>",
}


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
@pytest.mark.parametrize("attributes", ["", 'lang="de-AT"', 'xml:lang="fr" lang=""'])
def test_resiliparse_reads_title_language_and_link_as_lxml_does(head: str, attributes: str) -> None:
    html = page(f"<svg><title>Icon</title></svg>{ARTICLE}", head, attributes)
    quick, careful = QuickPage.parse(html), TrafilaturaPage.parse(html)
    assert quick is not None
    assert careful is not None
    assert quick.title == careful.title
    assert quick.canonical == careful.canonical
    # lxml does not see the attribute xml:lang of HTML.
    assert quick.language == ("fr" if "xml:lang" in attributes else careful.language)


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('<script type="application/ld+json">{"a": 1}</script>', True),
        ("<script>window.__NEXT_DATA__ = 1</script>", True),
        ("<div data-props='{\"a\": 1}'></div>", True),
        ('<div data-props="[{&quot;a&quot;: 1}]"></div>', True),
        ('<script>var x = {"a": 1}</script>', False),
        ("<p>json</p>", False),
    ],
)
def test_data_for_scripts_is_seen_by_every_parser(
    parser: Parser, body: str, expected: bool
) -> None:
    parsed = parser.parse(page(f"<p>{SENTENCE}</p>{body}"))
    assert parsed is not None
    assert parsed.has_data is expected


HOSTILE = [
    *("nested divs", "nested and closed divs", "nested lists", "nested tables", "nested svg"),
    *("nested templates", "misnested b", "comments", "comments without their end", "ampersands"),
    *("less-than signs", "long attribute without its end", "references to controls", "NULs"),
    *("links in scripts", "less-than signs in a link"),
]


@pytest.mark.parametrize("parser", [QuickPage, TrafilaturaPage])
@pytest.mark.parametrize("name", [*HOSTILE, "frames"])
def test_a_hostile_page_has_a_clean_text_or_a_reason(parser: Parser, name: str) -> None:
    bomb = BOMBS[name](200_000).decode() if name in BOMBS else "<frameset><frame></frameset>"
    for body in (bomb + ARTICLE, ARTICLE + bomb):
        try:
            text = extract_page(page(body), parser=parser).text
        except ExtractionError as error:
            assert error.reason in ("no_main_text", "extraction_failed")  # noqa: PT017 (or a text)
        else:
            assert text.encode()
            assert not {*map(chr, range(9))} & {*text}
        assert extract_head(page(body), parser=parser).title == "Bridge"


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize("body", [" \n", "just words", '["<p>words</p>"]', "<?xml?><rss/>"])
def test_what_is_not_html_has_no_main_text(parser: Parser, body: str) -> None:
    with pytest.raises(ExtractionError) as caught:
        extract_page(body, parser=parser)
    assert caught.value.reason == "no_main_text"
    assert extract_head("", parser=parser) == Head()


@pytest.mark.parametrize(
    ("error", "reason"),
    [(RecursionError("no"), "extraction_failed"), (MemoryError("no"), "too_much_memory")],
)
@pytest.mark.parametrize("method", ["parse", "main_text", "title", "has_data"])
def test_whatever_a_parser_raises_is_a_reason(
    monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str, method: str
) -> None:
    def fail(*_: object) -> None:
        raise error

    replaced = property(fail) if method in ("title", "has_data") else fail
    monkeypatch.setattr(QuickPage, method, replaced)
    with pytest.raises(ExtractionError) as caught:
        extract_page(page(f"<p>{SENTENCE}</p>"), parser=QuickPage)
    assert caught.value.reason == reason
    assert caught.value.__cause__ is error
