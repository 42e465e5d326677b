"""Settings that a crawl cannot use: it does not start, and says why in one line."""

from __future__ import annotations

import json
import sys
import uuid
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scrapy.settings import Settings

from shingling.errors import SettingsError
from shingling.plugin.settings import SETTINGS, DedupSettings, settings_of_rooms
from shingling.text.languages import packs
from tests.support.crawls import LIST_SPIDER, REFUSED, Project, listed, run_scrapy
from tests.support.pages import article
from tests.support.processes import PATIENCE, processes_with, so_within
from tests.support.serving import page, serving

if TYPE_CHECKING:
    from pathlib import Path

KNOWN = SETTINGS | settings_of_rooms()


def test_a_crawl_with_a_wrong_setting_does_not_start_and_says_why_in_one_line(
    tmp_path: Path,
) -> None:
    """Scrapy adds a traceback where an add-on refuses the settings."""
    Project(tmp_path, LIST_SPIDER)
    mark = uuid.uuid4().hex
    with serving({"/page": page(article(1))}) as server:
        pages = listed(tmp_path, {"page": f"{server.url}/page"})
        wrong = ("-s", "DEDUP_TRESHOLD=0.5")
        done = run_scrapy(tmp_path, "crawl", "spider", *pages, *wrong, FAULTS=mark)
    assert done.returncode == REFUSED, done.stderr
    assert server.asked == []
    assert so_within(PATIENCE, lambda: not processes_with(f"FAULTS={mark}"))
    [line] = [
        line for line in done.stderr.splitlines() if " ERROR: " in line and " [shingling" in line
    ]
    assert "DEDUP_TRESHOLD" in line
    assert "did you mean DEDUP_THRESHOLD?" in line
    assert not (tmp_path / "dedup.db").exists()


# None is no wrong value: Scrapy takes the default for it.
NO_NAMES: list[Any] = ["", 5, b"name", [], True]
NO_LISTS: list[Any] = [
    *(5, True, [5], [None], "['a']", "[a, b]", '["a"', '"a"', "('a',)", '{"a": 1}', "[1]"),
    *('[["a"]]', "a;b", "a,'b'"),
]
NO_NUMBERS: list[Any] = [
    *("", "many", "nan", "1e", [], {}, True, object(), b"1", float("nan"), float("-inf"), "-inf"),
    *(10**400, -(10**400), "9" * 5000),
]
WRONG: dict[str, list[Any]] = {
    "DEDUP_ACTION": ["", "Drop", "delete", True, 0, [], ["drop"], {}],
    "DEDUP_CONTAINMENT": ["many", "nan", [], True, 0, -0.1, 1.0001, "80%"],
    "DEDUP_DEBUG": ["", "perhaps", 2, -1, [], {}],
    "DEDUP_DROP_UNCHANGED": ["", "perhaps", 2, -1, []],
    "DEDUP_ENABLED": ["", "perhaps", 2, -1, [], {}],
    "DEDUP_EXTRACTOR": [*NO_NAMES, "Trafilatura", "no.such.module", "os.nothing", "os.name", "."],
    "DEDUP_FETCH": ["", "Skip", "none", True, 0, [], ["skip"], {}],
    "DEDUP_FETCH_NEVER": [*NO_LISTS, "drop-nothing page", "['drop-parameter page']"],
    "DEDUP_FIELDS": NO_LISTS,
    "DEDUP_IGNORE_FIELDS": NO_LISTS,
    "DEDUP_PREFER_SITES": [
        *(*NO_LISTS, "://", ["a.example", "https://"], "*.a.example", ".a.example"),
        *("https://*.a.example/", "https://.a.example/", "a example"),
    ],
    "DEDUP_FILL_FIELDS": [*NO_LISTS, "url", ["dedup"], "text;title"],
    "DEDUP_HTML_FIELD": [*NO_NAMES, *NO_LISTS],
    "DEDUP_MOVING_LINES": ["", "Ignore", "drop", True, 0, [], ["count"], {}],
    "DEDUP_MULTI_ITEM_PAGES": ["", "tag", True, []],
    "DEDUP_MAX_BYTES": [*NO_NUMBERS, 0, -1, "0", 1.5, "1.5", 1_000_000_001, "10MB"],
    "DEDUP_METHOD": ["", "MinHash", "simhash+minhash", "supershingle", 1, []],
    "DEDUP_MIN_WORDS": [*NO_NUMBERS, -1, "-1", 2.5, 1_000_001],
    "DEDUP_ON_ERROR": ["", "ignore", False, []],
    "DEDUP_OWN_TEXT": ["", "Keep", "all", True, 0, [], ["keep"], {}],
    "DEDUP_REPORT": [
        *(5, True, b"report.html", [], ["report.html"], "report", "dedup.db"),
        *("s3://bucket/report.html", "a\0.html", "report.html/"),
    ],
    "DEDUP_RESULT_FIELD": [*NO_NAMES, "a,b", '["a", "b"]'],
    "DEDUP_SCHEME": [
        *("", "crc", "[]", 5, ["family"], {"familly": "crc"}, {"family": "md5"}, {5: 6}),
        *({"shingle_size": 3}, {"canonical": {"stopwords": True}}, {"canonical": "ru"}),
        {"simhash": {"bits": 128}},
    ],
    "DEDUP_SCOPE": ["", "page", 0, ["site"]],
    "DEDUP_SHINGLE_SIZE": [*NO_NUMBERS, 0, -1, 101, 5.0, "5.0"],
    "DEDUP_SIMHASH_DISTANCE": [*NO_NUMBERS, -1, 8, 2.5, "3 bits"],
    "DEDUP_SKIP_RISK": [*NO_NUMBERS, 0, -0.01, 1.01, "1%"],
    "DEDUP_STORE_TEXT": ["", "perhaps", 2, []],
    "DEDUP_STORE_URL": [*NO_NAMES, "dedup.db", "mysql://host/db", "http://host/", "sqlite//x.db"],
    "DEDUP_TEMPLATES": ["", "perhaps", 2, []],
    "DEDUP_TEXT_FIELD": [*NO_NAMES, *NO_LISTS],
    "DEDUP_THRESHOLD": [*NO_NUMBERS, 0, 0.0, -0.1, 1.0001, "80%", "inf"],
    "DEDUP_TIMEOUT": [*NO_NUMBERS, 0, -1, 3601, "inf"],
    "DEDUP_TITLES": ["", "Ignore", "keep", True, 0, [], ["count"], {}],
    "DEDUP_TITLE_FIELD": [*NO_NAMES, "a,b", "[a]"],
    "DEDUP_URL_FIELD": [*NO_NAMES, "a,b", "[a]"],
    "DEDUP_ORIGINAL_MAX_AGE_DAYS": [0, -1, "never", "nan", True, [], 1_000_001],
    "DEDUP_WORKER_MEMORY": [*NO_NUMBERS, -1, 255, 1_000_001, 512.0, "1G", "auto"],
    "DEDUP_WORKERS": [*NO_NUMBERS, -1, 257, "Auto", 1.5, "two"],
}


