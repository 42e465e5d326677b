"""What decided a page: the same value in every place, beside what was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from shingling import Page, Rules, Store
from shingling.extraction.main_text import extract_page
from shingling.store.decided import DecidingStep, deciding_step, deciding_value, why
from shingling.store.session import Session
from shingling.web.pairs import ShownPair, read_pair
from tests.support.installed import ROOT
from tests.support.pages import article

if TYPE_CHECKING:
    from shingling import StoredPage, Verdict

SAMPLE = ROOT / "crawler" / "sample"
TEXT = article(1)
WORDS = TEXT.split()
NEAR = " ".join([*WORDS[:250], *article(2, 50).split()])  # about 0.7
PIECE = " ".join(WORDS[:120])


def decided(store: Store, *pages: Page, **rules: Any) -> list[Verdict]:
    return store.check(pages, rules=Rules(**rules) if rules else None)


def stored(store: Store, url: str) -> StoredPage:
    [page] = store.find(url)
    return page


def pair_of(url: str, a: str, b: str) -> ShownPair:
    with Session.open(url, create=False) as session:
        return read_pair(session, a, b)


def step_of(pair: ShownPair) -> str:
    [step] = [one for one in pair.steps if one.decides]
    return step.question


def test_every_place_says_of_a_page_what_its_verdict_says(url: str, dedup: Any) -> None:
    pages = []
    for file in sorted(SAMPLE.glob("*/en/*.html")):
        main = extract_page(file.read_bytes())
        arch = file.parts[-3]
        pages.append(Page(f"https://{arch}.example/{file.name}", main.text, title=main.title))
    pages += [
        Page(f"https://mirror.example/{page.url.partition('//')[2]}", page.text, title=page.title)
        for page in pages
    ]
    with Store.open(url) as store:
        decided(store, *pages)
        verdicts = {page.url: one for page, one in zip(pages, decided(store, *pages), strict=True)}
    duplicates = {url for url, verdict in verdicts.items() if verdict.original is not None}
    others = {url for url, verdict in verdicts.items() if verdict.compared_with is not None}
    assert len(duplicates) > 15
    assert others
    listed = {page["url"]: page for page in dedup("list", "--json").json()}
    grouped = {
        page["url"]: page
        for group in dedup("groups", "--limit", "1000", "--json").json()
        for page in group["duplicates"]
    }
    keys = ("original", "resemblance", "containment", "compared_with", "reason", "threshold")

    def told(shown: dict[str, Any]) -> dict[str, Any]:
        return {key: shown[key] for key in keys}

    for one in duplicates:
        said = told(verdicts[one].as_dict())
        assert said == told(listed[one]) == told(grouped[one]), one
        pair = pair_of(url, said["original"], one)
        assert pair.decision is not None
        assert pair.decision.value == pytest.approx(said["resemblance"], abs=0.0006)
        is_exact = listed[one]["status"] == "exact"
        assert step_of(pair) == (DecidingStep.SAME if is_exact else DecidingStep.NEAR).value
    for one in sorted(duplicates)[::7]:
        said = told(verdicts[one].as_dict())
        [shown] = dedup("show", one, "--explain", "--json").json()
        assert said == told(shown) == told(shown["explained"]["decided"])
        by = said["compared_with"] or said["original"]
        compared = dedup("compare", by, one, "--explain", "--json").json()
        assert said == told(compared["explained"]["decided"])


def test_an_exact_copy_names_the_duplicate_that_it_equals(url: str, dedup: Any) -> None:
    with Store.open(url) as store:
        _, near, exact = decided(
            store,
            Page("https://a.example/", TEXT),
            Page("https://b.example/", NEAR),
            Page("https://c.example/", NEAR),
        )
    assert (near.status, exact.status) == ("near", "exact")
    assert (exact.original, exact.compared_with) == ("https://a.example/", "https://b.example/")
    value = f"{near.resemblance:.3f}"
    same = "the same text as https://b.example/: resemblance 1.000; which is a duplicate:"
    whole = f"{same} resemblance {value}, at or above the threshold 0.5"
    assert f"Decided: {whole}." in dedup("show", "https://c.example/", "--explain").out
    compared = dedup("compare", "https://c.example/", "https://a.example/", "--explain").out
    assert compared.startswith(f"Decided: {whole}.")
    rows = [" ".join(line.split()) for line in dedup("list", "--status", "exact").out.splitlines()]
    assert rows == [
        "status words resemblance URL original compared with",
        "exact 300 1.000 https://c.example/ https://a.example/ https://b.example/",
    ]
    assert "(the text of https://b.example/)" in dedup("groups").out
    pair = pair_of(url, "https://c.example/", "https://a.example/")
    assert pair.left.page.url == "https://a.example/"
    assert str(pair.decision) == whole
    assert pair.known.whole is not None
    assert f"{pair.known.whole.resemblance:.3f}" == value
    assert step_of(pair) == DecidingStep.SAME.value


def test_a_page_kept_for_its_fields_names_them_and_what_it_is_like(url: str, dedup: Any) -> None:
    items = [
        Page("https://a.example/1", TEXT, fields={"sku": "a1", "price": 10, "colour": "red"}),
        Page("https://a.example/2", NEAR, fields={"sku": "a2", "price": 12, "colour": "red"}),
    ]
    with Store.open(url) as store:
        _, first = decided(store, *items)
        _, again = decided(store, *items)
        one, two = (stored(store, item.url) for item in items)
        assert store.differing_fields(two, one) == ("price", "sku")
    assert (first.status, again.status) == ("near", "unchanged")
    for verdict in (first, again):
        assert (verdict.original, verdict.reason) == ("https://a.example/1", "other_fields")
        assert verdict.fields == two.fields == ("price", "sku")
        assert verdict.resemblance == two.resemblance
        assert not verdict.is_duplicate
    value = f"resemblance {first.resemblance:.3f}, at or above the threshold 0.5"
    said = (
        "kept because its own fields (price, sku) differ from those of https://a.example/1:"
        f" {value}"
    )
    assert why(two) == said
    assert f"Decided: {said}." in dedup("show", "https://a.example/2", "--explain").out
    assert "kept: other_fields (price, sku)" in dedup("list").out
    [_, listed] = dedup("list", "--json").json()
    assert (listed["fields"], listed["threshold"]) == (["price", "sku"], 0.5)
    shown = dedup("compare", *(item.url for item in items), "--explain", "--json").json()
    assert shown["explained"]["differing_fields"] == ["price", "sku"]
    pair = pair_of(url, "https://a.example/1", "https://a.example/2")
    assert (pair.fields, step_of(pair)) == (("price", "sku"), DecidingStep.NEW.value)


def own_pages(*megabytes: int) -> list[Page]:
    return [
        Page(
            f"https://a.example/{size}",
            f"{TEXT}\nThe {MARK}program needs {size}MB to run.\n{article(7, 30)}",
            title="Manual",
        )
        for size in megabytes
    ]


MARK = "<b>\u202e"
KEPT = 'kept because its text says "The {0}program needs 780MB to run.", where "The {0}program'
SAID = f'{KEPT} needs 485MB to run." stands in https://a.example/485: resemblance '


def test_a_page_kept_for_its_text_shows_its_line_and_that_of_the_original(
    url: str, dedup: Any
) -> None:
    with Store.open(url) as store:
        _, first = decided(store, *own_pages(485, 780))
        page = stored(store, "https://a.example/780")
    assert (first.status, first.reason, first.is_duplicate) == ("near", "own_text", False)
    assert page.own_text == first.own_text
    value = f"{page.resemblance:.3f}, at or above the threshold 0.5"
    assert why(page) == f"{SAID.format(MARK)}{value}"
    printed = f"{SAID.format('<b> ')}{value}"
    assert printed in dedup("show", page.url).out
    assert f"Decided: {printed}." in dedup("show", page.url, "--explain").out
    compared = ("compare", "https://a.example/485", page.url, "--explain")
    assert dedup(*compared).out.startswith(f"Decided: {printed}.")
    assert dedup(*compared, "--json").json()["explained"]["decided"]["why"] == why(page)
    [shown] = dedup("show", page.url, "--json").json()
    assert first.own_text is not None
    assert shown["own_text"] == [*first.own_text]
    pair = pair_of(url, "https://a.example/485", page.url)
    assert step_of(pair) == DecidingStep.NEW.value
    assert str(pair.decision) == why(page)
    assert [step.answer for step in pair.steps if step.question == DecidingStep.NEAR.value] == [
        "none that counts"
    ]


def test_pages_are_counted_and_listed_by_the_reason_for_which_they_are_kept(
    url: str, dedup: Any
) -> None:
    with Store.open(url) as store:
        decided(store, *own_pages(485, 780, 1200))
        two = article(50)
        decided(store, *(Page(f"https://b.example/{n}", two, fields={"sku": n}) for n in "ab"))
        status = store.status()
    assert (status.own_text, status.other_fields) == (2, 1)
    assert "kept        2 for their text, 1 for their fields" in dedup("status").out
    shown = dedup("status", "--json").json()
    assert (shown["own_text"], shown["other_fields"]) == (2, 1)
    urls = ["https://a.example/780", "https://a.example/1200"]
    assert [page["url"] for page in dedup("list", "--reason", "own_text", "--json").json()] == urls
    assert dedup("list", "--reason", "own_text").out.count("kept: own_text") == 2
    refused = dedup("list", "--reason", "own-text")
    assert "did you mean own_text?" in refused.err


def test_a_number_in_the_template_is_shown_and_what_is_not_stored_is_not(
    url: str, dedup: Any
) -> None:
    with Store.open(url) as store:
        decided(store, *own_pages(485, 780))
        for number in range(12):
            text = f"{article(20 + number, 60)}\nThe {MARK}program needs 780MB to run."
            decided(store, Page(f"https://a.example/other/{number}", text, title=f"P {number}x"))
        shown = stored(store, "https://a.example/780").own_text
        assert shown is not None
        assert ("780MB" in shown[0], "485MB" in shown[1]) == (True, True)
    with Store.open(url, store_text=False) as store:
        decided(store, Page("https://a.example/485", article(50)), store_text=False)
        assert stored(store, "https://a.example/780").own_text is None
    said = "says what that of https://a.example/485 does not say (not found now: template"
    assert said in dedup("show", "https://a.example/780").out


def test_a_review_decides_whatever_is_measured(url: str, dedup: Any) -> None:
    with Store.open(url) as store:
        decided(store, Page("https://a.example/", TEXT), Page("https://b.example/", article(9)))
        store.admin.review("https://a.example/", "https://b.example/", same=True)
        verdict = store.check([Page("https://b.example/", article(9))])[0]
        page = stored(store, "https://b.example/")
    assert (verdict.reason, page.reason) == ("review", "review")
    assert why(page) == "a review has decided: resemblance 0.000"
    assert (
        step_of(pair_of(url, "https://a.example/", "https://b.example/"))
        == DecidingStep.REVIEW.value
    )
    assert "Decided: a review has decided" in dedup("show", page.url, "--explain").out


def test_a_piece_is_shown_by_its_containment(url: str) -> None:
    pages = Page("https://a.example/", TEXT), Page("https://b.example/", PIECE)
    with Store.open(url, containment=0.9) as store:
        _, verdict = decided(store, *pages, containment=0.9)
        page = stored(store, "https://b.example/")
    assert (verdict.reason, deciding_step(page)) == ("piece", DecidingStep.NEAR)
    assert why(page) == "a piece of it: containment 1.000, at or above 0.9"
    pair = pair_of(url, "https://a.example/", "https://b.example/")
    assert pair.decision is not None
    assert (f"{pair.decision.value:.3f}", step_of(pair)) == ("1.000", DecidingStep.NEAR.value)
    assert deciding_value(page) == verdict.containment


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("minhash+simhash", "SimHashes within 3 bits: resemblance "),
        ("megashingle", "2 of 6 supershingles equal: resemblance "),
    ],
)
def test_what_a_method_has_asked_for_is_named(url: str, method: str, said: str) -> None:
    words = [*article(3, 1000).split()]
    edited = " ".join([*words[:500], "edited", *words[501:]])
    pages = Page("https://a.example/", " ".join(words)), Page("https://b.example/", edited)
    with Store.open(url, method=method) as store:
        _, verdict = decided(store, *pages, method=method)
        page = stored(store, "https://b.example/")
    assert (verdict.status, verdict.threshold) == ("near", page.threshold)
    assert why(page).startswith(f"{said}{verdict.resemblance:.3f}")
    assert ("at or above the threshold 0.5" in why(page)) is (method == "minhash+simhash")


def test_every_page_names_the_step_that_decided_it(url: str) -> None:
    footer = "\n".join(article(number, 20) for number in range(40, 46))
    with Store.open(url) as store:
        decided(store, Page("https://a.example/", TEXT, title="One"))
        assert why(stored(store, "https://a.example/")) == "like no other page"
        other = " ".join([*WORDS[:-3], "one", "two", "three"])
        decided(store, Page("https://a.example/other", other[:1000], title="Two"))
        page = stored(store, "https://a.example/other")
        assert (page.reason, deciding_step(page)) == ("other_title", DecidingStep.NEW)
        assert (page.compared_with, page.compared_title) == ("https://a.example/", "One")
        assert why(page).startswith(
            "kept because a page of its site that is alike has another title: its title is"
            ' "Two", that of https://a.example/ is "One": resemblance 0.6'
        )
        decided(store, Page("https://a.example/short", "hardly any words are here", title="Three"))
        page = stored(store, "https://a.example/short")
        assert (page.reason, deciding_step(page)) == ("short", DecidingStep.ENOUGH)
        for number in range(8):
            text = f"{article(60 + number, 150)}\n{footer}"
            decided(store, Page(f"https://t.example/{number}", text, title=f"Page {number}a"))
        decided(store, Page("https://t.example/empty", footer, title="Nothing at all"))
        page = stored(store, "https://t.example/empty")
        assert (page.reason, deciding_step(page)) == ("template", DecidingStep.ENOUGH)
        about = (
            Page(f"https://{name}.example/", article(90), title=f"{name} story") for name in "cd"
        )
        assert [verdict.reason for verdict in decided(store, *about)] == [None, "title_not_in_text"]
    pair = pair_of(url, "https://c.example/", "https://d.example/")
    near = next(step for step in pair.steps if step.question == DecidingStep.NEAR.value)
    assert (step_of(pair), near.answer) == (DecidingStep.NEW.value, "none that counts")


def test_a_duplicate_that_took_the_place_of_its_original_says_so(url: str) -> None:
    one, two = Page("https://a.example/", TEXT), Page("https://b.example/", TEXT)
    with Store.open(url) as store:
        for pages in ((one, two), (two,), (two,)):
            run = store.start_run("news", is_crawl=True)
            verdicts = store.check(pages, run=run)
            store.finish_run(run, "finished")
        page = stored(store, "https://b.example/")
    assert verdicts[-1].reason == "original_missing"
    assert (page.original, deciding_step(page)) == (None, DecidingStep.URL)
    assert (
        step_of(pair_of(url, "https://a.example/", "https://b.example/")) == DecidingStep.SAME.value
    )
    assert "took its place" in why(page)


def test_of_pages_that_did_not_decide_each_other_all_is_measured_now(url: str, dedup: Any) -> None:
    with Store.open(url) as store:
        decided(store, Page("https://a.example/", TEXT), Page("https://b.example/", article(9)))
    pair = pair_of(url, "https://a.example/", "https://b.example/")
    assert pair.decision is None
    done = dedup("compare", "https://a.example/", "https://b.example/", "--explain")
    assert done.out.startswith("Neither page was decided by the other one")
    shown = dedup("compare", "https://a.example/", "https://b.example/", "--explain", "--json")
    assert shown.json()["explained"]["decided"] is None
