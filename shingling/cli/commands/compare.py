"""The command `compare`: every measure of two texts or pages, or one measure of many files."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy.exceptions import UsageError

from shingling.console.opening import open_store
from shingling.console.options import (
    OWN_TEXT_OPTION,
    flag,
    number,
    option,
    text,
    whole_number,
)
from shingling.console.output import FOUND, print_json, print_lines, print_table
from shingling.console.subcommand import HelpGroup, Subcommand
from shingling.errors import NoStoreError, ShinglingError
from shingling.rules import (
    CLASSIC_HASHES,
    MEASURES,
    UNIQUENESS,
    WEIGHTINGS,
)

if TYPE_CHECKING:
    from shingling.cli.explain import Explained
    from shingling.console.options import CommandOptions
    from shingling.similarity.cosines import Weighting
    from shingling.sketch import Scheme
    from shingling.store.model import SplitText, StoredPage

_MAX_SHINGLE_SIZE = 100
_ONLY_FOR_TWO = ("diff", "explain", "hash")
_ONLY_FOR_ALL = ("measure", "threshold", "own_text", "matrix", "csv")


def _run(options: CommandOptions) -> int:
    for name in _ONLY_FOR_TWO if options.all else _ONLY_FOR_ALL:
        if getattr(options, name):
            goes = "does not go" if options.all else "goes"
            raise UsageError(f"--{name.replace('_', '-')} {goes} with --all")
    if options.step and not options.hash:
        raise UsageError("--step goes with --hash")
    if options.all:
        return _compare_all(options)
    if len(options.what) != 2:
        raise UsageError("two are compared, or more with --all")
    return _compare(options)


def _compare_all(options: CommandOptions) -> int:
    from shingling.cli.comparing import compare_all

    if options.matrix and (options.threshold is not None or options.measure == UNIQUENESS):
        raise UsageError("--matrix is of all pairs: without --threshold, and not of uniqueness")
    if options.own_text and (options.matrix or options.measure == UNIQUENESS):
        raise UsageError("--own-text is of pairs: without --matrix, and not of uniqueness")
    return compare_all(options, *_chosen(options.settings.scheme, options))


_PERCENTAGES = ("dice", "per_word", "per_shingle")


def _compare(options: CommandOptions) -> int:
    from shingling.cli.explain import print_diff
    from shingling.similarity.comparison import compare
    from shingling.similarity.cosines import Weighting
    from shingling.similarity.diff import word_diff

    if options.what == ["-", "-"]:
        raise UsageError("only one of the two can be standard input")
    scheme = options.settings.scheme
    if options.store:
        with open_store(options) as store:
            scheme = store.scheme
    a, b = (_compared(what, options) for what in options.what)
    scheme, weighting = _chosen(b.scheme or a.scheme or scheme, options)
    if options.hash:
        return _compare_checksums(a, b, scheme, options)
    chosen = None if weighting == Weighting() else weighting
    if options.df != "documents":
        from shingling.cli.comparing import frequencies_of

        features = [weighting.hashes(scheme.canonical.words(side.split.whole)) for side in (a, b)]
        chosen = replace(weighting, frequencies=frequencies_of(features, weighting, options))
    comparison = compare(a.split.whole, b.split.whole, scheme, chosen)
    changes = word_diff(a.split.whole, b.split.whole) if options.diff else []
    explained = _explained(a, b, options) if options.explain else None
    if options.json:
        shown = comparison.as_dict() | {"warnings": comparison.warnings} | _fields(a, b)
        if options.diff:
            shown["diff"] = changes
        if explained is not None:
            shown["explained"] = explained.as_dict(scheme)
        return print_json(shown)
    _print_fields(a, b)
    if explained is not None:
        explained.print_decision()
        explained.print_texts(scheme)
        print_lines("")
    measures = comparison.as_dict()
    measures["estimate"] = f"{comparison.estimate:.3f} ± {measures.pop('standard_error'):.3f}"
    _print_measures(measures, "of the whole texts" if options.explain else "measure")
    for warning in comparison.warnings:
        print_lines("", warning)
    if options.diff:
        print_lines("")
        print_diff(changes)
    return FOUND


def _compare_checksums(a: _Compared, b: _Compared, scheme: Scheme, options: CommandOptions) -> int:
    """Print what two lists of checksums have in common; with --json the lists as well."""
    from shingling.similarity.classic import classic_overlap, shingles

    words = [scheme.canonical.words(side.split.whole) for side in (a, b)]
    size, step = scheme.shingle_size, options.step or 1
    measures = classic_overlap(words[0], words[1], size, step, options.hash)._asdict()
    if options.json:
        lists = [shingles(own, size, step, options.hash) for own in words]
        return print_json(measures | _fields(a, b) | dict(zip("ab", lists, strict=True)))
    _print_fields(a, b)
    _print_measures(measures, "measure")
    return FOUND


def _print_measures(measures: dict[str, Any], title: str) -> None:
    rows = [(name.replace("_", " "), _cell(name, value)) for name, value in measures.items()]
    print_table([title, "value"], rows)


def _chosen(scheme: Scheme, options: CommandOptions) -> tuple[Scheme, Weighting]:
    """Scheme and weights with what the options change."""
    from shingling.similarity.cosines import Weighting

    if options.size:
        scheme = replace(scheme, shingle_size=options.size)
    if options.features:
        simhash = replace(scheme.simhash, features=options.features)
        scheme = replace(scheme, simhash=simhash)
    return scheme, Weighting(options.cosine, options.features or "words")


class _Compared(NamedTuple):
    """One of the two texts.

    Args:
        split: the text, with what is left out of it.
        scheme: of the store that it is from.
        field: of the JSON that it is from.
        page: that it is of.
    """

    split: SplitText
    scheme: Scheme | None = None
    field: str | None = None
    page: StoredPage | None = None


def _compared(what: str, options: CommandOptions) -> _Compared:
    from shingling.cli.texts import stored_page, text_of_file
    from shingling.store.model import SplitText

    file = text_of_file(what, options.text_field)
    if file is not None:
        return _Compared(SplitText(file.text), field=file.field)
    try:
        store = open_store(options)
    except NoStoreError:
        raise ShinglingError(f"{what}: no such file, and there is no store yet") from None
    with store:
        page = stored_page(what, store)
        own = store.text(page)
        if own is None:
            raise ShinglingError(f"{what}: its text is not stored (DEDUP_STORE_TEXT)")
        without_template = options.explain and options.settings.rules.templates
        split = store.split_text(page) if without_template else None
        return _Compared(split or SplitText(own), store.scheme, page=page)


def _explained(a: _Compared, b: _Compared, options: CommandOptions) -> Explained:
    from shingling.cli.explain import Explained

    if a.page is None or b.page is None:
        return Explained(a.split, b.split)
    with open_store(options) as store:
        return Explained.of_pages(store, a.page, b.page, (a.split, b.split))


def _fields(a: _Compared, b: _Compared) -> dict[str, Any]:
    """Fields of JSON that were compared, if there are any."""
    return {"fields": {"a": a.field, "b": b.field}} if a.field or b.field else {}


def _print_fields(a: _Compared, b: _Compared) -> None:
    for name, side in (("A", a), ("B", b)):
        if side.field:
            print_lines(f"{name} is the field {side.field!r} of a JSON object.")


def _cell(name: str, value: Any) -> str:
    if value is None:
        if find_spec("rapidfuzz") is None:
            return "needs pip install rapidfuzz (extra distances)"
        return "not computed: the texts are too long"
    if isinstance(value, bool):
        return "yes" if value else "no"
    percent = " %" if name in _PERCENTAGES else ""
    return f"{value:.3f}{percent}" if isinstance(value, float) else str(value)


COMMANDS = (
    Subcommand(
        name="compare",
        group=HelpGroup.LOOK,
        summary="measure two texts or pages in every way, or many files",
        example="https://example.com/a https://example.org/b --explain",
        options=(
            option(
                "what",
                "two of: a URL in the store, a file, or - for stdin; with --all, files and folders",
                metavar="PAGE",
                nargs="+",
            ),
            flag("--diff", "show the words that differ as well"),
            flag(
                "--explain",
                "show what is compared: shared and differing passages, and what is left out",
            ),
            option(
                "--text-field",
                "field of JSON files that has the text",
                metavar="FIELD",
                type=text,
            ),
            option(
                "--size",
                "words in a shingle (default: that of the store, or DEDUP_SHINGLE_SIZE)",
                metavar="WORDS",
                type=whole_number(1, _MAX_SHINGLE_SIZE),
            ),
            option(
                "--cosine",
                "weights (default: smooth)",
                choices=WEIGHTINGS,
                default=WEIGHTINGS[0],
                group="cosine",
            ),
            option(
                "--df",
                "what document frequencies are of: the documents that are compared (default),"
                " the store, or a table that `tune --idf` wrote",
                metavar="documents|store|FILE",
                default="documents",
                group="cosine",
            ),
            option(
                "--features",
                "what cosine and SimHash are made of, such as words:2 or characters+blanks:4:3",
                type=text,
                group="cosine",
            ),
            option(
                "--hash",
                "show the checksums of shingles that both have",
                choices=CLASSIC_HASHES,
                group="checksums of shingles",
            ),
            option(
                "--step",
                "from one shingle to the next, with --hash (default: 1, overlapping)",
                metavar="WORDS",
                type=whole_number(1, _MAX_SHINGLE_SIZE),
                group="checksums of shingles",
            ),
            flag("--all", "compare all texts of files and folders with each other", "many files"),
            option(
                "--measure",
                "by which they are compared, with --all (default: resemblance)",
                choices=(*MEASURES, UNIQUENESS),
                group="many files",
            ),
            option(
                "--threshold",
                "list pairs of so much at least, with --all (default: 0.5; of uniqueness 0.96)",
                type=number(1, with_zero=True),
                group="many files",
            ),
            OWN_TEXT_OPTION._replace(group="many files"),
            flag("--matrix", "print all measures, with --all", "many files"),
            flag("--csv", "print CSV, with --all", "many files"),
        ),
        run=_run,
    ),
)
