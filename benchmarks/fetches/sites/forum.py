"""A forum: session ids, a parameter that is only repeated, sort orders, pages for members only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.fetches.site import Address, Shown, Site, paged, teasers, without
from benchmarks.fetches.texts import articles

if TYPE_CHECKING:
    from pathlib import Path

_TOPICS, _BOARDS, _ON_LIST, _RELATED, _SESSIONS = 900, 12, 15, 4, 3
_ORDERS = ("time", "author", "replies")
_HOST = "forum.example"


class Forum(Site):
    """Topics in boards.

    `sid` and `hilit` never matter, `f` is said by `t` already, `view=print` shows the same. `sort`
    reorders the topics of a list page. `start` matters, and so does `t` under `/viewtopic.php`; at
    `/posting.php` everybody is asked to log in.
    """

    name = "forum"
    start = f"http://{_HOST}/index.php"

    def __init__(self, seed: int, data: Path) -> None:
        super().__init__(seed, data)
        self._texts = self.dice("texts").sample(articles(data), _TOPICS * 2)
        self._boards = [range(number, _TOPICS, _BOARDS) for number in range(_BOARDS)]

    def form(self, url: str) -> str:
        """See `Site.form`."""
        at = Address.of(url)
        query = without(at.query, "sid", "hilit", "view", "sort")
        if at.path == "/viewtopic.php":
            query.pop("f", None)
        return str(Address(at.host, at.path, {} if at.path == "/posting.php" else query))

    def show(self, url: str, visit: int) -> Shown:
        """See `Site.show`."""
        at = Address.of(url)
        dice = self.rendering(url, visit)
        sid = f"{dice.randrange(_SESSIONS) * 0x9E3779B9 + 77:08x}"

        def link(path: str, **query: object) -> str:
            found = {name: str(value) for name, value in query.items()}
            if dice.random() < 0.5:
                found["sid"] = sid
            return str(Address(_HOST, path, found))

        def topic(number: int, word: str = "") -> str:
            query: dict[str, object] = {"t": number}
            if dice.random() < 0.3:
                query = {"f": number % _BOARDS, **query}
            if word and dice.random() < 0.05:
                query["hilit"] = word
            return link("/viewtopic.php", **query)

        if at.path == "/index.php":
            links = [link("/viewforum.php", f=number) for number in range(_BOARDS)]
            about = teasers(self._texts[number] for number in range(_BOARDS))
            return Shown("index", "All boards", about, tuple(links))
        if at.path == "/viewforum.php":
            board, first = int(at.query.get("f", 0)), int(at.query.get("start", 0))
            members = [*self._boards[board][first : first + _ON_LIST]]
            order = at.query.get("sort", _ORDERS[0])
            shown = sorted(members, key=lambda one: self.dice(order, one).random())
            links = [topic(number) for number in shown]
            links += [link("/viewforum.php", f=board, start=first, sort=order) for order in _ORDERS]
            if first + _ON_LIST < len(self._boards[board]):
                links.append(link("/viewforum.php", f=board, start=first + _ON_LIST))
            about = teasers(self._texts[number] for number in shown)
            return Shown(f"list {board} {first}", f"Board {board}", about, tuple(links))
        if at.path == "/viewtopic.php":
            number, first = int(at.query["t"]), int(at.query.get("start", 0))
            text = self._texts[number + (_TOPICS if first else 0)]
            others = [dice.randrange(_TOPICS) for _ in range(_RELATED)]
            links = [topic(one, text.words[0]) for one in others]
            links.append(link("/posting.php", mode="reply", t=number))
            links.append(link("/viewforum.php", f=number % _BOARDS))
            if number % 3 == 0 and not first:
                links.append(link("/viewtopic.php", t=number, start=10))
            if dice.random() < 0.3:
                links.append(f"{link('/viewtopic.php', t=number, start=first)}&view=print")
            return Shown(f"topic {number} {first}", *paged(text), tuple(links))
        asked = "You have to be a member of this board to post. Please log in, or join us today."
        return Shown(None, "Log in", (asked,), (link("/index.php"),))
