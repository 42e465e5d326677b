"""Forums: session ids, sort orders, posts and pages for members only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.fetches.site import Address, Shown, Site, paged, teasers, without

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random


class Forum(Site):
    """Topics in boards.

    `sid` and `hilit` never matter, `f` is said by `t` already, `view=print` shows the same. `sort`
    reorders the topics of a list page. `start` matters, and so does `t` under `/viewtopic.php`; at
    `/posting.php` everybody is asked to log in.
    """

    name = "forum"
    host = "forum.example"
    start = f"http://{host}/index.php"
    TOPICS, BOARDS, ON_LIST, RELATED, SESSIONS = 900, 12, 15, 4, 3
    ORDERS = ("time", "author", "replies")

    def _make(self, data: Path) -> None:
        self._texts = self.articles(data, self.TOPICS * 2)
        self._boards = [range(number, self.TOPICS, self.BOARDS) for number in range(self.BOARDS)]

    def _form(self, at: Address) -> Address:
        query = without(at.query, "sid", "hilit", "view", "sort")
        if at.path == "/viewtopic.php":
            query.pop("f", None)
        return Address(at.host, at.path, {} if at.path == "/posting.php" else query)

    def _show(self, at: Address, dice: Random) -> Shown:
        sid = f"{dice.randrange(self.SESSIONS) * 0x9E3779B9 + 77:08x}"

        def link(path: str, **query: object) -> str:
            if dice.random() < 0.5:
                query["sid"] = sid
            return self.url(path, query)

        def topic(number: int, word: str = "") -> str:
            query: dict[str, object] = {"t": number}
            if dice.random() < 0.3:
                query = {"f": number % self.BOARDS, **query}
            if word and dice.random() < 0.05:
                query["hilit"] = word
            return link("/viewtopic.php", **query)

        if at.path == "/index.php":
            links = [link("/viewforum.php", f=number) for number in range(self.BOARDS)]
            about = teasers(self._texts[number] for number in range(self.BOARDS))
            return Shown("index", "All boards", about, tuple(links))
        if at.path == "/viewforum.php":
            board, first = int(at.query.get("f", 0)), int(at.query.get("start", 0))
            members = [*self._boards[board][first : first + self.ON_LIST]]
            order = at.query.get("sort", self.ORDERS[0])
            shown = self.shuffled(members, order)
            links = [topic(number) for number in shown]
            links += [
                link("/viewforum.php", f=board, start=first, sort=order) for order in self.ORDERS
            ]
            if first + self.ON_LIST < len(self._boards[board]):
                links.append(link("/viewforum.php", f=board, start=first + self.ON_LIST))
            about = teasers(self._texts[number] for number in shown)
            return Shown(f"list {board} {first}", f"Board {board}", about, tuple(links))
        if at.path == "/viewtopic.php":
            number, first = int(at.query["t"]), int(at.query.get("start", 0))
            text = self._texts[number + (self.TOPICS if first else 0)]
            others = [dice.randrange(self.TOPICS) for _ in range(self.RELATED)]
            links = [topic(one, text.words[0]) for one in others]
            links.append(link("/posting.php", mode="reply", t=number))
            links.append(link("/viewforum.php", f=number % self.BOARDS))
            if number % 3 == 0 and not first:
                links.append(link("/viewtopic.php", t=number, start=10))
            if dice.random() < 0.3:
                links.append(f"{link('/viewtopic.php', t=number, start=first)}&view=print")
            return Shown(f"topic {number} {first}", *paged(text), tuple(links))
        asked = "You have to be a member of this board to post. Please log in, or join us today."
        return Shown(None, "Log in", (asked,), (link("/index.php"),))


class Board(Site):
    """Threads in forums, whose posts have URLs of their own that show the thread.

    `/threads/5/post-52` shows `/threads/5/`, `/posts/52` redirects there, `sid` is a session,
    `order` reorders a list. `/threads/5/page-2` is another page.
    """

    name = "board"
    host = "board.example"
    start = f"http://{host}/"
    THREADS, FORUMS, ON_LIST, POSTS = 700, 10, 20, 3

    def _make(self, data: Path) -> None:
        self._texts = self.articles(data, self.THREADS * 2)
        self._forums = [range(one, self.THREADS, self.FORUMS) for one in range(self.FORUMS)]

    def _form(self, at: Address) -> Address:
        segments = at.segments
        if segments[:1] == ["posts"]:
            return Address(at.host, at.path)
        if segments[2:3] and segments[2].startswith("post-"):
            segments = segments[:2]
        query = without(at.query, "sid", "order")
        return Address(at.host, "/" + "/".join(segments), query)

    def _show(self, at: Address, dice: Random) -> Shown:
        session = {"sid": f"{dice.getrandbits(64):016x}"} if dice.random() < 0.3 else {}
        clock = f"{8 + self.visit // 600 % 12}:{self.visit // 10 % 60:02}"

        def link(path: str, **query: str) -> str:
            return self.url(path, {**query, **session})

        noise = (
            f"It is {clock} now",
            f"Members online: {self.dice(self.visit).randrange(20, 400)}",
        )
        segments = at.segments
        if not segments:
            links = [link(f"/forums/{one}/") for one in range(self.FORUMS)]
            return Shown("home", "Board", (*teasers(self._texts[:8]), *noise), tuple(links))
        if segments[0] == "posts":
            thread = int(segments[1]) // 10
            return Shown(None, location=link(f"/threads/{thread}/post-{segments[1]}"))
        if segments[0] == "forums":
            number = int(segments[1])
            page = int(segments[2].removeprefix("page-")) if segments[2:] else 1
            members = self._forums[number][(page - 1) * self.ON_LIST : page * self.ON_LIST]
            order = at.query.get("order", "last")
            shown = self.shuffled(members, order)
            links = [link(f"/threads/{one}/") for one in shown]
            links += [link(at.path, order=one) for one in ("last", "replies", "title")]
            if page * self.ON_LIST < len(self._forums[number]):
                links.append(link(f"/forums/{number}/page-{page + 1}"))
            about = (*teasers(self._texts[one] for one in shown), *noise)
            return Shown(f"list {number} {page}", f"Forum {number}", about, tuple(links))
        number = int(segments[1])
        second = segments[2:] == ["page-2"]
        text = self._texts[number + (self.THREADS if second else 0)]
        links = [link(f"/threads/{number}/post-{number * 10 + one}") for one in range(self.POSTS)]
        links += [link(f"/posts/{number * 10 + 1}"), link(f"/forums/{number % self.FORUMS}/")]
        links += [link(f"/threads/{dice.randrange(self.THREADS)}/") for _ in range(3)]
        if number % 3 == 0:
            links.append(link(f"/threads/{number}/page-2"))
        about = (
            f"Views: {1000 + self.visit + number}, replies: {number % 13}",
            *text.paragraphs,
            *noise,
        )
        return Shown(f"thread {number} {second}", text.title, about, tuple(links))
