"""Collections of MongoDB by URL, from a server that speaks MongoDB's protocol (mockupdb)."""

from __future__ import annotations

import socket
import struct
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from shingling.bulk import Fields, Options, deduplicate
from shingling.errors import BulkError
from tests.support.commands import dedup_command

from .collections import families, random_texts, read_lines

pytest.importorskip("mockupdb", reason="no server for MongoDB's protocol")
pytest.importorskip("pymongo", reason="MongoDB needs pymongo")

import mockupdb
from bson import DatetimeMS, Decimal128, ObjectId
from bson.json_util import RELAXED_JSON_OPTIONS, dumps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

DOCUMENTS: list[dict[str, Any]] = [
    {
        "_id": ObjectId(f"5f1a{number:020x}"),
        "content": row["text"],
        "when": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        "price": Decimal128("1.50"),
    }
    for number, row in enumerate(families(1, 300, random_texts(2, 40)))
]
FIELDS = Fields(text="content")
SECRET = "S3CRET"  # noqa: S105 (none)
ALLOWED = f"mongodb://u:{SECRET}@ADDRESS/news.articles"
BATCH = 101  # documents, as a server's first batch has
LARGEST = (1 << 31) - 1


@contextmanager
def answering(answer: Callable[[str, Any], bool]) -> Iterator[str]:
    """Run a server that greets, and answers other commands so; yield its address.

    Args:
        answer: called with the name of a command and the request; False if it has no answer.
    """
    server = mockupdb.MockupDB()

    def respond(request: Any) -> bool:
        if not answer(next(iter(request.doc)), request):
            sizes = {"maxMessageSizeBytes": LARGEST, "maxBsonObjectSize": LARGEST}
            versions = {"minWireVersion": 0, "maxWireVersion": 21}
            request.replies({"ok": 1, "ismaster": True, **versions, **sizes})
        return True

    server.autoresponds(respond)
    server.run()
    try:
        yield f"127.0.0.1:{server.port}"
    finally:
        server.stop()


@contextmanager
def serving(documents: list[dict[str, Any]], asked: list[dict[str, Any]]) -> Iterator[str]:
    """Serve a collection, batch by batch; yield the address of the server."""

    def answer(name: str, request: Any) -> bool:
        if name in ("find", "getMore"):
            command = dict(request.doc)
            asked.append(command)
            start = command.get("getMore", 0)
            following = start + BATCH if start + BATCH < len(documents) else 0
            field = "nextBatch" if start else "firstBatch"
            batch = {"id": following, "ns": "a.b", field: documents[start : start + BATCH]}
            request.replies({"ok": 1, "cursor": batch})
        elif name == "saslStart":
            refused = f"Authentication failed for {SECRET}."
            request.replies({"ok": 0, "code": 18, "errmsg": refused})
        return name in ("find", "getMore", "saslStart")

    with answering(answer) as address:
        yield address


def message(document: bytes) -> bytes:
    """A message of a server with one document, whatever that is."""
    return struct.pack("<iiiiIB", 21 + len(document), 1, 0, 2013, 0, 0) + document


def test_a_collection_gives_the_result_of_its_export(tmp_path: Path) -> None:
    export = tmp_path / "articles.jsonl"
    lines = [dumps(document, json_options=RELAXED_JSON_OPTIONS) for document in DOCUMENTS]
    export.write_text("\n".join(lines), encoding="utf-8")
    options = Options(workers=0, fields=FIELDS)
    deduplicate([str(export)], tmp_path / "exported", options)
    asked: list[dict[str, Any]] = []
    with serving(DOCUMENTS, asked) as address:
        deduplicate([f"mongodb://{address}/news.articles"], tmp_path / "read", options)
    for name in ("kept", "removed", "groups"):
        read, exported = (
            [{**row, "file": None} for row in read_lines(tmp_path / folder / f"{name}.jsonl")]
            for folder in ("read", "exported")
        )
        assert read == exported
        assert read
    assert read[0]["original"] == '{"$oid":"5f1a00000000000000000000"}'
    assert [next(iter(command)) for command in asked] == ["find", "getMore", "getMore"]
    assert asked[0]["sort"] == {"_id": 1}
    assert asked[0]["$db"] == "news"


def test_a_filter_is_sent_in_extended_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    asked: list[dict[str, Any]] = []
    query = '{"_id": {"$gt": {"$oid": "5f1a00000000000000000000"}}, "language": "zh"}'
    with serving(DOCUMENTS[:10], asked) as address:
        done = dedup_command(
            monkeypatch,
            *("bulk", f"mongodb://{address}/news.articles", "--out", "out", "--workers", "0"),
            *("--text-field", "content", "--query", query),
        )
    assert done.code == 0, done
    assert asked[0]["filter"] == {
        "_id": {"$gt": ObjectId("5f1a00000000000000000000")},
        "language": "zh",
    }


