"""A manual in many languages: what is not translated is shown in English."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.fetches.site import Address, Shown, Site, paged, without
from benchmarks.fetches.texts import guide, name_of

if TYPE_CHECKING:
    from pathlib import Path

_LANGUAGES = (*("en", "de", "fr", "ja", "ru", "es", "it", "nl", "sv", "el", "ko", "pt"), "zh_CN")
_NOT_TRANSLATED = 0.35
_HOST = "docs.example"
_THEMES = ("dark", "light")


class Languages(Site):
    """Chapters under one path, in the language of a parameter.

    `lang` matters, but where a chapter is not translated. `PHPSESSID` and `theme` never do, and
    `/docs/Chapter` is `/docs/chapter`.
    """

    name = "languages"
    start = f"http://{_HOST}/docs/index.html"

    def __init__(self, seed: int, data: Path) -> None:
        super().__init__(seed, data)
        texts = guide(data)
        self._pages = sorted(page for arch, language, page in texts if (arch, language) == _ENGLISH)
        dice = self.dice("translated")
        self._texts = {}
        for page in self._pages:
            for language in _LANGUAGES:
                text = texts.get(("amd64", language, page))
                if text is None or (language != "en" and dice.random() < _NOT_TRANSLATED):
                    text = texts["amd64", "en", page]
                self._texts[page, language] = text

    def form(self, url: str) -> str:
        """See `Site.form`."""
        at = Address.of(url)
        return str(Address(at.host, at.path.lower(), without(at.query, "PHPSESSID", "theme")))

    def show(self, url: str, visit: int) -> Shown:
        """See `Site.show`."""
        at = Address.of(url)
        dice = self.rendering(url, visit)
        page, language = at.segments[-1].lower(), at.query.get("lang", "en")

        def link(page: str, language: str) -> str:
            query = {"lang": language} if language != "en" or dice.random() < 0.3 else {}
            if dice.random() < 0.3:
                query["PHPSESSID"] = f"{dice.randrange(4) + 1:032x}"
            if dice.random() < 0.15:
                query["theme"] = dice.choice(_THEMES)
            shown = page.capitalize() if dice.random() < 0.1 else page
            return str(Address(_HOST, f"/docs/{shown}", query))

        text = self._texts.get((page, language))
        if text is None:
            return self.missing(self.start)
        near = self._pages if page == "index.html" else dice.sample(self._pages, 4)
        links = [link(one, language) for one in near]
        links += [link(page, one) for one in dice.sample(_LANGUAGES, 5)]
        return Shown(name_of(text), *paged(text), tuple(links))


_ENGLISH = ("amd64", "en")
