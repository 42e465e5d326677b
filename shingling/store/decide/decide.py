"""How one page is decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shingling.rules.methods import METHODS
from shingling.similarity import distance as simhash_distance, nearest
from shingling.store.decide.alike import are_one, choose, choose_exact, contained
from shingling.store.decide.decision import Decision
from shingling.store.decide.groups import follow, lead_again, leave
from shingling.store.model import DAY, Verdict, fetched_at, is_template
from shingling.store.templates import COPY, MAX_COPIES
from shingling.text import title_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shingling.sketch import Signature
    from shingling.store.decide.batch import Batch
    from shingling.store.decide.decision import Arrival, Met
    from shingling.store.model import Page
    from shingling.store.schema.rows import Row

_NEWEST_DUPLICATES = 32  # of one original, that a page may be a copy of


def decide(
    page: Page, signature: Signature | None, batch: Batch, run: int | None = None
) -> Verdict:
    """Decide one page against everything stored, and insert or update it.

    Args:
        page: what was fetched.
        signature: of its text; None where it has none.
        batch: has read all that the page can meet, within the caller's write transaction.
        run: that stores it.
    """
    # 1. Nothing to compare: skipped, and not stored.
    if signature is None or not signature.words:
        return Verdict("skipped", reason=page.reason or "no_main_text")

    # 2. The URL is known: the same text again, or a page that has changed.
    arrival = batch.enter(page, signature, run)
    row, former = arrival.row, arrival.former
    if arrival.is_unchanged:
        return _unchanged(arrival, batch)
    previous: float | None = None
    led: Sequence[Row] = ()
    if former is not None:
        led = leave(row, batch, former)
        previous = batch.texts.measure(row, former)[0]

    # 3. to 5. The same text, candidates, or new.
    met = batch.meet(row)
    _learn(row, former, met, batch)
    decision = place(row, fetched_at(page), batch, met)
    if decision.original in led:
        decision = lead_again(row, decision, batch)
    row.last_verdict = decision.status
    if decision.status == "new":
        row.last_verdict = "new" if former is None else "changed"
        if batch.templates is not None:
            batch.templates.learn_title(row)
    return Verdict(
        status=row.last_verdict,
        original=None if decision.original is None else decision.original.url,
        resemblance=previous if row.last_verdict == "changed" else row.resemblance,
        containment=row.containment,
        page_id=row.id,
        reason=decision.reason,
        previous=previous,
        distance=decision.distance,
        contains=decision.contains,
        template=decision.template,
        candidates=decision.candidates,
    )


def _unchanged(arrival: Arrival, batch: Batch) -> Verdict:
    row = arrival.row
    row.last_verdict = "unchanged"
    return Verdict(
        status="unchanged",
        original=None if row.is_original else batch.head(row).url,
        resemblance=row.resemblance,
        containment=row.containment,
        page_id=row.id,
    )


def _learn(row: Row, former: Row | None, met: Met, batch: Batch) -> None:
    """Have the page's site learn from it, but for what it shares with pages that it may copy."""
    if batch.templates is None or not title_key(row.title or ""):
        return
    originals = (*(head for _, head in met.same_text), *met.candidates)
    heads = [*{head.id: head for head in originals if head is not row}.values()]
    others = {other.id: other for other in (*(twin for twin, _ in met.same_text), *heads)}
    for at, _ in nearest(row.minima, [head.minima for head in heads], COPY, MAX_COPIES):
        newest = batch.members(heads[at], _NEWEST_DUPLICATES)
        others.update((member.id, member) for member in newest if member is not row)
    batch.templates.learn(row, [*others.values()], batch.texts.blocks, former)


@dataclass
class _Case:
    """A page that is in no group, and what is found out while it is decided.

    Args:
        row: the page.
        now: seconds since 1970, from which `Rules.window_days` counts back.
        batch: where it is.
        met: what it is compared with.
        is_template: whether too little is left of it without its site's template.
        looked_at: originals that it was compared with.
        other_title: whether an original was passed over because of its title.
        contains: URL of an original that is a piece of the page.
    """

    row: Row
    now: int
    batch: Batch
    met: Met
    is_template: bool
    looked_at: Sequence[Row] = ()
    other_title: bool = False
    contains: str | None = None

    def may_follow(self, head: Row) -> bool:
        """Whether an original counts: no review excludes it, and it is in the window."""
        if head is self.row or head.id in self.met.excluded or head.is_of_page_of(self.row):
            return False
        window = self.batch.rules.window_days
        return window is None or head.last_seen >= self.now - window * DAY

    def to_measure(self, originals: Sequence[Row]) -> list[Row]:
        """Those of the originals that count and are long enough to be measured."""
        fewest = self.batch.rules.min_words
        return [head for head in originals if head.words >= fewest and self.may_follow(head)]


