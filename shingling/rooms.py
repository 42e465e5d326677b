"""The rooms around the core: packages of `shingling` that register by modules.

The core imports none of them and knows none by name. What it can use of a room are hooks, functions
of the room's module `room` with these names:

- `settings()`: its settings, as `shingling.plugin.settings` has those of the core.
- `check_settings(settings)`: raises what keeps a crawl with these settings from starting.
- `update_settings(settings, dedup)`: adds its components to those of a crawl.
- `finish_crawl(settings, spider)`: is called when the store of a crawl is closed.

Such a module imports what it needs in these functions: they are asked for in every crawl. `Store`
asks in the same way for `StoreAdmin` of a module `store_admin`, the class of `Store.admin`, the
room `cli` for `COMMANDS` of a module or package `commands`: commands of `scrapy dedup`, and the
room `web` for `read_savings` and `repeated_urls` of a module `savings`: what a store has learned to
save.

A room names in `STANDS_ON` the rooms that it is built upon; if one of them is not there, it has no
hooks.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_PACKAGE = Path(__file__).parent


def hooks(name: str, module: str = "room") -> Iterator[Any]:
    """Yield the hook of each room that has one of a name.

    Args:
        name: of a function or constant.
        module: that it is in.
    """
    rooms = {path.parent.name for path in _PACKAGE.glob(f"*/{module}.py")}
    rooms |= {path.parents[1].name for path in _PACKAGE.glob(f"*/{module}/__init__.py")}
    for room in sorted(rooms):
        below = getattr(import_module(f"shingling.{room}"), "STANDS_ON", ())
        if all((_PACKAGE / one / "__init__.py").is_file() for one in below):
            with_hooks = import_module(f"shingling.{room}.{module}")
            if hasattr(with_hooks, name):
                yield getattr(with_hooks, name)
