"""What is kept of a site in the store, its bounds, and how it is taken out."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

import shingling.store.decide.check
import shingling.store.schema.site_entries
from shingling import Rules, Store
from shingling.errors import StoreError
from shingling.store.decide.write import write_batch
from tests.store.decide.templates.pages import (
    TEMPLATE,
    A,
    B,
    C,
    article,
    blocks_of,
    check,
    footer,
    headline,
    lines,
    one,
    page,
    pages_of,
    said,
    short_pages,
    statuses,
)
from tests.support.invariants import verify
from tests.support.stores import both_databases, rows_of, url_of

if TYPE_CHECKING:
    from pathlib import Path

    from shingling.store.decide.batch import Batch


@both_databases
def test_two_open_stores_share_what_they_learn(store: Store, file: Path) -> None:
    pages = short_pages(A, 8)
    with Store.open(url_of(file)) as other:
        for at, checked in enumerate(pages):
            verdict = one((store, other)[at % 2], checked)
            assert (verdict.status, bool(verdict.template)) == ("new", at > 0)
        store.admin.forget(site="a.example")
        assert one(other, page(A + "x", footer(A, 8), title="Another")).template == 0.0


def test_a_batch_that_is_rolled_back_teaches_nothing(store: Store, file: Path) -> None:
    pages = pages_of(A, 3, footer(A))

    def fail(batch: Batch) -> None:
        write_batch(batch)
        raise StoreError("no more")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shingling.store.decide.check, "write_batch", fail)
        with pytest.raises(StoreError, match="no more"):
            store.check(pages)
    assert rows_of(file, "SELECT id FROM site_blocks") == []
    shares = [bool(verdict.template) for verdict in check(store, pages)]
    assert shares == [False, True, True]


# Bounds


@both_databases
def test_rows_of_a_site_are_merged(store: Store, file: Path) -> None:
    rows = [
        len(blocks_of(file, "a.example"))
        for checked in pages_of(A, 70, footer(A))
        if check(store, [checked])
    ]
    assert max(rows) == 32
    assert rows.count(1) == 3
    assert sum(blocks_of(file, "a.example")) < 70 * 9
    walls = [page(f"{A}wall{at}", footer(A), title=headline(f"w {at}")) for at in range(2)]
    assert said(check(store, walls)) == [TEMPLATE] * 2


def test_a_site_has_so_many_blocks_at_most(
    store: Store, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shingling.store.schema.site_entries, "MAX_TEMPLATE_BLOCKS", 10)
    monkeypatch.setattr(shingling.store.schema.site_entries, "MAX_OTHER_BLOCKS", 20)
    fewest = []
    for at in range(70):
        around = lines(f"seen twice {at // 2}", 2)
        check(store, [page(f"{A}{at}", article(f"{at}"), around, title=headline(f"{at}"))])
        rows = blocks_of(file, "a.example")
        fewest += rows if len(rows) == 1 else []
    assert fewest[0] <= 9
    assert max(fewest) == 30
    assert len(fewest) == 3
    assert check(store, pages_of(A + "more/", 2, footer(A)))[1].template


@pytest.mark.parametrize("rules", [Rules(), Rules(containment=0.9, threshold=0.8)])
def test_verdicts_do_not_depend_on_the_size_of_batches(file: Path, rules: Rules) -> None:
    random_ = random.Random(1)
    pages = []
    for _ in range(48):
        site = random_.choice((A, B, C))
        which = random_.randrange(24)
        body = article(f"{which}")[: random_.choice((2, 4, 5))]
        title = random_.choice(
            (headline(f"{which}"), headline(f"{which}") + " | " + site, "The Site", None)
        )
        around = footer(site, random_.choice((1, 4, 6)))
        pages.append(page(f"{site}{random_.randrange(50)}", body, around, title=title))
    found = []
    for size in (1, 64):
        path = file.with_stem(f"by{size}")
        with Store.open(url_of(path), rules=rules) as store:
            verdicts = check(store, pages, rules, size)
        verify(path)
        found.append([(verdict, verdict.template) for verdict in verdicts])
    assert {*statuses(verdict for verdict, _ in found[0])} >= {"new", "near", "exact", "skipped"}
    assert found[0] == found[1]


# Taking out


def test_forgetting_a_site_forgets_its_template(store: Store, file: Path) -> None:
    for site in (A, B):
        check(store, pages_of(site, 3, footer(site)))
    assert store.admin.forget(site="a.example") == 3
    assert rows_of(file, "SELECT DISTINCT site FROM site_blocks") == [("b.example",)]
    again = [verdict.template for verdict in check(store, pages_of(A, 2, footer(A)))]
    assert again[0] == 0.0
    assert again[1]
    assert one(store, page(B + "x", footer(B), title="Another")).reason == "template"


def test_forgetting_pages_by_url_leaves_the_template_of_their_site(
    store: Store, file: Path
) -> None:
    pages = pages_of(A, 3, footer(A))
    check(store, pages)
    copy = page(C, [pages[0].text or ""], title="Taken from elsewhere")
    assert one(store, copy).original == pages[0].url
    assert store.admin.forget([one.url for one in pages]) == 3
    verify(file)
    assert [stored.original for stored in store.pages()] == [None]
    assert one(store, page(A + "x", footer(A), title="Another")).reason == "template"
    assert one(store, pages[1]).status == "new"
