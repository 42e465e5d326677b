"""What is learned of simulated sites, and what is never lost."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

import pytest

from shingling.fetching.learning import FetchedPage, RuleCounts, UrlLearner
from tests.fetching.learning.simulated import Answer, crawl, page_of, signature_of, text_of

if TYPE_CHECKING:
    from tests.fetching.learning.simulated import Crawl

HOST = "http://site.example"
SEEDS = pytest.mark.parametrize("seed", range(2))


class Forum:
    """Session ids in all links; `id` matters on /show, and not on /reply."""

    def __init__(self, seed: int, topics: int = 300) -> None:
        self.random = random.Random(seed)
        self.topics = topics
        self.view_matters = False

    def url(self, path: str, **query: object) -> str:
        values = [*query.items(), ("sid", f"{self.random.getrandbits(64):016x}")]
        return f"{HOST}{path}?{'&'.join(f'{name}={value}' for name, value in values)}"

    def __call__(self, url: str) -> Answer:
        parts = urlsplit(url)
        query = dict(parse_qsl(parts.query))
        number, page = int(query.get("id", 0)), int(query.get("page", 1))
        if parts.path == "/show":
            links = [self.url("/show", id=number, view="print"), self.url("/reply", id=number)]
            links += [self.url("/show", id=(number + step) % self.topics) for step in (1, 5)]
            is_other = self.view_matters and "view" in query
            return Answer(f"{'print' if is_other else 'topic'} {number}", tuple(links))
        if parts.path == "/reply":
            return Answer("reply", (self.url("/"),))
        first = (page - 1) * 20
        links = [self.url("/show", id=one) for one in range(first, min(first + 20, self.topics))]
        if first + 20 < self.topics:
            links.append(self.url("/", page=page + 1))
        return Answer(f"list {page}", tuple(links))


@cache
def crawl_of_forum(seed: int) -> tuple[UrlLearner, Crawl]:
    learner = UrlLearner(salt=bytes([seed]))
    return learner, crawl(f"{HOST}/", Forum(seed), learner, limit=4000, seed=seed)


@SEEDS
def test_session_ids_and_views_are_dropped_and_no_page_is_lost(seed: int) -> None:
    everything = {f"topic {number}" for number in range(300)} | {"reply"}
    everything |= {f"list {page}" for page in range(1, 16)}
    learner, done = crawl_of_forum(seed)
    assert done.contents == everything
    assert len(done.skipped) > 2 * len(done.fetched)
    active = {(rule.change, rule.node) for rule in learner.rules() if rule.active}
    assert ("drop-parameter sid", "/") in active
    assert ("drop-parameter view", "/show") in active
    assert ("drop-parameter id", "/show") not in active
    assert ("drop-parameter id", "/reply") in active
    assert not any(change == "drop-parameter page" for change, _ in active)


@SEEDS
def test_a_second_crawl_knows_the_rules_and_loses_nothing(seed: int) -> None:
    first, before = crawl_of_forum(seed)
    saved = first.take_changes()
    second = UrlLearner()
    second.load_rules("site.example", saved)
    done = crawl(f"{HOST}/", Forum(seed), second, limit=4000, seed=seed)
    assert done.contents == before.contents
    assert done.first_skip is not None
    assert done.first_skip < 30
    needed = len(before.contents)
    assert len(done.skipped) >= 0.9 * (len(done.fetched) + len(done.skipped) - needed)


@SEEDS
def test_a_parameter_that_begins_to_matter_is_unlearned_within_fifty_fetches(seed: int) -> None:
    forum = Forum(seed)
    learner = UrlLearner(explore_share=0.0)
    crawl(f"{HOST}/", forum, learner, limit=1000, seed=seed)
    forum.view_matters = True
    contradicted = 0
    for number in range(forum.topics):
        url = forum.url("/show", id=number, view="print")
        skip = learner.decide_request(url)
        if skip is None:
            continue
        contradicted += 1
        answer = forum(url)
        page = FetchedPage(url, signature=signature_of(text_of(answer.content)))
        assert learner.check(page, replace(skip, explore=True))
        found = learner.note_page(page)
        if any(one.change == "drop-parameter view" for one in found):
            break
    assert 0 < contradicted <= 50
    assert learner.decide_request(forum.url("/show", id=299, view="print")) is None


def _stories(learner: UrlLearner, numbers: range, *, is_new: bool = False) -> bool:
    """Note stories under two URLs each; whether a parameter makes no difference after that."""
    for number in numbers:
        for url in (f"{HOST}/{number}", f"{HOST}/{number}?color=red"):
            page = page_of(url, text_of(f"story {number}"))
            learner.note_page(replace(page, is_new=is_new))
    return bool(learner.acting(f"{HOST}/other?color=red"))


def test_pages_that_each_crawl_meets_again_prove_nothing_more() -> None:
    saved: list[RuleCounts] = []

    def crawled_after(numbers: range, *, is_new: bool = False) -> bool:
        learner = UrlLearner()
        learner.load_rules("site.example", saved)
        acts = _stories(learner, numbers, is_new=is_new)
        saved.extend(learner.take_changes())
        return acts

    assert not any(crawled_after(range(10)) for _ in range(4))
    assert [row.agreed for row in saved if row.node == "/" and "color" in row.change] == [10]
    assert not crawled_after(range(15))  # of which ten have counted
    assert crawled_after(range(15, 18), is_new=True)
    assert sum(row.agreed for row in saved if row.node == "/" and "color" in row.change) == 18


def _of_lists_and_endings(url: str) -> Answer:
    """Books under two lists and by themselves, as `x.html` and `x/`; lists have no other form."""
    *lists, name = [one for one in urlsplit(url).path.split("/") if one] or [""]
    if not name:
        every = range(200)
        pages = [f"{HOST}/lists/{number % 5}/books/{number}.html" for number in every]
        pages += [f"{HOST}/books/{number}.html" for number in every]
        pages += [f"{HOST}/books/{number}/" for number in every]
        return Answer("start", (*pages, *(f"{HOST}/lists/{one}/" for one in range(5))))
    return Answer(f"list {name}" if lists == ["lists"] else f"book {name.removesuffix('.html')}")


def test_lists_and_endings_are_dropped_from_paths() -> None:
    learner = UrlLearner()
    done = crawl(f"{HOST}/", _of_lists_and_endings, learner)
    assert len(done.contents) == 1 + 5 + 200
    assert len(done.skipped) > 150
    acting = learner.acting(f"{HOST}/lists/3/books/1.html")
    assert acting == {"drop-segment-pair lists", "drop-extension html"}


@pytest.mark.parametrize(
    ("alias", "host"),
    [
        ("m.site.example", "site.example"),
        ("www2.site.example", "www.site.example"),
        ("touch.site.co.uk", "site.co.uk"),
    ],
)
def test_hosts_with_the_usual_names_are_one_site(alias: str, host: str) -> None:
    learner = UrlLearner()
    for number in range(20):
        for one in (host, alias):
            learner.note_page(page_of(f"http://{one}/{number}", text_of(f"story {number}")))
    learner.note_page(page_of(f"http://{host}/new", text_of("a new story")))
    skip = learner.decide_request(f"http://{alias}/new")
    assert skip is not None
    assert skip.page == f"http://{host}/new"


@pytest.mark.parametrize(
    ("own", "other"), [("mobile.co.uk", "touch.co.uk"), ("m.github.io", "web.github.io")]
)
def test_domains_under_a_public_suffix_are_different_sites(own: str, other: str) -> None:
    learner = UrlLearner()
    for host in (own, other):
        learner.note_page(page_of(f"http://{host}/", text_of(host)))
        assert {rule.site for rule in learner.rules()} <= {own, other}
        assert learner.is_known(host)


def test_long_pages_that_differ_in_one_number_and_the_title_are_not_the_same() -> None:
    words = " ".join(f"word{number}" for number in range(20_000))
    learner = UrlLearner(explore_share=0.0)
    for number in range(30):
        url = f"{HOST}/read?record={number}" if number else f"{HOST}/read"
        signature = signature_of(f"{words} {number}")
        learner.note_page(FetchedPage(url, signature=signature, title=f"Record {number}"))
    assert learner.acting(f"{HOST}/read?record=7") == set()


@SEEDS
def test_pages_and_languages_stay(seed: int) -> None:
    def answer(url: str) -> Answer:
        parts = urlsplit(url)
        query = dict(parse_qsl(parts.query))
        page, language = int(query.get("page", 1)), query.get("lang", "en")
        links = [f"{HOST}/list?page={page + 1}", f"{HOST}/list?page={page}&lang=de"]
        return Answer(f"list {min(page, 300)} {language}", tuple(links))

    done = crawl(f"{HOST}/list", answer, UrlLearner(), limit=500, seed=seed)
    assert done.skipped == []


def test_the_same_words_under_every_path_teach_nothing() -> None:
    def answer(url: str) -> Answer:
        path = urlsplit(url).path
        number = int(path.rpartition("/")[2] or 0)
        links = tuple(f"{HOST}/{part}/{number + step}" for step in (1, 2) for part in "ab")
        return Answer("not found" if number % 3 == 0 else path, links)

    done = crawl(f"{HOST}/a/0", answer, UrlLearner(), limit=600)
    assert done.skipped == []


def test_a_calendar_whose_pages_have_the_same_words_is_followed_by_its_links() -> None:
    def answer(url: str) -> Answer:
        parts = urlsplit(url)
        if parts.path != "/calendar":
            return Answer(parts.path)
        week = int(dict(parse_qsl(parts.query))["w"])
        return Answer("nothing", (f"{HOST}/calendar?w={week + 1}", f"{HOST}/event/{week}"))

    learner = UrlLearner()
    done = crawl(f"{HOST}/calendar?w=0", answer, learner, limit=200)
    assert not any("w=" in url for url in done.skipped)


def test_observed_pages_change_nothing_and_say_what_would_have_been_lost() -> None:
    forum = Forum(1, topics=100)
    learner = UrlLearner()
    crawl(f"{HOST}/", forum, learner)
    learner.take_changes()
    forum.view_matters = True
    url = forum.url("/show", id=7, view="print")
    skip = learner.decide_request(url)
    assert skip
    rules = learner.rules()
    page = FetchedPage(url, signature=signature_of(text_of(forum(url).content)))
    assert "drop-parameter view" in skip.rules
    assert learner.check(page, skip)
    assert learner.rules() == rules
    assert not any(one.agreed or one.contradicted for one in learner.take_changes())


def test_one_in_forty_is_fetched_anyway() -> None:
    forum = Forum(2, topics=100)
    learner = UrlLearner(salt=b"a crawl")
    crawl(f"{HOST}/", forum, learner)
    decisions = [
        learner.decide_request(forum.url("/show", id=number % 100)) for number in range(4000)
    ]
    explored = [skip.explore for skip in decisions if skip]
    assert len(explored) > 3000
    assert 0.015 < sum(explored) / len(explored) < 0.04


def test_a_change_that_is_never_to_be_made_is_not_learned_and_others_are() -> None:
    forum, sid = Forum(3, topics=100), "drop-parameter sid"

    def taught(*never: str) -> tuple[bool, set[str]]:
        learner = UrlLearner(never=never)
        learner.load_rules("site.example", [RuleCounts("site.example", sid, "/", 999)])
        crawl(f"{HOST}/", forum, learner, limit=800)
        acting = {rule.change for rule in learner.rules() if rule.active}
        return learner.decide_request(forum.url("/show", id=5)) is not None, acting

    skips, acting = taught()
    assert skips
    assert sid in acting
    never, others = taught(sid)
    assert not never
    assert "drop-parameter view" in others
    assert others <= acting - {sid}


def test_what_changes_anyway_is_asked_of_one_url_that_is_fetched_twice() -> None:
    learner = UrlLearner()
    text = "\n".join(text_of(f"line {number}", 20) for number in range(6))
    pages = [page_of(f"{HOST}/a{sid}", f"{text}\nViews: {n}") for n, sid in enumerate(("", "?s=1"))]
    for page in pages:
        assert learner.note_page(page) == []
    assert not learner.rules(), "it waits until the page is fetched again"
    assert learner.refetches() == [f"{HOST}/a"]
    learner.note_refetch(f"{HOST}/a", page_of(f"{HOST}/a", f"{text}\nViews: 7"))
    assert {(one.change, one.agreed) for one in learner.rules() if one.node == "/"} == {
        ("drop-parameter s", 1.0),
        ("drop-value s=1", 1.0),
    }


def test_a_page_kept_for_what_it_says_is_no_repetition_whatever_changes_anyway() -> None:
    text = "\n".join(text_of(f"line {number}", 20) for number in range(6))
    for says_more in (False, True):
        learner = UrlLearner()
        learner.note_page(page_of(f"{HOST}/a", f"{text}\nViews: 0"))
        other = page_of(f"{HOST}/a?s=1", f"{text}\nViews: 1")
        learner.note_page(replace(other, says_more=says_more, shows=other.url))
        assert {one.contradicted for one in learner.rules()} == ({1.0} if says_more else set())
        assert learner.refetches() == ([] if says_more else [f"{HOST}/a"])


@pytest.mark.parametrize("is_first", [True, False])
def test_a_page_that_says_more_is_the_same_as_one_that_stands_for_it_alone(is_first: bool) -> None:
    text = text_of("a text of which two pages have other data")
    urls = [f"{HOST}/a", f"{HOST}/a?s=1"] if is_first else [f"{HOST}/a?s=1", f"{HOST}/a"]
    for other_shows, agreed in ((f"{HOST}/a", {1.0}), (f"{HOST}/a?s=1", set[float]())):
        learner = UrlLearner()
        for url in urls:
            says_more, shows = url == f"{HOST}/a", url if url == f"{HOST}/a" else other_shows
            learner.note_page(replace(page_of(url, text), says_more=says_more, shows=shows))
        rules = [one for one in learner.rules() if one.change == "drop-parameter s"]
        assert {one.agreed for one in rules if one.node == "/" and one.agreed} == agreed


def test_what_is_learned_below_one_path_acts_below_another_one() -> None:
    learner = UrlLearner(explore_share=0.0)

    def note(path: str, numbers: range) -> None:
        for number in numbers:
            for query in ("", "?src=1"):
                url = f"{HOST}/{path}/{number}{query}"
                learner.note_page(page_of(url, text_of(f"{path} {number}")))

    note("a", range(20))
    note("b", range(10))
    learner.note_page(page_of(f"{HOST}/b/10?src=1", text_of("b 10")))
    assert learner.decide_request(f"{HOST}/a/7?src=2") is not None
    assert learner.decide_request(f"{HOST}/b/10") is None  # 10 pages of its own, and 5 of /a
    note("c", range(4))
    assert learner.decide_request(f"{HOST}/b/10") is not None
    assert learner.decide_request(f"{HOST}/c/3?src=2") is None


def test_pages_are_not_taken_for_others_while_others_are_fetched_again() -> None:
    learner = UrlLearner(explore_share=0.0)
    visits = itertools.count()
    wanted: list[str] = []

    def note(number: int) -> None:
        for query in ("", f"?sid={number}"):
            words = f"{text_of(f'story {number}')}\n{next(visits)} people are here right now"
            learner.note_page(page_of(f"{HOST}/{number}{query}", words))
            wanted.extend(learner.refetches())

    for number in range(100):
        note(number)
    for url in wanted:
        number = int(url.rpartition("/")[2].partition("?")[0])
        words = f"{text_of(f'story {number}')}\n{next(visits)} people are here right now"
        learner.note_refetch(url, page_of(url, words))
    for number in range(100, 108):
        note(number)
    assert learner.acting(f"{HOST}/7?sid=5") == {"drop-parameter sid"}


@pytest.mark.parametrize("again", [None, f"{text_of('blocked')}\nPrice 7"])
def test_no_page_or_another_one_at_a_second_look_does_not_show_what_changes_anyway(
    again: str | None,
) -> None:
    learner = UrlLearner()
    text = "\n".join(text_of(f"line {number}", 20) for number in range(6))
    for number, sid in enumerate(("", "?s=1")):
        learner.note_page(page_of(f"{HOST}/a{sid}", f"{text}\nPrice {number}"))
    assert learner.refetches() == [f"{HOST}/a"]
    learner.note_refetch(f"{HOST}/a", None if again is None else page_of(f"{HOST}/a", again))
    assert {one.contradicted for one in learner.rules()} == {1.0}


def test_requests_that_are_redirected_to_a_known_page_are_skipped() -> None:
    learner = UrlLearner()
    for number in range(40):
        for sid in (1, 2):
            page = page_of(f"{HOST}/threads/{number}", text_of(f"thread {number}"))
            learner.note_page(replace(page, requested=(f"{HOST}/posts/{number}7?sid={sid}",)))
    skip = learner.decide_request(f"{HOST}/posts/57?sid=3")
    assert skip
    assert skip.page == f"{HOST}/posts/57?sid=1"
    assert learner.decide_request(f"{HOST}/posts/997?sid=3") is None


def test_a_page_that_was_found_by_a_rule_stands_for_its_own_urls_when_that_rule_has_gone() -> None:
    learner = UrlLearner(explore_share=0)
    for number in range(60):
        for query in ("", "?variant=1"):
            learner.note_page(page_of(f"{HOST}/p/{number}{query}", text_of(f"product {number}")))
    learner.note_page(page_of(f"{HOST}/p/100?variant=2", text_of("product 100, variant 2")))
    assert learner.decide_request(f"{HOST}/p/100")
    for number in range(60, 70):
        for query in ("", "?variant=1"):
            learner.note_page(page_of(f"{HOST}/p/{number}{query}", text_of(f"{number}{query}")))
    assert learner.decide_request(f"{HOST}/p/100") is None
    learner.note_page(page_of(f"{HOST}/p/100", text_of("product 100")))
    learner.load_rules(
        "site.example", [RuleCounts("site.example", "drop-parameter sid", "/", 99, 0)]
    )
    learner.load_rules(
        "site.example", [RuleCounts("site.example", "drop-parameter sid", "/p", 99, 0)]
    )
    skip = learner.decide_request(f"{HOST}/p/100?sid=5")
    assert skip
    assert skip.page == f"{HOST}/p/100"


def _albums(url: str) -> Answer:
    """Albums with one introduction and photos of their own; before the first hundred, of none."""
    path, _, query = url.removeprefix(HOST).partition("?")
    if path == "/photo":
        return Answer(f"photo {query}")
    if path == "/album":
        number = int(query.removeprefix("x="))
        photos = [f"{HOST}/photo?{number}-{one}" for one in range(5)] if number >= 60 else []
        return Answer("", tuple(photos), text_of("introduction"))
    return Answer("start", tuple(f"{HOST}/album?x={number}" for number in range(160)))


@SEEDS
def test_albums_with_one_introduction_lose_no_photo(seed: int) -> None:
    done = crawl(f"{HOST}/", _albums, UrlLearner(salt=bytes([seed])), seed=seed)
    photos = {name for name in done.contents if name.startswith("photo")}
    assert len(photos) == 500


@pytest.mark.parametrize("is_lost", [True, False])
def test_other_links_lose_a_page_only_where_they_lead_to_another_one(is_lost: bool) -> None:
    learner = UrlLearner()
    learner.load_rules(
        "site.example", [RuleCounts("site.example", "drop-parameter x", "/album", 100)]
    )
    for number in range(2):
        album = f"{HOST}/album?x={number}"
        skip = learner.decide_request(album)
        assert (skip is not None) == bool(number)
        links = tuple(f"{HOST}/photo?{one}&from={number}" for one in range(4))
        page = page_of(album, text_of("introduction"), links)
        if skip:
            assert not learner.check(page, skip)
        learner.note_page(page)
        for one, link in enumerate(links):
            learner.note_page(page_of(link, text_of(f"photo {one} {number if is_lost else ''}")))
    assert {one.change for one in learner.settle()} == ({"drop-parameter x"} if is_lost else set())


@SEEDS
def test_one_form_under_every_path_is_fetched_a_few_times(seed: int) -> None:
    def answer(url: str) -> Answer:
        parts = urlsplit(url)
        if parts.query:
            return Answer("log in")
        number = int(parts.path.rpartition("/")[2])
        links = [f"{HOST}/wiki/{(number + step) % 300}" for step in (1, 7)]
        return Answer(f"page {number}", (*links, f"{HOST}/wiki/{number}?action=edit"))

    learner = UrlLearner()
    done = crawl(f"{HOST}/wiki/0", answer, learner, seed=seed)
    assert len(done.contents) == 301
    assert len(done.skipped) > 150
    assert "one-page action=edit" in learner.acting(f"{HOST}/wiki/5?action=edit")


def test_a_value_of_a_parameter_that_has_lost_a_page_needs_many_pages() -> None:
    learner = UrlLearner(explore_share=0.0)

    def note(number: int, variant: str) -> None:
        for query in ("", "?variant=2"):
            text = text_of(f"product {number} {variant if query else ''}")
            learner.note_page(page_of(f"{HOST}/products/{number}{query}", text))

    def would_repeat(number: int) -> bool:
        learner.note_page(page_of(f"{HOST}/products/{number}", text_of(f"product {number} ")))
        return learner.decide_request(f"{HOST}/products/{number}?variant=2") is not None

    for number in (0, 8):
        note(number, variant="with another price")
    for number in range(100, 140):
        note(number, variant="")
    assert not would_repeat(500), "of products with another price, one in eight, some may be left"
    for number in range(140, 180):
        note(number, variant="")
    assert would_repeat(501)
    assert not learner.decide_request(f"{HOST}/products/501?variant=1")
