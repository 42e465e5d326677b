"""benchmarks/releases.py: what it counts of made releases."""

from __future__ import annotations

import pytest

from benchmarks.releases import Read, count, release_of

_WORDS = " ".join(f"{a}{b}word" for a in "abcdefghijklmno" for b in "abcdefghijklmno")


def test_pages_flagged_under_another_title_are_counted_by_what_differs() -> None:
    pages = [
        Read("a", "Rain falls", _WORDS),
        Read("b", "Rain falls", _WORDS),
        Read("c", "Old town is flooded", _WORDS),
        Read("d", "Rivers rise", f"{_WORDS} once = twice"),
        Read("e", None, None),
    ]
    found = count("a release", pages)
    assert (found.pages, found.flagged, found.titled) == (5, 3, 2)
    assert (found.reworded, found.symbols) == (1, 1)
    assert not found.met
    assert count("a release", pages[:2]).met


@pytest.mark.parametrize(
    ("name", "file", "release"),
    [
        ("installation-guide", "amd64/de/ch01.html", "installation-guide de amd64"),
        ("llvm-docs", "llvm-13/a.html", "llvm-docs 13"),
        (
            "docs-multilang",
            "apache2-doc/doc/apache2-doc/manual/ja/a.html",
            "docs-multilang apache2-doc ja",
        ),
        ("docs-multilang", "git-doc/doc/git-doc/a.html", "docs-multilang git-doc"),
    ],
)
def test_a_file_is_of_a_release(name: str, file: str, release: str) -> None:
    assert release_of(name, file) == release
