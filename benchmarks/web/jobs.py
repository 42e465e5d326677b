"""Nineteen jobs of people who use `scrapy dedup serve`: clicks, keys, seconds, and if it is right.

A store of real pages is served (LLVM's manual, five releases, in two crawls, and rules on URLs). A
real browser does each job by keyboard or mouse. What it shows is compared with SQL, the command
line or Python. A text that is pasted or typed counts as one key.

    python -m benchmarks.web.jobs [--data DIR] [--folder DIR]
"""

from __future__ import annotations

import csv
import io
import json
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playwright.sync_api import sync_playwright

from benchmarks.data import data_folder
from benchmarks.processes import run_scrapy
from benchmarks.report import options_of, show
from shingling import Page, Store
from tests.support.processes import dedup_serve
from tests.web.test_savings import fill_with_rules

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page as Tab

RELEASES = ("13", "14", "15", "16", "19")
SITE = "llvm.example"
_FAR = 600_000  # milliseconds, on a busy machine


class Hands:
    """A browser tab whose clicks and keys are counted."""

    def __init__(self, tab: Tab, address: str, store: Path) -> None:
        self.tab, self.address, self.store = tab, address, store
        self.clicks = self.keys = 0

    def press(self, *keys: str) -> None:
        """Press keys that stay on the page."""
        for key in keys:
            self.tab.keyboard.press(key)
            self.keys += 1

    def go(self, key: str) -> None:
        """Press a key that leads to another page, or to the same one anew."""
        with self.tab.expect_navigation():
            self.press(key)

    def paste(self, text: str) -> None:
        """Fill in the field that has the focus."""
        self.tab.keyboard.insert_text(text)
        self.keys += 1

    def click(self, selector: str) -> None:
        """Click on the first such element, which leads to another page."""
        with self.tab.expect_navigation():
            self.tab.locator(selector).first.click()
        self.clicks += 1

    def find(self, text: str) -> str:
        """Look for something by the box of every page, and return the page."""
        self.press("/")
        self.paste(text)
        self.go("Enter")
        return self.main()

    def main(self) -> str:
        """Text of the page."""
        return " ".join(self.tab.locator("main").inner_text().split())

    def data(self, ending: str = ".json") -> str:
        """Take the page as data, by its link."""
        self.clicks += 1
        link = self.tab.locator(f"a[href*='{ending}']").first.get_attribute("href")
        return self.tab.request.get(f"{self.address}{link}").text()

    def sql(self, query: str, *values: float) -> Any:
        """Ask the store."""
        with closing(sqlite3.connect(self.store)) as database:
            return database.execute(query, values).fetchall()


def why_is_this_url_dropped(hands: Hands) -> bool:
    """Duplicate, kept, and never seen."""
    ((duplicate, original),) = hands.sql(
        "SELECT p.url, o.url FROM pages p JOIN pages o ON o.id = p.original_id"
        " WHERE p.status = 'near' LIMIT 1"
    )
    ((kept,),) = hands.sql("SELECT url FROM pages WHERE original_id IS NULL LIMIT 1")
    return all(
        (
            f"Near duplicate of {original}" in hands.find(duplicate.removeprefix("https://")),
            "Original" in hands.find(kept),
            "Not stored" in hands.find("https://llvm.example/never"),
        )
    )


def what_would_another_threshold_change(hands: Hands) -> bool:
    """Try .7, and take the list as data."""
    hands.go("t")
    hands.press("f", "Control+A")
    hands.paste("0.7")
    hands.go("Enter")
    hands.tab.get_by_text("Duplicates at 0.7").wait_for()
    changes = json.loads(hands.data())["compared"]["changes"]
    listed = json.loads(hands.tab.request.get(f"{hands.address}/threshold.json?size=1000").text())
    number = changes["to_original"] + changes["to_duplicate"] + changes["moved"]
    return bool(len(listed["rows"]) == number > 0)


def review_twenty_pairs(hands: Hands) -> bool:
    """By keyboard alone."""
    before = hands.sql("SELECT count(*) FROM reviews")[0][0]
    hands.go("g")
    hands.press("j")
    hands.go("Enter")
    for _ in range(20):
        hands.go("s")
    return bool(hands.sql("SELECT count(*) FROM reviews")[0][0] == before + 20)


def undo_the_third_last_review(hands: Hands) -> bool:
    """From the list of reviews, without leaving it."""
    before = hands.sql("SELECT count(*) FROM reviews")[0][0]
    hands.go("r")
    hands.click("main button:has-text('Undo') >> nth=2")
    return bool(hands.sql("SELECT count(*) FROM reviews")[0][0] == before - 1)


def largest_groups_of_a_site(hands: Hands) -> bool:
    """Filter groups by site."""
    hands.go("g")
    hands.tab.locator("[name=site]").click()
    hands.clicks += 1
    hands.paste(SITE)
    hands.go("Enter")
    size = int(hands.tab.locator("[data-number]").first.get_attribute("data-number") or 0)
    most = "SELECT max(n) FROM (SELECT count(*) n FROM pages GROUP BY original_id"
    return bool(size == hands.sql(f"{most} HAVING original_id IS NOT NULL)")[0][0])


