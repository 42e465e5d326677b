"""Make another index if that of the store was made for other settings than those of the crawl."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from shingling.store.indexing import fit_index

if TYPE_CHECKING:
    from shingling.rules.rules import Rules
    from shingling.store.session import Session

logger = logging.getLogger(__name__)


def fit(session: Session, rules: Rules, run: int | None) -> None:
    """Give the store an index for the settings of the crawl, or warn.

    Args:
        session: of the store.
        rules: of the crawl.
        run: its number; None changes nothing.
    """
    shortfall = session.index.shortfall(rules)
    began = 0.0

    def show(done: int, total: int) -> None:
        nonlocal began
        if not done:
            began = time.monotonic()
            logger.info(
                "Dedup: the index of the store finds %s; making one for the settings of this"
                " crawl, of %s originals",
                shortfall,
                f"{total:,}",
            )

    why_not = "a dry run changes nothing"
    if run is not None:
        why_not = fit_index(session, rules, run, show)
    if why_not:
        warn_of(session, rules, why_not)
    elif began:  # not another crawl meanwhile
        logger.info("Dedup: made a new index in %.1f s", time.monotonic() - began)


def warn_of(session: Session, rules: Rules, reason: str) -> None:
    """Say what the index of the store finds, and how to change that."""
    index = session.index
    logger.warning(
        "%s: its index finds %s. This crawl goes on with it, because %s; `%s` makes one that finds"
        " the others as well",
        session.database.where,
        index.shortfall(rules),
        reason,
        index.command(rules),
    )
