"""Texts, and what a store says of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shingling import Page, Rules, Store
from tests.support.invariants import ending, text, words

if TYPE_CHECKING:
    from shingling import Verdict


DAY = 86_400
BASE = words("base")
A = text(BASE)
NEAR = text(ending(BASE, "near", 5))
OTHER = text(words("other"))


def one(store: Store, url: str, main_text: str | None, rules: Rules | None = None) -> Verdict:
    [verdict] = store.check([Page(url, main_text)], rules=rules or Rules(threshold=0.8))
    return verdict
