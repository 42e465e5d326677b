"""Where the labelled data lies."""

from __future__ import annotations

import os
from pathlib import Path


def data_folder(given: str | None = None) -> Path:
    """Return the folder of the labelled data.

    Raises:
        SystemExit: it is not there; the message says how to name it.
    """
    folder = Path(given or os.environ.get("DEDUP_DATA", "../shared/data"))
    if not folder.is_dir():
        raise SystemExit(f"no labelled data at {folder}: set DEDUP_DATA, or give --data DIR")
    return folder
