"""No option, name or file of a command ends in a traceback: the exit status is 0, 1 or 2."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from contextlib import chdir
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from shingling import Page, Store
from shingling.cli.all_commands import all_commands
from tests.support.commands import Done, dedup_command
from tests.support.pages import article
from tests.support.stores import execute

_NUMBERS = [
    *("0", "-1", "1", "3", "1e20", "1e400", "-1e400", "nan", "inf", "-inf", "-nan", "0x10", "1_0"),
    *("9" * 30, "9" * 5000, "-0", "0.5", ".5", "1e-320", "٣", "", " ", "1 ", "+1", "2026-11-21"),
    *("0001-01-01", "9999-12-31T23:59:59-23:59", "0001-01-01T00:00+23:59", "1G", "nanG", "infG"),
    *("1e999G", "-1G", "G"),
]
_NAMES = [
    *("\udcff", "a\udcff.jsonl", "\x1b[31m", "\u202e", "x" * 5000, "/", ".", "..", "-"),
    *("--", "/dev/null", "/proc/self/mem", "/nowhere/x.jsonl", "rows.jsonl", "page.html"),
    *("https://a.example/1", "http://[", "http://a:99999999/", "://", "sqlite:///x\udcff.db"),
    *("sqlite:///" + "x" * 5000, "sqlite:////nowhere/x.db", "sqlite:///rows.jsonl", "sqlite:///."),
    *("postgresql+psycopg://", "postgresql+psycopg://h:x/", "sqlite://", "x=1", "%s%n", "{}", "'"),
]
_VALUES = st.sampled_from(_NUMBERS) | st.sampled_from(_NAMES) | st.text(max_size=20)


@cache
def _parsers() -> dict[str, argparse.ArgumentParser]:
    commands = argparse.ArgumentParser().add_subparsers()
    for command in all_commands().values():
        command.add_parser(commands)
    return dict(commands.choices)


@st.composite
def _calls(draw: st.DrawFn, command: str) -> list[str]:
    """Arguments of a command: some of its options, with values that fit and others."""
    arguments = [command]
    for action in _parsers()[command]._actions:
        if isinstance(action, argparse._HelpAction):
            continue
        needed = action.required or not action.option_strings
        if not needed and draw(st.integers(0, 2)):
            continue
        values = [] if action.nargs == 0 else [draw(_VALUES)]
        if action.choices is not None and values and draw(st.booleans()):
            values = [draw(st.sampled_from(list(action.choices)))]
        option = [draw(st.sampled_from(action.option_strings))] if action.option_strings else []
        if "--out" in option:
            values = ["out"]
        if option and values:
            arguments.append(f"{option[0]}={values[0]}")
        else:
            arguments += [*option, *(value for value in values if "\0" not in value)]
    return [argument.replace("\0", "") for argument in arguments]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("options")
    with Store.open(f"sqlite:///{made / 'dedup.db'}") as store:
        pages = [Page(f"https://a.example/{one}", article(one % 2), title="t") for one in range(4)]
        store.check(pages)
    (made / "rows.jsonl").write_text('{"url": "https://a.example/1", "text": "a b"}\nnothing\n')
    (made / "page.html").write_text(f"<p>{article(1)}")
    return made


def run_at_ascii(arguments: list[str]) -> Done:
    """Run a command whose output takes ASCII alone, with odd standard input."""
    with pytest.MonkeyPatch.context() as patch:
        return dedup_command(patch, *arguments, stdin=b"\xff\n", encoding="ascii")


@pytest.mark.parametrize("command", sorted(all_commands()))
@settings(
    max_examples=int(os.environ.get("DEDUP_OPTION_EXAMPLES", "10")),
    suppress_health_check=list(HealthCheck),
    deadline=None,
)
@given(data=st.data())
def test_any_option_gives_0_1_or_2(command: str, folder: Path, data: st.DataObject) -> None:
    arguments = data.draw(_calls(command))
    with chdir(folder), patch("uvicorn.Server.run"):  # which nobody would end
        done = run_at_ascii(arguments)
    assert done.code in (0, 1, 2), done
    assert "Traceback" not in done.err


_REFUSED = [
    ("groups", "--limit", "1e20"),
    ("list", "--limit", "9" * 30),
    ("similar", "https://a.example/1", "--limit", "-1"),
    ("similar", "https://a.example/1", "--threshold", "nan"),
    ("similar", "https://a.example/1", "--distance", "9" * 30),
    ("prune", "--older-than", "nan", "--yes"),
    ("prune", "--older-than", "inf", "--yes"),
    ("prune", "--older-than", "1e300", "--yes"),
    ("prune", "--older-than=--", "--yes"),
    ("status", "--set=--"),
    ("forget", "--site", "\udcff", "--yes"),
    ("forget", "--run", "9" * 30, "--yes"),
    ("list", "--site", "\udcff"),
    ("review", "\udcff", "https://a.example/1", "--same"),
    ("bulk", "rows.jsonl", "--out", "out", "--every", "nan"),
    ("bulk", "rows.jsonl", "--out", "out", "--workers", "9" * 30),
    ("status", "--store", "sqlite:///\udcff"),
]


@pytest.mark.parametrize("arguments", _REFUSED)
def test_an_odd_value_is_refused_in_one_line(
    arguments: tuple[str, ...], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    done = dedup_command(monkeypatch, *arguments)
    assert done.code == 2, done
    [line] = [line for line in done.err.splitlines() if "error:" in line]
    assert "takes" in line or "use -s NAME=VALUE" in line


def test_two_dashes_are_no_site(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    done = dedup_command(monkeypatch, "forget", "--site=--", "--yes")
    # Later versions of Python pass them on as a value.
    assert done.code == 2 or done.out == "nothing was forgotten\n"


# Commands one after the other, of which each ends Python.
_COMMANDS = """
import sys
from scrapy.cmdline import execute

