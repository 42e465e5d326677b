"""The command that tunes the settings, the pairs that it reads, and what it recommends."""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from shingling.console.options import CommandOptions
from shingling.errors import SchemeError, TuningError
from shingling.rules.rules import Rules
from shingling.sketch import Scheme
from shingling.sketch.idf import Idf
from shingling.store.model import Page
from shingling.store.store import Store
from shingling.tuning.commands import tune
from shingling.tuning.pairs import LabelledPair, read_pairs
from shingling.tuning.report import TuningReport, tune_on
from tests.support.pages import article, html

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


DEFAULT = Scheme()


def changed(text: str, number: int) -> str:
    """Replace some words of a text, spread evenly."""
    words = text.split()
    for place in range(number):
        words[place * len(words) // number] = f"other{place}"
    return " ".join(words)


def made_pairs(number: int = 24, *, same: int = 6, different: int = 60) -> list[LabelledPair]:
    """Make pairs of texts of 200 words, of which `same` or `different` words differ, or more."""
    texts = [article(seed, 200) for seed in range(number)]
    found = [LabelledPair(text, changed(text, same + i % 5), True) for i, text in enumerate(texts)]
    texts = [article(1000 + seed, 200) for seed in range(number)]
    return found + [
        LabelledPair(text, changed(text, different + i % 9), False) for i, text in enumerate(texts)
    ]


def tuned(pairs: list[LabelledPair], threshold: float = 0.8) -> TuningReport:
    """Report on pairs, under the default scheme."""
    return tune_on(pairs, DEFAULT, Rules(threshold=threshold))


def options(**given: Any) -> CommandOptions:
    settings = SimpleNamespace(scheme=DEFAULT, rules=Rules())
    return CommandOptions(**{"pairs": None, "idf": None, "json": False, **given}, settings=settings)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path / 'dedup.db'}") as opened:
        pages = []
        for seed in range(24):
            text = article(seed, 150)
            for copy in range(2):
                own = changed(text, 12 * copy)
                title = f"Title {seed}"
                pages.append(Page(f"https://example.com/{seed}/{copy}", own, title=title))
        # Neither is of the same title as another one.
        pages += [Page(f"https://example.com/untitled/{i}", article(80 + i, 150)) for i in range(2)]
        pages.append(Page("https://example.com/de", article(90, 150), title="Title 0"))
        pages[-1] = replace(pages[-1], language="de")
        opened.check(pages)
        yield opened


@pytest.fixture(scope="module")
def report() -> TuningReport:
    return tuned(made_pairs(same=12))


def test_the_table_shows_every_setting_and_the_lines_for_settings_py(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [json.dumps(pair._asdict()) for pair in made_pairs(same=12)]
    file = tmp_path / "pairs.jsonl"
    file.write_text("\n".join(rows), "utf-8-sig")
    assert tune(options(pairs=str(file)), None) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("48 pairs: 24 the same, 24 different\n")
    (present,) = [line for line in shown.splitlines() if "present" in line]
    assert "0.50" in present
    rows = [line for line in shown.splitlines() if "1.000 (0.86 to 1.00)" in line]
    (chosen,) = [line for line in rows if line.startswith("*")]
    assert chosen.split()[1] == "5"
    assert "DEDUP_SHINGLE_SIZE = 5\n" in shown
    assert "\x1b" not in shown


def test_pairs_come_from_standard_input_and_the_store_as_well(
    store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"a": f"https://example.com/{seed}/0", "b": f"https://example.com/{other}/1"}
        for seed in range(8)
        for other in (seed, seed + 8)
    ]
    text = "\n".join(json.dumps({**row, "same": i % 2 == 0}) for i, row in enumerate(rows))
    given = io.TextIOWrapper(io.BufferedReader(io.BytesIO(text.encode())))
    monkeypatch.setattr(sys, "stdin", given)
    assert tune(options(pairs="-", json=True), store) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["pairs"], shown["same"]) == (16, 8)
    assert shown["recommended"]["settings"]["DEDUP_THRESHOLD"] < 0.8
    curve = shown["results"][0]["curve"]
    assert (curve["threshold"][0], curve["recall"][0]) == (0.01, 1.0)


