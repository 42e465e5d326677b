"""Stop words, lemmas, nouns and parts of speech."""

from __future__ import annotations

import pytest

from tests.support.canonicalisers import canonicaliser_with


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("en", "The cat is on THE mat, isn't it?", ["cat", "mat"]),
        ("de", "Die Katze liegt auf der Matte", ["katze", "liegt", "matte"]),
        ("ru", "Он не был в лесу", ["лесу"]),
        ("fr", "Le chat est sur la table", ["chat", "table"]),
        ("ar", "ذهب الولد من البيت", ["ذهب", "الولد", "البيت"]),
        ("he", "הילד הלך אל הבית", ["הילד", "הלך", "הבית"]),
        ("zh", "我们的书", ["书"]),
        ("no", "Det er en fin dag", ["fin", "dag"]),
        ("nb", "Det er en fin dag", ["fin", "dag"]),
        ("xx", "The cat", ["the", "cat"]),
    ],
)
def test_the_long_list_of_the_language_drops_words(
    language: str, text: str, words: list[str]
) -> None:
    assert canonicaliser_with(language=language, stop_words="long").words(text) == words


def test_a_text_of_stop_words_has_no_words() -> None:
    assert canonicaliser_with(stop_words=True).words("The and of it was, but there they were") == []
    assert (
        canonicaliser_with(language="en", stop_words=True, lemmas="simplemma").words("It WAS the")
        == []
    )


def test_stop_words_are_found_where_case_is_kept_and_punctuation_stays() -> None:
    options = {"stop_words": True, "keep_case": True, "keep_punctuation": True}

    assert canonicaliser_with(language="en", **options).words("The Cat, AND.") == ["Cat", ",", "."]


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("en", "Running MICE were better", ["run", "mouse", "be", "good"]),
        ("de", "Die Straßen der Häuser", ["der", "strasse", "der", "haus"]),
        ("ru", "Мыши бежали домами", ["мышь", "бежать", "дом"]),
        ("fr", "les maisons étaient belles", ["le", "maison", "être", "beau"]),
        ("he", "ספרים", ["ספר"]),
        ("ar", "الكتب", ["كتاب"]),
        ("hr", "kućama", ["kuća"]),
        ("zh", "书 abc", ["书", "abc"]),
        ("xx", "Running mice", ["running", "mice"]),
    ],
)
def test_words_are_brought_to_their_lemma(language: str, text: str, words: list[str]) -> None:
    assert canonicaliser_with(language=language, lemmas="simplemma").words(text) == words


def test_lemmas_do_not_depend_on_case() -> None:
    canonicaliser = canonicaliser_with(language="de", lemmas="simplemma")
    text = "Die Häuser standen in den großen Städten"

    assert canonicaliser.words(text.upper().replace("SS", "ẞ")) == canonicaliser.words(text)


def test_russian_lemmas_are_those_of_pymorphy3() -> None:
    canonicaliser = canonicaliser_with(language="ru", drop=("prepositions",), lemmas="pymorphy3")

    assert canonicaliser.words("Текст для сравнения номер один") == [
        *["текст", "сравнение", "номер", "один"]
    ]
    assert canonicaliser.words("ещё еще ДЕТИ abc 漢") == ["ещё", "ещё", "ребёнок", "abc", "漢"]


def test_lemmas_of_other_languages_are_those_of_simplemma_with_pymorphy3_too() -> None:
    assert canonicaliser_with(language="en", lemmas="pymorphy3").words("mice ran") == [
        "mouse",
        "run",
    ]


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        (
            "en",
            "The children saw mice and houses in cities",
            ["the", "child", "saw", "mouse", "and", "house", "in", "city"],
        ),
        ("en", "CHILDREN Children running", ["child", "child", "running"]),
        (
            "de",
            "Die Häuser standen in den Städten der Länder",
            ["die", "haus", "standen", "in", "den", "stadt", "der", "land"],
        ),
        ("ru", "дети шли домами с ножницами", ["ребёнок", "шли", "дом", "с", "ножницы"]),
        ("fr", "les maisons", ["les", "maisons"]),
        ("xx", "Houses", ["houses"]),
    ],
)
def test_nouns_are_brought_to_the_singular_and_nominative(
    language: str, text: str, words: list[str]
) -> None:
    assert canonicaliser_with(language=language, nouns=True).words(text) == words


@pytest.mark.parametrize(
    ("language", "part", "text", "words"),
    [
        ("en", "adjectives", "The big old house is better", ["the", "house", "is"]),
        ("en", "conjunctions", "cats and dogs because it rains", ["cats", "dogs", "it", "rains"]),
        ("en", "determiners", "The cat of my mother", ["cat", "of", "mother"]),
        ("en", "interjections", "oh no cats", ["no", "cats"]),
        ("en", "prepositions", "cats of them in houses", ["cats", "them", "houses"]),
        ("de", "adjectives", "Das große Haus ist schön", ["das", "haus", "ist"]),
        ("de", "conjunctions", "Hund und Katze weil es regnet", ["hund", "katze", "es", "regnet"]),
        ("de", "determiners", "Die Katze sah unseren Hund", ["katze", "sah", "hund"]),
        ("de", "interjections", "ach das Haus", ["das", "haus"]),
        ("de", "prepositions", "Wir gehen mit ihm zum Haus", ["wir", "gehen", "ihm", "haus"]),
        ("ru", "adjectives", "Красивый дом высок и мой", ["дом", "и", "мой"]),
        ("ru", "conjunctions", "Дом и сад но нет", ["дом", "сад", "нет"]),
        ("ru", "determiners", "Мой красивый дом", ["красивый", "дом"]),
        ("ru", "interjections", "ох дом", ["дом"]),
        ("ru", "prepositions", "Дом у моря для нас", ["дом", "моря", "нас"]),
        ("fr", "prepositions", "dans la maison", ["dans", "la", "maison"]),
    ],
)
def test_words_of_a_part_of_speech_are_dropped(
    language: str, part: str, text: str, words: list[str]
) -> None:
    assert canonicaliser_with(language=language, drop=(part,)).words(text) == words