for command in sys.argv[1:]:
    try:
        execute(["scrapy", "dedup", *command.split()])
    except SystemExit as stop:
        assert not stop.code, command
sys.stdout.flush()
print(sys.stdout.encoding, file=sys.stderr)
"""


def test_a_terminal_that_knows_only_ascii_is_no_error(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'dedup.db'}"
    with Store.open(url) as store:
        store.check([Page("https://a.example/1", article(1), title="Ünïcode 字 \U0001f600")])
    commands = [f"{command} --store {url}" for command in ("list", "show https://a.example/1")]
    commands += [f"{command} --json" for command in commands]
    done = subprocess.run(
        [sys.executable, "-c", _COMMANDS, *commands],
        env={**os.environ, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(b"https://a.example/1") == len(commands)
    assert done.stderr.split()[-1].lower() in (b"ascii", b"ansi_x3.4-1968")


def test_every_help_is_ascii() -> None:
    assert [name for name, one in _parsers().items() if not one.format_help().isascii()] == []


@pytest.mark.parametrize("broken", [b"\x00\xff", b"{", b"[]", b"null", b'{"record": "stor'])
def test_an_export_with_a_broken_first_line_is_no_feed(
    broken: bytes, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    url = f"sqlite:///{folder / 'dedup.db'}"
    file = tmp_path / "store.jsonl"
    assert dedup_command(monkeypatch, "export", str(file), "--store", url).code == 0
    _, rest = file.read_bytes().split(b"\n", 1)
    file.write_bytes(broken + b"\n" + rest)
    done = dedup_command(monkeypatch, "import", str(file), "--store", "sqlite:///new.db")
    assert (done.code, done.out) == (2, ""), done
    assert "line " in done.err or (broken == b"{" and "not JSON" in done.err)
    assert not Path("new.db").exists()


@pytest.mark.parametrize("command", sorted(all_commands()))
@pytest.mark.parametrize("what", ["nothing", "a folder", "no database", "another database"])
def test_a_store_that_cannot_be_used_is_said_with_status_2(
    command: str, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made: dict[str, Any] = {
        "a folder": lambda path: path.mkdir(),
        "no database": lambda path: path.write_bytes(b"no database " * 1000),
        "another database": lambda path: execute(path, "CREATE TABLE pages (id INTEGER)"),
    }
    if what in made:
        made[what](tmp_path / "store.db")
    Path("rows.jsonl").write_text('{"url": "https://a.example/1", "text": "a b"}\n')
    needed = {
        "backup": ["copy.db"],
        "bulk": ["rows.jsonl", "--out", "out", "--into-store", "--workers", "0"],
        "compare": ["https://a.example/1", "https://a.example/2"],
        "export": ["out.jsonl"],
        "forget": ["https://a.example/1"],
        "import": ["rows.jsonl"],
        "prune": ["--older-than", "1"],
        "rebuild": ["--decide"],
        "report": ["out.html"],
        "show": ["https://a.example/1"],
        "similar": ["https://a.example/1"],
    }
    if what == "nothing" and command in ("bulk", "import"):  # they make one
        return
    done = dedup_command(
        monkeypatch, command, "--store", "sqlite:///store.db", *needed.get(command, [])
    )
    assert done.code == 2, done
    [line] = done.err.splitlines()
    assert line.startswith(f"scrapy dedup {command}: ")
    assert not Path("out.jsonl").exists()
