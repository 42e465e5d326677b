"""What the content of a page shows is compared, whatever its elements are called."""

from __future__ import annotations

import time
from unittest.mock import patch

import pytest

from shingling import extract
from shingling.extraction.main_text import extract_page
from shingling.extraction.trafilatura import FastTrafilaturaPage
from shingling.text import LINK_MARK
from tests.hostile.bombs import BOMBS
from tests.hostile.growth import is_linear
from tests.support.pages import article

SAID = "four hundred grams of dark rye flour"
SHOWN = {
    "list": f"<ul><li>{SAID}</li><li>one cup of sourdough</li></ul>",
    "caption": f"<figure><img src=x alt=no><figcaption>{SAID}</figcaption></figure>",
    "aside": f"<aside><p>{SAID}</p></aside>",
    "time": f"<p>It opens <time>{SAID}</time>.</p>",
    "time of an event": f"<ul><li>A concert, <time>{SAID}</time></li></ul>",
    "details": f"<details><summary>More</summary><p>{SAID}</p></details>",
    "tab": f'<div class="tabs-pane" style="display:none"><p>{SAID}</p></div>',
    "tab panel": f'<div role="tabpanel" hidden><p>{SAID}</p></div>',
    "collapsed": f'<div class="collapsed" hidden><p>{SAID}</p></div>',
    "menu": f'<div class="menu"><p>{SAID}</p></div>',
    "menu by id": f'<div id="menu"><p>{SAID}</p></div>',
    "gallery": f'<div class="photo-gallery"><p>{SAID}</p></div>',
    "legal": f'<section class="legal"><p>{SAID}</p></section>',
    "presentation": f'<div class="x" role="presentation"><p>{SAID}</p></div>',
    "table": f"<table><tr><td>{SAID}</td></tr></table>",
}
AROUND = {
    "nav": f"<nav><ul><li>{SAID}</li></ul></nav>",
    "hidden": f"<p hidden>{SAID}</p>",
    "no display": f'<div class="x" style="display:none"><p>{SAID}</p></div>',
    "list of links": f"<ul><li><a href=a>{SAID}</a></li><li><a href=b>{SAID}</a></li></ul>",
    "bread crumbs": f'<ul class="nav-tabs"><li>{SAID}</li></ul>',
    "date line": f"<div><time>{SAID}</time></div>",
    "date line in a header": f"<header><p>By me, <time>{SAID}</time></p></header>",
    "sidebar": f"<div><aside><p>{SAID}</p></aside></div>",
    "hidden list": f"<ul hidden><li>{SAID}</li></ul>",
    "dialog": f'<div role="dialog" class="modal"><p>{SAID}</p></div>',
    "caption that is a link": f"<figure><figcaption><a href=a>{SAID}</a></figcaption></figure>",
    "list of links in a gallery": f'<div class="gallery"><p><a href=a>{SAID * 40}</a></p></div>',
}


def page(part: str, content: str = "main") -> str:
    body = f"<h1>A page</h1><p>{article(1, 120)}</p>{part}<p>{article(2, 120)}</p>"
    return (
        f"<html><head><title>A page</title></head><body><{content}>{body}</{content}></body></html>"
    )


@pytest.mark.parametrize("content", ["main", "article", 'div role="main"'])
@pytest.mark.parametrize("part", SHOWN.values(), ids=SHOWN)
def test_content_is_shown_whatever_it_is_called(part: str, content: str) -> None:
    assert SAID in (extract(page(part, content)) or "")


@pytest.mark.parametrize("part", AROUND.values(), ids=AROUND)
def test_navigation_and_hidden_text_stay_out(part: str) -> None:
    assert SAID not in (extract(page(part)) or "")


@pytest.mark.parametrize("kind", ["list", "caption", "time"])
def test_a_page_that_does_not_say_where_its_content_is_shows_lists_near_its_body(kind: str) -> None:
    whole = page(SHOWN[kind]).replace("<main>", "").replace("</main>", "")
    assert SAID in (extract(whole) or "")
    assert SAID not in (extract(whole.replace("<body>", "<body><header>")) or "")


def test_a_caption_says_something_if_it_is_more_than_a_name() -> None:
    caption = "<figure><figcaption>{}</figcaption></figure>"
    assert "Ada Lovelace" not in (extract(page(caption.format("Photo: Ada Lovelace, AP"))) or "")
    assert "Ada" in (extract(page(caption.format("Ada Lovelace looks at the new machine"))) or "")
    assert "新しい" in (extract(page(caption.format("新しい機械を見ている科学者たちの写真"))) or "")


def test_the_entries_of_a_list_are_not_numbered() -> None:
    text = extract(page(SHOWN["list"])) or ""
    assert "2." not in text


def test_text_of_scripts_does_not_outweigh_links() -> None:
    script = f"<script>var words = '{article(5, 90)}'</script>"
    part = f'<div class="menu"><a href=a>{SAID}</a>{script}</div>'
    assert SAID not in (extract(page(part)) or "")


@pytest.mark.parametrize("name", ["links in scripts", "less-than signs in a link"])
def test_links_are_counted_in_linear_time(name: str) -> None:
    assert is_linear(extract, BOMBS[name], 400_000)


