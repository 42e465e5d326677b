"""Manuals: mirrors, languages and releases, of which only part are copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.fetches.site import Address, Shown, Site, paged, without
from benchmarks.fetches.texts import guide, name_of, releases

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

    from benchmarks.fetches.texts import Text


def _chapters(site: Site, data: Path, number: int) -> dict[tuple[str, str, str], Text]:
    """Choose some pages of the guide, in all architectures and languages; its index is one."""
    texts = guide(data)
    names = sorted({name for _, _, name in texts} - {"index.html"})
    chosen = {"index.html", *site.dice("chapters").sample(names, min(number - 1, len(names)))}
    return {key: text for key, text in texts.items() if key[2] in chosen}


class Manual(Site):
    """Chapters of an installation guide.

    `/mirror/...` has all pages again, `index.html` is the folder, and `print=1` and `from` never
    matter. Many chapters of two architectures have the same words, others do not.
    """

    name = "manual"
    renderings = 1
    host = "guide.example"
    start = f"http://{host}/doc/amd64/en/"
    ARCHITECTURES, LANGUAGES = ("amd64", "i386", "s390x"), ("en", "de", "ru", "ja")
    PAGES, RELATED = 84, 4

    def _make(self, data: Path) -> None:
        self._texts = _chapters(self, data, self.PAGES)
        self._pages = {
            (arch, language): sorted(
                page for a, b, page in self._texts if (a, b) == (arch, language)
            )
            for arch in self.ARCHITECTURES
            for language in self.LANGUAGES
        }

    def _form(self, at: Address) -> Address:
        path = at.path.removeprefix("/mirror").removesuffix("index.html")
        return Address(at.host, path, without(at.query, "print", "from"))

    def _show(self, at: Address, dice: Random) -> Shown:
        _, arch, language, *rest = self._form(at).segments
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
            return self.url(f"{mirror}/doc/{arch}/{language}/{page}", query)

        text = self._texts.get((arch, language, page))
        if text is None:
            return self.missing(self.start)
        pages = self._pages[arch, language]
        place = pages.index(page)
        near = pages if page == "index.html" else [*pages[place + 1 : place + 3], "index.html"]
        links = [link(arch, language, one) for one in near]
        links += [link(arch, language, dice.choice(pages)) for _ in range(self.RELATED)]
        links += [link(one, language, page) for one in self.ARCHITECTURES if one != arch]
        links += [link(arch, one, page) for one in self.LANGUAGES if one != language]
        return Shown(name_of(text), *paged(text), tuple(links))


class Architectures(Site):
    """Chapters for five architectures in four languages: nearly mirrors, and never quite.

    Each page has a paragraph about its architecture. 3% of the links have `www.`, and 4%
    `ref=nav`; neither matters.
    """

    name = "architectures"
    renderings = 1
    host = "ports.example"
    start = f"http://{host}/manual/amd64/en/chapter-0.html"
    ARCHITECTURES = ("amd64", "arm64", "armhf", "i386", "s390x")
    LANGUAGES = ("en", "de", "fr", "el")
    PAGES, RELATED = 80, 4
    WITH_WWW, WITH_REFERENCE = 0.03, 0.04

    def _make(self, data: Path) -> None:
        languages, architectures = len(self.LANGUAGES), len(self.ARCHITECTURES)
        texts = self.articles(data, self.PAGES * (languages + architectures))
        self._texts, self._own = texts[: self.PAGES * languages], texts[self.PAGES * languages :]

    def _form(self, at: Address) -> Address:
        return Address(at.host.removeprefix("www."), at.path, without(at.query, "ref"))

    def _show(self, at: Address, dice: Random) -> Shown:
        _, arch, language, name = at.segments
        number = int(name.removeprefix("chapter-").removesuffix(".html"))

        def link(arch: str, language: str, number: int) -> str:
            query = {"ref": "nav"} if dice.random() < self.WITH_REFERENCE else {}
            host = f"www.{self.host}" if dice.random() < self.WITH_WWW else self.host
            return self.url(f"/manual/{arch}/{language}/chapter-{number}.html", query, host)

        text = self._texts[self.LANGUAGES.index(language) * self.PAGES + number]
        own = self._own[self.ARCHITECTURES.index(arch) * self.PAGES + number]
        about = f"On {arch}: {' '.join(own.words[:14])}."
        others = [0, number + 1, number + 2]
        others += [dice.randrange(self.PAGES) for _ in range(self.RELATED)]
        links = [link(arch, language, one % self.PAGES) for one in others]
        links += [link(one, language, number) for one in self.ARCHITECTURES if one != arch]
        links += [link(arch, one, number) for one in self.LANGUAGES if one != language]
        content = f"{arch} {language} {number}"
        return Shown(content, text.title, (*text.paragraphs, about), tuple(links))


class Languages(Site):
    """Chapters under one path, in the language of a parameter.

    `lang` matters, but where a chapter is not translated. `PHPSESSID` and `theme` never do, and
    `/docs/Chapter` is `/docs/chapter`.
    """

    name = "languages"
    host = "docs.example"
    start = f"http://{host}/docs/index.html"
    ENGLISH = ("amd64", "en")
    LANGUAGES = (*("en", "de", "fr", "ja", "ru", "es", "it", "nl", "sv", "el", "ko", "pt"), "zh_CN")
    PAGES, NOT_TRANSLATED = 84, 0.35
    THEMES = ("dark", "light")

    def _make(self, data: Path) -> None:
        texts = _chapters(self, data, self.PAGES)
        self._pages = sorted(
            page for arch, language, page in texts if (arch, language) == self.ENGLISH
        )
        dice = self.dice("translated")
        self._texts = {}
        for page in self._pages:
            for language in self.LANGUAGES:
                text = texts.get(("amd64", language, page))
                if text is None or (language != "en" and dice.random() < self.NOT_TRANSLATED):
                    text = texts["amd64", "en", page]
                self._texts[page, language] = text

    def _form(self, at: Address) -> Address:
        return Address(at.host, at.path.lower(), without(at.query, "PHPSESSID", "theme"))

    def _show(self, at: Address, dice: Random) -> Shown:
        page, language = at.segments[-1].lower(), at.query.get("lang", "en")

        def link(page: str, language: str) -> str:
            query = {"lang": language} if language != "en" or dice.random() < 0.3 else {}
            if dice.random() < 0.3:
                query["PHPSESSID"] = f"{dice.randrange(4) + 1:032x}"
            if dice.random() < 0.15:
                query["theme"] = dice.choice(self.THEMES)
            shown = page.capitalize() if dice.random() < 0.1 else page
            return self.url(f"/docs/{shown}", query)

        text = self._texts.get((page, language))
        if text is None:
            return self.missing(self.start)
        near = self._pages if page == "index.html" else dice.sample(self._pages, 4)
        links = [link(one, language) for one in near]
        links += [link(page, one) for one in dice.sample(self.LANGUAGES, 5)]
        return Shown(name_of(text), *paged(text), tuple(links))


class Versions(Site):
    """Pages of each release.

    `/latest/...` is the last release, and `highlight` and `_sid` never matter. The same page of two
    releases is often nearly the same, and sometimes quite.
    """

    name = "versions"
    renderings = 1
    host = "releases.example"
    LAST, PAGES, RELATED = "llvm-19", 260, 6

    def _make(self, data: Path) -> None:
        found = releases(data)
        self._versions = sorted({version for version, _ in found})
        names = sorted({page for version, page in found if version == self.LAST})
        chosen = set(self.dice("pages").sample(names, min(self.PAGES, len(names))))
        self._texts = {key: text for key, text in found.items() if key[1] in chosen}
        self._pages = {
            version: sorted(page for one, page in self._texts if one == version)
            for version in self._versions
        }
        self.start = f"http://{self.host}/latest/{self._pages[self.LAST][0]}"

    def _form(self, at: Address) -> Address:
        if at.path == "/search":
            return Address(at.host, at.path)
        path = at.path.replace("/latest/", f"/{self.LAST}/", 1)
        return Address(at.host, path, without(at.query, "highlight", "_sid"))

    def _show(self, at: Address, dice: Random) -> Shown:
        def link(version: str, page: str) -> str:
            query = {}
            if dice.random() < 0.12:
                query["highlight"] = dice.choice(("loop", "value", "pass"))
            if dice.random() < 0.1:
                query["_sid"] = str(dice.randrange(3))
            shown = "latest" if version == self.LAST and dice.random() < 0.3 else version
            return self.url(f"/{shown}/{page}", query)

        if at.path == "/search":
            none = "Please enable scripts in your browser to search this manual. Without them there"
            return Shown(None, "Search", (f"{none} are no results to be shown.",), (self.start,))
        version, _, page = at.path.lstrip("/").partition("/")
        version = self.LAST if version == "latest" else version
        text = self._texts.get((version, page))
        if text is None:
            return self.missing(self.start)
        pages = self._pages[version]
        place = pages.index(page)
        links = [link(version, one) for one in pages[place + 1 : place + 3]]
        links += [link(version, dice.choice(pages)) for _ in range(self.RELATED)]
        links += [link(one, page) for one in self._versions if (one, page) in self._texts]
        links.append(self.url("/search", {"q": text.words[0]}))
        return Shown(name_of(text), *paged(text), tuple(links))


class Documentation(Site):
    """Three releases; `stable` shows the second of them, or, when it has moved, the third.

    `latest` shows the third. One page in twelve differs between a release and the one before.
    `x.html` and `x/` show the same, `highlight` and `utm_source` never matter.
    """

    name = "documentation"
    host = "documentation.example"
    start = f"http://{host}/en/latest/"
    can_change = True
    PAGES, RELATED = 240, 6
    RELEASES = ("v1.0", "v1.1", "v1.2")

    def _make(self, data: Path) -> None:
        self._texts = self.articles(data, self.PAGES * 2)

    def _form(self, at: Address) -> Address:
        query = without(at.query, "highlight", "utm_source")
        release, name = self._place(at)
        if name is None:
            return Address(at.host, f"/{self._contents_since(release)}", query)
        return Address(at.host, f"/{self._since(release, name)}/{name}", query)

    def _place(self, at: Address) -> tuple[int, int | None]:
        _, release, *rest = [*at.segments, "", ""]
        name = rest[0].removesuffix(".html")
        stable = "v1.2" if self.changed else "v1.1"
        release = {"stable": stable, "latest": "v1.2"}.get(release, release)
        return self.RELEASES.index(release), int(name) if name.isdigit() else None

    def _since(self, release: int, name: int) -> int:
        """Find the release since which a page is as it is."""
        changes = [one for one in range(1, release + 1) if self.dice(one, name).random() < 1 / 12]
        return max(changes, default=0)

    def _contents_since(self, release: int) -> int:
        """Find the release since which the contents lead to the pages to which they lead now."""
        return max(self._since(release, name) for name in range(self.PAGES))

    def _show(self, at: Address, dice: Random) -> Shown:
        release, name = self._place(at)
        shown = at.segments[1]

        def link(number: int, where: str = shown) -> str:
            query = {}
            if dice.random() < 0.15:
                query["highlight"] = dice.choice(("store", "page", "rule"))
            path = f"{number}/" if dice.random() < 0.4 else f"{number}.html"
            return self.url(f"/en/{where}/{path}", query)

        others = ["stable", "latest", *self.RELEASES]
        if name is None:
            links = [link(number) for number in range(self.PAGES)]
            links += [self.url(f"/en/{one}/", {}) for one in others]
            about = [self._texts[number].title for number in range(self.PAGES)]
            content = f"contents {self._contents_since(release)}"
            return Shown(content, "Contents", tuple(about), tuple(links))
        since = self._since(release, name)
        text = self._texts[name]
        paragraphs = list(text.paragraphs)
        if since:
            paragraphs[-1:] = self._texts[self.PAGES + (name + since) % self.PAGES].paragraphs[:1]
        links = [link(dice.randrange(self.PAGES)) for _ in range(self.RELATED)]
        links += [link(name, one) for one in others]
        return Shown(f"page {name} {since}", text.title, tuple(paragraphs), tuple(links))
