"""Step 2 of a run: workers sign the parts of the inputs, which are stored in their order.

A row that ends its worker or hangs is left out.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import mmap
import queue
import struct
import threading
from collections import Counter, deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from shingling.bulk.inputs.payloads import FileLines
from shingling.bulk.options import Order, Progress
from shingling.bulk.signed_rows import IN_LINES, ROW_RECORD, SignedPart
from shingling.errors import BulkError
from shingling.extraction.extractors import find_extractor
from shingling.extraction.limits import limit_memory
from shingling.extraction.pages import Fetched, PageExtractor
from shingling.extraction.processes import (
    Worker,
    WorkerDiedError,
    WorkerTimeoutError,
)
from shingling.files.json_values import to_json
from shingling.sketch import FUNCTIONS, sign
from shingling.store.ids import USUAL_ID_FIELDS, BadRowError, id_of
from shingling.text import clean, plain_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from shingling.arrays import Minima
    from shingling.bulk.inputs.payloads import Payload, RawRow
    from shingling.bulk.inputs.sources import Source
    from shingling.bulk.options import Fields, Options
    from shingling.bulk.signed_rows import RowsWriter
    from shingling.sketch import Scheme, Signature
    from shingling.sketch.banding import Banding

logger = logging.getLogger(__name__)

_NUMBERS = ("simhash", "words", "line", "offset", "length", "id_length")  # of a row
_PLACE = struct.Struct("<q")  # of a row, as a worker notes it in its file
_PARTS_AHEAD = 3  # of each worker, that it has signed or is to sign
_NO_ROWS = "there are no rows in it"
_MAX_FIELDS_SHOWN = 20
_MAX_TRIES = 3  # of a worker to get ready, and of a row at which workers end


def sign_all(
    sources: Sequence[Source],
    options: Options,
    banding: Banding | None,
    writer: RowsWriter,
    work: Path,
    progress: Callable[[Progress], None],
    known: int = 0,
) -> None:
    """Sign all rows of all inputs.

    Args:
        sources: the inputs.
        options: how.
        banding: what candidates are found by, or None.
        writer: of the signed rows.
        work: folder for files of the workers.
        progress: is told how far it has come.
        known: number of the first inputs that are known before the run, and may have no row.

    Raises:
        BulkError: a part could not be signed, or one row of a strict run, or there is no row.
        OSError: the disk is full, or the like.
    """
    found = find_extractor(options.extractor)
    found.load()  # a wrong one is said before anything is read
    extractor = PageExtractor(
        options.scheme, found, options.max_bytes, worker_memory=options.worker_memory
    )
    signer = Signer(extractor, options.fields, banding, Order.by(options))
    without = dict.fromkeys(range(known, len(sources)), _NO_ROWS)  # what is wrong with inputs
    for task, signed in _in_order(_tasks(sources), signer, options, work):
        bad = writer.append(signed, task.source)
        if len(signed.rows):
            without[task.source] = ""
        elif bad and without.get(task.source) == _NO_ROWS:
            without[task.source] = _why_bad(bad[0], signed.fields, options.fields)
        if bad and options.strict:
            line, reason = bad[0]
            name = plain_line(sources[task.source].name)
            raise BulkError(f"{name}, line {line:,}: {reason} (--strict)")
        progress(Progress("signing", writer.rows, task.share))
    said = [f"{plain_line(sources[one].name)}: {why}" for one, why in without.items() if why]
    if all(without.values()):
        raise BulkError("; ".join(said))
    for one in said:
        logger.warning("%s", one)


def _why_bad(bad: tuple[int, str], names: Sequence[str], fields: Fields) -> str:
    """Say why an input has no row that can be used, by its first bad row."""
    line, reason = bad
    if not names or {fields.text, fields.html} & {*names}:
        return f"no row can be used; line {line:,}: {reason}"
    shown = ", ".join(names[:_MAX_FIELDS_SHOWN])
    return plain_line(
        f"no row has the field {fields.text} or {fields.html}; the fields are: {shown}; name one"
        " with --text-field"
    )


def _tasks(sources: Sequence[Source]) -> Iterator[Task]:
    """Yield the parts of all inputs."""
    sizes = [source.size for source in sources]
    total = sum(size or 0 for size in sizes)
    is_known = None not in sizes and total > 0
    before = 0
    for number, source in enumerate(sources):
        for payload, share in source.parts():
            done = (before + (share or 0.0) * (source.size or 0)) / total if is_known else None
            yield Task(number, payload, done)
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


def _in_order(
    tasks: Iterator[Task], signer: Signer, options: Options, work: Path
) -> Iterator[tuple[Task, SignedPart]]:
    """Yield each part as it is signed by worker processes, or by this one if there are none."""
    number = options.workers
    if not number:
        for task in tasks:
            yield task, sign_part(task, signer, lambda _: None)
        return
    lanes = [
        _Lane(signer, work / f"worker-{place}.row", options.timeout) for place in range(number)
    ]
    free: queue.SimpleQueue[_Lane] = queue.SimpleQueue()
    for lane in lanes:
        free.put(lane)

    def signed(task: Task) -> SignedPart:
        lane = free.get()
        try:
            return lane.sign(task)
        except (BulkError, MemoryError, OSError):
            raise
        except Exception as error:  # whatever it is, the run must hear of it
            raise BulkError(str(error) or type(error).__name__) from error
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
        signer: how.
        row_file: in which the worker notes the row that it is at.
        timeout: seconds after which a row is given up.
    """

    def __init__(self, signer: Signer, row_file: Path, timeout: float) -> None:
        self._signer = replace(signer, row_file=row_file)
        self._row_file = row_file
        self._row_file.unlink(missing_ok=True)  # a worker of a killed run may still note rows
        self._timeout = timeout
        self._lock = threading.Lock()  # one thread starts the worker, another one may kill it
        self._worker: Worker | None = None
        self._is_killed = False

    def sign(self, task: Task) -> SignedPart:
        """Have a part signed, without the rows at which workers end.

        Raises:
            BulkError: workers do not start, or die before they come to a row.
        """
        deaths: Counter[int] = Counter()  # of workers, by row
        while True:
            worker = self._worker
            if worker is None or worker.is_dead:
                worker = self._started()
            self._write_row(-1)
            try:
                signed: SignedPart = worker.ask(task, self._timeout, self._row)
            except WorkerDiedError as error:
                worker.end()  # its pipe may be closed a moment before the process has ended
                if self._is_killed:
                    raise
                row = self._row()
                deaths[row] += 1
                if row >= 0 and isinstance(error, WorkerTimeoutError):
                    task.skipped[row] = "timeout"
                elif deaths[row] == _MAX_TRIES:
                    if row < 0:
                        raise BulkError("worker processes die before they read a row") from error
                    task.skipped[row] = _shown("worker_died")
                continue
            if worker.has_grown:
                worker.end()
            return signed

    def _started(self) -> Worker:
        """Start a worker instead of the one before."""
        for _ in range(_MAX_TRIES):
            self._write_row(-1)
            worker = Worker()
            with self._lock:
                self._worker = worker
                if self._is_killed:
                    worker.kill()
            with contextlib.suppress(WorkerDiedError):
                worker.start(self._signer)
                return worker
            if self._is_killed:
                break
        raise BulkError("worker processes do not start; their errors are above")

    def kill(self) -> None:
        """End the worker for good, also one that is just being started."""
        with self._lock:
            self._is_killed = True
            if self._worker is not None:
                self._worker.kill()

    def end(self) -> None:
        """Let go of the worker."""
        if self._worker is not None:
            self._worker.end()

    def _row(self) -> int:
        row: int = _PLACE.unpack(self._row_file.read_bytes())[0]
        return row

    def _write_row(self, row: int) -> None:
        self._row_file.write_bytes(_PLACE.pack(row))