def duplicates_as_csv(hands: Hands) -> bool:
    """Take the list that is shown, with its filter."""
    hands.go("a")
    hands.tab.select_option("[name=status]", "near")
    hands.clicks += 2
    hands.click("main form button")
    rows = [*csv.DictReader(io.StringIO(hands.data(".csv")))]
    return 0 < len(rows) <= 1000 and all(row["status"] == "near" for row in rows)


def title_has_a_word(hands: Hands) -> bool:
    """Look for a word of titles."""
    found = hands.find("AMDGPU")
    number = hands.sql("SELECT count(*) FROM pages WHERE title || ' ' || url LIKE '%AMDGPU%'")
    return f"{number[0][0]:,} pages" in found


def what_came_since_the_crawl_before(hands: Hands) -> bool:
    """From the list of runs to the pages that only the last crawl has met."""
    hands.go("w")
    hands.click("a[href*='/run?id=2']")
    hands.click("a[href*='change=came']")
    (number,) = hands.sql(
        "SELECT count(*) FROM verdicts WHERE run_id = 2 AND page_id NOT IN"
        " (SELECT page_id FROM verdicts WHERE run_id = 1)"
    )
    return f"{number[0]:,} pages" in hands.main()


def audit_twenty_drops(hands: Hands) -> bool:
    """Take the riskiest first, up to the sentence for the auditor."""
    hands.go("i")
    hands.tab.locator("#found").wait_for()
    hands.go("n")
    for _ in range(20):
        hands.go("s")
    hands.go("i")
    return "20 looked at, 0 wrong: at most 14 % wrong, with 95 % confidence" in hands.main()


def which_parameters_repeat_pages(hands: Hands) -> bool:
    """By site, with the settings to write."""
    hands.go("e")
    return "drop-parameter sid" in hands.main()


def what_is_saved(hands: Hands) -> bool:
    """Of how many requests, and what would have been lost."""
    hands.go("e")
    return "Of 5,210 requests that could have been skipped" in hands.main()


def drag_the_threshold(hands: Hands) -> bool:
    """By mouse, until at most half of the near-duplicates would be left; then open a bar."""
    hands.go("t")
    line = hands.tab.locator("#slide")
    box = line.bounding_box()
    assert box is not None
    y, width = box["y"] + box["height"] / 2, box["width"] - 24
    hands.tab.mouse.move(box["x"] + 12, y)
    hands.tab.mouse.down()
    hands.tab.mouse.move(box["x"] + 12 + width / 2, y, steps=10)
    hands.tab.mouse.up()
    hands.clicks += 1
    threshold = hands.tab.locator("#threshold").input_value()
    count = (
        "SELECT count(*) FROM pages WHERE status = 'near' AND resemblance >= ? AND resemblance < ?"
    )
    number = f"{hands.sql(count, 0, float(threshold))[0][0]:,}"
    is_right = f"At {threshold}, {number} of" in hands.tab.locator("#slid").inner_text()
    hands.click("a:has(.target)")
    low, high = (
        float(hands.tab.url.partition(f"{name}=")[2].split("&")[0]) for name in ("low", "below")
    )
    (number_of_pairs,) = hands.sql(count, low, high)[0]
    return (
        is_right and f"{number_of_pairs:,}" in hands.tab.locator("main > p >> nth=1").inner_text()
    )


def who_copies_whom(hands: Hands) -> bool:
    """From the overview to the pairs of two sites, as CSV."""
    number = int(hands.tab.locator(".beside a").first.get_attribute("data-number") or 0)
    hands.click(".beside a")
    rows = [*csv.DictReader(io.StringIO(hands.data(".csv")))]
    query = (
        "SELECT max(n) FROM (SELECT count(*) n FROM pages a JOIN pages b ON b.id = a.original_id"
        " GROUP BY a.site, b.site)"
    )
    return bool(len(rows) == number == hands.sql(query)[0][0])


def urls_that_would_be_skipped(hands: Hands) -> bool:
    """From what is saved to the list, as CSV."""
    hands.go("e")
    hands.click("a[href='/repeats']")
    rows = [*csv.DictReader(io.StringIO(hands.data(".csv")))]
    return all(row["url"] != row["repeats"] and row["changes"] for row in rows) and (
        bool(rows) or "There are none" in hands.main()
    )


