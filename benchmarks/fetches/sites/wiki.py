"""A wiki: revisions that matter, views that do not, redirects, path parameters, letter case."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.fetches.site import Address, Shown, Site, paged, without
from benchmarks.fetches.texts import articles

if TYPE_CHECKING:
    from pathlib import Path

_PAGES, _REVISIONS, _RELATED = 700, 2, 6
_HOST = "wiki.example"
_SKINS = ("vector", "timeless", "minerva")


class Wiki(Site):
    """Pages and their revisions.

    `;jsessionid=`, `useskin` and `printable` never matter, nor does a slash at the end or the
    letter case of `/wiki/`. `oldid` shows another revision. `action=edit` asks everybody to log
    in. `/wiki/other-N` redirects to page N. Links that go wrong repeat a segment of their path.
    """

    name = "wiki"
    start = f"http://{_HOST}/wiki/Page_0"

    def __init__(self, seed: int, data: Path) -> None:
        super().__init__(seed, data)
        self._texts = self.dice("texts").sample(articles(data), _PAGES)
        self._revised = self.dice("revised").sample(articles(data), _PAGES * _REVISIONS)

    def form(self, url: str) -> str:
        """See `Site.form`."""
        at = Address.of(url)
        segments = [one.partition(";")[0] for one in at.segments]
        segments[0] = segments[0].lower()
        while len(segments) > 2 and segments[1] == segments[0]:
            del segments[1]
        query = without(at.query, "useskin", "printable")
        if query.get("action") == "edit":
            return str(Address(at.host, "/wiki", {"action": "edit"}))
        return str(Address(at.host, "/" + "/".join(segments), query))

    def show(self, url: str, visit: int) -> Shown:
        """See `Site.show`."""
        dice = self.rendering(url, visit)
        at = Address.of(self.form(url))
        name = at.segments[-1]
        session = f"{dice.randrange(3) * 7919 + 4242:X}"

        def link(name: str, **query: object) -> str:
            found = {key: str(value) for key, value in query.items()}
            if dice.random() < 0.12:
                found["useskin"] = dice.choice(_SKINS)
            if dice.random() < 0.08:
                found["printable"] = "yes"
            folder = "/Wiki" if dice.random() < 0.08 else "/wiki"
            end = f";jsessionid={session}" if dice.random() < 0.3 else ""
            if not end and dice.random() < 0.1:
                end = "/"
            return str(Address(_HOST, f"{folder}/{name}{end}", found))

        if at.query.get("action") == "edit":
            asked = (
                "Only members may change pages. Please log in or ask for an account of your own."
            )
            return Shown(None, "Log in", (asked,), (self.start,))
        kind, _, number = name.replace("_", "-").partition("-")
        if not number.isdecimal() or int(number) >= _PAGES:
            return self.missing(self.start)
        place = int(number)
        if kind == "other":
            return Shown(None, location=f"http://{_HOST}/wiki/Page_{place}")
        text = self._texts[place]
        revision = int(at.query.get("oldid", 0))
        if revision:
            other = self._revised[place * _REVISIONS + revision - 1]
            new = (*text.paragraphs[:2], *other.paragraphs[:2])
            return Shown(f"page {place} {revision}", text.title, new, (link(f"Page_{place}"),))
        links = [link(f"Page_{(place + 1) % _PAGES}")]
        links += [link(f"Page_{dice.randrange(_PAGES)}") for _ in range(_RELATED)]
        links.append(link(f"Page_{place}", action="edit"))
        if place % 3 == 0:
            links += [link(f"Page_{place}", oldid=one + 1) for one in range(_REVISIONS)]
        if dice.random() < 0.2:
            links.append(f"http://{_HOST}/wiki/other-{dice.randrange(_PAGES)}")
        if dice.random() < 0.1:
            links.append(f"http://{_HOST}/wiki/wiki/Page_{place}")
        return Shown(f"page {place}", *paged(text), tuple(links))
