"""Real texts that the simulated sites are made of."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING

from resiliparse.extract.html2text import extract_plain_text

from benchmarks.data import rows_of
from benchmarks.verdict_sets import labelled_pages

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.verdict_sets import LabelledPage

_WORDS_OF_PARAGRAPH = 60
_WORDS_OF_TEXT = 250  # a crawl is to take its time for URLs, not for texts
_WORDS_OF_RELEASE = 800  # so that most pages of two releases differ
_MIN_WORDS = 60
_TAG = re.compile(r"<[^<>]*>")


@dataclass(frozen=True)
class Text:
    """A real text."""

    title: str
    paragraphs: tuple[str, ...]

    @cached_property
    def words(self) -> list[str]:
        """Of all paragraphs."""
        return " ".join(self.paragraphs).split()


def text_of(whole: str, most: int = _WORDS_OF_TEXT) -> Text:
    """Cut a text into paragraphs, and to a length; its first words are its title."""
    words = whole.split()[:most]
    size = _WORDS_OF_PARAGRAPH
    paragraphs = [" ".join(words[at : at + size]) for at in range(0, len(words), size)]
    return Text(" ".join(words[:7]), tuple(paragraphs))


@cache
def articles(folder: Path) -> list[Text]:
    """English articles, all different."""
    rows = rows_of(folder / "mccormick" / "articles_2500.jsonl.gz")
    first = {row["cluster"]: row["text"] for row in rows}
    return [text_of(text) for text in first.values() if len(text.split()) >= _MIN_WORDS]


@cache
def news(folder: Path) -> list[Text]:
    """News articles in English, Polish and Greek, each text once."""
    rows = rows_of(folder / "waddle" / "manifest.jsonl.gz")
    texts = {_TAG.sub(" ", row["gold"]): row for row in rows}
    return [text_of(text) for text in texts if len(text.split()) >= _MIN_WORDS]


@cache
def guide(folder: Path) -> dict[tuple[str, str, str], Text]:
    """Pages of an installation guide, by architecture, language and file name."""
    texts = {}
    for page in labelled_pages(folder, "installation-guide"):
        architecture, language, name = page.file.split("/", 2)
        texts[architecture, language, name] = _text_of_page(page)
    return texts


@cache
def releases(folder: Path) -> dict[tuple[str, str], Text]:
    """Pages of five releases of a manual, by release and file name."""
    texts = {}
    for page in labelled_pages(folder, "llvm-docs"):
        release, name = page.file.split("/", 1)
        text = _text_of_page(page, _WORDS_OF_RELEASE)
        if text.words:
            texts[release, name] = text
    return texts


def _text_of_page(page: LabelledPage, most: int = _WORDS_OF_TEXT) -> Text:
    return text_of(
        extract_plain_text(page.body.decode("utf-8", "replace"), main_content=True), most
    )


def name_of(text: Text) -> str:
    """Name of the content of a text: equal words have equal names."""
    return blake2b(" ".join(text.words).encode(), digest_size=8).hexdigest()
