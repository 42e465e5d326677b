"""Many files against each other: `compare --all`."""

from __future__ import annotations

import csv
import sys
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shingling.cli.texts import files_named, texts_of_file
from shingling.console.opening import open_store
from shingling.console.output import (
    FOUND,
    NOT_FOUND,
    counted,
    harmless_cell,
    print_json,
    print_lines,
    print_table,
)
from shingling.errors import ShinglingError, message_line, printable
from shingling.rules import MAX_FILE_BYTES, MEASURES, UNIQUE_FROM, UNIQUENESS
from shingling.similarity.collection import Collection, MeasuredDocument
from shingling.similarity.cosines import DocumentFrequencies
from shingling.similarity.own_text import says_more
from shingling.sketch.idf import Idf

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shingling.arrays import Fingerprints
    from shingling.cli.texts import FileText
    from shingling.console.options import CommandOptions
    from shingling.similarity.cosines import Weighting
    from shingling.sketch import Scheme

MAX_DOCUMENTS = 5_000
MAX_WORDS = 20_000_000
"""Words of all documents together: about a gigabyte."""
MAX_DOCUMENTS_IN_MATRIX = 1_000
MAX_PAIRS_LISTED = 1_000_000


def compare_all(options: CommandOptions, scheme: Scheme, weighting: Weighting) -> int:
    """Compare all documents of files and folders, and print what is asked for.

    Args:
        options: of the command.
        scheme: how a text becomes words and shingles.
        weighting: of the cosine.

    Returns:
        The exit status.

    Raises:
        ShinglingError: there are fewer than two documents, or too many.
    """
    documents = _documents(files_named(options.what), scheme, weighting, options.text_field)
    if len(documents) < 2:
        raise ShinglingError(f"{counted(len(documents), 'document')}: two at least are compared")
    if options.matrix and len(documents) > MAX_DOCUMENTS_IN_MATRIX:
        raise ShinglingError(
            f"a matrix of {len(documents):,} documents: at most {MAX_DOCUMENTS_IN_MATRIX:,}"
        )
    measure = options.measure or MEASURES[0]
    if measure == "cosine":
        features = [document.features for document in documents]
        frequencies = frequencies_of(features, weighting, options)
        weighting = replace(weighting, frequencies=frequencies)
    collection = Collection(documents, weighting)
    names = [document.name for document in documents]
    if measure == UNIQUENESS:
        return _print_uniqueness(names, collection, options)
    if options.matrix:
        return _print_matrix(names, collection, measure, options)
    return _print_pairs(documents, collection, measure, options)


def frequencies_of(
    features: list[Fingerprints], weighting: Weighting, options: CommandOptions
) -> DocumentFrequencies | None:
    """Document frequencies of features, as `--df` has it; None for those of the documents."""
    if options.df == "documents":
        return None
    if options.df == "store":
        with open_store(options) as store:
            frequencies = DocumentFrequencies.of_documents(
                (weighting.hashes(store.scheme.canonical.words(text)) for text in store.texts()),
                among=np.unique(np.concatenate(features)),
            )
        if not frequencies.documents:
            raise ShinglingError("the store keeps no texts to count words of (DEDUP_STORE_TEXT)")
        return frequencies
    if weighting.features != "words":
        raise ShinglingError(f"{options.df}: a table is of words, not of {weighting.features}")
    file = Path(options.df)
    if not file.is_file() or file.stat().st_size > MAX_FILE_BYTES:
        raise ShinglingError(f"{options.df}: no such table; --df takes documents, store or a file")
    return DocumentFrequencies.of_table(Idf.from_json(file.read_text("utf-8", "replace")))


