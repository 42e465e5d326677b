"""What is compared of a row, what of it counts as its own, and what is said if most rows go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from shingling import Store
from shingling.bulk import Fields, Options
from shingling.errors import BulkError
from tests.support.pages import html

from .collections import random_texts, read_lines, result_of, run, write_lines

if TYPE_CHECKING:
    from pathlib import Path


def test_a_run_that_removes_most_rows_says_what_they_share(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tools, *own = random_texts(3, 41, 60)
    prompt = " ".join(f"{word} {word}s {word}x" for word in tools.split())
    rows = [{"id": f"q{at}", "text": f"{prompt} {text[:200]}"} for at, text in enumerate(own)]
    assert run(rows, tmp_path / "most").unique == 1
    [message] = caplog.messages
    assert message.startswith("Removed 39 of 40 rows, 39 of them as duplicates of one row, q0 (res")
    assert (
        "They begin with the same 180 words. If they are no copies, leave these out with"
        " --skip-words 180, name a field" in message
    )
    caplog.clear()
    run(rows, tmp_path / "100", skip_words=100)
    assert "the same 80 words" in caplog.text
    assert "--skip-words 180" in caplog.text
    caplog.clear()
    assert run(rows, tmp_path / "180", skip_words=180).unique == 40
    run(rows[:19], tmp_path / "few")
    rows = [{**row, "own": text} for row, text in zip(rows, own, strict=True)]
    run(rows, tmp_path / "own", fields=Fields(text="own"))
    assert not caplog.messages


def test_rows_with_text_of_their_own_stay_if_that_is_asked_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    said = "The office is open on working days and takes letters for all who live in the town."
    rows = [
        {"id": str(at), "text": f"Contact of clerk {at}\n{said}\nThe room is number {at}."}
        for at in range(40)
    ]
    rows.append({**rows[7], "id": "copy"})
    assert run(rows, tmp_path / "all").unique == 1
    assert "keep rows that say something of their own with --own-text keep, name" in caplog.text
    assert "--skip-words" not in caplog.text, "they begin with the same two words"
    caplog.clear()
    for own_text in ("keep", "strict"):
        assert run(rows, tmp_path / own_text, own_text=own_text).unique == 40
    assert not caplog.messages
    with pytest.raises(BulkError, match="own_text 'all' is not known"):
        Options(own_text="all")


def test_mails_above_one_quoted_thread_stay_and_known_rows_count_as_well(tmp_path: Path) -> None:
    *replies, thread = random_texts(6, 9, 30)
    thread = "\n".join([thread, *random_texts(7, 6, 40)])
    mails = [{"id": str(at), "text": f"{reply}\n{thread}"} for at, reply in enumerate(replies)]
    known = write_lines(tmp_path / "known.jsonl", mails[:3])
    assert run(mails[2:], tmp_path / "all", against=known).unique == 0
    assert run(mails[2:], tmp_path / "keep", against=known, own_text="keep").unique == 5
    with Store.open(f"sqlite:///{tmp_path / 'dedup.db'}") as store:
        run(mails[2:], tmp_path / "stored", store=store, own_text="keep")
        assert [page.status for page in store.pages()] == ["new"] * 6, "an empty store takes them"
    out = run(mails[2:], tmp_path / "next", against=tmp_path / "dedup.db", own_text="keep")
    assert (out.unique, out.exact) == (0, 6)


def test_the_option_that_helps_is_named_if_most_rows_go(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    start, end = random_texts(8, 2, 90)
    rows = [{"id": str(at), "text": f"{start} number {at} of them\n{end}"} for at in range(30)]
    run(rows, tmp_path / "out")
    assert "--own-text keep" in caplog.text
    assert "--skip-words" not in caplog.text, "the rest is alike as well"
    caplog.clear()
    rows = [{"id": str(at), "text": f"{start}{' mended' * (at % 2)} {end}"} for at in range(30)]
    run(rows, tmp_path / "mended")
    assert "--text-field" in caplog.text
    assert "--own-text" not in caplog.text, "no row says anything of its own"


def test_words_that_rows_begin_with_are_left_out_of_what_is_compared_alone(tmp_path: Path) -> None:
    prompt, own, other = random_texts(5, 3, 60)
    first = [
        {"id": "a", "text": f" {prompt}\n {own}"},
        {"id": "b", "text": f"{prompt} {other}"},
        {"id": "c", "html": html("".join(f"<p>{part}</p>" for part in (prompt, own)))},
        {"id": "d", "text": prompt},
        {"id": "e", "text": prompt},
    ]
    url = f"sqlite:///{tmp_path / 'dedup.db'}"
    with Store.open(url) as store:
        summary = run(first, tmp_path / "out", store=store, skip_words=60)
        assert [store.text(name) for name in ("a", "b")] == [own, other]
    assert (summary.unique, summary.short, summary.bad) == (4, 2, 0)
    assert read_lines(tmp_path / "out" / "kept.jsonl") == [*first[:2], *first[3:]]
    assert result_of(tmp_path / "out").removed["c"][0] == "a"

    longer = [{"id": "f", "text": f"{own} {own} {other}"}]
    copies = [{"id": "g", "text": f"{own} {other}"}, {"id": "h", "text": prompt}]
    for rows, repeated in ((longer, 0), (copies, 1)):
        for place, known in enumerate((url, f"{tmp_path}/out.jsonl")):
            out = tmp_path / f"{repeated} {place}"
            summary = run(rows, out, against=known, skip_words=60)
            assert (summary.unique, summary.repeated) == (1, repeated)


@pytest.mark.parametrize("keep", ["first", "longest"])
def test_a_list_of_messages_is_compared_as_its_texts(tmp_path: Path, keep: str) -> None:
    question, answer, other = random_texts(8, 3, 60)
    asked = {"role": "user", "content": question}
    parts = [{"type": "image_url", "image_url": {"url": "x"}}, {"type": "text", "text": question}]
    answered = [{"from": "human", "value": question}, {"from": "gpt", "value": other}]
    rows: list[dict[str, Any]] = [
        {"id": 1, "messages": [asked, {"role": "assistant", "content": answer}]},
        {"id": 2, "messages": answered},
        {"id": 3, "messages": [{"role": "user", "content": parts}, {"content": answer}]},
        {"id": 4, "messages": [{"role": "user", "content": None}, 5, "text", [asked]]},
        {"id": 5, "messages": f"{question}\n{answer}"},
    ]
    summary = run(rows, tmp_path / "out", fields=Fields(text="messages"), keep=keep)
    assert (summary.unique, summary.exact, summary.without_text) == (3, 2, 1)
    assert read_lines(tmp_path / "out" / "kept.jsonl") == [*rows[:2], rows[3]]
    with pytest.raises(BulkError, match="name one with --text-field, such as --text-field mess"):
        run(rows, tmp_path / "no field")
