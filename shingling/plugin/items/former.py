"""A store whose pages were decided and indexed by other settings than those of the crawl."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from shingling.rules.methods import METHODS
from shingling.store.queries import list_runs

if TYPE_CHECKING:
    from shingling.rules.rules import Rules
    from shingling.store.session import Session

logger = logging.getLogger(__name__)

_SECONDS_BETWEEN_LINES = 5.0


def log_former_rules(session: Session, rules: Rules) -> None:
    """Say by which threshold or method the last run decided, if that is another one."""
    for run in session.database.read(list_runs):
        method, threshold = str(run.settings.get("method")), run.settings.get("threshold")
        if not run.counts or method not in METHODS or not isinstance(threshold, (int, float)):
            continue
        is_other_method = method != rules.method
        then = _decided(method, threshold, is_other_method)
        now = _decided(rules.method, rules.threshold, is_other_method)
        if then != now:
            logger.info(
                "Dedup: the last run on this store decided its pages %s; pages that are met in"
                " this crawl are decided again %s",
                then,
                now,
            )
        return


def _decided(method: str, threshold: float, is_other_method: bool) -> str:
    """How pages are decided; the method is named where it makes a difference."""
    parts = [f"by {method}"] if is_other_method else []
    if METHODS[method].threshold:
        parts.append(f"at threshold {threshold:g}")
    return " ".join(parts)


def fit(session: Session, rules: Rules, run: int | None) -> None:
    """Give the store an index for the crawl, where it is small; otherwise warn.

    Args:
        session: of the store.
        rules: of the crawl.
        run: its number; None changes nothing.
    """
    shortfall = session.index.shortfall(rules)
    if not shortfall:
        return
    # Few crawls need it.
    from shingling.store.indexing import fit_index

    began, last = time.monotonic(), 0.0

    def show(done: int, total: int) -> None:
        nonlocal last
        if not done:
            logger.info(
                "Dedup: the index of the store finds %s; making one for the settings of this"
                " crawl, of %s originals",
                shortfall,
                f"{total:,}",
            )
        elif time.monotonic() - last < _SECONDS_BETWEEN_LINES:
            return
        else:
            logger.info("Dedup: %s of %s originals are indexed", f"{done:,}", f"{total:,}")
        last = time.monotonic()

    why_not = "a dry run changes nothing"
    if run is not None:
        why_not = fit_index(session, rules, run, show)
    if why_not:
        warn_of(session, rules, why_not)
    elif last:  # not another crawl meanwhile
        logger.info("Dedup: made a new index in %.1f s", time.monotonic() - began)


def warn_of(session: Session, rules: Rules, reason: str) -> None:
    """Say what the index of the store finds, and how to change that."""
    index = session.index
    logger.warning(
        "%s: its index finds %s. This crawl goes on with it, since %s; `%s` makes one that finds"
        " the others as well",
        session.database.where,
        index.shortfall(rules),
        reason,
        index.command(rules),
    )
