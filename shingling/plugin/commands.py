"""What the sub-commands of `scrapy dedup` do. Each returns its exit status."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text
from scrapy.exceptions import UsageError

from shingling.errors import ShinglingError
from shingling.plugin.settings import DedupSettings, store_url
from shingling.similarity import compare
from shingling.sketch import Signature, sign
from shingling.store import Store
from shingling.text import plain_line, read_html, sniff_html

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Sequence

    from scrapy.settings import BaseSettings

    from shingling.store import StoredPage

FOUND, NOT_FOUND, FAILED = 0, 1, 2
_MOST_BYTES = 1_000_000_000  # a file that a person names may be large


def run(name: str, options: argparse.Namespace, settings: BaseSettings) -> int:
    """Run a sub-command and return its exit status; errors are one line on stderr."""
    try:
        configured = DedupSettings.read(settings)
        return _COMMANDS[name](options, configured)
    except UsageError:
        raise
    except ShinglingError as error:
        print(f"scrapy dedup {name}: {error}", file=sys.stderr)
        return FAILED
    except OSError as error:
        print(f"scrapy dedup {name}: {error.filename}: {error.strerror}", file=sys.stderr)
        return FAILED


def _open(options: argparse.Namespace, settings: DedupSettings, *, create: bool = False) -> Store:
    url = store_url(options.store) if options.store else settings.store_url
    return Store.open(url, create=create)


def _status(options: argparse.Namespace, settings: DedupSettings) -> int:
    with _open(options, settings) as store:
        shown = store.status()
        shown["last_runs"] = store.runs(5)
    if options.json:
        return _json(shown)
    rows = [
        ("store", shown["url"]),
        ("size", f"{shown['bytes'] / 1e6:,.1f} MB"),
        ("pages", f"{shown['pages']:,}"),
        ("originals", f"{shown['originals']:,}"),
        (
            "duplicates",
            f"{shown['duplicates']:,} ({shown['exact']:,} exact, {shown['near']:,} near)",
        ),
        ("runs", f"{shown['runs']:,}"),
        ("scheme", f"{shown['scheme']['shingle_size']}-word shingles, {shown['scheme']['id']}"),
        ("bands", f"{shown['bands']['bands']} x {shown['bands']['rows']}"),
    ]
    _table(["", ""], rows, header=False)
    if shown["last_runs"]:
        print()
        _table(
            ["run", "spider", "started", "outcome", "verdicts"],
            [
                (
                    str(run["id"]),
                    run["spider"],
                    run["started"].removesuffix("+00:00").replace("T", " "),
                    run["outcome"] or "did not end",
                    ", ".join(f"{number} {status}" for status, number in run["counts"].items()),
                )
                for run in shown["last_runs"]
            ],
        )
    return FOUND


def _show(options: argparse.Namespace, settings: DedupSettings) -> int:
    with _open(options, settings) as store:
        found = store.find(options.url)
        duplicates = {page.id: store.duplicates(page) for page in found}
        texts = {page.id: store.text(page) if options.text else None for page in found}
    if options.json:
        _json(
            [
                {
                    **page.as_dict(),
                    "duplicates": [duplicate.as_dict() for duplicate in duplicates[page.id]],
                    **({"text": texts[page.id]} if options.text else {}),
                }
                for page in found
            ]
        )
        return FOUND if found else NOT_FOUND
    if not found:
        print(f"{_plain(options.url)} is not stored")
        return NOT_FOUND
    for page in found:
        rows = [
            (name.replace("_", " "), _value(name, value))
            for name, value in page.as_dict().items()
            if value not in (None, "")
        ]
        _table(["", ""], rows, header=False)
        if duplicates[page.id]:
            print()
            _pages(duplicates[page.id])
        text = texts[page.id]
        if text is not None:
            print()
            print("\n".join(plain_line(line) for line in text.splitlines()))
    return FOUND


def _similar(options: argparse.Namespace, settings: DedupSettings) -> int:
    if not 0 <= options.threshold <= 1:
        raise UsageError("--threshold takes a number from 0 to 1", print_help=False)
    if options.limit < 1:
        raise UsageError("--limit takes a whole number above 0", print_help=False)
    with _open(options, settings) as store:
        signature, text, url = _signed(options.what, store)
        matches = [
            match
            for match in store.similar(signature, options.threshold, options.limit + 1, text=text)
            if match.page.url != url
        ][: options.limit]
    if options.json:
        _json(
            [
                {
                    **match.page.as_dict(),
                    "similarity": {
                        "resemblance": round(match.resemblance, 4),
                        "containment": round(match.containment, 4),
                        "exact": match.exact,
                    },
                }
                for match in matches
            ]
        )
    elif matches:
        _table(
            ["resemblance", "containment", "status", "URL", "title"],
            [
                (
                    f"{'' if match.exact else '~'}{match.resemblance:.3f}",
                    f"{match.containment:.3f}",
                    match.page.status,
                    match.page.url,
                    match.page.title or "",
                )
                for match in matches
            ],
        )
    else:
        print(f"no stored page has a resemblance of {options.threshold:g} or more")
    return FOUND if matches else NOT_FOUND


def _compare(options: argparse.Namespace, settings: DedupSettings) -> int:
    if options.a == options.b == "-":
        raise UsageError("only one of the two can be standard input", print_help=False)
    texts = []
    for what in (options.a, options.b):
        text = _text_of_file(what)
        if text is None:
            with _open(options, settings) as store:
                page = _stored(what, store)
                text = store.text(page)
            if text is None:
                raise ShinglingError(f"{_plain(what)}: its text is not stored (DEDUP_STORE_TEXT)")
        texts.append(text)
    measures = compare(texts[0], texts[1], settings.scheme).as_dict()
    if options.json:
        return _json(measures)
    standard_error = measures.pop("standard_error")
    rows = [
        (
            name.replace("_", " "),
            f"{value:.3f}"
            if isinstance(value, float)
            else str(value)
            if not isinstance(value, bool)
            else ("yes" if value else "no"),
        )
        for name, value in measures.items()
    ]
    rows = [
        (name, f"{value} ± {standard_error:.3f}" if name == "estimate" else value)
        for name, value in rows
    ]
    _table(["measure", "value"], rows)
    return FOUND


def _groups(options: argparse.Namespace, settings: DedupSettings) -> int:
    with _open(options, settings) as store:
        groups = list(store.groups(options.limit))
    if options.json:
        _json(
            [
                {
                    "original": group.original.as_dict(),
                    "duplicates": [page.as_dict() for page in group.duplicates],
                }
                for group in groups
            ]
        )
    else:
        for group in groups:
            print(f"{_plain(group.original.url)}  {_plain(group.original.title or '')}")
            for page in group.duplicates:
                print(f"  {page.resemblance or 0:.3f} {page.status:<5} {_plain(page.url)}")
        if not groups:
            print("no duplicates are stored")
    return FOUND if groups else NOT_FOUND


def _list(options: argparse.Namespace, settings: DedupSettings) -> int:
    since = None if options.since is None else _seconds(options.since)
    with _open(options, settings) as store:
        pages = list(
            store.pages(status=options.status, site=options.site, since=since, limit=options.limit)
        )
    if options.json:
        _json([page.as_dict() for page in pages])
    elif pages:
        _pages(pages)
    else:
        print("no such pages are stored")
    return FOUND if pages else NOT_FOUND


def _forget(options: argparse.Namespace, settings: DedupSettings) -> int:
    if not (options.url or options.site or options.run is not None):
        raise UsageError("name URLs, or --site, or --run", print_help=False)
    with _open(options, settings) as store:
        number = store.count(options.url, site=options.site, run=options.run)
        if (
            number
            and not options.yes
            and not _confirmed(f"Forget {number:,} {'page' if number == 1 else 'pages'}?")
        ):
            print("nothing was forgotten")
            return NOT_FOUND
        if number:
            number = store.forget(
                options.url, site=options.site, run=options.run, rules=settings.rules
            )
    if options.json:
        _json({"forgotten": number})
    else:
        print(f"{number:,} {'page' if number == 1 else 'pages'} forgotten")
    return FOUND if number else NOT_FOUND


def _rebuild(options: argparse.Namespace, settings: DedupSettings) -> int:
    if not 0 < options.threshold <= 1:
        raise UsageError("--threshold takes a number above 0, at most 1", print_help=False)
    with _open(options, settings) as store:
        banding = store.rebuild(options.threshold)
    recall = banding.recall(options.threshold)
    if options.json:
        return _json({"bands": banding.bands, "rows": banding.rows, "recall": round(recall, 4)})
    print(
        f"{banding.bands} x {banding.rows} bands, which find {recall:.1%} of the pairs"
        f" at {options.threshold:g}"
    )
    return FOUND


def _upgrade(options: argparse.Namespace, settings: DedupSettings) -> int:
    with _open(options, settings) as store:
        revision = store.status()["revision"]
    if options.json:
        return _json({"revision": revision})
    print(f"the store is up to date (revision {revision})")
    return FOUND


_COMMANDS: dict[str, Callable[[argparse.Namespace, DedupSettings], int]] = {
    "status": _status,
    "show": _show,
    "similar": _similar,
    "compare": _compare,
    "groups": _groups,
    "list": _list,
    "forget": _forget,
    "rebuild": _rebuild,
    "upgrade": _upgrade,
}


def _signed(what: str, store: Store) -> tuple[Signature, str | None, str | None]:
    """Return the signature and text of a file or stored page, and the latter's URL."""
    text = _text_of_file(what)
    if text is not None:
        return sign(text, store.scheme), text, None
    page = _stored(what, store)
    return store.signature(page), store.text(page), page.url


