"""The manual of five releases: pages that are nearly copies, and an alias of the last release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.fetches.site import Address, Shown, Site, paged, without
from benchmarks.fetches.texts import name_of, releases

if TYPE_CHECKING:
    from pathlib import Path

_LAST, _PAGES, _RELATED = "llvm-19", 260, 6
_HOST = "releases.example"


class Versions(Site):
    """Pages of each release.

    `/latest/...` is the last release, and `highlight` and `_sid` never matter. The same page of two
    releases is often nearly the same, and sometimes quite.
    """

    name = "versions"

    def __init__(self, seed: int, data: Path) -> None:
        super().__init__(seed, data)
        found = releases(data)
        self._versions = sorted({version for version, _ in found})
        names = sorted({page for version, page in found if version == _LAST})
        chosen = set(self.dice("pages").sample(names, min(_PAGES, len(names))))
        self._texts = {key: text for key, text in found.items() if key[1] in chosen}
        self._pages = {
            version: sorted(page for one, page in self._texts if one == version)
            for version in self._versions
        }
        self.start = f"http://{_HOST}/latest/{self._pages[_LAST][0]}"

    def form(self, url: str) -> str:
        """See `Site.form`."""
        at = Address.of(url)
        if at.path == "/search":
            return str(Address(at.host, at.path))
        path = at.path.replace("/latest/", f"/{_LAST}/", 1)
        return str(Address(at.host, path, without(at.query, "highlight", "_sid")))

    def show(self, url: str, visit: int) -> Shown:  # noqa: ARG002 (as inherited)
        """See `Site.show`."""
        at = Address.of(url)
        dice = self.rendering(url, 0)

        def link(version: str, page: str) -> str:
            query = {}
            if dice.random() < 0.12:
                query["highlight"] = dice.choice(("loop", "value", "pass"))
            if dice.random() < 0.1:
                query["_sid"] = str(dice.randrange(3))
            shown = "latest" if version == _LAST and dice.random() < 0.3 else version
            return str(Address(_HOST, f"/{shown}/{page}", query))

        if at.path == "/search":
            none = "Please enable scripts in your browser to search this manual. Without them there"
            return Shown(None, "Search", (f"{none} are no results to be shown.",), (self.start,))
        version, _, page = at.path.lstrip("/").partition("/")
        version = _LAST if version == "latest" else version
        text = self._texts.get((version, page))
        if text is None:
            return self.missing(self.start)
        pages = self._pages[version]
        place = pages.index(page)
        links = [link(version, one) for one in pages[place + 1 : place + 3]]
        links += [link(version, dice.choice(pages)) for _ in range(_RELATED)]
        links += [link(one, page) for one in self._versions if (one, page) in self._texts]
        links.append(str(Address(_HOST, "/search", {"q": text.words[0]})))
        return Shown(name_of(text), *paged(text), tuple(links))
