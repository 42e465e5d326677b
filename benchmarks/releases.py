"""Count the pages of single releases of manuals that are flagged under another title.

In one release of a manual nearly every page is a document of its own, however much it looks like
another one. Each release (of the guide, each architecture in each language) is decided by a store
of its own, in the order of the manifest, as a crawl of one site with the default settings.

`titled` are pages flagged with an original of another title (NFKC, case and white space aside),
`reworded` those of them whose text is not that of the original, `symbols` those of them whose
symbols or numbers are not those of the original. Titles are those of the pages; under "names",
the pages of llvm-docs have the names of their files for titles, since generated pages share theirs.

Halves: of the releases of each kind, sorted by name, every second one (the guide: every second
language) is `tune`, on which rules are chosen; the others are `report`.

    python -m benchmarks.releases [--data DIR] [--half tune|report] [--cache DIR] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import re
import unicodedata
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks.data import bodies_of, data_folder, kept, rows_of
from shingling.errors import ExtractionError
from shingling.extraction.html import extract_page
from shingling.store import Page, Store

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST = 0.002  # of the pages of a release, flagged under another title
TUNE, REPORT = "tune", "report"
DEFAULT_CACHE = Path(gettempdir()) / "shingling-releases"
_BATCH = 64
_APACHE = re.compile(r"apache2-doc/doc/apache2-doc/manual/([a-z]{2}(?:-[a-z]{2})?)/")


class Read(NamedTuple):
    """What was read from a page."""

    file: str
    title: str | None
    text: str | None


@dataclass(frozen=True)
class Count:
    """How many pages of a release there are, and are flagged."""

    release: str
    half: str
    pages: int
    flagged: int
    titled: int
    reworded: int
    symbols: int

    @property
    def met(self) -> bool:
        """Return whether few enough are flagged under another title, and none by a symbol."""
        return self.titled <= MOST * self.pages and not self.symbols


def written(text: str | None) -> str:
    """Return a text in NFKC, without its case and with single blanks."""
    return " ".join(unicodedata.normalize("NFKC", text or "").casefold().split())


def symbols(text: str | None) -> list[str]:
    """Return the symbols and digits of a text, in their order."""
    return [char for char in written(text) if unicodedata.category(char)[0] in "SN"]


def _read(page: tuple[str, bytes]) -> Read:
    file, body = page
    try:
        main = extract_page(body)
    except ExtractionError:
        return Read(file, None, None)
    return Read(file, main.title, main.text)


def readings(folder: Path, name: str, cache: Path) -> list[Read]:
    """Return what is read from the pages of a set; it is kept in the folder `cache`."""

    def read() -> list[Read]:
        files = [row["file"] for row in rows_of(folder / name / "manifest.jsonl.gz")]
        bodies = bodies_of(folder / name / "html.tar.xz", {*files})
        with ProcessPoolExecutor() as pool:
            return [*pool.map(_read, [(file, bodies[file]) for file in files], chunksize=16)]

    file = cache / f"{name}-trafilatura-{version('trafilatura')}.json.gz"
    return [Read(*row) for row in kept(file, read)]


def release_of(name: str, file: str) -> str:
    """Return the release that a page of a set is of."""
    parts = file.split("/")
    if name == "installation-guide":
        return f"{name} {parts[1]} {parts[0]}"
    if name == "llvm-docs":
        return f"{name} {parts[0].removeprefix('llvm-')}"
    language = _APACHE.match(file)
    return f"{name} {parts[0]}{f' {language[1]}' if language else ''}"


def releases(name: str, pages: Iterable[Read]) -> dict[str, list[Read]]:
    """Return the pages of each release of a set, sorted by its name."""
    found = defaultdict(list)
    for page in pages:
        release = release_of(name, page.file)
        found[release].append(page)
        if name == "llvm-docs":
            named = page._replace(title=Path(page.file).stem)
            found[release.replace(name, f"{name} names")].append(named)
    return dict(sorted(found.items()))


def halves(names: Iterable[str]) -> dict[str, str]:
    """Return the half of each release: every second one, or one of every second language."""
    groups: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name in names:
        kind = kind_of(name)
        rest = name.removeprefix(kind).split()
        # Architectures of one language have much the same pages.
        groups[kind][rest[0] if kind == "installation-guide" else " ".join(rest)].append(name)
    return {
        name: (TUNE, REPORT)[number % 2]
        for kind in groups.values()
        for number, of in enumerate(sorted(kind))
        for name in kind[of]
    }


def kind_of(release: str) -> str:
    """Return what kind of release one is, by its name."""
    name, _, rest = release.partition(" ")
    return f"{name} names" if rest.startswith("names ") else name


def count(release: str, half: str, pages: Sequence[Read]) -> Count:
    """Decide the pages of a release, and return how many are flagged with what."""
    checked = [
        Page(f"https://manual.example/{page.file}", page.text, title=page.title) for page in pages
    ]
    of_url = {page.url: page for page in checked}
    flagged = []
    with (
        TemporaryDirectory() as folder,
        Store.open(f"sqlite:///{Path(folder) / 'dedup.db'}") as store,
    ):
        for start in range(0, len(checked), _BATCH):
            batch = checked[start : start + _BATCH]
            for page, verdict in zip(batch, store.check(batch), strict=True):
                if verdict.original is not None:
                    flagged.append((page, of_url[verdict.original]))
    titled = [pair for pair in flagged if len({written(page.title) for page in pair}) > 1]
    reworded = [pair for pair in titled if len({written(page.text) for page in pair}) > 1]
    differing = [
        (page, other) for page, other in titled if symbols(page.text) != symbols(other.text)
    ]
    counts = map(len, (pages, flagged, titled, reworded, differing))
    return Count(release, half, *counts)


def table(counts: Sequence[Count]) -> Table:
    """Return the table of all kinds of releases by half, and of releases with flagged titles."""
    shown = Table(box=None, pad_edge=False)
    columns = ("half", "releases", "pages", "flagged", "titled", "reworded", "symbols", "worst")
    for place, name in enumerate(("", *columns)):
        shown.add_column(name, justify="right" if place > 1 else "left", no_wrap=True)
    kinds = defaultdict(list)
    for one in counts:
        kinds[kind_of(one.release), one.half].append(one)
    for (kind, half), members in sorted(kinds.items()):
        sums = [
            sum(getattr(one, name) for one in members)
            for name in ("pages", "flagged", "titled", "reworded", "symbols")
        ]
        worst = max(one.titled / one.pages for one in members)
        shown.add_row(kind, half, str(len(members)), *map(str, sums), f"{worst:.2%}")
    return shown


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", help="folder of the labelled data (default: DEDUP_DATA)")
    parser.add_argument("--half", choices=[TUNE, REPORT], help="one half of the releases only")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, help="for main texts")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    folder = data_folder(options.data)
    found: dict[str, list[Read]] = {}
    for name in ("installation-guide", "llvm-docs", "docs-multilang"):
        found.update(releases(name, readings(folder, name, options.cache)))
    of = halves(found)
    counts = [
        count(release, of[release], pages)
        for release, pages in found.items()
        if options.half in (None, of[release])
    ]
    console = Console(width=120, highlight=False, markup=False)
    console.print(table(counts))
    for half in (TUNE, REPORT):
        missed = [one.release for one in counts if one.half == half and not one.met]
        said = f"missed by {', '.join(missed)}" if missed else "met"
        if any(one.half == half for one in counts):
            console.print(f"{half}: at most {MOST:.1%} of each release, none by a symbol: {said}")
    if options.json:
        rows: list[dict[str, Any]] = [asdict(one) for one in counts]
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
