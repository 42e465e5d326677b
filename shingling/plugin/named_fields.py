"""Fields that settings name and no item has: most of them are mistyped."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from shingling.errors import printable
from shingling.plugin.settings import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Collection

    from shingling.plugin.settings import DedupSettings

_ENOUGH = 20  # items without a field of DEDUP_FIELDS, which decides about all of them
_NAMING = {  # settings of one name a field that goes by several names
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
    """

    def __init__(self, settings: DedupSettings) -> None:
        values = {**vars(settings), **vars(settings.rules)}
        self._missing: list[tuple[str, set[str]]] = []  # settings, and names of the same field
        self._items = 0
        self._last: Collection[str] = ()  # names of the fields of the last item
        for setting, attribute in _NAMING.items():
            value = values[attribute]
            names = (value,) if isinstance(value, str) else value
            if names != (SETTINGS[setting][0],):
                fields = [{name} for name in names] if setting.endswith("S") else [{*names}]
                self._missing += [(setting, field) for field in fields]

    def look_at(self, names: Collection[str]) -> list[str]:
        """Look at the names of an item's fields, and say which fields have been missing so far."""
        self._items += 1
        self._last = names
        self._missing = [one for one in self._missing if one[1].isdisjoint(names)]
        return self.missing("DEDUP_FIELDS") if self._items == _ENOUGH else []

    def missing(self, setting: str = "") -> list[str]:
        """Say which fields of a setting, or of all, no item has had; each is said once."""
        said = [one for one in self._missing if self._items and one[0].startswith(setting)]
        self._missing = [one for one in self._missing if one not in said]
        return [self._line(*one) for one in said]

    def _line(self, setting: str, names: set[str]) -> str:
        shown = " or ".join(repr(printable(name)) for name in sorted(names))
        close = [one for name in names for one in get_close_matches(name, self._last, n=1)]
        hint = f" (did you mean {printable(close[0])!r}?)" if close else ""
        return f"{setting} names {shown}{hint}: of {self._items} items, none has such a field"
