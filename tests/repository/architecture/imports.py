"""Who imports whom in the package, as its source says."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import shingling

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

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


def read_imports() -> list[Import]:
    """All imports between modules of the package, wherever in a module they stand."""
    files = module_files()
    return [
        Import(name, imported, types_only)
        for name, file in files.items()
        for imported, types_only in _imports(ast.parse(file.read_bytes()), files)
        if imported != name
    ]


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
