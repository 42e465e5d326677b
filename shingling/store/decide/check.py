"""Decide a batch of pages and store it, in one transaction."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from shingling.errors import SchemeError
from shingling.sketch import sign
from shingling.store.decide.batch import Batch
from shingling.store.decide.decide import decide
from shingling.store.decide.locks import Validation
from shingling.store.decide.write import write_batch
from shingling.store.runs import write_counts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from shingling.rules.rules import Rules
    from shingling.sketch import Scheme, Signature
    from shingling.store.model import Page, Verdict
    from shingling.store.runs import Run
    from shingling.store.session import Session


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
    signatures = [_signature(page, session.scheme) for page in pages]
    signed = [
        (page, signature)
        for page, signature in zip(pages, signatures, strict=True)
        if signature is not None and signature.words
    ]
    for page, _ in signed:
        if session.words_left.is_open and page.main_text is not None:
            session.words_left.note(page.main_text.text)
    rules_id = None  # pages are decided again by an index that finds what the rules look for
    if not (any_index and session.index.shortfall(rules)):
        rules_id = session.number_of(rules, dry_run=dry_run)

    def decide_all(connection: Connection) -> tuple[list[Verdict], Counter[str], Batch]:
        if not any_index:
            session.index.require(rules)
        alone = session.database.alone
        validation = None if alone else Validation(session, connection, signed)
        batch = Batch(session, connection, rules, rules_id=rules_id, run=run)
        batch.read_for(signed)
        verdicts = [
            decide(page, signature, batch)
            for page, signature in zip(pages, signatures, strict=True)
        ]
        if validation is not None:
            validation.look(batch)
        write_batch(batch)
        counts = Counter(verdict.status for verdict in verdicts)
        if batch.lookup.full:
            counts["full_keys"] = len(batch.lookup.full)
        if run is not None:
            counts = run.counts + counts
            write_counts(connection, run.id, counts)
        if dry_run:
            raise _UndoneError(verdicts)
        if validation is not None:
            validation.end()
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


def _signature(page: Page, scheme: Scheme) -> Signature | None:
    if page.signature is None:
        return None if page.main_text is None else sign(page.main_text.text, scheme)
    require_scheme(page.signature, scheme)
    return page.signature


def require_scheme(signature: Signature, scheme: Scheme) -> None:
    """Check that a signature was made under a scheme.

    Raises:
        SchemeError: it was made under another one.
    """
    if signature.scheme != scheme.id:
        raise SchemeError(
            f"a signature of scheme {signature.scheme}, the store has {scheme.id}:"
            " sign by Store.scheme"
        )
