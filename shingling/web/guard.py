"""Who may ask: the right Host, the token if there is one, and forms of our own pages only."""

from __future__ import annotations

import ipaddress
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse

from shingling.web.shown import link

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    # With no-referrer, browsers send the forms of our own pages with `Origin: null`.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_OWN_SITE = None, "same-origin"
STATIC = "/static/"
TOKEN_PARAMETER = "token"  # noqa: S105 (its name, not a token)


def is_equal(given: str, secret: str) -> bool:
    """Whether a secret was given; how long that takes does not tell how much of it was right."""
    return secrets.compare_digest(given.encode(), secret.encode())


@dataclass(frozen=True)
class Access:
    """Who may use the application.

    Args:
        hosts: names with ports that a request may be addressed to, such as `localhost:8642`.
        any_address: whether it may also be addressed to any IP address with the port, which no
            other site's name can stand for.
        port: that it listens on.
        token: that the first request must have; None if only this machine can connect.
        form_token: that every form has, so that other sites cannot send one.
        origin: scheme, name and port in the address that browsers open, of a proxy; "" for our own.
        root: path before those of our pages where a proxy shows them, such as `/dedup`; "" for
            none.
    """

    hosts: frozenset[str]
    port: int
    any_address: bool = False
    token: str | None = None
    form_token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    origin: str = ""
    root: str = ""

    @property
    def cookie(self) -> str:
        """Name of the cookie with the token, and beginning of others: cookies know no ports."""
        return f"dedup_{self.port}"

    def set_cookie(self, answer: Response, end: str, value: str) -> None:
        """Give the browser a cookie for our own pages, whose name has an end."""
        answer.set_cookie(
            *(f"{self.cookie}{end}", value),
            path=f"{self.root}/",
            secure=self.origin.startswith("https:"),
            httponly=True,
            samesite="strict",
        )

    def is_for_us(self, host: str) -> bool:
        """Whether a Host header names this application."""
        if host.lower() in self.hosts:
            return True
        name, _, port = host.rpartition(":")
        if not self.any_address or port != str(self.port):
            return False
        try:
            ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
        except ValueError:
            return False
        return True


@dataclass(frozen=True)
class Guard:
    """Middleware that refuses what comes from elsewhere, and sets the headers of every answer.

    Args:
        app: that the others reach.
        access: who may ask.
        refuse: makes the answer to the others, of a status and a line.
    """

    app: ASGIApp
    access: Access
    refuse: Callable[[int, str], Response]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on."""
        root, path = self.access.root, scope["path"]
        if root and path.startswith(f"{root}/"):  # some proxies take it away, some do not
            path = path.removeprefix(root)
            scope = {**scope, "path": path}

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                # Styles stay in the browser, which asks whether they are still the same.
                is_file = path.startswith(STATIC)
                headers["cache-control"] = "private, no-cache" if is_file else "no-store"
                if headers.get("location", "").startswith("/"):
                    headers["location"] = root + headers["location"]
            await send(message)

        answer = self._answer(Request(scope))
        await (answer or self.app)(scope, receive, send_guarded)

    def _answer(self, request: Request) -> Response | None:
        """Answer to a request that goes no further; None for one that may."""
        headers, token = request.headers, self.access.token
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self.access.is_for_us(hosts[0]):
            return self.refuse(421, "This address is not the one that scrapy dedup serve printed.")
        if token is not None:
            # Other servers of the host, or of its domain, may set a cookie of the same name.
            cookies = headers.get("cookie", "").split("; ")
            if not any(is_equal(cookie, f"{self.access.cookie}={token}") for cookie in cookies):
                return self._let_in(request, token)
        if request.method not in ("GET", "HEAD"):
            origin, site = headers.get("origin"), headers.get("sec-fetch-site")
            https = self.access.origin or f"https://{hosts[0]}"
            if origin not in (None, f"http://{hosts[0]}", https) or site not in _OWN_SITE:
                return self.refuse(403, "Another site sent this form; nothing was changed.")
        return None

    def _let_in(self, request: Request, token: str) -> Response:
        """Exchange the token of an address for a cookie."""
        query = request.query_params
        if not is_equal(query.get(TOKEN_PARAMETER, ""), token):
            return self.refuse(
                403, "Open the whole address that scrapy dedup serve printed, with its token."
            )
        rest = [field for field in query.multi_items() if field[0] != TOKEN_PARAMETER]
        # A path of our own, never `//elsewhere`.
        path = "/" + request.scope["path"].lstrip("/\\")
        answer = RedirectResponse(link(path, rest), status_code=303)
        self.access.set_cookie(answer, "", token)
        return answer
