"""The command `tune`: settings measured on labelled pairs, and document frequencies."""

from __future__ import annotations

import hashlib
import sys
from heapq import nsmallest
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from shingling.console.opening import open_store
from shingling.console.option_types import whole_number
from shingling.console.output import FOUND, print_json, print_lines, print_table
from shingling.console.subcommand import HelpGroup, Subcommand
from shingling.errors import NoStoreError, TuningError
from shingling.plugin.settings import project_folder
from shingling.rules.defaults import MAX_LINE_BYTES
from shingling.rules.methods import DEFAULT_METHOD, METHODS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from shingling.plugin.settings import DedupSettings
    from shingling.rules.rules import Rules
    from shingling.sketch import Scheme
    from shingling.store import Store
    from shingling.tuning.pairs import LabelledPairs
    from shingling.tuning.report import Report
    from shingling.tuning.settings import Result

_MAX_SAMPLED_PAGES = 5000  # of a store that pairs are drawn from
_KEYWORDS = 128  # of a page, that DEDUP_SCHEME has SimHashes made of


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "pairs",
        metavar="PAIRS",
        nargs="?",
        help='JSON lines {"a": ..., "b": ..., "same": true}, - for stdin (default: reviewed pairs'
        " of the store; where there are few, its pages by their titles)",
    )
    parser.add_argument("--plot", metavar="FILE", help="draw the curve: .svg, .png or .pdf")
    parser.add_argument(
        "--idf", metavar="FILE", help="learn document frequencies of words from the store into FILE"
    )
    parser.add_argument(
        "--folds",
        type=whole_number(2, 20),
        default=5,
        help="folds of the cross-validation (default: 5)",
    )


def _tune(options: argparse.Namespace, settings: DedupSettings) -> int:
    try:
        store = open_store(options, settings)
    except NoStoreError:
        if options.pairs is None or options.store:
            raise
        # Pairs of texts need no store.
        return tune(options, None, settings.scheme, settings.rules)
    with store:
        return tune(options, store, store.scheme, settings.rules)


def tune(options: argparse.Namespace, store: Store | None, present: Scheme, rules: Rules) -> int:
    """Measure settings on labelled pairs, or learn document frequencies, and print both.

    Args:
        options: `pairs` (a path, `-` or None), `plot` (a path or None), `idf` (a path or
            None), `folds` and `json`. With `idf` and without `pairs`, only the frequencies
            are learned.
        store: pages that pairs name by URL, and the sample where `pairs` is None.
        present: the scheme in use.
        rules: those in use.

    Returns:
        The exit status, 0.

    Raises:
        TuningError: pairs, folds or a picture that cannot be used.
        SchemeError: a language pack is not installed.
        OSError: a file cannot be read or written.
    """
    from shingling.tuning.plotting import plot, require_plot
    from shingling.tuning.report import tune_on

    shown: dict[str, Any] = {}
    measured = options.pairs is not None or options.idf is None
    if options.plot is not None and measured:
        require_plot(options.plot)
    if options.idf is not None:
        shown["idf"] = _learn(Path(options.idf), _needed(store))
        if not options.json:
            _print_idf(shown["idf"])
    if measured:
        labelled = _labelled(options.pairs, store)
        report = tune_on(
            labelled.pairs,
            present,
            rules.threshold,
            method=rules.method if METHODS[rules.method].keys else DEFAULT_METHOD,
            distance=rules.simhash_distance,
            folds=options.folds,
            unlabelled=labelled.unlabelled,
            labels=labelled.labels,
        )
        shown.update(report.as_dict())
        if options.plot is not None:
            plot(report, options.plot)
        if not options.json:
            _print_report(report)
            if options.plot is not None:
                print_lines("", f"the curve is in {options.plot}")
    return print_json(shown) if options.json else FOUND


def _needed(store: Store | None) -> Store:
    if store is None:
        raise TuningError("a store is needed (DEDUP_STORE_URL or --store), or a file of pairs")
    return store


def _labelled(path: str | None, store: Store | None) -> LabelledPairs:
    """Pairs of a file, of standard input, or of the store: its reviews, or else its titles."""
    from shingling.tuning.pairs import LabelledPairs, read_pairs, require_pairs, reviewed_pairs

    def look_up(url: str) -> str | None:
        if store is None:
            return None
        texts = (store.text(page) for page in store.find(url))
        return next((text for text in texts if text is not None), None)

    if path is None:
        pairs = reviewed_pairs(_needed(store))
        try:
            require_pairs(pairs)
        except TuningError:  # a few reviews, or none
            return _sampled(_needed(store))
        return LabelledPairs(tuple(pairs), labels="reviews")
    if path == "-":
        return read_pairs(_limited(sys.stdin), look_up)
    with Path(path).open(encoding="utf-8-sig", errors="replace") as lines:
        return read_pairs(_limited(lines), look_up)


