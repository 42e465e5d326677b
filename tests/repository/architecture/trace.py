"""The stations of a page: which functions a real `Store.check` calls from module to module.

Run `python -m tests.repository.architecture.trace` to see their numbers, or with a kind of page
(`near`, say) to see its stations.

A *station* is a function or method of `shingling.store` that is called from another module of
`shingling.store`, in order of first appearance; called in a loop, or again later, it is one
station. Two things are not counted, as they are no part of the way:

- what the index, the backends and the schema call among themselves: a page comes to their doors;
- what values do (`store.model`, `store.rules`, `store.urls`, `store.schema`: a page, a row), and
  methods that `dataclass` has generated.

Comprehensions, lambdas and inner functions belong to the function that they stand in.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import shingling
from shingling import Page, Store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType

_PACKAGE = str(Path(shingling.__file__).parent)
_STORE = "store."
_NOT_FROM = ("store.index.", "store.backends.", "store.schema.")
_VALUES = ("store.model", "store.rules", "store.urls", "store.schema.")


class Call(NamedTuple):
    """A call from one module of the package to another."""

    from_module: str
    from_function: str
    module: str
    function: str

    @property
    def station(self) -> str:
        """What is called."""
        return f"{self.module}.{self.function}"


@dataclass(frozen=True)
class Trace:
    """Calls between modules of the package, returns apart, in order."""

    calls: tuple[Call, ...]

    @property
    def stations(self) -> dict[str, Call]:
        """First calls of the stations, by station in order of appearance."""
        found: dict[str, Call] = {}
        for call in self.calls:
            inside = call.module.startswith(_STORE) and call.from_module.startswith(_STORE)
            if inside and not (
                call.from_module.startswith(_NOT_FROM) or call.module.startswith(_VALUES)
            ):
                found.setdefault(call.station, call)
        return found

    @property
    def modules(self) -> dict[str, int]:
        """Number of stations by module."""
        counts: dict[str, int] = {}
        for call in self.stations.values():
            counts[call.module] = counts.get(call.module, 0) + 1
        return counts


def trace(work: Callable[[], object]) -> Trace:
    """Calls between modules while something is done."""
    calls: list[Call] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event != "call" or not _is_ours(frame):
            return
        caller = frame.f_back
        while caller is not None and not _is_ours(caller):
            caller = caller.f_back
        if caller is not None and _module(caller) != _module(frame):
            calls.append(Call(_module(caller), _name(caller), _module(frame), _name(frame)))

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return Trace(tuple(calls))


def _is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(_PACKAGE)


def _module(frame: FrameType) -> str:
    return str(frame.f_globals["__name__"]).removeprefix("shingling.")


def _name(frame: FrameType) -> str:
    return frame.f_code.co_qualname.partition(".<locals>")[0]


def trace_pages() -> dict[str, Trace]:
    """Traces of `Store.check` in a new SQLite file, by the status of the page that is checked.

    `batch` is that of one batch with two new pages and one of each other kind.
    """
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(f"sqlite:///{Path(folder) / 'dedup.db'}")
        with store:
            store.check([_page("known.example", seed) for seed in range(1, 14)])
            single = {
                "new": [_page("known.example", 101)],
                "exact": [_page("other.example", 2)],
                "near": [_page("other.example", 3, edited=1)],
                "unchanged": [_page("known.example", 4)],
                "changed": [_page("known.example", 5, edited=60)],
                "skipped": [Page("https://known.example/short", "only a few words here")],
            }
            batch = [
                _page("known.example", 102),
                _page("known.example", 103),
                _page("other.example", 7),
                _page("other.example", 8, edited=1),
                _page("known.example", 9),
                _page("known.example", 10, edited=60),
                Page("https://known.example/as_short", "no more than a few words"),
                Page("https://known.example/empty"),
            ]
            traces = {kind: _checked(store, pages, [kind]) for kind, pages in single.items()}
            return {**traces, "batch": _checked(store, batch, ["new", *single, "skipped"])}


def _checked(store: Store, pages: Sequence[Page], wanted: Sequence[str]) -> Trace:
    statuses: list[str] = []
    traced = trace(lambda: statuses.extend(verdict.status for verdict in store.check(pages)))
    assert statuses == [*wanted], f"{statuses} instead of {wanted}"
    return traced


def _page(site: str, seed: int, edited: int = 0) -> Page:
    words = [f"word{number}" for number in Random(seed).sample(range(10**6), 300)]
    words[150 : 150 + edited] = [f"edited{number}" for number in range(edited)]
    return Page(f"https://{site}/{seed}", " ".join(words), title=f"Title {seed}")


def main() -> None:
    """Print the numbers of stations, or the stations of one kind of page."""
    traces = trace_pages()
    for kind in sys.argv[1:] or traces:
        traced = traces[kind]
        if sys.argv[1:]:
            for number, call in enumerate(traced.stations.values(), 1):
                print(f"{number:3} {call.station:60} from {call.from_module}.{call.from_function}")
        by_module = sorted(traced.modules.items(), key=lambda pair: -pair[1])
        print(
            f"{kind}: {len(traced.stations)} stations in {len(by_module)} modules"
            f" ({', '.join(f'{module} {count}' for module, count in by_module)});"
            f" {len(traced.calls)} calls between all modules"
        )


if __name__ == "__main__":
    main()