def place(row: Row, now: int, batch: Batch, met: Met | None = None) -> Decision:
    """Attach a page that is in no group to an original, or make it one.

    Args:
        row: the page.
        now: seconds since 1970, from which `Rules.window_days` counts back.
        batch: has read all that the page can meet.
        met: what it meets; None looks it up.
    """
    split = batch.texts.split(row)
    # What other pages of its site show too says nothing of a page, except that it is the same as
    # one with its title.
    only_template = split is not None and is_template(
        split, row.words, batch.rules.min_words, batch.scheme.canonical
    )
    case = _Case(row, now, batch, met or batch.meet(row), only_template)
    decision = (
        _reviewed(case)
        or _same_text(case)
        or _nothing_to_measure(case)
        or _nearest_candidate(case)
        or _nothing_but_template(case)
        or _piece(case)
        or _new(case)
    )
    batch.place(row, decision)
    return decision if split is None else decision._replace(template=split.template_share)


def _reviewed(case: _Case) -> Decision | None:
    """Follow the original that a review names: it goes before every measure."""
    for head in case.met.reviewed:
        if head is not case.row and head.id not in case.met.excluded:
            return follow(case.row, head, case.batch)
    return None


def _same_text(case: _Case) -> Decision | None:
    """3. Another page has the same text."""
    if not case.met.same_text:
        return None
    pairs = [(twin, head) for twin, head in case.met.same_text if case.may_follow(head)]
    choice = choose_exact(case.row, pairs, case.is_template, case.batch)
    case.other_title = choice.other_title
    return None if choice.best is None else Decision("exact", *choice.best)


def _nothing_to_measure(case: _Case) -> Decision | None:
    """Skip a short text, which is a duplicate only of the same text."""
    rules = case.batch.rules
    finds_near = METHODS[rules.method].keys is not None
    if case.row.words < rules.min_words or (case.is_template and not finds_near):
        return Decision("skipped", reason="template" if case.is_template else "short")
    return None


def _nearest_candidate(case: _Case) -> Decision | None:
    """4. The best of the candidates that is alike enough is the original."""
    if not case.met.candidates:
        return None
    row, batch = case.row, case.batch
    case.looked_at = case.to_measure(case.met.candidates)
    if case.is_template:
        case.looked_at = [other for other in case.looked_at if are_one(row, other, batch)]
    choice = choose(row, case.looked_at, batch)
    case.other_title = case.other_title or choice.other_title
    if choice.best is None:
        return None
    head, resemblance, containment = choice.best
    distance = None
    if METHODS[batch.rules.method].distance:
        distance = simhash_distance(row.simhash, head.simhash)
    count = len(case.looked_at)
    return Decision("near", head, resemblance, containment, candidates=count, distance=distance)


def _nothing_but_template(case: _Case) -> Decision | None:
    """Skip a page that only shows what its site has on many pages."""
    if not case.is_template:
        return None
    return Decision("skipped", reason="template", candidates=len(case.looked_at))


def _piece(case: _Case) -> Decision | None:
    """Find an original that the page is a piece of; what contains one is an original itself."""
    row, batch = case.row, case.batch
    if batch.rules.containment is None:
        return None
    wholes = case.to_measure(batch.likely_wholes(row))
    case.looked_at = [*{other.id: other for other in (*case.looked_at, *wholes)}.values()]
    piece, case.contains, other_title = contained(row, wholes, batch.rules.containment, batch)
    case.other_title = case.other_title or other_title
    if piece is None:
        return None
    head, both = piece
    count = len(case.looked_at)
    return Decision(
        "near", head, both.resemblance, both.containment, reason="piece", candidates=count
    )


def _new(case: _Case) -> Decision:
    """5. It is like no other page: an original."""
    reason = "other_title" if case.other_title else None
    count = len(case.looked_at)
    return Decision("new", reason=reason, candidates=count, contains=case.contains)
