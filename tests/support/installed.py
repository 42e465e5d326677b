"""The checkout, and what of it is packed."""

from __future__ import annotations

import shutil
from pathlib import Path

ROOT = Path(__file__).parents[2]


FOLDERS = ("shingling", "migrations", "crawler", "tests", "docs", "benchmarks")
"""What a source distribution has, with the files beside them."""


def copy_source(folder: Path) -> Path:
    """Copy what is packed into a folder, without what was compiled here."""
    ignored = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for file in ROOT.iterdir():
        if file.is_file() and file.suffix not in (".db", ".log"):
            shutil.copy(file, folder / file.name)
    return folder
