"""`scrapy dedup import` of what an old crawl wrote."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from shingling import Page, Scheme, Store
from tests.support.pages import article, html
from tests.support.stores import originals

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TEXT = article(1)
EDITED = TEXT.replace(TEXT.split()[150], "edited", 1)


ITEMS = [
    {"url": "https://a.example/1", "text": TEXT, "title": "One", "when": "2020-02-03T04:05:06"},
    {"url": "https://a.example/2", "text": EDITED, "title": None, "when": 1580702706.5},
    {"url": "https://b.example/3", "text": TEXT, "language": "en", "when": ""},
    {"url": "https://b.example/4", "text": "", "html": html(article(2), "In the page")},
    {"url": "https://b.example/5", "html": "<html><body></body></html>"},
    {"url": "https://a.example/1", "text": TEXT, "when": "1580702706"},
]


def jsonl(items: Sequence[Any]) -> bytes:
    return b"".join(json.dumps(item).encode() + b"\n" for item in items)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_feed_is_decided_as_a_crawl_would(dedup: Any, target: str, workers: int) -> None:
    given = ("--store", target, "--time-field", "when", "--every", "3600")
    done = dedup("import", *given, stdin=jsonl(ITEMS), DEDUP_WORKERS=workers)
    assert (done.code, done.err) == (0, "")
    assert (
        done.out == "6 pages: 2 new (33.3%), 1 exact (16.7%), 1 near (16.7%), 1 unchanged (16.7%),"
        " 1 skipped (16.7%)\n6 rows read: 0 bad, 4 kept, 2 removed\n"
    )
    with Store.open(target) as store:
        one, two, three, four = store.pages()
        assert one.first_seen.isoformat() == "2020-02-03T04:05:06+00:00"
        assert two.first_seen.isoformat() == "2020-02-03T04:05:06+00:00"
        assert three.first_seen.year > 2020
        assert (one.title, two.title, three.language) == ("One", None, "en")
        assert (four.title, four.language, four.status) == ("In the page", "en", "new")
        assert article(2)[:50] in (store.text(four) or "")
        assert (two.status, two.original) == ("near", "https://a.example/1")
        (run,) = store.runs()
        assert (run.spider, run.outcome) == ("import", "finished")
        assert run.counts["new"] == 2


def test_wrong_lines_are_named_and_stop_nothing(dedup: Any, target: str) -> None:
    lines = [
        b"not JSON\n",
        b'"a string"\n',
        jsonl([{"text": TEXT}]),
        jsonl([{"url": "https://a.example/1"}]),
        jsonl([{"url": "https://a.example/1", "text": TEXT, "when": "yesterday"}]),
        b'{"url": "https://a.example/\xff", "text": "x"}\n',
        b"\n",
        jsonl([{"url": [], "text": TEXT}]),
        jsonl(ITEMS[:2]),
    ]
    given = ("--store", target, "--time-field", "when", "--every", "3600")
    done = dedup("import", *given, stdin=b"".join(lines))
    assert done.code == 0
    assert done.out == (
        "2 pages: 1 new (50.0%), 1 near (50.0%)\n9 rows read: 7 bad, 1 kept, 1 removed\n"
    )
    assert done.err == (
        "line 1: not JSON\n"
        "line 2: not a JSON object\n"
        "line 3: no url or id or _id\n"
        "line 4: neither text nor html; the fields are: url\n"
        "line 5: when is no time in ISO 8601 or seconds since 1970\n"
        "… and 2 more\n"
    )


def test_a_feed_that_breaks_off_is_told_as_an_input_of_bulk_is(dedup: Any, target: str) -> None:
    packed = gzip.compress(jsonl(ITEMS[:2]))[:-4]
    done = dedup("import", "--store", target, stdin=packed)
    assert done.out.endswith("3 rows read: 1 bad, 1 kept, 1 removed\n")
    assert done.err.startswith("line 3: cannot be read any further: ")


def test_an_item_that_ends_its_worker_is_left_out(dedup: Any, target: str) -> None:
    rows = [*ITEMS[:2], {"url": "https://a.example/9", "html": "<p>hang"}]
    awkward = {"DEDUP_EXTRACTOR": "tests.extraction.extractors.awkward", "DEDUP_TIMEOUT": 2}
    done = dedup("import", "--store", target, stdin=jsonl(rows), DEDUP_WORKERS=1, **awkward)
    assert done.code == 0
    assert done.err.endswith("line 3: timeout\n")


def test_items_without_a_url_are_known_by_their_ids(dedup: Any, target: str) -> None:
    rows = [
        {"_id": {"$oid": "65f0c0ffee65f0c0ffee65f0"}, "text": TEXT},
        {"_id": {"$numberLong": "7"}, "text": EDITED},
        {"id": 9, "_id": "not used", "text": article(5)},
        {"url": "https://a.example/1", "_id": 3, "text": article(6)},
        {"key": [1], "text": article(7)},
    ]
    done = dedup("import", "--store", target, "--every", "3600", stdin=jsonl(rows))
    assert done.err == "line 5: no url or id or _id\n"
    again = dedup("import", "--store", target, "--json", stdin=jsonl(rows[:4]))
    shown = json.loads(again.out)
    assert (shown["pages"], shown["unchanged"], shown["shares"]["unchanged"]) == (4, 4, 1.0)
    done = dedup("import", "--store", target, "--id-field", "key", stdin=jsonl(rows))
    assert "line 1: no url or key\n" in done.err
    done = dedup("import", "--store", target, "--url-field", "link", stdin=jsonl(rows[:1]))
    assert (done.code, done.err) == (2, "line 1: no link\n")
    assert originals(target) == {
        '{"$oid":"65f0c0ffee65f0c0ffee65f0"}': None,
        '{"$numberLong":"7"}': '{"$oid":"65f0c0ffee65f0c0ffee65f0"}',
        "9": None,
        "https://a.example/1": None,
        "[1]": None,
    }


def test_other_encodings_are_not_guessed_at_and_progress_is_told(dedup: Any, target: str) -> None:
    rows = (
        f'{{"url": "https://a.example/1", "text": "{TEXT}"}}\n'
        f'{{"url": "https://a.example/2", "text": "{EDITED} na\xefve"}}\n'
    )
    done = dedup("import", "--store", target, "--every", "1e-9", stdin=rows.encode("latin-1"))
    assert done.out == "1 page: 1 new (100.0%)\n2 rows read: 1 bad, 1 kept, 0 removed\n"
    assert done.err.startswith("import: 1 page")
    assert done.err.endswith("line 2: not UTF-8\n")


def test_where_nothing_can_be_read_no_store_is_made(dedup: Any, target: str) -> None:
    done = dedup("import", "--store", target, stdin=b"a\nb\n")
    assert (done.code, done.out) == (2, "0 pages\n2 rows read: 2 bad, 0 kept, 0 removed\n")
    empty = dedup("import", "--store", target).refusal()
    assert empty == "scrapy dedup import: standard input: there is nothing in it\n"
    done = dedup("import", "--store", target, stdin=None)
    assert (done.code, "name a file, or send one to standard input" in done.err) == (2, True)
    assert not Path(target.removeprefix("sqlite:///")).exists()


def test_a_feed_follows_the_settings(dedup: Any, target: str) -> None:
    feed = jsonl([{"link": "https://www.a.example/1", "body": TEXT, "url": 1, "text": 2}])
    fields = {"DEDUP_URL_FIELD": "link", "DEDUP_TEXT_FIELD": "body", "DEDUP_SHINGLE_SIZE": 3}
    done = dedup("import", "--store", target, stdin=feed, DEDUP_SCOPE="site", **fields)
    assert done.code == 0, done
    with Store.open(target) as store:
        assert next(store.pages()).scope == "a.example"
        assert store.scheme == Scheme(shingle_size=3)
    done = dedup("import", "--store", target, stdin=feed)
    assert (done.code, done.err.count("\n")) == (2, 1), "another scheme"
    done = dedup("import", "--store", target, stdin=feed, DEDUP_THRESHOLD=0.3, **fields)
    assert "scrapy dedup rebuild" in done.refusal()
    spider = ("import", "--store", target, "--spider", "news")
    for arguments, scope in ((spider, "site"), (spider[:3], "spider")):
        assert dedup(*arguments, stdin=feed, DEDUP_SCOPE=scope, **fields).code == 2
    assert dedup(*spider, stdin=feed, DEDUP_SCOPE="spider", **fields).code == 0
    with Store.open(target) as store:
        assert {page.scope for page in store.pages()} == {"a.example", "news"}


def test_the_items_of_a_feed_are_read_as_a_crawl_reads_them(dedup: Any, target: str) -> None:
    rows = [
        {"url": ["https://a.example/1"], "text": "", "story": ["First", TEXT], "headline": ["One"]},
        {"url": "https://a.example/2", "text": f"First\n{TEXT}", "headline": "Two"},
    ]
    fields = {"DEDUP_TEXT_FIELD": "text,story", "DEDUP_TITLE_FIELD": "headline"}
    done = dedup("import", "--store", target, "--json", stdin=jsonl(rows), **fields)
    assert (done.json()["new"], done.json()["bad"]) == (2, 0)
    with Store.open(target) as store:
        assert [page.title for page in store.pages()] == ["One", "Two"]
    wrong = jsonl([{"url": "https://a.example/3"}])
    done = dedup("import", "--store", target, "--every", "3600", stdin=wrong, **fields)
    assert done.err == "line 1: neither text nor story nor html; the fields are: url\n"


@pytest.mark.parametrize(("own_text", "near"), [("keep", 0), ("ignore", 1)])
def test_a_feed_is_decided_by_what_its_texts_say(
    dedup: Any, target: str, own_text: str, near: int
) -> None:
    texts = [f"{TEXT}\n\nThe ticket costs {price} EUR at the door." for price in (20, 35)]
    rows = [{"url": f"https://a.example/{n}", "text": text} for n, text in enumerate(texts)]
    given = {"DEDUP_OWN_TEXT": own_text}
    shown = dedup("import", "--store", target, "--json", stdin=jsonl(rows), **given).json()
    assert shown["removed"] == near


def test_an_import_that_fails_ends_its_run(
    dedup: Any, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shingling.bulk.feeds.PAGES_PER_TRANSACTION", 1)
    check = Store.check

    def failing(self: Store, batch: Sequence[Page], **given: Any) -> Any:
        if batch[0].url.endswith("/2"):
            raise KeyboardInterrupt
        return check(self, batch, **given)

    monkeypatch.setattr(Store, "check", failing)
    done = dedup("import", "--store", target, stdin=jsonl(ITEMS[:3]))
    assert (done.code, done.err) == (2, "scrapy dedup import: interrupted\n")
    with Store.open(target) as store:
        assert store.runs()[0].outcome == "failed"
        assert store.status().pages == 1


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("items.json", lambda rows: json.dumps(rows, indent=1)),
        ("items.jl", lambda rows: "\n".join(map(json.dumps, rows))),
        ("items.csv", lambda rows: "url;text\n" + "\n".join(";".join(r.values()) for r in rows)),
    ],
)
def test_feeds_and_compared_files_are_read_alike(
    dedup: Any, tmp_path: Path, name: str, write: Callable[[Any], str]
) -> None:
    rows = [{"url": f"https://a.example/{at}", "text": article(at % 2)} for at in range(3)]
    file = tmp_path / name
    file.write_text(write(rows), encoding="utf-8")
    done = dedup("import", str(file), "--json", "--store", f"sqlite:///{tmp_path / 'd.db'}")
    shown = done.json()
    assert [shown[one] for one in ("read", "bad", "kept", "removed")] == [3, 0, 2, 1]
    if not name.endswith(".json"):
        done = dedup("compare", "--all", str(file), "--json")
        assert done.json()["documents"] == 3
