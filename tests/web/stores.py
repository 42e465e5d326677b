"""Stores whose pages are shown in the tests and in the pictures of the documentation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shingling import Page, Store
from tests.support.pages import article

if TYPE_CHECKING:
    from collections.abc import Collection

HARBOUR = (
    "The harbour board approved the new ferry terminal on Tuesday after a debate of four "
    "hours.\n"
    "Construction of the terminal is to begin in March, and the first ferries are expected "
    "two years later.\n"
    "The mayor said that the decision would bring several hundred jobs to the eastern part of "
    "the city, where the last shipyard closed ten years ago.\n"
    "Residents of the old fishing quarter had collected more than six thousand signatures "
    "against the plan, because traffic to the terminal will pass the primary school.\n"
    "The board promised a tunnel below the coast road, which is to be paid by the port "
    "authority and finished before the first ferry leaves.\n"
    "Two members of the board voted against the plan, and one of them announced that she "
    "would go to court.\n"
    "The ferry company runs eleven ships on four lines, and has asked for longer quays since "
    "its newest ship was delivered last summer.\n"
    "A study by the university found that the number of passengers may double within a decade "
    "if trains reach the terminal as well.\n"
    "The railway has not decided yet whether it will extend its line from the central "
    "station."
)

FERRY = HARBOUR.replace("on Tuesday after a debate of four hours", "this week").replace(
    "several hundred jobs", "about 400 jobs"
)
SHORT = "\n".join(HARBOUR.splitlines()[:7])
FOOTER = (
    "Subscribe to our newsletter and never miss what happens in the city and at the coast again."
)

SCRIPT = "<script>document.title='owned'</script><img src=http://evil.example/x onerror=alert(1)>"
BIDI = "\u202egnp.exe\u2066\u200b\x07"
HOSTILE_TITLE = f'"><svg onload=alert(1)>{SCRIPT}{BIDI}' + "W" * 100_000
HOSTILE_URL = "javascript:document.title='owned'//" + "x" * 9000
HOSTILE_TEXT = "\n".join([SCRIPT, BIDI, "a" + "\u0301" * 400, "</div></main>", article(90, 120)])
OTHER_HOSTILE_TEXT = HOSTILE_TEXT.replace("</main>", "</main><style>*{display:none}</style>")


def fill_with_news(url: str) -> None:
    """Store a few news pages, some of which are near-duplicates of others."""
    title = "Harbour board approves ferry terminal"
    hourly = 3600
    start = 1_790_000_000
    stories = [
        ("https://city.example/harbour/terminal", title, HARBOUR),
        ("https://agency.example/news/20418", f"{title} | The Agency", FERRY),
        ("https://coast.example/2026/terminal", "New ferry terminal is coming", SHORT),
        ("https://mirror.example/city/terminal", title, HARBOUR),
    ]
    pages = [
        Page(address, text=f"{text}\n{FOOTER}", title=title, fetched=start + hour * hourly)
        for hour, (address, title, text) in enumerate(stories)
    ]
    for number in range(12):
        text = article(number, 260)
        words = text.split()
        at = 40 + 15 * number
        changed = " ".join([*words[:at], "updated", "edition", *words[at + 20 :]])
        for copy, body in enumerate((text, changed)):
            address = f"https://{'city' if copy else 'news'}{number % 4}.example/story/{number}"
            when = start + (number + copy) * 24 * hourly
            pages.append(Page(address, text=body, title=f"Story number {number}", fetched=when))
    with Store.open(url) as store:
        run = store.start_run("news", {"DEDUP_THRESHOLD": 0.5})
        store.check(pages, run=run)
        run.counts.update(skipped_short=3, skipped_not_html=12)
        store.finish_run(run, "finished")


def fill_with_attacks(url: str) -> None:
    """Store two pages that attack whoever looks at them, the second a near-duplicate."""
    pages = [
        Page("https://evil.example/" + BIDI + SCRIPT, text=HOSTILE_TEXT, title=HOSTILE_TITLE),
        Page(HOSTILE_URL, text=OTHER_HOSTILE_TEXT, title=HOSTILE_TITLE),
    ]
    with Store.open(url) as store:
        store.check(pages, run=store.start_run(SCRIPT + BIDI))


def fill_with_own_text(url: str) -> None:
    """Store a page that another one of its site resembles but for a number, in hostile lines."""
    pages = [
        Page(
            f"https://city.example/{size}",
            text=f"{HARBOUR}\nThe program {SCRIPT[:20]}{BIDI} needs {size}MB to run.",
            title="The harbour",
        )
        for size in (485, 780)
    ]
    with Store.open(url) as store:
        store.check(pages, run=store.start_run("news"))


EDITED_STORIES = 44
_NOT_REVIEWED = range(2, EDITED_STORIES, 5)


def fill_with_editions(url: str, not_reviewed: Collection[int] = _NOT_REVIEWED) -> None:
    """Store stories with another edition of each, from hardly to much edited, most reviewed.

    Args:
        url: of the store.
        not_reviewed: numbers of the others.
    """
    pages = []
    for number in range(EDITED_STORIES):
        words = article(500 + number, 200).split()
        edited = 4 + 2 * number
        again = [*words[:-edited], *article(900 + number, edited).split()]
        for site, text in (("first", words), ("again", again)):
            address = f"https://{site}.example/story/{number}"
            pages.append(Page(address, text=" ".join(text), title=f"Story {number}"))
    with Store.open(url) as store:
        store.check(pages, run=store.start_run("editions"))
        for number in range(EDITED_STORIES):
            if number not in not_reviewed:
                urls = (f"https://{site}.example/story/{number}" for site in ("first", "again"))
                store.admin.review(*urls, same=number < EDITED_STORIES // 2)


def fill_with_frames(url: str) -> None:
    """Store stories of two sites, word for word, each in the frame of its site."""
    with Store.open(url) as store:
        for number in range(8):
            for site in (1, 2):
                words = article(900 + site, 100).split()
                lines = [" ".join(words[at : at + 10]) for at in range(0, len(words), 10)]
                text = "\n".join([article(100 + number, 150), *lines])
                title = f"Story {article(200 + number, 3)}"
                store.check([Page(f"https://s{site}.example/{number}", text=text, title=title)])


def fill_with_runs(url: str) -> None:
    """Store what three crawls of a site have met: pages that come, go, change, or are short."""
    shop = "https://www.shop.example/item"
    texts = {number: article(300 + number, 150) for number in range(6)}
    copies = {10 + number: f"{text} edition" for number, text in texts.items() if number < 4}
    first = texts | copies | {20: "three short words", 40: texts[0]}
    second = {number: text for number, text in first.items() if number not in (5, 13)}
    second |= {
        3: article(390, 150),
        11: f"{texts[2]} edition",
        12: "only four words now",
        30: article(391, 150),
        31: article(391, 150),
        32: "=1+1",
    }
    third = second | {30: texts[4], 33: article(392, 150)}
    with Store.open(url, min_words=10) as store:
        for at, crawl in enumerate((first, second, third)):
            run = store.start_run("shop", {"DEDUP_THRESHOLD": 0.5}, is_crawl=True)
            for number, text in crawl.items():
                page = Page(
                    f"{shop}/{number}",
                    text=text,
                    title=f"Article {number % 10}",
                    fetched=1_790_000_000 + at * 86_400,
                )
                store.check([page], run=run)
            run.counts.update(skipped_not_html=3)
            store.finish_run(run, "finished")
        store.admin.review(f"{shop}/0", f"{shop}/10", same=True, note="=cmd()")
        store.admin.review(f"{shop}/1", f"{shop}/nowhere", same=False)
        store.start_run("shop", is_crawl=True)
