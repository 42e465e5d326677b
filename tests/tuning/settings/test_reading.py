"""Labelled pairs: read from lines of JSON, or pages of a store, labelled by their titles."""

from __future__ import annotations

import json
from io import BytesIO
from typing import TYPE_CHECKING, Any

import pytest

from shingling.errors import TuningError
from shingling.sketch import sign
from shingling.tuning.pairs import LabelledPair, TitledPage, pairs_from, read_pairs
from tests.support.pages import article, html
from tests.tuning.settings.pairs import changed, tuned

if TYPE_CHECKING:
    from collections.abc import Iterator


def lines(*changes: dict[str, Any] | str) -> BytesIO:
    """Make twelve good lines of a file, and put others after them."""
    good = [{"a": f"text {i}", "b": f"text {i} b", "same": i % 2 == 0} for i in range(12)]
    rows = [line if isinstance(line, str) else json.dumps(line) for line in (*good, *changes)]
    return BytesIO("\n".join(rows).encode())


def test_texts_html_and_urls_are_read_and_unlabelled_lines_are_counted() -> None:
    page = html(article(1), "A title")
    found = read_pairs(
        lines(
            {"a": page, "b": "https://example.com/a", "same": True},
            "",
            {"a": "x", "b": "y", "same": None},
        ),
        {"https://example.com/a": "the stored text"}.get,
    )
    assert len(found.pairs) == 13
    assert found.unlabelled == 1
    last = found.pairs[-1]
    assert article(1).split()[:20] == last.a.replace("A title", "").split()[:20]
    assert "<" not in last.a
    assert last.b == "the stored text"
    assert found.pairs[0] == LabelledPair("text 0", "text 0 b", True)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 13: not JSON"),
        ("[]", "line 13: not a JSON object"),
        ({"a": "x", "same": True}, 'line 13: the field "b" is missing'),
        ({"a": "x", "b": "y", "same": 1}, 'line 13: "same" is 1: it takes true, false or null'),
        ({"a": 5, "b": "y", "same": True}, 'line 13: "a" is 5: it takes a text, HTML or a URL'),
        (
            {"a": "x", "b": "https://example.com/\x1b[1m", "same": True},
            'line 13: "b": https://example.com/ [1m is not stored, or its text is not (DEDUP_',
        ),
        (
            {"a": "<html><body></body></html>", "b": "y", "same": True},
            'line 13: "a": no text could be had from the HTML (no main text in it)',
        ),
    ],
)
def test_a_line_that_cannot_be_used_is_named_by_its_number(line: Any, message: str) -> None:
    with pytest.raises(TuningError) as error:
        read_pairs(lines(line), lambda _: None)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("labels", "counts"),
    [
        ([True] * 5 + [False] * 4, "9 labelled pairs, 5 the same and 4 different,"),
        ([False] * 11 + [True], "12 labelled pairs, 1 the same and 11 different,"),
    ],
)
def test_too_few_pairs_of_either_label_are_refused(labels: list[bool], counts: str) -> None:
    with pytest.raises(TuningError) as error:
        tuned([LabelledPair(f"a{i}", "b", own) for i, own in enumerate(labels)])
    assert str(error.value) == f"{counts} are too few: at least 10, and 2 of either label"


# Titles


def sampled(number: int = 30) -> Iterator[TitledPage]:
    for seed in range(number):
        text = article(seed, 150)
        for copy in range(2):
            own = changed(text, copy)
            yield TitledPage(f"title {seed}", own, sign(own).minima)


def test_pages_of_one_title_are_taken_for_the_same() -> None:
    pairs = pairs_from(sampled())
    assert sum(pair.same for pair in pairs) == 30
    assert len(pairs) == 59
    unchanged = {article(seed, 150) for seed in range(30)}
    for pair in pairs:
        if pair.same:
            assert (pair.a in unchanged) != (pair.b in unchanged)
        else:
            assert pair.a.split()[5:20] != pair.b.split()[5:20]
    assert pairs == pairs_from(sampled())
    assert len(set(pairs)) == len(pairs)


def test_pages_that_tell_nothing_are_left_out() -> None:
    pages = list(sampled(4))
    minima = pages[0].minima
    pages += [TitledPage("not found", article(90 + i), minima) for i in range(11)]
    pages += [TitledPage("other", pages[0].text.upper(), minima)]
    texts = {text for pair in pairs_from(pages) for text in (pair.a, pair.b)}
    assert article(90) not in texts
    assert pages[0].text.upper() not in texts


def test_the_pages_most_alike_are_among_the_different_ones() -> None:
    pages = list(sampled(40))[::2]
    twins = []
    for seed in range(5):
        text = changed(article(seed, 150), 8)
        twins.append(TitledPage(f"twin {seed}", text, sign(text).minima))
    pairs = {(pair.a, pair.b) for pair in pairs_from([*pages, *twins], 40) if not pair.same}
    for seed, twin in enumerate(twins):
        assert (article(seed, 150), twin.text) in pairs
    assert len(pairs) <= 20


def test_a_sample_has_no_more_pairs_than_asked_for() -> None:
    assert len(pairs_from(sampled(100), 60)) == 60
    assert pairs_from([]) == []
    assert pairs_from(list(sampled(1))[:1]) == []
