"""Read what is known of a page when it is decided: its row, its group, and possible originals.

All of it is read from the batch, as plain values, before the page is decided.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

from shingling.rules.reasons import Reason
from shingling.store.decide.pair import Pair
from shingling.store.model import DAY, fetched_at
from shingling.store.schema.rows import GONE
from shingling.text import title_key

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from shingling.sketch import Signature
    from shingling.store.decide.batch import Batch
    from shingling.store.model import LastChange, Page
    from shingling.store.schema.rows import Row


class Cause(Enum):
    """Why a page is decided."""

    NEW = auto()
    CHANGED = auto()
    OTHER_RULES = auto()  # it was decided by others than those of now
    RETITLED = auto()  # its item has another title
    OWN_TEXT = auto()  # what was of its own may be template by now
    TEMPLATE = auto()  # what it shares with its original is template by now
    IN_NO_GROUP = auto()  # after a review, or because its original is gone, or in a rebuild


class Ignored(Enum):
    """Why an original does not count for a page."""

    SAME_PAGE = auto()  # both were found on one page: documents of it are never compared
    REVIEW = auto()  # a review says that a page of its group is different
    TOO_OLD = auto()  # it was met last before the window of `Rules.original_max_age_days`
    NOT_MET = auto()  # it was told apart by its fields, and was not met in this crawl
    OTHER_RULES = auto()  # it was decided by others than those of now
    YOUNGER = auto()  # one of both was kept for its text: the younger one is decided by the older
    TEMPLATE = auto()  # the page has followed it, and shares only the template of the site
    LESS_PREFERRED = auto()  # its site stands behind that of the page in `Rules.prefer_sites`


class Candidate(NamedTuple):
    """An original that a page may follow.

    Args:
        row: the original.
        ignored: why it does not count; None: it does.
    """

    row: Row
    ignored: Ignored | None = None


@dataclass
class PageState:
    """A page that is decided, and what it is compared with.

    Args:
        row: the page, as it is now.
        cause: why it is decided; None: it stands as it did.
        now: seconds since 1970, from which `Rules.original_max_age_days` counts back.
        original: of its group, which may be the page itself.
        compared: the original of the page that decided on it, if that was another one.
        former: the row before its text changed; None if it has not.
        previous: resemblance to the text before.
        last_run: run that had met it before this one.
        changed_fields: names of the fields in which its item said something else before.
        moving_lines: lines in which its text has changed, if all of them move (see
            `shingling.store.decide.lines`); otherwise none.
        change: how it differs from what it was; None if only its own fields or moving lines do.
        had_come_out: the run that its item had come out of, as it was; None: it had not.
        is_renamed: whether its item has another title, with the text that it had.
        former_title: before it was met; None if it has the same, or had none.
        members: its duplicates.
        excluded: ids of originals whose groups hold a page that is different by a review.
        reviewed: originals that a review puts it with, oldest first.
        same_text: pages with the same text, each with its original, oldest first.
        similar: originals that may be like it, oldest first.
        wholes: originals that it may be a piece of, or contain, the likeliest first.
        missing: ids of originals that are no longer met, while the page is.
    """

    row: Row
    cause: Cause | None
    now: int
    original: Row
    compared: Row | None = None
    former: Row | None = None
    previous: float | None = None
    last_run: int | None = None
    changed_fields: Sequence[str] = ()
    moving_lines: Sequence[str] = ()
    change: LastChange | None = None
    had_come_out: int | None = None
    is_renamed: bool = False
    former_title: str | None = None
    members: Sequence[Row] = ()
    excluded: Collection[int] = ()
    reviewed: Sequence[Row] = ()
    same_text: Sequence[tuple[Row, Candidate]] = ()
    similar: Sequence[Candidate] = ()
    wholes: Sequence[Candidate] = ()
    missing: Collection[int] = ()

    @property
    def is_new(self) -> bool:
        """Whether the page was not met before."""
        return self.cause is Cause.NEW

    @property
    def is_unchanged(self) -> bool:
        """Whether the page was met again with the text that it had."""
        return self.cause not in (Cause.NEW, Cause.CHANGED)


def read_page(page: Page, signature: Signature, batch: Batch) -> PageState:
    """Read what a page meets that was fetched.

    Args:
        page: what was fetched.
        signature: of its text.
        batch: has read all rows that the page can meet.
    """
    row = batch.pages.of_page(page)
    if row is None:
        row = batch.insert(page, signature)
        return _with_candidates(PageState(row, Cause.NEW, fetched_at(page), row), batch)
    is_unchanged = row.text_hash == signature.text_hash
    original = batch.pages.original(row)
    state = PageState(row, None, fetched_at(page), original)
    state.had_come_out = row.came_out
    if page.title != row.title and title_key(page.title or "") != title_key(row.title or ""):
        state.former_title = row.title
    state.changed_fields = row.changed_fields(page, batch.rules)
    if is_unchanged and state.changed_fields:
        state.is_renamed = title_key(page.title or "") != title_key(row.title or "")
        row.take("extracted", page)
    if not is_unchanged or state.changed_fields:
        row.came_out = None
    state.last_run = batch.see_again(row, page, is_unchanged=is_unchanged)
    if is_unchanged:
        state.cause = _cause(state, batch)
    else:
        state.cause, state.former = Cause.CHANGED, batch.change(row, page, signature)
        state.previous = batch.texts.measure(row, state.former).resemblance
    if state.cause is None:
        compared = batch.pages.compared_with(row) if original is row else None
        state.compared = None if compared is None else batch.pages.original(compared)
        state.missing = _missing([original], state, batch)
        return state
    if row.is_original:
        state.members = batch.pages.members(row)
    return _with_candidates(state, batch)


def read_row(row: Row, now: int, batch: Batch) -> PageState:
    """Read what a stored page meets that is in no group, or is to leave it.

    Args:
        row: the page.
        now: seconds since 1970, from which `Rules.original_max_age_days` counts back.
        batch: has read all rows that the page can meet.
    """
    original = batch.pages.original(row)
    return _with_candidates(PageState(row, Cause.IN_NO_GROUP, now, original), batch)


def _cause(page: PageState, batch: Batch) -> Cause | None:
    """Find out why a page is decided that has the text that it had; None: it stands as it did."""
    row, original = page.row, page.original
    if row.rules_id != batch.rules_id:
        return Cause.OTHER_RULES
    if row.reason == Reason.OWN_TEXT:
        return Cause.OWN_TEXT
    cause = None
    if page.is_renamed:
        cause = Cause.RETITLED
    elif original is not row and not _shares_more_than_template(row, original, batch):
        cause = Cause.TEMPLATE
    if cause is not None:
        batch.read_again_for([row])
    return cause


def _shares_more_than_template(row: Row, original: Row, batch: Batch) -> bool:
    """Whether most of what a known duplicate shares with its original is not template by now.

    Pages of one site with one title are one page, whatever is left of them.
    """
    if row.reason in (Reason.PIECE, Reason.REVIEW) or row.differing_fields(original, batch.rules):
        return True
    pair = Pair(row, original, batch.texts)
    if not pair.has_template or pair.are_one_document:
        return True
    left, whole = (batch.texts.overlap(row, original, whole=whole) for whole in (False, True))
    return left is None or whole is None or 2 * left.shared >= whole.shared


def _with_candidates(page: PageState, batch: Batch) -> PageState:
    """Look up what a page is to be compared with."""
    row, pages = page.row, batch.pages
    page.excluded = {pages.original(other).id for other in batch.reviews.pages(row, same=False)}
    reviewed = _with_originals(batch.reviews.pages(row, same=True), row, batch)
    page.reviewed = [
        original
        for _, original in reviewed
        if original is not row and original.id not in page.excluded
    ]
    twins = [other for other in pages.of_text(row.text_hash) if other.status != "exact"]
    page.same_text = [
        (twin, _candidate(original, page, batch))
        for twin, original in _with_originals(twins, row, batch)
    ]
    if batch.rules.finds_near:
        similar = sorted(batch.lookup.candidates(row))
        page.similar = _candidates(similar, page, batch)
    if batch.rules.containment is not None:
        sample = batch.texts.sample(row.scope, batch.texts.of(row))
        page.wholes = _candidates(batch.lookup.likely_wholes(sample), page, batch)
    met = [candidate.row for _, candidate in page.same_text]
    met += [candidate.row for candidate in (*page.similar, *page.wholes)]
    page.missing = _missing([*page.reviewed, *met], page, batch)
    return page


def _with_originals(rows: Iterable[Row], row: Row, batch: Batch) -> list[tuple[Row, Row]]:
    """Pages of a row's scope, each with its original; without those that are in no group yet."""
    others = [
        (other, batch.pages.original(other))
        for other in rows
        if other is not row and other.scope == row.scope and other.id not in batch.undecided
    ]
    return [(other, original) for other, original in others if original.id not in batch.undecided]


