"""What a text says that another one, which it resembles, does not say."""

from __future__ import annotations

import random

import pytest

from shingling.similarity.own_text import OwnPassage, own_lines, own_passage, says_more
from shingling.text import LINK_MARK
from shingling.text.prepared import split_lines
from tests.support.invariants import text, words

BEFORE = "The office of the old district reports today for the town by the river"
BEHIND = "in the afternoon, and the next report is published tomorrow at the usual hour"
LETTERS = str.maketrans("0123456789", "abcdefghij")
PARAGRAPHS = [text(words(seed, 40)).translate(LETTERS) for seed in range(6)]


def passage(mine: str, theirs: str, *, strict: bool = False) -> OwnPassage | None:
    return own_passage(mine.split("\n"), theirs.split("\n"), 20, strict=strict)


def counts(mine: str, theirs: str) -> bool:
    found = passage(mine, theirs)
    return found is not None and found.counts


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        ("23 degrees", "19 degrees"),
        ("-5 degrees", "5 degrees"),
        ("a score of 3:2", "a score of 2:3"),
        ("780MB of memory", "485MB of memory"),
        ("780 MB of memory", "780 GB of memory"),
        ("a fee of €20", "a fee of $20"),
        ("20 % more", "20 $ more"),
        ("on 3 December 2026, 10:30", "on 4 December 2026, 11:30"),
        ("1,5 metres", "15 metres"),
        ("٢٣ درجة", "24 درجة"),
        ("最高气温23度", "最高气温21度"),
        (
            "the ticket of the tour is 20 euros, 12 for children",
            "the ticket of the tour is 20 euros",
        ),
        ("phone (555) 0104", "phone (555) 0103"),
        ("it mends CVE-2026-1234 only", "it mends CVE-2026-1239 only"),
        ("take libfoo-2.4.1", "take libfoo-2.5"),
        ("the model WA70H4000 in white", "the model WA75H4000 in white"),
        ("python3.11 or newer", "python3.12 or newer"),
    ],
)
@pytest.mark.parametrize("shape", ["{0} {1} {2}", "{0}\n{1}\n{2}"], ids=["one line", "lines"])
def test_another_number_counts_with_its_sign_separators_and_unit(
    mine: str, theirs: str, shape: str
) -> None:
    assert counts(shape.format(BEFORE, mine, BEHIND), shape.format(BEFORE, theirs, BEHIND))


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        ("One tablet has 10 mg, a box has 40 tablets", "One tablet has 5 mg, a box has 35 tablets"),
        ("Rent: 620 euros", "Rent: 600 euros"),
        ("price in our shop\n620 euros", "price in our shop\n600 euros"),
    ],
)
@pytest.mark.parametrize("shape", ["{0}\n{1}\n{2}\n{3}", "{0}\n{2}\n{1}\n{3}"])
def test_a_new_line_beside_another_number_hides_nothing(mine: str, theirs: str, shape: str) -> None:
    new = "This page was changed: it has another dose for young people now"
    text = shape.format(BEFORE, mine, new, BEHIND)
    assert counts(text, f"{BEFORE}\n{theirs}\n{BEHIND}")
    assert says_more(text, f"{BEFORE}\n{theirs}\n{BEHIND}", "keep", 20)
    assert not counts(text, f"{BEFORE}\n{mine}\n{BEHIND}")


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        ("for amd64 and python3 on x86_64", "for i386 and python2 on x86_32"),
        ("for i386", "for amd64"),
        ("the tool libfoo-2.4.1 does", "the tool does"),
        ("at the museum", "at the musum"),
        ("8 March 2013", "8, March 2013"),
        ("in ２３ degrees", "in 23 degrees"),
    ],
)
def test_names_forms_of_digits_and_mended_words_do_not_count(mine: str, theirs: str) -> None:
    assert not counts(f"{BEFORE} {mine} {BEHIND}", f"{BEFORE} {theirs} {BEHIND}")


def test_a_line_with_a_number_that_the_other_text_lacks_counts_only_by_its_words() -> None:
    article = "\n".join(PARAGRAPHS)
    assert not counts(f"Printed on 27 November 2026 at 10:15\n{article}", article)


def test_a_number_alone_on_its_line_is_a_counter_unless_a_label_is_before_it() -> None:
    first, second = PARAGRAPHS[:2]
    assert not counts(f"{first}\n251\n{second}", f"{first}\n1,125\n{second}")
    assert counts(f"{first}\nTemperature\n23\n{second}", f"{first}\nTemperature\n19\n{second}")
    rooms = "Rooms of the house, its cellar and its two annexes"
    assert counts(f"{first}\n{rooms}\n3\n{second}", f"{first}\n{rooms}\n4\n{second}")
    assert counts(f"{first}\n3\nbedrooms\n{second}", f"{first}\n4\nbedrooms\n{second}")
    headline = "Rain falls on the town"
    assert not counts(f"{first}\n3\n{headline}\n{second}", f"{first}\n4\n{headline}\n{second}")


