"""Rows of a MongoDB collection, as `mongoexport` writes them: relaxed extended JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, unquote_plus

from shingling.errors import BulkError, require
from shingling.store.backends.secrets import Secrets
from shingling.text import plain_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MONGO_SCHEMES = ("mongodb://", "mongodb+srv://")
"""What URLs of MongoDB begin with."""


def mongo_lines(url: str, query: str | None) -> tuple[str, Callable[[], Iterator[bytes]]]:
    """Open a collection of MongoDB; its server is asked later.

    Args:
        url: a connection string with database and collection: `mongodb://localhost/news.articles`.
        query: filter in extended JSON; None takes all documents.

    Returns:
        The URL without password and options, and what yields the documents as lines of JSON, in
        the order of their `_id`; it raises a `BulkError` if the server cannot be reached, or
        refuses.

    Raises:
        BulkError: pymongo is not installed, the URL cannot be used, or the filter is no JSON
            object.
    """
    require("mongo", "MongoDB", "pymongo", error=BulkError)
    from bson.errors import BSONError
    from bson.json_util import RELAXED_JSON_OPTIONS, dumps
    from pymongo import MongoClient
    from pymongo.errors import PyMongoError
    from pymongo.uri_parser import parse_uri

    secrets = _secrets(url)
    try:
        parsed = parse_uri(url, warn=False)
    except (PyMongoError, ValueError, OSError) as error:
        line = f"not a URL of MongoDB that can be used: {secrets.hide(str(error))}"
        raise BulkError(line) from secrets.cause(error)
    if not parsed["collection"]:
        raise BulkError(
            f"{secrets.shown}: names no collection; expected a URL like"
            " mongodb://localhost/news.articles"
        )
    wanted = _filter(query)

    def lines() -> Iterator[bytes]:
        try:
            with MongoClient[dict[str, Any]](
                url,
                datetime_conversion="DATETIME_AUTO",  # years that Python's dates do not have
                unicode_decode_error_handler="replace",
            ) as client:
                collection = client[parsed["database"]][parsed["collection"]]
                for document in collection.find(wanted, sort=[("_id", 1)]):
                    line = dumps(document, json_options=RELAXED_JSON_OPTIONS, ensure_ascii=False)
                    yield line.encode()
        except (PyMongoError, BSONError, OSError) as error:
            # Behind it is a description of all servers.
            reason = str(error).partition(", Timeout: ")[0]
            line = f"{secrets.shown}: cannot be read: {secrets.hide(reason)}"
            raise BulkError(line) from secrets.cause(error)

    return secrets.shown, lines


def _secrets(url: str) -> Secrets:
    """Password and options of a URL.

    Raises:
        BulkError: an `@` is not written as `%40`, so that a part of the password would be taken
            for the host.
    """
    scheme, _, rest = url.partition("://")
    login, at, place = rest.rpartition("@")
    user, _, password = login.partition(":")
    hosts_and_path, _, options = place.partition("?")
    if "@" in login or (at and ("/" in login or "?" in login)):
        raise BulkError(
            "not a URL of MongoDB; in a password, @ is written %40, / %2F and ? %3F; expected one"
            " like mongodb://localhost/news.articles"
        )
    values = [value for _, value in parse_qsl(options)]
    written = [pair.partition("=")[2] for pair in options.split("&")]
    shown = f"{user}:***@" if password else f"{user}@" if at else ""
    return Secrets.of_values(
        plain_line(f"{scheme}://{shown}{hosts_and_path}"),
        [password, unquote(password), unquote_plus(password), *values, *written],
    )


def _filter(query: str | None) -> dict[str, Any]:
    from bson.errors import BSONError
    from bson.json_util import loads

    try:
        wanted = loads(query or "{}")
    except (ValueError, TypeError, BSONError):
        wanted = None
    if not isinstance(wanted, dict):
        raise BulkError(
            '--query of a MongoDB collection is a filter in JSON, such as \'{"language": "zh"}\''
        )
    return wanted
