"""What can be set, asked and counted is documented, and the documentation is true."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

import tests.hostile
from shingling.cli.all_commands import all_commands
from shingling.plugin.settings import SETTINGS, settings_of_rooms
from shingling.rules.reasons import Reason
from tests.repository.docs.pages import DOCS, PAGES, anchors, blocks, read, sections
from tests.support.installed import ROOT

if TYPE_CHECKING:
    from pathlib import Path

_SITE = "https://scrapy-shingling.readthedocs.io/en/latest/"
_FILES = "https://raw.githubusercontent.com/scrapy-shingling/scrapy-shingling/main/"
_NOT_EVERYWHERE = ("shingling.bulk.spark", "pyspark", "scrapy_deltafetch")


def test_every_setting_is_documented_in_alphabetical_order_with_its_default() -> None:
    documented, known = sections("reference/settings.md"), SETTINGS | settings_of_rooms()
    assert list(documented) == sorted(known)
    for name, (default, _, _) in known.items():
        shown = re.search(r"Default: `(.+?)`", documented[name])
        assert shown, name
        assert ast.literal_eval(shown[1]) == default, name


@pytest.mark.parametrize("name", all_commands())
def test_every_command_and_option_is_documented(name: str) -> None:
    documented = {
        title.split()[0]: text for title, text in sections("reference/commands.md").items()
    }
    assert set(documented) == set(all_commands())
    names = (option.name for option in all_commands()[name].options)
    for option in (one for one in names if one.startswith("-")):
        assert f"`{option}" in documented[name], option


def test_every_stats_key_is_documented() -> None:
    documented = read("reference/stats.md")
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "shingling").rglob("*.py")]
    keys = {key for text in sources for key in re.findall(r'"(dedup/[a-z_/]+[a-z_])"', text)}
    assert len(keys) > 4
    for key in keys:
        assert f"`{key}`" in documented, key


def test_the_reasons_that_are_documented_are_those_of_the_enum() -> None:
    documented = re.findall(
        r"^- `(\w+)`: ", sections("reference/stats.md")["Reasons"], re.MULTILINE
    )
    assert sorted(documented) == sorted(Reason)


def test_every_status_is_documented() -> None:
    text = read("reference/stats.md") + read("reference/items.md")
    from shingling.store.model import STATUSES

    for status in STATUSES:
        assert f"`dedup/{status}" in text, status
        assert f"`{status}`" in text, status


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_and_anchors_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)\s]*))?\)", text):
        file = page.parent / target if target else page
        assert file.exists(), target
        if anchor:
            assert anchor in anchors(file), f"{target}#{anchor}"


def test_every_link_of_the_readme_is_absolute_because_pypi_shows_it_too() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"```.*?```|`[^`\n]+`", "", readme, flags=re.DOTALL)
    named = dict(re.findall(r"^\[([^\]]+)\]: (\S+)$", text, re.MULTILINE))
    assert set(re.findall(r"\[([^\]]+)\](?![(:])", text)) == set(named)
    direct = re.findall(r"\]\(([^)\s]+)\)", text)
    assert len(named) > 15
    for url in (*direct, *named.values()):
        if url.startswith(_FILES):
            assert (ROOT / url.removeprefix(_FILES)).is_file(), url
            continue
        assert url.startswith(_SITE), url
        path, _, anchor = url.removeprefix(_SITE).partition("#")
        page = DOCS / re.sub(r"\.html$|(?<=/)$", lambda end: ".md" if end[0] else "index.md", path)
        assert page.is_file(), url
        assert not anchor or anchor in anchors(page), url


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_python_examples_can_be_parsed_and_their_imports_exist(page: Path) -> None:
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.language != "python" or block.text.startswith(">>>"):
            continue
        for statement in ast.walk(ast.parse(block.text, f"{page}, line {block.line}")):
            if isinstance(statement, ast.ImportFrom) and statement.module:
                if statement.module.startswith(_NOT_EVERYWHERE):
                    continue
                module = import_module(statement.module)
                for name in statement.names:
                    assert hasattr(module, name.name), (block.line, name.name)


@pytest.mark.parametrize(
    "page", [DOCS / "explanation" / "architecture.md", ROOT / "CONTRIBUTING.md"]
)
def test_every_file_and_module_that_is_named_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for drawing in re.findall(r"\]\(([^)]+\.svg)\)", text):
        text += (page.parent / drawing).read_text(encoding="utf-8")
    files = set(re.findall(r"(?<![\w./])((?:\w+/)+\w+\.(?:py|c|md|txt))\b(?!\.\w)", text))
    modules = set(re.findall(r"`(shingling(?:\.\w+)+)`", text))
    assert len(files) > 5
    for file in files:
        assert any((ROOT / folder / file).is_file() for folder in ("", "shingling")), file
    for module in modules:
        assert find_spec(module) is not None, module


def test_every_promise_names_tests_that_are_there() -> None:
    promised = sections("explanation/promises.md")
    named = re.findall(r"`(tests/\S+\.py)::(test_\w+)`", read("explanation/promises.md"))
    assert len(named) > 20
    for file, test in named:
        assert f"\ndef {test}(" in (ROOT / file).read_text(encoding="utf-8"), test
    for title, text in promised.items():
        assert "::test_" in text or title == "What is not promised", title


def test_the_tests_of_every_attack_are_there() -> None:
    named = re.findall(r"\S+/test_\w+\.py", str(tests.hostile.__doc__))
    assert len(named) >= 14
    assert [name for name in named if not (ROOT / "tests" / name).is_file()] == []


def test_the_architecture_page_names_every_package_of_shingling() -> None:
    text = read("explanation/architecture.md")
    for package in (ROOT / "shingling").glob("*/__init__.py"):
        name = package.parent.name
        assert f"`shingling.{name}`" in text or name == "migrations", name


def test_every_page_of_the_site_is_in_a_table_of_contents() -> None:
    listed = set()
    for index in DOCS.rglob("*.md"):
        for contents in re.findall(r"```{toctree}\n(.*?)```", index.read_text("utf-8"), re.DOTALL):
            names = re.findall(r"^([\w/-]+)$", contents, flags=re.MULTILINE)
            listed |= {(index.parent / f"{name}.md").resolve() for name in names}
    assert listed == set(DOCS.rglob("*.md")) - {DOCS / "index.md"}