@dataclass(frozen=True)
class Signer:
    """How parts of inputs are signed.

    Args:
        extractor: of HTML, whose scheme texts are signed with too.
        fields: names of the fields.
        banding: what candidates are found by; None if only exact duplicates are looked for.
        order: that the rows are decided in.
        row_file: a file of 8 bytes, in which a worker notes the row that it is at.
    """

    extractor: PageExtractor
    fields: Fields
    banding: Banding | None
    order: Order
    row_file: Path | None = None

    def prepare(self) -> Callable[[Task], SignedPart]:
        """Make a worker process ready, which notes each row in the file."""
        assert self.row_file is not None
        limit_memory(self.extractor.worker_memory)
        sign("", self.extractor.scheme)  # makes tables, which no row is to be late for
        with self.row_file.open("r+b") as file:
            shared = mmap.mmap(file.fileno(), _PLACE.size)
        return partial(sign_part, signer=self, note=partial(_PLACE.pack_into, shared, 0))


def sign_part(task: Task, signer: Signer, note: Callable[[int], None]) -> SignedPart:
    """Sign a part of an input.

    Args:
        task: the part.
        signer: how.
        note: is told the place of each row before it is read.

    Raises:
        OSError: the part cannot be read.
    """
    rows = _Rows(signer, isinstance(task.payload, FileLines))
    lines = 0
    fields: tuple[str, ...] = ()  # of a bad row
    bad: list[tuple[int, str]] = []
    for place, row in enumerate(task.payload.rows()):
        note(place)
        lines = row.line
        try:
            if place in task.skipped:
                raise BadRowError(task.skipped[place])
            if row.values != "":
                rows.add(row)
        except BadRowError as error:
            bad.append((row.line, str(error)))
            fields = fields or tuple(row.values if isinstance(row.values, dict) else ())
        except MemoryError:
            bad.append((row.line, _shown("too_much_memory")))
    return rows.signed(lines, bad)._replace(fields=fields)


