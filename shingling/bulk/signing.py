"""Step 2 of a run: workers sign the parts of the inputs, which are stored in their order.

A row that ends its worker or hangs is left out.
"""

from __future__ import annotations

import logging
import queue
from collections import Counter, deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from shingling.bulk.options import Progress
from shingling.bulk.rows import NoTextError, id_of_row, place_of_row, sign_row, without_text
from shingling.bulk.signed_rows import ROW_RECORD, SignedPart
from shingling.errors import BulkError, ExtractionError
from shingling.extraction.extractors import find_extractor
from shingling.extraction.limits import limit_memory
from shingling.extraction.pages import Fetched
from shingling.extraction.processes import Worker, WorkerDiedError, WorkerTimeoutError
from shingling.json_values import to_json
from shingling.sketch import sign
from shingling.store.ids import BadRowError
from shingling.text import plain_line, without_marks

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
    from pathlib import Path

    from shingling.bulk.inputs.payloads import Payload, RawRow
    from shingling.bulk.inputs.sources import Source
    from shingling.bulk.options import Fields, Options
    from shingling.bulk.signed_rows import RowsWriter
    from shingling.extraction.main_text import MainText

logger = logging.getLogger(__name__)

_PARTS_AHEAD = 3  # of each worker, that it has signed or is to sign
_NO_ROWS = "there are no rows in it"
_MAX_FIELDS_SHOWN = 20
_MAX_NAME_SHOWN = 40  # characters: without a header, a text may stand where names do
_OF_CHATS = ("messages", "conversations")  # fields that have the texts in data sets of chats
_MAX_TRIES = 3  # of a worker to get ready, and of a row at which workers end


def sign_all(
    sources: Sequence[Source],
    options: Options,
    writer: RowsWriter,
    work: Path,
    progress: Callable[[Progress], None],
    known: int,
) -> None:
    """Sign all rows of all inputs.

    Args:
        sources: the inputs.
        options: how.
        writer: of the signed rows.
        work: folder for files of the workers.
        progress: is told how far it has come.
        known: number of the first inputs that are known before the run, and may have no row.

    Raises:
        BulkError: a part could not be signed, or one row of a strict run, or no row has a
            text.
        OSError: the disk is full, or the like.
    """
    find_extractor(options.extractor).load_function()  # a wrong one is said before anything is read
    problems = dict.fromkeys(range(known, len(sources)), _NO_ROWS)  # of inputs
    signer = Signer(options, work / "worker.row")
    for task, signed in in_order(tasks_of(sources), signer):
        bad = writer.append(signed, task.source)
        if len(signed.rows) > len(signed.without_text) * ROW_RECORD.itemsize:
            problems[task.source] = ""
        elif bad and problems.get(task.source) == _NO_ROWS:
            problems[task.source] = _why_bad(bad[0], signed.fields, options.fields)
        if signed.bad and options.strict:
            line, reason = bad[0]
            name = sources[task.source].name
            raise BulkError(f"{name}, line {line:,}: {reason} (--strict)")
        progress(Progress("signing", writer.rows, task.share))
    messages = [
        f"{sources[number].name}: {problem}" for number, problem in problems.items() if problem
    ]
    if all(problems.values()):
        raise BulkError("; ".join(messages))
    for message in messages:
        logger.warning("%s", plain_line(message))


def _why_bad(bad: tuple[int, str], names: Sequence[str], fields: Fields) -> str:
    """Say why an input has no row that can be used, by its first bad row."""
    line, reason = bad
    if not names or {fields.text, fields.html} & {*names}:
        return f"no row can be used; line {line:,}: {reason}"
    shown = ", ".join(name[:_MAX_NAME_SHOWN] for name in names[:_MAX_FIELDS_SHOWN])
    example = next((f", such as --text-field {name}" for name in _OF_CHATS if name in names), "")
    return (
        f"no row has the field {fields.text} or {fields.html}; the fields are: {shown}; name one"
        f" with --text-field{example}"
    )


