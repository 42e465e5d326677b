"""What pip makes of a clone, and a user's project in an environment of its own."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.crawls import Project
from tests.support.installed import copy_source
from tests.support.pages import article, edited, html
from tests.support.serving import serving

if TYPE_CHECKING:
    from subprocess import CompletedProcess

# The environment without what leads to this one.
VARIABLES = {
    name: value
    for name, value in os.environ.items()
    if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
}


def ran(python: Path, *arguments: str, cwd: Path, **environment: str) -> CompletedProcess[str]:
    """Run Python, and see that it ends well."""
    done = subprocess.run(
        [str(python), *arguments],
        cwd=cwd,
        env={**VARIABLES, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module", autouse=True)
def index(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skip these tests where there is nothing to install from."""
    asked = subprocess.run(
        [
            *(sys.executable, "-m", "pip", "--retries", "0", "download", "--no-deps"),
            *("--dest", str(tmp_path_factory.mktemp("index")), "lxml_html_clean"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if asked.returncode:
        pytest.skip(f"no package index can be reached: {asked.stderr.strip()[-200:]}")


def test_it_installs_without_a_compiler_by_the_pip_of_python_and_works_in_a_project(
    tmp_path: Path,
) -> None:
    source, project = copy_source(tmp_path / "source"), Project(tmp_path / "project")
    venv.create(tmp_path / "environment", with_pip=True)
    folder = "Scripts" if sys.platform == "win32" else "bin"
    bare = partial(ran, tmp_path / "environment" / folder / "python", cwd=project.folder)
    # Of all that is installed, little is imported: to compile the rest takes longer than all else.
    pip = ("-m", "pip", "install", "--quiet", "--no-compile")
    bare(*pip, str(source), CC="no-such-compiler")
    where = bare("-c", "import shingling; print(shingling.__file__)").stdout
    package = Path(where.strip()).parent
    assert package.is_relative_to(tmp_path / "environment"), "the wheel, not the checkout, is used"
    assert not [*package.rglob("_kernel*.so")]
    assert (package / "migrations" / "env.py").is_file()
    assert not (package.parent / "crawler").exists()
    pages = {"/a": article(1), "/b": edited(article(1)), "/c": article(2)}
    scrapy = ("-W", "error::ResourceWarning", "-m", "scrapy")
    with serving({path: html(text, "A title") for path, text in pages.items()}) as server:
        where = f"site={server.url}"
        crawl = ("crawl", "spider", "-a", where, "-a", "paths=/a,/b,/c", "-s", "DEDUP_WORKERS=2")
        log = bare(*scrapy, *crawl, "-O", "items.csv", "-s", "DEDUP_ACTION=tag").stderr
    assert "Traceback" not in log
    with (project.folder / "items.csv").open(encoding="utf-8", newline="") as file:
        results = [row["dedup"] for row in csv.DictReader(file)]
    assert sorted("'status': 'new'" in result for result in results) == [False, True, True]
    status = bare(*scrapy, "dedup", "status").stdout
    assert "1 (0 exact, 1 near)" in status


_SUFFIXES = {".py", ".mako", ".txt", ".typed", ".html", ".css", ".js", ".svg"}


def test_a_wheel_made_from_the_source_distribution_has_everything(tmp_path: Path) -> None:
    source = copy_source(tmp_path / "source")
    # First the source distribution, then the wheel from what is in it.
    subprocess.run(
        [sys.executable, "-m", "build", str(source)], cwd=tmp_path, check=True, capture_output=True
    )
    [sdist], [wheel] = (source / "dist").glob("*.tar.gz"), (source / "dist").glob("*.whl")
    with tarfile.open(sdist) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    assert "shingling/kernel/_kernel.c" in names
    with zipfile.ZipFile(wheel) as packed:
        inside = {
            name
            for name in packed.namelist()
            if ".dist-info/" not in name and "_kernel." not in name
        }
    folders = {"shingling": "shingling", "migrations": "shingling/migrations"}
    expected = {
        (Path(there) / file.relative_to(source / here)).as_posix()
        for here, there in folders.items()
        for file in (source / here).rglob("*")
        if file.suffix in _SUFFIXES
    }
    assert inside == expected
