"""The application: which function answers which request, and with which template."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import HTMLResponse, RedirectResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from shingling.errors import ShinglingError, StoreUnavailableError
from shingling.web import audit, savings, threshold
from shingling.web.audit import AuditPage
from shingling.web.data import ENDINGS, View, data_response
from shingling.web.guard import STATIC, Guard, is_equal
from shingling.web.lists import (
    asked_of,
    neighbours,
    show_group,
    show_groups,
    show_reviews,
)
from shingling.web.overview import COUNTED, count_all
from shingling.web.pages import PAGE, find, show_page, show_pages, show_run, show_runs
from shingling.web.pairs import folded, read_pair
from shingling.web.requests import (
    MAX_ROWS,
    RequestError,
    fields_of,
    form_of,
    needed,
    read,
    whole_number,
)
from shingling.web.reviewing import Decisions, version
from shingling.web.shown import environment, link
from shingling.web.store_threads import CountingError, Kept
from shingling.web.threshold import ThresholdPage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp

    from shingling.plugin.settings import DedupSettings
    from shingling.store.session import Session
    from shingling.web.guard import Access
    from shingling.web.reviewing import Decision
    from shingling.web.store_threads import StoreThreads

    _Fields = dict[str, str]

_FOLLOWING = "/pair?", "/threshold", "/group", "/reviews", "/audit"
_OF_GROUPS = "groups", "group", "pair"  # views with the filter of groups
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
        self,
        stores: StoreThreads,
        access: Access,
        store_name: str,
        *,
        read_only: bool,
        savings: Callable[[Session, _Fields], dict[str, Any]] | None,
    ) -> None:
        self._savings = savings
        self._stores = stores
        self._access = access
        self._read_only = read_only
        self._decisions = Decisions()
        self._counted = Kept(stores, count_all)
        self._threshold = ThresholdPage(stores, self._counted)
        self._audit = AuditPage(stores)
        self._templates = environment()
        self._templates.filters["folded"] = folded
        self._templates.globals.update(
            form_token=access.form_token,
            read_only=read_only,
            store_name=store_name,
            version=version,
            has_savings=savings is not None,
        )

    def routes(self) -> list[Route | Mount]:
        """Addresses of all pages and files."""
        views: dict[str, View] = {
            "groups": View(show_groups, ("groups", "pairs", "rows", "next")),
            "group": View(show_group, ("original", "rows", "next")),
            "pair": View(self._pair, ("pair", "previous", "next")),
            "reviews": View(show_reviews, ("total", "rows", "next")),
            "overview": View(lambda *_: self._counted.get(), COUNTED),
            "threshold": View(self._threshold.show, threshold.SHOWN),
            "audit": View(self._audit.show, audit.SHOWN),
            "pages": View(show_pages, ("rows", "next", "total", "whole")),
            "page": View(show_page, PAGE),
            "runs": View(show_runs, ("rows", "next")),
            "run": View(show_run, ("run", "pages", "before")),
        }
        if self._savings is not None:
            views["savings"] = View(self._savings, savings.SHOWN)
        return [
            Route("/", lambda _: RedirectResponse("/groups", status_code=303)),
            *(
                Route(
                    f"/{name}{ending}",
                    partial(self._show, name=name, view=view, ending=ending),
                    methods=["GET"],
                )
                for name, view in views.items()
                for ending in ("", *ENDINGS)
            ),
            Route("/find", self._find, methods=["GET"]),
            Route("/review", self._review, methods=["POST"]),
            Route("/undo", self._undo, methods=["POST"]),
            *(
                Route(f"/{page.name}", partial(self._start, page=page), methods=["POST"])
                for page in (self._threshold, self._audit)
            ),
            Mount(STATIC, StaticFiles(packages=[("shingling.web", "static")])),
        ]

    def problem(self, status: int, message: str, back: str = "/groups") -> Response:
        """Page that says why a request was not answered."""
        heading = _HEADINGS.get(status, "This cannot be answered")
        values = {"heading": heading, "message": message, "status": status, "back": back}
        return self._page("problem", {}, values, status=status)

    async def refused(self, request: Request, error: Exception) -> Response:
        """Answer to what a request or the store is at fault of."""
        line = str(error)
        is_busy = isinstance(error, (StoreUnavailableError, CountingError))
        status, back = 503 if is_busy else 500, "/groups"
        if isinstance(error, HTTPException):
            line, status = error.detail, error.status_code
        elif isinstance(error, RequestError):
            status, back = error.status, error.back
        if request.scope["path"].endswith(ENDINGS):
            return data_response({"error": line}, ".json", "problem", status)
        answer = self.problem(status, f"{line[:1].upper()}{line[1:]}.", back)
        if isinstance(error, CountingError):
            answer.headers["refresh"] = "2"
        return answer

    async def failed(self, _: Request, error: Exception) -> Response:
        """Answer if the application itself is at fault."""
        return self.problem(500, f"scrapy dedup serve failed: {type(error).__name__}.")

    async def _show(
        self,
        request: Request,
        *,
        name: str,
        view: View,
        ending: str,
    ) -> Response:
        query = fields_of(request.scope["query_string"])
        values = await self._stores.run(lambda session: view.show(session, query))
        asked = [(field, value) for field, value in query.items() if field != "decided"]
        if values.get("next") and "rows" in values:
            kept = [one for one in asked if one[0] != "after"]
            values["next"] = link(f"/{name}", [*kept, ("after", values["next"])])
        endings = ENDINGS if "rows" in values else ENDINGS[:1]
        if ending and ending not in endings:
            raise RequestError("this page is no list: ask for it as .json", 404)
        if ending:
            data = {field: values[field] for field in view.names}
            if data.get("next"):
                data["next"] = self._access.proxy.root + data["next"]
            return data_response(data, ending, name)
        values["address"] = link(f"/{name}", asked)
        values["as_data"] = [
            (one[1:], link(f"/{name}{one}", [*asked, ("size", MAX_ROWS)])) for one in endings
        ]
        return self._page(name, query, values)

    async def _find(self, request: Request) -> Response:
        query = fields_of(request.scope["query_string"])
        address = await self._stores.run(lambda session: find(session, query))
        return RedirectResponse(address, status_code=303)

    def _pair(self, session: Session, query: _Fields) -> dict[str, Any]:
        """Two pages side by side, and the address of the next pair."""
        asked, at = asked_of(query), query.get("at")
        pair = read_pair(session, needed(query, "a"), needed(query, "b"))
        left, right = pair.left.page, pair.right.page
        page = self._audit if self._audit.name in asked.guided else self._threshold
        walk = page.walk(session, asked.guided)
        if walk is None:
            before, following = neighbours(session, left, right, asked, at)
        else:
            before, following = None, walk.after(left.url, right.url)
        return {
            "pair": pair,
            "seen": version(left.url, right.url, pair.review),
            "walk": walk,
            "previous": before,
            "next": following,
            "at": at,
        }

    async def _review(self, request: Request) -> Response:
        form = await self._form(request)
        return await self._decide(form, lambda session: self._decisions.review(session, form))

    async def _undo(self, request: Request) -> Response:
        form = await self._form(request)
        number = read(form, "decision", whole_number)
        return await self._decide(form, lambda session: self._decisions.undo(session, number))

    async def _start(self, request: Request, *, page: ThresholdPage | AuditPage) -> Response:
        page.start(await self._form(request))
        return RedirectResponse(f"/{page.name}", status_code=303)

    async def _decide(self, form: _Fields, action: Callable[[Session], Decision]) -> Response:
        """Decide, and send the browser on to a page that tells what was decided."""
        following = form.get("next") or link("/groups", asked_of(form).pairs)
        if not following.startswith(_FOLLOWING):
            raise RequestError("the form is not one that these pages make")
        decision = await self._stores.run(action)
        mark = "&" if "?" in following else "?"
        return RedirectResponse(f"{following}{mark}decided={decision.number}", status_code=303)

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
        decided = self._decisions.get(read(query, "decided", whole_number))
        asked = asked_of(query if name in _OF_GROUPS else {})
        shown = {"decided": decided, "here": f"/{name}", "asked": asked, "query": query, **values}
        page = self._templates.get_template(f"{name}.html").render(shown)
        if root := self._access.proxy.root:
            for attribute in ("href", "src", "action"):
                # What pages say has no such quote: it is escaped.
                page = page.replace(f'{attribute}="/', f'{attribute}="{root}/')
        return HTMLResponse(page, status_code=status)


def make_app(
    stores: StoreThreads,
    access: Access,
    store_name: str,
    settings: DedupSettings,
    *,
    read_only: bool = False,
) -> ASGIApp:
    """Make the application.

    Args:
        stores: that it reads and writes.
        access: who may use it.
        store_name: what the store is called on every page.
        settings: of the project.
        read_only: whether reviews are refused.
    """
    page = savings.savings_page(settings)
    application = _Application(stores, access, store_name, read_only=read_only, savings=page)
    handlers: dict[Any, Callable[[Request, Exception], Awaitable[Response]]] = {
        HTTPException: application.refused,
        ShinglingError: application.refused,
        Exception: application.failed,
    }
    # Sizes tell nothing to other sites, to which a browser sends no cookie from here.
    zipped = Middleware(GZipMiddleware, minimum_size=1000, compresslevel=4)
    made = Starlette(routes=application.routes(), middleware=[zipped], exception_handlers=handlers)
    return Guard(made, access, application.problem)
