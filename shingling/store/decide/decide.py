"""How one page is decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shingling.rules import METHODS
from shingling.rules.own_fields import said_otherwise
from shingling.rules.reasons import KEEPING, Reason
from shingling.similarity import distance as simhash_distance, nearest
from shingling.store.decide.alike import (
    Choice,
    Decision,
    are_same_document,
    is_only_template,
    is_version,
)
from shingling.store.model import DAY, Verdict, fetched_at
from shingling.store.schema.rows import GONE, url_key
from shingling.text import title_key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shingling.sketch import Signature
    from shingling.store.decide.batch import Batch, Candidates
    from shingling.store.model import Page, Status
    from shingling.store.schema.rows import Row

_NEWEST_DUPLICATES = 32  # of one original, that a page may be a copy of
_COPY = 0.5  # resemblance from which on pages with one title are copies
_MAX_COPIES = 32  # of a page that are looked at


def decide(page: Page, signature: Signature | None, batch: Batch) -> Verdict:
    """Decide one page against everything stored, and insert or update it.

    Args:
        page: what was fetched.
        signature: of its text; None if it has none.
        batch: has read all that the page can meet, within the caller's write transaction.
    """
    # 1. Nothing to compare: skipped, and not stored.
    if signature is None or not signature.words:
        return Verdict("skipped", reason=page.reason or Reason.NO_MAIN_TEXT)

    # 2. The URL is known: the same text again, or a page that has changed.
    row, last_run = batch.pages.of_url(page.scope, url_key(page.url)), None
    former: Row | None = None
    previous: float | None = None
    members: Sequence[Row] = ()
    if row is None:
        row = batch.insert(page, signature)
        if row.stored:  # in the place of one that could not be read
            members = batch.groups.detach(row)
    else:
        is_unchanged = row.text_hash == signature.text_hash
        last_run = batch.see_again(row, page, is_unchanged=is_unchanged)
        if is_unchanged:
            return _unchanged(row, last_run, fetched_at(page), batch)
        former = batch.change(row, page, signature)
        members = batch.groups.detach(row, former)
        previous = batch.texts.measure(row, former).resemblance

    # 3. to 5. The same text, candidates, or new.
    found = batch.find_candidates(row)
    if page.learns_template:
        _learn(row, former, found, batch)
    counts = _fresh_for(row, former, found, batch)
    decision = place(row, fetched_at(page), batch, found, counts)
    original = decision.original
    if original in members:
        decision = batch.groups.make_original(row, decision)
    elif original is not None and _is_gone(original, last_run, batch):
        decision = batch.groups.make_original(row, decision, Reason.ORIGINAL_MISSING)
    status = decision.status
    if status == "new":
        status = "new" if former is None else "changed"
        if batch.templates is not None:
            batch.templates.learn_title(row)
    return _verdict(row, status, decision, batch, previous)


def _fresh_for(
    row: Row, former: Row | None, found: Candidates, batch: Batch
) -> Callable[[Row], bool]:
    """Which originals count for a page that is new or has changed.

    What pages say that were told apart by it may have changed since the last crawl, such as a
    price: of these, only those that were met in this crawl, and those that a review names.
    """
    run = None if batch.run is None else batch.run.id
    told_apart = former is not None and former.reason == Reason.OTHER_FIELDS

    def is_fresh(other: Row) -> bool:
        if row.fields is None or run is None or other.last_run_id == run:
            return True
        return other in found.reviewed or not (told_apart or other.reason == Reason.OTHER_FIELDS)

    return is_fresh


def _unchanged(row: Row, last_run: int | None, now: int, batch: Batch) -> Verdict:
    """Decide a page that has the text that it had: again, if something else has changed."""
    original = batch.groups.original(row)
    status: Status = "unchanged"
    has_new_rules = row.rules_id != batch.rules_id
    decision = _standing(row, original, batch)
    if original is not row and _is_gone(original, last_run, batch):
        decision = batch.groups.make_original(row, decision, Reason.ORIGINAL_MISSING)
    elif batch.is_to_be_decided(row):
        members = batch.groups.detach(row)
        decision = _decide_again(row, original, now, batch, has_new_rules=has_new_rules)
        if decision.original is None:
            batch.groups.regroup(members, (), [row])
        if decision.original not in (None, original):
            status = decision.status
    elif original is not row and row.reason != Reason.REVIEW:
        fields = row.differing_fields(original, batch.rules)
        if fields:  # it says what it did not say before
            status = row.status
            decision = decision._replace(reason=Reason.OTHER_FIELDS, fields=fields)
        elif not _still_follows(row, original, batch):  # what they share is template by now
            batch.read_again_for([row])
            batch.groups.detach(row)
            decision = place(row, now, batch, counts=lambda other: other is not original)
            if decision.original is not None:
                status = decision.status
    return _verdict(row, status, decision, batch)


def _still_follows(row: Row, original: Row, batch: Batch) -> bool:
    """Whether most of what a known duplicate shares with its original is not template by now.

    Pages of one site with one title are one page, whatever is left of them.
    """
    splits = [split for split in map(batch.texts.split, (row, original)) if split is not None]
    if row.reason == Reason.PIECE or not any(split.has_template for split in splits):
        return True
    left, whole = (batch.texts.overlap(row, original, whole=whole) for whole in (False, True))
    if left is None or whole is None or are_same_document(row, original, batch.texts):
        return True
    return 2 * left.shared >= whole.shared


def _is_gone(original: Row, last_run: int | None, batch: Batch) -> bool:
    """Whether an original is no longer met, or has answered so, while its duplicate is.

    It was met neither in this crawl nor since the one of the spider began that has finished
    last; the duplicate was met in an earlier crawl, its last run.
    """
    run, met = batch.run, original.last_run_id
    if run is None or not run.is_crawl or last_run in (None, run.id) or met is None:
        return False
    return met == GONE or (run.previous is not None and met < run.previous)


def _standing(row: Row, original: Row, batch: Batch) -> Decision:
    """Decision by which a page stands as it does."""
    if original is not row:
        return Decision(row.status, original, row.resemblance, row.containment, reason=row.reason)
    other = batch.pages.compared_with(row)
    if other is None:
        return Decision("new")
    fields = row.differing_fields(batch.groups.original(other), batch.rules)
    return Decision("new", reason=row.reason, fields=fields)


def _decide_again(
    row: Row, original: Row, now: int, batch: Batch, *, has_new_rules: bool
) -> Decision:
    """Decide a page again that was decided by other rules, as in a store that begins with these.

    What was decided by these rules counts; and if that has no original for it, the one that it had.
    A page that was kept for its text meets the pages that it has met before.
    """

    def counts(other: Row) -> bool:
        return other.rules_id == batch.rules_id if has_new_rules else other.id < row.id

    decision = place(row, now, batch, counts=counts)
    if decision.original is None and original is not row:
        decision = place(row, now, batch, counts=lambda other: other is original)
    return decision


def _verdict(
    row: Row, status: Status, decision: Decision, batch: Batch, previous: float | None = None
) -> Verdict:
    """Verdict on a page that was met."""
    row.last_verdict, row.rules_id = status, batch.rules_id
    if status != "unchanged" or row.id in batch.groups.placed:
        batch.decided[row.id] = row
    compared = batch.pages.compared_with(row)
    original = decision.original
    follows = original is not None and decision.reason not in KEEPING
    if original is not None and follows and original.rules_id != batch.rules_id:
        original.rules_id = batch.rules_id  # it is an original by these rules, as it comes out
        batch.groups.note([original])
    if original is None and decision.reason in KEEPING and compared is not None:
        original = batch.groups.original(compared)
    differing = decision.fields
    if original is not None and not differing:
        differing = said_otherwise(row.fields, original.fields, batch.rules.ignore_fields)
    return Verdict(
        status=status,
        original=None if original is None else original.url,
        resemblance=previous if status == "changed" else row.resemblance,
        containment=row.containment,
        page_id=row.id,
        reason=decision.reason,
        previous=previous,
        distance=decision.distance,
        contains=decision.contains,
        compared_with=None if compared is None or compared is original else compared.url,
        fields=tuple(differing),
        own_text=None if decision.passage is None else decision.passage[:2],
        template=decision.template,
        candidates=decision.candidates,
        threshold=batch.rules.least_resemblance,
    )


def _learn(row: Row, former: Row | None, found: Candidates, batch: Batch) -> None:
    """Have the page's site learn from it, but for what it shares with pages that it may copy."""
    if batch.templates is None or not title_key(row.title or ""):
        return
    twins = {twin.id: twin for twin, _ in found.same_text}
    heads = (*(original for _, original in found.same_text), *found.similar)
    originals = {original.id: original for original in heads if original is not row}
    others = twins | originals
    for original in _nearest(row, [*originals.values()]):
        newest = batch.pages.members(original, _NEWEST_DUPLICATES)
        others.update((member.id, member) for member in newest if member is not row)
    of_site = [other for other in others.values() if other.site == row.site]
    copies = [other for other in _nearest(row, of_site) if is_version(row, other, batch.texts)]
    related = copies if former is None else [*copies, former]
    shared = {block for other in related for block in batch.texts.blocks(other)}
    batch.templates.learn(row, copies, batch.texts.of(row), shared)


