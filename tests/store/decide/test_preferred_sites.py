"""Sites that come first: their pages are never duplicates of pages of sites behind them."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from shingling import Page, Rules, Store
from shingling.admin.importing import decide_export
from shingling.admin.records import read_export
from shingling.admin.transfer import export
from shingling.errors import SettingsError, StoreError
from shingling.rules.reasons import Reason
from tests.support.invariants import ending, text, words
from tests.support.stores import session_of, url_of

if TYPE_CHECKING:
    from pathlib import Path

BASE = words("base")
A = text(BASE)
ALIKE = text(ending(BASE, "alike", 12))
FIRST, SECOND = "first.example", "second.example"
RULES = Rules(prefer_sites=(FIRST, SECOND))


def page(site: str, body: str = A, path: str = "a") -> Page:
    return Page(f"https://{site}/{path}", body, title="A story")


def originals(store: Store) -> dict[str, str]:
    """Return the site and path of each page, and of the original that it follows."""
    return {one.url[8:]: (one.original or one.url)[8:] for one in store.pages()}


@pytest.mark.parametrize("body", [A, ALIKE], ids=["exact", "near"])
def test_a_page_of_a_site_that_comes_first_takes_the_place_of_its_original(
    file: Path, body: str
) -> None:
    with Store.open(url_of(file), rules=RULES) as store:
        verdicts = store.check(
            [page("thief.example"), page("mirror.example"), page(SECOND, body), page(FIRST)]
        )
        assert [one.status for one in verdicts] == ["new", "exact", "new", "new"]
        assert [one.reason for one in verdicts[2:]] == [Reason.PREFERRED_SITE] * 2
        assert set(originals(store).values()) == {f"{FIRST}/a"}
        later = store.check([page("thief.example", path="b"), page(SECOND, path="b")])
        assert [one.original for one in later] == [f"https://{FIRST}/a"] * 2


def test_a_page_of_a_site_that_comes_first_still_follows_one_of_its_own(file: Path) -> None:
    with Store.open(url_of(file), rules=RULES) as store:
        store.check([page("thief.example", ALIKE), page(FIRST)])
        # The copy of the other site is more like it.
        (verdict,) = store.check(page(FIRST, ALIKE, "b"))
        assert verdict.original == f"https://{FIRST}/a"


def test_the_setting_acts_on_pages_that_are_known(file: Path) -> None:
    pages = [page("thief.example"), page(FIRST), page("mirror.example", ALIKE)]
    with Store.open(url_of(file)) as store:
        assert [one.status for one in store.check(pages)] == ["new", "exact", "near"]
    with Store.open(url_of(file), rules=RULES) as store:
        verdicts = store.check(pages)
        assert [one.status for one in verdicts] == ["unchanged", "unchanged", "unchanged"]
        assert verdicts[1].reason == Reason.PREFERRED_SITE
        assert verdicts[1].repeats is None, "it has not come out yet"
        assert set(originals(store).values()) == {f"{FIRST}/a"}
        assert [one.reason for one in store.check(pages)] == [None, None, None]


def test_a_review_that_puts_pages_together_makes_the_one_of_the_site_the_original(
    file: Path,
) -> None:
    mine, other = page(FIRST), page("thief.example", text(words("other")))
    with Store.open(url_of(file), rules=RULES) as store:
        store.check([other, mine])
        store.admin.review(mine.url, other.url, same=True)
        assert set(originals(store).values()) == {f"{FIRST}/a"}
        assert store.check(mine)[0].original is None


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("münchen.example", "xn--mnchen-3ya.example"),
        ("xn--mnchen-3ya.example", "münchen.example"),
        ("first.example", "first.example."),
        ("first.example.", "www.first.example"),
    ],
)
def test_a_site_is_named_in_either_form_of_its_host(file: Path, name: str, host: str) -> None:
    with Store.open(url_of(file), prefer_sites=(name,)) as store:
        verdicts = store.check([page("thief.example"), page(host)])
        assert verdicts[1].reason == Reason.PREFERRED_SITE
        assert [*store.pages(site=name)] == [*store.pages(site=host)] != []
        for wrong in ("*.example", ".example", "://"):
            with pytest.raises(StoreError, match="each sub-domain is a site of its own"):
                next(iter(store.pages(site=wrong)))


def walk(seed: int) -> list[Page]:
    """Return pages of several sites: copies, near-copies and other texts, in any order."""
    by_chance = random.Random(seed)
    bodies = [
        text(ending(words(f"topic{topic}"), f"end{topic}", length))
        for topic in range(2)
        for length in (0, 8, 30, 45)
    ]
    sites = [FIRST, SECOND, "thief.example", "mirror.example"]
    chosen = [(site, body, path) for site in sites for body in bodies for path in "abc"]
    return [
        Page(f"https://{site}/{path}{number}", body, title=by_chance.choice(["A story", None]))
        for number, (site, body, path) in enumerate(by_chance.sample(chosen, 30))
    ]


def require_no_follower_of_a_site_behind(store: Store) -> None:
    sites = {one.url: one.site for one in store.pages()}
    followers = [one for one in store.pages() if one.original]
    assert followers
    for one in followers:
        assert RULES.rank(one.site) >= RULES.rank(sites[one.original or ""]), one.url


@pytest.mark.parametrize("seed", range(6))
def test_no_page_follows_one_of_a_site_behind_its_own_whichever_way_it_is_decided(
    file: Path, seed: int
) -> None:
    pages = walk(seed)
    with Store.open(url_of(file)) as store:
        assert len({one.status for one in store.check(pages)}) > 2
        first = [*export(session_of(store))]
    with Store.open(url_of(file), rules=RULES) as store:
        for one in pages:
            store.check(one)
        require_no_follower_of_a_site_behind(store)
        store.admin.redecide()
        require_no_follower_of_a_site_behind(store)
    crawled = file.with_stem("crawled")
    with Store.open(url_of(crawled), rules=RULES) as store:
        for one in pages:
            store.check(one)
        require_no_follower_of_a_site_behind(store)
        groups = originals(store)
        store.admin.redecide()
        assert originals(store) == groups
    with Store.open(url_of(file.with_stem("other")), rules=RULES) as store:
        store.check(page("z.example", text(words("z"))))
        decide_export(session_of(store), RULES, *read_export(iter(first)), ("import", {}))
        require_no_follower_of_a_site_behind(store)


@pytest.mark.parametrize(
    "sites",
    [
        *("example.com", ("https://a.example/",), ("www.a.example",), (1,)),
        *(("*.a.example",), (".a.example",), ("a example",)),
    ],
)
def test_sites_are_hosts(sites: object) -> None:
    with pytest.raises(SettingsError, match="prefer_sites"):
        Rules(prefer_sites=sites)  # type: ignore[arg-type]
