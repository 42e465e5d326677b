"""Pages per second of the spider `archive`: with the plugin, and with a pipeline written inline.

The two take turns over the same pages, each time with an empty store. Seconds are those from
the opening of the spider to its end, worker start included.

    python -m benchmarks.archive [--data DIR] [--pages N] [--rounds N] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.data import data_folder

ROOT = Path(__file__).parent.parent
VARIANTS = {
    "inline": [
        "archive-inline",
        *("-s", "ADDONS={}"),
        *("-s", "ITEM_PIPELINES=" + json.dumps({"benchmarks.inline.InlinePipeline": 250})),
        *("-s", "SPIDER_MODULES=crawler.spiders,benchmarks.inline"),
    ],
    "plugin": ["archive"],
}


def crawl(variant: str, archive: Path, pages: int, folder: str) -> tuple[float, int]:
    """Return seconds and items of one crawl."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "scrapy", "crawl", *VARIANTS[variant]),
            *("-a", f"path={archive}", "-a", f"limit={pages}", "-L", "INFO"),
            *("-s", f"DEDUP_STORE_URL=sqlite:///{folder}/dedup.db"),
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    seconds = re.search(r"'elapsed_time_seconds': ([\d.]+)", done.stderr)
    crawled = re.search(r"'response_received_count': (\d+)", done.stderr)
    if seconds is None or crawled is None:
        raise SystemExit(done.stderr[-3000:])
    return float(seconds[1]), int(crawled[1])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="folder of the labelled data (default: DEDUP_DATA)")
    parser.add_argument("--pages", type=int, default=1033)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    archive = (data_folder(options.data) / "trafilatura-eval" / "html.tar.xz").resolve()
    rates: dict[str, list[float]] = {variant: [] for variant in VARIANTS}
    for _ in range(options.rounds):
        for variant, measured in rates.items():
            with tempfile.TemporaryDirectory() as folder:
                seconds, pages = crawl(variant, archive, options.pages, folder)
            measured.append(pages / seconds)
    best = {variant: max(measured) for variant, measured in rates.items()}
    print(f"{options.pages} pages, {options.rounds} rounds, {os.cpu_count()} CPUs")
    print("variant   pages/s (best)  (median)  / inline")
    for variant, measured in rates.items():
        print(
            f"{variant:<9} {best[variant]:>14.1f} {statistics.median(measured):>9.1f}"
            f" {best[variant] / best['inline']:>9.2f}"
        )
    if options.json:
        options.json.write_text(json.dumps(rates, indent=2))


if __name__ == "__main__":
    main()
