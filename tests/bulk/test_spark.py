"""Spark decides as one machine does: on executors that are processes of their own."""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import shingling.similarity.match_rule
import shingling.store.decide.decide
from shingling import Page, Rules, Store, sign
from shingling.bulk import Fields, Options, deduplicate
from shingling.errors import BulkError

from .collections import families, random_texts, read_lines, result_of, write_lines

pytest.importorskip("pyarrow", reason="Spark needs pyarrow")
pytest.importorskip("pandas", reason="PySpark asks for pandas")
pytest.importorskip("pyspark", reason="no PySpark")

import pyarrow as pa
import pyarrow.parquet as pq

from shingling.bulk import pairs, spark
from shingling.bulk.spark.__main__ import main
from shingling.bulk.spark.signing import read_texts, sign_rows
from tests.support.commands import dedup_command
from tests.support.installed import ROOT
from tests.support.pages import article
from tests.support.twins import twins

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import SparkSession

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # to start with

ALONE = Options(workers=0)

needs_java = pytest.mark.skipif(
    shutil.which("java") is None and "JAVA_HOME" not in os.environ, reason="Spark needs Java"
)


@pytest.fixture(scope="session")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Yield a session with two executors, each a process."""
    from pyspark.find_spark_home import _find_spark_home
    from pyspark.sql import SparkSession

    folder = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": QUICK,
        "spark.executor.extraJavaOptions": QUICK,
        "spark.executorEnv.PYTHONPATH": str(ROOT),
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.shuffle.partitions": "3",
        "spark.sql.adaptive.enabled": "false",  # which would have one task do it all
        "spark.sql.execution.arrow.maxRecordsPerBatch": "100",
        "spark.log.level": "ERROR",
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("tests")
        for name, value in settings.items():
            builder = builder.config(name, value)
        with builder.getOrCreate() as started:
            executors = Path(_find_spark_home(), "work", started.sparkContext.applicationId)
            yield started
        shutil.rmtree(executors, ignore_errors=True)  # where Spark wants them, for a local cluster


def edited(base: Sequence[str], times: int, rnd: random.Random) -> str:
    words = [*base]
    for _ in range(times):
        words[rnd.randrange(len(words))] = f"e{rnd.randrange(10**9)}"
    return " ".join(words)


def collection(seed: int, size: int) -> list[dict[str, Any]]:
    """Make rows of every kind, mixed; each has its place in `at`."""
    rnd = random.Random(seed)
    base, template, page = (text.split() for text in random_texts(seed, 3, 90))
    bodies = [text.split() for text in random_texts(seed + 1, size // 5, 50)]
    texts = [row["text"] for row in families(seed, size, random_texts(seed + 2, 8))]
    texts += [edited(base, rnd.randint(0, 12), rnd) for _ in range(size)]
    for _ in range(size):  # half of it a template; of three in four, the other half is one's alone
        own = (
            rnd.choice(bodies) if rnd.random() < 0.25 else random_texts(rnd.randrange(10**9), 1, 50)
        )
        texts.append(edited([*template[:45], *" ".join(own).split()], rnd.randint(0, 6), rnd))
    texts += ["", "  ", "...", "two words"] * 3
    texts += [twins(text) for text in texts[: size // 5]]  # without a word of theirs
    rnd.shuffle(texts)
    for _ in range(size // 2):  # page by page, each only like those shortly before it
        page = edited(page, 2, rnd).split()
        texts.append(" ".join(page))
    rows = [{"id": f"row {at}", "text": text} for at, text in enumerate(texts)]
    for at in rnd.sample(range(5, len(rows)), 6):
        rows[at]["id"] = rows[at - rnd.randint(1, 5)]["id"]
    return [{**row, "at": at} for at, row in enumerate(rows)]


def name_of(row_id: str) -> str:
    """Id of a row, or its line if it goes by that, whatever its file is called."""
    return row_id.rpartition(":")[2]


def groups_of(rows: Iterable[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    return sorted((name_of(row["original"]), [*map(name_of, row["duplicates"])]) for row in rows)


def by_line(removed: dict[str, tuple[Any, ...]]) -> dict[str, tuple[Any, ...]]:
    return {name_of(one): (name_of(head), *more) for one, (head, *more) in removed.items()}


def measures(rows: Iterable[dict[str, Any]]) -> dict[str, tuple[Any, ...]]:
    return {
        name_of(row["id"]): (
            *(name_of(row["original"]), row["status"]),
            *(round(row["resemblance"], 4), round(row["containment"], 4)),
        )
        for row in rows
    }


@needs_java
def test_the_program_decides_a_parquet_file_as_one_machine_does(
    session: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = collection(1, 120)
    file, one, out = tmp_path / "pages.parquet", tmp_path / "one", tmp_path / "out"
    pq.write_table(pa.Table.from_pylist(rows), file)
    expected = deduplicate([str(write_lines(tmp_path / "rows.jsonl", rows))], one, ALONE)
    assert main([str(file), "--out", str(out)]) == 0
    found = json.loads(capsys.readouterr().out)
    counted = (
        "total",
        "unique",
        "exact",
        "near",
        "short",
        "without_text",
        "bad",
        "reasons",
        "same_id",
    )
    assert {name: found[name] for name in counted} == {
        name: expected.as_dict()[name] for name in counted
    }
    assert measures(pq.read_table(out / "removed").to_pylist()) == by_line(result_of(one).removed)
    groups = groups_of(pq.read_table(out / "groups").to_pylist())
    assert groups == groups_of(read_lines(one / "groups.jsonl"))
    assert found["same_id_example"].startswith(f"file:{file}:")
    kept = pq.read_table(out / "kept").sort_by("id")
    assert kept.column("id").to_pylist() == sorted(result_of(one).kept)
    assert kept.column_names == pq.read_schema(file).names
    [summary] = (out / "summary").glob("part-*")
    assert json.loads(summary.read_text(encoding="utf-8")) == found
    assert not (out / "work").exists()

    assert main([str(file), "--out", str(out)]) == 1
    assert "kept is there, of another run" in capsys.readouterr().err


@pytest.fixture
def adaptive(session: SparkSession) -> Iterator[SparkSession]:
    """Let Spark replace joins at run time, and read shuffles where they are."""
    settings = {
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.adaptive.coalescePartitions.enabled": "false",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.adaptive.autoBroadcastJoinThreshold": "100MB",
        "spark.sql.files.openCostInBytes": "128MB",  # a task for each file
    }
    before = {name: session.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        session.conf.set(name, value)
    yield session
    for name, old in before.items():
        if old is None:
            session.conf.unset(name)
        else:
            session.conf.set(name, old)


@needs_java
def test_what_spark_replaces_while_it_runs_changes_nothing(
    adaptive: SparkSession, tmp_path: Path
) -> None:
    rows, out = collection(3, 60), tmp_path / "out"
    deduplicate([str(write_lines(tmp_path / "rows.jsonl", rows))], out, ALONE)
    frame = adaptive.createDataFrame(rows, "id string, text string, at long").repartition(4)
    decided = spark.deduplicate_frame(frame, ALONE, order="at", work=str(tmp_path / "work"))
    assert measures(row.asDict() for row in decided.removed.collect()) == by_line(
        result_of(out).removed
    )


@needs_java
@pytest.mark.parametrize("own_text", ["keep", "strict"])
def test_rows_with_text_of_their_own_stay_as_on_one_machine(
    own_text: str, session: SparkSession, tmp_path: Path
) -> None:
    rows, out, options = collection(4, 40), tmp_path / "out", replace(ALONE, own_text=own_text)
    texts = [f"{row['text']}\nThere are {at % 7} rooms and the yard" for at, row in enumerate(rows)]
    rows += [
        {**row, "at": row["at"] + len(rows), "text": text}
        for row, text in zip(rows, texts, strict=True)
    ]
    deduplicate([str(write_lines(tmp_path / "rows.jsonl", rows))], out, options)
    frame = session.createDataFrame(rows, "id string, text string, at long").repartition(3)
    decided = spark.deduplicate_frame(frame, options, order="at", work=str(tmp_path / "work"))
    expected = by_line(result_of(out).removed)
    assert measures(row.asDict() for row in decided.removed.collect()) == expected
    assert expected


@needs_java
@pytest.mark.parametrize(
    "rules",
    [Rules(threshold=0.4, min_words=12), Rules(method="simhash", simhash_distance=5, min_words=12)],
    ids=["minhash", "simhash"],
)
def test_keys_of_many_rows_change_nothing(
    rules: Rules, session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pairs, "FIRST_CANDIDATES", 2)
    monkeypatch.setattr(pairs, "MAX_PAGES_PER_KEY", 4)
    for module in (pairs, shingling.store.decide.decide, shingling.similarity.match_rule):
        monkeypatch.setattr(module, "MAX_CANDIDATES_MEASURED", 3)
    rows, out = collection(2, 70), tmp_path / "out"
    options = replace(ALONE, rules=rules)
    expected = deduplicate([str(write_lines(tmp_path / "rows.jsonl", rows))], out, options)
    mixed = random.Random(1).sample(rows, len(rows))
    frame = session.createDataFrame(mixed, "id string, text string, at long")
    decided = spark.deduplicate_frame(frame, options, order="at", work=str(tmp_path / "work"))
    kept = [row.asDict() for row in decided.kept.orderBy("at").collect()]
    assert kept == read_lines(out / "kept.jsonl")
    removed = [row.asDict() for row in decided.removed.collect()]
    assert measures(removed) == by_line(result_of(out).removed)
    distances = {
        name_of(row["id"]): row.get("distance") for row in read_lines(out / "removed.jsonl")
    }
    assert {name_of(row["id"]): row.get("distance") for row in removed} == distances
    assert (None in distances.values()) == ("simhash" not in rules.method)
    bad = [(row["reason"], rows[row["line"] - 1]["id"]) for row in read_lines(out / "bad.jsonl")]
    assert sorted((row.reason, row.id) for row in decided.bad.collect()) == sorted(bad)
    found = decided.counts()
    assert found.same_id_example == f"row:{name_of(expected.same_id_example)}"
    found.same_id_example = expected.same_id_example
    found.problems, expected.problems, found.seconds = [], [], expected.seconds
    assert found == expected
    assert [*(tmp_path / "work").glob("*/pairs-2")]
    decided.discard()
    assert not any((tmp_path / "work").iterdir())


@needs_java
def test_messages_without_their_first_words_are_compared_as_on_one_machine(
    session: SparkSession, tmp_path: Path
) -> None:
    rows = [
        {**row, "text": [{"role": "user", "content": f"this prompt\n{row['text']}"}]}
        for row in collection(5, 20)
    ]
    out, options = tmp_path / "out", replace(ALONE, skip_words=2, export=True)
    deduplicate([str(write_lines(tmp_path / "rows.jsonl", rows))], out, options)
    schema = "id string, text array<struct<role: string, content: string>>, at long"
    frame = session.createDataFrame(rows, schema)
    decided = spark.deduplicate_frame(frame, options, order="at", work=str(tmp_path / "work"))
    removed = measures(row.asDict() for row in decided.removed.collect())
    assert removed == by_line(result_of(out).removed)
    assert decided.store is not None
    lines = "\n".join(row.value for row in decided.store.collect()).split("\n")
    stored = [json.loads(line).get("text") for line in lines]
    assert stored == [page.get("text") for page in read_lines(out / "store.jsonl")]


def test_texts_of_binary_columns_are_compared_as_they_are_signed() -> None:
    row = {"at": 1, "place": "x:1", "values": {"text": article(1).encode()}}
    [signed] = sign_rows([pa.RecordBatch.from_pylist([row])], ALONE)
    column = {"at": 1, "text": article(1).encode(), "title": None, "language": None}
    [texts] = read_texts([pa.RecordBatch.from_pylist([column])], 0)
    assert signed.column("text_hash").to_pylist() == [sign(article(1)).text_hash]
    assert texts.column("text").to_pylist() == [article(1)]


@needs_java
def test_files_come_in_the_order_in_which_they_are_named(
    session: SparkSession, tmp_path: Path
) -> None:
    texts = [row["text"] for row in collection(4, 8)]
    files = [tmp_path / "second.parquet", tmp_path / "first.parquet"]
    for file, own in zip(files, (texts[:20], texts[20:]), strict=True):
        pq.write_table(pa.table({"text": own}), file)
    names = [str(file) for file in files]
    options = Options(Rules(method="exact"), workers=0)
    expected = deduplicate(names, tmp_path / "one", options)
    found = spark.deduplicate_parquet(session, names, str(tmp_path / "out"), options)
    removed = pq.read_table(tmp_path / "out" / "removed").to_pylist()
    assert {row["id"].removeprefix("file:"): row["original"] for row in removed} == {
        row["id"]: f"file:{row['original']}"
        for row in read_lines(tmp_path / "one" / "removed.jsonl")
    }
    for problem in expected.problems:
        assert problem._replace(file=f"file:{problem.file}") in found.problems
    found.problems, expected.problems, found.seconds = [], [], expected.seconds
    assert found == expected
    assert found.without_text
    assert found.exact


def halves(seed: int, size: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Make rows, and others with times that are duplicates of them; some share their ids."""
    rnd = random.Random(seed)
    rows = collection(seed, size)
    for row in rows:
        year = rnd.randrange(10, 40)
        row["fetched"] = rnd.choice([None, str(year), f"20{year}-01-01"])
    known, new = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    for row in rnd.sample(new, len(new) // 4):
        row["id"] = rnd.choice(known)["id"]
    return known, new


def both(
    session: SparkSession,
    rows: list[dict[str, Any]],
    folder: Path,
    options: Options,
    against: Path | None = None,
) -> None:
    """Check that Spark and one machine decide rows alike, in `folder/spark` and `folder/one`."""
    folder.mkdir()
    lines, file = write_lines(folder / "rows.jsonl", rows), folder / "rows.parquet"
    pq.write_table(pa.Table.from_pylist(rows), file)
    one, out = folder / "one", folder / "spark"
    knowing = [None, None] if against is None else [str(against / "one"), str(against / "spark")]
    expected = deduplicate([str(lines)], one, options, against=knowing[0]).as_dict()
    found = spark.deduplicate_parquet(
        session, [str(file)], str(out), options, against=knowing[1]
    ).as_dict()
    for name in ("seconds", "problems", "same_id_example"):
        del expected[name], found[name]
    assert found == expected
    assert measures(pq.read_table(out / "removed").to_pylist()) == by_line(result_of(one).removed)
    kept = pq.read_table(out / "kept").sort_by("at").column("id").to_pylist()
    assert kept == result_of(one).kept
    groups = groups_of(pq.read_table(out / "groups").to_pylist())
    assert groups == groups_of(read_lines(one / "groups.jsonl"))
    if not options.export:
        return
    parts = sorted((out / "store").glob("part-*"))
    records = [record for part in parts for record in read_lines(part)]
    pages = [record for record in records if record["record"] == "page"]
    names = {page["id"]: page["url"] for page in pages}
    assert [*names] == sorted(names)
    assert all(names.get(page["original_id"]) == page["original"] for page in pages)
    unlike = "id", "original_id", "first_seen", "last_seen", "started", "finished", "created"
    expected_records = read_lines(one / "store.jsonl")
    for record in (*records, *expected_records):  # bad rows have numbers on Spark
        for name in unlike:
            record.pop(name, None)
        for name in ("url", "original"):
            record[name] = name_of(record.get(name) or "")
    assert records == expected_records


@needs_java
def test_what_spark_exports_is_a_store_and_is_known_to_later_runs(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, new = halves(6, 60)
    options = replace(ALONE, export=True)
    first, second = tmp_path / "first", tmp_path / "second"
    both(session, known, first, options)
    both(session, new, second, options, against=first)
    assert len(result_of(second / "one").removed) > 40
    folder, url = str(first / "spark/store"), f"sqlite:///{tmp_path / 'dedup.db'}"
    assert dedup_command(monkeypatch, "import", folder, "--store", url).code == 0
    removed = by_line(result_of(first / "one").removed)
    with Store.open(url) as store:
        stored = {name_of(page.url): page for page in store.pages()}
        for name, (original, status, *_) in removed.items():
            assert name_of(stored[name].original or "") == original
            assert stored[name].status == status
        text = next(row["text"] for row in known if row["id"] == next(iter(removed)))
        verdict = store.check([Page("https://mirror.example/", text)])[0]
        assert name_of(verdict.original or "") in {values[0] for values in removed.values()}
    out = tmp_path / "one machine"
    lines = str(second / "rows.jsonl")
    deduplicate([lines], out, ALONE, against=str(first / "spark"))
    found, expected = result_of(out), result_of(second / "one")
    assert found.kept == expected.kept
    assert by_line(found.removed) == by_line(expected.removed)

    part = max((first / "spark/store").glob("part-*"))
    part.write_bytes(part.read_bytes()[: part.read_bytes().rfind(b"{")])
    part.with_name(f".{part.name}.crc").unlink()  # or Spark itself refuses it
    arguments = [str(second / "rows.parquet"), "--out", str(tmp_path / "out")]
    assert main([*arguments, "--against", str(first / "spark")]) == 1
    assert main([*arguments, "--against", str(second / "one"), "--shingle-size", "3"]) == 1
    assert main([*arguments, "--against", str(tmp_path / "none")]) == 1


@needs_java
@pytest.mark.parametrize(
    ("options", "known_options"),
    [
        ({"keep": "longest", "keep_each": 2, "export": True}, {}),
        ({"keep": "newest", "keep_each": 3}, {"keep": "newest"}),
        ({"order_field": "fetched", "rules": Rules(method="exact", min_words=3)}, {}),
    ],
    ids=["longest", "newest", "first by a field"],
)
def test_the_row_that_stays_is_chosen_on_spark(
    options: dict[str, Any], known_options: dict[str, Any], session: SparkSession, tmp_path: Path
) -> None:
    known, new = halves(7, 40)
    one = tmp_path / "known" / "one"
    one.parent.mkdir()
    lines = write_lines(tmp_path / "known.jsonl", known)
    deduplicate([str(lines)], one, replace(ALONE, export=True, **known_options))
    one.with_name("spark").symlink_to(one)  # Spark reads the store of one machine, too
    both(session, new, tmp_path / "new", replace(ALONE, **options), against=one.parent)


@needs_java
def test_what_is_missing_is_said(session: SparkSession, tmp_path: Path) -> None:
    frame = session.createDataFrame(
        [("1", "a text of some words", 0)], "id string, text string, at int"
    )
    once = partial(spark.deduplicate_frame, frame, work=str(tmp_path))
    with pytest.raises(BulkError, match="has no order of its own"):
        once()
    with pytest.raises(BulkError, match="there is no column body, but id, text, at"):
        once(Options(fields=Fields("body")), order="at")
    with pytest.raises(BulkError, match="name a work folder"):
        spark.deduplicate_frame(frame, order="at")
    with pytest.raises(BulkError, match="missing"):
        spark.deduplicate_parquet(session, [str(tmp_path / "missing")], str(tmp_path / "out"))
    with pytest.raises(BulkError, match=r"^no key \(--strict\)$"):
        once(Options(fields=Fields(id="key"), strict=True), order="at")
