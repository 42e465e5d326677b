"""A whole run: sign, sort, decide, write; each step goes on where it was interrupted."""

from __future__ import annotations

import json
import os
import shutil
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shingling.bulk.bands import NONE, find_meetings, first_of_equal
from shingling.bulk.chunks import Signed
from shingling.bulk.files.output import DUPLICATE_ID, Outcome
from shingling.bulk.files.sources import sources_of
from shingling.bulk.greedy import Greedy
from shingling.bulk.options import Options, Progress, Summary
from shingling.bulk.signing.inputs import sign_all
from shingling.bulk.storing import put_into_store
from shingling.errors import BulkError
from shingling.sketch.banding import Banding
from shingling.store import Index
from shingling.text import plain_line

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from shingling.bulk.bands import Meetings
    from shingling.store import Store

WORK = ".bulk"
"""The folder of a run that has not ended, within that of its output."""

_SUMMARY = "summary.json"
_LAYOUT = 1  # of the work folder


def deduplicate(
    inputs: Iterable[str],
    out: str | Path,
    options: Options | None = None,
    *,
    store: Store | None = None,
    restart: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Summary:
    """Deduplicate a collection: the result is that of feeding it to `Store.check`, row by row.

    A run that was interrupted goes on where it was, when it is called again with the same
    arguments.

    Args:
        inputs: files of JSON lines or CSV (plain, or packed by gzip or Zstandard) or Parquet,
            WARC and tar files, folders of HTML, SQLAlchemy URLs, or `-` for standard input.
        out: folder for `kept`, `removed` and `groups`, `.jsonl` or `.parquet`, for `bad.jsonl`
            and `summary.json`; it is made.
        options: what decides, and what the run may use.
        store: where the rows are put besides, with their ids as URLs; of the version of the
            scheme, the store's own holds.
        restart: begin anew, whatever is in the folder from another run.
        progress: is told how far the run has come.

    Returns:
        What came of the collection.

    Raises:
        BulkError: an input cannot be read, a disk is full, or the folder holds another run.
        StoreError: the store cannot be written, or does not find what the rules ask for.
    """
    options = options or Options()
    if store is not None:
        store.require(options.rules)
        if options.scheme.is_version_of(store.scheme):
            options = replace(options, scheme=store.scheme)
    run = _Run([*inputs], Path(out), options, store, progress or (lambda _: None))
    try:
        with run.locked(restart):
            return run.run()
    except OSError as error:
        where = plain_line(str(error.filename or out))
        raise BulkError(
            f"{where}: {error.strerror or error}; the same command goes on from here"
        ) from error


class _Run:
    def __init__(
        self,
        inputs: list[str],
        out: Path,
        options: Options,
        store: Store | None,
        progress: Callable[[Progress], None],
    ) -> None:
        self._store = store
        self._out = out
        self._work = out / WORK
        self._options = options
        self._progress = progress
        self._sources = sources_of(inputs, options)
        index = Index.for_rules(options.rules, options.scheme).keys_of
        self._banding = None
        if options.rules.method != "exact":
            assert isinstance(index, Banding)
            self._banding = index

    @contextmanager
    def locked(self, restart: bool) -> Iterator[None]:
        """Hold the work folder of this run; make it, or take it up.

        Raises:
            BulkError: there is another run's, or another process is at it.
        """
        plan = {
            "layout": _LAYOUT,
            "inputs": [[source.name, source.identity] for source in self._sources],
            "options": self._options.shown(),
        }
        self._out.mkdir(parents=True, exist_ok=True)
        file = self._work / "plan.json"
        with _lock(self._out):
            if restart:
                shutil.rmtree(self._work, ignore_errors=True)
            elif file.exists():
                if json.loads(file.read_text(encoding="utf-8")) != plan:
                    raise BulkError(
                        f"{plain_line(str(self._out))}: an interrupted run with other inputs or"
                        " options is there; --restart begins anew"
                    )
            elif (self._out / _SUMMARY).exists():
                raise BulkError(
                    f"{plain_line(str(self._out))}: a run has ended there; --restart begins anew"
                )
            self._work.mkdir(exist_ok=True)
            if not file.exists():
                part = file.with_suffix(".part")
                part.write_text(json.dumps(plan), encoding="utf-8")
                part.replace(file)
            yield

    def run(self) -> Summary:
        """Do what is left to be done."""
        began = time.monotonic() - self._spent()
        try:
            chunks = self._sign()
            names = [source.name for source in self._sources]
            signed = Signed(self._work / "signed", chunks, names, self._options.fields.text)
            try:
                greedy = self._decide(signed)
                stored = self._put_into_store(signed, greedy)
                form = self._options.output
                outcome = Outcome(signed, greedy.decided, self._out, form)
                summary = outcome.write(self._noted("writing", len(signed)))
            finally:
                signed.close()
        finally:
            self._note_spent(time.monotonic() - began)
        summary.stored = stored
        summary.seconds = time.monotonic() - began
        shown = json.dumps(summary.as_dict(), ensure_ascii=False, indent=2)
        (self._out / _SUMMARY).write_text(shown + "\n", encoding="utf-8")
        shutil.rmtree(self._work)
        return summary

    def _spent(self) -> float:
        """Return the seconds that interrupted runs have taken."""
        try:
            return float((self._work / "seconds").read_text(encoding="ascii"))
        except (OSError, ValueError):
            return 0.0

    def _note_spent(self, seconds: float) -> None:
        try:
            (self._work / "seconds").write_text(f"{seconds:.3f}", encoding="ascii")
        except OSError:  # the error that ends the run is the one to tell
            return

    def _noted(self, phase: str, total: int) -> Callable[[int], None]:
        return lambda done: self._progress(Progress(phase, done, done / max(total, 1)))

    def _sign(self) -> int:
        """Sign all inputs; return the number of chunks."""
        folder = self._work / "signed"
        marker = self._work / "signed.json"
        if marker.exists():
            number: int = json.loads(marker.read_text(encoding="utf-8"))
            return number
        folder.mkdir(exist_ok=True)
        number = sign_all(self._sources, self._options, self._banding, folder, self._progress)
        marker.write_text(json.dumps(number), encoding="utf-8")
        return number

    def _decide(self, signed: Signed) -> Greedy:
        rows = len(signed)
        if rows >= int(NONE):
            raise BulkError(f"{rows:,} rows are more than one run takes: use Spark")
        options, memory = self._options, self._options.memory
        self._progress(Progress("sorting", 0, 0.0))
        nobody = np.zeros(rows, bool)
        left_out = first_of_equal(signed, "id", nobody, memory) != NONE
        if options.strict and left_out.any():
            name, line = signed.place(int(left_out.argmax()))
            raise BulkError(f"{plain_line(name)}, line {line:,}: {DUPLICATE_ID} (--strict)")
        twins = self._twins(signed, left_out, memory)
        meetings = None
        if self._banding is not None:
            meetings = self._meetings(signed, left_out, twins)
        greedy = Greedy(signed, twins, left_out, meetings, options, self._work)
        greedy.run(self._noted("deciding", rows))
        return greedy

    def _put_into_store(self, signed: Signed, greedy: Greedy) -> Counter[str] | None:
        if self._store is None:
            return None
        note = self._noted("storing", len(signed))
        return put_into_store(self._store, signed, greedy, self._options, note)

    def _twins(
        self, signed: Signed, left_out: NDArray[np.bool_], memory: int
    ) -> NDArray[np.uint32]:
        """Return the first row with the same text; rows that are too short have none."""
        fewest = self._options.fewest_words
        ignored = left_out.copy()
        for number, start, stop in signed.chunks():
            ignored[start:stop] |= signed.load(number, "rows")["words"] < fewest
        return first_of_equal(signed, "text", ignored, memory)

    def _meetings(
        self, signed: Signed, left_out: NDArray[np.bool_], twins: NDArray[np.uint32]
    ) -> Meetings:
        assert self._banding is not None
        able = ~left_out & (twins == NONE)
        fewest = self._options.scheme.fewest_words
        for number, start, stop in signed.chunks():
            able[start:stop] &= signed.load(number, "rows")["words"] >= fewest
        folder = self._work / "meetings"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        rows = len(signed)

        def note(share: float) -> None:
            self._progress(Progress("sorting", int(share * rows), share))

        return find_meetings(signed, able, self._banding.bands, folder, self._options.memory, note)


@contextmanager
def _lock(out: Path) -> Iterator[None]:
    """Keep other processes from a folder, where the system knows locks.

    Raises:
        BulkError: another process is at it.
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
        raise BulkError(f"{plain_line(str(out))}: another run is writing there") from None
    finally:
        os.close(folder)
