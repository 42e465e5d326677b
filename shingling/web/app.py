"""The application: which function answers which request, and with which template."""

from __future__ import annotations

import asyncio
from contextlib import suppress
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
from shingling.rooms import hooks
from shingling.web.data import ENDINGS, View, csv_response, json_response
from shingling.web.guard import STATIC, Guard, is_equal
from shingling.web.lists import (
    group_filter,
    neighbours,
    pair_address,
    show_group,
    show_groups,
    show_pairs,
    show_reviews,
)
from shingling.web.overview import (
    COUNTED,
    SAVINGS,
    count_all,
    show_copies,
    show_repeats,
    show_savings,
)
from shingling.web.pages import PAGE, find, show_page, show_pages, show_run, show_runs
from shingling.web.pairs import aligned_rows, folded, read_pair
from shingling.web.requests import (
    MAX_ROWS,
    RequestError,
    fields_of,
    form_of,
    needed_field,
    rows_before,
)
from shingling.web.reviewing import Decisions, version
from shingling.web.shown import environment, link
from shingling.web.store_threads import PATIENCE, CountingError, Kept
from shingling.web.threshold import ThresholdPage
from shingling.web.walks import AuditPage

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp

    from shingling.plugin.settings import DedupSettings
    from shingling.store.session import Session
    from shingling.web.guard import Access
    from shingling.web.lists import GroupFilter
    from shingling.web.requests import Fields, Values
    from shingling.web.reviewing import ReviewDecision
    from shingling.web.store_threads import StoreThreads

_DECIDED = "_decided"  # end of the name of a cookie


