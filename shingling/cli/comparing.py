"""Many files against each other: `compare --all`."""

from __future__ import annotations

import csv
import io
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from shingling.cli.texts import files_named, texts_of_file
from shingling.console.output import (
    FOUND,
    NOT_FOUND,
    counted,
    print_json,
    print_lines,
    print_table,
)
from shingling.errors import ShinglingError, message_line, printable
from shingling.extraction.cpus import usable_cpus
from shingling.rules.measures import UNIQUE_FROM, UNIQUENESS
from shingling.similarity import Collection, Document

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence

    from shingling.similarity import DocumentFrequencies, Weighting
    from shingling.sketch import Fingerprints, Scheme

MAX_DOCUMENTS = 5_000
MAX_WORDS = 20_000_000
"""Words of all documents together: about a gigabyte."""
MAX_DOCUMENTS_IN_MATRIX = 1_000
MAX_PAIRS_LISTED = 1_000_000
_MIN_BYTES_FOR_PROCESSES = 2_000_000


class _Read(NamedTuple):
    """What is read of a file.

    Args:
        documents: in it.
        fields: of JSON that had their texts.
        problem: what is wrong with the next document; "" if nothing is.
    """

    documents: list[Document]
    fields: set[str]
    problem: str = ""


class Asked(NamedTuple):
    """What is to be measured, and how it is printed.

    Args:
        measure: one of `MEASURES`, or "uniqueness".
        threshold: least measure of a pair that is listed; None is 0.5, or 0.96 of uniqueness.
        matrix: print all measures, not pairs.
        form: "table", "csv" or "json".
        text_field: of JSON objects; None finds it.
    """

    measure: str
    threshold: float | None
    matrix: bool
    form: str
    text_field: str | None


def compare_all(
    paths: Sequence[str],
    scheme: Scheme,
    weighting: Weighting,
    frequencies_of: Callable[[list[Fingerprints]], DocumentFrequencies | None],
    asked: Asked,
) -> int:
    """Compare all documents of files and folders, and print what is asked for.

    Args:
        paths: of files and folders, and patterns.
        scheme: how a text becomes words and shingles.
        weighting: of the cosine.
        frequencies_of: document frequencies of the features of documents; None for their own.
        asked: what is printed.

    Returns:
        The exit status.

    Raises:
        ShinglingError: there are fewer than two documents, or too many.
    """
    documents = _documents(files_named(paths), scheme, weighting, asked.text_field)
    if len(documents) < 2:
        raise ShinglingError(f"{counted(len(documents), 'document')}: two at least are compared")
    if asked.matrix and len(documents) > MAX_DOCUMENTS_IN_MATRIX:
        raise ShinglingError(
            f"a matrix of {len(documents):,} documents: at most {MAX_DOCUMENTS_IN_MATRIX:,}"
        )
    if asked.measure == "cosine":
        found = frequencies_of([one.features for one in documents])
        weighting = replace(weighting, frequencies=found)
    collection = Collection(documents, weighting)
    if asked.measure == UNIQUENESS:
        return _print_uniqueness(documents, collection, asked)
    if asked.matrix:
        return _print_matrix(documents, collection, asked)
    return _print_pairs(documents, collection, asked)


def _documents(
    files: Sequence[str], scheme: Scheme, weighting: Weighting, field: str | None
) -> list[Document]:
    """Documents of files, in their order; those that cannot be read are told of and left out."""
    documents: list[Document] = []
    words = 0
    fields: set[str] = set()
    read = partial(_read, scheme=scheme, weighting=weighting, field=field)
    with closing(_in_processes(read, files)) as results:
        for found in results:
            if found.problem:
                print_lines(message_line(found.problem), error=True)
            documents += found.documents
            fields |= found.fields
            words += sum(one.words for one in found.documents)
            if len(documents) > MAX_DOCUMENTS or words > MAX_WORDS:
                raise ShinglingError(
                    f"more than {MAX_DOCUMENTS:,} documents or {MAX_WORDS:,} words:"
                    " `scrapy dedup bulk` is for large collections"
                )
    if fields:
        print_lines(f"fields of JSON that are compared: {', '.join(sorted(fields))}", error=True)
    return documents


