"""Small sites whose pages declare canonical links, right ones and wrong ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.fetches.site import Address, Shown, Site, paged, teasers, without

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

RIGHT, FIRST, START, MIXED = "right", "first", "start", "mixed"


class _Declaring(Site):
    """A site whose pages declare canonical links.

    Attributes:
        declares: `right` is the URL that a crawl needs; `first` is the first page of a list, and
            the product of all its variants; `start` is the start page, on every page; `mixed` is
            the first on half of the pages, and each of the others on a quarter.
    """

    declares = RIGHT

    def _declared(self, at: Address) -> str:
        """Choose what a page declares as canonical."""
        form = self._form(at)
        how = self.declares
        if how == MIXED:
            how = self.dice("declared", form).choice((RIGHT, RIGHT, FIRST, START))
        if how == START:
            return self.start
        return str(form if how == RIGHT else Address(form.host, form.path))


class Magazine(_Declaring):
    """160 articles in five sections; a link has up to three changes that never matter.

    These are `m.`, `/print`, `ref`, `from` and `visit`, which is new at each rendering. `p`
    matters: it is the page of a list.
    """

    name = "magazine-right"
    host = "magazine.example"
    start = f"http://{host}/"
    NUMBER, SECTIONS, ON_LIST, RELATED = 160, 5, 10, 5

    def _make(self, data: Path) -> None:
        self._texts = self.articles(data, self.NUMBER)
        self._sections = [range(one, self.NUMBER, self.SECTIONS) for one in range(self.SECTIONS)]

    def _form(self, at: Address) -> Address:
        path = "/" + "/".join(one for one in at.segments if one != "print")
        query = without(at.query, "ref", "from", "visit")
        return Address(at.host.removeprefix("m."), path, query)

    def _show(self, at: Address, dice: Random) -> Shown:
        def link(path: str, end: str = "", **query: object) -> str:
            if dice.random() < 0.3:
                query["ref"] = dice.choice(("home", "list", "related"))
            if dice.random() < 0.2:
                query["from"] = dice.choice(("mail", "feed"))
            if dice.random() < 0.3:
                query["visit"] = f"{dice.getrandbits(48):012x}"
            host = f"m.{self.host}" if dice.random() < 0.15 else self.host
            return self.url(path + (end if dice.random() < 0.15 else ""), query, host)

        form = self._form(at)
        declared = self._declared(at)
        if not form.segments:
            links = [link(f"/section/{one}") for one in range(self.SECTIONS)]
            about = teasers(self._texts[: self.SECTIONS])
            return Shown("home", "Magazine", about, tuple(links), canonical=declared)
        if form.segments[0] == "section":
            number, page = int(form.segments[1]), int(form.query.get("p", 1))
            members = self._sections[number][(page - 1) * self.ON_LIST : page * self.ON_LIST]
            links = [link(f"/article/{one}", "/print") for one in members]
            if page * self.ON_LIST < len(self._sections[number]):
                links.append(link(f"/section/{number}", p=page + 1))
            about = teasers(self._texts[one] for one in members)
            name = f"section {number} {page}"
            return Shown(name, f"Section {number}", about, tuple(links), canonical=declared)
        number = int(form.segments[1])
        others = [dice.randrange(self.NUMBER) for _ in range(self.RELATED)]
        links = [link(f"/article/{one}", "/print") for one in (number, *others)]
        links.append(link(f"/section/{number % self.SECTIONS}"))
        article = paged(self._texts[number])
        return Shown(f"article {number}", *article, tuple(links), canonical=declared)


class MagazineFirst(Magazine):
    """The same; all pages of a section declare its first one."""

    name = "magazine-first"
    declares = FIRST


class MagazineStart(Magazine):
    """The same; all pages declare the start page."""

    name = "magazine-start"
    declares = START


class MagazineMixed(Magazine):
    """The same; half of the pages declare what they should."""

    name = "magazine-mixed"
    declares = MIXED


class Catalogue(_Declaring):
    """160 products, each under its own path and under that of its collection.

    The collection, `ref` and `pos` never matter. `page` matters, and `variant` for one product in
    eight, which has another description, so that it is never to be dropped.
    """

    name = "catalogue-right"
    host = "catalogue.example"
    start = f"http://{host}/"
    NUMBER, COLLECTIONS, ON_LIST, RELATED, MATTERS = 160, 8, 10, 5, 8

    def _make(self, data: Path) -> None:
        self._texts = self.articles(data, self.NUMBER * 2)

    def _form(self, at: Address) -> Address:
        query, segments = without(at.query, "ref", "pos"), at.segments
        if segments[2:3] == ["products"]:
            segments = segments[2:]
        return Address(at.host, "/" + "/".join(segments), query)

    def _show(self, at: Address, dice: Random) -> Shown:
        def link(path: str, **query: object) -> str:
            if dice.random() < 0.3:
                query["ref"] = dice.choice(("home", "search", "related"))
            if dice.random() < 0.3:
                query["pos"] = dice.randrange(1, 9)
            return self.url(path, query)

        def product(number: int, **query: object) -> str:
            where = f"/collections/{number % self.COLLECTIONS}" if dice.random() < 0.3 else ""
            return link(f"{where}/products/{number}", **query)

        form = self._form(at)
        declared = self._declared(at)
        if not form.segments:
            links = [link(f"/collections/{one}") for one in range(self.COLLECTIONS)]
            about = teasers(self._texts[: self.COLLECTIONS])
            return Shown("home", "Catalogue", about, tuple(links), canonical=declared)
        number = int(form.segments[1])
        if form.segments[0] == "collections":
            page, members = (
                int(form.query.get("page", 1)),
                range(number, self.NUMBER, self.COLLECTIONS),
            )
            shown = members[(page - 1) * self.ON_LIST : page * self.ON_LIST]
            links = [product(one) for one in shown]
            if page * self.ON_LIST < len(members):
                links.append(link(f"/collections/{number}", page=page + 1))
            about = teasers(self._texts[one] for one in shown)
            name = f"collection {number} {page}"
            return Shown(name, f"Collection {number}", about, tuple(links), canonical=declared)
        variant = int(form.query.get("variant", 0)) if number % self.MATTERS == 0 else 0
        text = self._texts[number]
        paragraphs = text.paragraphs
        if variant:
            other = self._texts[self.NUMBER + (number + variant) % self.NUMBER]
            paragraphs = (*paragraphs[:1], *other.paragraphs[:2])
        links = [product(dice.randrange(self.NUMBER)) for _ in range(self.RELATED)]
        links += [product(number, variant=one) for one in (1, 2)]
        links.append(link(f"/collections/{number % self.COLLECTIONS}"))
        name = f"product {number} {variant}"
        return Shown(name, text.title, paragraphs, tuple(links), canonical=declared)


class CatalogueFirst(Catalogue):
    """The same; all variants declare their product, and all pages of a list the first one."""

    name = "catalogue-first"
    declares = FIRST


class CatalogueStart(Catalogue):
    """The same; all pages declare the start page."""

    name = "catalogue-start"
    declares = START


class CatalogueMixed(Catalogue):
    """The same; half of the pages declare what they should."""

    name = "catalogue-mixed"
    declares = MIXED