def _documents(
    files: Sequence[str], scheme: Scheme, weighting: Weighting, field: str | None
) -> list[MeasuredDocument]:
    """Documents of files, in their order."""
    documents: list[MeasuredDocument] = []
    words = 0
    fields: set[str] = set()
    for file_text in _texts(files, field):
        documents.append(
            MeasuredDocument.of_text(file_text.name, file_text.text, scheme, weighting)
        )
        words += documents[-1].words
        if file_text.field:
            fields.add(file_text.field)
        if len(documents) > MAX_DOCUMENTS or words > MAX_WORDS:
            raise ShinglingError(
                f"more than {MAX_DOCUMENTS:,} documents or {MAX_WORDS:,} words:"
                " `scrapy dedup bulk` is for large collections"
            )
    if fields:
        print_lines(f"fields of JSON that are compared: {', '.join(sorted(fields))}", error=True)
    return documents


def _texts(files: Sequence[str], field: str | None) -> Iterator[FileText]:
    """Yield the texts of files, and tell of what cannot be read."""

    def tell(error: Exception) -> None:
        print_lines(message_line(f"left out: {error}"), error=True)

    for file in files:
        try:
            yield from texts_of_file(file, field, tell)
        except (ShinglingError, OSError) as error:
            tell(error)


def _print_pairs(
    documents: Sequence[MeasuredDocument],
    collection: Collection,
    measure: str,
    options: CommandOptions,
) -> int:
    threshold = 0.5 if options.threshold is None else options.threshold
    own_text, min_words = options.own_text or "ignore", options.settings.rules.min_words
    found = (
        pair
        for pair in collection.pairs(measure, threshold)
        if not says_more(documents[pair.b].text, documents[pair.a].text, own_text, min_words)
    )
    pairs = [*islice(found, MAX_PAIRS_LISTED + 1)]
    if len(pairs) > MAX_PAIRS_LISTED:
        raise ShinglingError(f"more than {MAX_PAIRS_LISTED:,} pairs: choose a higher --threshold")
    pairs.sort(key=lambda pair: (-pair.value, pair.a, pair.b))
    listed_pairs = [(pair.value, documents[pair.a].name, documents[pair.b].name) for pair in pairs]
    if options.json:
        listed = [{"a": a, "b": b, measure: round(value, 4)} for value, a, b in listed_pairs]
        print_json({"documents": len(documents), "threshold": threshold, "pairs": listed})
    elif listed_pairs or options.csv:
        _print_rows(
            [measure, "A", "B"], [(f"{value:.3f}", a, b) for value, a, b in listed_pairs], options
        )
    else:
        print_lines(f"no two of {counted(len(documents), 'document')} have {threshold:g} or more")
    return FOUND if listed_pairs else NOT_FOUND


def _print_matrix(
    names: Sequence[str], collection: Collection, measure: str, options: CommandOptions
) -> int:
    matrix = [row.tolist() for row in collection.rows(measure)]
    if options.json:
        rounded = [[round(value, 4) for value in row] for row in matrix]
        return print_json({"documents": names, measure: rounded})
    columns = firsts = names
    if not options.csv:
        columns = [str(number) for number in range(1, len(names) + 1)]
        firsts = [" ".join(heading) for heading in zip(columns, names, strict=True)]
    rows = [
        [first, *(f"{value:.3f}" for value in row)]
        for first, row in zip(firsts, matrix, strict=True)
    ]
    return _print_rows([measure, *columns], rows, options)


def _print_uniqueness(names: Sequence[str], collection: Collection, options: CommandOptions) -> int:
    threshold = UNIQUE_FROM if options.threshold is None else options.threshold
    values = sorted(zip(collection.uniqueness().tolist(), names, strict=True))
    if options.json:
        listed = [
            {"document": name, "uniqueness": round(value, 4), "unique": value >= threshold}
            for value, name in values
        ]
        return print_json({"threshold": threshold, "documents": listed})
    rows = [(f"{value:.3f}", "yes" if value >= threshold else "no", name) for value, name in values]
    return _print_rows(["uniqueness", "unique", "document"], rows, options)


def _print_rows(
    columns: Sequence[str], rows: Sequence[Sequence[str]], options: CommandOptions
) -> int:
    if options.csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        for row in (columns, *rows):
            writer.writerow([harmless_cell(printable(cell)) for cell in row])
    else:
        print_table(columns, rows)
    return FOUND
