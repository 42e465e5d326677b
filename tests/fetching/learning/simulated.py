"""Small sites that exist in memory alone, and a crawl of them."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING

from shingling.fetching.learning import FetchedPage, UrlLearner
from shingling.sketch import sign

if TYPE_CHECKING:
    from collections.abc import Callable

    from shingling.fetching.learning import Skip
    from shingling.sketch import Signature


@dataclass(frozen=True)
class Answer:
    """What a site answers.

    Args:
        content: name of the page; two URLs with the same one have the same page.
        links: URLs.
        words: main text; of the name of the page where it is "".
        shows: URL of the page that its item stands for.
        says_more: it is kept although it resembles another page.
    """

    content: str
    links: tuple[str, ...] = ()
    words: str = ""
    shows: str | None = None
    says_more: bool = False


@dataclass
class Crawl:
    """What a crawl has done; `decisions` are those under which URLs stay skipped."""

    fetched: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    contents: set[str] = field(default_factory=set)
    first_skip: int | None = None
    decisions: list[tuple[str, Skip]] = field(default_factory=list)


@cache
def text_of(name: str, words: int = 120) -> str:
    """A text that no other name has."""
    chosen = random.Random(name)
    return " ".join(f"w{chosen.randrange(5000)}" for _ in range(words))


@cache
def signature_of(text: str) -> Signature:
    """Signature of a text."""
    return sign(text)


def page_of(
    url: str, text: str, links: tuple[str, ...] = (), title: str = "", found_on: str = ""
) -> FetchedPage:
    """A fetched page."""
    signature = signature_of(text)
    return FetchedPage(
        url, signature=signature, text=text, links=links, title=title, found_on=found_on
    )


def crawl(
    start: str,
    answer: Callable[[str], Answer | None],
    learner: UrlLearner | None,
    limit: int = 100_000,
    seed: int = 0,
) -> Crawl:
    """Crawl a site breadth first, in a slightly random order."""
    done = Crawl()
    order = random.Random(seed)
    queue = deque([start])
    found_on = {start: ""}
    skipped: list[tuple[str, Skip]] = []
    forced: set[str] = set()
    while queue and len(done.fetched) < limit:
        at = min(len(queue) - 1, order.randrange(8))
        url = queue[at]
        del queue[at]
        skip = learner.decide_request(url, found_on[url]) if learner and url not in forced else None
        if skip and not skip.explore:
            done.skipped.append(url)
            skipped.append((url, skip))
            if done.first_skip is None:
                done.first_skip = len(done.fetched)
            continue
        done.fetched.append(url)
        found = answer(url)
        if found is None:
            continue
        done.contents.add(found.content)
        text = found.words or text_of(found.content)
        page = page_of(url, text, found.links, found_on=found_on[url])
        page = replace(page, shows=found.shows, says_more=found.says_more)
        if learner:
            if skip:
                learner.check(page, skip)
            gone = learner.note_page(page)
            for wanted in learner.refetches():
                second = answer(wanted)
                text = second.words or text_of(second.content) if second else ""
                gone += learner.note_refetch(wanted, page_of(wanted, text))
            if not queue:
                gone += learner.settle()
            changes = {one.change for one in gone}
            doubtful = [url for url, skip in skipped if not changes.isdisjoint(skip.rules)]
            owed = {
                url
                for url in doubtful
                if learner.decide_request(url, found_on[url], counted=False) is None
            }
            skipped = [(url, skip) for url, skip in skipped if url not in owed]
            forced |= owed
            queue.extend(sorted(owed))
        for link in found.links:
            if link not in found_on:
                found_on[link] = url
                queue.append(link)
    done.decisions = skipped
    return done
