"""Rows of known kinds, and the decisions of a run and of a store on them."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from shingling import Page, Rules, Scheme, Store
from shingling.bulk import Options, Summary, deduplicate

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Removed = dict[str, tuple[str, str, float, float]]
"""Original, status, resemblance and containment of removed rows, by their ids."""


class Result(NamedTuple):
    """Ids of the kept rows, and the removed rows."""

    kept: list[str]
    removed: Removed


_LETTERS = str.maketrans("0123456789", "bcdfghjklm")


def families(
    seed: int, rows: int, texts: Sequence[str], words: int = 60, max_replaced: int | None = None
) -> list[dict[str, str]]:
    """Make rows of texts that are unchanged, cut, or have some words replaced."""
    rnd = random.Random(seed)
    made = []
    for number in range(rows):
        parts = rnd.choice(texts).split()[:words]
        most = len(parts) // 4 if max_replaced is None else max_replaced
        for _ in range(rnd.choice((0, 0, rnd.randint(0, most)))):
            parts[rnd.randrange(len(parts))] = _word("w", rnd)
        if rnd.random() < 0.1:
            parts = parts[: rnd.randint(3, 24)]
        made.append({"id": f"row {number}", "text": " ".join(parts)})
    return made


def random_texts(seed: int, number: int, words: int = 60) -> list[str]:
    """Make texts that have nothing in common."""
    rnd = random.Random(seed)
    return [" ".join(_word("t", rnd) for _ in range(words)) for _ in range(number)]


def _word(first: str, rnd: random.Random) -> str:
    """Make a word without digits: a number says something of its own."""
    return f"{first}{rnd.randrange(10**9)}".translate(_LETTERS)


def write_lines(file: Path, rows: Iterable[Any]) -> Path:
    """Write rows as JSON lines."""
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    file.write_text("".join(lines), encoding="utf-8")
    return file


def read_lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_bytes().splitlines()]


def run(
    source: Path | str | Iterable[Any],
    out: Path,
    *,
    against: Path | str | None = None,
    store: Store | None = None,
    restart: bool = False,
    **options: Any,
) -> Summary:
    """Deduplicate a file, what else an input may be, or rows, which are written to a file first."""
    if not isinstance(source, Path | str):
        source = write_lines(out.with_name(f"{out.name}.jsonl"), source)
    chosen = Options(**{"workers": 0, **options})
    given = [str(source)], out, chosen
    return deduplicate(*given, against=against, store=store, restart=restart)


def bulk(source: Path | str | Iterable[Any], out: Path, **options: Any) -> Result:
    """Give the result of such a run."""
    run(source, out, **options)
    return result_of(out)


def bad_rows(out: Path) -> list[tuple[int, str]]:
    """Line and reason of each row that a run could not take."""
    return [(row["line"], row["reason"]) for row in read_lines(out / "bad.jsonl")]


def result_of(out: Path) -> Result:
    """Read the result that a run has written."""
    removed = {
        row["id"]: (row["original"], row["status"], row["resemblance"], row["containment"])
        for row in read_lines(out / "removed.jsonl")
    }
    kept = read_lines(out / "kept.jsonl")
    return Result([row.get("id") or row["url"] for row in kept], removed)


def one_by_one(
    rows: Iterable[dict[str, str]],
    store: Path,
    rules: Rules,
    scheme: Scheme | None = None,
    own_text: str = "ignore",
) -> Result:
    """Check the rows against a store, in their order."""
    rules = replace(rules, templates=False, own_text=own_text)
    pages = [Page(row["id"], row["text"]) for row in rows]
    with Store.open(f"sqlite:///{store}", scheme=scheme, rules=rules) as opened:
        verdicts = dict(zip((page.url for page in pages), opened.check(pages), strict=True))
    kept = [name for name, verdict in verdicts.items() if not verdict.is_duplicate]
    removed: Removed = {}
    for name, verdict in verdicts.items():
        if verdict.is_duplicate:
            assert verdict.original is not None
            assert verdict.resemblance is not None
            assert verdict.containment is not None
            measures = round(verdict.resemblance, 4), round(verdict.containment, 4)
            removed[name] = verdict.original, verdict.status, *measures
    return Result(kept, removed)
