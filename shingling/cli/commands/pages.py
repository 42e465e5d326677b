"""The commands that print stored pages: `show` and `list`."""

from __future__ import annotations

from dataclasses import dataclass
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
    from shingling.sketch import Scheme
    from shingling.store import SplitText, Store, StoredPage


def _add_show_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", type=text)
    parser.add_argument("--text", action="store_true", help="print the stored main text as well")
    parser.add_argument(
        "--explain",
        action="store_true",
        help="show what is compared: shared and differing passages, and what is left out",
    )


@dataclass(frozen=True)
class _Shown:
    """A stored page with what the options ask for beside it."""

    page: StoredPage
    duplicates: list[StoredPage]
    text: str | None
    split: SplitText | None
    explained: Explained | None

    @property
    def columns(self) -> dict[str, Any]:
        template = {} if self.split is None else {"template": round(self.split.template_share, 4)}
        return {**self.page.as_dict(), **template}

    def as_dict(self, scheme: Scheme, *, with_text: bool) -> dict[str, Any]:
        shown = {"duplicates": [one.as_dict() for one in self.duplicates], **self.columns}
        if with_text:
            shown["text"] = self.text
        if self.explained is not None:
            shown["explained"] = self.explained.as_dict(scheme)
        return shown


def _show(options: argparse.Namespace, settings: DedupSettings) -> int:
    with open_store(options, settings) as store:
        found = [_shown(page, options, store) for page in store.find(options.url)]
        scheme = store.scheme
    if options.json:
        print_json([one.as_dict(scheme, with_text=options.text) for one in found])
    elif found:
        for one in found:
            _print_page(one, scheme)
    else:
        print_lines(f"{options.url} is not stored")
    return FOUND if found else NOT_FOUND


def _shown(page: StoredPage, options: argparse.Namespace, store: Store) -> _Shown:
    split = store.split_text(page)
    return _Shown(
        page,
        store.duplicates(page),
        store.text(page) if options.text else None,
        split,
        None if split is None or not options.explain else _explained(page, split, store),
    )


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


def _print_page(shown: _Shown, scheme: Scheme) -> None:
    from shingling.store.decided import why

    page = shown.page
    measured = {"resemblance": page.resemblance, "containment": page.containment}
    columns = {**shown.columns, **measured, "fields": ", ".join(page.fields), "threshold": None}
    if page.resemblance is not None or page.reason is not None:
        columns["decided"] = why(page)
    rows = [
        (name.replace("_", " "), _cell(name, value))
        for name, value in columns.items()
        if value not in (None, "")
    ]
    print_table(["", ""], rows, header=False)
    if shown.duplicates:
        print_lines("")
        print_pages(shown.duplicates)
    if shown.text is not None:
        print_lines("")
        print_lines(*map(str.strip, shown.text.splitlines()))
    if shown.explained is not None:
        what = "its original" if page.original else "the page that it would follow"
        print_lines("", f"Beside {what} (B), {page.original or page.compared_with}:")
        shown.explained.print_decision()
        shown.explained.print_texts(scheme)


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
