"""`scrapy dedup export` and `import`: stores that move."""

from __future__ import annotations

import json
import os
import resource
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from shingling import Page, Rules, Scheme, Store, sign
from shingling.admin.records import NO_VALUES
from tests.support.pages import article

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXT = f"{article(1)} hyperlink https evil example"  # it has the words of the title
EDITED = TEXT.replace(TEXT.split()[150], "edited", 1)
PAGES = [
    Page("https://a.example/1", TEXT, title='=HYPERLINK("https://evil.example")', fetched=1e9),
    Page("https://a.example/2", EDITED, title="", language="", fetched=1.1e9),
    Page("https://a.example/3", TEXT, title="-1+1", language="de", fetched=1.1e9),
    Page("https://a.example/4", article(2), title="\\N", fetched=1.2e9),
    Page("https://a.example/5", "too short for all", title='"quoted"\r\n', fetched=1.2e9),
    Page("https://b.example/6", article(3) + "\0\r\r\n\ufeff\u2028", scope="b", fetched=1.2e9),
    Page("https://a.example/4", article(4), title="@SUM(1)", fetched=1.3e9),
    Page("https://a.example/1", TEXT, fetched=1.4e9),
]
SUFFIXES = ("jsonl", "jsonl.gz")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that has a bit of everything, of which each test has a copy."""
    file = tmp_path_factory.mktemp("made") / "source.db"
    with Store.open(f"sqlite:///{file}") as store:
        for number, page in enumerate(PAGES):
            run = store.start_run("news", {"threshold": 0.8, "ü": None})
            store.check([page], run=run, rules=Rules(store_text=number not in (3, 6)))
            store.finish_run(run, "finished")
        store.admin.review("https://a.example/1", "https://a.example/4", same=False, note="=1")
    return file


@pytest.fixture
def source(made: Path, tmp_path: Path) -> str:
    """The URL of a store that has a bit of everything."""
    return f"sqlite:///{shutil.copy(made, tmp_path)}"


def everything(dedup: Any, url: str) -> str:
    done = dedup("export", "--store", url)
    assert done.code == 0, done
    return str(done.out)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_store_moves_without_loss(
    dedup: Any, source: str, target: str, tmp_path: Path, suffix: str
) -> None:
    file = str(tmp_path / f"store.{suffix}")
    done = dedup("export", "--store", source, file, "--json").json()
    assert done == {"file": file, "pages": 6, "bytes": Path(file).stat().st_size}
    done = dedup("import", "--store", target, file)
    assert (done.code, done.err) == (0, "")
    assert done.out == "6 pages restored as they were, with 8 runs and 1 review\n"
    assert everything(dedup, target) == everything(dedup, source)
    one, two = (dedup("status", "--store", url, "--json").json() for url in (source, target))
    assert {name for name in one if one[name] != two[name]} <= {"url", "bytes"}


def test_pages_for_a_used_store_are_decided_again(dedup: Any, source: str, target: str) -> None:
    with Store.open(target) as store:
        store.check(
            [
                Page("https://z.example/1", EDITED, fetched=1.5e9),
                Page("https://a.example/2", EDITED, fetched=1.05e9),
                Page("https://a.example/4", article(9), fetched=1.05e9),
            ]
        )
        store.admin.review("https://a.example/1", "https://z.example/1", same=False, note="newer")
        store.admin.review("https://a.example/1", "https://a.example/4", same=False, note="newer")
    exported = everything(dedup, source).encode()
    done = dedup("import", "--store", target, stdin=exported)
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "6 pages: 2 new (33.3%), 1 exact (16.7%), 1 unchanged (16.7%), 1 changed (16.7%),"
        " 1 skipped (16.7%)\n6 rows read: 0 bad, 5 kept, 1 removed\n"
        "only pages and reviews are taken in: the store keeps its own runs, rules and templates\n"
    )
    with Store.open(target) as store:
        (run,) = store.runs()
        assert (run.spider, run.outcome) == ("import", "finished")
        assert run.counts.pop("changed_pages") == 1
        assert run.counts == {"new": 2, "exact": 1, "unchanged": 1, "changed": 1, "skipped": 1}
        [known] = store.find("https://a.example/2")
        assert (known.first_seen.timestamp(), known.last_seen.timestamp()) == (1.05e9, 1.1e9)
        [seen] = store.find("https://a.example/1")
        assert (seen.first_seen.timestamp(), seen.last_seen.timestamp()) == (1e9, 1.4e9)
        assert {one.note for one in store.admin.reviews()} == {"newer"}
    again = dedup("import", "--store", target, "--json", stdin=exported).json()
    assert (again["restored"], again["pages"], again["unchanged"]) == (False, 6, 6)


def test_reviews_of_a_file_hold_for_pages_of_a_store(dedup: Any, source: str, target: str) -> None:
    with Store.open(source) as store:
        store.admin.review("https://a.example/1", "https://a.example/3", same=False)
    with Store.open(target) as store:
        store.check([Page("https://a.example/1", TEXT), Page("https://a.example/3", TEXT)])
        assert [page.status for page in store.pages()] == ["new", "exact"]
    done = dedup("import", "--store", target, stdin=everything(dedup, source).encode())
    assert done.code == 0, done
    with Store.open(target) as store:
        assert [page.original for page in store.find("https://a.example/3")] == [None]


def test_another_scheme_needs_texts_to_sign_anew(dedup: Any, source: str, target: str) -> None:
    with Store.open(target, scheme=Scheme(shingle_size=4)) as store:
        store.check([Page("https://z.example/1", article(8))])
    before = everything(dedup, target)
    exported = dedup("export", "--store", source, "--no-text").out.encode()
    refusal = dedup("import", "--store", target, stdin=exported).refusal()
    assert "and no texts to sign anew" in refusal
    assert everything(dedup, target) == before
    exported = everything(dedup, source).encode()
    done = dedup("import", "--store", target, stdin=exported)
    assert done.code == 0
    assert "its pages are signed anew from their texts" in done.err
    assert "no text to sign anew" in done.err
    told = "5 pages: 2 new (40.0%), 1 exact (20.0%), 1 near (20.0%), 1 skipped (20.0%)"
    assert done.out.startswith(f"{told}\n6 rows read: 1 bad, 3 kept, 2 removed\n")
    with Store.open(target) as store:
        [page] = store.find("https://a.example/1")
        assert store.signature(page) == sign(TEXT, Scheme(shingle_size=4))


@contextmanager
def full_disk(room: int) -> Iterator[None]:
    """Let no file grow beyond some bytes."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_file_is_replaced_when_told_to_and_whole(dedup: Any, source: str, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    file = folder / "store.jsonl"
    file.write_bytes(b"precious")
    assert "--force replaces it" in dedup("export", "--store", source, str(file)).refusal()
    assert file.read_bytes() == b"precious"
    assert dedup("export", "--store", source, str(file), "--force").code == 0
    before = file.read_bytes()
    assert before.count(b"\n") == 18
    with Store.open(source), full_disk(len(before) // 2):
        done = dedup("export", "--store", source, str(file), "--force")
    assert "File too large" in done.refusal()
    assert file.read_bytes() == before
    assert [path.name for path in folder.iterdir()] == ["store.jsonl"]
    assert dedup("export", "--store", source, str(tmp_path / "none" / "a.jsonl")).code == 2
    assert dedup("export", "--store", source, os.devnull).code == 0


def test_a_file_that_is_not_there_is_named(dedup: Any, source: str, tmp_path: Path) -> None:
    assert "No such file" in dedup("import", "--store", source, str(tmp_path / "none.jsonl")).err


def test_packed_files_are_the_same_each_time_and_known_by_their_content(
    dedup: Any, source: str, target: str, tmp_path: Path
) -> None:
    for name in ("a.jsonl.gz", "b.jsonl.gz"):
        assert dedup("export", "--store", source, str(tmp_path / name)).code == 0
    packed = (tmp_path / "a.jsonl.gz").read_bytes()
    assert packed == (tmp_path / "b.jsonl.gz").read_bytes()
    assert dedup("import", "--store", target, stdin=packed).code == 0
    assert everything(dedup, target) == everything(dedup, source)


def test_a_json_line_has_all_of_a_page(dedup: Any, source: str) -> None:
    records = [json.loads(line) for line in everything(dedup, source).split("\n")[:-1]]
    kinds = [record.pop("record") for record in records]
    assert " ".join(kinds) == f"store {'run ' * 8}review {'page ' * 6}template end"
    assert records[0]["scheme"] == {"shingle_size": 5, "version": 3}
    assert records[0]["index"]["indexed"] == "minima"
    pages = [record for record, kind in zip(records, kinds, strict=True) if kind == "page"]
    assert [*pages[0]] == [*NO_VALUES]
    duplicate = pages[1]
    assert (duplicate["original_id"], duplicate["original"]) == (1, "https://a.example/1")
    signature = sign(EDITED)
    assert duplicate["text_hash"] == signature.text_hash.hex()
    assert int(duplicate["simhash"], 16) == signature.simhash


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_that_was_cut_off_is_refused_as_a_whole(
    dedup: Any, source: str, target: str, tmp_path: Path, suffix: str
) -> None:
    file = tmp_path / f"store.{suffix}"
    dedup("export", "--store", source, str(file))
    whole = file.read_bytes()
    Store.open(target, scheme=Scheme(shingle_size=3)).close()
    before = everything(dedup, target)
    end = len(whole) - 25
    for cut in (end, len(whole) * 2 // 3, len(whole) // 3):
        file.write_bytes(whole[:cut])
        refusal = dedup("import", "--store", target, str(file)).refusal()
        assert refusal.startswith(f"scrapy dedup import: {file}: ")
        assert everything(dedup, target) == before


WRONG = {
    "base64": ('"minima": "', '"minima": "!', "line 11: minima is '!"),
    "hexadecimal": ('"text_hash": "', '"text_hash": "xx', "line 11: text_hash is 'xx"),
    "simhash": ('"simhash": "', '"simhash": "ff', "line 11: simhash is "),
    "no record": ('{"record": "page", ', "{", "line 11: record is missing"),
    "json": ('{"record": "run"', '{"record" "run"', "line 2: not JSON"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_line_is_named(
    dedup: Any, source: str, target: str, tmp_path: Path, case: str
) -> None:
    old, new, message = WRONG[case]
    exported = everything(dedup, source)
    assert old in exported
    done = dedup("import", "--store", target, stdin=exported.replace(old, new, 1).encode())
    assert message in done.refusal()
    if Path(target.removeprefix("sqlite:///")).exists():
        assert everything(dedup, target).count("\n") == 2, "its beginning and its end"


def test_what_is_no_such_file_is_refused_in_one_line(
    dedup: Any, target: str, tmp_path: Path
) -> None:
    file = tmp_path / "store.jsonl"
    odd = b"", b"\n\n", b"PAR1", b"\x1f\x8b\x08\x00", os.urandom(5000), b"[" * 100_000
    for content in (*odd, b'{"record": "store", "format": ' + b"9" * 10_000 + b"}"):
        file.write_bytes(content)
        done = dedup("import", "--store", target, str(file))
        assert done.code == 2, content[:10]
        assert "Traceback" not in done.err
        assert 1 <= done.err.count("\n") <= 8
    assert not Path(target.removeprefix("sqlite:///")).exists()


def test_progress_is_shown_on_a_terminal(dedup: Any, source: str, tmp_path: Path) -> None:
    done = dedup("export", "--store", source, str(tmp_path / "store.jsonl"), stdin=None)
    assert done.code == 0
    assert "100%" in done.err
    assert "6 pages" in done.err
