"""Settings from labelled pairs, and `scrapy dedup tune`."""

from __future__ import annotations

import argparse
import gzip
import io
import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from shingling.cli.commands.tune import tune
from shingling.errors import SchemeError, ShinglingError, TuningError
from shingling.sketch import Idf, Scheme, SimhashFeatures, sign
from shingling.store import Page, Rules, Store
from shingling.text import Canonicaliser
from shingling.tuning import (
    LabelledPair,
    Report,
    SampledPage,
    as_python,
    changed_scheme,
    pairs_from,
    plot,
    read_pairs,
    tune_on,
)
from shingling.tuning.evaluation import (
    Scoring,
    area_under_curve,
    choose,
    cross_validated,
    f1_error,
    folds_of,
    gap_error,
    quality,
)
from shingling.tuning.settings import IDF_FILE
from tests.support.pages import article, html

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

THRESHOLDS = np.arange(1, 101) / 100
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


@pytest.fixture(scope="module")
def report() -> Report:
    return tune_on(made_pairs(same=12), DEFAULT, 0.8, unlabelled=3)


@pytest.fixture
def without_packs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the settings that need language packs: dictionaries take seconds to load."""

    def require(_: Canonicaliser) -> None:
        raise SchemeError("left out")

    monkeypatch.setattr(Canonicaliser, "require_packs", require)


def lines(*changes: dict[str, Any] | str) -> list[str]:
    """Make twelve good lines of a file, and put others after them."""
    good = [{"a": f"text {i}", "b": f"text {i} b", "same": i % 2 == 0} for i in range(12)]
    return [line if isinstance(line, str) else json.dumps(line) for line in (*good, *changes)]


# Pairs of a file


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
        ("{", "line 13: not JSON (Expecting"),
        ("[" * 100_000, "line 13: not JSON"),
        ("[]", 'line 13: not a JSON object with the fields "a", "b" and "same"'),
        ({"a": "x", "same": True}, 'line 13: the field "b" is missing'),
        ({"a": "x", "b": "y"}, 'line 13: the field "same" is missing'),
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
    assert isinstance(error.value, ShinglingError)


@pytest.mark.parametrize(
    ("labels", "counts"),
    [
        ([True] * 5 + [False] * 4, "9 labelled pairs, 5 the same and 4 different,"),
        ([True] * 12, "12 labelled pairs, 12 the same and 0 different,"),
        ([False] * 11 + [True], "12 labelled pairs, 1 the same and 11 different,"),
    ],
)
def test_too_few_pairs_of_either_label_are_refused(labels: list[bool], counts: str) -> None:
    rows = [json.dumps({"a": f"a{i}", "b": f"b{i}", "same": own}) for i, own in enumerate(labels)]
    message = f"{counts} are too few: at least 10, and 2 of either label"
    with pytest.raises(TuningError) as error:
        read_pairs(rows, lambda _: None)
    assert str(error.value) == message
    with pytest.raises(TuningError, match=counts):
        tune_on([LabelledPair(f"a{i}", "b", own) for i, own in enumerate(labels)], DEFAULT, 0.8)


# Precision, recall, F1


@settings(max_examples=50)
@given(
    st.lists(
        st.tuples(st.integers(0, 20).map(lambda n: n / 20), st.booleans()), min_size=1, max_size=60
    )
)
def test_the_area_is_the_share_of_pairs_in_the_right_order(rows: list[tuple[float, bool]]) -> None:
    scores = np.array([score for score, _ in rows])
    same = np.array([label for _, label in rows])
    orders = [1.0 if a > b else 0.5 if a == b else 0.0 for a in scores[same] for b in scores[~same]]
    wanted = sum(orders) / len(orders) if orders else 0.5
    assert area_under_curve(scores, same) == pytest.approx(wanted)


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.integers(0, 100).map(lambda n: n / 100), st.booleans()), min_size=1),
)
def test_the_curve_is_what_counting_at_every_threshold_gives(
    rows: list[tuple[float, bool]],
) -> None:
    scores = np.array([score for score, _ in rows])
    same = np.array([label for _, label in rows])
    curve = Scoring(scores, THRESHOLDS).curve(same)
    for place, threshold in list(enumerate(THRESHOLDS.tolist()))[::7]:
        assert curve[:, place].tolist() == pytest.approx(quality(scores >= threshold, same))


def test_precision_recall_and_f1_are_those_of_the_textbook() -> None:
    same = np.array([True] * 8 + [False] * 12)
    decided = np.array([True] * 6 + [False] * 2 + [True] * 3 + [False] * 9)
    assert quality(decided, same) == pytest.approx((6 / 9, 6 / 8, 12 / 17))
    assert quality(np.zeros(20, dtype=bool), same) == (0, 0, 0)


def test_the_threshold_lies_in_the_middle_of_the_gap() -> None:
    scores, same = np.array([0.2, 0.3, 0.7, 0.9]), np.array([False, False, True, True])
    assert choose([Scoring(scores, THRESHOLDS)], same).cutoff == 0.5


def test_among_scorings_the_best_is_chosen_and_only_what_can_be_set() -> None:
    same = np.array([False, False, True, True])
    blind = Scoring(np.array([0.5, 0.5, 0.5, 0.5]), THRESHOLDS)
    seeing = Scoring(np.array([0.2, 0.3, 0.7, 0.9]), THRESHOLDS)
    assert choose([seeing, blind], same).scoring == 0
    assert choose([blind, seeing], same).scoring == 1
    distances = -np.array([60.0, 50.0, 20.0, 20.0])
    scoring = Scoring(distances, -np.arange(64.0, -1, -1), 8)
    assert choose([scoring], same).cutoff >= -7
    assert choose([replace(scoring, choosable=None)], same).cutoff == -35


def test_what_a_fold_is_labelled_does_not_change_how_its_pairs_are_taken() -> None:
    folds = np.arange(40) % 5
    same = np.arange(40) < 20
    scores = np.random.default_rng(1).random(40).round(2)
    before = cross_validated([Scoring(scores, THRESHOLDS)], same, folds)
    for fold in range(5):
        other = np.where(folds == fold, ~same, same)
        after = cross_validated([Scoring(scores, THRESHOLDS)], other, folds)
        assert (after[folds == fold] == before[folds == fold]).all()
    # Were the threshold chosen on all pairs, that would not hold.
    everything = [
        choose([Scoring(scores, THRESHOLDS)], np.where(folds == fold, ~same, same)).cutoff
        for fold in range(5)
    ]
    assert len(set(everything)) > 1


def test_a_fold_unlike_the_others_is_judged_by_the_others() -> None:
    folds = np.array([0, 0, 0, 0] + [1] * 8 + [2] * 8)
    same = np.array([True, True, False, False] + [True, False] * 8)
    scores = np.array([0.3, 0.3, 0.2, 0.2] + [0.9, 0.6] * 8)
    decided = cross_validated([Scoring(scores, THRESHOLDS)], same, folds)
    assert not decided[folds == 0].any()
    assert quality(decided[folds > 0], same[folds > 0]).f1 == 1


def test_scores_that_tell_nothing_do_not_look_good_when_cross_validated() -> None:
    generator = np.random.default_rng(5)
    same = np.arange(60) < 30
    scorings = [Scoring(generator.random(60), THRESHOLDS) for _ in range(200)]
    folds = np.arange(60) % 5
    chosen = [
        quality(scoring.scores >= choose([scoring], same).cutoff, same).f1 for scoring in scorings
    ]
    honest = [quality(cross_validated([scoring], same, folds), same).f1 for scoring in scorings]
    # To take every pair for the same has F1 2/3.
    assert np.mean(chosen) > 2 / 3 > np.mean(honest) + 0.01


def test_folds_have_their_share_of_either_label_whatever_the_order_of_the_pairs() -> None:
    pairs = [LabelledPair(f"a{i}", f"b{i}", i % 3 == 0) for i in range(60)]
    folds = folds_of(pairs, 5)
    for fold in range(5):
        own = [pair.same for pair, number in zip(pairs, folds, strict=True) if number == fold]
        assert (own.count(True), own.count(False)) == (4, 8)
    assert folds_of(pairs[::-1], 5).tolist() == folds.tolist()[::-1]


def test_the_noise_is_that_of_resampled_pairs() -> None:
    generator = np.random.default_rng(3)
    same = np.arange(200) < 80
    a, b = (same ^ (generator.random(200) < share) for share in (0.1, 0.2))
    draws = generator.integers(200, size=(2000, 200))
    f1 = [[quality(own[draw], same[draw]).f1 for own in (a, b)] for draw in draws]
    assert f1_error(a, same) == pytest.approx(np.std([own[0] for own in f1]), rel=0.1)
    gaps = [own[0] - own[1] for own in f1]
    assert gap_error(a, b, same) == pytest.approx(np.std(gaps), rel=0.1)
    assert gap_error(a, a, same) == 0


# What is recommended


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
    assert any(own.startswith("SimHash would do best at ") for own in report.warnings)
    assert (report.pairs, report.same, report.unlabelled, report.folds) == (48, 24, 3, 5)


@pytest.mark.usefixtures("without_packs")
def test_the_present_settings_stay_where_nothing_is_better() -> None:
    found = tune_on(made_pairs(same=1), DEFAULT, 0.6)
    assert found.recommended is found.present
    assert found.settings["DEDUP_THRESHOLD"] == 0.6
    assert "none of the" in found.reason


@pytest.mark.usefixtures("without_packs")
def test_the_present_settings_stay_where_others_are_better_by_chance_only() -> None:
    pairs = made_pairs(12, same=1)
    # One pair of 24 is one that the present threshold misses.
    text = article(50, 200)
    pairs.append(LabelledPair(text, changed(text, 14), True))
    found = tune_on(pairs, DEFAULT, 0.8)
    assert max(result.quality.f1 for result in found.results) > found.present.quality.f1
    assert found.recommended is found.present
    assert "small or chance" in found.reason


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
    found = tune_on(same + different, DEFAULT, 0.8)
    assert found.recommended.quality.f1 > 0.95
    assert found.settings["DEDUP_SHINGLE_SIZE"] <= 2
    assert any("another scheme" in own for own in found.warnings)
    assert any("keys a page" in own for own in found.warnings)


def test_every_method_and_way_to_read_a_text_is_tried(report: Report) -> None:
    names = [result.setting.name for result in report.results]
    assert names[:7] == [
        *("1 word", "2 words", "3 words", "4 words", "5 words", "7 words", "10 words"),
    ]
    assert {"SimHash", "5 words, and SimHash", "5 words, megashingles"} <= set(names)
    assert {"5 words, unordered", "9 characters"} <= set(names)
    by_name = {result.setting.name: result for result in report.results}
    assert 0 <= (by_name["SimHash"].distance or 0) <= 7
    simhash = by_name["SimHash"].curve
    assert simhash is not None
    assert simhash.by == "distance"
    assert simhash.at == tuple(range(65))
    assert simhash.recall == tuple(sorted(simhash.recall))
    assert by_name["5 words, megashingles"].curve is None
    assert by_name["5 words, and SimHash"].threshold is not None


def test_what_needs_a_pack_that_is_not_installed_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def require(self: Canonicaliser) -> None:
        if self.stop_words:
            raise SchemeError("stopwordsiso is not installed")

    monkeypatch.setattr(Canonicaliser, "require_packs", require)
    found = tune_on(made_pairs(6), DEFAULT, 0.8)
    assert found.left_out == ("without stop words: stopwordsiso is not installed",)
    assert not any("stop words" in result.setting.name for result in found.results)


@pytest.mark.usefixtures("without_packs")
def test_few_pairs_and_labels_by_title_are_warned_of() -> None:
    found = tune_on(made_pairs(6), DEFAULT, 0.8, by_title=True)
    assert any("few pairs (12, and 6 of the rarer label)" in own for own in found.warnings)
    assert any("proxy" in own for own in found.warnings)


@pytest.mark.usefixtures("without_packs")
def test_wrong_pairs_among_those_taken_are_warned_of() -> None:
    texts = [article(seed, 200) for seed in range(40)]
    pairs = [LabelledPair(text, changed(text, 4), seed % 2 == 0) for seed, text in enumerate(texts)]
    found = tune_on(pairs, DEFAULT, 0.8)
    assert any("are labelled different" in own for own in found.warnings)


def test_the_same_pairs_give_the_same_report_in_any_order(report: Report) -> None:
    again = tune_on(made_pairs(same=12)[::-1], DEFAULT, 0.8, unlabelled=3)
    assert json.dumps(again.as_dict()) == json.dumps(report.as_dict())


@pytest.mark.parametrize("folds", [1, 21, -3])
def test_a_number_of_folds_that_cannot_be_is_refused(folds: int) -> None:
    with pytest.raises(TuningError, match=f"^{folds} folds are not accepted: .* 2 to 20$"):
        tune_on(made_pairs(), DEFAULT, 0.8, folds=folds)


@pytest.mark.usefixtures("without_packs")
def test_texts_without_words_are_the_same_as_nothing() -> None:
    pairs = [*made_pairs(6), LabelledPair("", "", True), LabelledPair("...", "a b", False)]
    found = tune_on(pairs, DEFAULT, 0.8)
    assert all(not result.decided[12] for result in found.results)


def test_a_scheme_is_told_by_what_is_not_the_default() -> None:
    idf = Idf.learn([["a", "b"], ["a"]])
    features = SimhashFeatures(features="words", keywords=9, idf=idf)
    scheme = Scheme(shingle_size=3, ordered=False, simhash=features)
    shown = changed_scheme(scheme)
    assert shown["ordered"] is False
    assert shown["simhash"] == {"features": "words", "keywords": 9, "idf": IDF_FILE}
    assert changed_scheme(DEFAULT) == {}
    assert (
        as_python({"a": [True, None, 1.5], "b": 'q"ü'}) == '{"a": [True, None, 1.5], "b": "q\\"ü"}'
    )


# Pairs of a store


def sampled(number: int = 30) -> Iterator[SampledPage]:
    for seed in range(number):
        text = article(seed, 150)
        for copy in range(2):
            own = changed(text, copy)
            yield SampledPage(f"Title {seed}!", "en", own, sign(own).minima)


def test_pages_of_one_title_are_taken_for_the_same() -> None:
    pairs = pairs_from(sampled())
    same = {frozenset(own[:1] for own in (pair.a, pair.b)) for pair in pairs if pair.same}
    assert sum(pair.same for pair in pairs) == 30
    assert same
    assert len(pairs) > 60
    texts = {text: seed for seed in range(30) for text in (article(seed, 150),)}
    for pair in pairs:
        seeds = [texts.get(text, texts.get(text)) for text in (pair.a, pair.b)]
        if pair.same:
            assert sum(seed is not None for seed in seeds) == 1
        else:
            assert pair.a.split()[5:20] != pair.b.split()[5:20]
    assert pairs == pairs_from(sampled())
    assert len(set(pairs)) == len(pairs)


def test_pages_that_tell_nothing_are_left_out() -> None:
    pages = list(sampled(4))
    minima = pages[0].minima
    pages += [SampledPage(None, "en", article(80), minima), SampledPage("?!", "en", "x y", minima)]
    pages += [SampledPage("Not found", "en", article(90 + i), minima) for i in range(11)]
    pages += [SampledPage("Other", "en", pages[0].text.upper(), minima)]
    pages += [SampledPage("Title 0", "de", article(200), sign(article(200)).minima)]
    texts = {text for pair in pairs_from(pages) for text in (pair.a, pair.b)}
    assert article(80) not in texts
    assert article(90) not in texts
    assert pages[0].text.upper() not in texts
    assert all(not pair.same for pair in pairs_from(pages) if article(200) in (pair.a, pair.b))


def test_the_pages_most_alike_are_among_the_different_ones() -> None:
    pages = list(sampled(40))[::2]
    twins = []
    for seed in range(5):
        text = changed(article(seed, 150), 8)
        twins.append(SampledPage(f"Twin {seed}", "en", text, sign(text).minima))
    pairs = {(pair.a, pair.b) for pair in pairs_from([*pages, *twins], 40) if not pair.same}
    for seed, twin in enumerate(twins):
        assert (article(seed, 150), twin.text) in pairs
    assert len(pairs) <= 20


def test_a_sample_has_no_more_pairs_than_asked_for() -> None:
    assert len(pairs_from(sampled(100), 60)) == 60
    assert pairs_from([]) == []
    assert pairs_from(list(sampled(1))[:1]) == []


# The command


def options(**given: Any) -> argparse.Namespace:
    return argparse.Namespace(
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
        opened.check(pages)
        yield opened


def write_pairs(path: Path, pairs: list[LabelledPair]) -> str:
    rows = [json.dumps({"a": own.a, "b": own.b, "same": own.same}) for own in pairs]
    path.write_text("\n".join(rows), "utf-8-sig")
    return str(path)


@pytest.mark.usefixtures("without_packs")
def test_the_table_shows_every_setting_and_the_lines_for_settings_py(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_pairs(tmp_path / "pairs.jsonl", made_pairs(same=12))
    assert tune(options(pairs=path), None, DEFAULT, Rules()) == 0
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
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
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
    Scheme.from_dict({"simhash": {**written["DEDUP_SCHEME"]["simhash"], "idf": vars_of(idf)}})
    with pytest.raises(TuningError, match="there already"):
        tune(options(idf=str(path)), store, store.scheme, Rules())
    other = tmp_path / "other.json"
    tune(options(idf=str(other), json=True), store, store.scheme, Rules())
    assert json.loads(capsys.readouterr().out)["idf"]["words"] == len(idf)


@pytest.mark.parametrize("method", ["simhash", "megashingle", "minhash+simhash"])
@pytest.mark.usefixtures("without_packs")
def test_the_present_settings_are_those_of_the_method_in_use(method: str) -> None:
    found = tune_on(made_pairs(same=1), DEFAULT, 0.6, method=method, distance=5)
    assert found.present.setting.method == method
    assert found.present.distance == (5 if "simhash" in method else None)
    assert found.present.threshold == (0.6 if "minhash" in method else None)


def vars_of(idf: Idf) -> dict[str, Any]:
    return {"documents": idf.documents, "table": idf.table}


# The picture


def test_the_picture_has_the_curves_with_their_names(report: Report, tmp_path: Path) -> None:
    path = tmp_path / "out.svg"
    plot(report, path)
    root = ElementTree.parse(path).getroot()  # noqa: S314
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    words = " ".join(root.itertext())
    for name in ("precision", "recall", "F1: 9 characters", "resemblance at or above"):
        assert name in words
    assert f"recommended: {report.settings['DEDUP_THRESHOLD']:g}" in words
    first = path.read_bytes()
    plot(report, path)
    assert path.read_bytes() == first


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


def test_without_matplotlib_the_message_says_what_to_install(
    report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(TuningError) as error:
        plot(report, tmp_path / "out.svg")
    assert str(error.value) == (
        'the picture needs matplotlib: pip install "scrapy-shingling[plot]"'
    )


# Real pairs


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
    found = tune_on(pairs[::2], DEFAULT, 0.8)
    assert len(found.left_out) == 2
    by_name = {result.setting.name: result for result in found.results}
    five = by_name["5 words"]
    assert five.auc > 0.88
    assert 0.7 < five.quality.f1 <= max(five.curve.f1 if five.curve else ()) + 0.01
    assert 0.8 < found.present.quality.precision < 0.95
    assert found.recommended.quality.f1 > found.present.quality.f1 + 0.05
    assert 0.5 < found.settings["DEDUP_THRESHOLD"] < 0.8
