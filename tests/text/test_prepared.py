from __future__ import annotations

import pickle

import pytest

from shingling.text import Canonicaliser, PreparedText, canonical_words, split_blocks

TEXT = "Bridge reopens\n\nThe bridge over the river was opened again.\n***\nCafé 24\n桥又开放了"


def test_a_prepared_text_has_its_blocks_with_their_words_and_characters() -> None:
    text = PreparedText(TEXT).ready(Canonicaliser())
    lines, keys = split_blocks(TEXT)

    assert text.lines == lines
    assert text.keys.tolist() == keys.tolist()
    assert text.characters.tolist() == [*map(len, lines)]
    assert text.words is not None
    assert text.words.tolist() == [2, 8, 0, 2, 5]
    assert text.words.sum() == len(canonical_words(TEXT))


def test_another_process_gets_all_but_the_text_which_it_unpacks_when_it_is_needed() -> None:
    text = PreparedText(TEXT).ready(Canonicaliser())
    sent = pickle.loads(pickle.dumps(text))  # noqa: S301 (ours)

    assert {"text", "lines"}.isdisjoint(vars(sent))
    assert sent.packed == text.packed
    assert sent.keys.tolist() == text.keys.tolist()
    assert sent.words is not None
    assert "text" not in vars(sent)
    assert sent.text == TEXT
    assert sent == text
    assert hash(sent) == hash(text)


def test_a_text_that_was_not_made_ready_is_packed_when_it_is_sent() -> None:
    assert pickle.loads(pickle.dumps(PreparedText(TEXT))).text == TEXT  # noqa: S301 (ours)


def test_a_packed_text_is_the_same_again() -> None:
    again = PreparedText.unpacked(PreparedText(TEXT).packed)

    assert again.text == TEXT
    assert again.lines == PreparedText(TEXT).lines
    assert again != PreparedText(f"{TEXT} ")


def test_what_utf_8_cannot_have_becomes_a_question_mark() -> None:
    assert PreparedText.unpacked(PreparedText("a\ud800b").packed).text == "a?b"


@pytest.mark.parametrize(
    "canonical",
    [
        Canonicaliser(markup=True),
        Canonicaliser(keep_punctuation=True),
        Canonicaliser(language="en", stop_words=True),
    ],
)
def test_words_of_blocks_are_not_counted_where_they_may_not_add_up(
    canonical: Canonicaliser,
) -> None:
    assert PreparedText(TEXT).ready(canonical).words is None


def test_an_empty_text_has_no_blocks() -> None:
    text = PreparedText(" \n").ready(Canonicaliser())

    assert (len(text.keys), len(text.characters), text.lines) == (0, 0, [])
