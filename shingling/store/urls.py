"""URLs as the store keeps them, and the sites that they belong to."""

from __future__ import annotations

import re
from urllib.parse import quote, urlsplit

from shingling.text import bounded

# User name and password: before an @ in the authority, also where a password with a slash, a
# question mark or a hash in it, or the lack of a scheme, makes the URL a wrong one. Browsers take
# any number of slashes after `http:`. The time is linear: the first colon that is not before a
# port number decides, once and for all.
_CREDENTIALS = re.compile(
    r"((?:https?|wss?|ftp):[/\\]*+|[^/?#@:\\]*+:[/\\]{2}|[/\\]{2})"
    r"(?:[^/?#]*@|(?>[^/@?#]+?:(?!\d*+(?:[/?#]|$)))[^@]*+@)"
    r"|()[^/?#@:]++:[^/@?#]*@",
    re.IGNORECASE,
)

_MAX_AUTHORITY_CHARS = 1024  # a host name has at most 253


def safe_url(url: str) -> str:
    """Remove user name and password from a URL, and escape its control characters.

    Its runs of combining marks are bounded like those of a text.
    """
    url = bounded(url.strip())
    if not url.isprintable():
        url = "".join(char if char.isprintable() else quote(char, errors="replace") for char in url)
    if "@" not in url:
        return url
    found = _CREDENTIALS.match(url)
    return (found[1] or "") + url[found.end() :] if found else url


_USUAL = re.compile(r"https?://([a-z0-9.-]++)(?:[/?#]|$)")


def site_of(url: str) -> str:
    """Host of a URL, in lower case and without `www.`; "" where it has none."""
    usual = _USUAL.match(url)  # much faster than urlsplit
    if usual:
        return usual[1].removeprefix("www.")
    try:
        host = urlsplit(url[:_MAX_AUTHORITY_CHARS]).hostname or ""
    except ValueError:
        return ""
    return host.removeprefix("www.")
