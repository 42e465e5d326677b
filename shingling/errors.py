"""The errors that shingling raises; every one of them is a `ShinglingError`."""

from __future__ import annotations


class ShinglingError(Exception):
    """Base of all errors of this package; the message is one line for a person."""


class SettingsError(ShinglingError, ValueError):
    """A `DEDUP_*` setting has an unknown name or a value that is not accepted."""


class SchemeError(ShinglingError, ValueError):
    """A scheme that cannot be, or signatures of two schemes used together."""


class SignatureError(ShinglingError, ValueError):
    """Bytes that are not a signature."""


class ExtractionError(ShinglingError):
    """The main text of a page could not be had; `reason` is a short name for it."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class StoreError(ShinglingError):
    """The store cannot be opened, read or written."""


class StoreUnavailableError(StoreError):
    """The database is locked or cannot be reached; nothing was stored, and it may work later."""


class NoStoreError(StoreError):
    """There is no store yet, and none is to be made."""


class StoreVersionError(StoreError):
    """The store was written by a newer version of this package."""


class RecordError(StoreError):
    """A record of an exported store, or a file of them, is not what it should be."""


class BandingError(StoreError, ValueError):
    """The index of the store does not find what is looked for; `scrapy dedup rebuild` makes one."""


class BulkError(ShinglingError):
    """A collection cannot be deduplicated as asked, or not to its end."""


class TuningError(ShinglingError, ValueError):
    """Labelled pairs that settings cannot be learned from, or a picture that cannot be drawn."""
