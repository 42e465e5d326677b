"""Open the store that a command's options or the settings name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shingling.plugin.settings import store_url
from shingling.store import Store

if TYPE_CHECKING:
    import argparse

    from shingling.plugin.settings import DedupSettings


def open_store(options: argparse.Namespace, settings: DedupSettings) -> Store:
    """Return the store; one that is not there is not made.

    Raises:
        StoreError: it is not there, or cannot be opened.
    """
    url = store_url(options.store) if options.store else settings.store_url
    return Store.open(url, create=False)
