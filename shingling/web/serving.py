"""Bind an address and serve the application there until it is interrupted."""

from __future__ import annotations

import ipaddress
import secrets
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import uvicorn

from shingling.web.app import make_app
from shingling.web.guard import TOKEN_PARAMETER, Access
from shingling.web.store_threads import StoreThreads

if TYPE_CHECKING:
    from collections.abc import Callable

    from shingling.rules.rules import Rules

LOOPBACK = "127.0.0.1"
DEFAULT_PORT = 8642
_SECONDS_FOR_LAST_ANSWERS = 3


@dataclass(frozen=True)
class Serving:
    """What is served, and where.

    Args:
        url: of the store.
        store_name: what it is called on every page: its URL without the password.
        host: address or name to listen on.
        port: to listen on; 0 takes a free one.
        rules: by which pages that leave their group are decided again; None for those that the
            store is indexed for.
        read_only: whether reviews are refused.
    """

    url: str
    store_name: str
    host: str = LOOPBACK
    port: int = DEFAULT_PORT
    rules: Rules | None = None
    read_only: bool = False


def serve(serving: Serving, announce: Callable[[str], None]) -> None:
    """Serve a store until the process is interrupted.

    Args:
        serving: the store, and where it is served.
        announce: is told the address to open, once it can be opened.

    Raises:
        OSError: the address cannot be bound.
    """
    family = socket.AF_INET6 if ":" in serving.host else socket.AF_INET
    # `create_server` leaves its socket open where a host cannot be encoded.
    socket.getaddrinfo(serving.host, serving.port, family)
    with socket.create_server((serving.host, serving.port), family=family) as listening:
        port = listening.getsockname()[1]
        access = access_at(serving.host, port)
        stores = StoreThreads(serving.url, serving.rules, read_only=serving.read_only)
        app = make_app(stores, access, serving.store_name, read_only=serving.read_only)
        config = uvicorn.Config(
            app,
            access_log=False,
            log_config=None,
            lifespan="off",
            ws="none",
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=_SECONDS_FOR_LAST_ANSWERS,
        )
        query = f"?{urlencode({TOKEN_PARAMETER: access.token})}" if access.token else ""
        announce(f"http://{_in_url(serving.host)}:{port}/{query}")
        try:
            uvicorn.Server(config).run(sockets=[listening])
        except KeyboardInterrupt:  # that is how it is ended
            pass
        finally:
            stores.close()


def access_at(host: str, port: int) -> Access:
    """Who may use what listens there: without a token only this machine."""
    names = {f"{_in_url(host)}:{port}".lower(), f"localhost:{port}"}
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        is_local, is_any = host.lower() == "localhost", False
    else:
        is_local, is_any = address.is_loopback, address.is_unspecified
    if is_any:
        names.add(f"{socket.gethostname().lower()}:{port}")
    token = None if is_local else secrets.token_urlsafe(32)
    return Access(frozenset(names), port, any_address=is_any, token=token)


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host
