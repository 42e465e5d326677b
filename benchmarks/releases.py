"""Count the pages of single releases of manuals that are flagged under another title.

In one release of a manual nearly every page is a document of its own, however much it looks like
another one. Each release (of the guide, each architecture in each language) is decided by a store
of its own, in the order of the manifest, as a crawl of one site with the default settings.

`titled` are pages flagged with an original of another title (NFKC, case and white space aside),
`reworded` those of them whose text is not that of the original, `symbols` those of them whose
symbols or numbers are not those of the original. Titles are those of the pages; under "names",
the pages of llvm-docs have the names of their files for titles, since generated pages share theirs.

    python -m benchmarks.releases [--data DIR]
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.data import bodies_of, data_folder, rows_of
from benchmarks.report import options_of, show
from shingling.errors import ExtractionError
from shingling.extraction.main_text import extract_page
from shingling.store.model import Page
from shingling.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST = 0.002  # of the pages of a release, flagged under another title
_BATCH = 64
_APACHE = re.compile(r"apache2-doc/doc/apache2-doc/manual/([a-z]{2}(?:-[a-z]{2})?)/")


class Read(NamedTuple):
    """What was read from a page of a release."""

    file: str
    title: str | None
    text: str | None


@dataclass(frozen=True)
class Count:
    """How many pages of a release there are, and are flagged."""

    release: str
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


def readings(folder: Path, name: str) -> list[Read]:
    """Texts and titles of a set."""
    files = [row["file"] for row in rows_of(folder / name / "manifest.jsonl.gz")]
    bodies = bodies_of(folder / name / "html.tar.xz", {*files})
    with ProcessPoolExecutor() as pool:
        return [*pool.map(_read, [(file, bodies[file]) for file in files], chunksize=16)]


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


def count(release: str, pages: Sequence[Read]) -> Count:
    """Decide the pages of a release, and return how many are flagged with what."""
    of_url = {f"https://manual.example/{page.file}": page for page in pages}
    checked = [Page(url, page.text, title=page.title) for url, page in of_url.items()]
    flagged = []
    with TemporaryDirectory() as folder, Store.open(f"sqlite:///{folder}/dedup.db") as store:
        for start in range(0, len(checked), _BATCH):
            batch = checked[start : start + _BATCH]
            for page, verdict in zip(batch, store.check(batch), strict=True):
                if verdict.original is not None:
                    flagged.append((of_url[page.url], of_url[verdict.original]))
    titled = [pair for pair in flagged if len({written(page.title) for page in pair}) > 1]
    reworded = [pair for pair in titled if len({written(page.text) for page in pair}) > 1]
    differing = [
        (page, other) for page, other in titled if symbols(page.text) != symbols(other.text)
    ]
    counts = map(len, (pages, flagged, titled, reworded, differing))
    return Count(release, *counts)


def show_kinds(counts: Sequence[Count]) -> None:
    """Print the table of all kinds of releases."""
    kinds = defaultdict(list)
    for one in counts:
        name, _, rest = one.release.partition(" ")
        kinds[f"{name} names" if rest.startswith("names ") else name].append(one)
    figures = ("pages", "flagged", "titled", "reworded", "symbols")
    show(
        ("", "releases", *figures, "worst"),
        (
            (
                *(kind, len(members)),
                *(sum(getattr(one, name) for one in members) for name in figures),
                f"{max(one.titled / one.pages for one in members):.2%}",
            )
            for kind, members in sorted(kinds.items())
        ),
    )


def main() -> None:
    """Print the table."""
    folder = data_folder(options_of(__doc__, data=True).parse_args().data)
    found: dict[str, list[Read]] = {}
    for name in ("installation-guide", "llvm-docs", "docs-multilang"):
        found.update(releases(name, readings(folder, name)))
    counts = [count(release, pages) for release, pages in found.items()]
    show_kinds(counts)
    missed = [one.release for one in counts if not one.met]
    said = f"missed by {', '.join(missed)}" if missed else "met"
    print(f"at most {MOST:.1%} of each release, none by a symbol: {said}")


if __name__ == "__main__":
    main()
