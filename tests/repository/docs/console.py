"""Runs the examples of the documentation in a shell, and compares what they print."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tests.support.installed import ROOT
from tests.support.processes import PATIENCE, Fork

if TYPE_CHECKING:
    from tests.repository.docs.pages import Block

ADDRESS = "http://127.0.0.1:8765"
"""Where the sample site is in the documentation."""

_OF_THE_SHELL = re.compile(r"[|&;<>*?$`]")

# What differs from one run, machine or moment to the next.
_DIFFERENT = [
    (re.compile(r"(?<=//127\.0\.0\.1:|//localhost:)\d+"), "PORT"),
    (re.compile(r"sqlite:////\S+?dedup\.db"), "STORE"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?"), "TIME"),
    (re.compile(r"\d+\.\d kB$"), "SIZE"),
    (re.compile(r"\s+"), " "),
]


@dataclass
class Shell:
    """A shell in a folder, with the `scrapy` of this Python.

    Args:
        folder: where commands run.
        address: of the sample site, in place of the one in the documentation.
    """

    folder: Path
    address: str = ADDRESS

    def run(self, command: str) -> str:
        """Run a command; return its output, with the log among it."""
        if command.startswith("cd "):
            self.folder /= command.removeprefix("cd ")
            return ""
        if command.startswith("scrapy ") and not _OF_THE_SHELL.search(command):
            return self._scrapy(self._here(command))
        python = f'python() {{ "{sys.executable}" "$@"; }}\nscrapy() {{ python -m scrapy "$@"; }}'
        done = subprocess.run(
            ["bash", "-c", f"{python}\n{self._here(command)}"],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, f"$ {command}\n{done.stdout}"
        return done.stdout

    def _scrapy(self, command: str) -> str:
        """Run Scrapy as a fork of a process that has imported it."""
        with TemporaryDirectory() as temporary:
            file = Path(temporary, "printed")
            arguments = ("-m", *shlex.split(command))
            status = Fork(self.folder, arguments, {}, (file, file)).wait(PATIENCE)
            printed = file.read_text(encoding="utf-8")
        assert status == 0, f"$ {command}\n{printed}"
        return printed

    def write(self, block: Block) -> None:
        """Write or extend the file that the block's caption names."""
        assert block.caption is not None
        name = block.caption.removeprefix("added to ")
        is_added = name != block.caption
        with (self.folder / name).open("a" if is_added else "w") as file:
            file.write(("\n" if is_added else "") + self._here(block.text))

    def check(self, block: Block) -> None:
        """Run the commands of a block, and compare what they print with what it shows."""
        for command, shown in commands(block):
            printed = self.run(command)
            if shown:
                expected = [_normal(line) for line in shown]
                assert _matches(expected, [_normal(line) for line in printed.splitlines()]), (
                    f"line {block.line}: $ {command}\n{printed}"
                )

    def _here(self, text: str) -> str:
        return with_port_of(self.address, text)


def with_port_of(address: str, text: str) -> str:
    """A text of the documentation with another port of the sample site and of its mirror."""
    return text.replace(f":{urlsplit(ADDRESS).port}", f":{urlsplit(address).port}")


def commands(block: Block) -> list[tuple[str, list[str]]]:
    """The commands of a block, each with the lines that are shown below it."""
    parts = re.split(r"^\$ (.+)$", block.text, flags=re.MULTILINE)
    return [
        (command, shown.strip("\n").splitlines())
        for command, shown in zip(parts[1::2], parts[2::2], strict=True)
    ]


def _normal(line: str) -> str:
    for pattern, replacement in _DIFFERENT:
        line = pattern.sub(replacement, line)
    return line.strip()


def _matches(expected: list[str], printed: list[str]) -> bool:
    """Whether lines are as expected, where `…` stands for any number of lines."""
    pattern = "".join("(?:.*\n)*?" if line == "…" else re.escape(f"{line}\n") for line in expected)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in printed)) is not None
