"""What can be set, asked and counted is documented, and the documentation is true."""

from __future__ import annotations

import argparse
import ast
import re
from typing import TYPE_CHECKING, Any

import pytest

import shingling
from shingling.cli.commands import all_commands
from shingling.plugin.report import ADVICE
from shingling.plugin.settings import SETTINGS
from tests.support.installed import ROOT

if TYPE_CHECKING:
    from pathlib import Path

DOCS = ROOT / "docs"


def sections(name: str) -> dict[str, str]:
    parts = re.split(r"^### (.+)$", (DOCS / name).read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_every_setting_is_documented_in_alphabetical_order_with_its_default() -> None:
    documented = sections("settings.md")
    assert list(documented) == sorted(SETTINGS)
    for name, (default, _, _) in SETTINGS.items():
        shown = re.search(r"Default: `(.+?)`", documented[name])
        assert shown, name
        assert ast.literal_eval(shown[1]) == default, name


@pytest.mark.parametrize("name", all_commands())
def test_every_command_and_option_is_documented(name: str) -> None:
    documented = {title.split()[0]: text for title, text in sections("commands.md").items()}
    parser = argparse.ArgumentParser(add_help=False)
    all_commands()[name].add_options(parser)
    for option in (option for action in parser._actions for option in action.option_strings):
        assert f"`{option}" in documented[name], option


def test_no_command_is_documented_that_is_not_there() -> None:
    assert {title.split()[0] for title in sections("commands.md")} == set(all_commands())


def test_every_stats_key_and_reason_is_documented() -> None:
    documented = (DOCS / "stats.md").read_text(encoding="utf-8")
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "shingling").rglob("*.py")]
    keys = {key for text in sources for key in re.findall(r'"(dedup/[a-z_/]+[a-z_])"', text)}
    assert len(keys) > 4
    for key in keys:
        assert f"`{key}`" in documented, key
    reasons = {
        reason
        for text in sources
        for pattern in (
            r'ExtractionError\(\s*"(\w+)"',
            r'reason="(\w+)"',
            r'Skipped\("(\w+)"\)',
            r'Skipped\("(\w+)" if \w+ else "\w+"\)',
            r'Skipped\("\w+" if \w+ else "(\w+)"\)',
        )
        for reason in re.findall(pattern, text)
    }
    reasons |= set(ADVICE)
    assert len(reasons) > 15
    for reason in reasons:
        assert f"| `{reason}` |" in documented, reason


def test_every_status_is_documented() -> None:
    text = (DOCS / "stats.md").read_text(encoding="utf-8")
    from shingling.store import STATUSES

    for status in STATUSES:
        assert f"`dedup/{status}" in text, status


def test_all_public_names_can_be_imported_and_have_a_docstring() -> None:
    for name in shingling.__all__:
        public: Any = getattr(shingling, name)
        assert public.__doc__, name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = shingling.nothing


def test_links_in_the_documentation_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *DOCS.glob("*.md")]:
        text = page.read_text(encoding="utf-8")
        for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", text):
            file = page.parent / target if target else page
            assert file.exists(), (page.name, target)
            if anchor:
                assert anchor in headings(file), (page.name, target, anchor)


def headings(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as they are made from their words."""
    found = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in found}


def test_the_known_answers_of_the_candidate_table_are_computed() -> None:
    from shingling.sketch import Banding

    table = (DOCS / "algorithms.md").read_text(encoding="utf-8")
    for bands, rows in re.findall(r"^\| (\d+) × (\d+)", table, flags=re.MULTILINE):
        row = re.search(rf"^\| {bands} × {rows}[^|]*\|(.+)\|$", table, flags=re.MULTILINE)
        assert row
        shown = [float(cell) for cell in row[1].split("|")]
        recalls = [
            Banding(int(bands), int(rows)).recall(s) for s in (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
        ]
        assert shown == pytest.approx(recalls, abs=0.0006)