class _Rows:
    """Signs the rows of a part, and collects them.

    Args:
        signer: how.
        is_file: whether lines can be read again from their input.
    """

    def __init__(self, signer: Signer, is_file: bool) -> None:
        self._signer = signer
        self._is_file = is_file
        self._hashes: list[bytes] = []
        self._numbers: list[tuple[int, ...]] = []
        self._minima: list[Minima] = []
        self._ids: list[bytes] = []
        self._order: list[float] = []
        self._own = bytearray()

    def add(self, row: RawRow) -> None:
        """Sign a row.

        Raises:
            BadRowError: it cannot be signed.
        """
        values, fields = row.values, self._signer.fields
        extractor = self._signer.extractor
        if isinstance(values, str):
            raise BadRowError(values)
        name, id_hash = named_row(values, fields.id) or (b"", bytes(16))
        signature = sign_text(values, fields, extractor.scheme, extractor.max_bytes)
        is_stored = not self._is_file or signature is None
        if signature is None:
            values, signature = self._extract(row, values)
        offset, length = row.offset, row.length
        if is_stored:
            line = to_json(values)
            offset, length = IN_LINES | len(self._own), len(line)
            self._own += line
        self._hashes += signature.text_hash, id_hash
        numbers = signature.simhash, signature.words, row.line, offset, length, len(name)
        self._numbers.append(numbers)
        self._minima.append(signature.minima)
        self._ids.append(name)
        self._order.append(self._signer.order.of(values, values[fields.text]))

    def signed(self, lines: int, bad: list[tuple[int, str]]) -> SignedPart:
        """Give the rows, with the number of lines of the part and its bad ones."""
        banding = self._signer.banding
        rows = np.zeros(len(self._ids), ROW_RECORD)
        hashes = np.frombuffer(b"".join(self._hashes), "<u8").reshape(-1, 4)
        rows["text"], rows["id"] = hashes[:, :2], hashes[:, 2:]
        numbers = np.array(self._numbers, np.uint64).reshape(-1, len(_NUMBERS))
        for name, column in zip(_NUMBERS, numbers.T, strict=True):
            rows[name] = column
        rows["order"] = self._order
        rows["id_offset"] = np.cumsum(rows["id_length"]) - rows["id_length"]
        minima = np.array(self._minima, "<u4").reshape(-1, FUNCTIONS)
        keys = None if banding is None else banding.keys(minima).T
        return SignedPart(lines, bad, rows, minima, keys, b"".join(self._ids), bytes(self._own))

    def _extract(self, row: RawRow, values: dict[str, Any]) -> tuple[dict[str, Any], Signature]:
        """Fields of a row of HTML with main text, title and language, and its signature."""
        fields = self._signer.fields
        fetched = row.page
        if fetched is None:
            html = values.get(fields.html)
            if not isinstance(html, str) or not html.strip():
                raise BadRowError(without_text(values, fields))
            url = values.get("url")
            fetched = Fetched(html, is_html=True, url=url if isinstance(url, str) else None)
        page = self._signer.extractor.extract(fetched)
        if page.text is None or page.signature is None:
            raise BadRowError(_shown(page.reason or "no_main_text"))
        found = {"title": page.title, "language": page.language, fields.text: page.text}
        kept = {name: value for name, value in values.items() if name != fields.html}
        missing = {name: value for name, value in found.items() if kept.get(name) in (None, "")}
        return {**kept, **missing}, page.signature


def sign_text(
    values: dict[str, Any], fields: Fields, scheme: Scheme, max_characters: int
) -> Signature | None:
    """Sign the text of a row; None if it has none.

    Raises:
        BadRowError: the text is too long.
    """
    text = values.get(fields.text)
    if not isinstance(text, str) or not text or text.isspace():
        return None
    if len(text) > max_characters:
        raise BadRowError(f"{fields.text} is longer than {max_characters:,}")
    return sign(clean(text), scheme)


def without_text(values: dict[str, Any], fields: Fields) -> str:
    """Say why a row has nothing to sign."""
    for name in (fields.text, fields.html):
        if name in values:
            value = values[name]
            if value is None:
                return f"{name} is null"
            return f"{name} is empty" if isinstance(value, str) else f"{name} is no string"
    return f"neither {fields.text} nor {fields.html}"


def named_row(values: dict[str, Any], name: str | None) -> tuple[bytes, bytes] | None:
    """Id of a row and its hash, 16 bytes; None if it has none and none is asked for.

    Raises:
        BadRowError: it has no `name`, or its id cannot be taken.
    """
    found = id_of(values, USUAL_ID_FIELDS if name is None else (name,))
    if found is None and name is not None:
        raise BadRowError(f"no {name}")
    if found is None:
        return None
    return found.encode(), hashlib.blake2b(found.encode(), digest_size=16).digest()


def _shown(reason: str) -> str:
    """Short name of a reason as a person reads it."""
    return reason.replace("_", " ")
