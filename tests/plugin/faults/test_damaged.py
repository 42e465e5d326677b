"""Crawls over stores with damaged rows: it is counted and said once, and no item is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shingling import Store
from tests.plugin.faults.test_database import crawl, make_pages, results, said, verdicts
from tests.support.crawls import stats
from tests.support.invariants import verify
from tests.support.serving import Answer, serving
from tests.support.stores import execute, rows_of

if TYPE_CHECKING:
    from pathlib import Path

NUMBER = 15  # pages: five times a page, its copy, and one that is nearly the same


def titled_pages() -> dict[str, Answer]:
    """Pages of groups, each of which has a title of its own."""
    return {
        path: Answer(one.body.replace(b"A page", b"Page %d" % (number // 3)))
        for number, (path, one) in enumerate(make_pages(NUMBER).items())
    }


def damage(file: Path) -> None:
    """Damage two signatures, a text and a whole group."""
    execute(
        file,
        "UPDATE pages SET minima = substr(minima, 1, 300) WHERE id IN (1, 8)",
        "UPDATE texts SET zlib = substr(zlib, 1, 60) WHERE page_id = 4",
        "UPDATE pages SET text_hash = substr(text_hash, 1, 5) WHERE id IN (13, 14, 15)",
    )


def test_a_crawl_over_damaged_rows_is_right_about_the_others_and_stores_them_anew(
    tmp_path: Path,
) -> None:
    file = tmp_path / "dedup.db"
    url = f"sqlite:///{file}"
    answers = titled_pages()
    folders = [file.with_name(name) for name in ("first", "second", "third")]
    with serving(answers) as former, serving(answers) as server:
        for folder in folders:
            folder.mkdir()
        first = crawl(folders[0], former, url, delay=0)
        assert first.wait() == 0, first.log
        assert "dedup/damaged" not in stats(first.log)
        ids = {url: page_id for page_id, url in rows_of(file, "SELECT id, url FROM pages")}
        paths = [former.url + path for path in answers]
        assert [ids[url] for url in paths] == [*range(1, NUMBER + 1)]
        damage(file)

        second = crawl(folders[1], server, url, delay=0)
        assert second.wait() == 0, second.log
        third = crawl(folders[2], former, url, delay=0)
        assert third.wait() == 0, third.log

        found = [verdicts(folders[1])[server.url + path] for path in answers]
    here = [server.url + path for path in answers]
    # A page whose signature is damaged is not compared: its copy is new, and leads the next one.
    assert found[:3] == [("new", None), ("exact", here[0]), ("exact", paths[0])]
    for group in range(1, NUMBER // 3 - 1):
        assert found[3 * group : 3 * group + 3] == [("exact", paths[3 * group])] * 3
    assert found[-3:] == [("new", None), ("exact", here[-3]), ("near", here[-3])]
    assert all(result.get("error") is None for result in results(folders[1]).values())

    (warning,) = said(second.log)
    assert " WARNING: " in warning
    assert "`scrapy dedup check`" in warning
    assert int(stats(second.log)["dedup/damaged"]) >= 2
    assert "Traceback" not in second.log + third.log

    again = results(folders[2])
    assert len(again) == NUMBER
    undamaged = [again[paths[number]]["status"] for number in range(3, 12) if number != 7]
    assert {*undamaged} == {"unchanged"}
    # Without its signature, an original has changed; it stays the original of its copies.
    assert again.pop(paths[0])["status"] == "changed"
    assert {result["status"] for result in again.values()} <= {"unchanged", "exact", "near"}
    with Store.open(url) as store:
        found_by_check = store.admin.check()
        assert (found_by_check.found["page"], found_by_check.found["text"]) == (0, 0)
        assert store.admin.check(repair=True).is_mended
        store.admin.rebuild()  # an index may hold keys that a page had before
    verify(file)
