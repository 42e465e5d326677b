"""Stores, groups, pairs and matches in a notebook: tables of what pages say, and nothing of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from shingling import Page, Store, compare
from shingling.notebook import ROWS_SHOWN
from shingling.store.model import PAGE_COLUMNS
from tests.support.pages import article

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOSTILE = "<img src=x onerror=alert(1)>\"'&\u202e\x07" + "W" * 9000
SHOWN = "&lt;img src=x onerror=alert(1)&gt;&quot;&#x27;&amp;"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path / 'dedup.db'}") as opened:
        pages = [
            Page(f"https://{site}.example/{n}?{HOSTILE}", text=article(n), title=HOSTILE)
            for n in range(ROWS_SHOWN + 5)
            for site in ("a", "b")
        ]
        opened.check(pages)
        yield opened


def shown(thing: object) -> str:
    """HTML of a thing as a notebook asks for it: only our own tags, and nothing invisible."""
    found: str = thing._repr_html_()  # type: ignore[attr-defined]
    tags = {tag.strip("/") for tag in re.findall(r"<([^> ]*)[^>]*>", found)}
    assert tags <= {"table", "caption", "thead", "tr", "th", "td"}
    assert found.isprintable()
    return found


def test_everything_shows_itself_as_a_table_without_what_pages_would_do(store: Store) -> None:
    number = ROWS_SHOWN + 5
    assert f"<tr><th>duplicates</th><td>{number}</td></tr>" in shown(store)
    assert f"<tr><th>store</th><td>{store.url}</td></tr>" in shown(store)

    group = next(store.groups())
    assert SHOWN in shown(group)
    assert shown(group).count("<tr>") == 2
    groups = store.groups()
    assert f"<caption>the first {ROWS_SHOWN} of them</caption>" in shown(groups)
    assert shown(groups).count("<tr>") == ROWS_SHOWN + 1
    assert len([*groups]) == number, "none is taken"
    assert "caption" not in shown(store.groups(3))
    assert shown(store.groups(3)).count("<tr>") == 4
    assert shown(store.pages(status="exact", limit=2)).count("exact") == 2
    assert f"<th>{PAGE_COLUMNS[0]}</th>" in shown(store.pages())

    matches = store.similar(store.signature(group.original))
    assert [match.page for match in matches] == [group.original, *group.duplicates]
    assert SHOWN in shown(matches)
    assert "<td>1.000</td>" in shown(matches)
    assert shown(store.within(store.signature(group.original), 0)).count("<tr>") == 3
    found, _ = store.measure(article(1), "resemblance", 0.5)
    assert shown(found).count("<tr>") == 3

    pair = compare(article(1), article(1).replace("n", "m", 5))
    assert f"<tr><th>resemblance</th><td>{pair.resemblance:.3f}</td></tr>" in shown(pair)
