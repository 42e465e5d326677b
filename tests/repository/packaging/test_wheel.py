"""The source distribution, the wheel made of it, and a user's project that has nothing else."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from functools import partial
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from packaging.requirements import Requirement

from tests.support.crawls import Project
from tests.support.installed import FOLDERS, copy_source
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


def ran(python: Path | str, *arguments: str, cwd: Path, **more: str) -> CompletedProcess[str]:
    """Run Python, and see that it ends well."""
    done = subprocess.run(
        [str(python), *arguments],
        cwd=cwd,
        env={**VARIABLES, **more},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the source with both distributions, which were built where no compiler is.

    Setuptools comes from an index; these tests are skipped where there is none.
    """
    folder = copy_source(tmp_path_factory.mktemp("built") / "source")
    tools = str(folder.parent / "tools")
    pip = (sys.executable, "-m", "pip", "--retries", "0", "install", "--target", tools)
    asked = subprocess.run([*pip, "setuptools"], capture_output=True, text=True)
    if asked.returncode:
        pytest.skip(f"no package index can be reached: {asked.stderr.strip()[-200:]}")
    # First the source distribution, then the wheel from what is in it.
    build = (sys.executable, "-m", "build", "--no-isolation", str(folder))
    ran(*build, cwd=folder.parent, CC="no-such-compiler", PYTHONPATH=tools)
    return folder


def required_by(package: Distribution) -> set[str]:
    """Return the names of what a package requires here without its extras."""
    wanted = map(Requirement, package.requires or ())
    return {one.name for one in wanted if not one.marker or one.marker.evaluate({"extra": ""})}


def link_requirements(wheel: Path, packages: Path) -> None:
    """Have a folder of packages all that a wheel requires, as it is installed here.

    Extras of other packages are left out, as pips before 23.3 leave out lxml[html_clean].
    """
    [own] = distributions(path=[str(wheel)])
    todo, done = required_by(own), set[str]()
    while todo:
        done |= todo
        found = [*map(distribution, todo)]
        todo = set().union(*map(required_by, found)) - done
        for package in found:
            for name in {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}:
                if not (packages / name).exists():
                    (packages / name).symlink_to(str(package.locate_file(name)))


def test_a_wheel_made_without_a_compiler_works_in_a_project_with_what_it_requires(
    source: Path, tmp_path: Path
) -> None:
    project, [wheel] = Project(tmp_path / "project"), (source / "dist").glob("*.whl")
    environment = tmp_path / "environment"
    venv.create(environment)
    folder = "Scripts" if sys.platform == "win32" else "bin"
    bare = partial(ran, environment / folder / "python", cwd=project.folder)
    there = Path(
        bare("-c", "import sysconfig; print(sysconfig.get_path('purelib'))").stdout.strip()
    )
    link_requirements(wheel, there)
    pip = (sys.executable, "-m", "pip", "--python", str(environment))
    ran(*pip, "install", "--quiet", "--no-deps", "--no-index", str(wheel), cwd=tmp_path)
    where = bare("-c", "import shingling; print(shingling.__file__)").stdout
    package = Path(where.strip()).parent
    assert package == there / "shingling", "the wheel, not the checkout, is used"
    assert not [*package.rglob("_kernel*.so")]
    assert (package / "migrations" / "env.py").is_file()
    guess = "import scrapy_shingling, shingling; print(scrapy_shingling.Addon is shingling.Addon)"
    assert bare("-c", guess).stdout == "True\n"
    assert not (there / "crawler").exists()
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


_SUFFIXES = {".py", ".mako", ".txt", ".npz", ".typed", ".html", ".css", ".js", ".svg"}


def test_the_wheel_has_everything(source: Path) -> None:
    [sdist], [wheel] = (source / "dist").glob("*.tar.gz"), (source / "dist").glob("*.whl")
    with tarfile.open(sdist) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    files = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    assert {name for name in files if name.startswith((*FOLDERS, "Makefile", "CHANGELOG"))} <= names
    assert not {name for name in names if name.endswith((".so", ".pyc", ".db"))}
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
    assert inside == {*expected, "scrapy_shingling.py"}
