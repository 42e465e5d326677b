"""The examples of the pages on algorithms print what they say, and their tables are computed."""

from __future__ import annotations

import doctest
import re
from importlib.util import find_spec
from math import acos, ceil, comb, pi, sqrt
from typing import TYPE_CHECKING

import pytest

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


def number(cell: str) -> float:
    return float(cell.replace(",", ""))


def agree(shown: str, value: float) -> bool:
    """Return whether a cell is the value rounded to the digits that it shows."""
    digits = len(shown.partition(".")[2])
    return abs(number(shown) - value) <= 0.5 * 10.0**-digits + 1e-9


def test_there_are_examples_of_every_part() -> None:
    assert len(EXAMPLES) >= 8
    assert all(block.text.startswith(">>> ") for _, block in EXAMPLES)


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
        count = int(two) * int(number(half))
        for distance in distances.split(", "):
            assert Halves(int(bits)).probes([1], int(distance)).shape == (1, count)
        for pages, shown in zip((1e5, 1e6, 1e7, 1e8), candidates, strict=True):
            expected = pages * count / 2 ** (int(bits) // 2)
            assert agree(shown, expected), (keys, pages)


def test_the_table_of_numbers_of_functions_is_computed() -> None:
    def at_most(most: int, n: int, p: float) -> float:
        return sum(comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(most + 1))

    table = rows("| functions | bytes | standard error at .8 |")
    assert [row[0] for row in table] == ["42", "84", "128", "256"]
    for functions, size, error, taken, missed in table:
        n = int(functions)
        least = ceil(0.8 * n - 1e-9)
        assert number(size) == 4 * n
        assert agree(error, sqrt(0.8 * 0.2 / n))
        assert agree(taken, 1 - at_most(least - 1, n, 0.7))
        assert agree(missed, at_most(least - 1, n, 0.9))


def test_the_table_of_replaced_words_is_computed() -> None:
    header = "| words in a shingle | 1 | 2 | 3 | 4 | 5 | 7 | 10 |"
    (shown,) = rows(header)
    for size, cell in zip((1, 2, 3, 4, 5, 7, 10), shown[1:], strict=True):
        share = 1 - (8 / 9) ** (1 / size)
        kept = (1 - share) ** size
        assert kept / (2 - kept) == pytest.approx(0.8)
        assert agree(cell, 100 * share), size


def test_the_probabilities_named_in_the_text_are_computed() -> None:
    words = " ".join(PAGE.split())
    assert "14 × 6 bands find .986" in words
    assert agree(".986", Banding(14, 6).recall(0.8))
    assert ".8^14 = .044" in words
    assert agree(".044", 0.8**14)
    assert "agree by chance with probability .0005" in words
    assert agree(".0005", 1000 * 1000 / 2**31)


def test_the_table_of_conversions_is_computed() -> None:
    rows = {
        cells[0]: [*map(float, cells[1:])]
        for line in read("explanation/algorithms.md").splitlines()
        if line.startswith(("| J | .05", "| D, ", "| share, w", "| SimHash dist"))
        for cells in [[cell.strip() for cell in line.strip("|").split("|")]]
    }
    assert len(rows) == 4
    resemblances = rows.pop("J")
    dice = [2 * value / (1 + value) for value in resemblances]
    expected = {
        "D, containment": (dice, 0.001),
        "share, w = 3, n = 300": ([value * 298 / 300 for value in dice], 0.001),
        "SimHash distance, of 64": ([64 * acos(value) / pi for value in dice], 0.06),
    }
    for name, (values, error) in expected.items():
        assert rows[name] == pytest.approx(values, abs=error), name