def tasks_of(sources: Sequence[Source]) -> Generator[Task]:
    """Yield the parts of all inputs."""
    sizes = [source.size for source in sources]
    total = sum(size or 0 for size in sizes)
    is_known = None not in sizes and total > 0
    before = 0
    for number, source in enumerate(sources):
        for payload, position in source.parts():
            yield Task(number, payload, (before + position) / total if is_known else None)
        before += source.size or 0


@dataclass
class Task:
    """A part of an input to be signed.

    Args:
        source: number of the input.
        payload: the part.
        share: of all inputs that is before it, 0 to 1; None if their sizes are not known.
        skipped: places of rows that are not to be read, and why.
    """

    source: int
    payload: Payload
    share: float | None
    skipped: dict[int, str] = field(default_factory=dict)


def in_order(tasks: Iterable[Task], signer: Signer) -> Iterator[tuple[Task, SignedPart]]:
    """Yield each part as it is signed by worker processes, or by this one if there are none."""
    number = signer.options.workers
    if not number:
        for task in tasks:
            yield task, signer.sign(task, lambda _: None)
        return
    files = [signer.row_file.with_suffix(f".{place}") for place in range(number)]
    lanes = [_Lane(replace(signer, row_file=file)) for file in files]
    free: queue.SimpleQueue[_Lane] = queue.SimpleQueue()
    for lane in lanes:
        free.put(lane)

    def signed(task: Task) -> SignedPart:
        lane = free.get()
        try:
            return lane.sign(task)
        finally:
            free.put(lane)

    threads = ThreadPoolExecutor(number, "bulk")
    waiting: deque[tuple[Task, Future[SignedPart]]] = deque()
    try:
        for task in tasks:
            waiting.append((task, threads.submit(signed, task)))
            while len(waiting) > _PARTS_AHEAD * number or (waiting and waiting[0][1].done()):
                done, future = waiting.popleft()
                yield done, future.result()
        for done, future in waiting:
            yield done, future.result()
    finally:
        for lane in lanes:
            lane.kill()
        threads.shutdown(cancel_futures=True)
        for lane in lanes:
            lane.end()


class _Lane:
    """A worker process that signs one part after the other.

    Args:
        signer: how, with a file of its own.
    """

    def __init__(self, signer: Signer) -> None:
        self._signer = signer
        signer.row_file.unlink(missing_ok=True)  # a worker of a killed run may still note rows
        self._worker: Worker | None = None
        self._is_killed = False

    def sign(self, task: Task) -> SignedPart:
        """Have a part signed, without the rows at which workers end.

        Raises:
            BulkError: workers do not start, or die before they come to a row.
        """
        deaths: Counter[int] = Counter()  # of workers, by row
        while True:
            self._signer.row_file.write_bytes(np.int64(-1).tobytes())  # no row so far
            try:
                worker = self._running_worker()
                signed: SignedPart = worker.ask(task, self._signer.options.timeout, self._row)
            except WorkerDiedError as error:
                self.end()  # its pipe may be closed a moment before the process has ended
                if self._is_killed:
                    raise
                row = self._row()
                deaths[row] += 1
                if row >= 0 and isinstance(error, WorkerTimeoutError):
                    task.skipped[row] = "timeout"
                elif deaths[row] == _MAX_TRIES:
                    if row < 0:
                        raise BulkError(
                            "worker processes do not start, or end before they read a row; their"
                            " errors are above"
                        ) from error
                    task.skipped[row] = "worker died"
                continue
            if worker.has_grown:
                worker.end()
            return signed

    def _running_worker(self) -> Worker:
        """Start a worker if there is none, or only one that has ended."""
        worker = self._worker
        if worker is None or worker.is_dead:
            worker = self._worker = Worker()
            if self._is_killed:  # by another thread, which may not have seen this worker
                worker.kill()
            worker.start(self._signer)
        return worker

    def kill(self) -> None:
        """End the worker for good, also one that is just being started."""
        self._is_killed = True
        if self._worker is not None:
            self._worker.kill()

    def end(self) -> None:
        """Let go of the worker."""
        if self._worker is not None:
            self._worker.end()

    def _row(self) -> int:
        return int(np.fromfile(self._signer.row_file, np.int64)[0])


