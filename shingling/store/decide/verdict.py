"""How one page is decided, and what becomes of a group that loses its original."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shingling.similarity import distance as simhash_distance
from shingling.sketch import FUNCTIONS
from shingling.store.decide.batch import seconds
from shingling.store.decide.learn import learn, learn_title
from shingling.store.decide.ranking import choose, contained, least_estimate
from shingling.store.decide.titles import are_two
from shingling.store.model import DAY, Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from shingling.sketch import Scheme, Signature
    from shingling.store.decide.batch import WorkingSet
    from shingling.store.model import Page
    from shingling.store.rules import Rules
    from shingling.store.schema.rows import Row


def decide(
    page: Page,
    signature: Signature | None,
    rules: Rules,
    scheme: Scheme,
    store: WorkingSet,
    run: int | None = None,
) -> Verdict:
    """Decide one page against everything stored, and insert or update it.

    The caller holds the write transaction that `store` lives in.
    """
    # 1. Nothing to compare: skipped, and not stored.
    if signature is None or not signature.words:
        return Verdict("skipped", reason=page.reason or "no_main_text")

    # 2. The URL is known: the same text again, or a page that has changed.
    row = store.known(page)
    previous = None
    if row is not None:
        row.last_seen = max(row.last_seen, seconds(page))
        store.touch(row)
        if row.text_hash == signature.text_hash:
            row.last_verdict = "unchanged"
            store.read_again(row, page)
            return _verdict(row, store)
        previous = _change(row, page, signature, rules, store)
    else:
        row = store.add(page, signature, run, rules.store_text)
        learn(row, rules, store)
    kind = "new" if previous is None else "changed"

    placed = place(row, seconds(page), rules, scheme, store)
    if placed.status == "new":
        learn_title(row, store)
    row.last_verdict = placed.status if placed.status != "new" else kind
    return _verdict(row, store, placed, previous)


class Placed(NamedTuple):
    """Where a page was put, and what is worth saying of it."""

    status: str
    reason: str | None = None
    candidates: int = 0
    distance: int | None = None
    contains: str | None = None


def place(row: Row, now: int, rules: Rules, scheme: Scheme, store: WorkingSet) -> Placed:
    """Attach a page that is in no group to an original, or make it one.

    Args:
        row: leads no group.
        now: seconds since 1970, from which `rules.window_days` counts back.
        rules: what decides.
        scheme: of the signatures.
        store: has read all that the row can meet.
    """

    def counts(head: Row) -> bool:
        if head is row or head.id in barred or head.is_of_page_of(row):
            return False
        if rules.window_days is None:
            return True
        return head.last_seen >= now - rules.window_days * DAY

    # A person's word goes before every measure.
    barred = store.barred(row)
    for other in store.said(row, same=True):
        head = store.head(other)
        if head is not row and head.id not in barred:
            _follow(row, head, store)
            return Placed(row.status, reason="review")

    # What other pages of its site have as well says nothing of a page, but that it is the same
    # as one with its title.
    template = store.is_template(row, rules)

    # 3. Another page has the same text. Less than one shingle says nothing of a page, and a
    # short text nothing without its title.
    other_title = False
    if row.words >= scheme.fewest_words:
        for twin in store.same_text(row):
            head = store.head(twin)
            if not counts(head) or (template and not store.are_one(row, twin)):
                continue
            if twin.site != row.site and store.is_template(twin, rules):
                continue
            if row.words < rules.min_words and not store.have_one_title(row, twin):
                continue
            same = head.text_hash == row.text_hash
            resemblance = 1.0 if same else twin.resemblance or 0.0
            containment = 1.0 if same else twin.containment or 0.0
            if are_two(row, twin, 1.0, store) or are_two(row, head, resemblance, store):
                other_title = True
                continue
            store.attach(row, head, "exact", resemblance, containment)
            return Placed("exact")

    if row.words < rules.min_words or (template and rules.method == "exact"):
        store.stand(row, "skipped")
        return Placed("skipped", reason="template" if template else "short")

    # 4. Candidates share a band; the best of them that is alike enough is the original.
    candidates: list[Row] = []
    if rules.method != "exact":
        candidates = [
            other
            for other in store.candidates(row, rules)
            if other.words >= rules.min_words and counts(other)
        ]
        if template:
            candidates = [other for other in candidates if store.are_one(row, other)]
        choice = choose(row, candidates, rules, store)
        other_title = other_title or choice.other_title
        if choice.best is not None:
            head, resemblance, containment = choice.best
            store.attach(row, head, "near", resemblance, containment)
            distance = simhash_distance(row.simhash, head.simhash)
            return Placed(
                "near",
                candidates=len(candidates),
                distance=distance if "simhash" in rules.method else None,
            )

    if template:
        store.stand(row, "skipped")
        return Placed("skipped", reason="template", candidates=len(candidates))

    # A piece of an original is a near-duplicate of it; what contains one is an original.
    contains = None
    if rules.containment is not None:
        wholes = [
            other
            for other in store.likely_wholes(row)
            if other.words >= rules.min_words and counts(other)
        ]
        candidates = [*{other.id: other for other in (*candidates, *wholes)}.values()]
        piece, contains, passed_over = contained(row, wholes, rules.containment, store)
        other_title = other_title or passed_over
        if piece is not None:
            head, both = piece
            store.attach(row, head, "near", both.resemblance, both.containment)
            return Placed("near", reason="piece", candidates=len(candidates))

    # 5. It is an original.
    store.stand(row)
    reason = "other_title" if other_title else None
    return Placed("new", reason, candidates=len(candidates), contains=contains)


def leave(row: Row, rules: Rules, store: WorkingSet, heads: Sequence[Row] = ()) -> None:
    """Take a page out of its group; it is in none then.

    Args:
        row: leaves.
        rules: how the others regroup, where it led them.
        store: where it is.
        heads: originals that the others may follow.
    """
    members = store.members(row) if row.is_original else []
    store.hand_on(row)
    store.stand(row)
    regroup(members, rules, store, heads=heads, leaving={row.id})


def join(row: Row, head: Row, rules: Rules, store: WorkingSet) -> None:
    """Make a page a duplicate of an original because a person says so."""
    leave(row, rules, store, heads=[head])
    _follow(row, head, store)


def _follow(row: Row, head: Row, store: WorkingSet) -> None:
    same = row.text_hash == head.text_hash
    store.attach(row, head, "exact" if same else "near", *store.measure(row, head))


def regroup(
    members: Sequence[Row],
    rules: Rules,
    store: WorkingSet,
    *,
    heads: Sequence[Row] = (),
    leaving: Collection[int] = (),
) -> None:
    """Make stars of duplicates whose original is gone.

    The oldest takes its place. Each of the others, in order of age, follows the most alike of
    the new originals, or becomes one where none is alike enough.

    Args:
        members: the duplicates, oldest first.
        rules: how alike they have to be.
        store: where they are.
        heads: originals that they may follow besides.
        leaving: ids of pages that none of them may follow.
    """
    heads = [*heads]
    by_text: dict[bytes, list[Row]] = {}
    for head in heads:
        by_text.setdefault(head.text_hash, []).append(head)
    minima = np.empty((len(heads) + len(members), FUNCTIONS), dtype=np.uint32)
    for at, head in enumerate(heads):
        minima[at] = head.minima
    unplaced = {row.id for row in members}
    for row in members:
        unplaced.discard(row.id)
        barred = store.barred(row) | {head.id for head in heads if head.is_of_page_of(row)}
        said = [
            store.head(other)
            for other in store.said(row, same=True)
            if other.id not in unplaced and other.id not in leaving
        ]
        barred |= {head.id for head in said if head.id in leaving}
        said = [head for head in said if head is not row and head.id not in barred]
        if said:
            _follow(row, said[0], store)
            continue
        twins = [
            head
            for head in by_text.get(row.text_hash, ())
            if head.id not in barred and not are_two(row, head, 1.0, store)
        ]
        if twins:
            store.attach(row, twins[0], "exact", 1.0, 1.0)
            continue
        found = _among(row, heads, minima[: len(heads)], barred, rules, store)
        if found is not None:
            head, resemblance, containment = found
            store.attach(row, head, "near", resemblance, containment)
        else:
            store.stand(row, "skipped" if row.words < rules.min_words else "new")
            minima[len(heads)] = row.minima
            heads.append(row)
            by_text.setdefault(row.text_hash, []).append(row)


def _among(
    row: Row,
    heads: Sequence[Row],
    minima: np.ndarray[tuple[int, int], np.dtype[np.uint32]],
    barred: Collection[int],
    rules: Rules,
    store: WorkingSet,
) -> tuple[Row, float, float] | None:
    """Return which of new originals, given with their minima, a row follows."""
    if rules.method == "exact" or not heads:
        return None
    estimates = (minima == row.minima).mean(axis=1)
    likely = np.flatnonzero(estimates >= least_estimate(rules)).tolist()
    able = [
        heads[at]
        for at in likely
        if heads[at].id not in barred and heads[at].words >= rules.min_words
    ]
    best = choose(row, able, rules, store).best
    if best is None and rules.containment is not None:
        longest = sorted(heads, key=lambda head: -head.words)
        wholes = [
            head for head in longest if head.words >= rules.min_words and head.id not in barred
        ]
        piece = contained(row, wholes, rules.containment, store).piece
        if piece is not None:
            head, both = piece
            return head, both.resemblance, both.containment
    return best


def _change(row: Row, page: Page, signature: Signature, rules: Rules, store: WorkingSet) -> float:
    """Take a changed page out of its group, give it its new text, and say how alike it is."""
    members = store.members(row) if row.is_original else []
    store.hand_on(row)
    former, blocks = store.former(row), store.blocks(row)
    store.replace(row, page, signature, rules.store_text)
    store.stand(row)
    regroup(members, rules, store, leaving={row.id})
    previous = store.measure(row, former)[0]
    learn(row, rules, store, blocks)
    return previous


def _verdict(
    row: Row, store: WorkingSet, placed: Placed | None = None, previous: float | None = None
) -> Verdict:
    return Verdict(
        status=row.last_verdict,
        original=None if row.is_original else store.head(row).url,
        resemblance=previous if row.last_verdict == "changed" else row.resemblance,
        containment=row.containment,
        page_id=row.id,
        reason=placed.reason if placed else None,
        previous=previous,
        distance=placed.distance if placed else None,
        contains=placed.contains if placed else None,
        template=store.template_share(row) if placed else None,
        candidates=placed.candidates if placed else 0,
    )
