"""Apply a decision on a page: change its row, its group, and the keys by which it is found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shingling.rules.own_fields import changed_fields
from shingling.rules.reasons import KEEPING, Reason
from shingling.store.decide.read import Cause
from shingling.store.model import Verdict

if TYPE_CHECKING:
    from shingling.store.decide.batch import Batch
    from shingling.store.decide.decide import Decision
    from shingling.store.decide.read import PageState
    from shingling.store.model import Status
    from shingling.store.schema.rows import Row


def apply(page: PageState, decision: Decision, batch: Batch) -> list[Row]:
    """Change a page, its group and what it is found by.

    Returns:
        Duplicates whose original is gone: they are to be decided, the oldest first.
    """
    row, replaced = page.row, decision.replaces
    if page.cause is None and replaced is None:
        return []
    is_changed = page.cause in (Cause.NEW, Cause.CHANGED)
    stays = decision.original is page.original and decision.status == row.status
    if is_changed or not stays:
        hand_on(page.former or row, batch)
    _place(row, decision, batch, is_changed=is_changed)
    members = [*page.members] if is_changed or decision.original is not None else []
    if replaced is not None:
        members += [replaced, *batch.pages.members(replaced)]
    return sorted((member for member in members if member is not row), key=lambda member: member.id)


def hand_on(row: Row, batch: Batch) -> None:
    """Have the oldest exact copy of a near-duplicate that leaves its group take over.

    Only one page of a text is looked up by it: the near-duplicate.
    """
    if row.status != "near":
        return
    original = batch.pages.original(row)
    batch.pages.members(original)  # they are read
    copies = [
        other
        for other in batch.pages.of_text(row.text_hash)
        if other.is_member_of(original) and other is not row and other.id not in batch.undecided
    ]
    if copies and all(other.status == "exact" for other in copies):
        successor = copies[0]
        successor.status, successor.reason, successor.compared_id = "near", row.reason, None
        successor.resemblance, successor.containment = row.resemblance, row.containment
        for other in copies[1:]:
            other.compared_id = successor.id
        batch.note_changed(copies)


def _place(row: Row, decision: Decision, batch: Batch, *, is_changed: bool) -> None:
    """Attach a page to its original, or make it one, which later pages of the batch find."""
    original, compared = decision.original, decision.compared_with
    is_kept = original is None and decision.status != "skipped"
    row.status = "new" if is_kept else decision.status
    original_id = None if original is None else original.id
    if original_id != row.original_id:
        row.original_id, row.came_out = original_id, None
    row.resemblance, row.containment = decision.resemblance, decision.containment
    row.reason = decision.reason
    row.compared_id = None if compared is None else compared.id
    batch.note_changed([row])
    batch.decided[row.id] = row
    if original is not None:
        batch.pages.add(row)
    if original is not None or is_changed:
        batch.lookup.drop(row.id)
    if original is None and row.words >= batch.scheme.min_comparable_words:
        batch.lookup.place(row, batch.sample)


def verdict_on(page: PageState, decision: Decision, batch: Batch) -> Verdict:
    """Verdict on a page that was met, whose decision was taken."""
    row, original = page.row, decision.original
    is_kept = decision.reason in KEEPING
    is_duplicate = original is not None and not is_kept
    status = _status(page, decision)
    # What has come out is all that the page says, but for lines that move.
    is_only_moving = page.had_come_out is not None and original is None and bool(page.moving_lines)
    if is_only_moving and batch.rules.moving_lines == "ignore":
        status, row.came_out = "unchanged", page.had_come_out
    row.last_verdict = status
    repeats = _repeats(page, is_duplicate, batch) if status == "unchanged" else None
    if is_duplicate:
        row.came_out = None
    elif repeats is None:
        row.came_out = 0 if batch.run is None else batch.run.id
    row.rules_id = batch.rules_id
    if original is None and status in ("new", "changed") and batch.templates is not None:
        batch.templates.learn_title(row)
    compared = batch.pages.compared_with(row)
    if original is not None and is_duplicate and original.rules_id != batch.rules_id:
        original.rules_id = batch.rules_id  # it is an original by these rules, as it comes out
        batch.note_changed([original])
    if original is None and is_kept and compared is not None:
        original = batch.pages.original(compared)
    differing = decision.fields
    if status == "changed":
        differing = page.changed_fields
    elif original is not None and not differing:
        differing = changed_fields(row.fields, original.fields, batch.rules.ignore_fields)
    reason = decision.reason
    if is_only_moving and status in ("changed", "unchanged"):
        reason = reason or Reason.MOVING_LINES
    return Verdict(
        status=status,
        original=None if original is None else original.url,
        resemblance=page.previous if status == "changed" and original is None else row.resemblance,
        containment=row.containment,
        page_id=row.id,
        reason=reason,
        previous=page.previous,
        distance=decision.distance,
        contains=decision.contains,
        compared_with=None if compared is None or compared is original else compared.url,
        fields=tuple(differing),
        own_text=None if decision.passage is None else decision.passage[:2],
        moving_lines=tuple(page.moving_lines) if is_only_moving else (),
        template=decision.template,
        repeats=repeats,
        candidates=decision.candidates,
        threshold=batch.rules.least_resemblance,
    )


def _status(page: PageState, decision: Decision) -> Status:
    if not page.is_unchanged:
        return "changed" if decision.status == "new" and page.former else decision.status
    has_moved = decision.original not in (None, page.original)
    says_more = decision.original is not None and decision.reason == Reason.OTHER_FIELDS
    if has_moved or (says_more and page.row.came_out is None):
        return decision.status
    return "changed" if page.changed_fields else "unchanged"


def _repeats(page: PageState, is_duplicate: bool, batch: Batch) -> str | None:
    """Where a page was met before whose item has come out; that of a duplicate need not.

    What came out of a run that was killed is not known.
    """
    run, came_out = batch.run, page.row.came_out
    if came_out is None and not is_duplicate:
        return None
    if run is None or run.killed.isdisjoint((came_out, page.last_run)):
        return "crawl" if run is not None and page.last_run in run.parts else "store"
    return None
