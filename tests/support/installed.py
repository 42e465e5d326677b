"""A user's environment: the wheel is installed in it, the checkout is not."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).parents[2]
STARTED = "A worker is started:"


def copy_source(folder: Path) -> Path:
    """Copy what is packed into a folder, without what was compiled here."""
    for name in ("shingling", "migrations"):
        ignored = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def install_wheel(folder: Path) -> Path:
    """Make a virtual environment with the wheel of this checkout.

    What the wheel depends on is borrowed from the environment that runs this. Its editable
    install of the checkout is not, since the .pth files of a borrowed folder are not read: a
    module that the wheel lacks is not found there either.

    Args:
        folder: of the virtual environment, to be made.

    Returns:
        The path of its Python.
    """
    venv.create(folder, symlinks=os.name != "nt")
    paths = {"base": str(folder), "platbase": str(folder)}
    site_packages = Path(sysconfig.get_path("purelib", "venv", vars=paths))
    with TemporaryDirectory() as temporary:
        source = copy_source(Path(temporary))
        subprocess.run(
            [
                *(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"),
                *("--target", str(site_packages), str(source)),
            ],
            env={**os.environ, "CC": "no-such-compiler"},
            check=True,
            capture_output=True,
        )
    (site_packages / "borrowed.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    return Path(sysconfig.get_path("scripts", "venv", vars=paths)) / "python"


class Environment:
    """The environment of a user, that has the wheel.

    Args:
        python: of it.
    """

    def __init__(self, python: Path) -> None:
        self.python = python
        self._forks = self.start(str(Path(__file__).with_name("forks.py")), stdin=subprocess.PIPE)

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        """Start its Python."""
        variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return subprocess.Popen(
            [str(self.python), *arguments],
            env={**variables, **options.pop("variables", {})},
            **{"stdout": subprocess.PIPE, "text": True, **options},
        )

    def scrapy(
        self, folder: Path, arguments: tuple[str, ...], variables: dict[str, str]
    ) -> tuple[int, str, str]:
        """Run its Scrapy in a folder; return exit status, output and log.

        `STARTED` stands in the log where it has started another Python.
        """
        assert self._forks.stdin is not None
        assert self._forks.stdout is not None
        with TemporaryDirectory() as temporary:
            said = {name: str(Path(temporary, name)) for name in ("output", "log")}
            order = {"folder": str(folder), "arguments": arguments, "variables": variables}
            order |= {**said, "started": STARTED}
            self._forks.stdin.write(json.dumps(order) + "\n")
            self._forks.stdin.flush()
            status = int(self._forks.stdout.readline())
            output, log = (Path(said[name]).read_text(encoding="utf-8") for name in said)
        return status, output, log

    def close(self) -> None:
        """End the process that the crawls are forks of."""
        assert self._forks.stdin is not None
        assert self._forks.stdout is not None
        self._forks.stdin.close()
        self._forks.stdout.close()
        self._forks.wait()
