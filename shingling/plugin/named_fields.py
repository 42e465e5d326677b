"""Warn of fields that settings name and no item has: most of their names are misspelt."""

from __future__ import annotations

from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING

from shingling.plugin.settings import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from shingling.plugin.settings import DedupSettings

_ENOUGH = 20  # items without a field of DEDUP_FIELDS, which decides about all of them
_MAX_NAMES = 1000  # of fields of an item, that one may have been mistyped for
_NAMING = {  # settings of one name mean a field that may go by several names
    "DEDUP_FIELDS": "fields",
    "DEDUP_FILL_FIELDS": "fill_fields",
    "DEDUP_HTML_FIELD": "html_fields",
    "DEDUP_IGNORE_FIELDS": "ignore_fields",
    "DEDUP_TEXT_FIELD": "text_fields",
    "DEDUP_TITLE_FIELD": "title_field",
    "DEDUP_URL_FIELD": "url_field",
}


class NamedFields:
    """Looks for the fields that settings name in the items of a crawl.

    Args:
        settings: of the crawl.
        log_once: is told what is missing, and what that is about.
    """

    def __init__(self, settings: DedupSettings, log_once: Callable[[str, str], None]) -> None:
        self._log_once = log_once
        self._missing: list[tuple[str, tuple[str, ...]]] = []
        self._items = 0
        self._last: Collection[str] = ()  # names of the fields of the last item
        values = {**vars(settings), **vars(settings.rules)}
        for setting, attribute in _NAMING.items():
            value = values[attribute]
            names = (value,) if isinstance(value, str) else value
            if names != (SETTINGS[setting][0],):
                fields = [(name,) for name in names] if setting.endswith("S") else [names]
                self._missing += [(setting, field) for field in fields]

    def look_at(self, names: Collection[str]) -> None:
        """Look at the names of an item's fields."""
        self._items += 1
        self._last = names
        self._missing = [field for field in self._missing if set(field[1]).isdisjoint(names)]
        if self._items == _ENOUGH:
            self.tell("DEDUP_FIELDS")

    def tell(self, which: str = "") -> None:
        """Tell which fields of a setting, or of all, no item has had."""
        for setting, names in self._missing if self._items else ():
            if setting.startswith(which):
                there = islice(map(str, self._last), _MAX_NAMES)
                close = get_close_matches(names[0], [*there], 1)
                hint = f" (did you mean {close[0]!r}?)" if close else ""
                shown = " or ".join(map(repr, names))
                items = f"the first {self._items}" if which else self._items
                line = f"{setting} names {shown}{hint}: of {items} items, none has such a field"
                self._log_once(f"{setting} {shown}", line)
