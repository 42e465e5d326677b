"""Fixtures of the stores that are attacked."""

from tests.store.conftest import file

__all__ = ["file"]
