"""An export that comes into a store with pages of its own, which decides those of the export."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import text

from shingling.admin.records import batches
from shingling.admin.reviews import take_reviews
from shingling.console.output import print_lines
from shingling.errors import SchemeError, StoreError
from shingling.rules.own_fields import OwnFields
from shingling.sketch import Signature
from shingling.store.model import Page
from shingling.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from shingling.admin.records import Header, Record
    from shingling.rules.rules import Rules
    from shingling.store.model import Verdict
    from shingling.store.runs import Run
    from shingling.store.session import Session

PAGES_PER_TRANSACTION = 256
"""Pages that an import decides in one transaction."""

_PROBLEMS_KEPT = 5
_KNOWN = text(
    "UPDATE pages SET first_seen = CASE WHEN first_seen > :time THEN :time ELSE first_seen END,"
    " came_out = CASE WHEN came_out = :run AND :waits THEN NULL ELSE came_out END"
    " WHERE id = :page_id"
)


@dataclass
class Imported:
    """What became of the lines of a file.

    Args:
        counts: pages by their verdict.
        kept: pages that are near or exact, and kept for what they say.
        bad: number of lines that no page could be made of.
        problems: places of the first of them in the file, and what is wrong with them.
    """

    counts: Counter[str] = field(default_factory=Counter)
    kept: int = 0
    bad: int = 0
    problems: list[tuple[str, str]] = field(default_factory=list)

    def add_problem(self, where: str, problem: str) -> None:
        """Count a line that no page could be made of."""
        self.bad += 1
        if len(self.problems) < _PROBLEMS_KEPT:
            self.problems.append((where, problem))

    def check(self, store: Store, pages: list[Page], rules: Rules, run: Run) -> list[Verdict]:
        """Have a store decide pages in their order, and count the verdicts."""
        verdicts = store.check(pages, rules=rules, run=run)
        self.counts.update(verdict.status for verdict in verdicts)
        self.kept = run.counts["kept_copies"]
        return verdicts


@contextmanager
def recorded(store: Store, spider: str, settings: dict[str, Any]) -> Iterator[Run]:
    """Record an import as a run of a name, with the settings that decide."""
    run = store.start_run(spider, settings)
    try:
        yield run
    except BaseException:
        with suppress(StoreError):  # the first error is the one to tell
            store.finish_run(run, "failed")
        raise
    store.finish_run(run, "finished")


def decide_export(
    session: Session,
    rules: Rules,
    header: Header,
    records: Iterable[Record],
    run_of: tuple[str, dict[str, Any]],
) -> Imported:
    """Decide the pages of an export as a crawl would, in their order.

    Signatures are taken as they are; under another scheme,
    pages are signed anew from their texts. Reviews are taken in before, so that they hold. Of all
    else the store keeps its own. Done again, it changes nothing.

    Args:
        session: of the store.
        rules: that pages are decided by.
        header: what the first record says.
        records: those behind it, as `read_export` gives them.
        run_of: name and settings of the run that this is recorded as.

    Returns:
        Verdicts; bad are pages that there is no text of to sign.

    Raises:
        SchemeError: the schemes differ, and the export has no texts.
        RecordError: a record is not what it should be; what was decided before it stays.
    """
    store = Store(session)
    scheme = header.scheme.id if header.scheme == store.scheme else None
    if scheme is None:
        _print_schemes(store, header)
    store.require(rules)
    imported, unended = Imported(), {None}
    with recorded(store, *run_of) as run:
        for batch in batches(records, PAGES_PER_TRANSACTION):
            if batch[0].kind == "run":
                unended.update(one.fields["id"] for one in batch if one.fields["outcome"] is None)
            elif batch[0].kind == "review":
                take_reviews(session, batch, rules)
            elif batch[0].kind == "page":
                kept = [record for record in batch if scheme or _has_text(record, imported)]
                pages = [_page(record, scheme) for record in kept]
                verdicts = imported.check(store, pages, rules, run)
                _keep_what_was_known(session, kept, verdicts, run, unended)
    return imported


def _keep_what_was_known(
    session: Session,
    kept: list[Record],
    verdicts: list[Verdict],
    run: Run,
    unended: Collection[int | None],
) -> None:
    """Note when pages were first seen, and whose items have not come out.

    They were decided as those that were seen last.
    """
    known = [
        {
            "page_id": verdict.page_id,
            "time": record.fields["first_seen"],
            "run": run.id,
            "waits": record.fields.get("came_out") in unended,
        }
        for record, verdict in zip(kept, verdicts, strict=True)
        if verdict.page_id is not None
    ]
    if known:
        session.database.write(lambda connection: connection.execute(_KNOWN, known), alone=True)


def _print_schemes(store: Store, header: Header) -> None:
    ids = f"the store has scheme {store.scheme.id}, the file {header.scheme.id}"
    if not header.texts:
        raise SchemeError(
            f"{ids} and no texts to sign anew: import it into a new store, or export it with texts"
        )
    store.scheme.canonical.require_packs()
    print_lines(f"{ids}: its pages are signed anew from their texts", error=True)


def _has_text(record: Record, imported: Imported) -> bool:
    if record.fields.get("text") is not None:
        return True
    imported.add_problem(record.where, "no text to sign anew")
    return False


def _page(record: Record, scheme: str | None) -> Page:
    """Page with its signature under a scheme; it is to be signed if that is None."""
    fields = record.fields
    signature = None
    if scheme is not None:
        minima = np.frombuffer(fields["minima"], dtype="<u4")
        signature = Signature(
            minima, fields["simhash"], fields["text_hash"], fields["words"], scheme
        )
    own = fields.get("fields")
    return Page(
        url=fields["url"],
        text=fields.get("text"),
        signature=signature,
        title=fields.get("title"),
        language=fields.get("language"),
        source=fields.get("source"),
        scope=fields["scope"],
        fetched=fields["last_seen"],
        fields=None if own is None else OwnFields.unpacked(own),
    )
