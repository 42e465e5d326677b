"""Time a crawl of one page: without the add-on, with it, and with it switched off.

Each round crawls one page of a server on loopback in a new process, by turns: what is compared
is what the same hour of the machine gave. The first crawl makes its store, as with a new project;
`again` crawls into the store that is there.

    python -m benchmarks.start [--rounds 5]
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.report import Target, options_of, show
from tests.support.pages import html
from tests.support.serving import serving

MOST = {"new": 0.8, "again": 0.8, "off": 0.1}  # seconds longer than without
_SPIDER = """
import scrapy

class Spider(scrapy.Spider):
    name = "one"
    start_urls = ["{url}/"]

    def parse(self, response):
        yield {{"url": response.url, "heading": response.css("h1::text").get()}}
"""
_WORDS = " ".join(f"word{number}" for number in range(300))
_ADDON = ("-s", 'ADDONS={"shingling.Addon": 500}')
VARIANTS = {
    "without": (),
    "new": _ADDON,
    "again": _ADDON,
    "off": (*_ADDON, "-s", "DEDUP_ENABLED=0"),
}


def crawl(folder: Path, arguments: tuple[str, ...]) -> float:
    """Crawl the page in a process of its own, and return the seconds that it took."""
    began = time.perf_counter()
    subprocess.run(
        [
            *(sys.executable, "-m", "scrapy", "runspider", "one.py", "-L", "ERROR"),
            *("-s", "TELNETCONSOLE_ENABLED=False", *arguments),
        ],
        cwd=folder,
        check=True,
    )
    return time.perf_counter() - began


def measure(rounds: int) -> dict[str, list[float]]:
    """Return the seconds of every variant in each round."""
    seconds: dict[str, list[float]] = {name: [] for name in VARIANTS}
    with serving({"/": html(_WORDS)}) as server, TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "one.py").write_text(_SPIDER.format(url=server.url))
        crawl(folder, VARIANTS["new"])  # byte code, and what the machine keeps in memory
        for _ in range(rounds):
            for store in folder.glob("dedup.db*"):
                store.unlink()
            for name, arguments in VARIANTS.items():
                seconds[name].append(crawl(folder, arguments))
    return seconds


def main() -> None:
    """Measure, and print a table and the targets."""
    parser = options_of(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    seconds = measure(parser.parse_args().rounds)
    medians = {name: median(values) for name, values in seconds.items()}
    longer = {name: middle - medians["without"] for name, middle in medians.items()}
    rows = ((name, f"{medians[name]:.2f}", f"{more:.2f}") for name, more in longer.items())
    show(("crawl of one page", "seconds", "longer than without"), rows)
    for name, most in MOST.items():
        print(Target(f"{name}: seconds longer", longer[name], most))


if __name__ == "__main__":
    main()
