"""The checkout, and what of it is packed."""

from __future__ import annotations

import shutil
from pathlib import Path

ROOT = Path(__file__).parents[2]


def copy_source(folder: Path) -> Path:
    """Copy what is packed into a folder, without what was compiled here."""
    for name in ("shingling", "migrations"):
        ignored = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / name)
    return folder