def back_up_while_a_crawl_writes(hands: Hands) -> bool:
    """One command, while another process stores pages."""
    hands.keys += 1
    target = hands.store.with_name("backup.db")
    target.unlink(missing_ok=True)
    with Store.open(hands.store) as store:
        run = store.start_run("crawl")
        store.check([Page("https://backup.example/before", text="before " * 99)], run=run)
        _command("backup", str(target), "--store", f"sqlite:///{hands.store}")
        store.check([Page("https://backup.example/after", text="after " * 99)], run=run)
        store.finish_run(run, "finished")
    with Store.open(target, create=False) as copied:
        found = [bool(copied.find(f"https://backup.example/{one}")) for one in ("before", "after")]
    with Store.open(hands.store) as store:
        store.admin.forget(site="backup.example")
    return found == [True, False]


def print_a_pair(hands: Hands) -> bool:
    """Without what is no paper's, and with the colours of its differences."""
    hands.go("g")
    hands.press("j")
    hands.go("Enter")
    hands.keys += 1  # Control and P
    hands.tab.emulate_media(media="print")
    hidden = not any(
        hands.tab.locator(one).first.is_visible() for one in (".bar", ".decide form", "footer")
    )
    adjusted = "e => getComputedStyle(e).printColorAdjust"
    has_colours = hands.tab.locator(".legend del").evaluate(adjusted) == "exact"
    is_pdf = hands.tab.pdf().startswith(b"%PDF")
    hands.tab.emulate_media(media="screen")
    return hidden and has_colours and is_pdf


def answer_on_a_phone(hands: Hands) -> bool:
    """By touch alone: the first pair of the first group, whose words come first."""
    hands.tab.set_viewport_size({"width": 390, "height": 844})
    hands.click("nav a[href='/groups']")
    hands.click("a.row")
    box = hands.tab.locator(".texts").bounding_box()
    begins = box is not None and box["y"] < 844 / 2
    pair = {hands.tab.locator(f"input[name={one}]").input_value() for one in "ab"}
    hands.click("button.same")
    hands.tab.set_viewport_size({"width": 1280, "height": 720})
    reviewed = hands.sql("SELECT a_url, b_url FROM reviews WHERE same ORDER BY created DESC")
    return begins and any({*urls} == pair for urls in reviewed)


def report_for_somebody_else(hands: Hands) -> bool:
    """One file, by a command."""
    hands.keys += 1
    target = hands.store.with_name("report.html")
    _command("report", str(target), "--store", f"sqlite:///{hands.store}")
    return target.stat().st_size > 10_000


def tables_in_a_notebook(hands: Hands) -> bool:
    """Without the server."""
    hands.keys += 1
    with Store.open(hands.store, create=False) as store:
        shown: tuple[Any, ...] = store, store.groups()
        return all("<table>" in one._repr_html_() for one in shown)


JOBS: tuple[Callable[[Hands], bool], ...] = (
    why_is_this_url_dropped,
    what_would_another_threshold_change,
    largest_groups_of_a_site,
    duplicates_as_csv,
    title_has_a_word,
    what_came_since_the_crawl_before,
    review_twenty_pairs,
    undo_the_third_last_review,
    audit_twenty_drops,
    which_parameters_repeat_pages,
    what_is_saved,
    drag_the_threshold,
    who_copies_whom,
    urls_that_would_be_skipped,
    back_up_while_a_crawl_writes,
    print_a_pair,
    answer_on_a_phone,
    report_for_somebody_else,
    tables_in_a_notebook,
)


def _command(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "scrapy", "dedup", *arguments], check=True)


def fill(folder: Path, data: Path) -> Path:
    """Crawl the pages of all releases but the last one, and then all; return the store."""
    store = folder / "jobs.db"
    if not store.exists():
        with tarfile.open(data / "llvm-docs" / "html.tar.xz") as pages:
            pages.extractall(folder / "pages", filter="data")
        for releases in (RELEASES[:-1], RELEASES):
            run_scrapy(
                *("archive", "-a", f"path={folder / 'pages'}", "-a", f"base=https://{SITE}/"),
                *("-a", "only=" + ",".join(f"llvm-{one}/*" for one in releases)),
                *("-s", f"DEDUP_STORE_URL=sqlite:///{store}"),
            )
        fill_with_rules(f"sqlite:///{store}")
    return store


def main() -> None:
    """Do the jobs, and print the table."""
    parser = options_of(__doc__, data=True)
    parser.add_argument("--folder", type=Path, help="for the store, which is kept there")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        folder = options.folder or Path(temporary)
        store = fill(folder, data_folder(options.data))
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        with dedup_serve(folder, f"sqlite:///{store}", forked=False) as (_, address):
            tab = browser.new_page()
            tab.set_default_timeout(_FAR)
            for job in JOBS:
                tab.goto(address)
                hands = Hands(tab, address, store)
                began = time.perf_counter()
                is_right = job(hands)
                taken = time.perf_counter() - began
                name = job.__name__.replace("_", " ")
                rows.append((name, hands.clicks, hands.keys, f"{taken:.1f}", is_right))
                print(*rows[-1], flush=True)
        browser.close()
    show(("job", "clicks", "keys", "s", "right"), rows)


if __name__ == "__main__":
    main()
