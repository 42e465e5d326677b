"""Page of what the rules on URLs save, if the room that learns them is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shingling.rooms import offered

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from shingling.plugin.settings import DedupSettings
    from shingling.store.session import Session

SHOWN = ("requests", "skipped", "would_skip", "lost", "looked_at", "settings", "why", "rows")
"""Names of the values that are data."""

_OF_RULE = ("change", "node", "agreed", "contradicted", "risk", "active", "saved", "explored")


def savings_page(
    settings: DedupSettings,
) -> Callable[[Session, Mapping[str, str]], dict[str, Any]] | None:
    """Make what shows the page; None if nothing learns what could be saved."""
    read = next(offered("savings"), None)
    if read is None:
        return None

    def show(session: Session, _: Mapping[str, str]) -> dict[str, Any]:
        found = read(session, settings)
        rows = [
            {"site": site, "requests": requests, "repeats": repeats}
            | {name: getattr(rule, name) for name in _OF_RULE}
            for site, requests, repeats, rules in found.sites
            for rule in rules
        ]
        return {**found._asdict(), "rows": rows, "next": None}

    return show