def _nearest(row: Row, others: Sequence[Row]) -> list[Row]:
    found = nearest(row.minima, [other.minima for other in others], _COPY, _MAX_COPIES)
    return [others[at] for at, _ in found]


@dataclass
class _Case:
    """A page that is in no group, and what is found out while it is decided.

    Args:
        row: the page.
        now: seconds since 1970, from which `Rules.original_max_age_days` counts back.
        batch: where it is.
        found: what it is compared with.
        counts: which originals count.
        choice: of its original.
        is_template: whether too little is left of it without its site's template.
        looked_at: originals that it was compared with.
        contains: URL of an original that is a piece of the page.
    """

    row: Row
    now: int
    batch: Batch
    found: Candidates
    counts: Callable[[Row], bool]
    choice: Choice
    is_template: bool
    looked_at: Sequence[Row] = ()
    contains: str | None = None

    def may_follow(self, original: Row) -> bool:
        """Whether an original counts: no review excludes it, and it is in the window."""
        is_excluded = original.id in self.found.excluded
        if original is self.row or is_excluded or original.is_of_page_of(self.row):
            return False
        if not self.counts(original):
            return False
        window = self.batch.rules.original_max_age_days
        return window is None or original.last_seen >= self.now - window * DAY

    def to_measure(self, originals: Sequence[Row]) -> list[Row]:
        """Those of the originals that count and are long enough to be measured."""
        fewest = self.batch.rules.min_words
        return [one for one in originals if one.words >= fewest and self.may_follow(one)]


