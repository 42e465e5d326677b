"""Every view is data: its address with `.json`, and that of a list with `.csv`."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from benchmarks.web.stores import fill
from shingling import Page, Store
from shingling.console.output import csv_text
from shingling.store.session import Session
from tests.support.commands import dedup_command
from tests.support.pages import article
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

    jumped = data_of(news, "/groups.json?size=5&order=date&words=story&first=6")
    assert jumped["rows"] == rows[5:10]
    assert "row=10" in jumped["next"]
    assert data_of(news, jumped["next"])["rows"] == rows[10:]

    pair = data_of(news, f"/pair.json?{urlencode(PAIR)}")["pair"]
    assert pair["left"]["url"] == CITY
    assert pair["decision"]["original"] == CITY
    gone = "on Tuesday after a debate of four hours."
    assert {"same": False, "a": gone, "b": "this week."} in pair["passages"]
    group = data_of(news, f"/group.json?url={CITY}")
    assert [row["status"] for row in group["rows"]] == ["near", "near", "exact"]
    assert data_of(news, "/overview.json")["status"]["pages"] == 28
    assert data_of(news, "/reviews.json")["total"] == 0


def fill_with_many(url: str) -> None:
    """Store more rows of every list than are read at once."""
    fill(url, 3600)
    of_pages = "WHERE pages.id <= 1200"
    with Session.open(url) as session, session.database.writing() as connection:
        for statement in (
            (
                "INSERT INTO runs (spider, started, finished, outcome, counts, settings)"
                f" SELECT spider, started, finished, outcome, counts, settings FROM runs, pages"
                f" {of_pages} AND runs.id = 1"
            ),
            "DELETE FROM reviews",
            (
                "INSERT INTO reviews SELECT url_key, url_key, url, url, 1, NULL, id FROM pages"
                f" {of_pages}"
            ),
            f"UPDATE pages SET original_id = NULL, status = 'new' {of_pages}",
            (
                "UPDATE pages SET status = 'near', original_id ="
                " CASE WHEN id <= 2400 THEN id - 1200 ELSE 1 END WHERE id > 1200"
            ),
        ):
            connection.exec_driver_sql(statement)


LISTS = {
    "/pages": "pages",
    "/pages?status=original&words=harbour": (
        "pages WHERE original_id IS NULL AND lower(title) LIKE '%harbour%'"
    ),
    "/groups": "(SELECT DISTINCT original_id FROM pages WHERE original_id > 0)",
    "/group?url={first}": "pages WHERE original_id = 1",
    "/pairs?status=near&low=0.9": (
        "pages WHERE status = 'near' AND (resemblance >= 0.9 OR resemblance IS NULL)"
    ),
    "/copies": (
        "(SELECT DISTINCT a.site, b.site AS of FROM pages a JOIN pages b ON a.original_id = b.id"
        " LIMIT 1000)"
    ),
    "/runs": "runs",
    "/reviews": "reviews",
}
"""Lists, and the SQL of their rows."""


def test_the_csv_of_a_list_has_all_rows(tmp_path: Path) -> None:
    with serving(tmp_path, fill_with_many) as served:
        with Session.open(served.store, create=False) as session, session.reading() as connection:
            count = connection.exec_driver_sql
            first = count("SELECT url FROM pages WHERE id = 1").scalar()
            numbers = [
                count(f"SELECT count(*) FROM {rows}").scalar_one() for rows in LISTS.values()
            ]
        assert sum(number > 1000 for number in numbers) == 6
        for address, number in zip(LISTS, numbers, strict=True):
            path, mark, query = address.format(first=first).partition("?")
            _, headers, body = ask(served, f"{path}.csv{mark}{query}")
            assert "link" not in headers
            rows = [*csv.reader(io.StringIO(body))]
            assert len({*map(tuple, rows)}) == len(rows) == number + 1, address

            _, headers, some = ask(served, f"{path}.csv?size=7&{query}")
            assert [*csv.reader(io.StringIO(some))] == rows[:8]
            behind = headers["link"].partition("<")[2].partition(">")[0]
            assert behind.startswith(f"{path}.csv?")
            following = data_of(served, behind.replace(".csv", ".json"))
            assert len(following["rows"]) == 7
            assert following["next"].startswith(f"{path}.json?")
            _, headers, jumped = ask(served, f"{path}.csv?size=7&first=8&{query}")
            assert path == "/runs" or [*csv.reader(io.StringIO(jumped))][1:] == rows[8:15]
            _, _, rest = ask(served, behind.replace("size=7", ""))
            assert [*csv.reader(io.StringIO(rest))][1:] == rows[8:], "from there on"


def fill_with_changes(url: str) -> None:
    """Store what two crawls have met, of which the second one finds other texts and one price."""
    first = {number: (article(number, 150), f"Story {number}") for number in range(12)}
    second = {
        **first,
        **{number: (article(50 + number, 150), f"Story {number}") for number in range(3)},
        **{number: (f"{first[11][0]} edition {number}", "Story 11") for number in range(3, 7)},
        7: first[11],
        8: ("three short words", "Story 8"),
    }
    with Store.open(url) as store:
        for crawl in (first, second):
            run = store.start_run("news", is_crawl=True)
            for number, (text, title) in crawl.items():
                fields = {"price": f"{run.id if number == 9 else 5} dollars"}
                page = Page(f"https://{number}.example/", text=text, title=title, fields=fields)
                store.check([page], run=run)
            store.finish_run(run, "finished")
            with Session.open(url) as session, session.database.writing() as connection:
                table = f"texts_of_{run.id}"
                connection.exec_driver_sql(
                    f"CREATE TABLE {table} AS SELECT id, text_hash, fields FROM pages"
                )


def test_a_run_says_how_many_pages_have_changed_whatever_became_of_them(tmp_path: Path) -> None:
    with serving(tmp_path, fill_with_changes) as served:
        with Session.open(served.store, create=False) as session, session.reading() as connection:
            count = connection.exec_driver_sql(
                "SELECT count(*) FROM texts_of_1 AS a JOIN texts_of_2 AS b ON a.id = b.id"
                " WHERE a.text_hash <> b.text_hash OR a.fields <> b.fields"
            ).scalar()
        run = data_of(served, "/run.json?id=2")
        page = " ".join(re.sub(r"<[^>]+>", " ", ask(served, "/run?id=2")[2]).split())
        assert "changed_pages" not in data_of(served, "/run.json?id=1")["run"]["counts"]
    assert run["run"]["counts"]["changed_pages"] == count == 10
    assert run["pages"]["changed"] < count
    assert f"text, title or own data has changed, whatever the verdict {count} of these" in page
    assert f"verdict changed {run['pages']['changed']} " in page


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
