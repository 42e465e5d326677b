"""Sites of articles: news, a wiki, and many small ones of every kind in one crawl."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.fetches.site import Address, Shown, Site, paged, teasers, without
from benchmarks.fetches.texts import articles, news

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random


class News(Site):
    """Articles in sections.

    Tracking parameters never matter; `/amp/...` and `.../print` show the same article, and
    articles have true canonical links. The pages of a section all claim to be its first one. The
    calendar has no end and no events. Related articles are new at each request.
    """

    name = "news"
    host = "news.example"
    start = f"http://{host}/"
    ARTICLES, SECTIONS, ON_LIST, RELATED, MONTHS = 900, 8, 12, 6, 240
    TRACKING = ("utm_source", "utm_medium", "utm_campaign", "fbclid")

    def _make(self, data: Path) -> None:
        self._texts = self.dice("order").sample(news(data), self.ARTICLES)
        self._sections = [
            range(one, len(self._texts), self.SECTIONS) for one in range(self.SECTIONS)
        ]

    def _form(self, at: Address) -> Address:
        segments = [one for one in at.segments if one not in ("amp", "print")]
        query = without(at.query, *self.TRACKING)
        return Address(at.host.removeprefix("www."), "/" + "/".join(segments), query)

    def _show(self, at: Address, dice: Random) -> Shown:
        home = f"http://{self.host}/"

        def link(path: str, **query: object) -> str:
            if dice.random() < 0.35:
                query["utm_source"] = dice.choice(("feed", "home", "mail"))
                query["utm_medium"] = "web"
            elif dice.random() < 0.1:
                query["fbclid"] = f"{dice.getrandbits(64):016x}"
            host = f"www.{self.host}" if dice.random() < 0.1 else self.host
            return self.url(path, query, host)

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
            links = [link(f"/section/{one}") for one in range(self.SECTIONS)]
            links.append(link("/calendar/0"))
            about = teasers(self._texts[: self.SECTIONS])
            return Shown("home", "News of the day", about, tuple(links))
        if segments[0] == "section":
            number, page = int(segments[1]), int(at.query.get("p", 1))
            members = self._sections[number][(page - 1) * self.ON_LIST : page * self.ON_LIST]
            links = [article(one) for one in members]
            if page * self.ON_LIST < len(self._sections[number]):
                links.append(link(f"/section/{number}", p=page + 1))
            about = teasers(self._texts[one] for one in members)
            lie = f"{home}section/{number}"
            name = f"section {number} {page}"
            return Shown(name, f"Section {number}", about, tuple(links), canonical=lie)
        if segments[0] == "calendar":
            month = int(segments[1])
            links = [link(f"/calendar/{month + 1}"), home] if month < self.MONTHS else [home]
            none = "There are no events in this month. Tell us of yours, and we shall list it here."
            return Shown(None, "Calendar", (none,), tuple(links))
        number = int(segments[-1].rpartition("-")[2])
        text = self._texts[number]
        links = [article(dice.randrange(len(self._texts))) for _ in range(self.RELATED)]
        links.append(link(f"/section/{number % self.SECTIONS}"))
        canonical = f"http://{self.host}{path_of(number)}"
        return Shown(f"article {number}", *paged(text), tuple(links), canonical=canonical)


class Wiki(Site):
    """Pages and their revisions.

    `;jsessionid=`, `useskin` and `printable` never matter, nor does a slash at the end or the
    letter case of `/wiki/`. `oldid` shows another revision. `action=edit` asks everybody to log
    in. `/wiki/other-N` redirects to page N. Links that go wrong repeat a segment of their path.
    """

    name = "wiki"
    host = "wiki.example"
    start = f"http://{host}/wiki/Page_0"
    PAGES, REVISIONS, RELATED = 700, 2, 6
    SKINS = ("vector", "timeless", "minerva")

    def _make(self, data: Path) -> None:
        self._texts = self.articles(data, self.PAGES)
        self._revised = self.dice("revised").sample(articles(data), self.PAGES * self.REVISIONS)

    def _form(self, at: Address) -> Address:
        segments = [one.partition(";")[0] for one in at.segments]
        segments[0] = segments[0].lower()
        while len(segments) > 2 and segments[1] == segments[0]:
            del segments[1]
        query = without(at.query, "useskin", "printable")
        if query.get("action") == "edit":
            return Address(at.host, "/wiki", {"action": "edit"})
        return Address(at.host, "/" + "/".join(segments), query)

    def _show(self, at: Address, dice: Random) -> Shown:
        at = self._form(at)
        name = at.segments[-1]
        session = f"{dice.randrange(3) * 7919 + 4242:X}"

        def link(name: str, **query: object) -> str:
            if dice.random() < 0.12:
                query["useskin"] = dice.choice(self.SKINS)
            if dice.random() < 0.08:
                query["printable"] = "yes"
            folder = "/Wiki" if dice.random() < 0.08 else "/wiki"
            end = f";jsessionid={session}" if dice.random() < 0.3 else ""
            if not end and dice.random() < 0.1:
                end = "/"
            return self.url(f"{folder}/{name}{end}", query)

        if at.query.get("action") == "edit":
            asked = (
                "Only members may change pages. Please log in or ask for an account of your own."
            )
            return Shown(None, "Log in", (asked,), (self.start,))
        kind, _, number = name.replace("_", "-").partition("-")
        if not number.isdecimal() or int(number) >= self.PAGES:
            return self.missing(self.start)
        place = int(number)
        if kind == "other":
            return Shown(None, location=f"http://{self.host}/wiki/Page_{place}")
        text = self._texts[place]
        revision = int(at.query.get("oldid", 0))
        if revision:
            other = self._revised[place * self.REVISIONS + revision - 1]
            new = (*text.paragraphs[:2], *other.paragraphs[:2])
            return Shown(f"page {place} {revision}", text.title, new, (link(f"Page_{place}"),))
        links = [link(f"Page_{(place + 1) % self.PAGES}")]
        links += [link(f"Page_{dice.randrange(self.PAGES)}") for _ in range(self.RELATED)]
        links.append(link(f"Page_{place}", action="edit"))
        if place % 3 == 0:
            links += [link(f"Page_{place}", oldid=one + 1) for one in range(self.REVISIONS)]
        if dice.random() < 0.2:
            links.append(f"http://{self.host}/wiki/other-{dice.randrange(self.PAGES)}")
        if dice.random() < 0.1:
            links.append(f"http://{self.host}/wiki/wiki/Page_{place}")
        return Shown(f"page {place}", *paged(text), tuple(links))


class Mixed(Site):
    """28 hosts, each with its own habits, that link to each other.

    A host names its pages by path or by a parameter that matters. It may have up to two
    parameters that do not, a mirror of all its pages, and a slash at the end or none.
    """

    name = "mixed"
    start = "http://host0.example/"
    HOSTS, RELATED = 28, 4
    MIN_PAGES, MAX_PAGES = 40, 160
    USELESS = (
        *("sid", "ref", "src", "utm_source", "token", "share", "from", "style", "s"),
        "PHPSESSID",
    )
    USEFUL = ("id", "p", "article", "lang", "v")

    def _make(self, data: Path) -> None:
        dice = self.dice("hosts")
        pool = dice.sample(articles(data), 2000) + news(data)
        sizes = [dice.randint(self.MIN_PAGES, self.MAX_PAGES) for _ in range(self.HOSTS)]
        self._texts = []
        for size in sizes:
            self._texts.append(pool[:size])
            pool = pool[size:]
        self._useful = [dice.choice((*self.USEFUL, "", "")) for _ in sizes]
        self._useless = [dice.sample(self.USELESS, dice.choice((0, 1, 1, 2))) for _ in sizes]
        self._mirror = [dice.choice(("", "", "", "copy", "m")) for _ in sizes]
        self._slash = [dice.random() < 0.25 for _ in sizes]

    def _form(self, at: Address) -> Address:
        host = self._number(at.host)
        mirror = self._mirror[host]
        path = at.path.removeprefix(f"/{mirror}/") if mirror else at.path
        query = without(at.query, *self._useless[host])
        return Address(at.host, "/" + path.strip("/"), query)

    def _show(self, at: Address, dice: Random) -> Shown:
        at = self._form(at)
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
            links += [link(None, (host + step) % self.HOSTS) for step in (1, 5)]
            return Shown(f"home {host}", f"Host {host}", teasers(texts[:6]), tuple(links))
        named = at.query.get(self._useful[host]) if self._useful[host] else at.segments[-1]
        if named is None or not named.isdecimal() or int(named) >= len(texts):
            return self.missing(f"http://{at.host}/")
        page = int(named)
        links = [link((page + 1) % len(texts)), link(None)]
        links += [link(dice.randrange(len(texts))) for _ in range(self.RELATED)]
        return Shown(f"page {host} {page}", *paged(texts[page]), tuple(links))

    @staticmethod
    def _number(host: str) -> int:
        return int(host.partition(".")[0].removeprefix("host"))
