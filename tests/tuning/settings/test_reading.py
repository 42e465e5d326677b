"""Labelled pairs are read from lines of JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shingling.errors import TuningError
from shingling.tuning.pairs import LabelledPair, read_pairs
from shingling.tuning.report import tune_on
from tests.support.pages import article, html
from tests.tuning.settings.pairs import DEFAULT


def lines(*changes: dict[str, Any] | str) -> list[str]:
    """Make twelve good lines of a file, and put others after them."""
    good = [{"a": f"text {i}", "b": f"text {i} b", "same": i % 2 == 0} for i in range(12)]
    return [line if isinstance(line, str) else json.dumps(line) for line in (*good, *changes)]


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
        ("{", "line 13: not JSON (Expecting"),
        ("[]", 'line 13: not a JSON object with the fields "a", "b" and "same"'),
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
    rows = [json.dumps({"a": f"a{i}", "b": f"b{i}", "same": own}) for i, own in enumerate(labels)]
    message = f"{counts} are too few: at least 10, and 2 of either label"
    with pytest.raises(TuningError) as error:
        read_pairs(rows, lambda _: None)
    assert str(error.value) == message
    with pytest.raises(TuningError, match=counts):
        tune_on([LabelledPair(f"a{i}", "b", own) for i, own in enumerate(labels)], DEFAULT, 0.8)