@dataclass(frozen=True)
class Signer:
    """How parts of inputs are signed.

    Args:
        options: of the run.
        row_file: in which a worker process notes the row that it is at.
    """

    options: Options
    row_file: Path

    @cached_property
    def _extract(self) -> Callable[..., MainText]:
        """Function that extracts the main text of HTML."""
        from shingling.extraction.main_text import extract_page  # most runs read texts

        extractor = find_extractor(self.options.extractor)
        return partial(
            extract_page,
            max_bytes=self.options.max_bytes,
            parser=extractor.load_parser(),
            extractor=extractor.load_function(),
        )

    def prepare(self) -> Callable[[Task], SignedPart]:
        """Make a worker process ready, which notes each row in the file."""
        limit_memory(self.options.worker_memory)
        sign("", self.options.scheme)  # makes tables, which no row is to be late for
        shared = np.memmap(self.row_file, np.int64, "r+")
        return partial(self.sign, note=partial(shared.__setitem__, 0))

    def sign(self, task: Task, note: Callable[[int], None]) -> SignedPart:
        """Sign a part of an input.

        Args:
            task: the part.
            note: is told the place of each row before it is read.

        Raises:
            OSError: the part cannot be read.
        """
        part = SignedPart()
        for place, row in enumerate(task.payload.rows()):
            note(place)
            part.lines = row.line
            try:
                if place in task.skipped:
                    raise BadRowError(task.skipped[place])
                if isinstance(row.values, dict):
                    self.sign_row(row, row.values, part)
                elif row.values:
                    raise BadRowError(row.values)
            except BadRowError as error:
                part.bad.append((row.line, str(error)))
                if isinstance(row.values, dict):
                    part.fields = part.fields or tuple(row.values)
            except MemoryError:
                part.bad.append((row.line, "too much memory"))
        return part

    def sign_row(self, row: RawRow, values: dict[str, Any], part: SignedPart) -> None:
        """Sign a row of these values, and add it to its part.

        Raises:
            BadRowError: it cannot be signed.
        """
        name = (id_of_row(values, self.options) or "").encode()
        signature = sign_row(values, self.options)
        again = (row.offset, row.length) if row.length else None
        if signature is None:
            try:
                values, again = self._extracted(row, values), None
                signature = sign_row(values, self.options)
            except NoTextError as error:
                part.without_text.append((row.line, str(error)))
                part.fields = part.fields or tuple(values)
                signature = sign("", self.options.scheme)
        if signature is None:
            raise BadRowError("no main text")
        order = place_of_row(values, self.options)
        part.add_row(row.line, name, signature, again or to_json(values), order)

    def _extracted(self, row: RawRow, values: dict[str, Any]) -> dict[str, Any]:
        """Fields of a row of HTML with main text, title and language.

        Raises:
            NoTextError: it has neither HTML nor a page.
        """
        fields = self.options.fields
        fetched = row.page
        if fetched is None:
            html = values.get(fields.html)
            if not isinstance(html, str) or not html.strip():
                raise NoTextError(without_text(values, fields))
            url = values.get("url")
            fetched = Fetched(html, is_html=True, url=url if isinstance(url, str) else None)
        try:
            page = self._extract(fetched.body, fetched.url, encoding=fetched.encoding)
        except ExtractionError as error:
            raise BadRowError(error.reason.replace("_", " ")) from error
        kept = {name: value for name, value in values.items() if name != fields.html}
        for name, value in (("title", page.title), ("language", page.language)):
            if kept.get(name) in (None, ""):
                kept[name] = value
        return {**kept, fields.text: without_marks(page.text)}
