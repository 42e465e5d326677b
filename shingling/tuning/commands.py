"""The command `tune`: settings measured on labelled pairs, and document frequencies."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shingling.console.files import written_whole
from shingling.console.opening import open_store
from shingling.console.options import option, whole_number
from shingling.console.output import FOUND, print_json, print_lines, print_table
from shingling.console.subcommand import HelpGroup, Subcommand
from shingling.errors import NoStoreError, TuningError
from shingling.plugin.settings import project_folder

if TYPE_CHECKING:
    from shingling.console.options import CommandOptions
    from shingling.rules.rules import Rules
    from shingling.sketch import Scheme
    from shingling.store import Store
    from shingling.tuning.pairs import LabelledPairs
    from shingling.tuning.report import Report
    from shingling.tuning.settings import Result

_KEYWORDS = 128  # of a page, that DEDUP_SCHEME has SimHashes made of


def _tune(options: CommandOptions) -> int:
    try:
        store = open_store(options)
    except NoStoreError:
        if options.pairs is None or options.store:
            raise
        # Pairs of texts need no store.
        return tune(options, None, options.settings.scheme, options.settings.rules)
    with store:
        return tune(options, store, store.scheme, options.settings.rules)


def tune(options: CommandOptions, store: Store | None, present: Scheme, rules: Rules) -> int:
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
        learned = shown["idf"] = _learn(Path(options.idf), _needed(store))
        counts = f"{learned['words']:,} words of {learned['documents']:,} documents"
        if not options.json:
            print_lines(f"{options.idf}: {counts}; in settings.py:", "", learned["setting"], "")
    if measured:
        report = tune_on(_labelled(options.pairs, store), present, rules, folds=options.folds)
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
    from shingling.tuning.pairs import read_pairs, reviewed_pairs, titled_pairs

    def look_up(url: str) -> str | None:
        texts = [] if store is None else (store.text(page) for page in store.find(url))
        return next((text for text in texts if text is not None), None)

    if path is None:
        reviewed = reviewed_pairs(_needed(store))
        return titled_pairs(_needed(store)) if reviewed.shortage else reviewed
    if path == "-":
        return read_pairs(sys.stdin.buffer, look_up)
    with Path(path).open("rb") as file:
        return read_pairs(file, look_up)


def _learn(path: Path, store: Store) -> dict[str, Any]:
    """Learn document frequencies from the originals of a store, and write them to a file."""
    from shingling.sketch import Idf
    from shingling.tuning.settings import as_python, changed_scheme

    if path.exists():
        raise TuningError(
            f"{path} is there already, and a store may have been made with it: name another file"
        )
    # A copy of a page is no second document: its words are no more frequent for it.
    originals = [page for page in store.pages() if page.original is None]
    texts = (store.text(page) for page in originals)
    idf = Idf.learn(store.scheme.canonical.words(text) for text in texts if text is not None)
    with written_whole(path) as file:
        file.write(idf.to_json().encode())
    whole, folder = path.absolute(), project_folder()
    scheme = changed_scheme(store.scheme)
    scheme["simhash"] = {
        **scheme.get("simhash", {}),
        "features": "words",
        "keywords": _KEYWORDS,
        "idf": str(whole.relative_to(folder) if whole.is_relative_to(folder) else whole),
    }
    return {
        "file": str(path),
        "documents": idf.documents,
        "words": len(idf),
        "setting": f"DEDUP_SCHEME = {as_python(scheme)}",
    }


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
        options=(
            option(
                "pairs",
                metavar="PAIRS",
                nargs="?",
                help='JSON lines {"a": ..., "b": ..., "same": true}, - for stdin (default: reviewed'
                " pairs of the store; where there are few, its pages by their titles)",
            ),
            option("--plot", metavar="FILE", help="draw the curve: .svg, .png or .pdf"),
            option(
                "--idf",
                metavar="FILE",
                help="learn document frequencies of words from the store into FILE",
            ),
            option(
                "--folds",
                type=whole_number(2, 20),
                default=5,
                help="folds of the cross-validation (default: 5)",
            ),
        ),
        run=_tune,
    ),
)
