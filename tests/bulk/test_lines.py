"""JSON lines that are too long, or odd."""

from __future__ import annotations

import io
import json

from hypothesis import given, strategies as st

from shingling.files.lines import Line, json_lines, json_object

PIECES = (
    *(b"{", b"}", b"[", b"]", b":", b",", b'"', b'"a"', b'{"a": 1}', b'{"a": NaN, "a": 1e999}'),
    *(b'"\\ud800"', b"\xed\xa0\x80", b"\xff", b"\xef\xbb\xbf", b"9" * 5000, b"-Infinity", b"null"),
    *(b" ", b"\t", b"\n", b"\v", b"\0", b"\xc2\xa0"),
)
"""What lines are put together of: no JSON, and JSON that readers differ on."""


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


@given(st.lists(st.sampled_from(PIECES), max_size=6).map(b"".join))
def test_a_line_is_read_as_python_reads_it(line: bytes) -> None:
    expected: object = ""
    if line.strip():
        try:
            expected = json.loads(line.rstrip(b" \t\r\n,").decode())
        except UnicodeDecodeError:
            expected = "not UTF-8"
        except ValueError:
            expected = "not JSON"
        else:
            expected = expected if isinstance(expected, dict) else "not a JSON object"
    # NaN equals no NaN.
    assert repr(json_object(line)) == repr(expected)
