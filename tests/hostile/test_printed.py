"""Nothing that comes from a page, a file or an option is obeyed by a terminal."""

from __future__ import annotations

import gzip
import json
import shutil
import unicodedata
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, strategies as st

from shingling import Page, Store
from shingling.cli.all_commands import all_commands
from shingling.console.output import json_text
from shingling.errors import ShinglingError, message_line, printable
from shingling.fetching.rows import RuleCounts, SkippedUrl
from shingling.fetching.stored_rules import save
from shingling.store.session import Session
from shingling.text import plain_line
from tests.support.commands import dedup_command
from tests.support.pages import article

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = (
    "\x1b]0;owned\x07\x1b[31m\x1b[2J\x9b31m\x90q\x9c"
    "\x1b]8;;https://evil.example/\x1b\\link\x1b]8;;\x1b\\"
    "\u202e\u2066\u2067\u2069\u200f\u061c\u2028\u2029\x85\r\n\x08\x7f\u200b\ufeff\U000e0041"
    "[bold red]no markup[/]" + "é字" * 50_000
)
"""Terminal escapes, C0 and C1, a link, bidi controls, line separators, nothing, and very much."""

ALLOWED = {"\n"}


def seen_raw(printed: str) -> set[str]:
    """Find what a terminal would obey in what was printed."""
    raw = {char for char in printed if unicodedata.category(char) in _OBEYED}
    return raw - ALLOWED


