"""benchmarks/releases.py: what it counts of made releases, and how they are halved."""

from __future__ import annotations

import pytest

from benchmarks.releases import REPORT, TUNE, Read, count, halves, release_of

_WORDS = " ".join(f"{a}{b}word" for a in "abcdefghijklmno" for b in "abcdefghijklmno")


def test_pages_flagged_under_another_title_are_counted_by_what_differs() -> None:
    pages = [
        Read("a", "Rain falls", _WORDS),
        Read("b", "Rain falls", _WORDS),
        Read("c", "Old town is flooded", _WORDS),
        Read("d", "Rivers rise", f"{_WORDS} once = twice"),
        Read("e", None, None),
    ]
    found = count("a release", TUNE, pages)
    assert (found.pages, found.flagged, found.titled) == (5, 3, 2)
    assert (found.reworded, found.symbols) == (1, 1)
    assert not found.met
    assert count("a release", TUNE, pages[:2]).met


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


def test_architectures_of_one_language_are_in_one_half() -> None:
    names = [f"installation-guide {lang} {arch}" for lang in ("de", "en") for arch in ("a", "b")]
    of = halves([*names, "llvm-docs 13", "llvm-docs 14", "llvm-docs names 13"])
    assert [of[name] for name in names] == [TUNE, TUNE, REPORT, REPORT]
    assert (of["llvm-docs 13"], of["llvm-docs 14"]) == (TUNE, REPORT)
    assert of["llvm-docs names 13"] == TUNE
