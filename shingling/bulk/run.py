"""A run: sign, decide, write; one that was interrupted after signing goes on with that."""

from __future__ import annotations

import json
import logging
import os
import shutil
import time
from collections import Counter
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

from shingling.bulk.deciding import decide_rows, repeated_ids
from shingling.bulk.inputs.sources import sources_of
from shingling.bulk.known import KnownRows, known_rows
from shingling.bulk.options import Options, Progress, Summary, order_field
from shingling.bulk.output import Output
from shingling.bulk.pairs import MAX_ROWS, keys_of
from shingling.bulk.signed_rows import RowsWriter, SignedRows
from shingling.bulk.signing import sign_all
from shingling.bulk.storing import put_into_store
from shingling.bulk.values import kept_values
from shingling.console.files import written_whole
from shingling.errors import BulkError
from shingling.files.tables import is_csv
from shingling.text.canonical import WordsLeft

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from shingling.arrays import Records
    from shingling.bulk.inputs.sources import Source
    from shingling.store.store import Store

logger = logging.getLogger(__name__)

_Rows = TypeVar("_Rows")

WORK_FOLDER = ".bulk"
"""Folder, inside the output folder, of a run that has not finished."""

_SUMMARY = "summary.json"
_MAX_TEXTS_LOOKED_AT = 100  # for a warning of lost words, with those too short for it


