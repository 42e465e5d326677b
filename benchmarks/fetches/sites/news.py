"""A news site: tracking parameters, print and amp views, canonical links, an endless calendar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.fetches.site import Address, Shown, Site, paged, teasers, without
from benchmarks.fetches.texts import news

if TYPE_CHECKING:
    from pathlib import Path

_SECTIONS, _ON_LIST, _RELATED, _MONTHS = 8, 12, 6, 240
_HOST = "news.example"
_TRACKING = ("utm_source", "utm_medium", "utm_campaign", "fbclid")


class News(Site):
    """Articles in sections.

    Tracking parameters never matter; `/amp/...` and `.../print` show the same article, and
    articles have true canonical links. The pages of a section all claim to be its first one. The
    calendar has no end and no events. Related articles are new at each request.
    """

    name = "news"
    start = f"http://{_HOST}/"

    def __init__(self, seed: int, data: Path) -> None:
        super().__init__(seed, data)
        self._texts = self.dice("order").sample(news(data), 900)
        self._sections = [range(one, len(self._texts), _SECTIONS) for one in range(_SECTIONS)]

    def form(self, url: str) -> str:
        """See `Site.form`."""
        at = Address.of(url)
        segments = [one for one in at.segments if one not in ("amp", "print")]
        query = without(at.query, *_TRACKING)
        return str(Address(at.host.removeprefix("www."), "/" + "/".join(segments), query))

    def show(self, url: str, visit: int) -> Shown:
        """See `Site.show`."""
        at = Address.of(url)
        dice = self.rendering(url, visit)
        home = f"http://{_HOST}/"

        def link(path: str, **query: object) -> str:
            found = {name: str(value) for name, value in query.items()}
            if dice.random() < 0.35:
                found["utm_source"] = dice.choice(("feed", "home", "mail"))
                found["utm_medium"] = "web"
            elif dice.random() < 0.1:
                found["fbclid"] = f"{dice.getrandbits(64):016x}"
            host = f"www.{_HOST}" if dice.random() < 0.1 else _HOST
            return str(Address(host, path, found))

        def path_of(number: int) -> str:
            return f"/2024/{number % 12 + 1:02}/article-{number}"

        def article(number: int) -> str:
            path = path_of(number)
            chance = dice.random()
            if chance < 0.12:
                return link(f"/amp{path}")
            return link(f"{path}/print" if chance < 0.2 else path)

        segments = [one for one in at.segments if one not in ("amp", "print")]
        if not segments:
            links = [link(f"/section/{one}") for one in range(_SECTIONS)]
            links.append(link("/calendar/0"))
            about = teasers(self._texts[:_SECTIONS])
            return Shown("home", "News of the day", about, tuple(links))
        if segments[0] == "section":
            number, page = int(segments[1]), int(at.query.get("p", 1))
            members = self._sections[number][(page - 1) * _ON_LIST : page * _ON_LIST]
            links = [article(one) for one in members]
            if page * _ON_LIST < len(self._sections[number]):
                links.append(link(f"/section/{number}", p=page + 1))
            about = teasers(self._texts[one] for one in members)
            lie = f"{home}section/{number}"
            name = f"section {number} {page}"
            return Shown(name, f"Section {number}", about, tuple(links), canonical=lie)
        if segments[0] == "calendar":
            month = int(segments[1])
            links = [link(f"/calendar/{month + 1}"), home] if month < _MONTHS else [home]
            none = "There are no events in this month. Tell us of yours, and we shall list it here."
            return Shown(None, "Calendar", (none,), tuple(links))
        number = int(segments[-1].rpartition("-")[2])
        text = self._texts[number]
        links = [article(dice.randrange(len(self._texts))) for _ in range(_RELATED)]
        links.append(link(f"/section/{number % _SECTIONS}"))
        canonical = f"http://{_HOST}{path_of(number)}"
        return Shown(f"article {number}", *paged(text), tuple(links), canonical=canonical)
