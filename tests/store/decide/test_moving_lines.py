"""Lines of a site that move from fetch to fetch, and the facts that look like them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from shingling import Page, Rules, Store
from shingling.admin.records import read_export
from shingling.admin.transfer import export, restore
from shingling.store.forgetting import Chosen, forget
from shingling.store.moving import LineCounts, LinesMet, has_price
from shingling.store.templates import merge_newest_lines, pack_lines
from shingling.store.urls import without_tracking
from tests.support.invariants import text, verify, words
from tests.support.stores import both_databases, url_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from shingling import Verdict

SITE = "https://a.example/"
IGNORE = Rules(moving_lines="ignore")


def article(name: int, *lines: str, path: str | None = None, fields: Any = None) -> Page:
    """Page of a title and four paragraphs of its own, with some lines before them."""
    paragraphs = [text(words(f"{name} {at}", 40)) for at in range(4)]
    return Page(
        f"{SITE}{name if path is None else path}",
        "\n".join([*lines, *paragraphs]),
        title=f"On {text(words(name, 3))}",
        fetched=1,
        fields=fields,
    )


def crawled(store: Store, pages: Sequence[Page], rules: Rules | None = None) -> list[Verdict]:
    """Meet pages in a crawl of their own, which ends."""
    run = store.start_run("spider", is_crawl=True)
    verdicts = [store.check([page], rules=rules, run=run)[0] for page in pages]
    store.finish_run(run, "finished")
    return verdicts


def days(
    store: Store, rules: Rules, pages: Callable[[int], Sequence[Page]], number: int
) -> list[int]:
    """Count the pages that come out on each day, if unchanged ones are dropped."""
    return [
        sum(verdict.repeats is None for verdict in crawled(store, pages(day), rules))
        for day in range(number)
    ]


def dropped(verdicts: Iterable[Verdict]) -> int:
    return sum(verdict.is_duplicate for verdict in verdicts)


# In one crawl


FLATS = {
    "a table": "Rooms\t\t{rooms}",
    "a list": "• Rooms: {rooms}",
    "label above value": "Rooms\n{rooms}",
    "Arabic digits": "عدد الغرف\n{rooms}",
    "Japanese": "部屋数 {rooms}室",
}


@both_databases
@pytest.mark.parametrize("line", FLATS.values(), ids=FLATS)
def test_flats_that_differ_in_a_line_of_the_template_are_kept(store: Store, line: str) -> None:
    pages = [
        Page(
            f"{SITE}{house}/{flat}",
            f"{line.format(rooms=flat + 2)}\n{article(house).text}",
            title=article(house).title,
            fetched=1,
        )
        for house in range(8)
        for flat in range(4)
    ]
    first = crawled(store, pages)
    assert dropped(first) == 0
    assert first[-1].own_text is not None
    assert dropped(crawled(store, pages)) == 0


NOISE = {
    "views": "Read {0:,} times",
    "sign": "Index {1:+.2f} %",
    "label": "Views\n{0}",
    "digits": "पढ़ा गया {0} बार",
    "Japanese": "{0}分前に更新",
    "hexadecimal": "Request id {0:08x}ab12cd",
}
FORMS = ("?utm_source=mail", "?sid=5f3a", ";jsessionid=7", "?id=1&gclid=x")


@pytest.mark.parametrize("line", NOISE.values(), ids=NOISE)
def test_after_four_copies_a_number_that_moves_keeps_no_copy(store: Store, line: str) -> None:
    def page(name: int, fetch: int, path: str) -> Page:
        lines = line.format(917 * fetch + 31 * name, fetch - name / 7)
        return article(name, lines, path=path)

    originals = [page(name, 1, f"{name}?id=1") for name in range(12)]
    crawled(store, originals)
    copies = [page(name, 2, f"{name}{FORMS[-1]}") for name in range(12)]
    kept = [
        copy
        for copy, verdict in zip(copies, crawled(store, copies), strict=True)
        if not verdict.is_duplicate
    ]
    assert kept == copies[:3]
    again = crawled(
        store,
        [
            *(page(name, 3, f"{name}?id=1") for name in range(12)),
            *(page(name, 4, f"{name}{FORMS[-1]}") for name in range(12)),
        ],
    )
    assert [verdict.is_duplicate for verdict in again] == [False] * 12 + [True] * 12


def test_a_line_that_differs_between_pages_that_are_alike_does_not_move(store: Store) -> None:
    flats = [
        article(house, f"Number {house}{flat}", path=f"{house}/{flat}")
        for house in range(20)
        for flat in range(3)
    ]
    crawled(store, flats)
    assert store.moving_lines(SITE) == []


def test_a_line_that_stands_between_others_moves_only_if_it_moves_much_more_often(
    store: Store,
) -> None:
    def rated(name: int, stars: int, path: str = "") -> Page:
        return article(name, f"Rated {stars} of 9", path=f"{name}{path}")

    crawled(store, [rated(name, 1) for name in range(30)])
    crawled(store, [rated(name, 1, FORMS[0]) for name in range(2)])
    moved = crawled(store, [rated(name, 2, FORMS[1]) for name in range(2, 10)])
    assert [verdict.is_duplicate for verdict in moved] == [False] * 7 + [True]


@pytest.mark.parametrize("price", ["{}.50 €", "USD {}", "{} zł", "{}円", "{} cents"])
def test_a_price_never_moves(store: Store, price: str) -> None:
    def sold(name: int, amount: int, path: str = "") -> Page:
        return article(name, f"Price: {price.format(amount)}", path=f"{name}{path}")

    crawled(store, [sold(name, name) for name in range(12)])
    copies = [sold(name, name + 50, FORMS[0]) for name in range(12)]
    assert dropped(crawled(store, copies)) == 0
    assert store.moving_lines(SITE) == []
    assert (
        days(store, IGNORE, lambda day: [sold(name, day + 80) for name in range(12)], 4) == [12] * 4
    )


def test_what_the_item_says_too_does_not_move(store: Store) -> None:
    def sold(name: int, stock: int, path: str = "") -> Page:
        return article(name, f"Stock: {stock}", path=f"{name}{path}", fields={"stock": stock})

    for day in range(4):
        crawled(store, [sold(name, name + day) for name in range(12)])
    assert store.moving_lines(SITE) == []


def test_another_site_teaches_nothing(store: Store) -> None:
    noise = [article(name, f"Read {name} times") for name in range(12)]
    again = [
        article(name, f"Read {name + 50} times", path=f"{name}{FORMS[0]}") for name in range(12)
    ]
    crawled(store, [*noise, *again])
    [line] = store.moving_lines(SITE)
    assert line == {"stood": 0, "moved": 12, "keeps_moving": False, "line": "Read 61 times"}
    assert store.moving_lines("https://b.example/") == []


def test_without_templates_a_number_always_counts(store: Store) -> None:
    rules = Rules(templates=False, moving_lines="ignore")
    pages = [article(name, f"Read {name} times") for name in range(12)]
    again = [
        article(name, f"Read {name + 50} times", path=f"{name}{FORMS[0]}") for name in range(12)
    ]
    assert dropped(crawled(store, [*pages, *again], rules)) == 0


# Met again


MOVING = {
    "hours": lambda name, day: f"Posted {name + 5 * day} hours ago",
    "readers": lambda name, day: f"{7 * name + 41 * day} people read this",
    "label": lambda name, day: f"Comments\n{name + day}",
    "date": lambda name, day: f"{text(words(day, 1))}, {day + 3} {text(words(day // 3, 1))} 2026",
    "quote": lambda name, day: text(words(f"quote {day}", 8)),
    "links": lambda name, day: "\n".join(text(words(f"link {day} {at}", 6)) for at in range(5)),
}


@both_databases
@pytest.mark.parametrize("line", MOVING.values(), ids=MOVING)
def test_pages_that_change_in_moving_lines_alone_are_unchanged_if_these_are_ignored(
    store: Store, line: Callable[[int, int], str]
) -> None:
    def pages(day: int) -> list[Page]:
        return [article(name, line(name, day)) for name in range(20)]

    first, _, third, fourth = days(store, IGNORE, pages, 4)
    assert first == 20
    assert third <= 2
    assert fourth <= 2
    [_verdict] = crawled(store, [article(0, line(0, 9))], Rules())
    again = crawled(store, [article(name, line(name, 10)) for name in range(3)], Rules())
    assert {one.status for one in again} == {"changed"}
    assert again[-1].reason == "moving_lines"
    assert again[-1].moving_lines[0] in line(2, 10).replace("\n", " ")
    assert again[-1].repeats is None
    assert not again[-1].is_duplicate


DATA: dict[str, Callable[[int, int], str]] = {
    "price": lambda name, day: f"Price: {400 + name + 9 * (day > 1)} cents",
    "in prose": lambda name, day: f"We open at {8 + (day > 1)} in the morning on every day of it.",
    "word": lambda name, day: f"The office {name} is {'closed' if day > 1 else 'open'}",
    "state": lambda name, day: "Sold out" if day > 1 and name % 5 == 2 else "In stock",
    "badge": lambda name, day: "Recommended" if day > 1 and name % 5 == 2 else "",
    "sentence": lambda name, day: text(words(f"{name} {day > 1}", 12)),
}


@pytest.mark.parametrize("line", DATA.values(), ids=DATA)
@pytest.mark.parametrize("noise", [False, True])
def test_what_really_changes_comes_out_beside_lines_that_move(
    store: Store, line: Callable[[int, int], str], noise: bool
) -> None:
    def page(name: int, day: int) -> Page:
        lines = (f"Posted {name + 5 * day} hours ago",) if noise else ()
        return article(name, *lines, line(name, day if name % 5 == 2 else 0))

    for day in range(5):
        pages = [page(name, day) for name in range(25)]
        verdicts = crawled(store, pages, IGNORE)
        if day == 2:
            changed = [verdict.repeats is None for verdict in verdicts]
            assert changed == [name % 5 == 2 for name in range(25)]


def test_a_day_of_sale_comes_out_and_so_does_the_day_after(store: Store) -> None:
    def pages(day: int) -> list[Page]:
        return [article(name, f"Price: {400 + name - 50 * (day == 3)}") for name in range(40)]

    assert days(store, IGNORE, pages, 6) == [40, 0, 0, 40, 40, 0]


def test_writers_that_begin_together_are_one_crawl(store: Store, file: Path) -> None:
    """The prices of a day are no lines that have moved in several crawls."""

    def day_of_four(number: int) -> int:
        with Store.open(url_of(file), rules=IGNORE) as other:
            stores = [store, other] * 2
            runs = [one.start_run("spider", is_crawl=True) for one in stores]
            came = 0
            for name in range(40):
                page = article(name, f"Price: {400 + name - 50 * number}")
                [verdict] = stores[name % 4].check([page], rules=IGNORE, run=runs[name % 4])
                came += verdict.repeats is None
            for one, run in zip(stores, runs, strict=True):
                one.finish_run(run, "finished")
        return came

    assert [day_of_four(day) for day in (0, 1)] == [40, 40]


def test_a_page_under_another_title_or_with_other_data_has_changed(store: Store) -> None:
    for day in range(4):
        crawled(
            store, [article(name, f"Read {name + 9 * day} times") for name in range(12)], IGNORE
        )
    page = article(3, "Read 99 times")
    retitled = Page(page.url, page.text, title="Another one", fetched=1)
    [verdict] = crawled(store, [retitled], IGNORE)
    assert (verdict.status, verdict.moving_lines) == ("changed", ())


def test_what_is_known_of_lines_is_exported_and_forgotten(store: Store, file: Path) -> None:
    for day in range(4):
        crawled(store, [article(name, f"Read {name + 9 * day} times") for name in range(12)])
    known = store.moving_lines(SITE)
    assert known == [{"stood": 0, "moved": 36, "keeps_moving": True, "line": "Read 38 times"}]
    records = export(store._session)
    with Store.open(url_of(file.with_name("restored.db"))) as restored:
        restore(restored._session, *read_export(records))
        assert restored.moving_lines(SITE) == known
    forget(store._session, Chosen(site="a.example", only_learned=True))
    assert store.moving_lines(SITE) == []
    verify(file)


# Parts


def test_counts_are_the_same_however_rows_are_merged() -> None:
    rows = [
        pack_lines({1: LineCounts(0, 3, 2), 2: LineCounts(1, 0)}),
        pack_lines({1: LineCounts(2, 1, 2)}),
        pack_lines({1: LineCounts(0, 1, 5)}),
    ]
    merged = merge_newest_lines(rows)
    assert merged == pack_lines({2: LineCounts(1), 1: LineCounts(2, 5, 5, 2)})
    assert merge_newest_lines([rows[2], None, merge_newest_lines(rows[:2])]) == merged


@pytest.mark.parametrize(
    ("counts", "moves", "keeps_moving"),
    [
        (LineCounts(0, 3, 1), False, False),
        (LineCounts(0, 4, 1), True, False),
        (LineCounts(1, 4, 1), True, False),
        (LineCounts(2, 7, 3, 2), False, False),
        (LineCounts(0, 8, 1), True, False),
        (LineCounts(0, 7, 2, 1), True, False),
        (LineCounts(2, 8, 2, 1), True, True),
        (LineCounts(3, 8, 2, 1), False, False),
    ],
)
def test_a_line_moves_by_its_counts(counts: LineCounts, moves: bool, keeps_moving: bool) -> None:
    assert (counts.moves, counts.keeps_moving) == (moves, keeps_moving)


def test_so_many_lines_are_met_in_a_crawl_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shingling.store.moving._MAX_MET", 4)
    met = LinesMet(1)
    met.note([(1, True), (2, False)], [3], 7)
    assert met.note([(1, True), (2, False)], [], 8)
    met.note([], [4], 9)
    assert not met.note([(1, True), (2, False)], [], 8)
    met.note([(5, True)], [], 9)
    assert met.size == 4


@pytest.mark.parametrize(
    "line", ["5 €", "$5", "EUR 5", "5 eur", "5,- kr", "5 zł", "300元", "₹ 5", "5 cents"]
)
def test_a_line_with_a_currency_has_a_price(line: str) -> None:
    assert has_price(["Rooms: 3", line])
    assert not has_price(["5 hours", "3 try-outs", "5 europeans", "12 kråkor"])


@pytest.mark.parametrize(
    ("url", "other", "same"),
    [
        ("https://www.a.example/b/", "http://a.example/b", True),
        ("https://a.example/b?utm_source=x&utm_medium=y", "https://a.example/b#c", True),
        ("https://a.example/b?sid=1&p=2", "https://a.example/b?p=2&PHPSESSID=3", True),
        ("https://a.example/b;jsessionid=5A?p=2", "https://a.example/b?p=2", True),
        ("https://a.example/b?id=1", "https://a.example/b?id=2", False),
        ("https://a.example/b?ref=1", "https://a.example/b", False),
        ("https://a.example/b?size=38", "https://a.example/b?size=39", False),
        ("https://a.example/sid=1", "https://a.example/sid=2", False),
    ],
)
def test_urls_are_one_without_tracking_and_sessions(url: str, other: str, same: bool) -> None:
    assert (without_tracking(url) == without_tracking(other)) is same
