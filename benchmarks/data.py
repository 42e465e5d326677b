"""Where the labelled data lies, and how it is read."""

from __future__ import annotations

import gzip
import json
import os
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection


def data_folder(given: str | None = None) -> Path:
    """Return the folder of the labelled data.

    Raises:
        SystemExit: it is not there; the message says how to name it.
    """
    folder = Path(given or os.environ.get("DEDUP_DATA", "../shared/data"))
    if not folder.is_dir():
        raise SystemExit(f"no labelled data at {folder}: set DEDUP_DATA, or give --data DIR")
    return folder


def rows_of(file: Path) -> list[dict[str, Any]]:
    """Return the objects of a gzipped file of JSON lines."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def bodies_of(archive: Path, wanted: Collection[str]) -> dict[str, bytes]:
    """Return members of an archive by their names."""
    found = {}
    with tarfile.open(archive) as members:
        for member in members:
            file = members.extractfile(member) if member.name in wanted else None
            if file is not None:
                found[member.name] = file.read()
    return found
