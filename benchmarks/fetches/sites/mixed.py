"""Many small sites of every kind in one crawl."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.fetches.site import Address, Shown, Site, paged, teasers, without
from benchmarks.fetches.texts import articles, news

if TYPE_CHECKING:
    from pathlib import Path

_HOSTS, _RELATED = 28, 4
_MIN_PAGES, _MAX_PAGES = 40, 160
_USELESS = ("sid", "ref", "src", "utm_source", "token", "share", "from", "style", "s", "PHPSESSID")
_USEFUL = ("id", "p", "article", "lang", "v")


class Mixed(Site):
    """28 hosts, each with its own habits, that link to each other.

    A host names its pages by path or by a parameter that matters. It may have up to two
    parameters that do not, a mirror of all its pages, and a slash at the end or none.
    """

    name = "mixed"
    start = "http://host0.example/"

    def __init__(self, seed: int, data: Path) -> None:
        super().__init__(seed, data)
        dice = self.dice("hosts")
        pool = dice.sample(articles(data), 2000) + news(data)
        sizes = [dice.randint(_MIN_PAGES, _MAX_PAGES) for _ in range(_HOSTS)]
        self._texts = []
        for size in sizes:
            self._texts.append(pool[:size])
            pool = pool[size:]
        self._useful = [dice.choice((*_USEFUL, "", "")) for _ in sizes]
        self._useless = [dice.sample(_USELESS, dice.choice((0, 1, 1, 2))) for _ in sizes]
        self._mirror = [dice.choice(("", "", "", "copy", "m")) for _ in sizes]
        self._slash = [dice.random() < 0.25 for _ in sizes]

    def form(self, url: str) -> str:
        """See `Site.form`."""
        at = Address.of(url)
        host = self._number(at.host)
        mirror = self._mirror[host]
        path = at.path.removeprefix(f"/{mirror}/") if mirror else at.path
        query = without(at.query, *self._useless[host])
        return str(Address(at.host, "/" + path.strip("/"), query))

    def show(self, url: str, visit: int) -> Shown:
        """See `Site.show`."""
        dice = self.rendering(url, visit)
        at = Address.of(self.form(url))
        host = self._number(at.host)
        texts = self._texts[host]

        def link(page: int | None, host: int = host) -> str:
            query, path = {}, "/"
            if page is not None and self._useful[host]:
                path, query = "/show", {self._useful[host]: str(page)}
            elif page is not None:
                path = f"/pages/{page}"
            for name in self._useless[host]:
                if dice.random() < 0.45:
                    query[name] = f"{dice.randrange(5) * 2654435761 + 99:x}"
            if page is not None and self._mirror[host] and dice.random() < 0.3:
                path = f"/{self._mirror[host]}{path}"
            if page is not None and self._slash[host] and dice.random() < 0.3:
                path += "/"
            return str(Address(f"host{host}.example", path, query))

        if at.path == "/":
            links = [link(page) for page in range(0, len(texts), 3)]
            links += [link(None, (host + step) % _HOSTS) for step in (1, 5)]
            return Shown(f"home {host}", f"Host {host}", teasers(texts[:6]), tuple(links))
        named = at.query.get(self._useful[host]) if self._useful[host] else at.segments[-1]
        if named is None or not named.isdecimal() or int(named) >= len(texts):
            return self.missing(f"http://{at.host}/")
        page = int(named)
        links = [link((page + 1) % len(texts)), link(None)]
        links += [link(dice.randrange(len(texts))) for _ in range(_RELATED)]
        return Shown(f"page {host} {page}", *paged(texts[page]), tuple(links))

    @staticmethod
    def _number(host: str) -> int:
        return int(host.partition(".")[0].removeprefix("host"))
