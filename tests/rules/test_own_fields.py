"""What items say, and which of it tells them apart."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, strategies as st

from shingling.rules.own_fields import changed_fields, differing
from shingling.rules.values import number_in, own_fields

URL = "https://a.example/story/4711"
NOW = time.time()


def packed(
    values: dict[str, Any],
    *,
    title: str | None = None,
    is_document: bool = False,
    url: str = URL,
    now: float = NOW,
) -> bytes:
    fields = own_fields(
        values.items(),
        [url],
        title=("title", title),
        is_document=is_document,
        began=now - 1000,
        arrived=now,
    )
    return fields.packed


def compare(a: Any, b: Any, *, same_site: bool, is_document: bool = False) -> tuple[str, ...]:
    one, two = (packed({"it": value}, is_document=is_document) for value in (a, b))
    return differing(one, two, same_site=same_site)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (49.9, "49.90"),
        ("€ 49,90", "49.9 €"),
        ("1.234,50 EUR", "EUR 1,234.5"),
        ("+49 (30) 123-4567", "+49 30 1234567"),
        ("12kg", "12 kg"),
        (5, 5.0),
        ("$1,299.00", "1299 $"),
        ("Price: £49.90 incl. VAT", "49.9 £"),
        ("−7", "-7"),
        ({"price": "9.50", "by": "one"}, {"by": "two", "price": 9.5}),
    ],
)
def test_numbers_are_equal_however_they_are_written(a: Any, b: Any) -> None:
    assert compare(a, b, same_site=False, is_document=True) == ()


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("49.90 EUR", "49.90 USD"),
        ("350 MB", "285 MB"),
        (52.52, 52.53),
        ("52.52; -13.4", "52.52; 13.4"),
        ([1, 2], [2, 1]),
        ({"price": 1, "stock": 2}, {"price": 2, "stock": 1}),
        ("030 123456", "030 123457"),
        ("5 % off", "7 % off"),
        ("Our price today: ₹ 1,499", "Our price today: ₹ 1,599"),
        (0, None),
        (-3, 3),
    ],
)
def test_other_numbers_tell_documents_of_two_sites_apart(a: Any, b: Any) -> None:
    assert compare(a, b, same_site=False, is_document=True) == ("it",)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("2026-11-25", "25 November 2026"),
        ("25.11.2026", "11/25/2026"),
        ("Nov 25", "25. nov"),
        ("2026-11-25T10:00:00Z", "Wed, 25 Nov 2026 10:00:00 GMT"),
        ("10:30", "10.30 Uhr am Mittwoch"),
        ("2 hours ago", "3 hours ago"),
        ("By John Smith", "SMITH, J."),
        (1764064800, 1764064801),
        (True, False),
        ("Chapter 3", "Kapitel III"),
    ],
)
def test_dates_names_and_sections_do_not_count_on_two_sites(a: Any, b: Any) -> None:
    assert compare(a, b, same_site=False, is_document=True) == ()
    assert compare(a, b, same_site=True, is_document=True) == ("it",)
    assert compare(a, b, same_site=False) == ("it",), "of records, all counts"


def test_a_number_of_the_own_url_only_repeats_it() -> None:
    first = packed({"id": 4711}, is_document=True)
    second = packed({"id": 9}, is_document=True, url="https://b.example/9")
    assert differing(first, second, same_site=False) == ()
    other = packed({"id": 12}, is_document=True)
    assert differing(other, second, same_site=False) == ("id",)
    assert differing(first, second, same_site=True) == ("id",)


def test_the_number_in_a_headline_is_no_number_of_a_document() -> None:
    first = packed({"section": "World"}, title="A firm raises $2bn", is_document=True)
    second = packed({"section": "World"}, title="The founder raises cash", is_document=True)
    assert differing(first, second, same_site=False) == ()
    assert differing(first, second, same_site=True) == ("title",)


def test_documents_say_no_more_than_their_original_and_records_say_the_same() -> None:
    less, more = {"a": 1}, {"a": 1, "b": 2}
    one, two = packed(less, is_document=True), packed(more, is_document=True)
    assert differing(one, two, same_site=True) == ()
    assert differing(two, one, same_site=True) == ("b",)
    one, two = packed(less), packed(more)
    assert differing(one, two, same_site=True) == differing(two, one, same_site=True) == ("b",)
    document = packed(less, is_document=True)
    assert differing(document, two, same_site=True) == ("b",), "one of them is a record"
    assert differing(two, None, same_site=False) == ("a", "b")
    assert differing(None, two, same_site=False) == (), "what is no item says nothing"


def test_a_title_counts_for_records_that_have_other_data() -> None:
    titles = [packed({"a": 1}, title=title) for title in ("One", "Two")]
    assert differing(*titles, same_site=False) == ("title",)
    titles = [packed({}, title=title) for title in ("One", "Two")]
    assert differing(*titles, same_site=True) == ()
    assert differing(titles[0], packed({"a": 1}, title="One"), same_site=True) == ("a",)
    ignored = [packed({"a": 1}, title="One"), packed({"a": 2}, title="Two")]
    assert differing(*ignored, same_site=True, ignored=["a"]) == ()


def test_named_fields_are_compared_alone_in_both_directions() -> None:
    one, two = packed({"a": 1, "b": 1}), packed({"a": 1, "b": 2, "c": 3})
    assert differing(one, two, same_site=False, names=["a"]) == ()
    assert differing(one, two, same_site=False, names=["a", "b", "c", "d"]) == ("b", "c")
    assert differing(one, two, same_site=False, names=["b"], ignored=["b"]) == ()
    assert changed_fields(one, two) == ("b",)


class Odd:
    """A value without words of its own."""


class Broken:
    """A value that cannot be read."""

    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize("value", [Odd(), Broken(), object(), [Odd()], {"a": Broken()}])
def test_what_cannot_be_read_differs_from_everything(value: Any) -> None:
    assert compare(value, value, same_site=True) == ("it",)
    assert compare(value, value, same_site=True, is_document=True) == ("it",)


TAKEN = datetime.fromtimestamp(int(NOW) // 60 * 60 - 600 + 7, UTC)


@pytest.mark.parametrize(
    "form",
    [
        lambda at: at,
        lambda at: at.isoformat(),
        lambda at: at.timestamp(),
        lambda at: int(at.timestamp()),
        lambda at: int(at.timestamp() * 1000),
        lambda at: str(int(at.timestamp())),
        lambda at: f"{at:%Y/%m/%d %H:%M:%S}",
        lambda at: f"{at:%d.%m.%Y %H:%M:%S}",
        lambda at: f"{at:%m/%d/%Y, %I:%M:%S %p}",
        lambda at: f"{at:%a, %d %b %Y %H:%M:%S GMT}",
        lambda at: f"{at:%Y%m%dT%H%M%SZ}",
        lambda at: f"{at.astimezone(timezone(timedelta(hours=5))):%Y-%m-%d %H:%M:%S%z}",
        lambda at: {"nested": [at]},
    ],
)
def test_times_that_were_taken_while_items_were_made_say_nothing(form: Any) -> None:
    def item(seconds: float, made: float) -> bytes:
        return packed({"at": form(TAKEN + timedelta(seconds=seconds))}, now=made)

    base = TAKEN.timestamp()
    first, second = item(0, base), item(20, base + 20)
    assert differing(first, second, same_site=True) == ()
    late = item(0, base + 60)
    assert differing(first, late, same_site=True) == ("at",), "it was made a minute later"


def test_times_at_second_0_are_not_taken_for_those_of_items() -> None:
    minute = TAKEN.timestamp() - 7
    times = [packed({"at": minute + n * 60}, now=minute + n * 60) for n in range(2)]
    assert differing(*times, same_site=True) == ("at",)
    taken = packed({"at": minute + 7}, now=minute + 7)
    assert differing(times[0], taken, same_site=True) == ()
    assert differing(taken, times[1], same_site=True) == ()


def test_of_very_many_or_long_fields_those_that_differ_are_seen() -> None:
    many = {f"field {n}": n for n in range(200)}
    assert differing(packed(many), packed({**many, "field 150": 7}), same_site=True)
    assert not differing(packed(many), packed(many), same_site=True)
    long = {"n" * 500: 1, "n" * 499 + "m": 2}
    assert len(differing(packed(long), packed({}), same_site=True)) == 2
    huge = packed({"it": "x " * 3_000_000})
    assert differing(huge, huge, same_site=True) == ("it",)
    assert len(packed({f"{n}" * 90: n for n in range(1000)})) < 65 * 120


@given(st.text(max_size=70))
def test_any_string_is_a_number_or_none(text: str) -> None:
    assert isinstance(number_in(text), str)
    assert compare(text, text, same_site=True) == ()
