"""How pages leave and join groups, and what becomes of a group that loses its original."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shingling.rules import METHODS
from shingling.similarity.following import Following
from shingling.sketch import FUNCTIONS
from shingling.store.decide.alike import Passed, apart, choose, contained
from shingling.store.decide.batch import Decision
from shingling.store.decide.fields import differing_fields
from shingling.store.decide.write import delete_rows, write_batch

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from shingling.arrays import Minima
    from shingling.store.decide.batch import Batch
    from shingling.store.schema.rows import Row


def leave(
    row: Row, batch: Batch, former: Row | None = None, heads: Sequence[Row] = ()
) -> Sequence[Row]:
    """Take a page out of its group; it is in none then.

    Args:
        row: leaves.
        batch: where it is.
        former: the row before its text changed, if it has.
        heads: originals that those it led may follow.

    Returns:
        Those it led.
    """
    members = batch.members(row) if row.is_original else []
    _promote_exact_copy(former or row, batch, {row.id})
    batch.place(row, Decision("new"))
    regroup(members, batch, {row.id}, heads)
    return members


def lead_again(row: Row, decision: Decision, batch: Batch, reason: str | None = None) -> Decision:
    """Make a page the original of one that it follows now.

    It led that one before it changed: that one was dropped, and perhaps never came out. Where both
    change, one after the other, both would be dropped. Or that one is gone from the web.

    Args:
        row: the page.
        decision: by which it follows the other one.
        batch: where they are.
        reason: why it leads.
    """
    head = decision.original
    assert head is not None
    followers = [head, *batch.members(head)]
    again = Decision("new", reason=reason, candidates=decision.candidates)
    batch.place(row, again)
    regroup([one for one in followers if one is not row], batch, (), [row])
    return again._replace(template=decision.template)


def join(row: Row, head: Row, batch: Batch) -> None:
    """Make a page a duplicate of an original because of a review."""
    leave(row, batch, heads=[head])
    batch.place(row, follow(row, head, batch))


def follow(row: Row, head: Row, batch: Batch) -> Decision:
    """Make a page a duplicate of an original, however alike they are."""
    status = "exact" if row.text_hash == head.text_hash else "near"
    return Decision(status, head, *batch.texts.measure(row, head), reason="review")


def remove(ids: Collection[int], batch: Batch) -> int:
    """Take rows out of the store, and write what is left of their groups.

    Returns:
        How many there were.
    """
    gone = batch.rows_of(ids)
    leaving = {row.id for row in gone}
    for row in gone:
        if row.is_original:
            members = [member for member in batch.members(row) if member.id not in leaving]
            regroup(members, batch, {*ids})
        else:
            _promote_exact_copy(row, batch, leaving)
    write_batch(batch)
    delete_rows(batch, gone)
    return len(gone)


def _promote_exact_copy(row: Row, batch: Batch, leaving: Collection[int]) -> None:
    """Have the oldest exact copy of a near-duplicate that leaves its group take over.

    Only one page of a text is looked up by it: the near-duplicate.
    """
    if row.status != "near":
        return
    head = batch.head(row)
    batch.members(head)  # they are read
    copies = [
        other
        for other in batch.of_text(row.text_hash)
        if other.is_member_of(head) and other.id not in leaving and other is not row
    ]
    if copies and all(other.status == "exact" for other in copies):
        heir = copies[0]
        heir.status, heir.reason, heir.compared_id = "near", row.reason, None
        heir.resemblance, heir.containment = row.resemblance, row.containment
        for other in copies[1:]:
            other.compared_id = heir.id
        batch.touched.update((other.id, other) for other in copies)


def regroup(
    members: Sequence[Row], batch: Batch, leaving: Collection[int], heads: Sequence[Row] = ()
) -> None:
    """Make groups of duplicates whose original is gone.

    The oldest takes its place. Each of the others, in order of age, follows the most alike of
    the new originals, or becomes one where none is alike enough.

    Args:
        members: the duplicates, oldest first.
        batch: where they are.
        leaving: ids of pages that none of them may follow.
        heads: originals that they may follow besides.
    """
    heads = [*heads]
    minima = np.empty((len(heads) + len(members), FUNCTIONS), dtype=np.uint32)
    for at, head in enumerate(heads):
        minima[at] = head.minima
    undecided = {row.id for row in members}
    for row in members:
        undecided.discard(row.id)
        decision = _follow_one(row, heads, minima, leaving, undecided, batch)
        batch.place(row, decision)
        if decision.original is None:
            minima[len(heads)] = row.minima
            heads.append(row)


def _follow_one(
    row: Row,
    heads: Sequence[Row],
    minima: Minima,
    leaving: Collection[int],
    undecided: Collection[int],
    batch: Batch,
) -> Decision:
    """Decide which of new originals, given with their minima, a row follows; or none."""
    excluded = batch.excluded_originals(row)
    excluded |= {head.id for head in heads if head.is_of_page_of(row)}
    reviewed = [
        batch.head(other)
        for other in batch.reviewed_pairs(row, same=True)
        if other.id not in undecided and other.id not in leaving
    ]
    excluded |= {head.id for head in reviewed if head.id in leaving}
    for head in reviewed:
        if head is not row and head.id not in excluded:
            return follow(row, head, batch)
    for head in heads:
        is_other = head.text_hash != row.text_hash or head.id in excluded
        if is_other or apart(row, head, 1.0, batch):
            continue
        if not differing_fields(row, head, batch.rules):
            return Decision("exact", head, 1.0, 1.0)
    return _nearest(row, heads, minima, excluded, batch) or Decision(
        "skipped" if row.words < batch.rules.min_words else "new"
    )


def _nearest(
    row: Row,
    heads: Sequence[Row],
    minima: Minima,
    excluded: Collection[int],
    batch: Batch,
) -> Decision | None:
    rules, passed = batch.rules, Passed()
    if METHODS[rules.method].keys is None:
        return None
    eligible = [
        at
        for at, head in enumerate(heads)
        if head.id not in excluded and head.words >= rules.min_words
    ]
    estimates = (minima[eligible] == row.minima).mean(axis=1)
    worth = Following.by(rules).worth
    likely = [heads[at] for at, one in zip(eligible, estimates, strict=True) if one >= worth]
    decision = choose(row, likely, batch, passed)
    if decision is None and rules.containment is not None:
        wholes = sorted((heads[at] for at in eligible), key=lambda head: -head.words)
        decision, _ = contained(row, wholes, rules.containment, batch, passed)
    return decision
