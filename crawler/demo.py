"""`make demo`: crawl the sample site with dedup switched on, and show what became of it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from shingling import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

SAMPLE = Path(__file__).parent / "sample"
FOLDER = Path("demo")
PORT = 8765


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (as inherited)
        """Say nothing."""


@contextmanager
def serve(folder: Path, port: int = 0) -> Iterator[str]:
    """Serve a folder on loopback; yield its address. A port in use is replaced by a free one."""
    handler = partial(_Quiet, directory=str(folder))
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    except OSError:
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def main() -> int:
    """Run the demonstration; return its exit status."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    feed, database = FOLDER / "pages.jsonl", f"sqlite:///{(FOLDER / 'dedup.db').absolute()}"
    with serve(SAMPLE, PORT) as address:
        # fmt: off
        command = [
            sys.executable, "-m", "scrapy", "crawl", "site", "-a", f"url={address}",
            "-O", str(feed), "-L", "ERROR",
            "-s", f"DEDUP_STORE_URL={database}", "-s", "DOWNLOAD_DELAY=0",
            "-s", "CONCURRENT_REQUESTS=1",  # so that every demonstration goes the same way
        ]
        # fmt: on
        print(f"$ scrapy crawl site -a url={address} -O {feed}", flush=True)
        status = subprocess.run(command, check=False).returncode  # noqa: S603 (our own words)
    if status:
        return status
    kept = [json.loads(line) for line in feed.read_text(encoding="utf-8").splitlines()]
    with Store.open(database, create=False) as store:
        dropped = [page for page in store.pages() if page.original]
        stored = {page.url: page for page in store.pages()}
    console = Console(width=None if sys.stdout.isatty() else 110)
    _print(
        console,
        f"Kept: {len(kept)} pages, in {feed}",
        ["page", "title", "words"],
        [
            (page["url"].removeprefix(address), page["title"] or "", str(stored[page["url"]].words))
            # In the order of the verdicts: items come out when their main text is there.
            for page in sorted(kept, key=lambda item: stored[item["url"]].id)
        ],
    )
    _print(
        console,
        f"Dropped: {len(dropped)} pages",
        ["page", "verdict", "resemblance", "duplicate of"],
        [
            (
                page.url.removeprefix(address),
                page.status,
                f"{page.resemblance:.3f}",
                (page.original or "").removeprefix(address),
            )
            for page in dropped
        ],
    )
    console.print(
        f"\nThe store is {FOLDER / 'dedup.db'}. Ask it:"
        f"\n  scrapy dedup status --store {FOLDER / 'dedup.db'}",
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
