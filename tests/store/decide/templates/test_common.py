"""Template that some pages have: quoted by a few, it is still what one page says."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from shingling import Page, Store
from tests.support.invariants import dump
from tests.support.pages import WORDS
from tests.support.stores import rows_of, url_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from shingling import Verdict

SITE = "https://a.example/"
PORT = "https://a.example:8080/"
COMMON = [f"common {at}" for at in range(6)]


def paragraph(name: str, count: int = 40) -> str:
    return " ".join(random.Random(name).choices(WORDS, k=count))


def page(url: str, parts: Iterable[str], title: str) -> Page:
    """Page of one paragraph for each name."""
    return Page(url, "\n".join(map(paragraph, parts)), title=paragraph(f"title {title}", 3))


def others(base: str, count: int, *more: str) -> list[Page]:
    """Pages with three paragraphs of their own each, and some that all of them have."""
    return [
        page(f"{base}{at}", [*(f"{base} {at} {part}" for part in range(3)), *more], f"{base} {at}")
        for at in range(count)
    ]


def pair(store: Store, own: Iterable[str], replaced: Iterable[str] = ()) -> Verdict:
    """Meet two pages with one title, and return the verdict on the second one."""
    store.check([page(f"{SITE}a", [*COMMON, *replaced], "guide")])
    [verdict] = store.check([page(f"{SITE}b", [*COMMON, *own], "guide")])
    assert verdict.status == "near"
    return verdict


@pytest.mark.parametrize("own", [1, 5])
@pytest.mark.parametrize("quoting", [0, 4, 7])
def test_a_passage_that_few_pages_quote_keeps_its_page(
    store: Store, quoting: int, own: int
) -> None:
    passages = [f"own {at}" for at in range(own)]
    store.check(others(f"{SITE}other/", 40))
    store.check(others(f"{SITE}quoting/", quoting, *passages))
    assert pair(store, passages).reason == "own_text"
    assert store.find(f"{SITE}b")[0].own_text is not None, "it is shown, though it is template"


@pytest.mark.parametrize("lines", [1, 5])
def test_a_passage_that_many_pages_show_keeps_none(store: Store, lines: int) -> None:
    notice = [f"notice {at}" for at in range(lines)]
    store.check(others(f"{SITE}other/", 40, *notice))
    assert pair(store, notice).is_duplicate


def test_a_fifth_of_the_pages_is_many_and_a_tenth_is_few(store: Store) -> None:
    store.check(others(f"{SITE}many/", 16, "many"))
    store.check(others(f"{SITE}few/", 6, "few"))
    store.check(others(f"{SITE}other/", 40))
    assert pair(store, ["few"]).reason == "own_text"
    assert pair(store, ["many"]).is_duplicate


def test_what_stands_in_the_place_of_other_template_keeps_no_page(store: Store) -> None:
    """Quotes of the day, of which each is on few pages."""
    for at in range(30):
        store.check(others(f"{SITE}{at}/", 4, f"quote {at}"))
    assert pair(store, ["quote 1"], ["quote 2"]).is_duplicate
    assert pair(store, ["quote 3", "quote 4"], ["quote 5"]).reason == "own_text"


@pytest.mark.parametrize("size", [1, 3, 7])
def test_what_is_counted_does_not_depend_on_batches(tmp_path: Path, size: int) -> None:
    shown = [*others(SITE, 8, "one", "two"), *others(f"{SITE}x/", 8, "two", "three", "one")]
    files = []
    for number in (size, len(shown)):
        files.append(tmp_path / f"{number}.db")
        with Store.open(url_of(files[-1])) as store:
            for start in range(0, len(shown), number):
                store.check(shown[start : start + number])
    assert dump(files[0]) == dump(files[1])


def test_on_a_small_site_four_pages_make_a_paragraph_template(store: Store) -> None:
    store.check(others(f"{SITE}other/", 4, "shown"))
    assert pair(store, ["shown"]).is_duplicate


def test_neighbouring_lines_are_a_paragraph_together(store: Store) -> None:
    """A listing that another page has as well, which holds the whole manual."""
    listing = [" ".join(random.Random(at).choices(WORDS, k=8)) for at in range(5)]

    def with_listing(url: str, title: str, *lines: str) -> Page:
        text = [*map(paragraph, COMMON), *lines]
        return Page(f"{SITE}{url}", "\n".join(text), title=title)

    store.check([with_listing("1/module", "Module")])
    store.check([with_listing("2/all", "The whole manual on one page", *listing)])
    [verdict] = store.check([with_listing("2/module", "Module", *listing)])
    assert verdict.reason == "own_text"


def test_another_port_of_the_host_makes_no_template(store: Store, file: Path) -> None:
    """A port is of the same site, but who answers there may be somebody else."""
    own = ["own 1", "own 2"]
    store.check(others(f"{SITE}other/", 20))
    store.check(others(PORT, 60, *own))
    verdict = pair(store, own)
    assert (verdict.reason, verdict.template) == ("own_text", 0.0)
    assert rows_of(file, "SELECT DISTINCT site FROM site_blocks") == [
        ("a.example",),
        ("a.example:8080",),
    ]
    store.admin.forget(site="a.example")
    assert rows_of(file, "SELECT DISTINCT site FROM site_blocks") == []


def test_lines_that_move_on_any_port_are_those_of_the_site(store: Store) -> None:
    for fetch in range(6):
        store.check(
            Page(
                f"{PORT}{at}?utm_source={fetch}",
                f"Read {fetch + 3} times\n{paragraph(str(at), 90)}",
                title=paragraph(f"title {at}", 3),
            )
            for at in range(6)
        )
    assert [line["line"] for line in store.moving_lines(SITE)] == ["Read 8 times"]
