"""A URL in bounded parts, its site, and the nodes of its path."""

from __future__ import annotations

from functools import cache, lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from publicsuffixlist import PublicSuffixList

from shingling.store.urls import HOST_LABELS

if TYPE_CHECKING:
    from collections.abc import Sequence

NodePath: TypeAlias = tuple[str, ...]
"""Nodes from the root of a site to a path: `/`, `/forum`, `/forum/show.php`."""

ROOT = "/"
_MAX_DEPTH = 3  # segments of a path that have nodes of their own

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

    @property
    def nodes(self) -> NodePath:
        """Nodes of its path."""
        return path_nodes(self.segments)


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


def site_name(url: str) -> str:
    """Site of a URL: its host without `www.` and `m.`, with a port that is not the usual one.

    Empty if the URL cannot be cut up.
    """
    parts = split(url)
    if parts is None:
        return ""
    host, separator, port = parts.host.partition(":")
    if "[" in host:  # an address of IPv6
        return parts.host
    host = host.removesuffix(".").removeprefix("www.")
    label, _, rest = host.partition(".")
    # `mobile.co.uk` is no alias of `co.uk`.
    is_alias = rest and label in HOST_LABELS and not _suffixes().is_public(rest)
    return f"{rest if is_alias else host}{separator}{port}"


@cache
def _suffixes() -> PublicSuffixList:
    """Suffixes of domains, as they were when publicsuffixlist was released: without a request."""
    return PublicSuffixList(accept_unknown=False)


def path_to(key: str) -> NodePath:
    """Nodes on the way to a node."""
    return path_nodes(key.split("/")[1:] if key != ROOT else ())


def path_nodes(segments: Sequence[str]) -> NodePath:
    """Nodes of a path: the root, its first segment, its first two, its first three."""
    folders = (f"/{segment.partition(';')[0]}" for segment in segments[:_MAX_DEPTH])
    return (ROOT, *accumulate(folders))
