"""`make demo`: crawl the sample site with dedup switched on, and show what became of it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from crawler.serve import PORT, serve
from shingling import Store

FOLDER = Path("demo")


def main() -> int:
    """Run the demonstration; return its exit status."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    feed, database = FOLDER / "pages.jsonl", f"sqlite:///{(FOLDER / 'dedup.db').absolute()}"
    with serve(PORT) as address:
        for site in (address, address.replace("127.0.0.1", "localhost")):
            # fmt: off
            command = [
                sys.executable, "-m", "scrapy", "crawl", "site", "-a", f"url={site}",
                "-o", str(feed), "-L", "ERROR",
                "-s", f"DEDUP_STORE_URL={database}", "-s", "DOWNLOAD_DELAY=0",
                "-s", "CONCURRENT_REQUESTS=1",  # so that every demonstration goes the same way
            ]
            # fmt: on
            print(f"$ scrapy crawl site -a url={site} -o {feed}", flush=True)
            status = subprocess.run(command, check=False).returncode  # noqa: S603 (our own words)
            if status:
                return status

    def short(url: str | None) -> str:
        return url.removeprefix(address).removeprefix("http://") or "/" if url else ""

    items = [json.loads(line) for line in feed.read_text(encoding="utf-8").splitlines()]
    kept = {item["url"]: item["dedup"] for item in items}
    with Store.open(database, create=False) as store:
        pages = list(store.pages())
    ids = {page.url: page.id for page in pages}
    console = Console(width=None if sys.stdout.isatty() else 110)
    _print(
        console,
        f"Kept: {len(kept)} pages, in {feed}",
        ["page", "title", "reason"],
        [
            (short(page.url), page.title or "", page.reason or "")
            for page in pages
            if page.url in kept
        ],
    )
    _print(
        console,
        "Of these, kept although they resemble another page",
        ["page", "resemblance", "other page", "own text"],
        [
            (
                short(page.url),
                f"{page.resemblance:.3f}",
                short(page.compared_with),
                kept[page.url]["own_text"][0],
            )
            for page in pages
            if page.reason == "own_text"
        ],
    )
    _print(
        console,
        f"Dropped: {len(pages) - len(kept)} pages",
        ["page", "verdict", "resemblance", "duplicate of"],
        [
            (short(page.url), page.status, f"{page.resemblance:.3f}", short(page.original))
            for page in sorted(pages, key=lambda page: (ids.get(page.original or "", 0), page.url))
            if page.url not in kept
        ],
    )
    console.print(
        f"\nThe store is {FOLDER / 'dedup.db'}. Ask it:"
        f"\n  .venv/bin/scrapy dedup status --store {FOLDER / 'dedup.db'}",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
    return 0


def _print(console: Console, title: str, columns: list[str], rows: list[tuple[str, ...]]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(f"\n{title}", markup=False, highlight=False, style="bold")
    console.print(table)


if __name__ == "__main__":
    sys.exit(main())