_OBEYED = {"Cc", "Cf", "Cs", "Zl", "Zp"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of hostile pages, of which each test has a copy."""
    file = tmp_path_factory.mktemp("made") / "store.db"
    text = article(1) + "\n" + HOSTILE
    other = text.replace(text.split()[150], "edited" + HOSTILE[:80], 1)
    with Store.open(f"sqlite:///{file}") as opened:
        run = opened.start_run(HOSTILE)
        pages = [
            Page("https://a.example/" + HOSTILE[:90], text, title=HOSTILE, language="en" + HOSTILE),
            Page("https://b.example/2", other, title=HOSTILE + "b", source=HOSTILE),
            Page("https://c.example/3" + HOSTILE, article(2) + HOSTILE, scope=""),
        ]
        opened.check(pages, run=run)
        opened.admin.review(
            "https://a.example/" + HOSTILE[:90], "https://c.example/3", same=False, note=HOSTILE
        )
        opened.finish_run(run, HOSTILE)
        change, node = "drop-parameter sid", "/" + HOSTILE[:80]
        rules = [RuleCounts("a.example", change, "/", 90), RuleCounts("a.example", change, node, 9)]
        rules += [RuleCounts(HOSTILE[:80], HOSTILE[:80], HOSTILE[:80], 90)]
        addresses = ("https://a.example/?sid=" + HOSTILE, "https://a.example/" + HOSTILE)
    with Session.open(f"sqlite:///{file}") as session:
        skipped = SkippedUrl("a.example", *addresses, (change,), HOSTILE[:900], HOSTILE)
        save(session, rules, [skipped])
    return file


@pytest.fixture
def store(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    shutil.copy(made, tmp_path)
    monkeypatch.chdir(tmp_path)
    return "sqlite:///store.db"


def _files(folder: Path) -> str:
    """Write files of everything that commands read; the name of each is hostile as well."""
    name = "x\x1b[31m\u202e"
    item = {"url": "https://a.example/" + HOSTILE, "text": HOSTILE, "title": HOSTILE}
    (folder / f"{name}.jsonl").write_text(
        "".join(json.dumps(one) + "\n" for one in [item, {"url": HOSTILE}, [HOSTILE]])
        + '{"\x1b[31m": nothing}\n'
    )
    record = {"record": "store", "format": HOSTILE, "data": HOSTILE}
    (folder / f"{name}.store.jsonl").write_text(json.dumps(record) + "\n")
    (folder / f"{name}.csv").write_text(f"url,{HOSTILE[:40].split(chr(13))[0]}\nx,y\n")
    (folder / f"{name}.html").write_text(f"<html><body><p>{article(1)}{HOSTILE}")
    (folder / f"{name}.jsonl.gz").write_bytes(gzip.compress(b"{}\n" * 9)[:-9])
    pairs = [{"a": HOSTILE, "b": HOSTILE, "same": HOSTILE}]
    (folder / f"{name}.pairs").write_text("".join(json.dumps(one) + "\n" for one in pairs))
    return name


_CALLS: list[tuple[str, ...]] = [
    ("status",),
    ("list",),
    ("list", "--site", HOSTILE[:80]),
    ("groups",),
    ("groups", "--by", "event", "--threshold", "0.01"),
    ("show", "https://b.example/2", "--text", "--explain"),
    ("show", "https://nowhere.example/" + HOSTILE[:200]),
    ("similar", "https://b.example/2", "--threshold", "0"),
    ("similar", "{name}.html"),
    ("similar", "{name}.absent"),
    ("compare", "https://b.example/2", "{name}.html", "--diff", "--explain"),
    ("compare", "{name}.absent", "https://b.example/2"),
    ("review",),
    ("review", "https://b.example/2", "https://d.example/" + HOSTILE[:200], "--same"),
    ("rules",),
    ("rules", "a.example", "--all"),
    ("rules", "export"),
    ("rules", "pin", "a.example", "drop-parameter", HOSTILE[:60], "--as", "never"),
    ("rules", "forget", HOSTILE[:80]),
    ("rebuild", "--decide", "--threshold", "0.5"),
    ("rebuild", "--threshold", "0.6"),
    ("vacuum",),
    ("upgrade",),
    ("export",),
    ("export", "{name}.out.jsonl"),
    ("export", "{name}.none"),
    ("import", "{name}.jsonl"),
    ("import", "{name}.jsonl", "--url-field", HOSTILE[:60]),
    ("import", "{name}.store.jsonl"),
    ("import", "{name}.csv"),
    ("import", "{name}.jsonl.gz"),
    ("import", "{name}.html", "--format", "parquet"),
    ("import", "{name}.absent.jsonl"),
    ("bulk", "{name}.jsonl", "--out", "{name}.folder", "--workers", "0"),
    ("bulk", "{name}.absent", "--out", "{name}.folder", "--workers", "0"),
    ("bulk", "x\x1b[31m://u", "--out", "out", "--query", HOSTILE[:80]),
    ("tune", "{name}.pairs"),
    ("tune", "--idf", "{name}.idf"),
    ("tune", "{name}.pairs", "--plot", "{name}.none"),
    ("prune", "--older-than", "1"),
    ("forget", "https://d.example/" + HOSTILE[:200]),
    ("check",),
    ("forget", "--site", "b.example", "--yes"),
    ("serve", "--host", "\x1b[31m\u202e"),
    ("report", "{name}.html"),
    ("report", "-"),
    ("report", "{name}.none"),
    ("report", "{name}.absent/report.html"),
    ("status", "\x1b[31m\u202e"),
    ("status", "--stroe=\x1b[31m\u202e"),
]


def test_every_command_is_tried() -> None:
    assert {call[0] for call in _CALLS} == set(all_commands())


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
@pytest.mark.parametrize(
    "number", range(len(_CALLS)), ids=lambda number: f"{number}-{_CALLS[number][0]}"
)
def test_no_command_prints_what_a_terminal_obeys(
    number: int, as_json: bool, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = _files(tmp_path)
    call = [part.replace("{name}", name) for part in _CALLS[number]]
    more = ["--json"] if as_json else []
    done = dedup_command(monkeypatch, call[0], "--store", store, *call[1:], *more)
    assert done.code in (0, 1, 2)
    assert "Traceback" not in done.err
    assert seen_raw(done.out) == set()
    assert seen_raw(done.err) == set()
    if as_json and done.code != 2 and call[0] != "export":
        json.loads(done.out)


_ANY: Any = st.text(st.characters(), max_size=50)


@given(_ANY)
def test_a_printable_text_has_nothing_to_obey(text: str) -> None:
    assert printable(text).isprintable()
    assert len(printable(text)) == len(text)
    assert plain_line(text).isprintable()
    assert message_line(text).isprintable()
    assert str(ShinglingError(text)).isprintable()


@given(
    st.recursive(
        _ANY | st.integers() | st.none(),
        lambda inner: st.lists(inner) | st.dictionaries(_ANY, inner),
    )
)
def test_json_is_printable_and_true(value: Any) -> None:
    for ascii_only in (False, True):
        for indent in (None, 2):
            text = json_text(value, ascii_only=ascii_only, indent=indent)
            assert all(line.isprintable() for line in text.split("\n"))
            assert json.loads(text) == value
            assert text.isascii() or not ascii_only


def test_a_message_is_no_longer_than_a_screen() -> None:
    assert len(str(ShinglingError("x" * 10**7))) < 2010
