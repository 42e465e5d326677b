"""Errors that shingling raises: each is a `ShinglingError`, whose message may be shown."""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shingling.rules.reasons import Reason

MAX_MESSAGE_CHARACTERS = 2000

_USER_AND_PASSWORD = re.compile(r"(://[^\s:/?#@]*:)[^\s/]*@")
_PASSWORD_PARAMETER = re.compile(
    r"(?i)((?:password|passwd|pwd|passphrase|secret|token|api_?key)=)[^\s&;,'\"]+"
)


def printable(text: str) -> str:
    """Replace every character that is not to be seen by a space: control, format and others.

    These are line ends, terminal escapes, C1 controls, marks that change the direction of what
    follows, zero-width characters and lone surrogates.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else " " for char in text)


def shortened(text: str, characters: int, mark: str = "…") -> str:
    """Cut a text to so many characters, with a mark if some are missing."""
    return text if len(text) <= characters else f"{text[:characters]}{mark}"


def message_line(message: str) -> str:
    """Put a message on one line, without passwords and without what is not to be seen.

    It is cut after `MAX_MESSAGE_CHARACTERS` characters.
    """
    line = " ".join(printable(message[: 2 * MAX_MESSAGE_CHARACTERS]).split())
    line = _USER_AND_PASSWORD.sub(r"\1***@", line)
    line = _PASSWORD_PARAMETER.sub(r"\1***", line)
    return shortened(line, MAX_MESSAGE_CHARACTERS, " …")


class ShinglingError(Exception):
    """Base of all errors of this package; the message is one line for people."""

    def __str__(self) -> str:
        return message_line(super().__str__())


class SettingsError(ShinglingError, ValueError):
    """A `DEDUP_*` setting has an unknown name or a value that is not accepted."""


class SchemeError(ShinglingError, ValueError):
    """A scheme has a value that is not accepted, or signatures of two schemes are compared."""


class SignatureError(ShinglingError, ValueError):
    """Bytes cannot be read as a signature."""


def require_accepted(
    is_accepted: object,
    name: str,
    value: object,
    accepted: str,
    error: type[ShinglingError] = SchemeError,
) -> None:
    """Check the value of a parameter.

    Args:
        is_accepted: whether it is accepted.
        name: of the parameter.
        value: of it.
        accepted: the values that are, as a message has them.
        error: class of the error.

    Raises:
        ShinglingError: of the given class: it is not accepted.
    """
    if not is_accepted:
        raise error(f"{name} {value!r} is not accepted: {accepted}")


class ExtractionError(ShinglingError):
    """No main text could be extracted from a page.

    Args:
        reason: as in the stats `dedup/skipped/<reason>`.
        message: one line for people.
    """

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class StoreError(ShinglingError):
    """The store cannot be opened, read or written."""


class StoreUnavailableError(StoreError):
    """The database is locked or cannot be reached: nothing was stored; a retry may succeed."""


class NoStoreError(StoreError):
    """The store does not exist, and was not to be created."""


class StoreVersionError(StoreError):
    """The store was written by another version of this package, and cannot be opened."""


class RecordError(StoreError):
    """An exported store, or a record in it, is not valid."""


class ArgumentError(ShinglingError, TypeError):
    """An argument has a type that is not accepted."""


def require_type(name: str, value: object, *accepted: type, hint: str = "") -> None:
    """Check the type of an argument.

    Args:
        name: of the argument.
        value: of it.
        accepted: its types.
        hint: what to do, in a few words.

    Raises:
        ArgumentError: it has another one.
    """
    if not isinstance(value, accepted):
        names = " or ".join(kind.__name__ for kind in accepted)
        message = f"{name} must be {names}, not {type(value).__name__}"
        raise ArgumentError(f"{message}: {hint}" if hint else message)


class PageError(StoreError, ValueError):
    """A page has a value that the store cannot keep."""


class BandingError(StoreError, ValueError):
    """The index of the store is not for these rules; `scrapy dedup rebuild` rebuilds it."""


class BulkError(ShinglingError):
    """A collection cannot be deduplicated as asked, or the run failed."""


class TuningError(ShinglingError, ValueError):
    """Settings cannot be learned from these labelled pairs."""


def require(extra: str, what: str, *modules: str, error: type[ShinglingError]) -> None:
    """Check that modules of packages of an extra can be imported.

    Raises:
        ShinglingError: of the given class: one cannot; the message says what to install.
    """
    for module in modules:
        try:
            import_module(module)
        except ImportError as cause:
            packages = " ".join(modules)
            raise error(f"{what} needs {module}: pip install {packages} (extra {extra})") from cause
