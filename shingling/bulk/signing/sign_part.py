"""One part of an input, read and signed into a chunk."""

from __future__ import annotations

import hashlib
import mmap
import struct
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from shingling.bulk.files.payloads import to_json
from shingling.bulk.signing.chunks import ChunkHeader, ChunkWriter
from shingling.extraction.limits import limit_memory
from shingling.extraction.pages import Fetched, PageExtractor
from shingling.sketch import sign
from shingling.store.ids import USUAL_ID_FIELDS, BadRowError, id_of
from shingling.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from shingling.bulk.files.payloads import Payload, RawRow
    from shingling.bulk.options import Fields
    from shingling.sketch import Signature
    from shingling.sketch.banding import Banding


PLACE = struct.Struct("<q")
"""The place of a row, as a worker notes it in its file."""


@dataclass(frozen=True)
class Signer:
    """How parts of inputs are signed.

    Args:
        extractor: of HTML, whose scheme texts are signed with too.
        fields: names of the fields.
        banding: what candidates are found by; None where only exact duplicates are.
        folder: of the chunks.
        progress: a file of 8 bytes, in which a worker notes the row that it is at.
    """

    extractor: PageExtractor
    fields: Fields
    banding: Banding | None
    folder: Path
    progress: Path | None = None

    def prepare(self) -> Callable[[Task], int]:
        """Make a worker process ready, which notes each row in the file `progress`."""
        assert self.progress is not None
        limit_memory(self.extractor.worker_memory)
        with self.progress.open("r+b") as file:
            shared = mmap.mmap(file.fileno(), PLACE.size)
        return partial(sign_part, signer=self, note=partial(PLACE.pack_into, shared, 0))


@dataclass
class Task:
    """A part of an input to be signed.

    Args:
        number: of the chunk.
        source: number of the input.
        payload: the part.
        digest: of the part, if it is kept.
        skipped: places of rows that are not to be read, and why.
    """

    number: int
    source: int
    payload: Payload
    digest: str | None = None
    skipped: dict[int, str] = field(default_factory=dict)


def sign_part(task: Task, signer: Signer, note: Callable[[int], None]) -> int:
    """Sign a part of an input, and write its chunk; return its number.

    Args:
        task: the part.
        signer: how.
        note: is told the place of each row before it is read.

    Raises:
        OSError: the chunk cannot be written, or the part not be read.
    """
    writer = ChunkWriter(ChunkHeader(task.source, file=task.payload.file, digest=task.digest))
    for place, row in enumerate(task.payload.rows(signer.extractor.max_bytes)):
        note(place)
        writer.header.lines = row.line
        try:
            if place in task.skipped:
                raise BadRowError(task.skipped[place])
            if row.values == "":
                continue
            _add(row, writer, signer)
        except BadRowError as error:
            writer.add_bad(row.line, str(error))
        except MemoryError:
            writer.add_bad(row.line, reason_shown("too_much_memory"))
    writer.write(signer.folder, task.number, signer.banding)
    return task.number


def _add(row: RawRow, writer: ChunkWriter, signer: Signer) -> None:
    values = row.values
    if isinstance(values, str):
        raise BadRowError(values)
    fields = signer.fields
    row_id = named_row(values, fields.id)
    body = values.get(fields.text)
    place: tuple[int, int] | bytes
    if isinstance(body, str) and body and not body.isspace():
        if len(body) > signer.extractor.max_bytes:
            raise BadRowError(f"{fields.text} is longer than {signer.extractor.max_bytes:,}")
        signature = sign(clean(body), signer.extractor.scheme)
        stays = writer.header.file is not None
        place = (row.offset, row.length) if stays else to_json(values)
    else:
        values, signature = _extract(row, values, signer)
        place = to_json(values)
    if not signature.words:
        raise BadRowError(f"{fields.text} has no words")
    writer.add(signature, row.line, row_id, values, place)


def _extract(
    row: RawRow, values: dict[str, Any], signer: Signer
) -> tuple[dict[str, Any], Signature]:
    """Fields of a row of HTML with main text, title and language, and its signature."""
    fields = signer.fields
    fetched = row.page
    if fetched is None:
        html = values.get(fields.html)
        if not isinstance(html, str) or not html.strip():
            raise BadRowError(without_text(values, fields))
        url = values.get("url")
        fetched = Fetched(html, is_html=True, url=url if isinstance(url, str) else None)
    page = signer.extractor.extract(fetched)
    if page.text is None or page.signature is None:
        raise BadRowError(reason_shown(page.reason or "no_main_text"))
    found = {"title": page.title, "language": page.language, fields.text: page.text}
    kept = {name: value for name, value in values.items() if name != fields.html}
    missing = {name: value for name, value in found.items() if kept.get(name) in (None, "")}
    return {**kept, **missing}, page.signature


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


def reason_shown(reason: str) -> str:
    """Short name of a reason as a person reads it."""
    return reason.replace("_", " ")
