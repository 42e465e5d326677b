"""A shop: sort orders and views of lists, references, colours that matter, a host alias."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.fetches.site import Address, Shown, Site, teasers, without
from benchmarks.fetches.texts import articles

if TYPE_CHECKING:
    from pathlib import Path

_PRODUCTS, _CATEGORIES, _ON_LIST, _RELATED = 800, 10, 16, 5
_ORDERS, _VIEWS, _COLOURS = ("price", "name", "newest"), ("grid", "list"), ("red", "blue")
_REFERENCES = ("home", "category", "related", "mail")
_HOST = "shop.example"


class Shop(Site):
    """Products in categories.

    `www.` shows the same. `ref`, `utm_source` and `v` never matter, `sort` and `view` only reorder
    the products of a page; `page` and `color` matter. Each product has a link to the basket, which
    is empty. When the site changes, `v=2` of a product shows its reviews.
    """

    name = "shop"
    start = f"http://{_HOST}/"
    can_change = True

    def __init__(self, seed: int, data: Path) -> None:
        super().__init__(seed, data)
        self._texts = self.dice("texts").sample(articles(data), _PRODUCTS * 2 + 400)
        self._categories = [range(one, _PRODUCTS, _CATEGORIES) for one in range(_CATEGORIES)]

    def form(self, url: str) -> str:
        """See `Site.form`."""
        at = Address.of(url)
        gone = ["ref", "utm_source", "sort", "view"] + ([] if self.changed else ["v"])
        query = {} if at.path == "/basket" else without(at.query, *gone)
        if query.get("v") == "1":
            del query["v"]
        return str(Address(at.host.removeprefix("www."), at.path.rstrip("/") or "/", query))

    def show(self, url: str, visit: int) -> Shown:
        """See `Site.show`."""
        at = Address.of(url)
        dice = self.rendering(url, visit)

        def link(path: str, **query: object) -> str:
            found = {name: str(value) for name, value in query.items()}
            if dice.random() < 0.08:
                found["utm_source"] = dice.choice(("mail", "feed"))
            host = f"www.{_HOST}" if dice.random() < 0.12 else _HOST
            return str(Address(host, path, found))

        def product(number: int, **query: object) -> str:
            found: dict[str, object] = dict(query)
            if dice.random() < 0.3:
                found["ref"] = dice.choice(_REFERENCES)
            if dice.random() < 0.15:
                found["v"] = dice.choice((1, 2))
            return link(f"/product/{number}", **found)

        def category(number: int, page: int, **query: object) -> str:
            slash = "/" if dice.random() < 0.2 else ""
            paging = {"page": page} if page > 1 else {}
            return link(f"/category/{number}{slash}", **paging, **query)

        segments = at.segments
        if not segments:
            links = [category(number, 1) for number in range(_CATEGORIES)]
            about = teasers(self._texts[number] for number in range(_CATEGORIES))
            return Shown("home", "Welcome", about, tuple(links))
        if segments[0] == "category":
            number, page = int(segments[1]), int(at.query.get("page", 1))
            members = self._categories[number][(page - 1) * _ON_LIST : page * _ON_LIST]
            order = at.query.get("sort", _ORDERS[0])
            shown = sorted(members, key=lambda one: self.dice(order, one).random())
            links = [product(one) for one in shown]
            links += [category(number, page, sort=order) for order in _ORDERS]
            links += [category(number, page, sort=order, view=view) for view in _VIEWS]
            if page * _ON_LIST < len(self._categories[number]):
                links.append(category(number, page + 1))
            about = teasers(self._texts[one] for one in shown)
            return Shown(f"category {number} {page}", f"Category {number}", about, tuple(links))
        if segments[0] == "product":
            number, colour = int(segments[1]), at.query.get("color", "")
            text = self._texts[number]
            paragraphs = text.paragraphs
            name = f"product {number} {colour}"
            if colour:
                other = self._texts[2 * _PRODUCTS + (number + len(colour)) % 400]
                paragraphs = (*paragraphs[:1], *other.paragraphs[:2])
            if self.changed and at.query.get("v") == "2":
                paragraphs, name = self._texts[number + _PRODUCTS].paragraphs, f"{name} reviews"
            links = [product(dice.randrange(_PRODUCTS)) for _ in range(_RELATED)]
            links.append(link("/basket", add=number))
            links.append(category(number % _CATEGORIES, 1))
            if number % 4 == 0:
                links += [product(number, color=one) for one in _COLOURS]
            return Shown(name, text.title, paragraphs, tuple(links))
        empty = "Your basket is empty. Have a look at our offers, and come back when you are ready."
        return Shown(None, "Basket", (empty,), (link("/"),))
