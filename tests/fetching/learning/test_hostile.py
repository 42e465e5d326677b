"""URLs that are made to take time or memory, and rows that make no sense."""

from __future__ import annotations

import random
import tracemalloc
from dataclasses import replace
from operator import attrgetter

import pytest

from shingling.fetching.learning import FetchedPage, RuleCounts, UrlLearner
from shingling.fetching.learning.recent import RecentValues
from shingling.fetching.learning.snapshots import PageSnapshot
from tests.fetching.learning.simulated import signature_of, text_of
from tests.hostile.growth import calls

HOST = "https://site.example"

HOSTILE = {
    "10,000 parameters": f"{HOST}/?{'&'.join(f'a{n}={n}' for n in range(10_000))}",
    "32 parameters": f"{HOST}/?{'&'.join(f'a{n}={n}' for n in range(32))}",
    "one parameter 32 times": f"{HOST}/?{'&'.join('a=1' for _ in range(32))}",
    "10,000 segments": f"{HOST}/{'a/' * 10_000}",
    "31 segments": f"{HOST}/{'a/b/' * 15}",
    "path parameters": f"{HOST}/{';'.join(f'a{n}=b' for n in range(600))}",
    "a megabyte": f"{HOST}/{'a' * 2**20}",
    "no host": "https://",
    "a user": "https://user:password@site.example/a?b=c",
    "not of the web": "ftp://site.example/a",
    "empty": "",
    "broken brackets": "http://[::1/a?b",
    "surrogates": f"{HOST}/\ud800?\udfff=\ud800",
    "controls": f"{HOST}/a\x00b?c=\x1b",
}


