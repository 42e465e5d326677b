"""Commands that keep a store in order and copy it, such as `review`, `forget` and `export`."""

from __future__ import annotations

import sys
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from shingling.console.opening import open_session, open_store, rules_for
from shingling.console.options import (
    ONLY_ONE,
    days,
    flag,
    option,
    site,
    text,
    time,
    whole_number,
    yes_options,
)
from shingling.console.output import (
    FOUND,
    NOT_FOUND,
    confirmed,
    counted,
    print_found,
    print_json,
    print_lines,
    print_result,
    print_table,
)
from shingling.console.progress import progress_bar
from shingling.console.subcommand import HelpGroup, Subcommand
from shingling.errors import ShinglingError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shingling.console.options import CommandOptions
    from shingling.store.forgetting import Chosen
    from shingling.store.model import Review

_REPAIR = "restore a backup, or run `scrapy dedup rebuild --decide`"


def _review(options: CommandOptions) -> int:
    reviewing = options.same or options.different or options.undo
    if len(options.url) > 2 or (len(options.url) == 2) != reviewing:
        raise UsageError(
            "name two URLs with --same, --different or --undo; or one or none to list reviews",
        )
    if options.note is not None and not (options.same or options.different):
        raise UsageError("--note goes with --same or --different")
    if not reviewing:
        return _list_reviews(options)
    from shingling.store.store import Store

    a, b = options.url
    with open_session(options) as session:
        store = Store(session)
        reviewed_before = store.admin.review(
            a,
            b,
            same=None if options.undo else options.same,
            note=options.note,
            rules=rules_for(session, options),
        )
        stored_pages = {url: store.find(url) for url in (a, b)}
    if options.json:
        print_json([*chain(*stored_pages.values())])
    else:
        if options.undo and not reviewed_before:
            print_lines("no review of the two was stored")
        following = "" if options.undo else " yet; the review applies once it is"
        for url, stored in stored_pages.items():
            if not stored:
                print_lines(f"{url} is not stored{following}")
            for page in stored:
                standing = page.status if page.original is None else f"duplicate of {page.original}"
                print_lines(f"{page.url}: {standing}")
    return FOUND if reviewed_before or not options.undo else NOT_FOUND


def _list_reviews(options: CommandOptions) -> int:
    with open_store(options) as store:
        reviews = store.admin.reviews(options.url[0] if options.url else None)
    return print_found(reviews, options, _print_reviews, "no reviews are stored")


def _print_reviews(reviews: Sequence[Review]) -> None:
    print_table(
        ["a", "b", "review", "when", "note"],
        [
            (
                review.a,
                review.b,
                "same" if review.same else "different",
                f"{review.created:%Y-%m-%d %H:%M}",
                review.note or "",
            )
            for review in reviews
        ],
    )


def _forget(options: CommandOptions) -> int:
    from shingling.store.forgetting import Chosen

    chosen = Chosen(
        options.url,
        site=options.site,
        run=options.run,
        since=options.since,
        only_learned=options.only_learned,
        every=options.all,
    )
    by_condition = {options.site, options.run, options.since} != {None}
    if [bool(options.url), by_condition, options.all].count(True) != 1:
        raise UsageError("name URLs alone, or --site, --run or --since; or --all alone")
    return _remove(options, chosen, "forgotten")


def _prune(options: CommandOptions) -> int:
    from shingling.store.forgetting import Chosen

    chosen = Chosen(site=options.site, older_than=options.older_than)
    return _remove(options, chosen, "pruned")


def _remove(options: CommandOptions, chosen: Chosen, done: str) -> int:
    from shingling.store.forgetting import count_removed, forget
    from shingling.store.store import Store

    with open_session(options) as session:
        for url in chosen.urls:
            if not Store(session).find(url):
                print_lines(f"{url} is not stored", error=True)
        numbers = count_removed(session, chosen)
        listed = [
            counted(number, name.replace("_", " ").removesuffix("s"))
            for name, number in numbers.items()
            if number
        ]
        what, is_any = ", ".join(listed) or "0 pages", bool(listed)
        if is_any and not options.dry_run:
            is_any = confirmed(options, f"Remove {what} from the store?")
            if is_any:
                forget(session, chosen, rules_for(session, options))
    as_json = {done: numbers.pop("pages"), **numbers} if is_any else {done: 0}
    line = f"{what} {done}" if is_any else f"nothing was {done}"
    if options.dry_run:
        as_json["dry_run"] = True
        line = f"{what} would be {done}: nothing was changed (--dry-run)"
    return print_result(options, as_json, line, found=is_any)


def _backup(options: CommandOptions) -> int:
    file = Path(options.file)
    if file.exists() and not options.force:
        raise ShinglingError(f"{options.file}: the file is there; --force replaces it")
    with open_store(options) as store:
        store.admin.backup(file)
    size = file.stat().st_size
    line = f"{options.file}: {size / 1e6:,.1f} MB"
    return print_result(options, {"file": options.file, "bytes": size}, line)


