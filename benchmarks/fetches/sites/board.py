"""A board in the manner of XenForo: times, views and members online on every page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.fetches.site import Address, Shown, Site, teasers, without
from benchmarks.fetches.texts import articles

if TYPE_CHECKING:
    from pathlib import Path

_THREADS, _FORUMS, _ON_LIST, _POSTS = 700, 10, 20, 3
_HOST = "board.example"


class Board(Site):
    """Threads in forums, whose posts have URLs of their own that show the thread.

    `/threads/5/post-52` shows `/threads/5/`, `/posts/52` redirects there, `sid` is a session,
    `order` reorders a list. `/threads/5/page-2` is another page.
    """

    name = "board"
    start = f"http://{_HOST}/"

    def __init__(self, seed: int, data: Path) -> None:
        super().__init__(seed, data)
        self._texts = self.dice("texts").sample(articles(data), _THREADS * 2)
        self._forums = [range(one, _THREADS, _FORUMS) for one in range(_FORUMS)]

    def form(self, url: str) -> str:
        """See `Site.form`."""
        at = Address.of(url)
        segments = at.segments
        if segments[:1] == ["posts"]:
            return url.partition("?")[0]
        if segments[2:3] and segments[2].startswith("post-"):
            segments = segments[:2]
        query = without(at.query, "sid", "order")
        return str(Address(at.host, "/" + "/".join(segments), query))

    def show(self, url: str, visit: int) -> Shown:
        """See `Site.show`."""
        at = Address.of(url)
        dice = self.rendering(url, visit)
        session = {"sid": f"{dice.getrandbits(64):016x}"} if dice.random() < 0.3 else {}
        clock = f"{8 + visit // 600 % 12}:{visit // 10 % 60:02}"

        def link(path: str, **query: str) -> str:
            return str(Address(_HOST, path, {**query, **session}))

        noise = (f"It is {clock} now", f"Members online: {self.dice(visit).randrange(20, 400)}")
        segments = at.segments
        if not segments:
            links = [link(f"/forums/{one}/") for one in range(_FORUMS)]
            return Shown("home", "Board", (*teasers(self._texts[:8]), *noise), tuple(links))
        if segments[0] == "posts":
            thread = int(segments[1]) // 10
            return Shown(None, location=link(f"/threads/{thread}/post-{segments[1]}"))
        if segments[0] == "forums":
            number = int(segments[1])
            page = int(segments[2].removeprefix("page-")) if segments[2:] else 1
            members = self._forums[number][(page - 1) * _ON_LIST : page * _ON_LIST]
            order = at.query.get("order", "last")
            shown = sorted(members, key=lambda one: self.dice(order, one).random())
            links = [link(f"/threads/{one}/") for one in shown]
            links += [link(at.path, order=one) for one in ("last", "replies", "title")]
            if page * _ON_LIST < len(self._forums[number]):
                links.append(link(f"/forums/{number}/page-{page + 1}"))
            about = (*teasers(self._texts[one] for one in shown), *noise)
            return Shown(f"list {number} {page}", f"Forum {number}", about, tuple(links))
        number = int(segments[1])
        second = segments[2:] == ["page-2"]
        text = self._texts[number + (_THREADS if second else 0)]
        links = [link(f"/threads/{number}/post-{number * 10 + one}") for one in range(_POSTS)]
        links += [link(f"/posts/{number * 10 + 1}"), link(f"/forums/{number % _FORUMS}/")]
        links += [link(f"/threads/{dice.randrange(_THREADS)}/") for _ in range(3)]
        if number % 3 == 0:
            links.append(link(f"/threads/{number}/page-2"))
        about = (
            f"Views: {1000 + visit + number}, replies: {number % 13}",
            *text.paragraphs,
            *noise,
        )
        return Shown(f"thread {number} {second}", text.title, about, tuple(links))
