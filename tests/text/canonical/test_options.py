"""Values of the options, and packs that are not installed."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from typing import Any

import pytest

from shingling import canonical_words
from shingling.errors import SchemeError
from shingling.text import PARTS_OF_SPEECH, Canonicaliser
from shingling.text.languages import packs
from tests.support.canonicalisers import canonicaliser_with
from tests.text.canonical.packs import PACKS, needs_all_packs


def test_without_options_the_words_are_the_canonical_words() -> None:
    text = "Straße, Ελλάδος ‘don’t’ 漢字カナ <b>é</b> \ud800\0 😀"

    assert Canonicaliser().words(text) == canonical_words(text)


def test_a_canonicaliser_is_a_value() -> None:
    one = Canonicaliser(language="en", drop=("prepositions", "adjectives"))
    same = Canonicaliser(language="en", drop=["adjectives", "prepositions", "adjectives"])  # type: ignore[arg-type]

    assert one == same
    assert hash(one) == hash(same)
    assert same.drop == ("adjectives", "prepositions")
    assert Canonicaliser(**dataclasses.asdict(one)) == one
    assert one != Canonicaliser(language="en")


@pytest.mark.parametrize(
    ("option", "value", "accepted"),
    [
        ("language", "", "auto"),
        ("language", "EN", "auto"),
        ("language", "en-GB", "auto"),
        ("language", "e", "auto"),
        ("language", "engl", "auto"),
        ("language", "en\n", "auto"),
        ("language", "éé", "auto"),
        ("language", None, "auto"),
        ("language", b"en", "auto"),
        ("markup", 1, "true or false"),
        ("markup", "yes", "true or false"),
        ("keep_case", None, "true or false"),
        ("keep_punctuation", 0, "true or false"),
        ("stop_words", "en", "true, false, short, long, a list of words"),
        ("nouns", [], "true or false"),
        ("lemmas", True, "none or simplemma or pymorphy3"),
        ("lemmas", "Simplemma", "none or simplemma or pymorphy3"),
        ("lemmas", None, "none or simplemma or pymorphy3"),
        ("lemmas", ["none"], "none or simplemma or pymorphy3"),
        ("chinese", "sudachipy", "characters or jieba or rjieba"),
        ("japanese", "jieba", "characters or sudachipy or budoux"),
        ("drop", "adjectives", ", ".join(PARTS_OF_SPEECH)),
        ("drop", ("nouns",), ", ".join(PARTS_OF_SPEECH)),
        ("drop", [["adjectives"]], ", ".join(PARTS_OF_SPEECH)),
        ("drop", {"adjectives"}, ", ".join(PARTS_OF_SPEECH)),
        ("drop", None, ", ".join(PARTS_OF_SPEECH)),
    ],
)
def test_a_value_not_accepted_is_an_error_that_tells_option_value_and_choices(
    option: str, value: object, accepted: str
) -> None:
    with pytest.raises(SchemeError) as error:
        Canonicaliser(**{option: value})  # type: ignore[arg-type]

    assert str(error.value).startswith(f"{option} {value!r} is not accepted: ")
    assert accepted in str(error.value)
    assert "\n" not in str(error.value)


def test_a_value_is_made_without_importing_any_pack() -> None:
    program = f"""
import sys
from shingling.text import Canonicaliser
before = set(sys.modules)  # another dependency may have imported some
Canonicaliser(stop_words=True, lemmas="pymorphy3", nouns=True, drop=["prepositions"],
              chinese="jieba", japanese="sudachipy")
Canonicaliser(markup=True).words("<p>text")
print(sorted(set({PACKS!r}) & (set(sys.modules) - before)))
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert run.stdout == "[]\n"


@pytest.mark.parametrize(
    ("pack", "options", "extra"),
    [
        ("py3langid", {"stop_words": True}, "languages"),
        ("stopwordsiso", {"language": "en", "stop_words": "long"}, "languages"),
        ("snowballstemmer", {"language": "en", "stem": True}, "languages"),
        ("simplemma", {"language": "en", "lemmas": "simplemma"}, "languages"),
        ("simplemma", {"language": "en", "lemmas": "pymorphy3"}, "languages"),
        ("simplemma", {"lemmas": "pymorphy3"}, "languages"),
        ("HanTa", {"language": "de", "nouns": True}, "tagger"),
        ("HanTa", {"drop": ("adjectives",)}, "tagger"),
        ("pymorphy3", {"language": "ru", "nouns": True}, "russian"),
        ("pymorphy3", {"language": "ru", "lemmas": "pymorphy3"}, "russian"),
        ("pymorphy3", {"drop": ("adjectives",)}, "russian"),
        ("pymorphy3", {"lemmas": "pymorphy3"}, "russian"),
        ("jieba", {"language": "zh", "chinese": "jieba"}, "chinese"),
        ("rjieba", {"chinese": "rjieba"}, "chinese"),
        ("sudachipy", {"language": "ja", "japanese": "sudachipy"}, "japanese"),
        ("sudachidict_core", {"language": "ja", "japanese": "sudachipy"}, "japanese"),
        ("budoux", {"japanese": "budoux"}, "japanese"),
    ],
)
def test_a_missing_pack_is_an_error_with_the_line_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, pack: str, options: dict[str, Any], extra: str
) -> None:
    canonicaliser = canonicaliser_with(**options)
    monkeypatch.setattr(packs, "_installed", packs._installed.__wrapped__)  # without its cache
    monkeypatch.setitem(sys.modules, pack, None)

    for call in (canonicaliser.require_packs, lambda: canonicaliser.words("text")):
        with pytest.raises(SchemeError) as error:
            call()
        assert pack in str(error.value)
        assert "pip install" in str(error.value)
        assert str(error.value).endswith(f"(extra {extra})")
        assert "\n" not in str(error.value)


@needs_all_packs
def test_several_missing_packs_are_installed_by_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packs, "_installed", packs._installed.__wrapped__)
    for pack in ("HanTa", "pymorphy3", "py3langid"):
        monkeypatch.setitem(sys.modules, pack, None)

    line = r"pip install py3langid HanTa pymorphy3 \(extra languages, tagger, russian\)"
    with pytest.raises(SchemeError, match=rf"py3langid, HanTa, pymorphy3, .*{line}"):
        Canonicaliser(nouns=True).require_packs()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"markup": True, "keep_case": True, "keep_punctuation": True},
        {"language": "fr", "nouns": True, "drop": ("adjectives",)},
        {"language": "en", "chinese": "jieba", "japanese": "sudachipy"},
        {"language": "zh", "japanese": "budoux"},
        {"language": "ja", "chinese": "rjieba"},
    ],
)
def test_options_that_cannot_take_effect_need_no_pack(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    for pack in PACKS:
        monkeypatch.setitem(sys.modules, pack, None)

    assert Canonicaliser(**options).words("one 漢字") == ["one", "漢", "字"]