def test_wrong_values_are_tried_for_every_setting() -> None:
    assert set(WRONG) == set(KNOWN)


@pytest.mark.parametrize("name", KNOWN)
def test_a_wrong_value_is_refused_with_setting_value_and_what_is_accepted(name: str) -> None:
    for value in WRONG[name]:
        with pytest.raises(SettingsError) as caught:
            DedupSettings.from_settings(Settings({name: value}))
        message = str(caught.value)
        assert "\n" not in message
        assert message.startswith(name)
        assert KNOWN[name][1] in message
        if name != "DEDUP_STORE_URL":
            assert repr(value)[:50] in message


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("sku,price", ("sku", "price")),
        (' ["sku", "price"] ', ("sku", "price")),
        ('["a, b"]', ("a, b",)),
        ("[]", ()),
        ("", ()),
        ("auto", "auto"),
        ('["auto"]', "auto"),
    ],
)
def test_a_list_on_the_command_line_has_commas_or_is_json(given: str, read: object) -> None:
    assert DedupSettings.from_settings(Settings({"DEDUP_FIELDS": given})).rules.fields == read


def test_a_missing_driver_is_a_wrong_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(SettingsError, match=r'^DEDUP_STORE_URL.* pip install "psycopg\[binary\]"'):
        DedupSettings.from_settings(Settings({"DEDUP_STORE_URL": "postgresql://me@host/name"}))


