"""Mirrors: parts of a site that are copies of others, and releases that nearly are."""

from __future__ import annotations

import random
from functools import partial
from urllib.parse import urlsplit

import pytest

from shingling.fetching.learning import FetchedPage, RuleCounts, UrlLearner
from tests.fetching.learning.simulated import Answer, crawl, page_of, signature_of, text_of

HOST = "http://site.example"
SEEDS = pytest.mark.parametrize("seed", range(2))


def _of_two_architectures(url: str, differing: str = "") -> Answer:
    """Chapters of a manual below two paths; those of one part differ."""
    segments = [one for one in urlsplit(url).path.split("/") if one]
    if len(segments) < 3:
        pages = [
            f"{HOST}/{arch}/{part}/{number}.html"
            for number in range(160)
            for part in ("install", "boot")
            for arch in ("amd64", "mips")
        ]
        return Answer("start", tuple(pages))
    arch, part, name = segments
    return Answer(f"{arch} {part} {name}" if part == differing else f"{part} {name}")


@SEEDS
def test_mirrored_paths_are_skipped(seed: int) -> None:
    learner = UrlLearner()
    done = crawl(f"{HOST}/", _of_two_architectures, learner, seed=seed)
    assert len(done.contents) == 1 + 320
    assert len(done.skipped) >= 160

    # A rule is kept with the path that it leads to: /amd64, for what was skipped below /mips.
    second = UrlLearner()
    second.load_rules("site.example", learner.take_changes())
    for url, skip in done.decisions:
        assert second.acting(url) | second.acting(skip.page) >= {*skip.rules}
    assert second.acting(f"{HOST}/mips/boot/1.html")


class Architectures:
    """Chapters for five architectures in four languages: nearly mirrors, and never quite.

    3% of the links are by http, and 4% have `ref=nav`. As a store does that outlives a crawl, it
    keeps the first URL of each page, and each architecture for what it says more than the first.
    """

    ARCHITECTURES, LANGUAGES, PAGES = ("amd64", "arm64", "armhf", "i386", "s390x"), "abcd", 15

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.stored: dict[str, str] = {}

    def __call__(self, url: str) -> Answer:
        arch, language, name = urlsplit(url).path.split("/")[1:]
        content, number = f"{arch} {language} {name}", int(name)
        dice = random.Random(f"{self.seed} {content}")

        def link(arch: str, language: str, number: int) -> str:
            query = "?ref=nav" if dice.random() < 0.04 else ""
            scheme = "http" if dice.random() < 0.03 else "https"
            return f"{scheme}://site.example/{arch}/{language}/{number % self.PAGES}{query}"

        links = [link(arch, language, number + step) for step in (1, 2, 5, 7)]
        links += [link(one, language, number) for one in self.ARCHITECTURES]
        links += [link(arch, one, number) for one in self.LANGUAGES]
        shows = self.stored.setdefault(content, url)
        says_more = shows == url and arch != self.ARCHITECTURES[0]
        words = "\n".join(text_of(f"{language} {name} {line}", 20) for line in range(6))
        words += f"\nAbout {text_of(content, 20)}"
        return Answer(content, tuple(links), words, shows, says_more)


def test_a_later_crawl_of_pages_that_are_nearly_the_same_saves_no_less() -> None:
    site, start = Architectures(1), "https://site.example/amd64/a/0"
    saved: list[RuleCounts] = []
    skipped = []
    for number in range(3):
        learner = UrlLearner(salt=bytes([1, number]))
        learner.load_rules("site.example", saved)
        done = crawl(start, site, learner, seed=10 + number)
        assert len(done.contents) == 5 * 4 * 15
        skipped.append(len(done.skipped))
        saved += learner.take_changes()
    assert min(skipped[1:]) >= skipped[0]


