"""URLs of databases as they may be shown: here only are passwords told from the rest."""

from __future__ import annotations

import re
import traceback
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self
from urllib.parse import quote, quote_plus

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import URL

_MASK = "***"
_SHORT_CHARACTERS = 4  # of a secret that is replaced only where it stands alone
# Any other parameter of a URL may be a secret: of a driver that nobody here knows, or misspelt.
_SHOWN_PARAMETERS = {
    *("application_name", "connect_timeout", "dbname", "host", "options", "port", "sslmode"),
    *("target_session_attrs", "user"),
    *("cache", "charset", "database", "mode", "timeout", "uri"),  # of other databases
}


@dataclass(frozen=True)
class Secrets:
    """The secrets of a database's URL: its password, and the values of unknown parameters.

    Args:
        shown: the URL without them.
    """

    shown: str
    _values: tuple[str, ...] = field(repr=False)

    @classmethod
    def of(cls, url: URL) -> Self:
        """Secrets of a parsed URL."""
        hidden = [name for name in url.query if name.lower() not in _SHOWN_PARAMETERS]
        values = [] if url.password is None else [str(url.password)]
        for name in hidden:
            values += url.normalized_query[name]
        masked = url.update_query_dict(dict.fromkeys(hidden, _MASK))
        shown = masked.render_as_string().replace(quote_plus(_MASK), _MASK)
        return cls.of_values(shown, values)

    @classmethod
    def of_values(cls, shown: str, values: Iterable[str]) -> Self:
        """Secrets that are known, with the URL without them."""
        written = {
            form
            for value in values
            for form in (value, quote(value, safe=""), quote_plus(value), repr(value)[1:-1])
        }
        return cls(shown, tuple(sorted(written - {""}, key=len, reverse=True)))

    def hide(self, text: str) -> str:
        """Replace each secret in a text, such as an error of a driver, by asterisks."""
        for value in self._values:
            if len(value) < _SHORT_CHARACTERS:
                text = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", _MASK, text)
            else:
                text = text.replace(value, _MASK)
        return text

    def cause(self, error: BaseException) -> BaseException | None:
        """Cause that another error may name: the error, unless its traceback shows a secret."""
        shown = "".join(traceback.format_exception(error))
        return error if self.hide(shown) == shown else None


def parse_database_url(url: str) -> URL | None:
    """Parse a URL of any database.

    Returns:
        None: it is no URL, or one with an `@` that has to be written as `%40`, behind which
        a part of the password would be taken for the host. No error quotes it.
    """
    parsed = None
    with suppress(ArgumentError, ValueError):
        parsed = make_url(url)
    if parsed is None or parsed.username is None:
        return parsed
    names = url.partition("://")[2].partition("@")[2].partition("=")[0]
    parts = (names, parsed.host or "", parsed.database or "")
    return None if any("@" in part for part in parts) else parsed
