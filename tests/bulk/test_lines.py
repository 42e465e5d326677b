"""JSON lines that are too long."""

from __future__ import annotations

import io

from shingling.files.lines import Line, json_lines


def test_a_line_that_is_too_long_is_named_and_the_others_are_read() -> None:
    long = b'{"text": "' + b"x" * 3_000_000 + b'"}'
    file = io.BytesIO(b'\xef\xbb\xbf{"id": 1}\n' + long + b'\n\n{"id": 2}\nno\n' + long)
    assert [*json_lines(io.BufferedReader(file), 1000)] == [
        Line(1, {"id": 1}),
        Line(2, {}, "longer than 1,000 bytes"),
        Line(4, {"id": 2}),
        Line(5, {}, "not JSON"),
        Line(6, {}, "longer than 1,000 bytes"),
    ]


def test_a_line_of_just_the_limit_is_read() -> None:
    line = b'{"id": 1234567}'
    for end in (b"", b"\n", b"\r\n"):
        file = io.BufferedReader(io.BytesIO(line + end))
        assert [*json_lines(file, len(line) + 1)] == [Line(1, {"id": 1234567})]