def _vacuum(options: CommandOptions) -> int:
    with open_store(options) as store:
        before, after = store.admin.vacuum()
    line = f"{before / 1e6:,.1f} MB before, {after / 1e6:,.1f} MB now"
    return print_result(options, {"bytes_before": before, "bytes": after}, line)


def _check(options: CommandOptions) -> int:
    with open_store(options) as store, progress_bar("examined") as show:
        findings = store.admin.check(lambda phase, done: show(phase, done, None))
    if options.json:
        print_json(findings)
    elif findings.is_sound:
        print_lines(f"{counted(findings.pages, 'page')}: no damage")
    else:
        print_lines(*findings.problems, _REPAIR)
    return FOUND if findings.is_sound else NOT_FOUND


def _export(options: CommandOptions) -> int:
    from rich.filesize import decimal

    from shingling.admin.files import output, write_records
    from shingling.admin.records import watched
    from shingling.admin.transfer import export

    with open_session(options) as session:
        records = closing(export(session, with_texts=not options.no_text))
        with records as opened, output(options.file, force=options.force) as file:
            header = next(opened)
            pages = header.fields["pages"]
            # A bar would be among the lines if both go to one terminal.
            shown = options.file != "-" or not sys.stdout.isatty()
            with progress_bar("pages", shown=shown) as show:
                write_records(watched(chain([header], opened), "export", pages, show), file)
    if options.file == "-":
        return FOUND
    size = Path(options.file).stat().st_size
    line = f"{options.file}: {counted(pages, 'page')}, {decimal(size)}"
    return print_result(options, {"file": options.file, "pages": pages, "bytes": size}, line)


COMMANDS = (
    Subcommand(
        name="export",
        group=HelpGroup.FILES,
        summary="write the store to a file",
        example="store.jsonl.gz",
        options=(
            option(
                "file",
                "JSON lines, packed if the name ends in .gz (default: -, stdout)",
                metavar="FILE",
                nargs="?",
                default="-",
            ),
            flag("--no-text", "leave out the main texts"),
            flag("--force", "replace an existing file"),
        ),
        run=_export,
    ),
    Subcommand(
        name="review",
        group=HelpGroup.DECIDE,
        summary="say that two pages are the same or different, whatever is measured",
        example='https://example.com/a https://example.com/b --different --note "two editions"',
        options=(
            option(
                "url",
                "two to review them; one or none to list reviews",
                metavar="URL",
                nargs="*",
                type=text,
            ),
            flag("--same", "they are duplicates, whatever is measured", ONLY_ONE),
            flag("--different", "they are not duplicates", ONLY_ONE),
            flag("--undo", "remove the review of the two", ONLY_ONE),
            option("--note", "reason, kept with the review", metavar="TEXT", type=text),
        ),
        run=_review,
    ),
    Subcommand(
        name="forget",
        group=HelpGroup.MAINTAIN,
        summary="remove pages, and what was learned with them",
        example="--site example.com --yes",
        options=(
            option("url", metavar="URL", nargs="*", type=text),
            option("--site", "all pages of a host, or of the host of a URL", type=site),
            option(
                "--run",
                "all pages that a run stored first",
                type=whole_number(0),
                metavar="ID",
            ),
            option("--since", "all pages stored first since a time", type=time, metavar="TIME"),
            flag("--all", "all pages, and what was learned of all sites; not runs and reviews"),
            flag("--only-learned", "no pages, only templates and rules of their sites"),
            *yes_options("how much would be removed"),
        ),
        run=_forget,
    ),
    Subcommand(
        name="prune",
        group=HelpGroup.MAINTAIN,
        summary="remove pages that have not been seen for a long time",
        example="--older-than 365 --yes",
        options=(
            option(
                "--older-than",
                "pages that were last seen DAYS days ago or earlier",
                type=days,
                required=True,
                metavar="DAYS",
            ),
            option("--site", "only pages of a host, or of the host of a URL", type=site),
            *yes_options("how much would be removed"),
        ),
        run=_prune,
    ),
    Subcommand(
        name="backup",
        group=HelpGroup.MAINTAIN,
        summary="copy a SQLite store into a file, also while it is used",
        example="dedup-2026-11-27.db",
        options=(
            option("file", "file to write", metavar="FILE", type=text),
            flag("--force", "replace a file that is there"),
        ),
        run=_backup,
    ),
    Subcommand(
        name="vacuum",
        group=HelpGroup.MAINTAIN,
        summary="free the disk space of removed pages",
        example="",
        run=_vacuum,
    ),
    Subcommand(
        name="check",
        group=HelpGroup.MAINTAIN,
        summary="find damage in the store",
        example="",
        run=_check,
    ),
)
