"""Shops: sort orders, views, variants, references, and pages on which stock and visitors change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.fetches.site import Address, Shown, Site, teasers, without

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random


class Shop(Site):
    """Products in categories.

    `www.` shows the same. `ref`, `utm_source` and `v` never matter, `sort` and `view` only reorder
    the products of a page; `page` and `color` matter. Each product has a link to the basket, which
    is empty. When the site changes, `v=2` of a product shows its reviews.
    """

    name = "shop"
    host = "shop.example"
    start = f"http://{host}/"
    can_change = True
    PRODUCTS, CATEGORIES, ON_LIST, RELATED = 800, 10, 16, 5
    ORDERS, VIEWS, COLOURS = ("price", "name", "newest"), ("grid", "list"), ("red", "blue")
    REFERENCES = ("home", "category", "related", "mail")

    def _make(self, data: Path) -> None:
        self._texts = self.articles(data, self.PRODUCTS * 2 + 400)
        self._categories = [
            range(one, self.PRODUCTS, self.CATEGORIES) for one in range(self.CATEGORIES)
        ]

    def _form(self, at: Address) -> Address:
        gone = ["ref", "utm_source", "sort", "view"] + ([] if self.changed else ["v"])
        query = {} if at.path == "/basket" else without(at.query, *gone)
        if query.get("v") == "1":
            del query["v"]
        return Address(at.host.removeprefix("www."), at.path.rstrip("/") or "/", query)

    def _show(self, at: Address, dice: Random) -> Shown:
        def link(path: str, **query: object) -> str:
            if dice.random() < 0.08:
                query["utm_source"] = dice.choice(("mail", "feed"))
            host = f"www.{self.host}" if dice.random() < 0.12 else self.host
            return self.url(path, query, host)

        def product(number: int, **query: object) -> str:
            if dice.random() < 0.3:
                query["ref"] = dice.choice(self.REFERENCES)
            if dice.random() < 0.15:
                query["v"] = dice.choice((1, 2))
            return link(f"/product/{number}", **query)

        def category(number: int, page: int, **query: object) -> str:
            slash = "/" if dice.random() < 0.2 else ""
            paging = {"page": page} if page > 1 else {}
            return link(f"/category/{number}{slash}", **paging, **query)

        segments = at.segments
        if not segments:
            links = [category(number, 1) for number in range(self.CATEGORIES)]
            about = teasers(self._texts[number] for number in range(self.CATEGORIES))
            return Shown("home", "Welcome", about, tuple(links))
        if segments[0] == "category":
            number, page = int(segments[1]), int(at.query.get("page", 1))
            members = self._categories[number][(page - 1) * self.ON_LIST : page * self.ON_LIST]
            order = at.query.get("sort", self.ORDERS[0])
            shown = self.shuffled(members, order)
            links = [product(one) for one in shown]
            links += [category(number, page, sort=order) for order in self.ORDERS]
            links += [category(number, page, sort=order, view=view) for view in self.VIEWS]
            if page * self.ON_LIST < len(self._categories[number]):
                links.append(category(number, page + 1))
            about = teasers(self._texts[one] for one in shown)
            return Shown(f"category {number} {page}", f"Category {number}", about, tuple(links))
        if segments[0] == "product":
            number, colour = int(segments[1]), at.query.get("color", "")
            text = self._texts[number]
            paragraphs = text.paragraphs
            name = f"product {number} {colour}"
            if colour:
                other = self._texts[2 * self.PRODUCTS + (number + len(colour)) % 400]
                paragraphs = (*paragraphs[:1], *other.paragraphs[:2])
            if self.changed and at.query.get("v") == "2":
                paragraphs, name = self._texts[number + self.PRODUCTS].paragraphs, f"{name} reviews"
            links = [product(dice.randrange(self.PRODUCTS)) for _ in range(self.RELATED)]
            links.append(link("/basket", add=number))
            links.append(category(number % self.CATEGORIES, 1))
            if number % 4 == 0:
                links += [product(number, color=one) for one in self.COLOURS]
            return Shown(name, text.title, paragraphs, tuple(links))
        empty = "Your basket is empty. Have a look at our offers, and come back when you are ready."
        return Shown(None, "Basket", (empty,), (link("/"),))


class Collections(Site):
    """Products, each under its own path and under that of its two collections.

    The path of a collection, `pr_rec_id` and `_pos` never matter, `sort_by` only reorders a list;
    `page` matters, and `variant` matters for one product in eight, which has another price. Each
    page says how many people look at it, and what else they bought; stock falls over time.
    """

    name = "collections"
    host = "collections.example"
    start = f"http://{host}/"
    PRODUCTS, COLLECTIONS, ON_LIST, RELATED = 500, 20, 20, 4
    ORDERS = ("manual", "best-selling", "price-ascending")

    def _make(self, data: Path) -> None:
        self._texts = self.articles(data, self.PRODUCTS)
        self._lists = [
            range(one, self.PRODUCTS, self.COLLECTIONS) for one in range(self.COLLECTIONS)
        ]
        size = self.PRODUCTS // self.COLLECTIONS
        self._lists += [range(one * size, (one + 1) * size) for one in range(self.COLLECTIONS)]

    def _form(self, at: Address) -> Address:
        query = without(at.query, "pr_rec_id", "_pos", "sort_by")
        segments = at.segments
        if segments[2:3] == ["products"]:
            segments = segments[2:]
        if segments[:1] == ["products"] and int(segments[1]) % 8:
            query.pop("variant", None)
        return Address(at.host, "/" + "/".join(segments), query)

    def _show(self, at: Address, dice: Random) -> Shown:
        noise, segments = self.dice(at, self.visit), at.segments

        def product(number: int, where: str = "", **query: object) -> str:
            return self.url(f"{where}/products/{number}", query)

        def collection(number: int, page: int, **query: object) -> str:
            paging = {"page": page} if page > 1 else {}
            return self.url(f"/collections/{number}", {**paging, **query})

        if not segments:
            links = [collection(one, 1) for one in range(len(self._lists))]
            return Shown("home", "Welcome", teasers(self._texts[:8]), tuple(links))
        if segments[2:3] == ["products"]:
            segments = segments[2:]
        if segments[0] == "collections":
            number, page = int(segments[1]), int(at.query.get("page", 1))
            members = self._lists[number][(page - 1) * self.ON_LIST : page * self.ON_LIST]
            order = at.query.get("sort_by", self.ORDERS[0])
            shown = self.shuffled(members, order)
            links = [product(one, f"/collections/{number}") for one in shown]
            links += [collection(number, page, sort_by=order) for order in self.ORDERS]
            if page * self.ON_LIST < len(self._lists[number]):
                links.append(collection(number, page + 1))
            about = teasers(self._texts[one] for one in shown)
            return Shown(f"list {number} {page}", f"Collection {number}", about, tuple(links))
        number = int(segments[1])
        variant = int(at.query.get("variant", 0)) if number % 8 == 0 else 0
        text = self._texts[number]
        others = [dice.randrange(self.PRODUCTS) for _ in range(self.RELATED)]
        links = [product(one, pr_rec_id=f"{dice.getrandbits(32):08x}") for one in others]
        links += [product(number, variant=one) for one in (1, 2)]
        links.append(collection(number % self.COLLECTIONS, 1))
        about = (
            f"Price {19 + number % 7 + 5 * variant}.90",
            *text.paragraphs,
            f"Only {max(1, 40 - self.visit // 200 - number % 5)} left in stock",
            f"{noise.randrange(2, 90)} people are looking at this right now",
            *(f"Often bought: {one.title}" for one in noise.sample(self._texts, 2)),
        )
        return Shown(f"product {number} {variant}", text.title, about, tuple(links))


class Storefront(Site):
    """Products, most of which are found by recommendations and searches, in the manner of Shopify.

    Each recommended link has five parameters, each found one three, which are new at each request,
    come together only and never matter. Collections show each product once; `sort_by` only
    reorders them, `page` matters. `variant` matters for one product in eight. Stock falls.
    """

    name = "storefront"
    host = "storefront.example"
    start = f"http://{host}/"
    PRODUCTS, ON_LIST, RECOMMENDED, FOUND = 1180, 24, 4, 2
    SET = ("pr_prod_strat", "pr_rec_id", "pr_rec_pid", "pr_ref_pid", "pr_seq")
    FOUND_SET = ("_pos", "_sid", "_ss")
    STRATEGIES = ("use_description", "copurchase", "jac", "collection_fallback")
    ORDERS = ("manual", "price-ascending")

    def _make(self, data: Path) -> None:
        self._texts = self.articles(data, self.PRODUCTS)
        number = max(4, self.PRODUCTS // 60)
        self._lists = [range(one, self.PRODUCTS, number) for one in range(number)]

    def _form(self, at: Address) -> Address:
        query = without(at.query, *self.SET, *self.FOUND_SET, "sort_by")
        segments = at.segments
        if segments[:1] == ["products"] and int(segments[1]) % 8:
            query.pop("variant", None)
        return Address(at.host, "/" + "/".join(segments), query)

    def _show(self, at: Address, dice: Random) -> Shown:
        del dice  # links are new at each request
        noise, segments = self.dice(at, self.visit), at.segments

        def product(number: int, **query: object) -> str:
            return self.url(f"/products/{number}", query)

        def recommended(number: int, by: int) -> str:
            values = (
                *(noise.choice(self.STRATEGIES), f"{noise.getrandbits(40):010x}"),
                *(7 * 10**12 + number, 7 * 10**12 + by, "uniform"),
            )
            return product(number, **dict(zip(self.SET, values, strict=True)))

        def found(number: int, place: int) -> str:
            values = (place, f"{noise.getrandbits(36):09x}", "r")
            return product(number, **dict(zip(self.FOUND_SET, values, strict=True)))

        def collection(number: int, page: int, **query: object) -> str:
            paging = {"page": page} if page > 1 else {}
            return self.url(f"/collections/{number}", {**paging, **query})

        if not segments:
            links = [collection(one, 1) for one in range(len(self._lists))]
            return Shown("home", "Welcome", teasers(self._texts[:8]), tuple(links))
        if segments[0] == "collections":
            number, page = int(segments[1]), int(at.query.get("page", 1))
            members = self._lists[number][(page - 1) * self.ON_LIST : page * self.ON_LIST]
            order = at.query.get("sort_by", self.ORDERS[0])
            shown = self.shuffled(members, order)
            links = [product(one) for one in shown]
            links += [collection(number, page, sort_by=order) for order in self.ORDERS]
            if page * self.ON_LIST < len(self._lists[number]):
                links.append(collection(number, page + 1))
            about = teasers(self._texts[one] for one in shown)
            return Shown(f"list {number} {page}", f"Collection {number}", about, tuple(links))
        number = int(segments[1])
        variant = int(at.query.get("variant", 0)) if number % 8 == 0 else 0
        text = self._texts[number]
        others = [noise.randrange(self.PRODUCTS) for _ in range(self.RECOMMENDED + self.FOUND)]
        links = [recommended(one, number) for one in others[: self.RECOMMENDED]]
        links += [found(one, place) for place, one in enumerate(others[self.RECOMMENDED :], 1)]
        links += [product(number, variant=one) for one in (1, 2)]
        links.append(collection(number % len(self._lists), 1))
        about = (
            f"Price {19 + number % 7 + 5 * variant}.90",
            *text.paragraphs,
            f"Only {max(1, 40 - self.visit // 200 - number % 5)} left in stock",
        )
        return Shown(f"product {number} {variant}", text.title, about, tuple(links))


class SmallStorefront(Storefront):
    """The same with 260 products."""

    name = "small-storefront"
    host = "small.example"
    start = f"http://{host}/"
    PRODUCTS = 260
