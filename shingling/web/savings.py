"""Page of what the rules on URLs save, if the room that learns them is there."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from shingling.rooms import hooks
from shingling.web.requests import part_of

if TYPE_CHECKING:
    from shingling.plugin.settings import DedupSettings
    from shingling.store.session import Session
    from shingling.web.requests import Fields, Values

SAVINGS = (
    *("requests", "skipped", "would_skip", "learned_from", "lost", "looked_at", "settings", "why"),
    *("rows", "next", "total"),
)
"""Names of the values that are data."""


def show_savings(session: Session, query: Fields, *, settings: DedupSettings) -> Values:
    """Show what is saved, and each rule with what is counted of its site."""
    read = next(hooks("read_savings", "savings"))
    savings = read(session, settings.of_rooms)
    rows = [
        {"site": site, "requests": requests, "repeats": repeats, **asdict(rule)}
        for site, requests, repeats, rules in savings.sites
        for rule in rules
    ]
    shown = {**savings._asdict(), "settings": savings.settings, "why": savings.why}
    return {**shown, **part_of(rows, query)}


def show_repeats(session: Session, query: Fields, *, settings: DedupSettings) -> Values:
    """List the stored URLs that the rules would skip."""
    read = next(hooks("repeated_urls", "savings"))
    return part_of(read(session, settings.of_rooms), query)
