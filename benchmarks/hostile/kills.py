"""What is left of a store where a process is killed at a random moment, and whether it can go on.

Each work is killed in a process of its own, and then repeated. The store must be sound after the
kill (`tests.support.invariants.verify`), hold what was told to be done, and end as it does without
a kill.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
import time
from contextlib import closing
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.processes import ROOT
from benchmarks.report import Target
from shingling import Page, Rules, Store
from shingling.admin.importing import decide_export
from shingling.admin.records import read_export
from shingling.admin.transfer import export, restore
from shingling.store import forgetting, session as store_session
from shingling.store.schema import migrate
from tests.support.invariants import ending, groups_of, text, verify, words
from tests.support.processes import Child

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection
    from pathlib import Path

_PAGES = 300
_BATCH = 8
_RULES = Rules(threshold=0.7)
_REVISION = """
import sqlalchemy as sa
from alembic import op

revision = "r9999"
down_revision = "{head}"


def upgrade():
    for number in range(20):
        op.add_column("pages", sa.Column(f"note{{number}}", sa.Text))
        op.execute(f"UPDATE pages SET note{{number}} = 'page ' || url")
"""


@cache
def _pages() -> list[Page]:
    """Each third page a base, then one that is nearly the same, then a copy."""
    made = []
    for group in range(_PAGES // 3):
        base = words(group, 120)
        for kind, own in enumerate((base, ending(base, group, 4), base)):
            made.append(Page(f"https://{kind}.example/{group}", text(own), title=f"No {group}"))
    return made


def _crawl(store: Store, pipe: Connection, _folder: Path) -> None:
    pages = iter(_pages())
    done = 0
    while batch := [*islice(pages, _BATCH)]:
        done += len(store.check(batch))
        pipe.send(done)


def _rebuild(store: Store, _pipe: object, _folder: Path) -> None:
    store.admin.redecide(_RULES)


def _prune(store: Store, _pipe: object, _folder: Path) -> None:
    """Remove the originals, ten in each transaction."""
    forgetting._MAX_REMOVED_AT_ONCE = 10
    store.admin.forget(site="0.example", older_than=-1)


def _import(store: Store, _pipe: object, folder: Path) -> None:
    with Store.open(_url(folder / "source.db")) as source:
        header, records = read_export(export(source._session))
        if restore(store._session, header, records) is None:
            decide_export(store._session, store.rules, header, records, ("import", {}))


def _import_more(store: Store, pipe: object, folder: Path) -> None:
    """Import into a store that has a page."""
    store.check([Page("https://first.example/", text(words("first")))])
    _import(store, pipe, folder)


def _upgrade(store: Store, _pipe: object, _folder: Path) -> None:
    """Do nothing more than open the store."""


class Work(NamedTuple):
    """What is killed.

    Args:
        run: does it.
        starts_filled: whether there is a store with pages before.
    """

    run: Callable[[Store, Any, Path], None]
    starts_filled: bool = True


WORKS = {
    "crawl": Work(_crawl, starts_filled=False),
    "rebuild": Work(_rebuild),
    "prune": Work(_prune),
    "import": Work(_import, starts_filled=False),
    "import into pages": Work(_import_more, starts_filled=False),
    "upgrade": Work(_upgrade),
}


def work(pipe: Connection, name: str, folder: Path) -> None:
    """Do it, and tell when it begins."""
    if name == "upgrade":
        _add_revision(folder)
    pipe.send(0)
    with Store.open(_url(folder / "dedup.db")) as store:
        WORKS[name].run(store, pipe, folder)


def _add_revision(folder: Path) -> None:
    """Have this process be of a release with one more revision."""
    revisions = folder / "migrations"
    if not revisions.exists():
        shutil.copytree(ROOT / "migrations", revisions)
        made = revisions / "versions" / "r9999_next.py"
        made.write_text(_REVISION.format(head=migrate.HEAD), encoding="utf-8")
    migrate._REVISIONS.add("r9999")
    migrate.HEAD = store_session.HEAD = "r9999"  # type: ignore[attr-defined]  # one revision more
    migrate.migrations_folder = lambda: revisions


def killed(folder: Path, name: str, times: int, seed: int = 32) -> Target:
    """Kill a work so many times, at random moments, each time on a new store."""
    folder.mkdir(parents=True)
    source = folder / "source.db"
    with Store.open(_url(source)) as store:
        store.check(_pages())
    chance, wrong, took, ended = random.Random(seed), 0, 0.0, 0
    whole: object = None
    for number in range(-1, times):  # the first time it is not killed
        place = folder / str(number)
        _make(place, source, WORKS[name])
        child = Child(work, name, place)
        child.pipe.recv()
        began = time.monotonic()
        if number < 0:
            status, _ = child.end()
            assert status == 0
            took, whole = time.monotonic() - began, _state(place, name)
        else:
            time.sleep(chance.uniform(0, took))
            child.kill()
            status, told = child.end()
            ended += int(status == 0)
            wrong += _is_wrong(place, name, max(told, default=0), whole)
        shutil.rmtree(place)
    return Target(f"{name}: of {times} kills ({ended} after its end), lost or wrong", wrong, 0)


def _make(place: Path, source: Path, work: Work) -> None:
    place.mkdir()
    shutil.copy(source, place / "source.db")
    if work.starts_filled:
        shutil.copy(source, place / "dedup.db")


def _is_wrong(place: Path, name: str, done: int, whole: object) -> bool:
    """Whether something is lost or unsound after a kill, or after it is done again."""
    file = place / "dedup.db"
    try:
        if name == "upgrade":
            assert _state(place, name) in ([], whole)
        elif _has_tables(file):
            verify(file)
        if name == "crawl" and done:
            assert len(groups_of(file)) >= done
        child = Child(work, name, place)
        assert child.end()[0] == 0
        assert _state(place, name) == whole
    except AssertionError as error:
        print(f"{name}: {error!r}")
        return True
    return False


def _has_tables(file: Path) -> bool:
    if not file.exists():
        return False
    with closing(sqlite3.connect(file)) as db:
        return bool(db.execute("SELECT 1 FROM sqlite_master WHERE name = 'recent'").fetchall())


def _state(place: Path, name: str) -> object:
    """Return what a store has in the end."""
    file = place / "dedup.db"
    if name != "upgrade":
        verify(file)
        return groups_of(file)
    with closing(sqlite3.connect(file)) as db:
        columns = [column for _, column, *_ in db.execute("PRAGMA table_info(pages)")]
        added = [column for column in columns if column.startswith("note")]
        [version] = db.execute("SELECT version_num FROM alembic_version").fetchone()
        assert (version == "r9999") == bool(added)
        return [db.execute(f"SELECT count({one}) FROM pages").fetchone() for one in added]  # noqa: S608 (its names)


def _url(file: Path) -> str:
    return f"sqlite:///{file}"