@pytest.mark.parametrize("joined", [" ", "\n"])
@pytest.mark.parametrize(("new", "is_own"), [(19, False), (20, True)])
def test_passages_count_from_so_many_words_on_wherever_lines_end(
    joined: str, new: int, is_own: bool
) -> None:
    theirs = joined.join(PARAGRAPHS)
    added = " ".join(text(words("added", new)).translate(LETTERS).split())
    for place in (0, 3, 6):
        mine = joined.join([*PARAGRAPHS[:place], added, *PARAGRAPHS[place:]])
        assert counts(mine, theirs) is is_own


def test_order_lines_and_what_is_left_out_do_not_count() -> None:
    theirs = "\n".join(PARAGRAPHS)
    assert passage("\n".join(PARAGRAPHS[::-1]), theirs) is None
    assert passage(" ".join(PARAGRAPHS), theirs) is None
    assert passage("\n".join(PARAGRAPHS[:3]), theirs) is None


ENTRIES = [
    "{0}: accepts a field and tests if its value is {1}, and otherwise returns nothing at all",
    "The branch {0} beside the {1} is open on all working days from morning to evening",
    "{0}\nSets the {1} of the window, which must have been opened before by another function",
]


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("more", [1, 3])
def test_another_entry_is_said_by_no_entry_that_both_texts_have(entry: str, more: int) -> None:
    names = [("Alder", "harbour"), ("Birch", "market"), ("Cedar", "old mill")]
    new = [("Damson", "castle"), ("Elder", "river side"), ("Fir", "town hall")][:more]
    known, added = ([entry.format(*one) for one in some] for some in (names, new))
    theirs = "\n".join([*PARAGRAPHS, *known])
    for mine in ([*known, *added], [*added, *known]):
        assert counts("\n".join([*PARAGRAPHS, *mine]), theirs) is (more == 3), "from 20 words on"
    assert passage(theirs, "\n".join([*PARAGRAPHS, *known, *added])) is None


def test_what_a_page_repeats_of_itself_is_said() -> None:
    theirs = "\n".join(PARAGRAPHS)
    quote = " ".join(PARAGRAPHS[2].split()[3:38])
    for mine in (f"“{quote}”\n{theirs}", f"{theirs}\n{quote}"):
        assert passage(mine, theirs) is None
    edited = PARAGRAPHS[3].replace(" ", "\n", 1).replace(" ", " and ", 1)
    assert not counts(theirs.replace(PARAGRAPHS[3], edited), theirs)


def test_links_alone_say_nothing() -> None:
    theirs = "\n".join(PARAGRAPHS)
    links = "\n".join(f"{text(words(at, 8))} {at}{LINK_MARK}" for at in range(5))
    assert passage(f"{theirs}\n{links}", theirs) is None
    assert counts(f"{theirs}\n{links.replace(LINK_MARK, '')}", theirs)


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [("shall not pay", "shall pay"), ("twelve crowns", "fifteen crowns"), ("a <= b", "a < b")],
)
def test_strictly_every_changed_line_counts_and_not_case_or_space(mine: str, theirs: str) -> None:
    first, second = (f"{BEFORE}\nThey {one}\n{BEHIND}" for one in (mine, theirs))
    assert not counts(first, second)
    found = passage(first, second, strict=True)
    assert found is not None
    assert found.counts
    assert mine.split()[0] in found.line
    assert passage(f"{BEFORE.upper()}\n {BEHIND}  ", f"{BEFORE}\n{BEHIND}", strict=True) is None


def test_the_line_and_what_stands_in_its_place_are_cut_around_what_differs() -> None:
    found = passage(f"{BEFORE} 780MB {BEHIND * 3}", f"{BEFORE} 485MB {BEHIND * 3}")
    assert found is not None
    assert found.line.startswith("… ")
    assert "river 780MB in" in found.line
    assert "river 485MB in" in found.other
    assert max(map(len, found[:2])) < 90


def test_lines_that_differ_beyond_a_limit_count_unread() -> None:
    found = own_passage(["a" * 200_001], ["b"], 20)
    assert found is not None
    assert found.counts
    assert own_passage(["a" * 200_001], ["a" * 200_001], 20) is None
    assert own_passage([], ["b"], 20) is None
    assert own_passage(["a b c d e"], [], 5) == OwnPassage("a b c d e", "", counts=True)
    assert own_lines(["A  b"], ["a b"]) == []


