"""Options of commands, and the types by which argparse reads values or refuses them in one line."""

from __future__ import annotations

from argparse import Action, ArgumentError, ArgumentParser, ArgumentTypeError, Namespace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from shingling.errors import StoreError
from shingling.plugin import settings
from shingling.rules import OWN_TEXT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from shingling.plugin.settings import Accepted, DedupSettings

MAX_WHOLE_NUMBER = 2**31 - 1
MAX_DAYS = 1_000_000
DEFAULT_LIMIT = 20


class CommandOptions(Namespace):
    """What a command is given: the settings of the project, and a value for each of its options."""

    settings: DedupSettings
    store: str | None
    json: bool
    csv = jsonl = False
    limit: Any = None

    @property
    def data_formats(self) -> int:
        """How many formats for programs are asked for; more than one is a mistake."""
        return self.json + self.csv + self.jsonl


ONLY_ONE = "only one"
"""Group of options of which one may be given."""


class Option(NamedTuple):
    """An option of a command, or an argument without a name.

    Args:
        name: as it is typed.
        how: keywords of `ArgumentParser.add_argument`.
        group: title of the options that it is listed with, or `ONLY_ONE`; "" for most options.
    """

    name: str
    how: dict[str, Any]
    group: str


class _Value(Action):
    """Keeps the value of an option; Python 3.11 and 3.12 find none in `--option=--`."""

    def __call__(
        self,
        parser: ArgumentParser,  # noqa: ARG002 (as inherited)
        namespace: Namespace,
        values: Any,
        option_string: str | None = None,  # noqa: ARG002 (as inherited)
    ) -> None:
        if values == [] and self.nargs is None:
            raise ArgumentError(self, "takes a value")
        setattr(namespace, self.dest, values)


def option(name: str, shown: str | None = None, group: str = "", **how: Any) -> Option:
    """Declare an option with a value.

    Args:
        name: as it is typed.
        shown: in the help.
        group: as of `Option`.
        how: more keywords of `ArgumentParser.add_argument`.
    """
    return Option(name, {"action": _Value, "help": shown, **how}, group)


def flag(name: str, shown: str, group: str = "") -> Option:
    """Declare an option that is given or not.

    Args:
        name: as it is typed.
        shown: in the help.
        group: as of `Option`.
    """
    return Option(name, {"action": "store_true", "help": shown}, group)


def name_option(name: str, shown: str) -> Option:
    """Declare an option that names something, such as a field."""
    return option(name, shown, metavar="NAME", type=text)


def text(value: str) -> str:
    """Take any text that is valid in the encoding of the command line.

    Raises:
        ArgumentTypeError: it has bytes that are not.
    """
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ArgumentTypeError("takes text in the encoding of the terminal") from None
    return value


def site(value: str) -> str:
    """Take a site: a host, with or without its port, or any URL of it.

    Raises:
        ArgumentTypeError: it has no host.
    """
    from shingling.store.urls import pasted_site

    try:
        return pasted_site(text(value))
    except StoreError as error:
        raise ArgumentTypeError(f"takes a host or a URL: {error}") from None


def one_of(*accepted: str, **meant: str) -> Callable[[str], str]:
    """Make the type of one of some words.

    Args:
        accepted: the words.
        meant: what is probably meant by words that are not accepted.
    """

    def read(value: str) -> str:
        if value in accepted:
            return value
        probably = meant.get(value.lower()) or " or ".join(alike(value, accepted))
        hint = f" (did you mean {probably}?)" if probably else ""
        raise ArgumentTypeError(f"takes {', '.join(accepted[:-1])} or {accepted[-1]}{hint}")

    return read


def alike(word: str, others: Iterable[str]) -> list[str]:
    """Find the words that one may have been mistyped for, at most two, the likeliest first."""
    from difflib import get_close_matches  # only after a mistake

    return get_close_matches(word[:100], [*others], 2, 0.7)


def _typed(accepted: Accepted) -> Callable[[str], Any]:
    """Make the type of what a setting accepts as well."""
    shown, read = accepted

    def take(value: str) -> Any:
        try:
            return read(value)
        except ValueError:
            raise ArgumentTypeError(f"takes {shown}") from None

    return take


def whole_number(low: int, high: int = MAX_WHOLE_NUMBER) -> Callable[[str], Any]:
    """Make the type of a whole number from `low` to `high`."""
    return _typed(settings.whole_number(low, high))


def number(high: int, unit: str = "", *, with_zero: bool = False) -> Callable[[str], Any]:
    """Make the type of a number above 0, or from 0 on, to `high`."""
    return _typed(settings.number(high, unit, with_zero=with_zero))


def time(value: str) -> float:
    """Read a date or time in ISO 8601, in UTC if it names no zone, as seconds since 1970.

    Raises:
        ArgumentTypeError: it is none.
    """
    try:
        moment = datetime.fromisoformat(value)
        return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
    except (ValueError, OverflowError):
        raise ArgumentTypeError("takes a date such as 2026-11-21") from None


def limit(what: str, default: int | None = DEFAULT_LIMIT) -> Option:
    """Declare the option `--limit` of commands that list something."""
    shown = f"maximum number of {what} (default: {DEFAULT_LIMIT})"
    return option("--limit", shown, type=whole_number(1), default=default)


def yes_options(tried: str) -> tuple[Option, Option]:
    """Declare `--dry-run` and `--yes` of commands that ask before they change a store."""
    return flag("--dry-run", f"only print {tried}"), flag("--yes", "do not ask for confirmation")


CSV = flag("--csv", "print CSV; a text that a spreadsheet takes for a formula gets an apostrophe")
"""Of commands that list something."""

EVERY = option(
    "--every",
    "time between two lines of progress, where there is no terminal (default: 5)",
    type=number(86_400, " of seconds"),
    default=5.0,
    metavar="SECONDS",
)
"""Of commands that tell how far they have come."""

OWN_TEXT_OPTION = option(
    "--own-text",
    "do not take a text for a copy that says something of its own: keep, other numbers or"
    " passages; strict, any changed line (default: ignore)",
    choices=OWN_TEXT,
)
"""Of commands that compare the texts of files."""

share = number(1)
days = number(MAX_DAYS, " of days")
