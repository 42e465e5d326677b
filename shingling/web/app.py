"""The application: which function answers which request, and with which template."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, RedirectResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from shingling.admin.reviews import Answer
from shingling.errors import ShinglingError, StoreUnavailableError
from shingling.store import STATUSES, Store
from shingling.web.guard import Guard, is_equal
from shingling.web.lists import (
    asked_of,
    pair_after,
    show_group,
    show_groups,
    show_reviews,
)
from shingling.web.overview import count_all
from shingling.web.pairs import read_pair, stored_page
from shingling.web.requests import RequestError, fields_of, form_of, needed, whole_number
from shingling.web.reviewing import Decisions, review_many, show_many, version
from shingling.web.shown import environment, link
from shingling.web.store_threads import Kept
from shingling.web.threshold import ThresholdPage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp

    from shingling.store.session import Session
    from shingling.web.guard import Access
    from shingling.web.store_threads import StoreThreads

    _Fields = dict[str, str]

MAX_NOTE_CHARACTERS = 2000
_FOLLOWING = "/pair?", "/threshold", "/groups"
_ANSWERS = {"same": True, "different": False, "none": None}
_HEADINGS = {
    403: "Refused",
    404: "Not found",
    405: "Not possible here",
    409: "Reviewed by somebody else",
    421: "Another address",
    500: "This failed",
    503: "The store is busy",
}


class _Application:
    """What all answers share."""

    def __init__(
        self, stores: StoreThreads, access: Access, store_name: str, *, read_only: bool
    ) -> None:
        self._stores = stores
        self._access = access
        self._read_only = read_only
        self._decisions = Decisions()
        self._threshold = ThresholdPage()
        self._templates = environment()
        self._templates.globals.update(
            STATUSES=STATUSES,
            form_token=access.form_token,
            read_only=read_only,
            store_name=store_name,
        )

    def routes(self) -> list[Route | Mount]:
        """Addresses of all pages and files."""
        counted = Kept(count_all)
        shown: dict[str, Callable[[Session, _Fields], dict[str, Any]]] = {
            "groups": show_groups,
            "group": show_group,
            "pair": self._pair,
            "many": show_many,
            "reviews": show_reviews,
            "overview": lambda session, _: counted.get(session),
            "threshold": self._threshold.show,
        }
        return [
            Route("/", lambda _: RedirectResponse("/groups", status_code=303)),
            *(
                Route(f"/{name}", partial(self._show, name=name, show=show), methods=["GET"])
                for name, show in shown.items()
            ),
            Route("/review", self._review, methods=["POST"]),
            Route("/many", self._review_many, methods=["POST"]),
            Route("/undo", self._undo, methods=["POST"]),
            Mount("/static", StaticFiles(packages=[("shingling.web", "static")])),
        ]

    def problem(self, status: int, message: str) -> Response:
        """Page that says why a request was not answered."""
        heading = _HEADINGS.get(status, "This cannot be answered")
        values = {"heading": heading, "message": message, "status": status}
        return self._page("problem", {}, values, status=status)

    async def refused(self, _: Request, error: Exception) -> Response:
        """Answer to what a request or the store is at fault of."""
        if isinstance(error, HTTPException):
            return self.problem(error.status_code, f"{error.detail}.")
        line = str(error)
        status = 503 if isinstance(error, StoreUnavailableError) else 500
        if isinstance(error, RequestError):
            status = error.status
        return self.problem(status, f"{line[:1].upper()}{line[1:]}.")

    async def failed(self, _: Request, error: Exception) -> Response:
        """Answer where the application itself is at fault."""
        return self.problem(500, f"scrapy dedup serve failed: {type(error).__name__}.")

    async def _show(
        self,
        request: Request,
        *,
        name: str,
        show: Callable[[Session, _Fields], dict[str, Any]],
    ) -> Response:
        query = fields_of(request.scope["query_string"])
        values = await self._stores.run(lambda session: show(session, query))
        return self._page(name, query, values)

    def _pair(self, session: Session, query: _Fields) -> dict[str, Any]:
        """Two pages side by side, and the address of the next pair."""
        asked, at = asked_of(query), query.get("at")
        pair = read_pair(session, needed(query, "a"), needed(query, "b"))
        left, right = pair.left.page, pair.right.page
        walk = self._threshold.walk(session, asked.guided)
        following = None
        if walk is None:
            with session.reading() as connection:
                found = pair_after(connection, left, right, asked, at)
            if found is not None:
                values = zip(("a", "b", "at"), found, strict=True)
                following = link("/pair", [*values, *asked.pairs])
        else:
            following = walk.after(left.url, right.url)
        return {
            "pair": pair,
            "seen": version([Answer(left.url, right.url, None)], [pair.review]),
            "walk": walk,
            "next": following,
            "at": at,
        }

    async def _review(self, request: Request) -> Response:
        form = await self._form(request)
        answer = Answer(needed(form, "a"), needed(form, "b"), _answer_of(form), form.get("note"))
        following = form.get("next") or _list_of(form)
        if not following.startswith(_FOLLOWING):
            raise RequestError("the form is not one that these pages make")

        def write(session: Session) -> int:
            for url in answer[:2]:
                stored_page(Store(session), url)
            return self._decisions.review(session, [answer], form.get("seen", "")).number

        return _see(following, await self._stores.run(write))

    async def _review_many(self, request: Request) -> Response:
        form = await self._form(request)
        same = _answer_of(form)
        decision = await self._stores.run(
            lambda session: review_many(self._decisions, session, form, same)
        )
        return _see(_list_of(form), decision.number)

    async def _undo(self, request: Request) -> Response:
        form = await self._form(request)
        number = whole_number(form, "decision")
        decision = await self._stores.run(lambda session: self._decisions.undo(session, number))
        if len(decision.answers) > 1:
            return _see(_list_of(form), decision.number)
        answer = decision.answers[0]
        urls = [("a", answer.a), ("b", answer.b), ("at", form.get("at"))]
        return _see(link("/pair", [*urls, *asked_of(form).pairs]), decision.number)

    async def _form(self, request: Request) -> _Fields:
        """Form of one of our own pages.

        Raises:
            RequestError: it is not one, or nothing may be changed.
        """
        form = await form_of(request)
        if not is_equal(form.get("form_token", ""), self._access.form_token):
            raise RequestError("this form is of an earlier start of scrapy dedup serve", 403)
        if self._read_only:
            raise RequestError("this store is served read only", 403)
        return form

    def _page(
        self, name: str, query: _Fields, values: dict[str, Any], *, status: int = 200
    ) -> Response:
        decided = self._decisions.get(whole_number(query, "decided"))
        shown = {"decided": decided, "here": f"/{name}", "asked": asked_of(query), **values}
        template = self._templates.get_template(f"{name}.html")
        return HTMLResponse(template.render(shown), status_code=status)


def make_app(
    stores: StoreThreads, access: Access, store_name: str, *, read_only: bool = False
) -> ASGIApp:
    """Make the application.

    Args:
        stores: that it reads and writes.
        access: who may use it.
        store_name: what the store is called on every page.
        read_only: whether reviews are refused.
    """
    application = _Application(stores, access, store_name, read_only=read_only)
    handlers: dict[Any, Callable[[Request, Exception], Awaitable[Response]]] = {
        HTTPException: application.refused,
        ShinglingError: application.refused,
        Exception: application.failed,
    }
    made = Starlette(routes=application.routes(), exception_handlers=handlers)
    return Guard(made, access, application.problem)


def _answer_of(form: _Fields) -> bool | None:
    """Answer of a form: same, different, or none.

    Raises:
        RequestError: it has another one, or too long a note.
    """
    answer = needed(form, "answer")
    if answer not in _ANSWERS:
        raise RequestError("a review is same, different or none")
    if len(form.get("note", "")) > MAX_NOTE_CHARACTERS:
        raise RequestError(f"a note has {MAX_NOTE_CHARACTERS:,} characters at most")
    return _ANSWERS[answer]


def _list_of(form: _Fields) -> str:
    """Address of the list of groups that a form was reached from."""
    return link("/groups", asked_of(form).pairs)


def _see(address: str, decided: int) -> Response:
    """Send the browser on, to a page that tells what was decided."""
    mark = "&" if "?" in address else "?"
    return RedirectResponse(f"{address}{mark}decided={decided}", status_code=303)
