"""Documentation in the manner of Read the Docs: releases, `stable`, `latest`, page and folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.fetches.site import Address, Shown, Site, without
from benchmarks.fetches.texts import articles

if TYPE_CHECKING:
    from pathlib import Path

_PAGES, _RELATED = 240, 6
_RELEASES = ("v1.0", "v1.1", "v1.2")
_HOST = "documentation.example"


class Documentation(Site):
    """Three releases; `stable` shows the second of them, or, when it has moved, the third.

    `latest` shows the third. One page in twelve differs between a release and the one before.
    `x.html` and `x/` show the same, `highlight` and `utm_source` never matter.
    """

    name = "documentation"
    start = f"http://{_HOST}/en/latest/"
    can_change = True

    def __init__(self, seed: int, data: Path) -> None:
        super().__init__(seed, data)
        self._texts = self.dice("texts").sample(articles(data), _PAGES * 2)

    def form(self, url: str) -> str:
        """See `Site.form`."""
        at = Address.of(url)
        query = without(at.query, "highlight", "utm_source")
        release, name = self._place(at)
        if name is None:
            return str(Address(at.host, f"/{release}", query))
        return str(Address(at.host, f"/{self._since(release, name)}/{name}", query))

    def _place(self, at: Address) -> tuple[int, int | None]:
        _, release, *rest = [*at.segments, "", ""]
        name = rest[0].removesuffix(".html")
        stable = "v1.2" if self.changed else "v1.1"
        release = {"stable": stable, "latest": "v1.2"}.get(release, release)
        return _RELEASES.index(release), int(name) if name.isdigit() else None

    def _since(self, release: int, name: int) -> int:
        """Find the release since which a page is as it is."""
        changes = [one for one in range(1, release + 1) if self.dice(one, name).random() < 1 / 12]
        return max(changes, default=0)

    def show(self, url: str, visit: int) -> Shown:
        """See `Site.show`."""
        at = Address.of(url)
        dice = self.rendering(url, visit)
        release, name = self._place(at)
        shown = at.segments[1]

        def link(number: int, where: str = shown) -> str:
            query = {}
            if dice.random() < 0.15:
                query["highlight"] = dice.choice(("store", "page", "rule"))
            path = f"{number}/" if dice.random() < 0.4 else f"{number}.html"
            return str(Address(_HOST, f"/en/{where}/{path}", query))

        others = ["stable", "latest", *_RELEASES]
        if name is None:
            links = [link(number) for number in range(_PAGES)]
            links += [str(Address(_HOST, f"/en/{one}/")) for one in others]
            about = [self._texts[number].title for number in range(_PAGES)]
            return Shown(f"contents {release}", "Contents", tuple(about), tuple(links))
        since = self._since(release, name)
        text = self._texts[name]
        paragraphs = list(text.paragraphs)
        if since:
            paragraphs[-1:] = self._texts[_PAGES + (name + since) % _PAGES].paragraphs[:1]
        links = [link(dice.randrange(_PAGES)) for _ in range(_RELATED)]
        links += [link(name, one) for one in others]
        return Shown(f"page {name} {since}", text.title, tuple(paragraphs), tuple(links))
