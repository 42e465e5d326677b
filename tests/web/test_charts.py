"""Bar charts: where the bars are."""

from __future__ import annotations

import pytest

from shingling.web.charts import HEIGHT, WIDTH, bar_chart


def test_bars_are_as_high_as_their_values_and_stand_upon_each_other() -> None:
    chart = bar_chart(
        "Pages", "Day", ("new", "old"), [("a", (30, 10)), ("b", (0, 20)), ("c", (0, 0))]
    )
    assert chart.top == 40
    (bottom, _), (_, middle), (top, _) = chart.lines
    assert middle == 20
    first, second, third = (bar.parts for bar in chart.bars)
    assert [part.series for part in first] == [0, 1]
    assert first[0].y + first[0].height == pytest.approx(bottom)
    assert first[1].y + first[1].height == pytest.approx(first[0].y)
    assert first[1].y == top
    assert second[0].height == pytest.approx(2 * first[1].height)
    assert third == ()
    assert 0 < first[0].x < second[0].x < WIDTH - second[0].width
    assert bottom < HEIGHT


def test_a_single_page_among_thousands_is_seen_and_nothing_divides_by_zero() -> None:
    chart = bar_chart("Pages", "Day", ("new",), [("a", (99_999,)), ("b", (1,))])
    assert chart.top == 100_000
    assert chart.bars[1].parts[0].height >= 1
    assert bar_chart("Pages", "Day", ("new",), []).top == 2


def test_of_many_bars_six_have_a_label() -> None:
    chart = bar_chart("Pages", "Day", ("new",), [(str(number), (1,)) for number in range(60)])
    assert sum(bar.is_labelled for bar in chart.bars) == 6
