"""The package is made of rooms: who may import whom."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

import pytest

from tests.repository.architecture.imports import Import, module_files, read_imports

_GROUND = {"arrays", "errors", "kernel", "names", "rules"}
_TEXTS = _GROUND | {"text", "sketch", "similarity"}

CORE = {
    "arrays": set[str](),
    "errors": set[str](),
    "kernel": set[str](),
    "names": set[str](),
    "rooms": set[str](),
    "rules": {"errors"},
    "text": _GROUND,
    "sketch": _GROUND | {"text"},
    "similarity": _GROUND | {"text", "sketch"},
    "extraction": _GROUND | {"text", "sketch"},
    "store": _TEXTS | {"rooms"},
    "plugin": _TEXTS | {"rooms", "extraction", "store"},
    "console": _TEXTS | {"store", "plugin"},
}
"""What each package of the core may import besides itself: none of the rooms."""

_CORE = {*CORE}

ROOMS = {
    "admin": _CORE,
    "bulk": _CORE,
    "cli": _CORE,
    "fetching": _CORE,
    "tuning": _CORE,
    "web": _CORE | {"admin", "tuning"},
}
"""What each room may import besides itself: the core, and rooms that it stands on."""


def _room(module: str) -> str:
    return module.partition(".")[0]


@pytest.fixture(scope="module")
def imports() -> list[Import]:
    return read_imports()


def test_a_room_imports_only_rooms_below_it(imports: list[Import]) -> None:
    unknown = {_room(name) for name in module_files()} - {"", *CORE, *ROOMS}
    assert unknown == set(), "rooms of which nothing is said here"
    assert [
        str(one)
        for one in imports
        if _room(one.importer) not in ("", _room(one.imported))
        and not one.types_only
        and _room(one.imported) not in (CORE | ROOMS)[_room(one.importer)]
    ] == []


@pytest.mark.parametrize("types", [False, True], ids=["when run", "with types"])
def test_no_modules_import_each_other_in_a_circle(imports: list[Import], types: bool) -> None:
    arrows: dict[str, set[str]] = {}
    for one in imports:
        if types or not one.types_only:
            arrows.setdefault(one.importer, set()).add(one.imported)
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(name or "shingling" for name in error.args[1]))
