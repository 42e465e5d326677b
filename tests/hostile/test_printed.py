"""What is printed: nothing that a terminal obeys, and no password of a database."""

from __future__ import annotations

import gzip
import json
import shutil
import traceback
import unicodedata
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, strategies as st
from scrapy.settings import Settings
from sqlalchemy import URL, make_url

from shingling import Page, Store
from shingling.bulk import Options, deduplicate
from shingling.cli.all_commands import all_commands
from shingling.console.output import json_text
from shingling.errors import BulkError, ShinglingError, StoreError, message_line, printable
from shingling.fetching.learning import RuleCounts
from shingling.fetching.stored_rules import save
from shingling.plugin.settings import DedupSettings
from shingling.store.backends.secrets import Secrets, parse_database_url
from shingling.store.session import Session
from shingling.text import plain_line
from tests.support.commands import dedup_command
from tests.support.pages import article

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HOSTILE = (
    "\x1b]0;owned\x07\x1b[31m\x1b[2J\x9b31m\x90q\x9c"
    "\x1b]8;;https://evil.example/\x1b\\link\x1b]8;;\x1b\\"
    "\u202e\u2066\u2067\u2069\u200f\u061c\u2028\u2029\x85\r\n\x08\x7f\u200b\ufeff\U000e0041"
    "[bold red]no markup[/]" + "é字" * 10_000
)
"""Terminal escapes, C0 and C1, a link, bidi controls, line separators, nothing, and very much."""

_OBEYED = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def seen_raw(printed: str) -> set[str]:
    """Find what a terminal would obey in what was printed, besides the ends of lines."""
    return {char for char in printed if unicodedata.category(char) in _OBEYED} - {"\n"}


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
    with Session.open(f"sqlite:///{file}") as session:
        save(session, rules)
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
    ("rules", "--patterns"),
    ("rules", "--format", "dud"),
    ("forget", "--site", HOSTILE[:80], "--only-learned", "--yes"),
    ("rebuild", "--decide", "--threshold", "0.5"),
    ("rebuild", "--threshold", "0.6"),
    ("vacuum",),
    ("backup", "{name}.copy"),
    ("backup", "{name}.absent/\x1b[31m\u202e"),
    ("upgrade",),
    ("export",),
    ("export", "{name}.out.jsonl"),
    ("export", "{name}.none"),
    ("import", "{name}.jsonl"),
    ("import", "{name}.jsonl", "--url-field", HOSTILE[:60]),
    ("import", "{name}.store.jsonl"),
    ("import", "{name}.csv"),
    ("import", "{name}.jsonl.gz"),
    ("import", "{name}.absent.jsonl"),
    ("bulk", "{name}.jsonl", "--out", "{name}.folder", "--workers", "0"),
    ("bulk", "{name}.absent", "--out", "{name}.folder", "--workers", "0"),
    ("bulk", "x\x1b[31m://u", "--out", "out", "--query", HOSTILE[:80]),
    ("tune", "{name}.pairs"),
    ("tune", "--idf", "{name}.idf"),
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


# Passwords of databases are shown nowhere: in no message, file, traceback, log or run


SECRET = "S3CRET"  # noqa: S105 (none)
"""What has to be nowhere."""

POSTGRES_URLS = [
    f"postgresql+psycopg://u:{SECRET}@/x?host=/nowhere",
    f"postgresql+psycopg:///x?host=/nowhere&password={SECRET}",
    f"postgresql+psycopg:///x?host=/nowhere&PASSWORD={SECRET}",
    f"postgresql+psycopg:///x?host=/nowhere&pasword={SECRET}",
    f"postgresql+psycopg:///x?host=/nowhere&password=a&password={SECRET}",
    f"postgresql+psycopg:///x?host=/nowhere&sslpassword={SECRET}&sslkey={SECRET}.pem",
    f"postgresql+psycopg:///x?host=/nowhere&service={SECRET}",
    f"postgresql+psycopg://u:p@ss:{SECRET}@host/db",
    f"postgresql+psycopg://u:p@{SECRET}@host/db",
    f"postgresql+psycopg://u:p@{SECRET}/x@host/db",
    f"postgresql+psycopg://u:p@{SECRET}?x@host/db",
    f"postgresql+psycopg://u:p/{SECRET}@nowhere.invalid/db",
    f"postgresql+psycopg://u:{SECRET}%40%2F@nowhere.invalid/db",
    f"postgresql+psycopg://u:{SECRET}@[::1/db",
    f"postgresql+psycopg://u:{SECRET}@localhost:1x/db",
]
OTHER_URLS = [
    f"sqlite+pysqlcipher://:{SECRET}@/x.db",
    f"sqlite://u:{SECRET}@/x.db",
    f"sqlite://u:{SECRET}@host/x.db",
    f"postgres://u:{SECRET}@h/d",
    f"mysql+pymysql://u:{SECRET}@127.0.0.1:1/d",
    f"mssql+pyodbc:///?odbc_connect=DRIVER%3Dx%3BPWD%3D{SECRET}",
    f"post gres://u:{SECRET}@h/d",
]
URLS = POSTGRES_URLS + OTHER_URLS


