"""The command `tune`: a threshold and a shingle size by labelled pairs, and word frequencies."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shingling.console.files import written_whole
from shingling.console.opening import open_store
from shingling.console.options import option
from shingling.console.output import FOUND, print_json, print_lines, print_table
from shingling.console.subcommand import HelpGroup, Subcommand
from shingling.errors import NoStoreError, TuningError
from shingling.plugin.settings import project_folder

if TYPE_CHECKING:
    from shingling.console.options import CommandOptions
    from shingling.store.store import Store
    from shingling.tuning.pairs import LabelledPair
    from shingling.tuning.report import Result, TuningReport

_KEYWORDS = 128  # of a page, that DEDUP_SCHEME has SimHashes made of


def _tune(options: CommandOptions) -> int:
    try:
        store = open_store(options)
    except NoStoreError:
        if options.pairs is None or options.store:
            raise
        # Pairs of texts need no store.
        return tune(options, None)
    with store:
        return tune(options, store)


def tune(options: CommandOptions, store: Store | None) -> int:
    """Measure settings on labelled pairs, or learn document frequencies, and print both.

    Args:
        options: `pairs` (a path, `-` or None), `idf` (a path or None), `json` and `settings`. With
            `idf` and without `pairs`, only the frequencies are learned.
        store: pages that pairs name by URL, and the reviews if `pairs` is None.

    Returns:
        The exit status, 0.

    Raises:
        TuningError: pairs that cannot be used, or a file that is there already.
        SchemeError: a language pack is not installed.
        OSError: a file cannot be read or written.
    """
    from shingling.tuning.report import tune_on

    shown: dict[str, Any] = {}
    if options.idf is not None:
        learned = shown["idf"] = _learn(Path(options.idf), _needed(store))
        counts = f"{learned['words']:,} words of {learned['documents']:,} documents"
        if not options.json:
            print_lines(f"{options.idf}: {counts}; in settings.py:", "", learned["setting"], "")
    if options.pairs is not None or options.idf is None:
        scheme = options.settings.scheme if store is None else store.scheme
        report = tune_on(_labelled(options.pairs, store), scheme, options.settings.rules)
        shown.update(report.as_dict())
        if not options.json:
            _print_report(report)
    return print_json(shown) if options.json else FOUND


def _needed(store: Store | None) -> Store:
    if store is None:
        raise TuningError("a store is needed (DEDUP_STORE_URL or --store), or a file of pairs")
    return store


def _labelled(path: str | None, store: Store | None) -> list[LabelledPair]:
    """Pairs of a file, of standard input, or the reviewed ones of the store."""
    from shingling.tuning.pairs import read_pairs, reviewed_pairs

    def look_up(url: str) -> str | None:
        texts = [] if store is None else (store.text(page) for page in store.find(url))
        return next((text for text in texts if text is not None), None)

    if path is None:
        return reviewed_pairs(_needed(store))
    if path == "-":
        return read_pairs(sys.stdin.buffer, look_up)
    with Path(path).open("rb") as file:
        return read_pairs(file, look_up)


def _learn(path: Path, store: Store) -> dict[str, Any]:
    """Learn document frequencies from the originals of a store, and write them to a file."""
    from shingling.sketch.idf import Idf

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
    scheme = store.scheme.as_dict()
    for name in ("shingle_size", "version"):  # no part of DEDUP_SCHEME
        del scheme[name]
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
        "setting": f"DEDUP_SCHEME = {scheme}",
    }


def _print_report(report: TuningReport) -> None:
    number, same = len(report.same), int(report.same.sum())
    print_lines(f"{number:,} pairs: {same:,} the same, {number - same:,} different", "")
    print_table(
        ["", "", "shingle size", "threshold", "precision", "recall", "F1"],
        [
            _row(result, report, "present" if result is report.present else "")
            for result in (report.present, *report.results)
        ],
    )
    settings = (f"{name} = {value!r}" for name, value in report.settings.items())
    print_lines("", report.reason, "", *settings)
    for warning in report.warnings:
        print_lines("", f"note: {warning}")


def _row(result: Result, report: TuningReport, name: str) -> list[str]:
    return [
        "*" if result is report.recommended else "",
        name,
        str(result.shingle_size),
        f"{result.threshold:.2f}",
        str(result.quality.precision),
        str(result.quality.recall),
        f"{result.quality.f1:.3f}",
    ]


COMMANDS = (
    Subcommand(
        name="tune",
        group=HelpGroup.DECIDE,
        summary="find the threshold and shingle size that suit labelled pairs best",
        example="pairs.jsonl",
        options=(
            option(
                "pairs",
                'JSON lines {"a": ..., "b": ..., "same": true}, - for stdin (default: the'
                " reviewed pairs of the store)",
                metavar="PAIRS",
                nargs="?",
            ),
            option(
                "--idf",
                "learn document frequencies of words from the store into FILE",
                metavar="FILE",
            ),
        ),
        run=_tune,
    ),
)
