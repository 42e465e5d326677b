"""Page of what the store holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shingling.store import Store

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shingling.store.session import Session

RUNS_SHOWN = 20


def show_overview(session: Session, _: Mapping[str, str]) -> dict[str, Any]:
    """Numbers of pages, and the last runs."""
    store = Store(session)
    return {"status": store.status(), "runs": store.runs(RUNS_SHOWN)}