def _limited(file: IO[str]) -> Iterator[str]:
    """Yield the lines of a file.

    Raises:
        TuningError: one is too long to be held.
    """
    number = 0
    while line := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(line) > MAX_LINE_BYTES:
            raise TuningError(f"line {number:,}: longer than {MAX_LINE_BYTES:,} characters")
        yield line


def _sampled(store: Store) -> LabelledPairs:
    """Pairs of stored pages; of a large store, those of some of its titles."""
    from shingling.tuning.pairs import LabelledPairs, require_pairs
    from shingling.tuning.sampling import SampledPage, pairs_from, title_key

    titled = (
        (hashlib.blake2b(key.encode(), digest_size=8).digest(), page.id, page)
        for page in store.pages()
        if (key := title_key(page.title, page.language))
    )
    pages = (page for _, _, page in nsmallest(_MAX_SAMPLED_PAGES, titled))
    sampled = [
        SampledPage(page.title, page.language, text, store.signature(page).minima)
        for page in pages
        if (text := store.text(page)) is not None
    ]
    if not sampled:
        raise TuningError(
            "the store has no pages with a title and a text (DEDUP_STORE_TEXT): give a file of"
            " labelled pairs"
        )
    pairs = pairs_from(sampled)
    try:
        require_pairs(pairs)
    except TuningError as error:
        raise TuningError(f"by the titles of {len(sampled):,} stored pages: {error}") from None
    return LabelledPairs(tuple(pairs), labels="titles")


def _learn(path: Path, store: Store) -> dict[str, Any]:
    """Learn document frequencies from the originals of a store, and write them to a file."""
    from shingling.sketch import Idf
    from shingling.tuning.settings import as_python, changed_scheme

    if path.exists():
        raise TuningError(
            f"{path} is there already, and a store may have been made with it: name another file"
        )
    idf = Idf.learn(_documents(store))
    _write(path, idf.to_json())
    scheme = changed_scheme(store.scheme)
    scheme["simhash"] = {
        **scheme.get("simhash", {}),
        "features": "words",
        "keywords": _KEYWORDS,
        "idf": str(_from_project(path)),
    }
    return {
        "file": str(path),
        "documents": idf.documents,
        "words": len(idf),
        "setting": f"DEDUP_SCHEME = {as_python(scheme)}",
    }


def _from_project(path: Path) -> Path:
    """Path as DEDUP_SCHEME takes it: from the folder of the nearest `scrapy.cfg`."""
    whole, folder = path.absolute(), project_folder()
    return whole.relative_to(folder) if whole.is_relative_to(folder) else whole


def _documents(store: Store) -> Iterator[list[str]]:
    # A copy of a page is no second document: its words are no more frequent for it.
    for page in list(store.pages()):
        text = store.text(page) if page.original is None else None
        if text is not None:
            yield store.scheme.canonical.words(text)


def _write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    part = path.with_name(f"{path.name}.part")
    part.write_text(text, "utf-8")
    part.replace(path)


def _print_idf(learned: dict[str, Any]) -> None:
    print_lines(
        f"{learned['file']}: {learned['words']:,} words of {learned['documents']:,} documents;"
        " in settings.py:",
        "",
        learned["setting"],
        "",
    )


def _print_report(report: Report) -> None:
    different = report.pairs - report.same
    unlabelled = f", {report.unlabelled:,} without a label" if report.unlabelled else ""
    print_lines(
        f"{report.pairs:,} pairs: {report.same:,} the same, {different:,} different{unlabelled};"
        f" {report.folds}-fold cross-validation",
        "",
    )
    rows = [_row(report.present, report)]
    rows += [_row(result, report) for result in report.results]
    print_table(
        ["", "setting", "method", "at", "precision", "recall", "F1", "AUC"],
        rows,
    )
    print_lines("", report.reason, "", *report.lines)
    for name, lines in (("note", report.warnings), ("left out", report.left_out)):
        for line in lines:
            print_lines("", f"{name}: {line}")


def _row(result: Result, report: Report) -> list[str]:
    rule = [] if result.threshold is None else [f"{result.threshold:.2f}"]
    if result.distance is not None:
        rule.append(f"{result.distance} bits")
    return [
        "*" if result is report.recommended else "",
        result.setting.name,
        result.setting.method,
        ", ".join(rule),
        f"{result.quality.precision:.3f}",
        f"{result.quality.recall:.3f}",
        f"{result.quality.f1:.3f} ± {result.error:.3f}",
        f"{result.auc:.3f}",
    ]


COMMANDS = (
    Subcommand(
        name="tune",
        group=HelpGroup.DECIDE,
        summary="measure which settings find near-duplicates best, on labelled pairs",
        example="pairs.jsonl --plot curve.svg",
        add_options=_add_options,
        run=_tune,
    ),
)
