"""The command that tunes the settings, the pairs that it reads, and what it recommends."""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
from dataclasses import replace
from io import BytesIO
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest

from shingling.console.options import CommandOptions
from shingling.errors import SchemeError, TuningError
from shingling.rules.rules import Rules
from shingling.sketch import Idf, Scheme, sign
from shingling.store import Page, Store
from shingling.text import Canonicaliser
from shingling.tuning.commands import tune
from shingling.tuning.pairs import LabelledPair, LabelledPairs, TitledPage, pairs_from, read_pairs
from shingling.tuning.plotting import plot
from shingling.tuning.report import Report, tune_on
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


def tuned(pairs: list[LabelledPair], threshold: float = 0.8, **given: Any) -> Report:
    """Report on pairs, under the default scheme."""
    return tune_on(LabelledPairs(pairs), DEFAULT, Rules(threshold=threshold), **given)


def options(**given: Any) -> CommandOptions:
    return CommandOptions(
        **{"pairs": None, "plot": None, "idf": None, "folds": 5, "json": False, **given}
    )


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
def report() -> Report:
    return tuned(made_pairs(same=12))


@pytest.fixture
def without_packs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the settings that need language packs: dictionaries take seconds to load."""

    def require(canonical: Canonicaliser) -> None:
        if canonical != Canonicaliser():  # which a store asks for as well
            raise SchemeError("left out")

    monkeypatch.setattr(Canonicaliser, "require_packs", require)


@pytest.mark.usefixtures("without_packs")
def test_the_table_shows_every_setting_and_the_lines_for_settings_py(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [json.dumps(pair._asdict()) for pair in made_pairs(same=12)]
    file = tmp_path / "pairs.jsonl"
    file.write_text("\n".join(rows), "utf-8-sig")
    assert tune(options(pairs=str(file)), None, DEFAULT, Rules()) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("48 pairs: 24 the same, 24 different; 5-fold cross-validation\n")
    rows = [line for line in shown.splitlines() if "minhash" in line]
    assert "present settings" in rows[0]
    (chosen,) = [line for line in rows if line.startswith("*")]
    assert "5 words" in chosen
    assert "1.000 ± 0.000" in chosen
    assert 'DEDUP_METHOD = "minhash"' in shown
    assert "note: few pairs" in shown
    assert "\x1b" not in shown


@pytest.mark.usefixtures("without_packs")
def test_pairs_come_from_standard_input_and_the_store_as_well(
    store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"a": f"https://example.com/{seed}/0", "b": f"https://example.com/{other}/1"}
        for seed in range(8)
        for other in (seed, seed + 8)
    ]
    text = "\n".join(json.dumps({**row, "same": i % 2 == 0}) for i, row in enumerate(rows))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert tune(options(pairs="-", json=True), store, store.scheme, Rules()) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["pairs"], shown["same"], shown["labels"]) == (16, 8, "file")
    assert shown["recommended"]["settings"]["DEDUP_THRESHOLD"] < 0.8
    assert shown["results"][0]["curve"]["threshold"][0] == 0.01


@pytest.mark.usefixtures("without_packs")
def test_without_pairs_the_titles_of_the_store_are_taken_and_that_is_said(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tune(options(), store, store.scheme, Rules()) == 0
    shown = capsys.readouterr().out
    assert "24 the same" in shown
    assert "note: the labels are a proxy" in shown
    tune(options(), store, store.scheme, Rules())
    assert capsys.readouterr().out == shown


def test_a_store_that_pairs_cannot_be_had_from_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TuningError, match=r"^a store is needed"):
        tune(options(), None, DEFAULT, Rules())
    with pytest.raises(TuningError, match=r"^a store is needed"):
        tune(options(idf=str(tmp_path / "idf.json")), None, DEFAULT, Rules())
    with Store.open(f"sqlite:///{tmp_path / 'dedup.db'}") as empty:
        with pytest.raises(TuningError, match="no pages with a title and a text"):
            tune(options(), empty, DEFAULT, Rules())
        with pytest.raises(SchemeError, match="no documents"):
            tune(options(idf=str(tmp_path / "idf.json")), empty, DEFAULT, Rules())
        assert not (tmp_path / "idf.json").exists()
        empty.check([Page(f"https://a.example/{i}", article(i), title=f"T {i}") for i in range(9)])
        with pytest.raises(TuningError, match=r"^by the titles of 9 stored pages: .* 0 the same"):
            tune(options(), empty, DEFAULT, Rules())


def test_document_frequencies_are_learned_from_the_originals_of_a_store(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store.check([Page("https://example.com/copy", article(0, 150), title="Title 0")])
    path = tmp_path / "idf.json"
    assert tune(options(idf=str(path)), store, store.scheme, Rules()) == 0
    shown = capsys.readouterr().out
    idf = Idf.from_json(path.read_text("utf-8"))
    originals = [page for page in store.pages() if page.original is None]
    texts = [store.text(page) or "" for page in originals]
    assert idf == Idf.learn([store.scheme.canonical.words(text) for text in texts])
    assert idf.documents == len(originals) < len(list(store.pages()))
    assert f"{len(idf):,} words of {idf.documents:,} documents" in shown
    line = next(line for line in shown.splitlines() if line.startswith("DEDUP_SCHEME"))
    assert line == (
        'DEDUP_SCHEME = {"simhash": {"features": "words", "keywords": 128, "idf": '
        f"{json.dumps(str(path))}}}}}"
    )
    assert [own.name for own in tmp_path.iterdir() if own.suffix == ".part"] == []

    written: dict[str, Any] = {}
    exec(line, {}, written)  # noqa: S102
    simhash = written["DEDUP_SCHEME"]["simhash"]
    given = {"documents": idf.documents, "table": idf.table}
    Scheme.from_dict({"simhash": {**simhash, "idf": given}})
    with pytest.raises(TuningError, match="there already"):
        tune(options(idf=str(path)), store, store.scheme, Rules())
    other = tmp_path / "other.json"
    tune(options(idf=str(other), json=True), store, store.scheme, Rules())
    assert json.loads(capsys.readouterr().out)["idf"]["words"] == len(idf)


def test_the_picture_has_the_curves_with_their_names(report: Report, tmp_path: Path) -> None:
    path = tmp_path / "out.svg"
    plot(report, path)
    root = ElementTree.parse(path).getroot()  # noqa: S314
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    words = " ".join(root.itertext())
    for name in ("precision", "recall", "F1: 9 characters", "resemblance at or above"):
        assert name in words
    assert f"recommended: {report.settings['DEDUP_THRESHOLD']:g}" in words


def test_a_picture_may_be_png_or_pdf_and_of_simhash(report: Report, tmp_path: Path) -> None:
    plot(report, tmp_path / "out.png")
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")
    plot(report, tmp_path / "out.PDF")
    assert (tmp_path / "out.PDF").read_bytes().startswith(b"%PDF")
    for method in ("simhash", "megashingle"):
        other = next(own for own in report.results if own.setting.method == method)
        plot(replace(report, recommended=other), tmp_path / f"{method}.svg")
        root = ElementTree.parse(tmp_path / f"{method}.svg").getroot()  # noqa: S314
        assert ("(bits)" in " ".join(root.itertext())) is (method == "simhash")


@pytest.mark.parametrize("name", ["out.jpg", "out"])
def test_a_picture_of_another_kind_is_refused_before_the_work(name: str) -> None:
    with pytest.raises(TuningError, match=r"^a picture is .svg, .png, .pdf: "):
        tune(options(pairs="not there", plot=name), None, DEFAULT, Rules())


def lines(*changes: dict[str, Any] | str) -> BytesIO:
    """Make twelve good lines of a file, and put others after them."""
    good = [{"a": f"text {i}", "b": f"text {i} b", "same": i % 2 == 0} for i in range(12)]
    rows = [line if isinstance(line, str) else json.dumps(line) for line in (*good, *changes)]
    return BytesIO("\n".join(rows).encode())


def test_texts_html_and_urls_are_read_and_unlabelled_lines_are_counted() -> None:
    page = html(article(1), "A title")
    found = read_pairs(
        lines(
            {"a": page, "b": "https://example.com/a", "same": True},
            "",
            {"a": "x", "b": "y", "same": None},
        ),
        {"https://example.com/a": "the stored text"}.get,
    )
    assert len(found.pairs) == 13
    assert found.unlabelled == 1
    last = found.pairs[-1]
    assert article(1).split()[:20] == last.a.replace("A title", "").split()[:20]
    assert "<" not in last.a
    assert last.b == "the stored text"
    assert found.pairs[0] == LabelledPair("text 0", "text 0 b", True)


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
            'line 13: "a": no text could be had from the HTML (no main text in it)',
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


# Titles


def sampled(number: int = 30) -> Iterator[TitledPage]:
    for seed in range(number):
        text = article(seed, 150)
        for copy in range(2):
            own = changed(text, copy)
            yield TitledPage(f"title {seed}", own, sign(own).minima)


def test_pages_of_one_title_are_taken_for_the_same() -> None:
    pairs = pairs_from(sampled())
    assert sum(pair.same for pair in pairs) == 30
    assert len(pairs) == 59
    unchanged = {article(seed, 150) for seed in range(30)}
    for pair in pairs:
        if pair.same:
            assert (pair.a in unchanged) != (pair.b in unchanged)
        else:
            assert pair.a.split()[5:20] != pair.b.split()[5:20]
    assert pairs == pairs_from(sampled())
    assert len(set(pairs)) == len(pairs)


def test_pages_that_tell_nothing_are_left_out() -> None:
    pages = list(sampled(4))
    minima = pages[0].minima
    pages += [TitledPage("not found", article(90 + i), minima) for i in range(11)]
    pages += [TitledPage("other", pages[0].text.upper(), minima)]
    texts = {text for pair in pairs_from(pages) for text in (pair.a, pair.b)}
    assert article(90) not in texts
    assert pages[0].text.upper() not in texts


def test_the_pages_most_alike_are_among_the_different_ones() -> None:
    pages = list(sampled(40))[::2]
    twins = []
    for seed in range(5):
        text = changed(article(seed, 150), 8)
        twins.append(TitledPage(f"twin {seed}", text, sign(text).minima))
    pairs = {(pair.a, pair.b) for pair in pairs_from([*pages, *twins], 40) if not pair.same}
    for seed, twin in enumerate(twins):
        assert (article(seed, 150), twin.text) in pairs
    assert len(pairs) <= 20


def test_a_sample_has_no_more_pairs_than_asked_for() -> None:
    assert len(pairs_from(sampled(100), 60)) == 60
    assert pairs_from([]) == []
    assert pairs_from(list(sampled(1))[:1]) == []


# What is recommended, and what is warned of.


def test_a_lower_threshold_is_recommended_where_the_present_one_finds_nothing(
    report: Report,
) -> None:
    assert report.present.quality.recall < 0.2
    assert report.recommended.quality.f1 == 1
    assert report.settings["DEDUP_METHOD"] == "minhash"
    assert report.settings["DEDUP_SHINGLE_SIZE"] == 5
    assert 0.1 < report.settings["DEDUP_THRESHOLD"] < 0.8
    assert "DEDUP_SCHEME" not in report.settings
    assert "F1 rises from" in report.reason
    assert "to 1.000" in report.reason
    threshold = report.settings["DEDUP_THRESHOLD"]
    assert f"DEDUP_THRESHOLD = {threshold}" in report.lines
    assert any(
        f"scrapy dedup rebuild --method minhash --threshold {threshold:g}" in own
        for own in report.warnings
    )
    assert (report.pairs, report.same, report.folds) == (48, 24, 5)


@pytest.mark.usefixtures("without_packs")
@pytest.mark.parametrize("method", ["minhash", "simhash", "megashingle", "minhash+simhash"])
def test_the_present_settings_are_those_in_use_and_stay_where_nothing_is_better(
    method: str,
) -> None:
    rules = Rules(method=method, threshold=0.6, simhash_distance=5)
    found = tune_on(LabelledPairs(made_pairs(same=1)), DEFAULT, rules)
    assert found.present.setting.method == method
    assert found.present.distance == (5 if "simhash" in method else None)
    assert found.present.threshold == (0.6 if "minhash" in method else None)
    if method == "minhash":
        assert found.recommended is found.present
        assert found.settings["DEDUP_THRESHOLD"] == 0.6
        assert "nothing that was tried does better" in found.reason


@pytest.mark.usefixtures("without_packs")
@pytest.mark.parametrize(
    ("number", "told"),
    [
        (12, r"0\.040 ± 0\.04\d more, which may be chance: by these 25 pairs, a gain counts from"),
        (40, r"0\.012 ± 0\.01\d more, and 0\.02 or less does not count\."),
    ],
)
def test_the_present_settings_stay_where_others_are_hardly_better(number: int, told: str) -> None:
    pairs = made_pairs(number, same=1)
    # The present threshold misses one pair.
    text = article(50, 200)
    pairs.append(LabelledPair(text, changed(text, 14), True))
    found = tuned(pairs)
    assert max(result.quality.f1 for result in found.results) > found.present.quality.f1
    assert found.recommended is found.present
    assert re.search(told, found.reason)


@pytest.mark.usefixtures("without_packs")
def test_another_scheme_is_recommended_where_only_it_parts_the_pairs() -> None:
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
    assert any("another scheme" in own for own in found.warnings)


def test_every_method_and_way_to_read_a_text_is_tried(report: Report) -> None:
    names = [result.setting.name for result in report.results]
    assert names[:7] == [
        *("1 word", "2 words", "3 words", "4 words", "5 words", "7 words", "10 words")
    ]
    assert {"SimHash", "5 words, and SimHash", "5 words, megashingles"} <= set(names)
    assert {"5 words, unordered", "9 characters"} <= set(names)
    by_name = {result.setting.name: result for result in report.results}
    assert 0 <= (by_name["SimHash"].distance or 0) <= 7
    simhash = by_name["SimHash"].curve
    assert simhash is not None
    assert simhash.by == "distance"
    assert simhash.at == list(range(65))
    assert simhash.recall == sorted(simhash.recall)
    assert by_name["5 words, megashingles"].curve is None
    assert by_name["5 words, and SimHash"].threshold is not None


def test_what_needs_a_pack_that_is_not_installed_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def require(self: Canonicaliser) -> None:
        if self.stop_words:
            raise SchemeError("stopwordsiso is not installed")

    monkeypatch.setattr(Canonicaliser, "require_packs", require)
    found = tuned(made_pairs(6))
    assert found.left_out == ["without stop words: stopwordsiso is not installed"]
    assert not any("stop words" in result.setting.name for result in found.results)


@pytest.mark.usefixtures("without_packs")
def test_few_wrong_and_guessed_pairs_are_warned_of() -> None:
    found = tune_on(LabelledPairs(made_pairs(6), "titles"), DEFAULT, Rules())
    assert any("few pairs (12, and 6 of the rarer label)" in own for own in found.warnings)
    assert any("proxy" in own for own in found.warnings)
    texts = [article(seed, 200) for seed in range(40)]
    pairs = [LabelledPair(text, changed(text, 4), seed % 2 == 0) for seed, text in enumerate(texts)]
    found = tuned(pairs)
    assert any("are labelled different" in own for own in found.warnings)


def test_the_same_pairs_give_the_same_report_in_any_order(report: Report) -> None:
    again = tuned(made_pairs(same=12)[::-1])
    assert json.dumps(again.as_dict()) == json.dumps(report.as_dict())


@pytest.mark.parametrize("folds", [1, 21, -3])
def test_a_number_of_folds_that_cannot_be_is_refused(folds: int) -> None:
    with pytest.raises(TuningError, match=f"^{folds} folds are not accepted: .* 2 to 20$"):
        tuned(made_pairs(), folds=folds)


@pytest.mark.usefixtures("without_packs")
def test_texts_without_words_are_the_same_as_nothing() -> None:
    pairs = [*made_pairs(6), LabelledPair("", "", True), LabelledPair("...", "a b", False)]
    found = tuned(pairs)
    assert all(not result.decided[12] for result in found.results)


@pytest.mark.data
@pytest.mark.usefixtures("without_packs")
def test_pairs_graded_by_a_person_give_figures_like_those_measured(data: Path) -> None:
    pairs = []
    with gzip.open(data / "copycat" / "pairs.jsonl.gz", "rt", encoding="utf-8") as rows:
        for line in rows:
            row = json.loads(line)
            same = {"3": True, "2": True, "0.5": False}.get(str(row["label"]))
            if same is not None:
                pairs.append(LabelledPair(row["a"], row["b"], same))
    found = tuned(pairs[::2])
    assert len(found.left_out) == 2
    by_name = {result.setting.name: result for result in found.results}
    five = by_name["5 words"]
    assert five.auc > 0.88
    assert 0.7 < five.quality.f1 <= max(five.curve.f1 if five.curve else []) + 0.01
    assert 0.8 < found.present.quality.precision < 0.95
    assert found.recommended.quality.f1 > found.present.quality.f1 + 0.05
    assert 0.5 < found.settings["DEDUP_THRESHOLD"] < 0.8
