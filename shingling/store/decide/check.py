"""Decide a batch of pages and store it, in one transaction.

Batches that overlap in time get the same verdicts as batches one after the other. A batch locks its
URLs, but not the keys that it shares with others, because pages of one site share many keys and few
of these pages are alike. Before a batch commits, it looks at the pages that other batches have
committed since it began. If one of its pages should have been compared with one of those, or if
another batch has changed rows that it has read, it is rolled back and decided again. These last
looks and commits take turns. So each batch has met all pages that were committed before it. (H. T.
Kung and J. T. Robinson, On Optimistic Methods for Concurrency Control, 1981: serial validation.)

Templates of sites are not part of this: batches that overlap do not learn from each other.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from shingling.sketch import sign
from shingling.store.backends.base import NeedsExclusiveWriterError, RetryableError, RetryReason
from shingling.store.decide.batch import Batch
from shingling.store.decide.decide import worth_measuring
from shingling.store.decide.meet import meet, regroup
from shingling.store.decide.write import write_batch
from shingling.store.runs import write_counts
from shingling.store.schema.rows import url_key
from shingling.store.verdicts import write_verdicts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection

    from shingling.rules.rules import Rules
    from shingling.sketch import Signature
    from shingling.store.backends.base import Committed
    from shingling.store.model import Page, Verdict
    from shingling.store.runs import Run
    from shingling.store.schema.rows import Row
    from shingling.store.session import Session

_NONE = (1 << 63) - 1  # a number that no page has


class _UndoneError(Exception):
    """Pages are decided, and their transaction is to be rolled back."""

    def __init__(self, verdicts: list[Verdict]) -> None:
        super().__init__()
        self.verdicts = verdicts


def check_batch(
    session: Session,
    pages: Sequence[Page],
    rules: Rules,
    *,
    run: Run | None,
    dry_run: bool,
    any_index: bool = False,
) -> list[Verdict]:
    """Decide pages in order, each against all that is stored, and insert them.

    Arguments and errors are those of `Store.check`; with `any_index`, an index that does not serve
    the rules is no error: pages are decided by what it finds.
    """
    signatures = [_signature(page, session) for page in pages]
    signed = [
        (page, signature)
        for page, signature in zip(pages, signatures, strict=True)
        if signature is not None and signature.words
    ]
    for page, _ in signed:
        if session.words_left.is_open and page.main_text is not None:
            session.words_left.count_words_of(page.main_text.text)
    rules_id = None  # pages are decided again by an index that finds what the rules look for
    if not (any_index and session.index.shortfall(rules)):
        rules_id = session.number_of(rules, dry_run=dry_run)

    may_be_stored = False  # by a commit whose outcome is not known

    def decide_all(connection: Connection) -> tuple[list[Verdict], Counter[str], Batch]:
        nonlocal may_be_stored
        if not any_index:
            session.index.require(rules)
        alone = session.database.alone
        validation = None if alone else Validation(session, connection, signed)
        batch = Batch(session, connection, rules, rules_id=rules_id, run=run)
        batch.read_for(signed)
        verdicts: list[Verdict] = []
        for page, signature in zip(pages, signatures, strict=True):
            verdict, waiting = meet(page, signature, batch)
            regroup(waiting, batch)
            verdicts.append(verdict)
        if validation is not None:
            validation.look(batch)
        counts = Counter[str](verdict.status for verdict in verdicts)
        counts["full_keys"] = len(batch.lookup.full)
        counts["kept_copies"] = sum(
            verdict.status in ("near", "exact") and not verdict.is_duplicate for verdict in verdicts
        )
        counts["changed_pages"] = sum(
            verdict.status == "changed" or verdict.previous is not None for verdict in verdicts
        )
        with session.database.together(connection):
            if run is not None:
                counts = run.counts + counts  # without those that are zero
                write_counts(connection, run.id, counts)
                write_verdicts(connection, run.id, verdicts, batch.pages.rows)
            write_batch(batch)
        if dry_run:
            raise _UndoneError(verdicts)
        if validation is not None:
            validation.end()
        if may_be_stored:
            verdicts = [replace(verdict, repeats=None) for verdict in verdicts]
        may_be_stored = True
        return verdicts, counts, batch

    try:
        verdicts, counts, batch = session.write(decide_all)
    except _UndoneError as undone:
        return undone.verdicts
    if batch.templates is not None:
        batch.templates.keep()
    if run is not None:
        run.counts = counts
    return verdicts


def _signature(page: Page, session: Session) -> Signature | None:
    if page.signature is None:
        return None if page.main_text is None else sign(page.main_text.text, session.scheme)
    session.require_scheme(page.signature)
    return page.signature


class Validation:
    """What a batch must not have missed when it is committed.

    Args:
        session: of the store.
        connection: of the batch's transaction, in which nothing was read yet.
        signed: pages of the batch with their signatures.

    Raises:
        NeedsExclusiveWriterError: the batch has too many URLs to be locked, or looks up samples of
            texts.
    """

    def __init__(
        self,
        session: Session,
        connection: Connection,
        signed: Sequence[tuple[Page, Signature]],
    ) -> None:
        if session.index.sampled:  # pieces of pages are looked up by their texts, not their minima
            raise NeedsExclusiveWriterError
        self._index, self._database = session.index, session.database
        self._connection = connection
        keys = {_lock_key(page.scope, url_key(page.url)) for page, _ in signed}
        self._since = self._database.lock(connection, sorted(keys))

    def look(self, batch: Batch) -> None:
        """Look at what others have committed while a batch was decided, before it is written.

        Raises:
            RetryableError: the batch has missed something.
        """
        self._batch = batch
        self._decided = [*batch.decided.values()]
        self._first_new = min((row.id for row in self._decided if not row.stored), default=_NONE)
        self._written = sorted(batch.changed)
        self._validate(self._database.committed_since(self._connection, self._since))

    def end(self) -> None:
        """Wait for one's turn to commit, and look again; nobody else commits before this one.

        Raises:
            RetryableError: the batch has missed something.
        """
        self._validate(
            self._database.take_commit_turn(self._connection, self._since, self._written)
        )

    def _validate(self, committed: Committed) -> None:
        self._since = committed.last
        if committed.ids is None or (committed.ids and self._has_missed(committed.ids)):
            line = f"{self._database.where}: others have committed what a batch has to meet"
            raise RetryableError(line, RetryReason.CONFLICT)

    def _has_missed(self, ids: Iterable[int]) -> bool:
        held = self._batch.pages.rows
        wanted = {*ids} if self._decided else {*ids} & held.keys()
        if not wanted.isdisjoint(self._written):
            return True
        decided = {row.id for row in self._decided}
        new: list[Row] = []
        for other in self._batch.pages.stored_now(wanted):
            if other.original_id in decided:
                return True
            if other.id not in held:
                new.append(other)
            elif other.id > self._first_new or not _stand_alike(other, held[other.id]):
                return True  # what is older has the smaller number
        return bool(new) and self._would_have_met(new)

    def _would_have_met(self, new: Sequence[Row]) -> bool:
        """Whether a page of the batch would have been compared with one that it has not read."""
        batch = self._batch
        now = {(row.scope, row.text_hash) for row in self._decided}
        # Of the copies of a text that leaves its group, one takes its place there.
        former = batch.pages.texts_of(self._decided) - now
        for other in new:
            text = other.scope, other.text_hash
            if text in former or (text in now and other.status != "exact"):
                return True
        fewest = batch.scheme.min_comparable_words
        mine = [row for row in self._decided if row.words >= fewest]
        originals = [row for row in new if row.is_original and row.words >= fewest]
        by_key: dict[int, list[Row]] = {}
        for other, keys in zip(originals, self._index.keys(originals).tolist(), strict=True):
            for key in keys:
                by_key.setdefault(key, []).append(other)
        for key in batch.lookup.full:  # older pages are looked at
            by_key.pop(key, None)
        for row, probes in zip(mine, self._index.probes(mine, batch.rules).tolist(), strict=True):
            others = {other.id: other for key in probes for other in by_key.get(key, ())}
            if worth_measuring(row, [*others.values()], batch.rules):
                return True
        return False


def _stand_alike(a: Row, b: Row) -> bool:
    """Whether two states of a row have one text, and one place in a group."""
    places = [(row.text_hash, row.status, row.original_id) for row in (a, b)]
    return places[0] == places[1]


def _lock_key(scope: str, url: bytes) -> int:
    """Lock number of a URL, that other names are unlikely to have; signed, as SQL has them."""
    name = b"\0".join((scope.encode("utf-8", "replace"), url))
    return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "little", signed=True)
