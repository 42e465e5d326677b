"""Pages that differ only by a fact in a line that all pages have: flats, and sizes of a shop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.moving.crawls import Crawls, coming_out
from benchmarks.moving.texts import dice, page, phrase, text
from benchmarks.report import Target, show

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator
    from pathlib import Path

_BUILDINGS, _FLATS, _ARTICLES, _CRAWLS, _PRODUCTS = 500, 4, 500, 5, 100
_LETTERS, _SIZES = "abcd", (36, 38, 40, 42)
_COPY = "?utm_source=mail"
_SHAPES = (
    ("<tr><td>{}</td><td>{}</td></tr>", "<table>{}</table>"),
    ("<div>{}</div><div>{}</div>", "<div>{}</div>"),
    ("<dt>{}</dt><dd>{}</dd>", "<dl>{}</dl>"),
    ("<li>{}: {}</li>", "<ul>{}</ul>"),
)
_SHOPS = {"/7/38": "/{0}/{1}", "/7/b": "/{0}/{2}", "?size=38": "/p/{0}?size={1}"}


def _facts(building: int, flat: int) -> str:
    """Show facts of a flat: some are those of its building, one at least is its own."""
    own: tuple[dict[str, object], ...] = (
        {"Rooms": flat + 1},
        {"Floor": flat},
        {"Rooms": flat % 2 + 2, "Floor": flat // 2 + 1},
        {"Area": f"{40 + 8 * flat}.5 m²"},
        {"Number": 100 + _FLATS * building + flat},
        {"Number": 100 + _FLATS * building + flat, "Rooms": flat % 3 + 2},
    )
    line, block = _SHAPES[building % len(_SHAPES)]
    facts = {**own[building // len(_SHAPES) % len(own)], "Baths": building % 2 + 1}
    facts["Built"] = 1960 + building % 50
    return block.format("".join(line.format(*fact) for fact in facts.items()))


def _building(seed: int, building: int) -> dict[str, str]:
    """Make the pages of the flats of a building, which differ in facts."""
    names = _LETTERS if building % 2 else range(1, _FLATS + 1)
    drawn = dice(seed, "building", building)
    title, paragraphs = phrase(drawn), text(drawn)
    return {
        f"https://site.example/b/{building}/{name}": page(
            title, _facts(building, flat) + paragraphs
        )
        for flat, name in enumerate(names)
    }


def _article(seed: int, article: int, reads: int) -> str:
    drawn = dice(seed, "article", article)
    return page(phrase(drawn), f"{text(drawn)}<p>This article was read {reads:,} times.</p>")


def measure_site(options: Namespace, folder: Path) -> Iterator[Target]:
    """Crawl flats and articles of one site five times, mixed; each article under two URLs."""
    crawls, seed = Crawls(f"sqlite:///{folder}/facts.db"), options.seed
    buildings = [_building(seed, building) for building in range(_BUILDINGS)]
    flats = {url for building in buildings for url in building}
    dropped, rows = [], []
    for crawl in range(_CRAWLS):
        drawn, pages = dice(seed, "order", crawl), dict[str, str]()
        order = [*range(_BUILDINGS), *range(-_ARTICLES, 0), *range(-_ARTICLES, 0)]
        drawn.shuffle(order)
        for unit in order:
            if unit >= 0:
                pages |= buildings[unit]
            else:
                url = f"https://site.example/news/{-unit}"
                html = _article(seed, -unit, drawn.randint(100, 9999))
                pages[url + _COPY * (url in pages)] = html
        dropped.append(pages.keys() - coming_out(crawls.crawl(crawl, pages)))
        articles = sum(url in dropped[-1] and url + _COPY in dropped[-1] for url in pages)
        copies = len(dropped[-1] - flats)
        rows.append((crawl + 1, len(flats & dropped[-1]), copies, articles))
    columns = "crawl", f"lost of {len(flats):,} flats", f"go of {_ARTICLES} copies"
    show((*columns, "articles lost"), rows)
    for number in (1, _CRAWLS):
        share = len(flats & dropped[number - 1]) / len(flats)
        yield Target(f"pages of facts lost by crawl {number}, share", share, 0.005)
    never = len(flats.intersection(*dropped)) / len(flats)
    yield Target(f"pages of facts that came out of none of {_CRAWLS}, share", never, 0.005)
    yield Target("articles lost", sum(row[-1] for row in rows), 0)


def measure_shop(options: Namespace, folder: Path) -> Iterator[Target]:
    """Crawl products in four sizes, under three kinds of URLs."""
    for number, (name, path) in enumerate(_SHOPS.items()):
        pages = {}
        for product in range(_PRODUCTS):
            drawn = dice(options.seed, "product", product)
            title, paragraphs = phrase(drawn), text(drawn)
            for letter, size in zip(_LETTERS, _SIZES, strict=True):
                url = f"https://shop{number}.example{path.format(product, size, letter)}"
                pages[url] = page(title, f"<p>Size: {size}</p>{paragraphs}")
        out = coming_out(Crawls(f"sqlite:///{folder}/shop{number}.db").crawl(0, pages))
        yield Target(f"products under {name} lost, share", 1 - len(out) / len(pages), 0.05)
