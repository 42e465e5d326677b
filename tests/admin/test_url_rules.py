"""What the store keeps of the URLs of sites: rules and their evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import insert

from shingling import Page, Store
from shingling.fetching.learning import RuleCounts, UrlLearner
from shingling.fetching.stored_rules import read_rules, save
from shingling.store.forgetting import Chosen, forget
from shingling.store.schema.tables import site_blocks
from shingling.store.templates import pack_entries
from tests.fetching.learning.simulated import page_of, text_of
from tests.support.commands import dedup_command
from tests.support.pages import article
from tests.support.stores import all_rows, originals, session_of, url_of

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from shingling.store.session import Session

SITE = "example.org"
SID = "drop-parameter sid"


def counts(change: str = SID, node: str = SITE, site: str = SITE, **numbers: Any) -> RuleCounts:
    return RuleCounts(site, change, node, **numbers)


def rules_of(store: Store, site: str | None = SITE) -> dict[tuple[str, str], tuple[object, ...]]:
    found = read_rules(session_of(store), site)
    return {(one.change, one.node): one[3:] for one in found}


def test_what_several_crawlers_have_counted_adds_up(store: Store, file: Path) -> None:
    with Store.open(url_of(file)) as other:
        save(session_of(store), [counts(agreed=3, saved=1), counts(agreed=2)])
        save(session_of(other), [counts(agreed=-1, contradicted=1, explored=4)])
        save(session_of(other), [counts(node=f"{SITE}/show", agreed=7)])
    assert rules_of(store) == {(SID, SITE): (4, 1, 1, 4), (SID, f"{SITE}/show"): (7, 0, 0, 0)}
    assert rules_of(store, "other.example") == {}
    assert store.status().url_rules == 2
    save(session_of(store), [counts(agreed=-4), counts(agreed=-5)])  # halved by two at once
    assert rules_of(store)[SID, SITE][0] == 0


def _meets(learner: UrlLearner, numbers: range, *, other: str = "") -> None:
    """Note pages under two URLs each; `other` is the text of the second one."""
    for number in numbers:
        for url in (f"https://{SITE}/{number}", f"https://{SITE}/{number}?sid=1"):
            found = f"{other} {number}" if other and "?" in url else f"page {number}"
            learner.note_page(page_of(url, text_of(found)))


def test_a_page_that_two_crawls_count_at_the_same_time_counts_once(
    store: Store, file: Path
) -> None:
    with Store.open(url_of(file)) as other:
        first, second = (UrlLearner(), session_of(store)), (UrlLearner(), session_of(other))

        def agreed_after(crawl: tuple[UrlLearner, Session], numbers: range) -> object:
            _meets(crawl[0], numbers)
            save(crawl[1], crawl[0].take_changes())
            return rules_of(store)[SID, "/"][0]

        assert agreed_after(first, range(4)) == 4
        assert agreed_after(second, range(10)) == 10
        assert agreed_after(first, range(4, 10)) == 10
        assert agreed_after(first, range(10, 12)) == 12  # the second one has met ten
        assert agreed_after(second, range(10, 13)) == 13
        third = UrlLearner(), session_of(other)
        third[0].load_rules(SITE, read_rules(third[1], SITE))
        assert agreed_after(third, range(20, 22)) == 15  # a later crawl goes on from there


def test_what_one_crawl_has_halved_another_one_does_not_restore(store: Store) -> None:
    learners = UrlLearner(), UrlLearner()
    for learner in learners:
        learner.load_rules(SITE, [counts(node="/", agreed=40)])
    save(session_of(store), [counts(node="/", agreed=40)])
    _meets(learners[0], range(1), other="another page")
    _meets(learners[1], range(1, 3))
    for learner in learners:
        save(session_of(store), learner.take_changes())
    agreed, contradicted, _, _ = rules_of(store)[SID, "/"]
    assert (agreed, contradicted) == (22, 1)


def test_rules_of_a_site_are_forgotten_and_of_no_other(store: Store) -> None:
    session, only_rules = session_of(store), Chosen(site=SITE, only_learned=True)
    save(session, [counts(agreed=3), counts("lower-case"), counts(site="other.example")])
    store.check([Page(f"https://{SITE}/a", article(1))])
    assert only_rules.sites(session) == [SITE]
    assert forget(session, only_rules) == 0
    assert store.status().pages == 1
    assert rules_of(store) == {}
    assert [*rules_of(store, "other.example")] == [(SID, SITE)]


def test_names_of_any_size_and_any_characters_are_not_kept(store: Store) -> None:
    long = "x" * 1_000_000
    save(
        session_of(store),
        [
            counts(change=f"drop-parameter {long}"),
            counts(node=f"{SITE}/{long}"),
            counts(site=long),
            counts(change="drop-parameter \x00\ud800"),
            counts(agreed=1 << 60),
        ],
    )
    assert rules_of(store, None) == {}


def test_what_a_run_or_a_time_taught_is_forgotten(store: Store) -> None:
    session = session_of(store)
    good, bad = store.start_run("good"), store.start_run("bad")
    store.check([Page("https://example.org/a", article(1))], run=good)
    later = [Page(f"https://{name}/b", article(1)) for name in ("poisoned.example", SITE)]
    store.check([*later, Page("https://poisoned.example/c", article(2))], run=bad)
    save(session, [counts(site=name) for name in (SITE, "poisoned.example", "good.example")])
    both = [SITE, "poisoned.example"]
    for chosen in (Chosen(run=bad.id), Chosen(since=0), Chosen(since=0, run=bad.id)):
        assert chosen.sites(session) == both
    assert Chosen(["https://example.org/a"]).sites(session) == []
    assert Chosen(older_than=0, site=SITE).sites(session) == []
    assert Chosen(since=4e9).ids(session) == []
    assert forget(session, Chosen(run=bad.id)) == 3
    assert [page.url for page in store.pages()] == ["https://example.org/a"]
    assert [*rules_of(store, None)] == [(SID, SITE)]
    assert rules_of(store, "good.example")


def test_where_an_original_of_a_run_is_forgotten_its_duplicate_takes_its_place(
    store: Store,
) -> None:
    bad, good = store.start_run("bad"), store.start_run("good")
    store.check([Page("https://poisoned.example/a", article(1))], run=bad)
    store.check([Page(f"https://{SITE}/{one}", article(1)) for one in "bc"], run=good)
    forget(session_of(store), Chosen(run=bad.id))
    found = {page.url: page.original for page in store.pages()}
    assert found == {f"https://{SITE}/b": None, f"https://{SITE}/c": f"https://{SITE}/b"}


def test_a_dry_run_counts_what_a_run_removes(
    store: Store, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad, later = (store.start_run(name) for name in ("good", "bad", "good"))
    poisoned = "https://poisoned.example"
    store.check([Page(f"https://{SITE}/original", article(1))], run=good)
    store.check(
        [
            Page(f"{poisoned}/duplicate", article(1)),
            Page(f"{poisoned}/replaced", article(2)),
            *(Page(f"{poisoned}/whole/{one}", article(3)) for one in range(3)),
            Page(f"{poisoned}/alone", article(4)),
            Page("https://m.alias.example/", article(5)),
        ],
        run=bad,
    )
    copies = [Page(f"https://{SITE}/copy/{one}", article(2)) for one in range(2)]
    store.check([*copies, Page(f"{poisoned}/alone", article(4))], run=later)
    session = session_of(store)
    learned = ["poisoned.example", "poisoned.example:8080", "alias.example", "good.example"]
    save(session, [counts(change, site=name) for name in learned for change in (SID, "sort")])
    blocks = insert(site_blocks).values([{"site": learned[0], "entries": pack_entries({1: 1})}] * 2)
    session.database.write(lambda connection: connection.execute(blocks))
    command = ("forget", "--run", str(bad.id))
    before, stood = all_rows(file), originals(url_of(file))

    def run(*options: str) -> Any:
        return dedup_command(monkeypatch, *command, *options, DEDUP_STORE_URL=url_of(file))

    tried = run("--dry-run").out
    assert tried == (
        "7 pages, 8 verdicts, 1 whole group, 1 replaced original, 1 template, 6 rules"
        " would be forgotten: nothing was changed (--dry-run)\n"
    )
    counted = run("--dry-run", "--json").json()
    assert all_rows(file) == before
    assert counted.pop("dry_run")
    assert run("--yes", "--json").json() == counted
    now = all_rows(file)
    gone = {name: len(rows) - len(now[name]) for name, rows in before.items()}
    assert counted["forgotten"] == gone["pages"] == gone["texts"] == 7
    assert counted["verdicts"] == gone["verdicts"] == 8
    assert counted["rules"] == gone["url_rules"] == 6
    assert (counted["templates"], gone["site_blocks"]) == (1, 2)
    stands = originals(url_of(file))
    lost = {original for original in stood.values() if original and original not in stands}
    replaced = {stood[url] for url in stands} & lost
    assert counted["replaced_originals"] == len(replaced) == 1
    assert counted["whole_groups"] == len(lost - replaced) == 1
    assert run("--yes").out == "nothing was forgotten\n"