@overload
def deduplicate(
    inputs: str | Path | Iterable[str | Path],
    out: str | Path,
    options: Options | None = None,
    *,
    against: str | Path | None = None,
    store: Store | None = None,
    restart: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Summary: ...
@overload
def deduplicate(
    inputs: _Rows,
    out: None = None,
    options: Options | None = None,
    *,
    against: str | Path | None = None,
    store: Store | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> _Rows: ...
def deduplicate(
    inputs: Any,
    out: str | Path | None = None,
    options: Options | None = None,
    *,
    against: str | Path | None = None,
    store: Store | None = None,
    restart: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Any:
    """Remove the duplicates from a collection, as `Store.check` would find them row by row.

    Rows are decided greedily in their order: a row is a duplicate of the most similar original
    before it, never of another duplicate. Candidates share the key of a band of minima (Indyk and
    Motwani 1998), or a half of their SimHashes but for a few bits, and their texts are compared
    exactly. A run that was interrupted after all rows were signed goes on from there when it is
    called again with the same arguments; before that, it begins again.

    Args:
        inputs: one or more files of JSON lines, JSON arrays or CSV (plain, or compressed by gzip or
            Zstandard), Parquet, WARC and WET files, folders of texts or HTML, URLs of collections
            of MongoDB, or `-` for standard input. Without `out`, the rows themselves: a list or an
            iterator of dicts, which is read whole, a DataFrame of pandas or Polars, or a table of
            Arrow.
        out: folder for `kept`, `removed` and `groups` (`.jsonl` or `.parquet`), `bad.jsonl` and
            `summary.json`; it is created if necessary.
        options: what decides, and which resources the run may use.
        against: rows that are known: the URL or the file of a store, an exported store, the folder
            of another run, or an input. What is a duplicate of them is removed; they are not
            written.
        store: also gets all rows, with their ids as URLs: an empty one as they are decided here,
            others decide them by their own pages. Its scheme must be that of the options.
        restart: start again, whatever an earlier run has left in `out`.
        progress: called with each step of progress.

    Returns:
        The counts of the run, which `summary.json` has too; without `out`, the rows that stay, as
        the kind that they came in. Of these, rows without a text stay.

    Raises:
        BulkError: an input cannot be read, a disk is full, `out` has another run, or, with
            `Options.strict`, a row is bad.
        StoreError: the store cannot be written, or its index does not fit the rules.
    """
    options = options or Options()
    if store is not None:
        store.require(options.rules)
    known = known_rows(against, options)

    def run(sources: Sequence[Source], folder: Path, options: Options) -> Summary:
        everything = [*known.sources, *sources]
        watch = progress or (lambda _: None)
        return _Deduplication(folder, options, everything, known, store, watch).run(restart)

    if out is None:
        in_lines = replace(options, output="jsonl")
        return kept_values(inputs, in_lines, lambda source, folder: run([source], folder, in_lines))
    names = [*map(str, [inputs] if isinstance(inputs, str | Path) else inputs)]
    if against is not None and str(against) in names:
        raise BulkError("what is known (against) is an input, too: none of its rows would stay")
    if options.delimiter and options.format != "csv" and not any(map(is_csv, names)):
        raise BulkError(
            "the delimiter is for CSV, and no input is CSV; --format csv says that it is"
        )
    return run(sources_of(names, options), Path(out), options)


@dataclass(frozen=True)
class _Deduplication:
    out: Path
    options: Options
    sources: Sequence[Source]
    known: KnownRows
    store: Store | None
    progress: Callable[[Progress], None]

    @property
    def work(self) -> Path:
        return self.out / WORK_FOLDER

    def _prepare(self, restart: bool) -> None:
        """Make the work folder, or keep that of a run to go on with.

        Raises:
            BulkError: the output folder has another run.
        """
        problem = ""
        if restart:
            shutil.rmtree(self.work, ignore_errors=True)
        elif self._mark.exists():
            if self._mark.read_text(encoding="utf-8") != self._plan:
                problem = "an interrupted run with other inputs or options is there"
        elif not self.work.exists() and (self.out / _SUMMARY).exists():
            problem = "a run has ended there"
        if problem:
            raise BulkError(f"{self.out}: {problem}; --restart begins again")
        self.work.mkdir(exist_ok=True)

    @property
    def _mark(self) -> Path:
        """File that tells which inputs and options all rows are signed of."""
        return self.work / "signed-all"

    @property
    def _plan(self) -> str:
        inputs = [[source.name, source.identity] for source in self.sources]
        return json.dumps({"inputs": inputs, "options": self.options.as_dict()})

    def run(self, restart: bool) -> Summary:
        """Run all steps, or those that an interrupted run has left.

        Raises:
            BulkError: `out` is a file, a disk is full, or the like, or what the steps raise.
        """
        if self.out.is_file():
            raise BulkError(f"{self.out}: it is a file; the output is a folder")
        try:
            self.out.mkdir(parents=True, exist_ok=True)
            with _lock(self.out):
                self._prepare(restart)
                return self._run_steps()
        except OSError as error:
            where = error.filename or self.out
            raise BulkError(
                f"{where}: {error.strerror or error}; give the same command again"
            ) from error

    def _run_steps(self) -> Summary:
        """Sign the rows if that is not done, then do all other steps."""
        began = time.monotonic()
        options, sources, known = self.options, self.sources, len(self.known.sources)
        if not self._mark.exists():
            writer = RowsWriter(self.work / "signed", keys_of(options))
            self.known.sign(writer, options.fields.text)
            sign_all(sources, options, writer, self.work, self.progress, known)
            # What comes out of a pipe or a database may be other rows the next time.
            if all(source.identity is not None for source in sources):
                with written_whole(self._mark) as file:
                    file.write(self._plan.encode())
        signed = SignedRows(self.work / "signed", sources, options, known)
        with closing(signed):
            self._look_at_known(signed)
            with_same_id = repeated_ids(signed)
            signed.forget_ids(with_same_id)
            self._look_at_words_left(signed)
            decided = self._decide(signed)
            stored = None
            if self.store is not None:
                report = self._report("storing", len(signed))
                stored = put_into_store(self.store._session, signed, decided, options, report)
            output = Output(signed, decided, self.out, options)
            summary = output.write(self._report("writing", len(signed)))
            if warning := output.removed_too_many(summary):
                logger.warning("%s", warning)
            summary.same_id = len(with_same_id)
            summary.same_id_example = "".join(signed.ids(signed.records_of(with_same_id[:1])))
        summary.stored = stored
        summary.seconds = time.monotonic() - began
        with written_whole(self.out / _SUMMARY) as file:
            text = json.dumps(summary.as_dict(), ensure_ascii=False, indent=2)
            file.write(f"{text}\n".encode("utf-8", "replace"))
        shutil.rmtree(self.work)
        return summary

    def _look_at_known(self, signed: SignedRows) -> None:
        """Warn of known rows that cannot be compared.

        Raises:
            BulkError: none can.
        """
        reasons = Counter(reason for source, _, reason, _ in signed.bad() if source < signed.known)
        if reasons:
            message = (
                f"{signed.name(0)}: {reasons.total():,} known rows cannot be compared:"
                f" {', '.join(reasons)}"
            )
            if not signed.column("words")[: signed.first].any():
                raise BulkError(message)
            logger.warning("%s", message)

    def _report(self, phase: str, total: int) -> Callable[[int], None]:
        return lambda done: self.progress(Progress(phase, done, done / max(total, 1)))

    def _look_at_words_left(self, signed: SignedRows) -> None:
        """Warn if the scheme leaves little of the first texts; a store does so by itself."""
        words_left = WordsLeft(self.options.scheme.canonical)
        for row in range(signed.first, min(len(signed), signed.first + _MAX_TEXTS_LOOKED_AT)):
            if self.store is not None or not words_left.is_open:
                return
            words_left.count_words_of(signed.text(row))

    def _decide(self, signed: SignedRows) -> Records:
        """Decide all rows.

        Raises:
            BulkError: there are too many.
        """
        rows = len(signed)
        if rows > MAX_ROWS:
            raise BulkError(f"{rows:,} rows are more than one run takes")
        field = order_field(self.options)
        if field and signed.column("order")[signed.first :].min(initial=inf) == inf:
            logger.warning("no row has a number or a time in %s: they keep their order", field)
        report = self._report("deciding", rows)
        report(0)
        return decide_rows(signed, self.options, lambda share: report(int(share * rows)))


@contextmanager
def _lock(out: Path) -> Iterator[None]:
    """Keep other processes out of a folder; without file locks (Windows), do nothing.

    Raises:
        BulkError: another process is writing there.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    folder = os.open(out, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise BulkError(f"{out}: another run is writing there") from None
    finally:
        os.close(folder)
