"""On one site, a page under another title is another document, but for long texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from shingling import Page, Rules, Store
from shingling.store.decide.titles import LIKELY_COPY, LONG_TEXT
from tests.support.invariants import ending, jaccard, text, words
from tests.support.stores import url_of

if TYPE_CHECKING:
    from pathlib import Path

    from shingling import Verdict

MANUAL = "https://manual.example/"
WHOLE = Rules(templates=False)

OPERATOR = """
Operator {0} of the class string. Declared in the header string of the standard library.
Returns a new string. The behaviour is undefined where one of the two is no longer there.
Parameters: the string on the left and the string on the right of the operator.
Example: a {0} b; prints the result on the standard output. See also the other operators.
"""
LETTERS = str.maketrans("0123456789", "abcdefghij")  # words with numbers are left out of titles
TITLES = ["rain", "falls", "town", "flooded", "part", "more"]  # of pages; the texts say them
ARTICLE = [*TITLES, *text(words("article", 394)).translate(LETTERS).split()]


def changed(base: list[str], seed: int | str, count: int) -> str:
    """Return a text of which the last words, and so many shingles, are others."""
    return text(ending(base, seed, count)).translate(LETTERS)


def page(path: str, main_text: str, title: str | None) -> Page:
    return Page(MANUAL + path, main_text, title=title, fetched=1)


def one(store: Store, checked: Page, rules: Rules = WHOLE) -> Verdict:
    [verdict] = store.check([checked], rules=rules)
    return verdict


def said(verdict: Verdict) -> tuple[str, str | None, str | None]:
    return verdict.status, verdict.reason, verdict.original


KEPT = ("new", "other_title", None)


@pytest.mark.parametrize("rules", [WHOLE, Rules()], ids=["whole", "templates"])
def test_operators_of_a_manual_are_kept(store: Store, rules: Rules) -> None:
    for at, operator in enumerate(["-=", "+", "!=", "==", "<", ">", ">>", "()", "[]"]):
        checked = page(f"{at}", OPERATOR.format(operator), f"string: operator{operator} - Manual")
        verdict = one(store, checked, rules)
        assert said(verdict) == (KEPT if at else ("new", None, None))


@pytest.mark.parametrize(
    ("length", "count", "status"),
    [(LONG_TEXT - 1, 0, "new"), (LONG_TEXT, 0, "exact"), (400, 20, "near"), (400, 22, "new")],
)
def test_a_likely_copy_under_another_title_is_long_and_nearly_the_same(
    store: Store, length: int, count: int, status: str
) -> None:
    base = ARTICLE[:length]
    now = changed(base, "now", count)
    assert (jaccard(text(base), now) >= LIKELY_COPY) is (count <= 20)
    one(store, page("a", text(base), "Rain falls"))
    verdict = one(store, page("b", now, "Town is flooded"))
    assert verdict.status == status
    assert verdict.is_duplicate is (status == "exact"), "a line of it has changed"


def test_a_short_page_under_another_title_goes_if_all_of_it_is_said_its_headline_too(
    store: Store,
) -> None:
    lines = ["Rain falls on the town", *(text(ARTICLE[at : at + 10]) for at in range(0, 60, 10))]
    one(store, page("a", "\n".join(lines), "Rain falls on the town - Web"))
    same = "\n".join(lines)
    printed = one(store, page("b", same, "Rain falls again and again on the town - Print"))
    assert said(printed) == KEPT, "this headline is in no line"
    assert said(one(store, page("c", same, "Rain falls on the town - Print"))) == (
        *("exact", None, MANUAL + "a"),
    )
    other = "\n".join([*lines[:-1], lines[-1].upper(), "And one line more"])
    assert said(one(store, page("d", other, "Rain falls on the town - Mobile"))) == KEPT


# Titles that do not count

ALIKE = Rules(titles="ignore", own_text="ignore", fields=())


def test_if_titles_do_not_count_resemblance_decides(store: Store) -> None:
    wall = text(words("wall", 60)).translate(LETTERS)
    for path, main_text, title in [
        ("a", OPERATOR.format("-="), "string: operator-= - Manual"),
        ("b", OPERATOR.format("+"), "string: operator+ - Manual"),
        ("c", wall, "Rain falls"),
        ("d", wall, "Town is flooded"),
    ]:
        original = MANUAL + {"b": "a", "d": "c"}.get(path, path)
        verdict = one(store, page(path, main_text, title), ALIKE)
        assert (verdict.original or verdict.reason) == (original if path in "bd" else None)
    elsewhere = Page("https://other.example/", wall, title="A third story", fetched=1)
    assert said(one(store, elsewhere, ALIKE)) == ("exact", None, MANUAL + "c")


def test_short_texts_need_equal_titles_even_if_titles_do_not_count(store: Store) -> None:
    short = text(words("short", 12)).translate(LETTERS)
    one(store, page("a", short, "Rain falls"), ALIKE)
    assert said(one(store, page("b", short, "Town is flooded"), ALIKE)) == (
        "skipped",
        "short",
        None,
    )
    assert said(one(store, page("c", short, "Rain falls"), ALIKE))[0] == "exact"


def test_templates_learn_from_titles_even_if_these_do_not_count(store: Store) -> None:
    footer = text(words("footer", 30)).translate(LETTERS)
    for at in range(6):
        shown = "\n".join([text(words(f"story {at}", 40)).translate(LETTERS), footer])
        verdict = one(store, page(f"{at}", shown, f"Title {at}"), Rules(titles="ignore"))
        assert verdict.status == "new"
    assert (verdict.template or 0) > 0.3


def test_updates_under_new_headlines_go_if_titles_do_not_count(file: Path) -> None:
    def update(at: int) -> Page:
        headline = f"Live: {at} roads are closed"
        return page(f"{at}", f"{headline}\n{text(ARTICLE[:300])}", f"{headline} - The News")

    pages = [update(at) for at in range(2, 17)]
    with Store.open(url_of(file)) as store:
        assert {verdict.is_duplicate for verdict in store.check(pages)} == {False}
        by = Rules(titles="ignore")
        verdicts = store.check(pages, rules=by)
        assert [verdict.is_duplicate for verdict in verdicts] == [False] + [True] * 14
        store.admin.redecide(Rules())
        assert store.status().originals == 15


# Numbering and scripts

NUMBERED = [
    ("Chapter 43. Boost.Units", "Chapter 42. Boost.Units"),
    ("2.5. Memory and Disk", "2.6. Memory and Disk"),
    ("Kapitel 4. Der Weg", "Der Weg"),
    ("Music Glossary: 1.131 fingering", "Music Glossary: 1.128 fingering"),
    ("A Manual — 2.1.3 Der Weg", "A Manual — Der Weg"),
    ("Manual: Notes > 3. Der Weg", "Manual: Notes > 4. Der Weg"),
    ("Der Weg", "Ο δρόμος"),
]


@pytest.mark.parametrize(("count", "rules"), [(60, WHOLE), (400, Rules())])
@pytest.mark.parametrize(
    ("first", "second"), [*NUMBERED, ("Rain falls hard", "The Manual: RAIN  falls \n hard!")]
)
def test_numbering_script_case_and_the_name_of_the_site_make_no_other_page(
    store: Store, first: str, second: str, count: int, rules: Rules
) -> None:
    base = ARTICLE[:count]
    one(store, page("1_80/units.html", text(base), first), rules)
    same = one(store, page("1_81/units.html", text(base), second), rules)
    assert said(same) == ("exact", None, MANUAL + "1_80/units.html")
    near = one(store, page("1_82/units.html", changed(base, "b", 3), second), rules)
    assert said(near) == ("near", None, MANUAL + "1_80/units.html")


@pytest.mark.parametrize(("path", "count"), [("1_81/angles.html", 0), ("1_81/units.html", 15)])
@pytest.mark.parametrize(("first", "second"), NUMBERED)
def test_where_numbering_or_script_differ_the_url_must_end_alike_and_the_text_be_nearly_the_same(
    store: Store, first: str, second: str, path: str, count: int
) -> None:
    base = ARTICLE[:100]
    now = changed(base, "now", count)
    assert WHOLE.threshold < jaccard(text(base), now)
    assert (jaccard(text(base), now) < 0.8) is bool(count)
    one(store, page("1_80/units.html", text(base), first))
    assert said(one(store, page(path, now, second))) == KEPT


@pytest.mark.parametrize(
    ("paths", "titles"),
    [
        (("lesson-1/quiz", "lesson-2/quiz"), ("1. The quiz", "2. The quiz")),
        (("part-iv/quiz", "part-v/quiz"), ("IV. The quiz", "V. The quiz")),
        (("2023/10/03/", "2023/10/04/"), ("3. Oktober", "4. Oktober")),
        (("a/quiz?id=1", "a/quiz?id=2"), ("1. The quiz", "2. The quiz")),
        (("a/quiz", "b/quiz"), ("Include a file", "Exclude a file")),
        (("a/quiz", "b/quiz"), ("2.5 mm drill", "3.5 mm drill")),
        (("a/quiz", "b/quiz"), ("Tools: 2.5 mm drill", "Tools: 3.5 mm drill")),
        (("a/quiz", "b/quiz"), ("Recipes: 10 ways to cook", "Recipes: 12 ways to cook")),
        (("2.4/quiz", "2.5/quiz"), ("Changes: 2.4 released", "Changes: 2.5 released")),
        (("", "index.html"), ("1. The quiz", "2. The quiz")),
    ],
)
def test_a_number_that_the_url_has_too_and_other_words_make_another_page(
    store: Store, paths: tuple[str, str], titles: tuple[str, str]
) -> None:
    for path, title, expected in zip(paths, titles, [("new", None, None), KEPT], strict=True):
        assert said(one(store, page(path, text(ARTICLE[:100]), title))) == expected


def test_releases_of_a_manual_do_not_turn_its_chapters_into_template(store: Store) -> None:
    for release in range(4):
        for at, name in enumerate(["units", "angles", "masses"]):
            main_text = changed(ARTICLE[at * 100 : at * 100 + 100], release, 2)
            title = f"Chapter {7 * release + at}. {name}"
            verdict = one(store, page(f"{release}/{name}.html", main_text, title), Rules())
            assert verdict.template == 0.0
            assert verdict.original == (f"{MANUAL}0/{name}.html" if release else None)


# Wherever pages are decided


@pytest.mark.parametrize(
    "rules",
    [
        *(Rules(method=one, templates=False) for one in ("megashingle", "simhash", "exact")),
        Rules(store_text=False),
    ],
    ids=str,
)
def test_every_method_heeds_titles_with_and_without_texts(file: Path, rules: Rules) -> None:
    main_text = text(ARTICLE[:100])
    with Store.open(url_of(file), rules=rules) as store:
        one(store, page("a", main_text, "Rain falls"), rules)
        assert said(one(store, page("b", main_text, "Flooded"), rules)) == KEPT
        assert one(store, page("c", main_text, "Rain falls"), rules).original == MANUAL + "a"


def test_a_piece_under_another_title_must_be_long(file: Path) -> None:
    rules = Rules(threshold=0.8, containment=0.9, templates=False)
    with Store.open(url_of(file), rules=rules) as store:
        lines = [text(ARTICLE[at : at + 10]) for at in range(0, 400, 10)]
        one(store, page("a", "\n".join(lines), "All of it"), rules)
        short, long = "\n".join(lines[10:20]), "\n".join(lines[10:33])
        assert said(one(store, page("b", short, "Part of it"), rules)) == KEPT
        assert one(store, page("c", long, "More of it"), rules).reason == "piece"


# Names of sites by separators that only some sites use

HEADLINES = [f"Report on {name}" for name in ["rain", "snow", "hail", "fog", "wind", "sun"]]
NAMED = [
    *("{0} -- {1}", "{0} ~ {1}", "{0} / {1}", "{0} → {1}", "{0}_{1}", "{0}｜{1}", "{0}：{1}"),
    *("{0} ({1})", "{0} [{1}]", "{0}【{1}】", "{0}-{1}", "{0}—{1}", "{1} ~ {0}", "{1}：{0}"),
]


def show(store: Store, titles: list[str]) -> None:
    for at, title in enumerate(titles):
        one(store, page(f"first/{at}", text(words(f"first {at}", 80)), title), Rules())


def are_one(store: Store, first: str, second: str) -> bool:
    one(store, page("a", text(ARTICLE[:100]), first), Rules())
    return one(store, page("b", changed(ARTICLE[:100], "b", 3), second), Rules()).is_duplicate


@pytest.mark.parametrize("form", NAMED)
def test_what_most_first_titles_of_a_site_have_is_its_name(store: Store, form: str) -> None:
    show(store, [form.format(headline, "The Manual") for headline in HEADLINES])
    assert are_one(store, "Rain falls hard", form.format("Rain falls hard", "The Manual"))


@pytest.mark.parametrize("form", NAMED)
def test_what_other_titles_of_a_site_do_not_have_is_no_name(store: Store, form: str) -> None:
    plain = [f"{headline} again" for headline in HEADLINES]
    show(store, [*plain, *(form.format(headline, "used copy") for headline in HEADLINES)])
    assert not are_one(store, "Rain falls hard", form.format("Rain falls hard", "used copy"))


@pytest.mark.parametrize(
    ("shown", "first", "second"),
    [
        (HEADLINES, "The big house (film)", "The big house (book)"),
        (
            [f"{x}_file" for x in ["open", "close", "seek", "tell", "copy", "move"]],
            "read",
            "read_file",
        ),
        (
            [f"is_{x}_v" for x in ["void", "class", "enum", "union", "final", "empty"]],
            "is_same",
            "is_same_v",
        ),
        (
            [f"{x} / Sports" for x in HEADLINES],
            "Rain falls hard / Sports",
            "Rain falls hard / Arts",
        ),
    ],
)
def test_identifiers_and_other_parts_stay_apart(
    store: Store, shown: list[str], first: str, second: str
) -> None:
    show(store, shown)
    assert not are_one(store, first, second)
