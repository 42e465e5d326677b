"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

LEFT_OVER = f".{'[0-9a-f]' * 16}.part"
"""Pattern of the names of files that a process which was killed has not completed."""


@contextmanager
def written_whole(file: Path) -> Iterator[IO[bytes]]:
    """Open a file to write to; it takes its name once it is complete and on the disk.

    A link is followed, and a file that is replaced leaves its mode.

    Raises:
        OSError: it cannot be written, or is something else than a file, such as a device.
    """
    path = Path(os.path.realpath(file))
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is no file", str(file))
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with part.open("xb") as opened:
            yield opened
            opened.flush()
            os.fsync(opened.fileno())
        if path.exists():
            shutil.copymode(path, part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
