"""How one page is decided, and what becomes of a group that loses its original."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shingling.similarity import standard_error
from shingling.store._values import Verdict
from shingling.store._working_set import seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shingling.sketch import Scheme, Signature
    from shingling.store._rows import Row
    from shingling.store._values import Page, Rules
    from shingling.store._working_set import WorkingSet

_ERRORS = 3.0  # standard errors below the threshold at which a candidate is still measured
_MEASURED = 32  # candidates measured at most, the most alike first
_DAY = 86_400


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
            return _verdict(row, store)
        previous = _change(row, page, signature, rules, store)
    else:
        row = store.add(page, signature, run, rules.store_text)
    kind = "new" if previous is None else "changed"

    # 3. Another page has the same words. Less than one shingle says nothing of a page.
    if row.words >= scheme.shingle_size:
        for twin in store.same_text(row):
            head = store.head(twin)
            if head is row or not _counts(head, page, rules):
                continue
            same = head.text_hash == row.text_hash
            resemblance = 1.0 if same else twin.resemblance or 0.0
            containment = 1.0 if same else twin.containment or 0.0
            store.attach(row, head, "exact", resemblance, containment)
            row.last_verdict = "exact"
            return _verdict(row, store, previous=previous)

    if row.words < rules.min_words:
        store.stand(row, "skipped")
        row.last_verdict = "skipped"
        return _verdict(row, store, reason="short", previous=previous)

    # 4. Candidates share a band; the best of them that is alike enough is the original.
    candidates: list[Row] = []
    if rules.method != "exact":
        candidates = [
            other
            for other in store.candidates(row)
            if other.words >= rules.min_words and _counts(other, page, rules)
        ]
        best = _best(row, candidates, rules.threshold, store)
        if best is not None:
            head, resemblance, containment = best
            store.attach(row, head, "near", resemblance, containment)
            row.last_verdict = "near"
            return _verdict(row, store, previous=previous, candidates=len(candidates))

    # 5. It is an original.
    store.stand(row)
    row.last_verdict = kind
    return _verdict(row, store, previous=previous, candidates=len(candidates))


def regroup(members: Sequence[Row], rules: Rules, store: WorkingSet) -> None:
    """Make stars of duplicates whose original is gone.

    The oldest takes its place. Each of the others, in order of age, follows the most alike of
    the new originals, or becomes one where none is alike enough.
    """
    heads: list[Row] = []
    for row in members:
        twin = next((head for head in heads if head.text_hash == row.text_hash), None)
        if twin is not None:
            store.attach(row, twin, "exact", 1.0, 1.0)
        elif best := _best(row, heads, rules.threshold, store):
            head, resemblance, containment = best
            store.attach(row, head, "near", resemblance, containment)
        else:
            store.stand(row, "skipped" if row.words < rules.min_words else "new")
            heads.append(row)


def _change(row: Row, page: Page, signature: Signature, rules: Rules, store: WorkingSet) -> float:
    """Take a changed page out of its group, give it its new text, and say how alike it is."""
    members = store.members(row) if row.is_original else []
    store.hand_on(row)
    former = store.former(row)
    store.replace(row, page, signature, rules.store_text)
    store.stand(row)
    regroup(members, rules, store)
    return store.measure(row, former)[0]


def _best(
    row: Row, candidates: Sequence[Row], threshold: float, store: WorkingSet
) -> tuple[Row, float, float] | None:
    """Return the most alike candidate at or above the threshold, with its measures.

    The estimate from all minima picks whom to measure; among equals the oldest wins.
    """
    if not candidates:
        return None
    estimates = (np.stack([other.minima for other in candidates]) == row.minima).mean(axis=1)
    margin = _ERRORS * standard_error(threshold)
    best: tuple[Row, float, float] | None = None
    for place in np.argsort(-estimates, kind="stable")[:_MEASURED].tolist():
        if estimates[place] < threshold - margin:
            break
        if best is not None and estimates[place] + margin < best[1]:
            break
        resemblance, containment = store.measure(row, candidates[place])
        other = candidates[place]
        if resemblance < threshold:
            continue
        if best is None or (resemblance, -other.id) > (best[1], -best[0].id):
            best = other, resemblance, containment
    return best


def _counts(head: Row, page: Page, rules: Rules) -> bool:
    """Return whether an original has been seen recently enough."""
    if rules.window_days is None:
        return True
    return head.last_seen >= seconds(page) - rules.window_days * _DAY


def _verdict(
    row: Row,
    store: WorkingSet,
    *,
    reason: str | None = None,
    previous: float | None = None,
    candidates: int = 0,
) -> Verdict:
    original = None if row.is_original else store.head(row).url
    resemblance = row.resemblance
    if row.last_verdict == "changed":
        resemblance = previous
    return Verdict(
        status=row.last_verdict,
        original=original,
        resemblance=resemblance,
        containment=row.containment,
        page_id=row.id,
        reason=reason,
        previous=previous,
        candidates=candidates,
    )
