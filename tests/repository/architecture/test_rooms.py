"""The package is made of rooms: who may import whom, and how large files and folders get."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

import pytest

from tests.repository.architecture.imports import PACKAGE, Import, module_files, read_imports
from tests.support.installed import ROOT

if TYPE_CHECKING:
    from pathlib import Path

MAX_LINES = 400
MAX_IN_FOLDER = 12  # modules and packages, besides what Python, pytest and all others share
MAX_ROOMS = 15  # at the top: each of them has its row on the page of the architecture
_NOT_COUNTED = {"__init__", "conftest", "support"}

_GROUND = {"errors", "kernel", "rules"}

ROOMS = {
    "errors": set[str](),
    "kernel": set[str](),
    "rules": {"errors"},
    "text": _GROUND,
    "sketch": _GROUND | {"text"},
    "similarity": _GROUND | {"text", "sketch"},
    "extraction": _GROUND | {"text", "sketch"},
    "urls": _GROUND | {"text", "sketch"},
    "store": _GROUND | {"text", "sketch", "similarity"},
    "tuning": _GROUND | {"text", "sketch", "similarity", "extraction"},
    "bulk": _GROUND | {"text", "sketch", "similarity", "extraction", "store"},
    "web": _GROUND | {"text", "sketch", "similarity", "store", "tuning"},
    "plugin": _GROUND | {"text", "sketch", "extraction", "urls", "store", "web"},
    "cli": _GROUND
    | {"text", "sketch", "similarity", "extraction", "urls", "store", "tuning", "bulk", "plugin"}
    | {"web"},
}
"""What each room may import besides itself."""

STORE_LAYERS = [
    {"model", "runs", "schema", "templates", "urls"},
    {"index"},
    {"backends"},
    {"session"},
    {"decide"},
    {"admin", "url_rules"},
    {"store"},
]
"""What the store is made of, lowest first: a layer may import itself and what is below it."""


def _room(module: str) -> str:
    return module.partition(".")[0]


def _layer(module: str) -> int:
    """Number of the layer of a module of the store; the package itself is above all."""
    name = module.removeprefix("store").removeprefix(".").partition(".")[0]
    if not name:
        return len(STORE_LAYERS)
    layers = [number for number, names in enumerate(STORE_LAYERS) if name in names]
    assert layers, f"{module} belongs to no layer of the store"
    return layers[0]


@pytest.fixture(scope="module")
def imports() -> list[Import]:
    return read_imports()


def test_a_room_imports_only_rooms_below_it(imports: list[Import]) -> None:
    unknown = {_room(name) for name in module_files()} - {"", *ROOMS}
    assert unknown == set(), "rooms of which nothing is said here"
    assert [
        str(one)
        for one in imports
        if _room(one.importer) not in ("", _room(one.imported))
        and _room(one.imported) not in ROOMS[_room(one.importer)]
    ] == []


@pytest.mark.parametrize(
    "types", [pytest.param(False, id="when run"), pytest.param(True, id="with types")]
)
def test_a_layer_of_the_store_imports_only_layers_below_it(
    imports: list[Import], types: bool
) -> None:
    assert [
        str(one)
        for one in imports
        if _room(one.importer) == _room(one.imported) == "store"
        and _layer(one.imported) > _layer(one.importer)
        and (types or not one.types_only)
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


def test_no_module_is_longer_than_a_reader_keeps_in_mind() -> None:
    lines = {name: len(file.read_bytes().splitlines()) for name, file in module_files().items()}
    assert {name: count for name, count in lines.items() if count > MAX_LINES} == {}


@pytest.mark.parametrize("top", [PACKAGE, ROOT / "tests"], ids=["package", "tests"])
def test_no_folder_holds_more_than_a_dozen_modules_and_packages(top: Path) -> None:
    counts = {}
    for package in (file.parent for file in top.rglob("__init__.py")):
        modules = [file for file in package.glob("*.py") if file.stem not in _NOT_COUNTED]
        packages = {file.parent.name for file in package.glob("*/__init__.py")} - _NOT_COUNTED
        counts[str(package.relative_to(top))] = len(modules) + len(packages)
    assert counts.pop(".") <= MAX_ROOMS
    assert {name: count for name, count in counts.items() if count > MAX_IN_FOLDER} == {}