def _candidates(ids: Iterable[int], page: PageState, batch: Batch) -> list[Candidate]:
    rows = filter(None, map(batch.pages.rows.get, ids))
    originals = [other for other in rows if other.is_original]
    pairs = _with_originals(originals, page.row, batch)
    return [_candidate(original, page, batch) for original, _ in pairs]


def _candidate(original: Row, page: PageState, batch: Batch) -> Candidate:
    ignored, rules = _reason_to_ignore(original, page, batch), batch.rules
    if rules.prefer_sites and ignored is None:
        is_behind = rules.rank(page.row.site) < rules.rank(original.site)
        ignored = Ignored.LESS_PREFERRED if is_behind else None
    return Candidate(original, ignored)


def _reason_to_ignore(original: Row, page: PageState, batch: Batch) -> Ignored | None:
    """Why an original does not count for a page; None: it does."""
    row, cause, window = page.row, page.cause, batch.rules.original_max_age_days
    if original.same_source_page(row):
        return Ignored.SAME_PAGE
    if original.id in page.excluded:
        return Ignored.REVIEW
    if window is not None and original.last_seen < page.now - window * DAY:
        return Ignored.TOO_OLD
    if cause is Cause.OTHER_RULES:
        is_current = original.rules_id == batch.rules_id or original is page.original
        return None if is_current else Ignored.OTHER_RULES
    was_kept = original.reason == Reason.OWN_TEXT and page.original is row
    if original.id > row.id and (cause is Cause.OWN_TEXT or (cause is Cause.CHANGED and was_kept)):
        return Ignored.YOUNGER
    if cause is Cause.TEMPLATE and original is page.original:
        return Ignored.TEMPLATE
    if cause in (Cause.NEW, Cause.CHANGED) and not _is_current(original, page, batch):
        return Ignored.NOT_MET
    return None


def _is_current(original: Row, page: PageState, batch: Batch) -> bool:
    """Whether an original counts for a page that is new or has changed.

    What pages say that were told apart by it may have changed since the last crawl, such as a
    price: of these, only those count that were met in this crawl.
    """
    run, former = batch.run, page.former
    if page.row.fields is None or run is None or original.last_run_id == run.id:
        return True
    told_apart = former is not None and former.reason == Reason.OTHER_FIELDS
    return not told_apart and original.reason != Reason.OTHER_FIELDS


def _missing(originals: Iterable[Row], page: PageState, batch: Batch) -> set[int]:
    """Ids of originals that are no longer met, or have answered so, while the page is.

    They were met neither in this crawl nor since the one of the spider began that has finished
    last; the page was met in an earlier crawl, its last run.
    """
    run = batch.run
    if run is None or not run.is_crawl or page.last_run in (None, run.id):
        return set()
    return {
        original.id
        for original in originals
        if original.last_run_id == GONE
        or (
            run.previous is not None
            and original.last_run_id is not None
            and original.last_run_id < run.previous
        )
    }
