"""Pages of absurd markup are refused before they are parsed, and no page that people make."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from shingling.errors import ExtractionError
from shingling.extraction.html import Head
from shingling.extraction.main_text import (
    MAX_ATTRIBUTES,
    MAX_TAGS,
    check_markup,
    extract_head,
    extract_page,
)
from tests.hostile.bombs import BOMBS
from tests.hostile.growth import is_linear
from tests.support.pages import article, html

if TYPE_CHECKING:
    from shingling import Reason

MB = 1_000_000
PAGE = html(article(1))
REFUSED = ["", " without values", " between slashes", " of an unclosed tag"]


def decoded(name: str, size: int) -> str:
    return BOMBS[name](size).decode("utf-16" if name == "UTF-16" else "utf-8", "replace")


def reason_of(page: str) -> Reason | None:
    try:
        check_markup(page)
    except ExtractionError as error:
        return error.reason
    return None


@pytest.mark.parametrize("kind", REFUSED)
def test_a_tag_of_very_many_attributes_is_refused(kind: str) -> None:
    bomb = decoded(f"attributes{kind}", MB)
    for page in (bomb, PAGE + bomb, bomb + PAGE):
        assert reason_of(page) == "too_many_attributes"
    with pytest.raises(ExtractionError, match="more than 10,000 attributes of one tag"):
        extract_page(bomb)


def test_what_a_page_says_of_itself_is_not_looked_for_in_such_a_tag() -> None:
    bomb = BOMBS["attributes without values"]
    assert extract_head(bomb(200_000)) == Head()
    assert is_linear(extract_head, bomb, 200_000)


@pytest.mark.parametrize(
    "attribute",
    [" {n}", "/{n}", " {n}=a", " {n}='b c'", ' {n} = "b c"', "{n}='>'", " ={n}=a", "\n{n}"],
)
def test_attributes_are_counted_however_they_are_written(attribute: str) -> None:
    def page(number: int) -> str:
        attributes = "".join(attribute.format(n=f"a{n:07}") for n in range(number))
        # A quoted value may have a `>` in it, but not from the beginning on.
        return f"{PAGE}<p {'title' * 14_000}=''{attributes}>a"

    assert reason_of(page(MAX_ATTRIBUTES)) == "too_many_attributes"
    assert reason_of(page(MAX_ATTRIBUTES - 2)) is None


def test_a_page_of_very_many_tags_is_refused() -> None:
    assert reason_of("<p>a" * MAX_TAGS) is None
    assert reason_of("<p>a" * (MAX_TAGS + 1)) == "too_many_elements"
    with pytest.raises(ExtractionError, match="more than 500,000 tags"):
        extract_page("<p>a" * (MAX_TAGS + 1))


WORDS = "some words that say nothing, " * 20_000
DATA = json.dumps([{"name": "value", "numbers": [1, 2, 3]}] * 10_000)


@pytest.mark.parametrize(
    "part",
    [
        f"<p>{WORDS}</p>",
        f"<!-- {WORDS} -->",
        f'<p title="{WORDS}">a</p>',
        f"<p data='{DATA}'>a</p>",
        f'<script type="application/json">{DATA}</script>',
        f"<script>if (i >= 2) {{for (i = 0; i<n; i++) {{data = {DATA}}}}}</script>",
        f'<img src="data:image/png;base64,{"A" * MB}">',
        f"<style>{'p a b c {color: red} ' * 20_000}</style>",
        f"<p class='{' '.join(f'c{n}' for n in range(50_000))}'>a</p>",
        "<p " + " ".join(f"data-{n}={n}" for n in range(5_000)) + ">a</p>",
        f"<pre>{'a < b and c ' * 30_000}</pre>",
        "<p>A sentence of seven words, no more.</p>\n" * (10 * MB // 46),
    ],
)
def test_long_parts_of_real_pages_are_accepted(part: str) -> None:
    for page in (part, PAGE + part + PAGE):
        assert reason_of(page) is None


@pytest.mark.parametrize("name", BOMBS)
def test_looking_at_markup_takes_linear_time(name: str) -> None:
    assert is_linear(reason_of, lambda size: decoded(name, size), MB)


def test_many_long_tags_take_linear_time() -> None:
    tag = f"<p {'a=b ' * 5_000}{'title' * 12_000}='>'"
    assert is_linear(reason_of, lambda size: tag * (size // len(tag)), 2 * MB)
