"""How long a change of mind takes, and whether it ends where a fresh start would.

A store is filled at threshold 0.8, and rebuilt for 0.6: its index alone, and with all pages
decided again. Beside it, a store that had 0.6 from the start: both must hold the same groups.

    python -m benchmarks.rebuild [--pages 100000] [--json FILE] [--folder DIR] [--postgres URL]
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from shingling import Page, Rules, Store, sign

if TYPE_CHECKING:
    from collections.abc import Iterator

OLD, NEW = 0.8, 0.6
WORDS = 150
VOCABULARY = 50_000
BATCH = 256


def make_pages(count: int) -> list[Page]:
    """Return pages of which two in five are near-duplicates, 0.4 to 1 alike, of earlier ones."""
    chance = random.Random(1)
    texts: list[list[str]] = []
    pages = []
    for number in range(count):
        if texts and chance.random() < 0.4:
            words = [*chance.choice(texts[-2000:])]
            cut = chance.randrange(WORDS * 3 // 7)
            words[:cut] = (f"c{chance.randrange(VOCABULARY)}" for _ in range(cut))
        else:
            words = [f"w{chance.randrange(VOCABULARY)}" for _ in range(WORDS)]
            texts.append(words)
        text = " ".join(words)
        url = f"https://site{number % 500}.example/articles/{number}"
        pages.append(Page(url, text, sign(text), fetched=1.7e9 + number))
    return pages


@contextmanager
def timed(name: str, seconds: dict[str, float]) -> Iterator[None]:
    """Note how long something takes."""
    start = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - start


def fill(store: Store, pages: list[Page], threshold: float) -> None:
    """Check all pages, as a crawl does."""
    for start in range(0, len(pages), BATCH):
        store.check(pages[start : start + BATCH], threshold)


def standing(store: Store) -> list[tuple[object, ...]]:
    """Return what a store holds of every page."""
    return [
        (page.url, page.status, page.last_verdict, page.original, page.resemblance)
        for page in store.pages()
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, help="where the stores are made")
    parser.add_argument("--postgres", metavar="URL", help="an empty database, instead of SQLite")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    seconds: dict[str, float] = {}
    pages = make_pages(options.pages)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        fresh_url, url = (f"sqlite:///{folder}/{name}.db" for name in ("fresh", "changed"))
        with Store.open(fresh_url, threshold=NEW) as fresh:
            with timed("filled at 0.6", seconds):
                fill(fresh, pages, NEW)
            expected = standing(fresh)
        with Store.open(options.postgres or url, threshold=OLD) as store:
            with timed("filled at 0.8", seconds):
                fill(store, pages, OLD)
            with timed("rebuild --threshold 0.6", seconds):
                store.admin.rebuild(NEW)
            rules = Rules(threshold=NEW)
            with timed("rebuild --threshold 0.6 --decide --dry-run", seconds):
                changes = store.admin.redecide(rules, dry_run=True)
            with timed("rebuild --threshold 0.6 --decide", seconds):
                store.admin.redecide(rules)
            equal = standing(store) == expected
    table = Table("step", "seconds", "pages/s", box=None)
    for name, value in seconds.items():
        table.add_row(name, f"{value:.1f}", f"{options.pages / value:,.0f}")
    console = Console(width=100)
    console.print(f"{options.pages:,} pages; {changes.to_duplicate:,} become duplicates")
    console.print(table)
    console.print(f"the same pages, groups and measures as a fresh store: {equal}")
    if options.json:
        result = {"pages": options.pages, "seconds": seconds, "equal": equal}
        options.json.write_text(json.dumps(result, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