def test_a_list_of_links_that_is_much_of_the_content_is_content() -> None:
    links = "".join(f"<li><a href={at}>{article(at, 6)}</a></li>" for at in range(40))
    text = extract(page(f"<ul>{links}</ul>")) or ""
    assert article(7, 6) in text
    assert LINK_MARK not in text


def test_lines_that_are_links_alone_are_marked() -> None:
    picture = "<p><a href=p><img src=p></a></p>"
    other = f"<p><a href=a>Another story &amp; more</a></p><p>See <a>this</a></p>{LINK_MARK}"
    text = extract_page(
        page(picture + other + "<div><a href=b><h3>A third  story</h3></a></div>")
    ).text
    marked = [line for line in text.split("\n") if line.endswith(LINK_MARK)]
    assert marked == [f"Another story & more{LINK_MARK}", f"A third story{LINK_MARK}"]
    assert text.count(LINK_MARK) == 2


@pytest.mark.parametrize(("paragraphs", "is_asked"), [(12, True), (4, False)])
def test_trafilatura_is_asked_if_what_was_left_out_outweighs_what_was_taken(
    paragraphs: int, is_asked: bool
) -> None:
    left_out = "".join(f"<p>{article(at, 90)}</p>" for at in range(paragraphs))
    comments = "".join(f"<p>{article(100 + at, 12)}</p>" for at in range(8))
    body = f'<div class="collapsed">{left_out}</div><div><h1>Rain</h1>{comments}</div>'
    html = f"<html><head><title>Rain</title></head><body>{body}</body></html>"
    with patch.object(FastTrafilaturaPage, "parse", return_value=None) as parse:
        assert article(103, 12) in (extract(html) or "")
    assert parse.called is is_asked


@pytest.mark.parametrize("element", ["ul", "aside", "time", "div class=menu", "figure"])
def test_nested_and_many_elements_take_bounded_time(element: str) -> None:
    name = element.split()[0]
    nested = f"<{element}>" * 400 + article(1, 90) + f"</{name}>" * 400
    many = f"<{element}><a href=x>one</a> two</{name}>" * 5000
    full = f"<p>Before.</p><{element}>{'<li><a href=x>one</a> two</li>' * 5000}</{name}>"
    full_and_nested = f"<{element}><li>" * 200 + full + f"</li></{name}>" * 200
    started = time.process_time()
    for part in (nested, many, full, full_and_nested):
        extract(page(part))
    assert time.process_time() - started < 30  # some 3 seconds; without bounds an hour


NAMES = [f"{word}{number}" for number in range(12) for word in ("open", "close", "read", "write")]
LINKED = [f"<a href={name}.html>{name}() of the library</a>" for name in NAMES]
INDEXES = {
    "one list": "<ul>" + "".join(f"<li>{link}</li>" for link in LINKED) + "</ul>",
    "lists in a part": "<div class=a><div class=b><div class=contents>"
    + "".join(f"<h3>{link[9]}</h3><ul><li>{link}</li></ul>" for link in LINKED)
    + "</div></div></div>",
    "lists in a table": "<table><tr>"
    + "".join(f"<td><ul><li>{link}</li></ul></td>" for link in LINKED)
    + "</tr></table>",
    "nested parts": "<div class=a><div class=b><div class=c>"
    + "".join(f"<div class=i><div class=t>{link}</div></div>" for link in LINKED)
    + "</div></div></div>",
}


@pytest.mark.parametrize("index", INDEXES.values(), ids=INDEXES)
def test_an_index_has_the_names_that_it_lists(index: str) -> None:
    body = f"<div id=top><a href=/>Main page</a></div><p>All functions, with links.</p>{index}"
    text = extract(f"<html><head><title>Index</title></head><body>{body}</body></html>") or ""
    assert all(name in text for name in NAMES)


def test_lists_of_links_beside_an_article_stay_out() -> None:
    whole = page(INDEXES["lists in a part"]).replace("<main>", "").replace("</main>", "")
    assert NAMES[0] not in (extract(whole) or "")


def test_a_list_in_a_list_of_links_is_shown_with_it() -> None:
    items = "".join(f"<li>{link}<ul><li>{link}</li></ul></li>" for link in LINKED)
    text = extract(page(f"<ul>{items}</ul>")) or ""
    assert all(text.count(f"{name}()") == 2 for name in NAMES)


@pytest.mark.parametrize("content", ["main", "div id=content"])
def test_declarations_are_content_though_their_types_are_links(content: str) -> None:
    types = " -> ".join(f"<a href={name}.html>{name}</a>" for name in ("Parser", "Document"))
    lines = "".join(
        f'<div class="top"><p class="src"><a id={name}>{name}</a> :: {types}'
        f' <a href="src/{name}.html">Source</a></p></div>'
        for name in NAMES[:24]
    )
    text = extract(page(f'<div id="interface">{lines}</div>', content)) or ""
    assert all(name in text for name in NAMES[:24])


def test_lists_nested_deeply_are_no_index() -> None:
    nested = "<ul><li>" * 400 + "<a href=x>A link</a>" * 4000
    start = time.process_time()
    extract(f"<html><body><p>Hello</p>{nested}</body></html>")
    assert time.process_time() - start < 1