@pytest.mark.parametrize("url", [*URLS, f"sqlite:///x.db?key={SECRET}"])
def test_no_error_shows_a_secret(url: str, tmp_path: Path) -> None:
    options = Options(workers=0)
    ways: list[Callable[[], object]] = [partial(Store.open, url)]
    if url in URLS:  # the other one is that of a file
        ways.append(partial(deduplicate, [url], tmp_path, options))
    for fail in ways:
        with pytest.raises((StoreError, BulkError)) as raised:
            fail()
        assert SECRET not in "".join(traceback.format_exception(raised.value))
        assert SECRET not in repr(raised.value)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path for path in files if SECRET in path.read_text()] == []


@pytest.mark.parametrize("url", URLS)
def test_a_command_shows_no_secret(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for arguments in (
        ("status", "--store", url),
        ("status", f"--stroe={url}"),
        ("status", url),
        ("bulk", url, "--out", "out", "--workers", "0"),
    ):
        done = dedup_command(monkeypatch, *arguments)
        assert done.code == 2, arguments
        assert SECRET not in done.out + done.err


def test_settings_are_shown_without_the_url_of_the_store() -> None:
    settings = DedupSettings.from_settings(
        Settings({"DEDUP_STORE_URL": POSTGRES_URLS[1]}), crawl=False
    )
    assert SECRET not in repr(settings)
    assert SECRET not in repr(replace(settings, workers=0))
    assert SECRET not in settings.store_url_without_password


def test_what_is_no_secret_is_shown() -> None:
    url = "postgresql+psycopg://me@h:5/db?options=-csearch_path%3Ddedup&sslmode=require&x=y"
    parsed = parse_database_url(url)
    assert parsed is not None
    assert Secrets.of(parsed).shown == url.replace("x=y", "x=***")
    path = parse_database_url("sqlite:////a@b@c/x.db")
    assert path is not None
    assert path.database == "/a@b@c/x.db"


@given(st.text(min_size=4), st.text(), st.text())
def test_a_secret_is_hidden_in_every_text(password: str, before: str, after: str) -> None:
    url = URL.create("postgresql+psycopg", "me", password, "host", database="db")
    secrets = Secrets.of(url)
    assert password not in secrets.hide(f"{before}{password}{after}").replace("***", "")
    assert password not in repr(secrets) or password in secrets.shown


def test_an_error_is_a_cause_only_where_it_shows_no_secret() -> None:
    secrets = Secrets.of(make_url(f"postgresql+psycopg://u:{SECRET}@host/db"))
    harmless, telling = OSError("no route"), OSError("no route")
    telling.__cause__ = ValueError(f"password={SECRET}")
    assert secrets.cause(harmless) is harmless
    assert secrets.cause(telling) is None


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (f"see postgresql://u:{SECRET}@h/d", "see postgresql://u:***@h/d"),
        (f"see ://u:p@ss:{SECRET}@h/d", "see ://u:***@h/d"),
        (f"DSN host=h password={SECRET} user=u", "DSN host=h password=*** user=u"),
        ("https://a.example:80/x", "https://a.example:80/x"),
    ],
)
def test_no_message_of_an_error_has_a_password(message: str, shown: str) -> None:
    assert str(ShinglingError(message)) == shown