class Application:
    """What all answers share.

    Args:
        stores: that are read and written.
        access: who may use them.
        settings: of the project.
    """

    def __init__(self, stores: StoreThreads, access: Access, settings: DedupSettings) -> None:
        self._stores = stores
        self._access = access
        self._settings = settings
        self._has_savings = any(hooks("read_savings", "savings"))
        self._decisions = Decisions()
        self._kept = Kept(stores)  # lists, until something is reviewed
        self._count = partial(Kept(stores).get, "overview", count_all)
        self._threshold = ThresholdPage(stores, self._count, self._kept)
        self._audit = AuditPage(stores)
        self._templates = environment()
        self._templates.filters.update(aligned_rows=aligned_rows, folded=folded)
        self._templates.globals.update(
            MAX_ROWS=MAX_ROWS,
            form_token=access.form_token,
            root=access.root,
            read_only=stores.read_only,
            store_name=stores.name,
            version=version,
            has_savings=self._has_savings,
        )

    def guarded(self) -> ASGIApp:
        """Make the application for a server."""
        errors = HTTPException, ShinglingError, Exception
        handlers: dict[Any, Any] = dict.fromkeys(errors, self._refused)
        # Sizes tell nothing to other sites, to which a browser sends no cookie from here.
        zipped = Middleware(GZipMiddleware, minimum_size=1000, compresslevel=4)
        made = Starlette(routes=self._routes(), middleware=[zipped], exception_handlers=handlers)
        return Guard(made, self._access, self._problem)

    def _routes(self) -> list[Route | Mount]:
        """Addresses of all pages and files."""
        views: dict[str, View] = {
            "groups": View(self._list, ("groups", "pairs", "rows", "next")),
            "group": View(show_group, ("original", "rows", "next", "total")),
            "pairs": View(partial(self._list, show=show_pairs), ("rows", "next", "total")),
            "copies": View(partial(show_copies, self._count), ("rows", "next", "total")),
            "pair": View(self._pair, ("pair", "previous", "next")),
            "reviews": View(show_reviews, ("total", "rows", "next")),
            "overview": View(lambda *_: self._count(), COUNTED),
            "threshold": View(self._threshold.show, self._threshold.shown),
            "audit": View(self._audit.show, self._audit.shown),
            "pages": View(show_pages, ("rows", "next", "total", "whole")),
            "page": View(partial(show_page, settings=self._settings), PAGE),
            "runs": View(show_runs, ("rows", "next")),
            "run": View(show_run, ("run", "pages", "before")),
        }
        if self._has_savings:
            views["savings"] = View(partial(show_savings, settings=self._settings), SAVINGS)
            repeats = partial(show_repeats, settings=self._settings)
            views["repeats"] = View(repeats, ("rows", "next", "total"))
        forms = {
            "/review": partial(self._decide, action=self._decisions.review),
            "/undo": partial(self._decide, action=self._decisions.undo),
            "/threshold": partial(self._start, page=self._threshold),
            "/audit": partial(self._start, page=self._audit),
        }
        return [
            Route("/", lambda _: RedirectResponse("/overview", status_code=303)),
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
            *(Route(path, action, methods=["POST"]) for path, action in forms.items()),
            Mount(STATIC, StaticFiles(packages=[("shingling.web", "static")])),
        ]

    def _problem(self, status: int, message: str, back: str = "/groups") -> Response:
        """Page that says why a request was not answered."""
        values = {"message": message, "status": status, "back": back}
        return self._page("problem", {}, values, status=status)

    async def _refused(self, request: Request, error: Exception) -> Response:
        """Answer to what a request, the store or the application itself is at fault of."""
        status, line, back = 500, str(error), "/groups"
        if isinstance(error, HTTPException):
            line, status = error.detail, error.status_code
        elif isinstance(error, RequestError):
            status, back = error.status, error.back
        elif isinstance(error, StoreUnavailableError):
            status = 503
        elif not isinstance(error, ShinglingError):
            line = f"scrapy dedup serve failed: {type(error).__name__}"
        if request.scope["path"].endswith(ENDINGS):
            return json_response({"error": line}, status)
        answer = self._problem(status, f"{line[:1].upper()}{line[1:]}.", back)
        if isinstance(error, CountingError):
            answer.headers["refresh"] = "2"
        return answer

    async def _show(
        self,
        request: Request,
        *,
        name: str,
        view: View,
        ending: str,
    ) -> Response:
        query = fields_of(request.scope["query_string"])
        fields = {field: value for field, value in query.items() if field != "decided"}
        endings = ENDINGS if "rows" in view.names else ENDINGS[:1]
        if ending and ending not in endings:
            raise RequestError("this page is no list: ask for it as .json", 404)
        if ending == ".csv":
            read = partial(self._read_patiently, view)
            return await csv_response(read, fields, f"{self._access.root}/{name}.csv")
        values = await self._stores.run(lambda session: view.show(session, fields))
        if "rows" in view.names:
            start = values.setdefault("start", rows_before(fields))
            behind = {"first": None, "after": values["next"], "row": start + len(values["rows"])}
            values["next"] = values["next"] and link(f"/{name}", {**fields, **behind})
        if ending:
            data = {field: values[field] for field in view.names}
            if data.get("next"):
                data["next"] = self._access.root + data["next"].replace("?", ".json?", 1)
            return json_response(data)
        told = request.cookies.get(self._access.cookie + _DECIDED)
        is_own = told == self._told(query.get("decided", ""))
        values["decided"] = self._decisions.get(query) if is_own else None
        values |= {"address": link(f"/{name}", fields), "endings": endings}
        return self._page(name, query, values)

    async def _read_patiently(self, view: View, fields: Fields) -> Values:
        """Read the values of a view, however long it takes to count them."""
        while True:
            with suppress(CountingError):
                return await self._stores.run(lambda session: view.show(session, fields))
            await asyncio.sleep(PATIENCE)

    async def _find(self, request: Request) -> Response:
        query = fields_of(request.scope["query_string"])
        address = await self._stores.run(lambda session: find(session, query))
        return RedirectResponse(address, status_code=303)

    def _list(
        self,
        _: Session,
        query: Fields,
        show: Callable[..., Values] = show_groups,
    ) -> Values:
        """List groups or pairs: to find them, all duplicates are read."""
        read = partial(show, query=query)
        return {**self._kept.get(link(show.__name__, query), read)}

    def _pair(self, session: Session, query: Fields) -> Values:
        """Two pages side by side, and the address of the next pair."""
        wanted, at = group_filter(query), query.get("at")
        pair = read_pair(session, needed_field(query, "a"), needed_field(query, "b"))
        left, right = pair.left.page, pair.right.page
        page = self._audit if self._audit.name in query else self._threshold
        walk = page.walk(session, query)
        if walk is None:
            before, following = neighbours(session, left, right, wanted, at)
            following = following or (at and self._next_group(session, wanted, at))
        else:
            before, following = None, walk.following(left.url, right.url) or walk.page
        return {"wanted": wanted, "pair": pair, "walk": walk, "previous": before, "next": following}

    def _next_group(self, session: Session, wanted: GroupFilter, at: str) -> str | None:
        """Address of the first pair of the next group, or of the list if that takes long."""
        behind = {**wanted.values, "after": at}
        try:
            rows = self._list(session, behind)["rows"]
        except CountingError:
            return link("/groups", behind)
        return next(
            (pair_address(row.original.url, row.first.url, row.at, wanted) for row in rows), None
        )

    async def _start(self, request: Request, *, page: ThresholdPage | AuditPage) -> Response:
        page.start(await self._form(request))
        return RedirectResponse(f"/{page.name}", status_code=303)

    async def _decide(
        self, request: Request, *, action: Callable[[Session, Fields], ReviewDecision]
    ) -> Response:
        """Decide, and send the browser on to a page that tells what was decided."""
        form = await self._form(request)
        following = needed_field(form, "next")
        decision = await self._stores.run(lambda session: action(session, form))
        self._kept.forget()
        mark = "&" if "?" in following else "?"
        answer = RedirectResponse(f"{following}{mark}decided={decision.number}", status_code=303)
        # The address may be copied and sent to others, who have decided something else.
        self._access.set_cookie(answer, _DECIDED, self._told(f"{decision.number}"))
        return answer

    def _told(self, number: str) -> str:
        """Value of the cookie of a browser that is told of the decision of a number."""
        return f"{number}.{self._access.form_token}"

    async def _form(self, request: Request) -> Fields:
        """Form of one of our own pages.

        Raises:
            RequestError: it is not one, or nothing may be changed.
        """
        form = await form_of(request)
        if not is_equal(form.get("form_token", ""), self._access.form_token):
            raise RequestError("this form is of an earlier start of scrapy dedup serve", 403)
        if self._stores.read_only:
            raise RequestError("this store is served read only", 403)
        return form

    def _page(self, name: str, query: Fields, values: Values, *, status: int = 200) -> Response:
        shown = {"decided": None, "here": f"/{name}", "query": query, **values}
        page = self._templates.get_template(f"{name}.html").render(shown)
        return HTMLResponse(page, status_code=status)
