"""Every number on the pages is a link to a list of exactly so many rows, also as JSON and CSV."""

from __future__ import annotations

import csv
import html
import io
import re
from collections import Counter
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from tests.web.conftest import serving
from tests.web.stores import fill_with_editions, fill_with_news, fill_with_runs
from tests.web.test_data import data_of
from tests.web.test_requests import ask, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.web.conftest import Served

STORES = {"news": fill_with_news, "runs": fill_with_runs, "editions": fill_with_editions}
MOST = 400  # pages that are looked at
ALIKE = 3  # addresses that differ in a value alone: so many are as good as all
ALIKE_LISTS = 12  # and so many lists, of which only the rows are counted


def pages_of(served: Served) -> Iterator[tuple[str, str]]:
    """Addresses and HTML of all pages that links lead to, from the first one on."""
    waiting, asked, kinds = ["/overview"], set[str](), Counter[str]()
    while waiting and len(asked) < MOST:
        address = waiting.pop(0)
        if address in asked or kinds[kind_of(address)] >= ALIKE:
            continue
        asked.add(address)
        kinds[kind_of(address)] += 1
        status, _, page = ask(served, address)
        assert status == (404 if "/pair" in address and "nowhere" in address else 200), address
        yield address, page
        links = (html.unescape(link) for link in re.findall(r'href="(/[^"]*)"', page))
        waiting += [link for link in links if not re.match(r"/static|/[a-z]+\.(json|csv)", link)]


def rows_of(served: Served, address: str) -> int:
    """Rows that a list has as CSV."""
    path, _, query = address.partition("?")
    _, headers, body = ask(served, f"{path}.csv?{query}")
    assert "link" not in headers
    return len([*csv.DictReader(io.StringIO(body))])


def rows_of_parts(served: Served, address: str) -> list[int]:
    """Rows that a list has as JSON, and as CSV, through all of its parts."""
    path, _, query = address.partition("?")
    numbers = []
    for ending in (".json", ".csv"):
        rows, following = 0, f"{path}{ending}?size=20&{query}"
        while following:
            if ending == ".json":
                part = data_of(served, following)
                rows, following = rows + len(part["rows"]), part["next"]
            else:
                _, headers, body = ask(served, following)
                rows += len([*csv.DictReader(io.StringIO(body))])
                following = headers.get("link", "").partition("<")[2].partition(">")[0]
        numbers.append(rows)
    return numbers


@pytest.mark.parametrize("fill", STORES.values(), ids=STORES)
def test_every_number_leads_to_exactly_what_it_counts(
    tmp_path: Path, fill: Callable[[str], None]
) -> None:
    with serving(tmp_path / "store", fill) as served:
        numbers: dict[str, set[int]] = {}
        kinds = set()
        for address, page in pages_of(served):
            kinds.add(urlsplit(address).path)
            for link, number in re.findall(r'<a href="([^"]*)" data-number="(\d+)"', page):
                numbers.setdefault(html.unescape(link), set()).add(int(number))
        assert kinds == {
            *("/groups", "/group", "/pair", "/pages", "/page", "/runs", "/run", "/reviews"),
            *("/overview", "/threshold", "/audit", "/savings", "/pairs", "/copies"),
        }
        assert len(numbers) >= 10
        kinds_of_lists = Counter[str]()
        for link, printed in numbers.items():
            kinds_of_lists[kind_of(link)] += 1
            if kinds_of_lists[kind_of(link)] > ALIKE_LISTS:
                continue
            rows = rows_of(served, link)
            assert printed == {rows}, link
            if kinds_of_lists[kind_of(link)] <= ALIKE:
                assert rows_of_parts(served, link) == [rows, rows], link
