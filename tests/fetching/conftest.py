"""A new store in each database, as the tests of the store have it."""

from tests.store.conftest import empty, few_recent, file, store

__all__ = ["empty", "few_recent", "file", "store"]
