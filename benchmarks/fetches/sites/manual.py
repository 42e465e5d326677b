"""A manual for three architectures in four languages, on mirrors: only part of it are copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.fetches.site import Address, Shown, Site, paged, without
from benchmarks.fetches.texts import guide, name_of

if TYPE_CHECKING:
    from pathlib import Path

_ARCHITECTURES, _LANGUAGES = ("amd64", "i386", "s390x"), ("en", "de", "ru", "ja")
_HOST = "guide.example"
_RELATED = 4


class Manual(Site):
    """Chapters of an installation guide.

    `/mirror/...` has all pages again, `index.html` is the folder, and `print=1` and `from` never
    matter. Many chapters of two architectures have the same words, others do not.
    """

    name = "manual"
    start = f"http://{_HOST}/doc/amd64/en/"

    def __init__(self, seed: int, data: Path) -> None:
        super().__init__(seed, data)
        self._texts = guide(data)
        self._pages = {
            (arch, language): sorted(
                page for a, b, page in self._texts if (a, b) == (arch, language)
            )
            for arch in _ARCHITECTURES
            for language in _LANGUAGES
        }

    def form(self, url: str) -> str:
        """See `Site.form`."""
        at = Address.of(url)
        path = at.path.removeprefix("/mirror").removesuffix("index.html")
        return str(Address(at.host, path, without(at.query, "print", "from")))

    def show(self, url: str, visit: int) -> Shown:  # noqa: ARG002 (as inherited)
        """See `Site.show`."""
        at = Address.of(url)
        dice = self.rendering(url, 0)  # its links stay the same
        segments = Address.of(self.form(url)).segments
        _, arch, language, *rest = segments
        page = rest[0] if rest else "index.html"

        def link(arch: str, language: str, page: str) -> str:
            mirror = "/mirror" if dice.random() < 0.25 else ""
            if page == "index.html" and dice.random() < 0.5:
                page = ""
            query = {}
            if dice.random() < 0.2:
                query["print"] = "1"
            if dice.random() < 0.2:
                query["from"] = dice.choice(("toc", "next", "search"))
            return str(Address(at.host, f"{mirror}/doc/{arch}/{language}/{page}", query))

        text = self._texts.get((arch, language, page))
        if text is None:
            return self.missing(self.start)
        pages = self._pages[arch, language]
        place = pages.index(page)
        near = pages if page == "index.html" else [*pages[place + 1 : place + 3], "index.html"]
        links = [link(arch, language, one) for one in near]
        links += [link(arch, language, dice.choice(pages)) for _ in range(_RELATED)]
        links += [link(one, language, page) for one in _ARCHITECTURES if one != arch]
        links += [link(arch, one, page) for one in _LANGUAGES if one != language]
        return Shown(name_of(text), *paged(text), tuple(links))
