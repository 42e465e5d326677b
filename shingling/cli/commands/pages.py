"""The commands that print stored pages: `show` and `list`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shingling.console.opening import open_store
from shingling.console.option_types import DEFAULT_LIMIT, MAX_WHOLE_NUMBER, add_limit, text, time
from shingling.console.output import (
    FOUND,
    NOT_FOUND,
    print_json,
    print_lines,
    print_more,
    print_pages,
    print_table,
)
from shingling.console.subcommand import HelpGroup, Subcommand

if TYPE_CHECKING:
    import argparse

    from shingling.cli.explain import Explained
    from shingling.plugin.settings import DedupSettings
    from shingling.store import SplitText, Store, StoredPage


def _add_show_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", type=text)
    parser.add_argument("--text", action="store_true", help="print the stored main text as well")
    parser.add_argument(
        "--explain",
        action="store_true",
        help="show what is compared: shared and differing passages, and what is left out",
    )


def _show(options: argparse.Namespace, settings: DedupSettings) -> int:
    with open_store(options, settings) as store:
        found = store.find(options.url)
        if options.json:
            print_json([_page_as_dict(page, options, store) for page in found])
        else:
            for page in found:
                _print_page(page, options, store)
    if not found and not options.json:
        print_lines(f"{options.url} is not stored")
    return FOUND if found else NOT_FOUND


def _columns(page: StoredPage, split: SplitText | None) -> dict[str, Any]:
    template = {} if split is None else {"template": round(split.template_share, 4)}
    return {**page.as_dict(), **template}


def _page_as_dict(page: StoredPage, options: argparse.Namespace, store: Store) -> dict[str, Any]:
    split = store.split_text(page)
    duplicates = [one.as_dict() for one in store.duplicates(page)]
    shown = {"duplicates": duplicates, **_columns(page, split)}
    if options.text:
        shown["text"] = store.text(page)
    explained = _explained(page, split, store) if split and options.explain else None
    if explained is not None:
        shown["explained"] = explained.as_dict(store.scheme)
    return shown


def _explained(page: StoredPage, split: SplitText, store: Store) -> Explained | None:
    """Page beside its original, or the one that it would follow; None where it has none."""
    from shingling.cli.explain import Explained

    url = page.original or page.compared_with
    found = [] if url is None else store.find(url)
    other = next((one for one in found if one.scope == page.scope), None)
    text = None if other is None else store.split_text(other)
    if other is None or text is None:
        return None
    return Explained.of_pages(store, page, other, (split, text))


def _print_page(page: StoredPage, options: argparse.Namespace, store: Store) -> None:
    from shingling.store.decided import why

    split = store.split_text(page)
    measured = {"resemblance": page.resemblance, "containment": page.containment}
    columns = {**_columns(page, split), **measured, "fields": ", ".join(page.fields)}
    columns["threshold"] = None
    if page.resemblance is not None or page.reason is not None:
        columns["decided"] = why(page)
    rows = [
        (name.replace("_", " "), _cell(name, value))
        for name, value in columns.items()
        if value not in (None, "")
    ]
    print_table(["", ""], rows, header=False)
    if duplicates := store.duplicates(page):
        print_lines("")
        print_pages(duplicates)
    text = store.text(page) if options.text else None
    if text is not None:
        print_lines("")
        print_lines(*map(str.strip, text.splitlines()))
    explained = _explained(page, split, store) if split and options.explain else None
    if explained is not None:
        what = "its original" if page.original else "the page that it would follow"
        print_lines("", f"Beside {what} (B), {page.original or page.compared_with}:")
        explained.print_decision()
        explained.print_texts(store.scheme)


def _cell(name: str, value: Any) -> str:
    """Column of a stored page as a person reads it."""
    if isinstance(value, float):
        return f"{value:.3f}"
    if name in ("first_seen", "last_seen"):
        return str(value).replace("T", " ").removesuffix("+00:00")
    return str(value)


def _add_list_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--status",
        choices=["new", "exact", "near", "unchanged", "changed", "skipped"],
        help="where a page stands, or its last verdict",
    )
    parser.add_argument("--site", type=text, help="host, without www.")
    parser.add_argument(
        "--since", metavar="TIME", type=time, help="seen since a date or time in ISO 8601 (UTC)"
    )
    add_limit(parser, "pages; all with --json")
    parser.set_defaults(limit=None)


def _list(options: argparse.Namespace, settings: DedupSettings) -> int:
    options.limit = options.limit or (MAX_WHOLE_NUMBER if options.json else DEFAULT_LIMIT)
    with open_store(options, settings) as store:
        found = list(
            store.pages(
                status=options.status,
                site=options.site,
                since=options.since,
                limit=options.limit + 1,
            )
        )
    pages = found[: options.limit]
    if options.json:
        print_json([page.as_dict() for page in pages])
    elif pages:
        print_pages(pages)
    else:
        print_lines("no such pages are stored")
    print_more(found, options)
    return FOUND if pages else NOT_FOUND


COMMANDS = (
    Subcommand(
        name="list",
        group=HelpGroup.LOOK,
        summary="list stored pages",
        example="--status near --site example.com",
        add_options=_add_list_options,
        run=_list,
    ),
    Subcommand(
        name="show",
        group=HelpGroup.LOOK,
        summary="show what is stored of a URL",
        example="https://example.com/article",
        add_options=_add_show_options,
        run=_show,
    ),
)