def test_without_a_file_the_reviewed_pairs_of_the_store_are_taken(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed in range(8):
        for other in (seed, seed + 8):
            pair = (f"https://example.com/{seed}/0", f"https://example.com/{other}/1")
            store.admin.review(*pair, same=seed == other)
    assert tune(options(), store) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("16 pairs: 8 the same, 8 different\n")
    tune(options(), store)
    assert capsys.readouterr().out == shown


def test_a_store_that_pairs_cannot_be_had_from_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TuningError, match=r"^a store is needed"):
        tune(options(), None)
    with pytest.raises(TuningError, match=r"^a store is needed"):
        tune(options(idf=str(tmp_path / "idf.json")), None)
    with Store.open(f"sqlite:///{tmp_path / 'dedup.db'}") as empty:
        with pytest.raises(TuningError, match=r"^0 labelled pairs, 0 the same and 0 different"):
            tune(options(), empty)
        with pytest.raises(SchemeError, match="no documents"):
            tune(options(idf=str(tmp_path / "idf.json")), empty)
        assert not (tmp_path / "idf.json").exists()


def test_document_frequencies_are_learned_from_the_originals_of_a_store(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store.check([Page("https://example.com/copy", article(0, 150), title="Title 0")])
    path = tmp_path / "idf.json"
    assert tune(options(idf=str(path)), store) == 0
    shown = capsys.readouterr().out
    idf = Idf.from_json(path.read_text("utf-8"))
    originals = [page for page in store.pages() if page.original is None]
    texts = [store.text(page) or "" for page in originals]
    assert idf == Idf.learn([store.scheme.canonical.words(text) for text in texts])
    assert idf.documents == len(originals) < len(list(store.pages()))
    assert f"{len(idf):,} words of {idf.documents:,} documents" in shown
    line = next(line for line in shown.splitlines() if line.startswith("DEDUP_SCHEME"))
    assert line == (
        "DEDUP_SCHEME = {'simhash': {'features': 'words', 'keywords': 128, 'idf': "
        f"{str(path)!r}}}}}"
    )
    assert [own.name for own in tmp_path.iterdir() if own.suffix == ".part"] == []

    written: dict[str, Any] = {}
    exec(line, {}, written)  # noqa: S102 (what a user pastes)
    simhash = written["DEDUP_SCHEME"]["simhash"]
    given = {"documents": idf.documents, "table": idf.table}
    Scheme.from_dict({"simhash": {**simhash, "idf": given}})
    with pytest.raises(TuningError, match="there already"):
        tune(options(idf=str(path)), store)
    other = tmp_path / "other.json"
    tune(options(idf=str(other), json=True), store)
    assert json.loads(capsys.readouterr().out)["idf"]["words"] == len(idf)


def lines(*changes: dict[str, Any] | str) -> io.BufferedReader:
    """Make twelve good lines of a file, and put others after them."""
    good = [{"a": f"text {i}", "b": f"text {i} b", "same": i % 2 == 0} for i in range(12)]
    rows = [line if isinstance(line, str) else json.dumps(line) for line in (*good, *changes)]
    return io.BufferedReader(io.BytesIO("\n".join(rows).encode()))


def test_texts_html_and_urls_are_read_and_unlabelled_lines_are_left_out() -> None:
    page = html(article(1), "A title")
    found = read_pairs(
        lines(
            {"a": page, "b": "https://example.com/a", "same": True},
            "",
            {"a": "x", "b": "y", "same": None},
        ),
        {"https://example.com/a": "the stored text"}.get,
    )
    assert len(found) == 13
    last = found[-1]
    assert article(1).split()[:20] == last.a.replace("A title", "").split()[:20]
    assert "<" not in last.a
    assert last.b == "the stored text"
    assert found[0] == LabelledPair("text 0", "text 0 b", True)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 13: not JSON"),
        ("[]", "line 13: not a JSON object"),
        ({"a": "x", "same": True}, 'line 13: the field "b" is missing'),
        ({"a": "x", "b": "y", "same": 1}, 'line 13: "same" is 1: it takes true, false or null'),
        ({"a": 5, "b": "y", "same": True}, 'line 13: "a" is 5: it takes a text, HTML or a URL'),
        (
            {"a": "x", "b": "https://example.com/\x1b[1m", "same": True},
            'line 13: "b": https://example.com/ [1m is not stored, or its text is not (DEDUP_',
        ),
        (
            {"a": "<html><body></body></html>", "b": "y", "same": True},
            'line 13: "a": no text could be extracted from the HTML (no main text in it)',
        ),
    ],
)
def test_a_line_that_cannot_be_used_is_named_by_its_number(line: Any, message: str) -> None:
    with pytest.raises(TuningError) as error:
        read_pairs(lines(line), lambda _: None)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("labels", "counts"),
    [
        ([True] * 5 + [False] * 4, "9 labelled pairs, 5 the same and 4 different,"),
        ([False] * 11 + [True], "12 labelled pairs, 1 the same and 11 different,"),
    ],
)
def test_too_few_pairs_of_either_label_are_refused(labels: list[bool], counts: str) -> None:
    with pytest.raises(TuningError) as error:
        tuned([LabelledPair(f"a{i}", "b", own) for i, own in enumerate(labels)])
    assert str(error.value) == f"{counts} are too few: at least 10, and 2 of either label"


