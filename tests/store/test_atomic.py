"""A batch is stored whole or not at all, whoever else writes and whatever happens."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from shingling import Page, Scheme, Store, sign
from shingling.errors import SchemeError, StoreError
from tests.conftest import ROOT
from tests.crawling import article
from tests.store.invariants import groups_of, verify

if TYPE_CHECKING:
    from pathlib import Path

# Sixty pages: twenty articles, each with a near and an exact copy.
CODE = """
import random, resource, signal, sys
from shingling import Page, Store
from shingling.errors import StoreError
from tests.crawling import article

def pages(seed):
    found = []
    for number in range(20):
        text = article(number)
        edited = text.replace(text.split()[100], "edited", 1)
        found += [Page(f"https://{name}.example/{number}", part)
                  for name, part in (("a", text), ("b", edited), ("c", text))]
    random.Random(seed).shuffle(found)
    return found
"""


def start(code: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CODE + code, *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_an_error_in_a_batch_leaves_nothing_of_it(tmp_path: Path) -> None:
    path = tmp_path / "dedup.db"
    with Store.open(f"sqlite:///{path}") as store:
        other = sign(article(2), Scheme(shingle_size=2))
        with pytest.raises(SchemeError):
            store.check([Page("a", article(1)), Page("b", article(2), other)])
        assert store.status()["pages"] == 0
        # An error inside of the transaction: the database refuses a row.
        with closing(sqlite3.connect(path)) as db:
            db.execute(
                "CREATE TRIGGER refuse BEFORE INSERT ON texts WHEN NEW.page_id = 2"
                " BEGIN SELECT RAISE(ABORT, 'refused'); END"
            )
        with pytest.raises(StoreError, match="refused"):
            store.check([Page("a", article(1)), Page("b", article(2))])
        assert store.status()["pages"] == 0
        assert store.check([Page("a", article(1))])[0].page_id == 1
    verify(path)


def test_four_processes_with_the_same_pages_end_with_one_original_a_group(tmp_path: Path) -> None:
    path = tmp_path / "dedup.db"
    code = (
        "store = Store.open(sys.argv[1])\n"
        "for page in pages(sys.argv[2]):\n    store.check([page])\n"
    )
    processes = [start(code, f"sqlite:///{path}", str(seed)) for seed in range(4)]
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    verify(path)
    groups = groups_of(path)
    assert len(groups) == 60
    originals = [name for name, (head, _, _) in groups.items() if head is None]
    assert len({name.rpartition("/")[2] for name in originals}) == len(originals) == 20


def test_a_killed_process_leaves_whole_batches_and_the_rest_can_be_done_again(
    tmp_path: Path,
) -> None:
    path, whole = tmp_path / "dedup.db", tmp_path / "whole.db"
    code = (
        "store = Store.open(sys.argv[1])\nfound = pages(7)\n"
        "for place in range(0, 60, 4):\n"
        "    store.check(found[place:place + 4])\n    print(place, flush=True)\n"
    )
    for _ in range(5):
        process = start(code, f"sqlite:///{path}")
        assert process.stdout is not None
        for _ in range(random.randint(1, 8)):
            process.stdout.readline()
        time.sleep(random.random() / 100)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        verify(path)
        with closing(sqlite3.connect(path)) as db:
            assert db.execute("SELECT count(*) % 4 FROM pages").fetchone() == (0,)
    for store in (path, whole):
        process = start(code, f"sqlite:///{store}")
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
    assert groups_of(path) == groups_of(whole)


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="limits of file size are of Unix")
def test_a_full_disk_is_a_named_error_and_leaves_whole_batches(tmp_path: Path) -> None:
    path = tmp_path / "dedup.db"
    code = (
        "store = Store.open(sys.argv[1])\nstore.check(pages(7)[:3])\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, -1))\n"
        "found = pages(7)\n"
        "try:\n"
        "    for place in range(3, 60, 3):\n        store.check(found[place:place + 3])\n"
        "except StoreError as error:\n    print(error)\n"
    )
    process = start(code, f"sqlite:///{path}")
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "disk" in out
    assert out.count("\n") == 1
    verify(path)
    with closing(sqlite3.connect(path)) as db:
        stored = db.execute("SELECT count(*) FROM pages").fetchone()[0]
    assert 3 <= stored < 60
    assert stored % 3 == 0


def test_a_store_locked_for_too_long_is_a_named_error_and_works_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shingling.store._engine._BUSY_SECONDS", 0.2)
    path = tmp_path / "dedup.db"
    with Store.open(f"sqlite:///{path}") as store:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreError, match="database is locked"):
                store.check([Page("a", article(1))])
            assert store.status()["pages"] == 0, "it can be read meanwhile"
        assert store.check([Page("a", article(1))])[0].status == "new"