def _in_processes(read: partial[_Read], files: Sequence[str]) -> Generator[_Read]:
    """Yield what is read of each file; in processes where that is worth their start."""
    workers = min(usable_cpus(), len(files))
    size = sum(Path(file).stat().st_size for file in files)
    if workers < 2 or size < _MIN_BYTES_FOR_PROCESSES:
        yield from map(read, files)
        return
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        try:
            waiting = iter(files)
            # As many at a time as keep the workers busy: results are large.
            running = [pool.submit(read, file) for file in islice(waiting, 4 * workers)]
            while running:
                done = running.pop(0).result()
                running += [pool.submit(read, file) for file in islice(waiting, 1)]
                yield done
        finally:
            pool.shutdown(cancel_futures=True)


def _read(file: str, scheme: Scheme, weighting: Weighting, field: str | None) -> _Read:
    documents: list[Document] = []
    fields: set[str] = set()
    words = 0
    try:
        for one in texts_of_file(file, field):
            document = Document.of_text(one.name, one.text, scheme, weighting)
            documents.append(document)
            fields |= {one.field} if one.field else set()
            words += document.words
            if len(documents) > MAX_DOCUMENTS or words > MAX_WORDS:
                break
    except (ShinglingError, OSError) as error:
        return _Read(documents, fields, f"left out: {error}")
    return _Read(documents, fields)


def _print_pairs(documents: Sequence[Document], collection: Collection, asked: Asked) -> int:
    threshold = 0.5 if asked.threshold is None else asked.threshold
    pairs = [*islice(collection.pairs(asked.measure, threshold), MAX_PAIRS_LISTED + 1)]
    if len(pairs) > MAX_PAIRS_LISTED:
        raise ShinglingError(f"more than {MAX_PAIRS_LISTED:,} pairs: choose a higher --threshold")
    pairs.sort(key=lambda pair: (-pair.value, pair.a, pair.b))
    names = [one.name for one in documents]
    if asked.form == "json":
        listed = [
            {"a": names[pair.a], "b": names[pair.b], asked.measure: round(pair.value, 4)}
            for pair in pairs
        ]
        print_json({"documents": len(documents), "threshold": threshold, "pairs": listed})
    elif pairs or asked.form == "csv":
        rows = ((f"{pair.value:.3f}", names[pair.a], names[pair.b]) for pair in pairs)
        _print_rows([asked.measure, "A", "B"], rows, asked.form)
    else:
        print_lines(f"no two of {counted(len(documents), 'document')} have {threshold:g} or more")
    return FOUND if pairs else NOT_FOUND


def _print_matrix(documents: Sequence[Document], collection: Collection, asked: Asked) -> int:
    names = [one.name for one in documents]
    if asked.form == "json":
        matrix = [
            [round(value, 4) for value in row.tolist()] for row in collection.rows(asked.measure)
        ]
        return print_json({"documents": names, asked.measure: matrix})
    numbers = [str(number) for number in range(1, len(names) + 1)]
    cells = (
        [name if asked.form == "csv" else f"{number} {name}", *(f"{value:.3f}" for value in row)]
        for name, number, row in zip(names, numbers, collection.rows(asked.measure), strict=True)
    )
    _print_rows([asked.measure, *(names if asked.form == "csv" else numbers)], cells, asked.form)
    return FOUND


def _print_uniqueness(documents: Sequence[Document], collection: Collection, asked: Asked) -> int:
    threshold = UNIQUE_FROM if asked.threshold is None else asked.threshold
    found = sorted(
        zip(collection.uniqueness().tolist(), (one.name for one in documents), strict=True)
    )
    if asked.form == "json":
        listed = [
            {"document": name, "uniqueness": round(value, 4), "unique": value >= threshold}
            for value, name in found
        ]
        return print_json({"threshold": threshold, "documents": listed})
    rows = ((f"{value:.3f}", "yes" if value >= threshold else "no", name) for value, name in found)
    _print_rows(["uniqueness", "unique", "document"], rows, asked.form)
    return FOUND


def _print_rows(columns: Sequence[str], rows: Iterable[Sequence[str]], form: str) -> None:
    if form == "table":
        print_table(columns, [*rows])
        return
    for row in (columns, *rows):
        line = io.StringIO()
        csv.writer(line, lineterminator="").writerow([printable(cell) for cell in row])
        print_lines(line.getvalue())