# What is recommended, and what is warned of.


def test_a_lower_threshold_is_recommended_if_the_present_one_finds_nothing(
    report: TuningReport,
) -> None:
    assert report.present.quality.recall.value < 0.2
    assert report.recommended.quality.f1 == 1
    assert report.settings["DEDUP_SHINGLE_SIZE"] == 5
    assert 0.1 < report.settings["DEDUP_THRESHOLD"] < 0.8
    assert re.search(
        r"recall from 0\.\d+ \(0\.\d+ to 0\.\d+\) to 1\.000 \(0\.86 to 1\.00\)", report.reason
    )
    assert report.warnings == []
    assert [result.shingle_size for result in report.results] == [1, 2, 3, 4, 5, 7, 10]


def test_the_present_settings_stay_if_nothing_is_better() -> None:
    found = tune_on(made_pairs(same=1), DEFAULT, Rules(threshold=0.6))
    assert found.recommended is found.present
    assert found.settings == {"DEDUP_SHINGLE_SIZE": 5, "DEDUP_THRESHOLD": 0.6}
    assert found.reason.startswith("The present settings stay, at precision 1.000 (0.86 to 1.00)")


@pytest.mark.parametrize("number", [12, 40])
def test_the_present_settings_stay_if_others_are_better_by_chance_alone(number: int) -> None:
    pairs = made_pairs(number, same=1)
    # The present threshold misses some pairs.
    texts = [article(seed, 200) for seed in range(50, 50 + number // 8)]
    pairs += [LabelledPair(text, changed(text, 14), True) for text in texts]
    found = tuned(pairs)
    assert max(result.quality.f1 for result in found.results) > found.present.quality.f1 + 0.02
    assert found.recommended is found.present


def test_another_shingle_size_is_recommended_if_only_it_parts_the_pairs() -> None:
    texts = [article(seed, 200).split() for seed in range(30)]
    # Every third word differs: no shingle of three words or more is shared.
    same = [
        LabelledPair(
            " ".join(text),
            " ".join(f"x{i}" if i % 3 == 0 else word for i, word in enumerate(text)),
            True,
        )
        for text in texts
    ]
    different = [
        LabelledPair(pair.a, article(500 + seed, 200), False) for seed, pair in enumerate(same)
    ]
    found = tuned(same + different)
    assert found.recommended.quality.f1 > 0.95
    assert found.settings["DEDUP_SHINGLE_SIZE"] <= 2
    assert any("scrapy dedup rebuild --scheme" in own for own in found.warnings)


def test_wrong_pairs_and_another_method_are_warned_of() -> None:
    texts = [article(seed, 200) for seed in range(40)]
    pairs = [LabelledPair(text, changed(text, 4), seed % 2 == 0) for seed, text in enumerate(texts)]
    found = tune_on(pairs, DEFAULT, Rules(method="simhash"))
    assert any("are labelled different" in own for own in found.warnings)
    assert any('DEDUP_METHOD is "simhash"' in own for own in found.warnings)


def test_the_same_pairs_give_the_same_report_in_any_order(report: TuningReport) -> None:
    again = tuned(made_pairs(same=12)[::-1])
    assert json.dumps(again.as_dict()) == json.dumps(report.as_dict())


def test_texts_without_words_are_the_same_as_nothing() -> None:
    pairs = [*made_pairs(6), LabelledPair("", "", True), LabelledPair("...", "a b", False)]
    found = tuned(pairs)
    assert all(not result.decided[12] for result in found.results)


@pytest.mark.data
def test_pairs_graded_by_a_person_give_figures_like_those_measured(data: Path) -> None:
    pairs = []
    with gzip.open(data / "copycat" / "pairs.jsonl.gz", "rt", encoding="utf-8") as rows:
        for line in rows:
            row = json.loads(line)
            same = {"3": True, "2": True, "0.5": False}.get(str(row["label"]))
            if same is not None:
                pairs.append(LabelledPair(row["a"], row["b"], same))
    found = tuned(pairs, 0.5)
    [five] = [result for result in found.results if result.shingle_size == 5]
    assert 0.7 < five.quality.f1 < 0.9
    assert 0.5 < found.present.quality.precision.value < 0.6
    assert found.recommended.quality.f1 > found.present.quality.f1 + 0.05
    assert 0.5 < found.settings["DEDUP_THRESHOLD"] < 0.8
