"""Open the store that a command's options or the settings name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shingling.plugin.settings import store_url
from shingling.rules import METHODS, Keys

if TYPE_CHECKING:
    from shingling.console.options import CommandOptions
    from shingling.rules.rules import Rules
    from shingling.store.session import Session
    from shingling.store.store import Store


def chosen_url(options: CommandOptions) -> str:
    """URL of the store: `--store`, a file of the working directory or a URL; else the setting.

    Raises:
        StoreError: `--store` is neither a file nor a URL of a store.
    """
    if not options.store:
        return options.settings.store_url
    from shingling.store.backends import is_file_name, url_of_file

    return (url_of_file if is_file_name(options.store) else store_url)(options.store)


def open_store(options: CommandOptions) -> Store:
    """Open the store; one that does not exist is not created.

    Raises:
        StoreError: it does not exist, or cannot be opened.
    """
    from shingling.store.store import Store

    return Store(open_session(options))


def open_session(options: CommandOptions, *, read_only: bool = False) -> Session:
    """Open the store for what `Store` does not offer: to copy and to merge it.

    Args:
        options: of the command.
        read_only: whether the database is to refuse all changes.

    Raises:
        StoreError: it does not exist, or cannot be opened.
    """
    from shingling.store.session import Session

    return Session.open(chosen_url(options), create=False, read_only=read_only)


def rules_for(session: Session, options: CommandOptions) -> Rules | None:
    """Rules of the settings, if the store is indexed for such; else None."""
    rules, indexed = options.settings.rules, session.index.usual_rules()
    halves = Keys.SIMHASH_HALVES
    same_keys = (METHODS[rules.method].keys is halves) == (METHODS[indexed.method].keys is halves)
    same_samples = (rules.containment is None) == (indexed.containment is None)
    return rules if same_keys and same_samples else None
