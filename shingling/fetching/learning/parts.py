"""A URL in bounded parts."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

_MAX_URL_CHARACTERS = 4096
_MAX_SEGMENTS = 32
_MAX_PARAMETERS = 32
_MAX_PATH_PARAMETERS = 8
_MAX_SPLIT = 1024  # URLs whose parts are kept, of at most 4096 characters
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}


class Parts(NamedTuple):
    """What a URL consists of, without its fragment.

    Args:
        scheme: `http` or `https`.
        host: in lower case, with a port that is not the default one.
        segments: of the path, as they are written; none of them is empty.
        slash: whether the path ends with a slash. The path of a host alone does.
        query: `name=value` of each parameter, as it is written, in its order.
    """

    scheme: str
    host: str
    segments: tuple[str, ...]
    slash: bool
    query: tuple[str, ...]


@lru_cache(_MAX_SPLIT)
def split(url: str) -> Parts | None:
    """Cut a URL into its parts; None if it is too long, has too many, or is not of the web.

    URLs with a user name are not split either: what they hold must not be shown.
    """
    if len(url) > _MAX_URL_CHARACTERS:
        return None
    scheme, separator, rest = url.partition("#")[0].partition("://")
    scheme = scheme.lower()
    if not separator or scheme not in _DEFAULT_PORTS or not url.isprintable():
        return None
    address, _, query = rest.partition("?")
    host, _, path = address.partition("/")
    host = host.lower().removesuffix(_DEFAULT_PORTS[scheme])
    if not host or "@" in host or " " in url:
        return None
    if path.count("/") >= _MAX_SEGMENTS or path.count(";") > _MAX_PATH_PARAMETERS:
        return None
    if query.count("&") >= _MAX_PARAMETERS:
        return None
    return Parts(
        scheme,
        host,
        tuple(filter(None, path.split("/"))),
        not path or path.endswith("/"),
        tuple(filter(None, query.split("&"))),
    )


def name_of(parameter: str) -> str:
    """Name of a parameter that is written `name=value`."""
    return parameter.partition("=")[0]
