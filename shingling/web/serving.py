"""Bind an address and serve the application there until it is interrupted."""

from __future__ import annotations

import ipaddress
import secrets
import signal
import socket
from typing import TYPE_CHECKING

import uvicorn

from shingling.web.app import Application
from shingling.web.guard import TOKEN_PARAMETER, Access
from shingling.web.shown import link

if TYPE_CHECKING:
    from collections.abc import Callable

    from shingling.plugin.settings import DedupSettings
    from shingling.web.store_threads import StoreThreads

_SECONDS_FOR_LAST_ANSWERS = 3


def serve(
    stores: StoreThreads,
    where: tuple[str, int],
    announce: Callable[[str], None],
    *,
    settings: DedupSettings,
    origin: str = "",
    root: str = "",
) -> None:
    """Serve a store until the process is interrupted.

    Args:
        stores: the store, which is closed then.
        where: address or name to listen on, and port; 0 takes a free one.
        announce: is told the address to open, once it can be opened.
        settings: of the project.
        origin: of a proxy that shows it to others, as in `Access`.
        root: likewise.

    Raises:
        OSError: the address cannot be bound.
    """
    host = where[0]
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # `create_server` leaves its socket open if a host cannot be encoded.
    socket.getaddrinfo(*where, family)
    with socket.create_server(where, family=family) as listening:
        port = listening.getsockname()[1]
        access = access_at(host, port, origin, root)
        config = uvicorn.Config(
            Application(stores, access, settings).guarded(),
            access_log=False,
            log_config=None,
            lifespan="off",
            ws="none",
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=_SECONDS_FOR_LAST_ANSWERS,
        )
        # No browser opens an address that stands for all.
        shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
        address = f"{origin or f'http://{_in_url(shown)}:{port}'}{root}/"
        # Otherwise, uvicorn ends the process before the store is closed.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            announce(link(address, {TOKEN_PARAMETER: access.token}))
            uvicorn.Server(config).run(sockets=[listening])
        except KeyboardInterrupt:  # that is how it is ended
            pass
        finally:
            stores.close()


def access_at(host: str, port: int, origin: str = "", root: str = "") -> Access:
    """Who may use what listens there: without a token only this machine, and by no proxy."""
    names = {f"{_in_url(host)}:{port}".lower(), f"localhost:{port}"}
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        is_local, is_any = host.lower() == "localhost", False
    else:
        is_local, is_any = address.is_loopback, address.is_unspecified
    if is_any:
        names.add(f"{socket.gethostname().lower()}:{port}")
    if origin:
        names.add(origin.partition("://")[2])
    token = None if is_local and not origin else secrets.token_urlsafe(32)
    return Access(frozenset(names), port, any_address=is_any, token=token, origin=origin, root=root)


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host