@pytest.mark.parametrize("url", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_url_is_decided_and_noted_in_bounded_steps(url: str) -> None:
    learner = UrlLearner()
    page = FetchedPage(
        url,
        (url,),
        signature=signature_of(text_of("a")),
        text=text_of("a"),
        links=tuple(f"{url}{n}" for n in range(200)),
    )

    def meet(number: int) -> None:
        learner.decide_request(f"{url}{number}")
        learner.note_page(page)

    assert max(calls(meet, number) for number in range(5)) < 200_000  # an ordinary one takes 4,000


def _teach(learner: UrlLearner, change: str) -> None:
    nodes = ("/", "/a", "/b", "/c")
    learner.load_rules(
        "site.example", [RuleCounts("site.example", change, node, 999) for node in nodes]
    )


def test_what_is_too_long_is_never_skipped() -> None:
    learner = UrlLearner()
    _teach(learner, "drop-parameter sid")
    learner.note_page(FetchedPage(f"{HOST}/a", signature=signature_of(text_of("a"))))
    assert learner.decide_request(f"{HOST}/a?sid=5")
    assert learner.decide_request(f"{HOST}/a?sid={'5' * 5000}") is None
    assert learner.decide_request(f"{HOST}/a?{'sid=5&' * 50}") is None
    assert learner.decide_request("https://me:secret@site.example/a?sid=5") is None


def test_a_million_names_do_not_fill_the_memory() -> None:
    learner = UrlLearner()
    noise = random.Random(1)
    signature = signature_of(text_of("a"))
    for number in range(200):
        names = "&".join(f"n{noise.getrandbits(40):x}=1" for _ in range(8))
        learner.note_page(FetchedPage(f"{HOST}/{number % 7}?{names}", signature=signature))
    assert len({rule.change for rule in learner.rules()}) <= 256


def test_a_million_sites_do_not_fill_the_memory() -> None:
    learner = UrlLearner(max_sites=10)
    for number in range(100):
        url = f"https://{number}.example/a"
        learner.note_page(FetchedPage(url, signature=signature_of(text_of("a"))))
    assert sum(learner.is_known(f"{number}.example") for number in range(100)) == 10
    assert learner.is_known("99.example")


def test_pages_of_many_sites_do_not_fill_the_memory() -> None:
    learner = UrlLearner(max_pages=40)
    for number in range(100):
        for page in range(10):
            url = f"https://{number}.example/{page}"
            learner.note_page(FetchedPage(url, signature=signature_of(text_of(f"{page}"))))
    assert [number for number in range(100) if learner.is_known(f"{number}.example")] == [
        *range(96, 100)
    ]


def test_long_urls_of_many_sites_do_not_fill_the_memory() -> None:
    signature = signature_of(text_of("a"))
    tracemalloc.start()
    learner = UrlLearner(max_pages=1_000)
    before, _ = tracemalloc.get_traced_memory()
    for number in range(2_000):
        url = f"https://{number % 50}.example/{number}?{'x' * 4000}"
        links = tuple(f"https://{number % 50}.example/{number}/{one}{'y' * 900}" for one in "abcd")
        learner.note_page(FetchedPage(url, signature=signature, links=links))
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept - before < 12_000_000


def test_a_site_counts_a_page_of_a_long_url_as_several() -> None:
    learner = UrlLearner(max_pages=40)
    for number in range(4):
        for page in range(4):
            url = f"https://{number}.example/{page}?{'x' * 1000}"
            learner.note_page(FetchedPage(url, signature=signature_of(text_of(f"{number} {page}"))))
    assert [number for number in range(4) if learner.is_known(f"{number}.example")] == [2, 3]


def test_the_newest_snapshots_are_kept() -> None:
    snapshots: RecentValues[int, PageSnapshot] = RecentValues(10_000, attrgetter("size"))
    for number in range(100):
        snapshot = PageSnapshot(number, b"s" * 500, b"l" * 100, 0, says_more=False)
        snapshots.put(number, snapshot)
        snapshots.put(number, snapshot)
    assert [number for number in range(100) if snapshots.get(number)] == [*range(90, 100)]


def _kept(pages: int) -> int:
    """Bytes that a learner keeps of pages whose links and session ids never recur."""
    noise = random.Random(1)
    signature_of(text_of("a"))
    tracemalloc.start()
    learner = UrlLearner()
    for number in range(pages):
        links = tuple(f"{HOST}/a?sid={noise.getrandbits(64):x}" for _ in range(5))
        text = f"{text_of('a')}\n{number}"
        page = FetchedPage(f"{HOST}/{number}", signature=signature_of(text_of("a")), text=text)
        learner.note_page(replace(page, links=links))
        learner.refetches()
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return kept


def test_what_is_kept_of_a_page_is_little_when_many_are_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("shingling.fetching.learning.memory.MAX_SNAPSHOT_BYTES", 64_000)
    assert (_kept(800) - _kept(400)) / 400 < 600


@pytest.mark.parametrize(
    "row",
    [
        RuleCounts("site.example", "", "/", 5, 0),
        RuleCounts("site.example", "drop-parameter", "/", 5, 0),
        RuleCounts("site.example", "drop-parameter a b", "/", 5, 0),
        RuleCounts("site.example", "drop-parameter " + "a" * 5000, "/", 5, 0),
        RuleCounts("site.example", "exchange-segment a b", "/", 5, 0),
        RuleCounts("site.example", "use-https now", "/", 5, 0),
        RuleCounts("site.example", "drop-parameters a&b", "/", 999, 0),  # a kind that has gone
        RuleCounts("site.example", "drop-parameter a", "no node", 5, 0),
        RuleCounts("site.example", "drop-parameter a", "/" + "a" * 5000, 5, 0),
        RuleCounts("site.example", "drop-parameter a", "/", -100, -5, -1, -1),
    ],
)
def test_a_saved_rule_that_makes_no_sense_is_passed_over(row: RuleCounts) -> None:
    learner = UrlLearner()
    learner.load_rules("site.example", [row])
    assert not any(rule.active for rule in learner.rules())


def test_of_more_saved_changes_than_are_kept_those_with_evidence_stay() -> None:
    learner = UrlLearner()
    saved = [
        RuleCounts("site.example", f"drop-value id={number:08x}", "/", 1, 0)
        for number in range(600)
    ]
    sound = RuleCounts("site.example", "drop-parameter sid", "/", 50, 0)
    learner.load_rules("site.example", [*saved[:300], sound, *saved[300:]])
    rules = learner.rules()
    assert len({rule.change for rule in rules}) <= 256
    assert [rule.change for rule in rules if rule.active] == ["drop-parameter sid"]


def test_values_that_do_not_recur_are_not_saved() -> None:
    learner = UrlLearner()
    for number in range(300):
        same = signature_of(text_of(f"post {number}"))
        learner.note_page(FetchedPage(f"{HOST}/post/{number % 7}?id={number:08x}", signature=same))
        learner.note_page(FetchedPage(f"{HOST}/post/{number % 7}", signature=same))
    changes = [one.change for one in learner.take_changes()]
    assert not [one for one in changes if one.startswith("drop-value")]


def test_urls_that_a_neighbour_has_made_up_teach_nothing() -> None:
    """A form that is the same under every URL, so that its parameter seems to say nothing."""

    def taught(*, is_from_elsewhere: bool) -> list[str]:
        learner = UrlLearner()
        for number in range(280):
            page = FetchedPage(
                f"{HOST}/{number % 14}/login?story={number}",
                signature=signature_of(text_of(f"login {number % 14}")),
                is_from_elsewhere=is_from_elsewhere,
            )
            learner.note_page(page)
        first = FetchedPage(f"{HOST}/read?story=0", signature=signature_of(text_of("story 0")))
        learner.note_page(first)
        urls = [f"{HOST}/read?story={number}" for number in range(1, 8)]
        return [url for url in urls if learner.decide_request(url)]

    assert taught(is_from_elsewhere=False), "or the attack would be none"
    assert taught(is_from_elsewhere=True) == []


def test_first_urls_of_a_directory_are_fetched_whatever_others_have_shown() -> None:
    learner = UrlLearner()
    for number in range(60):
        signature = signature_of(text_of(f"login {number % 6}"))
        learner.note_page(
            FetchedPage(f"{HOST}/{number % 6}/login?story={number}", signature=signature)
        )
    assert learner.decide_request(f"{HOST}/1/login?story=new")
    learner.note_page(FetchedPage(f"{HOST}/read?story=0", signature=signature_of(text_of("story"))))
    assert not any(learner.decide_request(f"{HOST}/read?story={number}") for number in range(1, 8))


def test_exchanged_segments_do_not_go_in_a_circle() -> None:
    learner = UrlLearner()
    for a, b in (("c", "b"), ("b", "a"), ("c", "a")):
        _teach(learner, f"exchange-segment {a} {b}")
    _teach(learner, "fold-segments")
    learner.note_page(FetchedPage(f"{HOST}/a/x", signature=signature_of(text_of("a"))))
    skip = learner.decide_request(f"{HOST}/c/c/c/b/x")
    assert skip
    assert skip.page == f"{HOST}/a/x"
