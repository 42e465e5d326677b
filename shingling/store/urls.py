"""URLs as the store keeps them, and the sites that they belong to."""

from __future__ import annotations

import re
from urllib.parse import quote, urlsplit

# User name and password: before an @ in the authority, also where a password with a slash in it
# or the lack of a scheme makes the URL a wrong one.
_CREDENTIALS = re.compile(
    r"^([a-z][a-z0-9+.-]*://|//)[^/?#]*@"
    r"|^([a-z][a-z0-9+.-]*://|//)[^/@?#]+:(?!\d*(?:[/?#]|$))[^@?#]*@"
    r"|^()[^/?#@:]+:[^/@?#]*@",
    re.IGNORECASE,
)


def safe_url(url: str) -> str:
    """Remove user name and password from a URL, and escape its control characters."""
    url = url.strip()
    if not url.isprintable():
        url = "".join(char if char.isprintable() else quote(char, errors="replace") for char in url)
    if "@" not in url:
        return url
    return _CREDENTIALS.sub(lambda match: match[1] or match[2] or "", url)


_USUAL = re.compile(r"https?://([a-z0-9.-]+)(?:[/?#]|$)")


def site_of(url: str) -> str:
    """Host of a URL, in lower case and without `www.`; "" where it has none."""
    usual = _USUAL.match(url)  # much faster than urlsplit
    if usual:
        return usual[1].removeprefix("www.")
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return ""
    return host.removeprefix("www.")
