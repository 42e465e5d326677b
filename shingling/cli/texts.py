"""What a person names to be measured: a stored page, a file or standard input, or many files."""

from __future__ import annotations

import glob
import sys
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from shingling.errors import ExtractionError, ShinglingError
from shingling.extraction.decoding import decode
from shingling.extraction.html import sniff_html
from shingling.extraction.main_text import extract_page
from shingling.files.lines import BOM, json_lines, json_object
from shingling.files.tables import CSV_SUFFIXES, csv_lines, is_csv
from shingling.rules import MAX_FILE_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from shingling.files.lines import RowValues
    from shingling.store.model import StoredPage
    from shingling.store.store import Store

TEXT_FIELDS = ("text", "content", "body", "article", "html")
"""Fields of a JSON object that hold its text, the first that it has."""

_JSON_LINES = {".jsonl", ".jsonlines", ".ndjson", ".jl"}
_SUFFIXES = {".txt", ".md", ".html", ".htm", *CSV_SUFFIXES, ".json", *_JSON_LINES}


class FileText(NamedTuple):
    """Text of a file, or of an object in it.

    Args:
        name: of the file, and the number of the line for JSON lines.
        text: the main text if it is HTML.
        field: of the JSON object that has the text; None if it is no JSON.
    """

    name: str
    text: str
    field: str | None = None


def stored_page(url: str, store: Store) -> StoredPage:
    """Find the stored page of a URL.

    Raises:
        ShinglingError: it is not stored.
    """
    pages = store.find(url)
    if not pages:
        raise ShinglingError(f"{url} is neither a file nor stored")
    return pages[0]


def text_of_file(what: str, field: str | None = None) -> FileText | None:
    """Text of a file or of standard input (`-`), the main text of HTML; None without such a file.

    Args:
        what: path of the file.
        field: of a JSON object that has the text; None: the first of `TEXT_FIELDS`.

    Raises:
        ShinglingError: its main text cannot be extracted, or it has not one text but several.
    """
    if what == "-":
        raw = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
        if len(raw) > MAX_FILE_BYTES:
            raise ShinglingError(f"{what}: larger than {MAX_FILE_BYTES:,} bytes")
        return FileText(what, _main_text(what, raw))
    if not Path(what).exists() or Path(what).is_dir():
        return None
    texts = list(islice(texts_of_file(what, field), 2))
    if len(texts) != 1:
        number = "several texts (compare them with --all)" if texts else "no text"
        raise ShinglingError(f"{what} has {number}")
    return texts[0]


def texts_of_file(
    path: str,
    field: str | None = None,
    left_out: Callable[[ShinglingError], None] | None = None,
) -> Iterator[FileText]:
    """Yield the texts of a file: one, or that of each row of JSON lines or CSV.

    Args:
        path: of the file.
        field: of a row that has the text; None: the first of `TEXT_FIELDS`.
        left_out: is told of a row that cannot be read; None: that is an error.

    Raises:
        ShinglingError: a text cannot be read.
    """
    file = Path(path)
    suffix = file.suffix.lower()
    if file.is_file() and file.stat().st_size > MAX_FILE_BYTES:
        raise ShinglingError(f"{path}: larger than {MAX_FILE_BYTES:,} bytes")
    if suffix in (*_JSON_LINES, *CSV_SUFFIXES):
        with file.open("rb") as lines:
            for line in (csv_lines if is_csv(path) else json_lines)(lines):
                name = f"{path}:{line.number}"
                try:
                    yield _text_of_object(name, line.values, field)
                except ShinglingError as error:
                    if left_out is None:
                        raise
                    left_out(error)
        return
    raw = file.read_bytes()
    if suffix != ".json":
        yield FileText(path, _main_text(path, raw))
        return
    yield _text_of_object(path, json_object(raw.removeprefix(BOM)), field)


def files_named(paths: Sequence[str]) -> list[str]:
    """Files with a text, of files, folders (with those in them) and patterns, in their order.

    Raises:
        ShinglingError: one does not exist, or has no such file in it.
    """
    files: dict[str, None] = {}
    for path in paths:
        if Path(path).is_dir():
            inside = Path(path).rglob("*")
            own = [
                str(file) for file in inside if file.suffix.lower() in _SUFFIXES and file.is_file()
            ]
        elif Path(path).exists():
            own = [path]
        else:
            # Patterns may begin at the root, which those of Path may not.
            own = [file for file in glob.glob(path, recursive=True) if Path(file).is_file()]  # noqa: PTH207
        if not own:
            kinds = " ".join(sorted(_SUFFIXES))
            problem = f"no file of {kinds} in it" if Path(path).is_dir() else "no such file"
            raise ShinglingError(f"{path}: {problem}")
        files.update(dict.fromkeys(sorted(own)))
    return [*files]


def _text_of_object(name: str, values: RowValues, field: str | None) -> FileText:
    """Text of an object of a file; of a text, what is wrong with its line."""
    if isinstance(values, str):
        raise ShinglingError(f"{name}: {values}")
    for own in TEXT_FIELDS if field is None else (field,):
        value = values.get(own)
        if isinstance(value, str) and value.strip():
            text = _main_text(name, value.encode("utf-8", "replace")) if own == "html" else value
            return FileText(name, text, own)
    wanted = ", ".join(TEXT_FIELDS) if field is None else field
    raise ShinglingError(f"{name}: no text in a field {wanted} (--text-field names another)")


def _main_text(name: str, raw: bytes) -> str:
    if not sniff_html(raw):
        text = decode(raw)
        if "\0" in text:
            raise ShinglingError(f"{name}: it is neither HTML nor text")
        return text
    try:
        return extract_page(raw, max_bytes=MAX_FILE_BYTES).text
    except ExtractionError as error:
        raise ShinglingError(f"{name}: {error}") from error
