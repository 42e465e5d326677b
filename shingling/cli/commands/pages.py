"""The commands that print stored pages: `show` and `list`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shingling.cli.opening import open_store
from shingling.cli.option_types import text, time, whole_number
from shingling.cli.output import (
    FOUND,
    NOT_FOUND,
    print_json,
    print_lines,
    print_pages,
    print_table,
)
from shingling.cli.subcommand import Subcommand

if TYPE_CHECKING:
    import argparse

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
    original: SplitText | None

    @property
    def columns(self) -> dict[str, Any]:
        template = {} if self.split is None else {"template": round(self.split.template_share, 4)}
        return {**self.page.as_dict(), **template}

    def as_dict(self, scheme: Scheme, *, with_text: bool) -> dict[str, Any]:
        from shingling.cli.explain import explained

        page = self.page.as_dict()
        shown = {**page, "duplicates": [one.as_dict() for one in self.duplicates], **self.columns}
        if with_text:
            shown["text"] = self.text
        if self.split is not None and self.original is not None:
            shown["explained"] = explained(self.split, self.original, scheme)
        return shown


def _show(options: argparse.Namespace, settings: DedupSettings) -> int:
    with open_store(options, settings) as store:
        found = [
            _Shown(
                page,
                store.duplicates(page),
                store.text(page) if options.text else None,
                store.split_text(page),
                _original_of(page, store) if options.explain else None,
            )
            for page in store.find(options.url)
        ]
        scheme = store.scheme
    if options.json:
        print_json([one.as_dict(scheme, with_text=options.text) for one in found])
    elif found:
        for one in found:
            _print_page(one, scheme)
    else:
        print_lines(f"{options.url} is not stored")
    return FOUND if found else NOT_FOUND


def _print_page(shown: _Shown, scheme: Scheme) -> None:
    from shingling.cli.explain import print_explained

    rows = [
        (name.replace("_", " "), _cell(name, value))
        for name, value in shown.columns.items()
        if value not in (None, "")
    ]
    print_table(["", ""], rows, header=False)
    if shown.duplicates:
        print_lines("")
        print_pages(shown.duplicates)
    if shown.text is not None:
        print_lines("")
        print_lines(*map(str.strip, shown.text.splitlines()))
    if shown.split is not None and shown.original is not None:
        print_lines("", f"Beside its original (B), {shown.page.original or ''}:")
        print_explained(shown.split, shown.original, scheme)


def _cell(name: str, value: Any) -> str:
    """Column of a stored page as a person reads it."""
    if isinstance(value, float):
        return f"{value:.3f}"
    if name in ("first_seen", "last_seen"):
        return str(value).replace("T", " ").removesuffix("+00:00")
    return str(value)


def _original_of(page: StoredPage, store: Store) -> SplitText | None:
    """Text of a page's original, where it has one and its text is stored."""
    found = store.find(page.original) if page.original is not None else []
    return next((store.split_text(one) for one in found if one.scope == page.scope), None)


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
    parser.add_argument("--limit", type=whole_number(1), help="maximum number of pages")


def _list(options: argparse.Namespace, settings: DedupSettings) -> int:
    with open_store(options, settings) as store:
        pages = list(
            store.pages(
                status=options.status, site=options.site, since=options.since, limit=options.limit
            )
        )
    if options.json:
        print_json([page.as_dict() for page in pages])
    elif pages:
        print_pages(pages)
    else:
        print_lines("no such pages are stored")
    return FOUND if pages else NOT_FOUND


COMMANDS = (
    Subcommand(
        name="show",
        summary="show what is stored of a URL",
        example="https://example.com/article",
        add_options=_add_show_options,
        run=_show,
        order=20,
    ),
    Subcommand(
        name="list",
        summary="list stored pages",
        example="--status near --site example.com",
        add_options=_add_list_options,
        run=_list,
        order=60,
    ),
)