@SEEDS
@pytest.mark.parametrize("releases", [("/en/1.0", "/en/1.1"), ("", "/1.0"), ("", "/latest")])
def test_a_release_that_differs_in_one_page_of_25_is_no_copy(
    releases: tuple[str, str], seed: int
) -> None:
    every = [(number, one) for number in range(300) for one in releases]

    def answer(url: str) -> Answer:
        if url == f"{HOST}/":
            return Answer("start", tuple(f"{HOST}{one}/guide/{number}" for number, one in every))
        number = int(url.rpartition("/")[2])
        is_changed = number % 25 == 24 and url.startswith(f"{HOST}{releases[1]}/")
        return Answer(f"guide {number}{' changed' if is_changed else ''}")

    done = crawl(f"{HOST}/", answer, UrlLearner(salt=bytes([seed])), seed=seed)
    assert len(done.contents) == 1 + 300 + 12


def test_a_page_that_differs_between_two_releases_stops_what_makes_both_equal_to_a_third() -> None:
    learner = UrlLearner(explore_share=0.0)
    learner.load_rules(
        "site.example",
        [
            RuleCounts("site.example", f"exchange-segment {release} stable", "/stable", 90)
            for release in ("v1.0", "v1.1")
        ],
    )

    def note(release: str, number: int, words: str) -> None:
        learner.note_page(page_of(f"{HOST}/{release}/guide/{number}", text_of(f"{number} {words}")))

    note("v1.1", 1, "guide")
    assert learner.decide_request(f"{HOST}/v1.0/guide/1"), "both are taken for stable"
    note("v1.0", 1, "guide of 1.0")
    note("v1.1", 2, "guide")
    assert learner.decide_request(f"{HOST}/v1.0/guide/2") is None
    assert learner.decide_request(f"{HOST}/stable/guide/2") is None, "1.1 may be wrong as well"


def test_a_page_that_differs_counts_against_each_mirror_by_which_it_would_repeat_another() -> None:
    learner = UrlLearner(explore_share=0.0)
    counts = {"stable latest": (90, 0), "v1.0 latest": (40, 0), "v1.0 stable": (0, 1)}
    saved = [
        RuleCounts("site.example", f"exchange-segment {segments}", "/en/latest", *pages)
        for segments, pages in counts.items()
    ]
    learner.load_rules("site.example", saved)
    for release in ("latest", "v1.0"):
        learner.note_page(page_of(f"{HOST}/en/{release}/1", text_of(release)))
    changes = {rule.change: rule.contradicted for rule in learner.rules() if rule.node == "/en"}
    assert changes["exchange-segment v1.0 latest"] == 1.0


@pytest.mark.parametrize(
    ("thread", "post"),
    [
        ("threads/{}", "posts/{}"),
        ("threads/{}/", "posts/{}"),
        ("threads/view?id={}", "posts/view?id={}"),
    ],
)
def test_posts_that_show_their_thread_are_no_mirror_of_the_threads(thread: str, post: str) -> None:
    learner = UrlLearner()
    urls = [(thread.format(one), one) for one in range(300)]
    urls += [(post.format(10 * one + 1), one) for one in range(300)]
    random.Random(2).shuffle(urls)
    for path, number in urls:
        assert learner.decide_request(f"{HOST}/{path}") is None
        learner.note_page(page_of(f"{HOST}/{path}", text_of(f"thread {number}")))


def test_no_page_that_has_changed_stands_for_its_mirror() -> None:
    learner = UrlLearner()
    crawl(f"{HOST}/", _of_two_architectures, learner)
    rules = learner.take_changes()
    second = UrlLearner()
    second.load_rules("site.example", rules)
    for number, has_changed in ((1, False), (2, True)):
        signature = signature_of(text_of(f"boot {number}"))
        url = f"{HOST}/mips/boot/{number}.html"
        second.note_page(FetchedPage(url, signature=signature, has_changed=has_changed))
    assert second.decide_request(f"{HOST}/amd64/boot/1.html") is not None
    assert second.decide_request(f"{HOST}/amd64/boot/2.html") is None


@SEEDS
def test_paths_with_pages_that_differ_are_no_mirrors(seed: int) -> None:
    learner = UrlLearner()
    site = partial(_of_two_architectures, differing="boot")
    done = crawl(f"{HOST}/", site, learner, seed=seed)
    assert len(done.contents) == 1 + 160 + 320
    assert done.decisions == []
    assert learner.acting(f"{HOST}/mips/install/1.html") == set()
