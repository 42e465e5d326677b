"""What is recommended, and what is warned of."""

from __future__ import annotations

import gzip
import json
import re
from typing import TYPE_CHECKING

import pytest

from shingling.errors import SchemeError, TuningError
from shingling.rules.rules import Rules
from shingling.text import Canonicaliser
from shingling.tuning.pairs import LabelledPair, LabelledPairs
from shingling.tuning.report import Report, tune_on
from tests.support.pages import article
from tests.tuning.settings.pairs import DEFAULT, changed, made_pairs, tuned

if TYPE_CHECKING:
    from pathlib import Path


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
    assert any("keys a page" in own for own in found.warnings)


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
