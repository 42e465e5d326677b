"""Pages of sites that have something in common."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from shingling import Page, Rules, Store
from tests.support.stores import rows_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from shingling import Verdict


TEMPLATE = ("skipped", "template", None)
A, B, C = "https://a.example/", "https://www.b.example/", "https://c.example/"
ENTRY = 12  # bytes of a block in a row of site_blocks


def lines(name: str, count: int) -> list[str]:
    """Return random lines of 15 to 30 words; those of another name have none of their words."""
    random_ = random.Random(name)
    mark = "".join(random_.choices("bdfglmnprst", k=6))
    return [
        " ".join(
            mark + "".join(random_.choices("aeioubcdk", k=random_.randrange(4, 9)))
            for _ in range(random_.randrange(15, 31))
        )
        for _ in range(count)
    ]


def article(name: str) -> list[str]:
    return lines(f"article {name}", 5)


def short_article(name: str) -> list[str]:
    return lines(f"short article {name}", 2)


def footer(site: str, count: int = 2) -> list[str]:
    """Return lines of six words, which are no paragraphs, from so many of `lines`."""
    said = " ".join(lines(f"footer {site}", count)).split()
    return [" ".join(said[at : at + 6]) for at in range(0, len(said), 6)]


def headline(name: str) -> str:
    return " ".join(lines(f"headline {name}", 1)[0].split()[:6])


def page(url: str, *parts: Sequence[str], title: str | None = None) -> Page:
    return Page(url, "\n".join(line for part in parts for line in part), title=title, fetched=1)


def pages_of(site: str, count: int, *around: Sequence[str]) -> list[Page]:
    """Return pages of a site with articles and titles of their own, and with this around them."""
    return [
        page(f"{site}{at}", article(f"{site} {at}"), *around, title=headline(f"{site} {at}"))
        for at in range(count)
    ]


def short_pages(site: str, count: int, around: int = 8) -> list[Page]:
    """Return pages of a site of which the most is its template.

    With 60 lines around them they look, whole, like one article under many headlines.
    """
    return [
        page(
            f"{site}{at}",
            short_article(f"{site} {at}"),
            footer(site, around),
            title=headline(f"{site} {at}"),
        )
        for at in range(count)
    ]


def check(
    store: Store, pages: Sequence[Page], rules: Rules | None = None, size: int = 1
) -> list[Verdict]:
    return [
        verdict
        for start in range(0, len(pages), size)
        for verdict in store.check(pages[start : start + size], rules=rules)
    ]


def said(verdicts: Iterable[Verdict]) -> list[tuple[str, str | None, str | None]]:
    return [(verdict.status, verdict.reason, verdict.original) for verdict in verdicts]


def statuses(verdicts: Iterable[Verdict]) -> list[str]:
    return [verdict.status for verdict in verdicts]


def one(store: Store, checked: Page, rules: Rules | None = None) -> Verdict:
    [verdict] = store.check([checked], rules=rules)
    return verdict


def blocks_of(path: Path, site: str) -> list[int]:
    """Return how many blocks each row of a site has."""
    query = f"SELECT entries FROM site_blocks WHERE site = '{site}' ORDER BY id"
    return [len(raw) // ENTRY for (raw,) in rows_of(path, query)]