def test_odd_values_and_large_documents_do_not_end_the_run(tmp_path: Path) -> None:
    text = random_texts(3, 1)[0]
    documents = [
        {"_id": 1, "content": text, "when": DatetimeMS(10**17)},  # in the year 3 million
        {"_id": {"site": "a@b", "number": 2}, "content": float("nan")},
        {"_id": 3, "content": text * 3},
        {"_id": 4, "content": text},
    ]
    with serving(documents, []) as address:
        options = Options(workers=0, fields=FIELDS, max_bytes=2 * len(text))
        deduplicate([f"mongodb://{address}/news.articles"], tmp_path, options)
    assert [row["id"] for row in read_lines(tmp_path / "removed.jsonl")] == ["4"]
    bad = [(row["line"], row["reason"]) for row in read_lines(tmp_path / "bad.jsonl")]
    assert [line for line, _ in bad] == [3]
    assert "longer than" in bad[0][1]


LIES = {
    "a message of 2 GB": struct.pack("<iiii", LARGEST, 1, 0, 2013),
    "a message of less than nothing": struct.pack("<iiii", -1, 1, 0, 2013),
    "a message without a header": struct.pack("<iiii", 3, 1, 0, 2013),
    "a document of 2 GB": message(struct.pack("<i", LARGEST) + b"\x02a\0\x05\0\0\0text\0\0"),
    "a document of no bytes": message(struct.pack("<i", 0) + b"\0"),
    "a text of 2 GB": message(b"\x14\0\0\0\x02a\0" + struct.pack("<i", LARGEST) + b"text\0\0\0\0"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_server_that_lies_about_sizes_is_an_error_of_one_line(lie: str, tmp_path: Path) -> None:
    def answer(name: str, request: Any) -> bool:
        if name == "find":
            request._client.sendall(LIES[lie])
            with suppress(OSError):  # it may have gone
                request._client.shutdown(socket.SHUT_RDWR)
        return name == "find"

    with (
        answering(answer) as address,
        pytest.raises(BulkError, match=r"news\.articles: cannot be read: ") as raised,
    ):
        deduplicate([f"mongodb://{address}/news.articles"], tmp_path, Options(workers=0))
    assert str(raised.value).count("\n") == 0


@pytest.mark.parametrize(
    ("url", "options", "problem"),
    [
        ("mongodb://127.0.0.1/news", {}, r"^mongodb://127\.0\.0\.1/news: names no collection"),
        ("mongodb://127.0.0.1/news.articles?tsl=true", {}, "Unknown option"),
        ("mongodb://127.0.0.1/a.b", {"query": "SELECT 1"}, "is a filter in JSON"),
        ("mongodb://127.0.0.1/a.b", {"query": "[1]"}, "is a filter in JSON"),
        (
            "mongodb://127.0.0.1:1/news.articles?serverSelectionTimeoutMS=50",
            {},
            r"^mongodb://127\.0\.0\.1:1/news\.articles: cannot be read: .*refused[^<]*$",
        ),
    ],
)
def test_what_cannot_be_read_is_said(
    tmp_path: Path, url: str, options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(BulkError, match=problem):
        deduplicate([url], tmp_path, Options(workers=0, **options))


@pytest.mark.parametrize(
    "url",
    [
        f"mongodb://u:{SECRET}@ADDRESS/news.articles",
        f"mongodb://u:p@{SECRET}@ADDRESS/news.articles",
        f"mongodb://u:p/{SECRET}@ADDRESS/news.articles",
        f"mongodb://u:{SECRET}@ADDRESS/news",
        f"mongodb://u:{SECRET}%zz@ADDRESS/news.articles",
        f"mongodb://u:{SECRET}@ADDRESS/news.articles?pasword={SECRET}",
        f"mongodb://u:{SECRET}@ADDRESS/news.articles?tlsCertificateKeyFile=/{SECRET}&tls=true",
        f"{ALLOWED}?serverSelectionTimeoutMS=50&tlsCertificateKeyFilePassword={SECRET}",
        f"{ALLOWED}?authMechanism=MONGODB-AWS&authMechanismProperties=AWS_SESSION_TOKEN:{SECRET}",
        f"mongodb+srv://u:{SECRET}@host/news.articles",
    ],
)
def test_no_password_is_shown(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with serving(DOCUMENTS, []) as address:
        own = url.replace("ADDRESS", address)
        done = dedup_command(monkeypatch, "bulk", own, "--out", "out", "--workers", "0")
    assert done.code == 2, done
    assert SECRET not in done.out + done.err
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path for path in files if SECRET in path.read_text()] == []
