"""The oldest versions that pyproject.toml allows are those that the tests are run with."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.support.installed import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# Spark's are no part of the extra `all`: they are tested where Java is.
APART = ("spark",)


def versions(lines: Iterable[str], operator: str) -> dict[str, Version]:
    """Return the version that each requirement has behind an operator, by its name."""
    found: dict[str, Version] = {}
    for requirement in map(Requirement, lines):
        if requirement.name != "scrapy-shingling":
            [version] = [one.version for one in requirement.specifier if one.operator == operator]
            found[canonicalize_name(requirement.name)] = Version(version)
    return found


def test_the_oldest_versions_that_are_allowed_are_those_of_make_test_oldest() -> None:
    extras = [
        line
        for name, lines in PROJECT["optional-dependencies"].items()
        if name not in APART
        for line in lines
    ]
    allowed = versions([*PROJECT["dependencies"], *extras], ">=")
    lines = (ROOT / "tests" / "oldest.txt").read_text(encoding="utf-8").splitlines()
    tested = versions((line for line in lines if line and not line.startswith("#")), "==")
    assert {name: tested.get(name) for name in allowed} == allowed


def test_the_readme_names_the_oldest_scrapy() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    named = re.search(r"Scrapy (\S+) or newer", readme)
    assert named
    assert Version(named[1]) == versions(PROJECT["dependencies"], ">=")["scrapy"]


def test_the_citation_names_the_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {PROJECT['version']}\n" in citation


def test_an_extra_that_a_message_names_has_the_package_that_it_names() -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "shingling").rglob("*.py")]
    required = re.compile(r"""\brequire\("(\w+)", "[^"]+", (("[\w.]+", )+)error""")
    named = {found[1]: found[2] for text in sources for found in required.finditer(text)}
    assert len(named) >= 5
    for extra, modules in named.items():
        packages = {Requirement(one).name for one in PROJECT["optional-dependencies"][extra]}
        assert set(re.findall(r'"(.+?)"', modules)) <= packages, extra
