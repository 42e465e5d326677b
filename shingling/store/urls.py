"""URLs as the store keeps them, and the sites that they belong to."""

from __future__ import annotations

import re
from hashlib import blake2b
from urllib.parse import quote, urlsplit

from shingling.errors import StoreError, require_type
from shingling.rules.rules import host_name
from shingling.text import bounded

# User name and password: before an @ in the authority, even if the URL is wrong, because a
# password has a slash, a question mark or a hash in it, slashes are too many or too few, or there
# is no scheme. In linear time: the first colon that is not before a port decides once and for all.
_CREDENTIALS = re.compile(
    r"((?:https?|wss?|ftp):[/\\]*+|file:[/\\]{2}|(?!file:)[^/?#@:\\]*+:[/\\]{2,}+|[/\\]{2,}+)"
    r"(?!\[[^]/?#@]*+\](?::\d*+)?(?:[/?#]|\Z))"  # an address in brackets has colons
    r"(?:[^/?#]*@|(?>[^/@?#]+?:(?!\d*+(?:[/?#]|\Z)))[^@]*+@)++"
    r"|(?:[^/?#@:]++:[^/@?#]*@)++",
    re.IGNORECASE,
)
_REMOVED_BY_BROWSERS = str.maketrans(dict.fromkeys("\t\r\n"))

_PATH = re.compile(r"(?:[a-z][a-z0-9+.-]*+://[^/?#]*+)?([^?#]*+)(.*)", re.IGNORECASE | re.DOTALL)
_SCHEME = re.compile(r"\Ahttps?://", re.IGNORECASE)
_INDEX = re.compile(r"(?:index|default)\.\w{1,5}", re.IGNORECASE)

# Parameters that make no difference to what is fetched, by their names: of campaigns, clicks, and
# sessions. Names that may mean something else (`ref`, `source`, `cid`) are not among them.
_TRACKING = re.compile(
    r"[?&;](?:(?:utm|mtm|pk|piwik|hsa|vero|oly)_\w+|_ga|_gl|_hsenc|_hsmi|mc_[ce]id|mkt_tok"
    r"|(?:g|fb|d|y|tw|tt|ys)clid|msclkid|gclsrc|gad_source|[gw]braid|igsh|igshid|epik|srsltid"
    r"|sid|(?:php|j|asp)?sess(?:ion)?_?id|aspsessionid\w*|cfid|cftoken|zenid|oscsid)=[^?&;/]*",
    re.IGNORECASE,
)

MAX_URL_CHARS = 8192
"""Characters of a URL that are kept."""

HOST_LABELS = frozenset(
    ("amp", "m", "mobi", "mobile", "old", "touch", "wap", "web", "www1", "www2", "www3", "www4")
)
"""First labels of a host, beside `www`, that may stand for the same site."""

_MAX_AUTHORITY_CHARS = 1024
_MAX_HOST_CHARS = 253


def safe_url(url: str) -> str:
    """Remove user name and password from a URL, and escape its control characters.

    Its runs of combining marks are bounded like those of a text. A URL of more than 8192
    characters is cut off there, and ends with `#` and a 128-bit hash of the whole.
    """
    require_type("url", url, str)
    url = url.strip()
    if "@" in url:
        whole = url.translate(_REMOVED_BY_BROWSERS)
        if match := _CREDENTIALS.match(whole):
            url = (match[1] or "") + whole[match.end() :]
    url = bounded(_shortened(url))
    if not url.isprintable():
        url = "".join(char if char.isprintable() else quote(char, errors="replace") for char in url)
    return _shortened(url)


def _shortened(url: str) -> str:
    if len(url) <= MAX_URL_CHARS:
        return url
    digest = blake2b(url.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return f"{url[: MAX_URL_CHARS - len(digest) - 1]}#{digest}"


_USUAL = re.compile(r"https?://([a-z0-9.-]++)(?:[/?#]|$)")


def site_of(url: str) -> str:
    """Host of a URL, in lower case and ASCII, without `www.`; "" if it has none.

    It is cut after as many characters as the name of a host may have.
    """
    usual = _USUAL.match(url)  # much faster than urlsplit
    if usual:
        return usual[1].removesuffix(".").removeprefix("www.")[:_MAX_HOST_CHARS]
    try:
        host = urlsplit(url[:_MAX_AUTHORITY_CHARS]).hostname or ""
    except ValueError:
        return ""
    return host_name(host).removeprefix("www.")[:_MAX_HOST_CHARS]


_PORT = re.compile(r"[a-z][a-z0-9+.-]*+://[^/?#]*?(:\d{1,5})(?:[/?#]|$)")


def server_of(site: str, url: str) -> str:
    """Site with the port of a URL of it that is not the usual one: somebody else may answer."""
    port = _PORT.match(url) if site and ":" in url[len("https:") :] else None
    return f"{site}{port[1]}" if port and port[1] not in (":80", ":443") else site


def pasted_site(text: str) -> str:
    """Site that a text names: a host, with or without `www.`, or any URL of it.

    Raises:
        StoreError: it names none, or several by a wildcard.
    """
    text = text.strip().lower()
    site = site_of(text if "://" in text else f"https://{text}")
    if not site or site.startswith(".") or {"*", " "} & {*site}:
        raise StoreError(f"{text!r} is no host; each sub-domain is a site of its own")
    return site


def pasted_urls(text: str) -> list[str]:
    """URLs that a text may stand for: with and without scheme, `www.` and a slash at its end.

    The text itself is the first one.
    """
    text = text.strip()
    rest = _SCHEME.sub("", text)
    host, slash, path = rest.partition("/")
    bare = host.lower().removeprefix("www.")
    path = f"{slash}{path}".rstrip("/")
    return [
        text,
        *(
            f"{scheme}://{name}{end}"
            for scheme in ("https", "http")
            for name in (bare, f"www.{bare}")
            for end in (path, f"{path}/")
        ),
    ]


def without_tracking(url: str) -> str:
    """Write what is left of a URL without what makes no difference, as far as names tell.

    That is its scheme, `www.`, a slash at its end, its fragment, and parameters of campaigns,
    clicks and sessions, also those of a path (`;jsessionid=5`).
    """
    rest = _SCHEME.sub("", url.partition("#")[0]).removeprefix("www.")
    path, _, query = _TRACKING.sub("", rest).replace("?", "&").partition("&")
    return f"{path.rstrip('/')}&{query}"


def end_alike(a: str, b: str) -> bool:
    """Whether two URLs have the same last part: `/1_80/units.html` and `/1_81/units.html`."""
    last = _split_path(a)[1]
    return bool(last) and last == _split_path(b)[1]


def folders_of(url: str) -> str:
    """Path of a URL but for its last part."""
    return _split_path(url)[0]


def _split_path(url: str) -> tuple[str, str]:
    """Split a URL's path into its folders and its last part, with what follows it.

    `index.html` is no part of it. The last part is "" if there is none.
    """
    match = _PATH.match(url)
    assert match is not None  # it matches everything
    *folders, last = ["", *filter(None, match[1].split("/"))]
    if _INDEX.fullmatch(last):
        *folders, last = folders
    return "/".join(folders), last and last + match[2]
