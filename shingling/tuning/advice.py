"""Which of two thresholds to take, by reviews of the pages that they decide differently."""

from __future__ import annotations

from typing import NamedTuple

from shingling.proportions import Proportion

_FEWEST = 6  # reviews that agree, of which the interval is above or below a half


class Advice(NamedTuple):
    """Threshold to take, None if the reviews do not say, and the reason in a sentence."""

    threshold: float | None
    reason: str


def advise(present: float, other: float, right: int, reviewed: int, total: int) -> Advice:
    """Say which of two thresholds to take.

    The share of all changes that are right is estimated by the reviewed ones, with the exact
    interval of Clopper and Pearson (1934): the other threshold is taken if more than half of them
    are right at its lower end.

    Args:
        present: threshold.
        other: threshold.
        right: number of reviewed pages that the other one decides as a person has.
        reviewed: number of pages whose decisions differ and that are reviewed.
        total: number of all pages whose decisions differ.
    """
    if not total:
        return Advice(present, f"the same pages are duplicates at {other:g}.")
    if not reviewed:
        changes = "change is" if total == 1 else "changes are"
        return Advice(
            None,
            f"nobody has said yet whether the {total:,} {changes} right: review"
            f" {min(total, _FEWEST)} first.",
        )
    take = other if 2 * right > reviewed else present
    counts = (
        f"of the {total:,} changes, {reviewed:,} are reviewed, {right:,} as {other:g} decides and"
        f" {reviewed - right:,} as {present:g} does"
    )
    if reviewed == total:
        return Advice(take, f"{counts}.")
    share = Proportion.of(right, reviewed)
    interval = f"{share.low:.0%} to {share.high:.0%} of all are right, with 95 % confidence"
    if share.low > 0.5 or share.high < 0.5:
        return Advice(take, f"{counts}: {interval}.")
    return Advice(None, f"{counts}, which is too few to tell: {interval}.")
