"""What has changed in a page is told, and kept with its text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from shingling import Page, Store, Verdict
from shingling.admin.transfer import export
from shingling.store.model import LastChange
from tests.support.commands import dedup_command
from tests.support.pages import article
from tests.support.stores import rows_of, session_of, url_of

if TYPE_CHECKING:
    from pathlib import Path

URL = "https://a.example/1"
LINES = [article(number, 12) for number in range(8)]
TEXT = "\n".join(LINES)


def told(file: Path, *pages: Page, **rules: Any) -> LastChange | None:
    """Return what the last of some pages, which are met in turn, tells, if it is stored so too."""
    with Store.open(url_of(file), **rules) as store:
        for page in pages:
            [verdict] = store.check(page)
        [stored] = store.find(pages[-1].url)
    assert stored.change == verdict.change
    return verdict.change


@pytest.mark.parametrize(
    ("now", "change"),
    [
        ([*LINES[:3], "A line that nobody has seen", *LINES[4:]], (LINES[3], 1, 1)),
        (["A line that nobody has seen", *LINES[1:]], (LINES[0], 1, 1)),
        ([*LINES[:3], "A line that nobody has seen", *LINES[3:]], ("", 1, 0)),
        ([*LINES, "A line that nobody has seen", "And one more"], ("", 2, 0)),
    ],
)
def test_the_first_line_that_is_new_is_told_with_the_one_in_its_place(
    file: Path, now: list[str], change: tuple[str, int, int]
) -> None:
    replaced, came, went = change
    found = told(file, Page(URL, TEXT), Page(URL, "\n".join(now)))
    assert found is not None
    assert (found.line, found.came, found.went) == ("A line that nobody has seen", came, went)
    assert bool(found.replaced) is bool(replaced)
    assert replaced.startswith(found.replaced.removesuffix(" …"))


def test_a_line_with_another_number_replaces_its_own_wherever_it_stands(file: Path) -> None:
    before = [*LINES, "In stock: 7 pieces"]
    now = ["In stock: 5 pieces", *LINES]
    change = told(file, Page(URL, "\n".join(before)), Page(URL, "\n".join(now)))
    assert change == LastChange("In stock: 5 pieces", "In stock: 7 pieces", 1, 1)
    assert Verdict("changed", change=change).as_dict()["change"] == {
        "line": "In stock: 5 pieces",
        "replaced": "In stock: 7 pieces",
        "came": 1,
        "went": 1,
        "former_title": "",
    }


def test_a_line_that_is_gone_is_told_and_order_is_not(file: Path) -> None:
    change = told(file, Page(URL, TEXT), Page(URL, "\n".join(LINES[1:])))
    assert change is not None
    assert (change.line, change.came, change.went) == ("", 0, 1)
    assert LINES[0].startswith(change.replaced.removesuffix(" …"))
    assert told(file.with_stem("b"), Page(URL, TEXT), Page(URL, "\n".join(LINES[::-1]))) is None


def test_the_former_title_is_told_also_if_texts_are_not_kept(file: Path) -> None:
    pages = Page(URL, TEXT, title="Old"), Page(URL, f"{TEXT}\nMore", title="New")
    assert told(file, *pages) == LastChange("More", "", 1, 0, "Old")
    with Store.open(url_of(file.with_stem("b")), store_text=False) as store:
        _, verdict = store.check([pages[0]]) + store.check([pages[1]])
        assert verdict.change == LastChange(former_title="Old")
        [stored] = store.find(URL)
        assert stored.change is None


def test_a_later_change_of_data_alone_does_not_tell_of_an_earlier_text(file: Path) -> None:
    pages = [
        Page(URL, TEXT, fields={"price": 1}),
        Page(URL, f"{TEXT}\nMore", fields={"price": 1}),
        Page(URL, f"{TEXT}\nMore", fields={"price": 2}),
    ]
    assert told(file, *pages[:2]) == LastChange("More", "", 1, 0)
    assert told(file, pages[2]) is None


def test_it_stays_if_a_page_is_met_again_in_other_bytes(file: Path) -> None:
    keys = [bytes([number]) * 16 for number in range(3)]
    first, *again = (Page(URL, f"{TEXT}\nMore", body_key=key) for key in keys)
    with Store.open(url_of(file)) as store:
        for page in (Page(URL, TEXT, body_key=b"x" * 16), first, *again):
            [verdict] = store.check(page)
        assert verdict.status == "unchanged"
        assert store.find(URL)[0].change == LastChange("More", "", 1, 0)
    assert rows_of(file, "SELECT body_key FROM texts") == [(keys[-1],)]


def test_it_stays_while_the_page_is_unchanged_and_goes_if_it_becomes_a_duplicate(
    file: Path,
) -> None:
    other = Page("https://b.example/1", article(90))
    changed = Page(URL, f"{TEXT}\nMore")
    with Store.open(url_of(file)) as store:
        for page in (other, Page(URL, TEXT), changed, changed):
            [verdict] = store.check(page)
        assert (verdict.status, verdict.change) == ("unchanged", None)
        assert store.find(URL)[0].change == LastChange("More", "", 1, 0)
        [verdict] = store.check(Page(URL, article(90)))
        assert verdict.is_duplicate
        assert (verdict.change, store.find(URL)[0].change) == (None, None)


def test_it_takes_at_most_400_bytes_and_goes_with_the_page(file: Path) -> None:
    old, new = ("".join(chr(place + at % 500) for at in range(5000)) for place in (0x4E00, 0x5E00))
    pages = Page(URL, f"{TEXT}\n{old}", title=old), Page(URL, f"{TEXT}\n{new}", title=new)
    change = told(file, *pages)
    assert change is not None
    assert change.line in new
    assert change.former_title in old
    [[size]] = rows_of(file, "SELECT length(CAST(last_change AS BLOB)) FROM texts")
    assert 300 < size <= 400
    with Store.open(url_of(file)) as store:
        assert store.admin.forget([URL]) == 1
    assert rows_of(file, "SELECT * FROM texts") == []


def test_it_is_shown_listed_and_exported(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = Page(URL, f"{TEXT}\nIn stock: 7"), Page(URL, f"{TEXT}\nIn stock: 5")
    told(file, *pages)
    said = '"In stock: 5" is in the place of "In stock: 7"; lines that came: 1, that went: 1'
    for command in (["show", URL], ["list", "--status", "changed"]):
        assert said in dedup_command(monkeypatch, *command, "--store", url_of(file)).out
    command = ["list", "--status", "changed", "--json", "--store", url_of(file)]
    [page] = dedup_command(monkeypatch, *command).json()
    assert page["change"] == {
        "line": "In stock: 5",
        "replaced": "In stock: 7",
        "came": 1,
        "went": 1,
        "former_title": "",
    }
    with Store.open(url_of(file)) as store:
        records = [*export(session_of(store))]
    [record] = [record for record in records if record.kind == "page"]
    assert record.fields["last_change"] == "1 1\nIn stock: 5\nIn stock: 7\n"
