"""What other processes do with a store."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

from shingling import Page, Rules, Store
from shingling.store.decide.check import Validation

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from pathlib import Path


def crawl(
    pipe: Connection, url: str, file: Path, seed: int, rules: dict[str, Any] | None = None
) -> None:
    """Check the pages of a file in an order and in batches by chance; tell how many are done."""
    chance, chosen = random.Random(seed), Rules(**(rules or {}))
    pages = [Page(*pair) for pair in json.loads(file.read_text(encoding="utf-8"))]
    chance.shuffle(pages)
    pipe.send("ready")
    pipe.recv()
    done = 0
    with Store.open(url) as store:
        while done < len(pages):
            batch = pages[done : done + chance.choice([1, 2, 5, 12])]
            done += len(store.check(batch, rules=chosen))
            pipe.send(done)


def open_each(pipe: Connection) -> None:
    """Open one store after the other as they are named, and tell the id of a page there."""
    pipe.send("ready")
    while (url := pipe.recv()) is not None:
        try:
            with Store.open(url) as store:
                [verdict] = store.check([Page("a", "some words that are long enough")])
                pipe.send(verdict.page_id)
        except Exception as error:  # the test says what it should have been
            pipe.send(f"{type(error).__name__}: {error}")


def check_and_hold(pipe: Connection, url: str, names: list[str]) -> None:
    """Check pages, and tell when they are about to be committed, which never happens."""
    end = Validation.end

    def held(validation: Validation) -> None:
        end(validation)
        pipe.send("holds")
        pipe.recv()

    Validation.end = held  # type: ignore[assignment, method-assign]
    with Store.open(url) as store:
        store.check([Page(name, f"{name} is a text of more words than five") for name in names])
