"""The package is made of rooms: who may import whom."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import shingling
from tests.support.installed import ROOT

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_GROUND = {"arrays", "errors", "json_values", "kernel", "names", "notebook", "proportions", "rules"}
_TEXTS = _GROUND | {"text", "sketch", "similarity"}

CORE = {
    "arrays": set[str](),
    "errors": set[str](),
    "json_values": set[str](),
    "kernel": set[str](),
    "names": set[str](),
    "notebook": {"errors"},
    "proportions": set[str](),
    "rooms": set[str](),
    "rules": {"errors"},
    "text": _GROUND,
    "sketch": _GROUND | {"text"},
    "similarity": _GROUND | {"text", "sketch"},
    "extraction": _GROUND | {"text", "sketch"},
    "files": _GROUND | {"text", "extraction"},
    "store": _TEXTS | {"rooms"},
    "plugin": _TEXTS | {"rooms", "extraction", "store"},
    "console": _TEXTS | {"store", "plugin"},
}
"""What each package of the core may import besides itself: none of the rooms."""

_CORE = {*CORE}

ROOMS = {
    "admin": _CORE,
    "bulk": _CORE | {"admin"},
    "cli": _CORE,
    "fetching": _CORE,
    "tuning": _CORE,
    "web": _CORE | {"admin", "tuning"},
}
"""What each room may import besides itself: the core, and rooms that it stands on."""


def _room(module: str) -> str:
    return module.partition(".")[0]


PACKAGE = Path(shingling.__file__).parent


@dataclass(frozen=True)
class Import:
    """An import of one module of the package by another.

    Args:
        importer, imported: names of modules below `shingling`, such as `store.model`; the package
            itself is "".
        types_only: it stands under TYPE_CHECKING.
    """

    importer: str
    imported: str
    types_only: bool

    def __str__(self) -> str:
        return f"{self.importer or 'shingling'} -> {self.imported or 'shingling'}"


def module_files() -> dict[str, Path]:
    """Files of the package by the name of the module; that of a package is its `__init__`."""
    files = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        parts = file.relative_to(PACKAGE).with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return files


def _imports(
    node: ast.AST, files: Collection[str], types_only: bool = False
) -> Iterator[tuple[str, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            for name in (alias.name for alias in child.names):
                if _is_ours(name):
                    yield _below(name), types_only
        elif isinstance(child, ast.ImportFrom) and _is_ours(child.module or ""):
            for name in (f"{child.module}.{alias.name}" for alias in child.names):
                is_module = _below(name) in files
                yield _below(name if is_module else child.module or ""), types_only
        else:
            is_guard = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
            yield from _imports(child, files, types_only or is_guard)


def _is_ours(name: str) -> bool:
    return name.partition(".")[0] == "shingling"


def _below(name: str) -> str:
    return name.removeprefix("shingling").removeprefix(".")


@pytest.fixture(scope="module")
def imports() -> list[Import]:
    """All imports between modules of the package, wherever in a module they stand."""
    files = module_files()
    return [
        Import(name, imported, types_only)
        for name, file in files.items()
        for imported, types_only in _imports(ast.parse(file.read_bytes()), files)
        if imported != name
    ]


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


def test_a_name_means_one_class() -> None:
    names = Counter(
        node.name
        for file in (ROOT / "shingling").rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, classes in names.items() if classes > 1] == []


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


# What is imported by a crawl whose items have a text of their own, and to show a page

MOST_MODULES, MOST_LINES = 85, 15_565
"""More says that something was imported which such a crawl does not need."""

MOST_MODULES_TO_SHOW = 81
"""The same, of `scrapy dedup show`."""

CRAWL = """
from tests.repository.architecture.remaining import crawl

assert crawl("sqlite:///dedup.db") == {"new": 1, "exact": 1}

import sys

assert "sqlalchemy.dialects.postgresql" not in sys.modules, "of another database"
"""

SHOW = """
from tests.repository.architecture.remaining import command

assert [page["status"] for page in command("show", "https://a.example/", "--store", "t.db")]
"""

IMPORTED = """
import json, sys
from pathlib import Path

files = {name: module.__file__ for name, module in sys.modules.items()
         if name.partition(".")[0] == "shingling"}
sources = {name: file for name, file in files.items() if file.endswith(".py")}
lines = {name: len(Path(file).read_text("utf-8").splitlines())
         for name, file in sources.items()}
print(json.dumps(lines))
"""


def _imported(code: str, folder: Path) -> dict[str, int]:
    """Lines of the modules of the package that a program has imported, by their names."""
    done = subprocess.run(
        [sys.executable, "-c", code + IMPORTED],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    lines: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return lines


def test_a_plain_crawl_imports_little(tmp_path: Path) -> None:
    lines = _imported(CRAWL, tmp_path)
    rooms = {path.parent.name for path in (ROOT / "shingling").glob("*/commands*")}
    of_rooms = {name for name in lines if name.split(".")[1:2] and name.split(".")[1] in rooms}
    allowed = {f"shingling.{room}{end}" for room in rooms for end in ("", ".room")}
    assert of_rooms <= allowed
    assert len(lines) <= MOST_MODULES, sorted(lines)
    assert sum(lines.values()) <= MOST_LINES


def test_a_command_imports_little(tmp_path: Path) -> None:
    with shingling.Store.open(f"sqlite:///{tmp_path / 't.db'}") as store:
        store.check_one("https://a.example/", "Snow closed the mountain road on Monday.")
    lines = _imported(SHOW, tmp_path)
    assert len(lines) <= MOST_MODULES_TO_SHOW, sorted(lines)
