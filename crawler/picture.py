"""`make picture`: draw what `make demo` prints, for the README."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.text import Text

_ROOT = Path(__file__).parents[1]
_PICTURE = _ROOT / "docs" / "images" / "demo.svg"
_MAX_ROWS = 8  # of each table
_WIDTH = 110  # columns
_FONT_FROM_THE_NETWORK = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def shortened(output: str) -> list[str]:
    """First lines of each paragraph of an output, with `…` for the rest."""
    lines: list[str] = []
    for paragraph in output.strip().split("\n\n"):
        rows = paragraph.splitlines()
        lines += [*rows[: _MAX_ROWS + 2], *(["…"] if len(rows) > _MAX_ROWS + 2 else []), ""]
    return lines[:-1]


def main() -> None:
    """Run the demonstration in a folder of its own, and draw its output."""
    with TemporaryDirectory() as folder:
        environment = {**os.environ, "FORCE_COLOR": "1", "PYTHONPATH": str(_ROOT)}
        (Path(folder) / "scrapy.cfg").write_text("[settings]\ndefault = crawler.settings\n")
        output = subprocess.run(
            [sys.executable, "-m", "crawler.demo"],
            cwd=folder,
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    console = Console(record=True, width=_WIDTH, file=StringIO(), highlight=False)
    for line in shortened(output):
        shown = Text.from_ansi(line)
        shown.rstrip()
        console.print(shown, no_wrap=True)
    picture = console.export_svg(title="make demo", unique_id="demo")
    picture = _FONT_FROM_THE_NETWORK.sub("", picture)
    _PICTURE.write_text(f"{picture.rstrip()}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
