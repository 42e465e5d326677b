"""The way of a page: its rows are read, it is decided, and the decision is applied.

Stored pages that are in no group, or are to leave theirs, go the same way.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from shingling.rules.reasons import Reason
from shingling.similarity.measures import nearest
from shingling.store.decide.apply import apply, verdict_on
from shingling.store.decide.decide import decide, decide_by_review
from shingling.store.decide.pair import Pair
from shingling.store.decide.read import read_page, read_row
from shingling.store.decide.titles import are_versions
from shingling.store.model import Verdict
from shingling.text import title_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shingling.sketch import Signature
    from shingling.store.decide.batch import Batch
    from shingling.store.decide.decide import Decision
    from shingling.store.decide.read import PageState
    from shingling.store.model import Page
    from shingling.store.schema.rows import Row

_NEWEST_DUPLICATES = 32  # of one original, that a page may be a copy of
_COPY = 0.5  # resemblance from which on pages with one title are copies
_MAX_COPIES = 32  # of a page that are looked at


def meet(page: Page, signature: Signature | None, batch: Batch) -> tuple[Verdict, list[Row]]:
    """Decide one page against everything stored, and insert or update it.

    Args:
        page: what was fetched.
        signature: of its text; None if it has none.
        batch: has read all rows that the page can meet, within the caller's write transaction.

    Returns:
        The verdict, and duplicates whose original is gone by it: `regroup` decides them.
    """
    if signature is None or not signature.words:  # 1. nothing to compare: it is not stored
        return Verdict("skipped", reason=page.reason or Reason.NO_MAIN_TEXT), []
    state = read_page(page, signature, batch)
    copies: Sequence[Row] = ()
    if page.learns_template and not state.is_unchanged:
        copies = _learn(state, batch)
    if copies or not state.is_new:
        from shingling.store.decide.lines import learn_lines  # many crawls need it for no page

        learn_lines(state, copies, batch)
    decision = decide(state, batch.texts, batch.rules)
    waiting = apply(state, decision, batch)
    verdict = verdict_on(state, decision, batch)
    if verdict.status != "unchanged" and not state.is_new:
        change = None if verdict.is_duplicate else state.change
        batch.texts.changes[state.row.id] = change
        verdict = replace(verdict, change=change)
    return verdict, waiting


def regroup(rows: Sequence[Row], batch: Batch) -> None:
    """Decide pages, oldest first, which follow none of those that wait for it."""
    if not rows:
        return
    batch.undecided.update(row.id for row in rows)
    batch.read_again_for(rows)
    for row in rows:
        batch.undecided.discard(row.id)
        decide_again(row, row.last_seen, batch)


def decide_again(row: Row, now: int, batch: Batch) -> Decision:
    """Decide a page, and the duplicates whose original is gone by it.

    Args:
        row: the page.
        now: seconds since 1970, from which `Rules.original_max_age_days` counts back.
        batch: has read all rows that the page can meet.
    """
    state = read_row(row, now, batch)
    decision = decide(state, batch.texts, batch.rules)
    regroup(apply(state, decision, batch), batch)
    return decision


def join(row: Row, original: Row, batch: Batch) -> None:
    """Make a page a duplicate of an original because of a review."""
    state = read_row(row, row.last_seen, batch)
    state.members = batch.pages.members(row) if row.is_original else []
    regroup(apply(state, decide_by_review(row, original, batch.texts), batch), batch)


def _learn(page: PageState, batch: Batch) -> list[Row]:
    """Have the page's site learn from it, but for what it shares with pages that it may copy.

    Returns:
        These pages, the most alike first.
    """
    row, pages = page.row, batch.pages
    if batch.templates is None or not title_key(row.title or ""):
        return []
    heads = [original for _, (original, _) in page.same_text]
    heads += [original for original, _ in page.similar]
    originals = {original.id: original for original in heads if original is not row}
    others = {other.id: other for other, _ in page.same_text} | originals
    others.update((member.id, member) for member in page.members)
    for original in _nearest(row, [*originals.values()]):
        newest = pages.members(original, _NEWEST_DUPLICATES)
        others.update((member.id, member) for member in newest if member is not row)
    of_site = [other for other in others.values() if other.site == row.site]
    copies = [
        other for other in _nearest(row, of_site) if are_versions(Pair(row, other, batch.texts))
    ]
    related = copies if page.former is None else [*copies, page.former]
    shared = {block for other in related for block in batch.texts.blocks(other)}
    batch.templates.learn(row, copies, batch.texts.of(row), shared)
    return copies


def _nearest(row: Row, others: Sequence[Row]) -> list[Row]:
    closest = nearest(row.minima, [other.minima for other in others], _COPY, _MAX_COPIES)
    return [others[at] for at, _ in closest]
