"""Every view is data: its address with `.json`, and that of a list with `.csv`."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from shingling.console.output import csv_text
from tests.support.commands import dedup_command
from tests.web.conftest import serving
from tests.web.stores import fill_with_own_text
from tests.web.test_requests import CITY, PAIR, ask

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    import pytest

    from tests.web.conftest import Served


def data_of(served: Served, path: str) -> Any:
    status, headers, body = ask(served, path)
    assert (status, headers["content-type"]) == (200, "application/json"), path
    return json.loads(body)


def test_views_are_data_with_their_filter_and_go_on_by_a_link(news: Served) -> None:
    rows, path = [], "/groups.json?size=5&order=date&words=story"
    while path:
        found = data_of(news, path)
        assert len(found["rows"]) <= 5
        assert found["groups"] == 12
        rows += found["rows"]
        path = found["next"]
    assert len({row["original"]["url"] for row in rows}) == 12
    assert all("Story" in row["original"]["title"] for row in rows)

    _, headers, body = ask(news, "/groups.csv?size=5&order=date&words=story")
    assert headers["content-type"] == "text/csv; charset=utf-8"
    assert headers["link"].startswith("</groups.csv?")
    lines = [*csv.DictReader(io.StringIO(body))]
    assert [line["original"] for line in lines] == [row["original"]["url"] for row in rows[:5]]

    pair = data_of(news, f"/pair.json?{urlencode(PAIR)}")["pair"]
    assert pair["left"]["url"] == CITY
    assert pair["decision"]["original"] == CITY
    gone = "on Tuesday after a debate of four hours."
    assert {"same": False, "a": gone, "b": "this week."} in pair["passages"]
    group = data_of(news, f"/group.json?url={CITY}")
    assert [row["status"] for row in group["rows"]] == ["near", "near", "exact"]
    assert data_of(news, "/overview.json")["status"]["pages"] == 28
    assert data_of(news, "/reviews.json")["total"] == 0


def test_the_line_that_kept_a_page_is_shown_as_text_in_pages_pairs_overview_and_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (f"https://city.example/{size}" for size in (485, 780))
    with serving(tmp_path, fill_with_own_text) as served:
        pair = f"?{urlencode({'a': first, 'b': second})}"
        shown = {
            path: ask(served, path)[2]
            for path in (f"/page?url={second}", f"/pair{pair}", "/overview")
        }
        page = data_of(served, f"/page.json?url={second}")["page"]
        assert data_of(served, f"/pair.json{pair}")["pair"]["right"]["own_text"] == page["own_text"]
        assert data_of(served, "/overview.json")["kept"] == [page]
        [listed] = data_of(served, "/pages.json?reason=own_text")["rows"]
        assert (listed["url"], listed["own_text"]) == (second, None)
    assert ["780MB" in page["own_text"][0], "485MB" in page["own_text"][1]] == [True, True]
    dedup_command(monkeypatch, "report", "--store", served.store, str(tmp_path / "out.html"))
    shown["report"] = (tmp_path / "out.html").read_text("utf-8")
    for path, body in shown.items():
        said = body.partition("kept because its text says ")[2].partition(first)[0]
        assert "780MB" in said, path
        assert "485MB" in said, path
        assert "<script>" not in body, path
        assert "&lt;script" in said, path
        assert "\u202e" not in said, path
        assert "\\u202e" in said, path


def test_what_is_no_list_or_wrong_is_said_as_data(news: Served) -> None:
    for path, status in (("/overview.csv", 404), ("/groups.json?low=2", 400), ("/no.json", 404)):
        answer = ask(news, path)
        assert (answer[0], answer[1]["content-type"]) == (status, "application/json")
        assert json.loads(answer[2])["error"]


def test_no_cell_is_a_formula() -> None:
    cells = ["=1+1", "+1", "-1", "@x", "\tx", "\rx", "plain"]
    rows = [{"title": cell, "words": -1, "of": {"url": cell}, "list": ["=1"]} for cell in cells]
    read = [*csv.reader(io.StringIO(csv_text(rows), newline=""))]
    assert read[0] == ["title", "words", "of", "list"]
    assert [row[0] for row in read[1:]] == [*(f"'{cell}" for cell in cells[:-1]), "plain"]
    assert all(row[1:] == ["-1", row[0], '["=1"]'] for row in read[1:])
