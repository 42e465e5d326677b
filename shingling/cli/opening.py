"""Open the store that a command's options or the settings name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shingling.plugin.settings import store_url
from shingling.store import Store
from shingling.store.session import Session

if TYPE_CHECKING:
    import argparse

    from shingling.plugin.settings import DedupSettings


def open_store(options: argparse.Namespace, settings: DedupSettings) -> Store:
    """Return the store; one that is not there is not made.

    Raises:
        StoreError: it is not there, or cannot be opened.
    """
    return Store(open_session(options, settings))


def open_session(options: argparse.Namespace, settings: DedupSettings) -> Session:
    """Return the store for what `Store` does not offer: to copy and to merge it.

    Raises:
        StoreError: it is not there, or cannot be opened.
    """
    url = store_url(options.store) if options.store else settings.store_url
    return Session.open(url, create=False)
