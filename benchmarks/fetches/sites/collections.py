"""A shop in the manner of Shopify: collections, variants, stock and visitors on every page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.fetches.site import Address, Shown, Site, teasers, without
from benchmarks.fetches.texts import articles

if TYPE_CHECKING:
    from pathlib import Path

_PRODUCTS, _COLLECTIONS, _ON_LIST, _RELATED = 500, 20, 20, 4
_ORDERS = ("manual", "best-selling", "price-ascending")
_HOST = "collections.example"


class Collections(Site):
    """Products, each under its own path and under that of its two collections.

    The path of a collection, `pr_rec_id` and `_pos` never matter, `sort_by` only reorders a list;
    `page` matters, and `variant` matters for one product in eight, which has another price. Each
    page says how many people look at it, and what else they bought; stock falls over time.
    """

    name = "collections"
    start = f"http://{_HOST}/"

    def __init__(self, seed: int, data: Path) -> None:
        super().__init__(seed, data)
        self._texts = self.dice("texts").sample(articles(data), _PRODUCTS)
        self._lists = [range(one, _PRODUCTS, _COLLECTIONS) for one in range(_COLLECTIONS)]
        self._lists += [range(one * 25, one * 25 + 25) for one in range(_COLLECTIONS)]

    def form(self, url: str) -> str:
        """See `Site.form`."""
        at = Address.of(url)
        query = without(at.query, "pr_rec_id", "_pos", "sort_by")
        segments = at.segments
        if segments[2:3] == ["products"]:
            segments = segments[2:]
        if segments[:1] == ["products"] and int(segments[1]) % 8:
            query.pop("variant", None)
        return str(Address(at.host, "/" + "/".join(segments), query))

    def show(self, url: str, visit: int) -> Shown:
        """See `Site.show`."""
        at = Address.of(url)
        dice, noise = self.rendering(url, visit), self.dice(url, visit)
        segments = at.segments

        def product(number: int, where: str = "", **query: object) -> str:
            found = {name: str(value) for name, value in query.items()}
            return str(Address(_HOST, f"{where}/products/{number}", found))

        def collection(number: int, page: int, **query: object) -> str:
            found = {"page": str(page)} if page > 1 else {}
            found |= {name: str(value) for name, value in query.items()}
            return str(Address(_HOST, f"/collections/{number}", found))

        if not segments:
            links = [collection(one, 1) for one in range(len(self._lists))]
            return Shown("home", "Welcome", teasers(self._texts[:8]), tuple(links))
        if segments[2:3] == ["products"]:
            segments = segments[2:]
        if segments[0] == "collections":
            number, page = int(segments[1]), int(at.query.get("page", 1))
            members = self._lists[number][(page - 1) * _ON_LIST : page * _ON_LIST]
            order = at.query.get("sort_by", _ORDERS[0])
            shown = sorted(members, key=lambda one: self.dice(order, one).random())
            links = [product(one, f"/collections/{number}") for one in shown]
            links += [collection(number, page, sort_by=order) for order in _ORDERS]
            if page * _ON_LIST < len(self._lists[number]):
                links.append(collection(number, page + 1))
            about = teasers(self._texts[one] for one in shown)
            return Shown(f"list {number} {page}", f"Collection {number}", about, tuple(links))
        number = int(segments[1])
        variant = int(at.query.get("variant", 0)) if number % 8 == 0 else 0
        text = self._texts[number]
        others = [dice.randrange(_PRODUCTS) for _ in range(_RELATED)]
        links = [product(one, pr_rec_id=f"{dice.getrandbits(32):08x}") for one in others]
        links += [product(number, variant=one) for one in (1, 2)]
        links.append(collection(number % _COLLECTIONS, 1))
        about = (
            f"Price {19 + number % 7 + 5 * variant}.90",
            *text.paragraphs,
            f"Only {max(1, 40 - visit // 200 - number % 5)} left in stock",
            f"{noise.randrange(2, 90)} people are looking at this right now",
            *(f"Often bought: {one.title}" for one in noise.sample(self._texts, 2)),
        )
        return Shown(f"product {number} {variant}", text.title, about, tuple(links))