def _stored(url: str, store: Store) -> StoredPage:
    found = store.find(url)
    if not found:
        raise ShinglingError(f"{_plain(url)} is neither a file nor stored")
    return found[0]


def _text_of_file(what: str) -> str | None:
    """Return the text of a file or of standard input (`-`); None where there is no such file.

    Of HTML, it is the main text.
    """
    if what == "-":
        raw = sys.stdin.buffer.read()
    elif Path(what).is_file():
        raw = Path(what).read_bytes()
    else:
        return None
    if sniff_html(raw):
        return read_html(raw, max_bytes=_MOST_BYTES).text
    return raw.decode("utf-8", "replace")


def _seconds(time: str) -> float:
    try:
        moment = datetime.fromisoformat(time)
    except ValueError:
        raise UsageError("--since takes a date such as 2026-11-21", print_help=False) from None
    return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()


def _confirmed(question: str) -> bool:
    print(f"{question} [y/N] ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _json(value: Any) -> int:
    print(json.dumps(value, ensure_ascii=False, indent=2))
    return FOUND


def _pages(pages: Iterable[StoredPage]) -> None:
    _table(
        ["status", "words", "resemblance", "URL", "original"],
        [
            (
                page.status,
                str(page.words),
                "" if page.resemblance is None else f"{page.resemblance:.3f}",
                page.url,
                page.original or "",
            )
            for page in pages
        ],
    )


def _value(name: str, value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    if name in ("first_seen", "last_seen"):
        return str(value).replace("T", " ").removesuffix("+00:00")
    return str(value)


def _plain(text: str) -> str:
    """Return page content as a terminal may show it."""
    return plain_line(text)


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, header: bool = True) -> None:
    """Print a table; long cells are folded, never cut, and no cell is read as markup."""
    table = Table(box=None, show_header=header, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(_plain(cell)) for cell in row))
    # Piped into a file, a line is as long as it has to be.
    Console(width=None if sys.stdout.isatty() else 10_000).print(table)
