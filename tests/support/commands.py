"""Scrapy's command line, run within the test's process."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, NamedTuple

import pytest
from scrapy.cmdline import execute
from scrapy.settings import Settings


class Done(NamedTuple):
    """What a command came to."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """Return what was printed."""
        assert self.code == 0, self
        return json.loads(self.out)

    def refusal(self) -> str:
        """Return the line that says why nothing was done."""
        assert (self.code, self.out, self.err.count("\n")) == (2, "", 1), self
        return self.err


class _Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


class _TerminalLines(io.StringIO):
    def isatty(self) -> bool:
        return True


def dedup_command(
    monkeypatch: pytest.MonkeyPatch,
    *arguments: str,
    stdin: bytes | None = b"",
    encoding: str = "utf-8",
    **changed: Any,
) -> Done:
    """Run Scrapy's command line in this process; without standard input, at a terminal."""
    kind = _Terminal if stdin is None else io.TextIOWrapper
    monkeypatch.setattr("sys.stdin", kind(io.BytesIO(stdin or b"")))
    out = io.TextIOWrapper(io.BytesIO(), encoding, newline="")
    err = _TerminalLines() if stdin is None else io.StringIO()
    command, chosen = ["scrapy", "dedup", *arguments], Settings({"DEDUP_WORKERS": 0, **changed})
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as stop:
        execute(command, settings=chosen)
    out.seek(0)
    printed = out.read()
    code = stop.value.code
    return Done(code if isinstance(code, int) else 0, printed, err.getvalue())
