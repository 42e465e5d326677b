"""A user's own virtual environment: the wheel is installed in it, the checkout is not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parent.parent


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