def place(
    row: Row,
    now: int,
    batch: Batch,
    found: Candidates | None = None,
    counts: Callable[[Row], bool] = lambda _: True,
) -> Decision:
    """Attach a page that is in no group to an original, or make it one.

    Args:
        row: the page.
        now: seconds since 1970, from which `Rules.original_max_age_days` counts back.
        batch: has read all that the page can meet.
        found: what it is compared with; None looks it up.
        counts: which originals count.
    """
    # What other pages of its site show too says nothing of a page, except that it is the same as
    # one with its title.
    split = batch.texts.split(row)
    case = _Case(
        row,
        now,
        batch,
        found or batch.find_candidates(row),
        counts,
        Choice(row, batch.texts, batch.rules),
        is_only_template(row, batch.texts, batch.rules.min_words),
    )
    decision = (
        _reviewed(case)
        or _same_text(case)
        or _nothing_to_measure(case)
        or _nearest_candidate(case)
        or _nothing_but_template(case)
        or _piece(case)
        or _new(case)
    )
    batch.groups.place(row, decision)
    return decision if split is None else decision._replace(template=split.template_share)


def _reviewed(case: _Case) -> Decision | None:
    """Follow the original that a review names: it goes before every measure."""
    for original in case.found.reviewed:
        is_other = original is not case.row and original.id not in case.found.excluded
        if is_other and case.counts(original):
            return case.batch.groups.by_review(case.row, original)
    return None


def _same_text(case: _Case) -> Decision | None:
    """3. Another page has the same text."""
    pairs = [(twin, one) for twin, one in case.found.same_text if case.may_follow(one)]
    return case.choice.same_text(pairs, only_template=case.is_template)


def _nothing_to_measure(case: _Case) -> Decision | None:
    """Skip a short text, which is a duplicate only of the same text."""
    is_short = case.row.words < case.batch.rules.min_words
    if is_short or (case.is_template and not case.batch.rules.finds_near):
        return Decision("skipped", reason=Reason.TEMPLATE if case.is_template else Reason.SHORT)
    return None


def _nearest_candidate(case: _Case) -> Decision | None:
    """4. The best of the candidates that is alike enough is the original."""
    row, batch = case.row, case.batch
    case.looked_at = case.to_measure(case.found.similar)
    if case.is_template:
        case.looked_at = [
            other for other in case.looked_at if are_same_document(row, other, batch.texts)
        ]
    decision = case.choice.nearest(case.looked_at)
    if decision is None or decision.original is None:
        return None
    distance = None
    if METHODS[batch.rules.method].distance:
        distance = simhash_distance(row.simhash, decision.original.simhash)
    return decision._replace(candidates=len(case.looked_at), distance=distance)


def _nothing_but_template(case: _Case) -> Decision | None:
    """Skip a page that only shows what its site has on many pages."""
    if not case.is_template or case.choice.kept is not None:
        return None
    return Decision("skipped", reason=Reason.TEMPLATE, candidates=len(case.looked_at))


def _piece(case: _Case) -> Decision | None:
    """Find an original that the page is a piece of; what contains one is an original itself."""
    if case.batch.rules.containment is None:
        return None
    wholes = case.to_measure(case.batch.likely_wholes(case.row))
    case.looked_at = [*{other.id: other for other in (*case.looked_at, *wholes)}.values()]
    decision, case.contains = case.choice.whole(wholes)
    if decision is None:
        return None
    return decision._replace(reason=Reason.PIECE, candidates=len(case.looked_at))


def _new(case: _Case) -> Decision:
    """5. It is like no other page: an original."""
    made = case.choice.as_original()
    return made._replace(candidates=len(case.looked_at), contains=case.contains)
