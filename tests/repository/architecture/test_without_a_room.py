"""Each room can be deleted, and the rest goes on."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from shingling.rooms import hooks
from tests.repository.architecture.test_rooms import CORE, ROOMS
from tests.support.installed import ROOT
from tests.support.processes import ANEW, run_fork

if TYPE_CHECKING:
    from pathlib import Path

COMMANDS = {
    "admin": [
        "backup",
        "check",
        "export",
        "forget",
        "prune",
        "rebuild",
        "review",
        "vacuum",
    ],
    "bulk": ["bulk", "import"],
    "cli": ["compare", "groups", "list", "show", "similar", "status", "upgrade"],
    "fetching": ["rules"],
    "tuning": ["tune"],
    "web": ["report", "serve"],
}
SETTINGS = {"fetching": "DEDUP_FETCH", "web": "DEDUP_REPORT"}
TESTS = {
    "bulk": "bulk/test_bad_rows.py::test_a_line_of_just_the_limit_is_read",
    "cli": "cli/test_progress.py",
    "fetching": "fetching/test_notes.py::test_requests_wait_while_many_pages_are_noted",
    "tuning": "tuning/test_evaluation.py::test_precision_recall_and_f1_are_those_of_the_textbook",
}
"""Some quick tests of rooms, which go on without the others."""

REMAINING = f"""{ANEW}
from tests.repository.architecture.remaining import main

main(*sys.argv[1:])
"""


def standing_without(room: str) -> set[str]:
    """Rooms that are left, without those that stand on the room that is deleted."""
    return {one for one in ROOMS if one != room and room not in ROOMS[one]}


@pytest.fixture
def copied(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A copy of the tree from which a room, and what stands on it, was deleted."""
    shutil.copytree(ROOT / "migrations", tmp_path / "migrations")
    ignored = shutil.ignore_patterns("migrations")  # a checkout may link them there
    for name in ("shingling", "tests"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for gone in {*ROOMS} - standing_without(request.param):
        shutil.rmtree(tmp_path / "shingling" / gone)
        shutil.rmtree(tmp_path / "tests" / gone)
    return tmp_path


@pytest.mark.parametrize(("copied", "room"), [(one, one) for one in ROOMS], indirect=["copied"])
def test_the_rest_goes_on_without_a_room(copied: Path, room: str) -> None:
    left = standing_without(room)

    tests = [f"tests/{TESTS[one]}" for one in sorted(left & {*TESTS})]
    done = run_fork(copied, "-c", REMAINING, "t.db", *tests)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["package"] == str(copied / "shingling")
    assert found["crawl"] == {"new": 1, "exact": 1}
    assert found["original"] == "https://a.example/"
    assert set(found["settings"]) == {SETTINGS[one] for one in left & {*SETTINGS}}
    if "cli" in left:
        assert found["pages"] == 3
        assert found["shown"]["original"] == "https://a.example/"
        assert found["commands"] == sorted(name for one in left for name in COMMANDS[one])
    assert found["tests"] == 0, done.stdout


def test_rooms_say_which_rooms_they_stand_on_and_offer_all_commands() -> None:
    rooms = {room: {*ROOMS[room]} - {*CORE} for room in ROOMS}
    for room, below in rooms.items():
        package = __import__(f"shingling.{room}", fromlist=["shingling"])
        assert {*getattr(package, "STANDS_ON", ())} == below
    names = [command.name for one in hooks("COMMANDS", "commands") for command in one]
    assert sorted(names) == sorted(name for one in COMMANDS.values() for name in one)
