"""Learned rules as a file for duplicate-url-discarder; tests/ecosystem has it read by that."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from shingling import Store
from shingling.fetching.learning import RuleCounts
from shingling.fetching.stored_rules import save
from tests.support.commands import dedup_command
from tests.support.stores import session_of, url_of

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

SHOP = "shop.example"
LEARNED = [
    RuleCounts(SHOP, change, node, agreed=999)
    for change, *nodes in (
        ("drop-parameter sid", "/", "/a", "/b", "/show"),
        ("drop-parameter ref", "/", "/a", "/show"),
        ("drop-parameter id", "/", "/a"),
        ("drop-slash", "/", "/a"),
        ("sort-parameters", "/", "/a"),
        ("drop-value page=1", "/a"),
    )
    for node in nodes
] + [
    RuleCounts(SHOP, "drop-parameter ref", "/show/more", agreed=1, contradicted=1),
    RuleCounts(SHOP, "drop-parameter few", "/", agreed=3),
    RuleCounts("[::1]:8080", "drop-parameter sid", "/", agreed=99),
]


def test_rules_that_act_are_written_and_those_of_other_kinds_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = url_of(tmp_path / "dedup.db")
    with Store.open(url) as store:
        save(session_of(store), LEARNED)
    done = dedup_command(monkeypatch, "rules", "--format", "dud", "--store", url)
    assert (done.code, done.err) == (0, "3 rules of other kinds left out\n")
    include: dict[tuple[str, ...], list[str]] = {}
    for rule in json.loads(done.out):
        assert (rule["processor"], rule["order"]) == ("queryRemoval", 100)
        include.setdefault(tuple(rule["args"]), []).extend(rule["urlPattern"]["include"])

    def below(folder: str, query: str) -> list[str]:
        return [f"{SHOP}{folder}{end}?{query}" for end in ("|", "/", ";*")]

    sids = [*below("/a", "sid=*"), *below("/b", "sid=*"), *below("/show", "sid=*")]
    assert include == {
        ("sid",): ["[::1]:8080/|?sid=*", f"{SHOP}/|?sid=*", *sids],
        ("ref",): [f"{SHOP}/|?ref=*", *below("/a", "ref=*")],  # not what is below /show
        ("id",): [f"{SHOP}/|?id=*", *below("/a", "id=*")],
    }
    none = dedup_command(monkeypatch, "rules", "b.example", "--format", "dud", "--store", url)
    assert (none.code, json.loads(none.out), none.err) == (1, [], "")
    bad = dedup_command(monkeypatch, "rules", "--format", "csv", "--store", url)
    assert (bad.code, bad.out) == (2, "")
    assert "--format: invalid choice: 'csv'" in bad.err
