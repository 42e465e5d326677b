"""What is said of a mistyped command, option or value, and of runs that have not ended."""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING, Any

import pytest

from shingling import Page, Store
from shingling.store.run_records import list_runs
from shingling.store.session import Session
from tests.support.pages import article
from tests.support.stores import execute

if TYPE_CHECKING:
    from pathlib import Path

UNKNOWN = "error: there is no command"


@pytest.mark.parametrize(
    ("arguments", "usage", "message"),
    [
        ("stauts", "<command>", f"{UNKNOWN} 'stauts': did you mean status?"),
        ("reveiw a b --same", "<command>", f"{UNKNOWN} 'reveiw': did you mean review?"),
        ("xyzzy", "<command>", f"{UNKNOWN} 'xyzzy': the commands are status, list, show,"),
        ("--status near list", "list", "list: error: options stand behind the command"),
        ("--json status", "status", "arguments: --json (options stand behind the command)"),
        ("list --limt 5", "list", "unrecognized arguments: --limt 5 (did you mean --limit?)"),
        ("list --limt=5", "list", "unrecognized arguments: --limt=5 (did you mean --limit?)"),
        ("list --threshold .5", "list", "list: error: unrecognized arguments: --threshold .5\n"),
        ("rules pin a.example sid", "rules", "rules: error: unrecognized arguments: a.example sid"),
        ("status postgresql://me:secret@h/d", "status", "arguments: postgresql://...\n"),
        ("list --status dropped", "list", "changed or skipped (did you mean near or exact?)"),
        ("list --status nearly", "list", "changed or skipped (did you mean near?)"),
        ("list --status x", "list", "takes new, exact, near, unchanged, changed or skipped\n"),
    ],
)
def test_a_mistake_is_answered_with_what_was_meant(
    dedup: Any, arguments: str, usage: str, message: str
) -> None:
    done = dedup(*arguments.split())
    assert (done.code, done.out) == (2, "")
    assert f"scrapy dedup {usage}" in done.err.replace("=", "")
    assert message in done.err
    assert "secret" not in done.err


def test_what_is_wrong_comes_before_the_usage(dedup: Any) -> None:
    first, second, *_ = dedup("bulk", "rows.jsonl").err.splitlines()
    assert first == "scrapy dedup bulk: error: the following arguments are required: --out"
    assert second.startswith("usage: scrapy dedup bulk ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("bulk ROWS --out OUT --query {}", "--query is for a collection of MongoDB"),
        ("bulk ROWS --out OUT --delimiter ;", "is for CSV, and no input is CSV"),
        ("bulk ROWS --out OUT --against ROWS", "(against) is an input, too: none of its rows"),
        ("list --csv --jsonl", "--json, --csv or --jsonl: only one of them"),
        ("groups --csv --json", "--json, --csv or --jsonl: only one of them"),
        ("forget https://a.example/1 --site b.example --yes", "name URLs alone, or --site"),
        ("forget https://a.example/1 --run 1 --yes", "name URLs alone, or --site"),
        ("similar PICTURE", "it is neither HTML nor text"),
        ("list -s dedup_threshold=0.8", "did you mean DEDUP_THRESHOLD?"),
    ],
)
def test_what_would_act_otherwise_than_meant_is_refused(
    dedup: Any, url: str, tmp_path: Path, arguments: str, message: str
) -> None:
    Store.open(url).close()
    (tmp_path / "ROWS.jsonl").write_text(f'{{"id": 1, "text": "{article(1)}"}}\n', "utf-8")
    (tmp_path / "PICTURE.html").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    names = {"ROWS": "ROWS.jsonl", "PICTURE": "PICTURE.html", "OUT": "OUT"}
    typed = [str(tmp_path / names[word]) if word in names else word for word in arguments.split()]
    done = dedup(*typed)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


@pytest.mark.parametrize("path", ["news.db", "folder/news.db"])
def test_two_slashes_of_a_file_are_answered_with_three(dedup: Any, path: str) -> None:
    said = "nothing but a path is supported, behind three slashes: sqlite:///"
    assert said in dedup("list", "--store", f"sqlite://{path}").refusal()
    assert said in dedup("list", "-s", f"DEDUP_STORE_URL=sqlite://{path}").err


@pytest.mark.parametrize("host", ["no-such-host.invalid", "203.0.113.7"])
def test_a_host_that_cannot_be_listened_on_is_named(dedup: Any, url: str, host: str) -> None:
    Store.open(url).close()
    refusal = dedup("serve", "--host", host, "--port", "0").refusal()
    assert f"scrapy dedup serve: --host {host} --port 0: " in refusal


def test_a_run_without_an_outcome_is_running_while_it_writes(
    dedup: Any, url: str, tmp_path: Path
) -> None:
    with Store.open(url) as store:
        run = store.start_run("news", is_crawl=True)
        store.finish_run(store.start_run("other"), "shutdown")

        def states() -> list[tuple[str, bool]]:
            with Session.open(url, create=False) as session, session.reading() as connection:
                return [(one.state, one.finished is None) for one in list_runs(connection)]

        assert states() == [("shutdown", False), ("running", True)]
        hour = int(time.time()) - 3600
        execute(tmp_path / "dedup.db", f"UPDATE runs SET started = {hour}")
        assert states()[1] == ("did not end", True)
        store.check([Page("https://a.example/1", article(1))], run=run)
        assert states()[1] == ("running", True)
        assert "running" in dedup("status").out
        execute(tmp_path / "dedup.db", f"UPDATE runs SET finished = {hour} WHERE outcome IS NULL")
        assert states()[1] == ("did not end", True)
        assert "did not end" in dedup("status").out
        assert dedup("status", "--json").json()["last_runs"][1]["state"] == "did not end"
        store.finish_run(run, "finished")
        assert states()[1] == ("finished", False)


def test_a_port_that_is_in_use_is_said_with_the_option_that_helps(dedup: Any, url: str) -> None:
    Store.open(url).close()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refusal = dedup("serve", "--port", str(port)).refusal()
    assert f"scrapy dedup serve: port {port} is in use" in refusal
    assert "--port 0 takes a free one" in refusal