class Odd:
    """A value that fails whatever is done with it."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    def __repr__(self) -> str:
        raise RuntimeError

    __hash__ = None  # type: ignore[assignment]


LONG = ["x" * 2000, "a.b" * 700, "/".join(["x" * 200] * 10), "\x1b[31m\n" * 10_000]
ODD: list[Any] = [
    *(10**400, -(10**400), 10**5000, "9" * 5000, float("nan"), float("inf"), -1, 1.5, 1j),
    *(True, False, None, "", "None", b"", b"1", b"auto", [], [[]], (), {}, {"a": Odd()}, set()),
    *(Odd(), Odd, object(), len, np.zeros((2, 2)), np.int64(3), Decimal("0.5"), "[" * 100_000),
    *(LONG, *LONG, *(f"{one}.html" for one in LONG), *(f"sqlite:///{one}" for one in LONG)),
    *({one: 1} for one in LONG),
    *({"unit": one} for one in LONG),
    *({"canonical": {"stop_words": one}} for one in LONG),
    *({"simhash": {"features": "words", "idf": one}} for one in LONG),
]


@pytest.mark.parametrize("name", KNOWN)
def test_any_value_is_taken_or_refused_in_one_line_that_is_not_long(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for value in ODD:
        try:
            DedupSettings.from_settings(Settings({name: value}))
        except SettingsError as error:
            message = str(error)
            assert message.startswith(name), message
            assert len(message) < 600 + len(str(tmp_path)), message
            assert message.isprintable(), message


def test_an_unknown_name_is_refused_with_the_names_that_are_known() -> None:
    with pytest.raises(SettingsError) as caught:
        DedupSettings.from_settings(Settings({"DEDUP_QQQQQQQQQQQQ": 1}))
    assert "DEDUP_QQQQQQQQQQQQ is not a setting" in str(caught.value)
    with pytest.raises(SettingsError) as long:
        DedupSettings.from_settings(Settings({"DEDUP_\n" + "Q" * 100_000: 1}))
    assert len(str(long.value)) < 900
    assert str(long.value).isprintable()
    assert [name for name in KNOWN if name not in str(caught.value)] == []


FIELDS = ("URL", "TITLE", "TEXT", "HTML")
REPLACING = [
    *({"DEDUP_RESULT_FIELD": name.lower()} for name in FIELDS),
    *({f"DEDUP_{name}_FIELD": "body", "DEDUP_RESULT_FIELD": "body"} for name in FIELDS),
    {"DEDUP_FILL_FIELDS": "language", "DEDUP_RESULT_FIELD": "language"},
]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        *((one, f"^DEDUP_RESULT_FIELD = '{one['DEDUP_RESULT_FIELD']}' is") for one in REPLACING),
        ({"DEDUP_CONTAINMENT": 0.9, "DEDUP_STORE_TEXT": False}, "store_text"),
        ({"DEDUP_CONTAINMENT": 0.9, "DEDUP_METHOD": "exact"}, "method other than exact"),
        (
            {"DEDUP_SCHEME": {"simhash": {"features": "words", "idf": "no such.json"}}},
            "no such.json cannot be read.*tune --idf",
        ),
        ({"DEDUP_SCHEME": {"canonical": {"stop_words": "no such.txt"}}}, "no such.txt cannot be"),
        ({"DEDUP_SCHEME": {"canonical": {"stop_words": ["+a", "-a"]}}}, "'a' is added and taken"),
        ({"DEDUP_SCHEME": {"canonical": {"language": "el", "stop_words": True}}}, "stop_words of"),
        ({"DEDUP_SCHEME": {"canonical": {"language": "cn", "chinese": "jieba"}}}, "chinese of"),
        ({"DEDUP_SCHEME": {"canonical": {"language": "fr", "nouns": True}}}, "nouns of"),
        ({"DEDUP_SCHEME": "{'unit': 'characters'}"}, "not JSON"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(
    settings: dict[str, Any], said: str
) -> None:
    with pytest.raises(SettingsError, match=said) as caught:
        DedupSettings.from_settings(Settings(settings))
    assert "\n" not in str(caught.value)


def test_stop_words_are_read_from_a_file_in_the_folder_of_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "scrapy.cfg").touch()
    (tmp_path / "stop.txt").write_text("# of this site\nFoo\nbar  # and\n", encoding="utf-8-sig")
    monkeypatch.chdir(tmp_path)
    scheme = {"canonical": {"stop_words": "stop.txt"}}
    for value in (scheme, json.dumps(scheme), {"canonical": {"stop_words": ["bar", "foo"]}}):
        settings = DedupSettings.from_settings(Settings({"DEDUP_SCHEME": value}))
        assert settings.scheme.canonical.stop_words == ("bar", "foo")
    (tmp_path / "stop.txt").write_text("# nothing\n")
    with pytest.raises(SettingsError, match=r"stop.txt has no words"):
        DedupSettings.from_settings(Settings({"DEDUP_SCHEME": scheme}))


def test_settings_that_are_switched_off_need_no_packs_and_files() -> None:
    scheme = {"simhash": {"features": "words", "idf": "no such.json"}}
    settings = {"DEDUP_ENABLED": False, "DEDUP_SCHEME": scheme}
    assert not DedupSettings.from_settings(Settings(settings)).enabled


def test_a_language_pack_that_is_not_installed_is_named_before_the_crawl_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(packs, "_installed", packs._installed.__wrapped__)  # without its cache
    monkeypatch.setitem(sys.modules, "HanTa", None)
    settings = Settings({"DEDUP_SCHEME": {"canonical": {"language": "de", "nouns": True}}})
    with pytest.raises(SettingsError, match=r"pip install HanTa \(extra tagger\)"):
        DedupSettings.from_settings(settings)
