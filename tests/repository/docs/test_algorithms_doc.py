"""The examples of the pages on algorithms print what they say, and their tables are computed."""

from __future__ import annotations

import doctest
import re
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from shingling.fetching.learning import read_change
from shingling.fetching.learning.changes import KINDS
from shingling.fetching.learning.evidence import loss, prior_of
from shingling.sketch import Banding
from shingling.sketch.banding import Halves
from tests.repository.docs.pages import blocks, read
from tests.support.installed import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.repository.docs.pages import Block

PAGES = ("explanation/algorithms.md", "explanation/questions.md")
PAGE = "\n".join(map(read, PAGES))
EXAMPLES = [
    (name, block) for name in PAGES for block in blocks(read(name)) if block.language == "python"
]

# What an example says, and the modules that it then needs. Without `language` it is detected.
NEEDS = {
    r'lemmas="simplemma"': ["simplemma"],
    r"stem=": ["snowballstemmer"],
    r"pymorphy3": ["pymorphy3"],
    r"nouns=": ["HanTa", "pymorphy3"],
    r"jieba": ["jieba"],
    r"sudachipy": ["sudachipy", "sudachidict_core"],
    r"Canonicaliser\((?!language)": ["py3langid"],
}


def rows(header: str) -> list[list[str]]:
    """Return the cells of the table whose header begins so, without the header."""
    table = re.search(
        rf"^{re.escape(header)}.*\n\|[-| ]+\|\n((?:\|.*\|\n)+)", PAGE, flags=re.MULTILINE
    )
    assert table, header
    return [[cell.strip() for cell in row[1:-1].split("|")] for row in table[1].splitlines()]


def agree(shown: str, value: float) -> bool:
    """Return whether a cell is the value rounded to the digits that it shows."""
    digits = len(shown.partition(".")[2])
    return abs(float(shown.replace(",", "")) - value) <= 0.5 * 10.0**-digits + 1e-9


@pytest.mark.parametrize(
    ("name", "block"), EXAMPLES, ids=[f"{name}, line {block.line}" for name, block in EXAMPLES]
)
def test_an_example_prints_what_the_page_says(
    name: str, block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = block.text
    needed = {
        module for said, names in NEEDS.items() if re.search(said, source) for module in names
    }
    missing = sorted(module for module in needed if find_spec(module) is None)
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    (tmp_path / "crawler").symlink_to(ROOT / "crawler")
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest(source, {}, name, None, block.line)
    told: list[str] = []
    failed, tried = doctest.DocTestRunner(verbose=False).run(test, out=told.append)
    assert tried
    assert not failed, "".join(told)


def test_the_supershingle_and_megashingle_table_is_computed() -> None:
    similarities = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98]
    one, two = rows("| s = | .5 | .6 | .7 | .8 | .9 | .95 | .98 |")
    for s, shown_one, shown_two in zip(similarities, one[1:], two[1:], strict=True):
        p = s**14
        assert agree(shown_one, Banding(6, 14).recall(s)), s
        assert agree(shown_two, 1 - (1 - p) ** 6 - 6 * p * (1 - p) ** 5), s


def test_the_table_of_halves_is_computed() -> None:
    table = rows("| bits | k | keys looked up |")
    assert len(table) == 4
    for bits, distances, keys, *candidates in table:
        two, _, half = keys.partition(" × ")
        count = int(two) * int(half.replace(",", ""))
        for distance in distances.split(", "):
            assert Halves(int(bits)).probes([1], int(distance)).shape == (1, count)
        for pages, shown in zip((1e5, 1e6, 1e7, 1e8), candidates, strict=True):
            expected = pages * count / 2 ** (int(bits) // 2)
            assert agree(shown, expected), (keys, pages)


def test_the_table_of_what_bands_find_is_computed() -> None:
    table = rows("| bands × minima | s = .5 | .6 | .7 | .8 | .9 | .95 |")
    assert len(table) == 5
    for name, *recalls in table:
        bands, minima = map(int, name.partition("(")[0].split("×"))
        for shown, s in zip(recalls, (0.5, 0.6, 0.7, 0.8, 0.9, 0.95), strict=True):
            assert agree(shown, Banding(bands, minima).recall(s)), (name, s)


def test_the_table_of_changes_says_how_many_pages_each_example_needs() -> None:
    page = read("explanation/fetches.md")
    rows = re.findall(r"^ +\| (`.+`) \| .+ \| (\d+)", page, flags=re.MULTILINE)
    needed = {text: int(pages) for names, pages in rows for text in re.findall("`(.+?)`", names)}
    assert {text.partition(" ")[0] for text in needed} == {*KINDS}
    for text, pages in needed.items():
        change = read_change(text)
        assert change is not None
        prior = prior_of(change)
        assert loss(prior, pages) <= 0.01 < loss(prior, pages - 1), text
