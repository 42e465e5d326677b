"""Sites that are crawled each day with DEDUP_DROP_UNCHANGED: news comes out, noise does not."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import TYPE_CHECKING

from benchmarks.moving.crawls import Crawls, coming_out
from benchmarks.moving.texts import dice, page, paragraph, phrase, text
from benchmarks.report import Target, show
from benchmarks.store_growth import place

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from random import Random

_PAGES, _DAYS = 300, 10
_CHANGED, _NEW, _GONE = 0.02, 0.01, 0.01  # shares of the pages, each day
_RESTLESS = 10  # of so many pages on the site in euros, one has another price each day
_KNOWN_FROM, _TOO_MANY = 3, 0.02  # the fourth day, and a share of the pages from then on
_CHANGES = ("price", "price in prose", "word", "new sentence", "sentence gone", "new paragraph")
_TRAP_PAGES, _TRAP_DAYS, _EVENT = 100, 8, 5  # day on which something happens everywhere
_WEATHER, _FIRST_CRAWLS = "weather, and nothing else", 2


class Product:
    """What a page says, besides noise."""

    def __init__(self, drawn: Random) -> None:
        self.title, self.paragraphs = phrase(drawn), [paragraph(drawn) for _ in range(4)]
        self.prices = [drawn.randint(900, 9000), drawn.randint(200, 900)]

    def change(self, kind: str, drawn: Random) -> None:
        """Change in one of `_CHANGES`."""
        paragraphs, words = self.paragraphs, self.paragraphs[1].split()
        if kind.startswith("price"):
            self.prices["prose" in kind] += drawn.randint(10, 400)
        elif kind == "word":
            words[drawn.randrange(1, 8)] += "s"
            paragraphs[1] = " ".join(words)
        elif kind == "new sentence":
            paragraphs[2] += f"{phrase(drawn, words=9)}."
        elif kind == "sentence gone":
            paragraphs[3] = paragraphs[3].partition(". ")[2]
        else:
            paragraphs.insert(2, paragraph(drawn))

    def html(self, noise: tuple[str, str], money: str, rate: float, *, is_apart: bool) -> str:
        """Show it, with the price in prose in a paragraph of its own or in another one."""
        label, prose = (money.format(price * rate) for price in self.prices)
        end = f"{'</p><p>' * is_apart}Delivery to the islands costs {prose} this week."
        first, *others = self.paragraphs
        body = "".join(f"<p>{one}</p>" for one in (f"Price: {label}", first + end, *others))
        return page(self.title, noise[0] + body + noise[1])


@dataclass
class Site:
    """A site from day to day: one in euros, where some prices never rest, or one with sales."""

    seed: int
    is_euro: bool
    sale: int
    products: dict[str, Product] = field(default_factory=dict)
    made: int = 0

    def next_day(self, day: int) -> dict[str, str]:
        """Change what changes, and return what must come out: why, by URL."""
        drawn, why = dice(self.seed, self.is_euro, day), {}
        if day:
            for url in drawn.sample([*self.products], round(_GONE * _PAGES)):
                del self.products[url]
            for url in drawn.sample([*self.products], round(_CHANGED * _PAGES)):
                why[url] = drawn.choice(_CHANGES)
                self.products[url].change(why[url], drawn)
        for url, product in self.products.items():
            if self.is_euro and int(url.rpartition("/")[2]) % _RESTLESS == 0:
                product.prices[0] += drawn.randint(1, 99)
                why[url] = "price of each day"
            elif not self.is_euro and day in (self.sale, self.sale + 1):
                why[url] = "sale"
        for number in range(self.made, self.made + round(_NEW * _PAGES if day else _PAGES)):
            url = f"https://{'euro' if self.is_euro else 'cents'}.example/p/{number}"
            self.products[url], why[url], self.made = Product(drawn), "new", number + 1
        return why

    def pages(self, day: int) -> dict[str, str]:
        """Show the pages as they are on a day, by URL."""
        drawn, today = dice(self.seed, "links", day), date(2026, 5, 4) + timedelta(days=day)
        said, quote = f"{today:%A}, {today.day} {today:%B} {today.year}", phrase(drawn, words=18)
        links = "".join(f'<div><a href="/n">{phrase(drawn, words=8)}</a></div>' for _ in range(6))
        money, rate = ("€{:.2f}", 0.01) if self.is_euro else ("{} cents", 10 - (day == self.sale))
        shown = {}
        for number, (url, product) in enumerate(self.products.items()):
            start = int(url.rpartition("/")[2])
            if self.is_euro:
                stars, count = f"{dice(url, day).uniform(3, 5):.1f}", start + 9 * day
                before = f"<div>Comments</div><div>{start % 7 + 3 * day}</div><p>{said}</p>"
                behind = f"<p>{stars} of 5 stars by {count} readers</p>"
                behind += f"<div><div>Quote of the day</div><div>{quote}</div></div>"
            else:
                hours, count = start % 40 + 2 + 24 * day, start * 7 + number + 41 * day
                before = f"<p>Posted {hours} hours ago by the newsroom</p>"
                before += f"<div>Today is {said}</div>"
                behind = f"<p>{count:,} people read this</p>"
                behind += f"<div><h3>Latest news</h3>{links}</div>"
            noise = before, behind
            shown[url] = product.html(noise, money, rate, is_apart=start % 2 == 0)
        return shown


def measure_days(options: Namespace, folder: Path) -> Iterator[Target]:
    """Crawl two sites on ten days."""
    sites = [Site(options.seed, is_euro, options.sale) for is_euro in (False, True)]
    database = "postgres" if options.postgres else "sqlite"
    missed, extra, rows = Counter[str](), [0.0], []
    with place(database, folder) as store:
        crawls = Crawls(store, "ignore", options.writers)
        for day in range(_DAYS):
            due = {url: why for site in sites for url, why in site.next_day(day).items()}
            pages = {url: html for site in sites for url, html in site.pages(day).items()}
            out = coming_out(crawls.crawl(day, pages), drop_unchanged=True)
            lost = Counter(why for url, why in due.items() if url not in out)
            many = [len(out & site.products.keys() - due.keys()) for site in sites]
            said = ", ".join(f"{count} {why}" for why, count in lost.items())
            rows.append((day + 1, len(pages), len(due), len(out), *many, said))
            missed += lost
            extra += [sum(many) / len(pages)] * (day >= _KNOWN_FROM)
    columns = "day", "pages", "due", "out", "too many in cents", "too many in euros"
    show((*columns, "did not come out"), rows)
    about = f"ten days, {database}, {options.writers} writers"
    yield Target(f"{about}: changed or new, and did not come out", missed.total(), 0)
    yield Target(f"{about}: too many from the fourth day on, worst share", max(extra), _TOO_MANY)


def _flips(name: str, number: int, day: int) -> bool:
    """Whether something has happened to a page an odd number of times until a day."""
    past = range(1, day + 1)
    return sum(dice(name, number, one).random() < _CHANGED for one in past) % 2 == 1


def _weather(number: int, day: int) -> str:
    drawn = dice("weather", number, day)
    return f"Today: maximum {drawn.randint(5, 30)} degrees, wind {drawn.randint(1, 90)} km/h"


# The line that pages have besides their texts, by number and day.
_TRAPS: dict[str, Callable[[int, int], str]] = {
    "in stock, sold out, single pages": lambda number, day: (
        "Sold out" if (number % 3 == 0) ^ _flips("stock", number, day) else "In stock"
    ),
    "sold out, all pages": lambda _, day: "In stock" if day < _EVENT else "Sold out",
    "one of two prices, single pages": lambda number, day: (
        f"Price: {1490 if (number % 3 == 0) ^ _flips('price', number, day) else 1990} cents"
    ),
    "sale of few prices, all pages": lambda number, day: (
        f"Price: {(990, 1490, 1990)[number % 3] - 100 * (day >= _EVENT)} cents"
    ),
    "open, closed, single pages": lambda number, day: (
        f"The office is {'closed' if _flips('office', number, day) else 'open'} on public"
        f" holidays of the county number {number}."
    ),
    "rating, one page only": lambda number, day: (
        f"Rated 4.{number % 10} of 5 by {100 + number + (day if number == 7 else 0)} readers"
    ),
    "new line with a number, all pages": lambda number, day: (
        f"Article no. {4000 + 7 * number}" if day >= _EVENT else ""
    ),
    "phone, all pages": lambda _, day: f"Call us: 0123 4567{80 if day < _EVENT else 91}",
    "tax, all pages": lambda _, day: f"VAT: {19 + day // _EVENT} %",
    _WEATHER: _weather,
}


def _trap(seed: int, name: str, day: int) -> dict[str, str]:
    """Make the pages of a site, with a noise that moves each day."""
    pages = {}
    for number in range(_TRAP_PAGES):
        drawn, line = dice(seed, name, number), f"<p>{_TRAPS[name](number, day)}</p>"
        title, noise = phrase(drawn), f"<p>Posted {number % 40 + 2 + 24 * day} hours ago</p>"
        body = line if name == _WEATHER else f"{noise}{text(drawn)}{line}"
        pages[f"https://trap{[*_TRAPS].index(name)}.example/{number}"] = page(title, body)
    return pages


def measure_traps(options: Namespace, folder: Path) -> Iterator[Target]:
    """Crawl a site of each trap on eight days; that of the weather also with lines counted."""
    extra, rows = [0.0], list[tuple[object, ...]]()
    for name, shown in _TRAPS.items():
        for rule in ("ignore", "count") if name == _WEATHER else ("ignore",):
            crawls, counts = Crawls(f"sqlite:///{folder}/{len(rows)}.db", rule), []
            for day in range(_TRAP_DAYS):
                pages = _trap(options.seed, name, day)
                out = coming_out(crawls.crawl(day, pages), drop_unchanged=True)
                due = {
                    url
                    for number, url in enumerate(pages)
                    if not day or shown(number, day) != shown(number, day - 1)
                }
                counts.append((len(due), len(due - out), len(out - due)))
            extra += [many / len(pages) for *_, many in counts[_KNOWN_FROM:]]
            rows.append((name, rule, *map(sum, zip(*counts, strict=True))))
            is_first = name == _WEATHER and rule == "ignore"
            missed = sum(lost for _, lost, _ in counts[: _FIRST_CRAWLS if is_first else None])
            about = f"{name}, {rule}{', first two crawls' * is_first}: did not come out"
            yield Target(about, missed, 0)
    show(("trap", "rule", "due", "did not come out", "too many"), rows)
    yield Target("too many from the fourth day on, worst share", max(extra), _TOO_MANY)
