"""What moves on a site, and what is a fact: made sites, crawled in memory.

    noise  38 kinds of noise in 15 languages, each article twice: copies that are kept
    facts  2,000 pages of flats beside 500 articles with counters, five crawls: pages lost
    shop   100 products in four sizes, under three kinds of URLs: pages lost
    days   two sites with daily noise, ten days: what changed comes out, noise does not
    traps  what looks like noise, and must come out when it happens

Pages are extracted and decided as in a crawl, but nothing goes over HTTP. `days` and `traps` count
what comes out with DEDUP_DROP_UNCHANGED and DEDUP_MOVING_LINES = "ignore".

    python -m benchmarks.moving [--part NAME]... [--seed 1] [--articles 12] [--sale 5]
        [--writers 4] [--postgres]

The exit status is 1 if a target was missed.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from benchmarks.moving import again, facts, noise
from benchmarks.report import options_of

_PARTS = {
    "noise": noise.measure,
    "facts": facts.measure_site,
    "shop": facts.measure_shop,
    "days": again.measure_days,
    "traps": again.measure_traps,
}


def main() -> None:
    """Run the parts, and print their figures beside their targets."""
    parser = options_of(__doc__)
    parser.add_argument("--part", choices=[*_PARTS], action="append", help="default: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--articles", type=int, default=12, help="of each kind of noise")
    parser.add_argument("--sale", type=int, default=5, help="day of the sale, from 0 on")
    parser.add_argument("--writers", type=int, default=1, help="of `days`, at the same time")
    parser.add_argument("--postgres", action="store_true", help="`days` in place of SQLite")
    options, all_met = parser.parse_args(), True
    for part in options.part or _PARTS:
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            Path(folder).chmod(0o755)  # a PostgreSQL that root starts runs as another user
            for target in _PARTS[part](options, Path(folder)):
                print(f"{part:6}{target}", flush=True)
                all_met &= target.met
        print(f"{part}: {time.monotonic() - began:,.0f} s\n", flush=True)
    sys.exit(not all_met)


if __name__ == "__main__":
    main()