@pytest.mark.parametrize("between", ["\n", " "])
@pytest.mark.parametrize("more", [0, 15])
def test_the_line_whose_number_counts_is_shown(between: str, more: int) -> None:
    def chair(colour: str, weight: int) -> str:
        lines = [BEFORE, f"Colour {colour}{' wood' * more}", f"Weight {weight} g", BEHIND]
        return between.join(lines)

    found = passage(chair("black", 852), chair("blue", 503))
    assert found is not None
    assert found.counts
    assert "Weight 852 g" in found.line
    assert "Weight 503 g" in found.other
    assert "Colour" not in f"{found.line} {found.other}" or between == " "
    table = "Colour\n{}\nWeight\n{} g"
    shown = [f"{BEFORE}\n{table.format(*one)}\n{BEHIND}" for one in (("red", 5), ("blue", 7))]
    assert passage(*shown) == OwnPassage("5 g", "7 g", counts=True)


def test_the_line_of_a_passage_that_counts_is_shown() -> None:
    mine, theirs = (" ".join(f"{name}{number}" for number in range(30)) for name in ("a", "b"))
    first, second = (
        f"{BEFORE}\nColour {colour}\n{line}\n{BEHIND}"
        for colour, line in (("black", mine), ("blue", theirs))
    )
    found = passage(first, second)
    assert found is not None
    assert found.counts
    assert (found.line[:6], found.other[:6]) == ("a0 a1 ", "b0 b1 ")


_UNSPACED = """
a b word haus amd64 x86_64 python3.11 libfoo-2.4.1 cve-2026-1234 -5 ++++++5 $$5 €20 20%a 5km 2x4
3:2 1,234.5 [1,2] [5] 10:30 5. 5..6 a5.5.5 _555 a--5 #5 <5> ·5 23度 5ไ ၇ာ ٢٣ درجة 5א हिन्दी ² ½ ①
፩ &amp; &#0038;eacute; R&D; & ʘ ʘ5 İ i … ß п'ять ka'5 ™ 、 漢字
"""
_PIECES = [
    *_UNSPACED.split(),
    *(
        "- 5",
        "+ - $ 5",
        "20 %",
        "5 km",
        "[1, 2, 3]",
        "5 度",
        "5 ၇ာ",
        "5 हि",
        "हिंदी हिन्दी5",
        "\u3000",
    ),
    *("e\u0301", "\u0301", "\u0307", "п\u02bcять п'ять", "ka\u02bb5 ka'5", "\xb45 \u01495", "\x85"),
    *("\u2063", "\u200c", "\ufe0f", "\ud800"),
]


def _line(rnd: random.Random, most: int) -> str:
    return rnd.choice(["", " ", " "]).join(rnd.choices(_PIECES, k=rnd.randint(1, most)))


def _changed(rnd: random.Random, lines: list[str]) -> list[str]:
    changed = [*lines]
    for _ in range(rnd.randint(1, 4)):
        at = rnd.randrange(len(changed))
        parts = changed[at].split(" ")
        parts[rnd.randrange(len(parts))] = rnd.choice([*_PIECES, ""])
        changed[at] = " ".join(parts)
        changed[at:at] = rnd.choice([[], [], [_line(rnd, 12)], ["12"], ["1,234"], ["Rooms"]])
        if rnd.random() < 0.2:
            rnd.shuffle(changed)
    return changed


@pytest.mark.parametrize("seed", range(8))
def test_texts_are_compared_as_fast_as_can_be_with_the_same_result(seed: int) -> None:
    rnd = random.Random(seed)
    found = set()
    for _ in range(60):
        lines = [_line(rnd, rnd.choice([3, 12, 40])) for _ in range(rnd.choice([1, 3, 20]))]
        mine, theirs = "\n".join(lines), "\n".join(_changed(rnd, lines))
        min_words = rnd.choice([0, 5, 20])
        for own, other in ((mine, theirs), (theirs, mine), (mine, mine)):
            found_there = own_passage(split_lines(own), split_lines(other), min_words)
            expected = found_there is not None and found_there.counts
            assert says_more(own, other, "keep", min_words) == expected, (own, other)
            found.add(expected)
    assert found == {True, False}


@pytest.mark.parametrize("context", ["5{}", "5 {}x", "{} 5", "5{}5", "a{}5"])
def test_every_code_point_beside_a_number_counts_in_the_same_way(context: str) -> None:
    codes = [*range(0x20, 0x180), *range(0x180, 0x3100, 41), *range(0x3100, 0xD800, 997)]
    for code in [*codes, *range(0xF900, 0x32000, 997)]:
        mine = f"{BEFORE} {context.format(chr(code))} {BEHIND}"
        for theirs in (f"{BEFORE} 5 {BEHIND}", f"{BEFORE} {chr(code)} {BEHIND}"):
            assert says_more(mine, theirs, "keep", 20) == counts(mine, theirs), (hex(code), theirs)


def test_too_many_passages_and_too_long_texts_count_unread() -> None:
    several = [text(words(seed, 5)).translate(LETTERS) for seed in range(500)]
    mine = "\n".join(f"{line} x y" for line in several)
    assert says_more(mine, " ".join(several), "keep", 10_000)
    assert not says_more(" ".join(several), mine, "keep", 10_000)
    long = "word " * 30_000
    assert says_more(f"{long}a", f"{long}b", "keep", 20)
