"""The mark of lines that are links alone is for comparing: nobody gets it, but for exports."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from shingling.admin.transfer import export
from shingling.similarity.own_text import own_passage
from shingling.text import LINK_MARK
from shingling.web.pairs import read_pair
from tests.store.decide.templates.pages import A, article, page
from tests.support.commands import dedup_command
from tests.support.stores import session_of, url_of

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from shingling import Store

PRINT = "Print this page"
LINK = f"{PRINT}{LINK_MARK}"


def test_marks_of_links_reach_nobody_but_the_reader_of_an_export(
    store: Store, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.check([page(f"{A}{at}", article(f"{at}"), [LINK], title=f"{at}") for at in range(20)])
    store.check([page(f"{A}copy", article("0"), [LINK], title="0")])
    split = store.split_text(store.find(f"{A}0")[0])
    assert split is not None
    assert split.template == (PRINT,)
    assert split.whole == store.text(f"{A}0") == "\n".join([*article("0"), PRINT])
    assert LINK_MARK not in "".join(store.texts()) + split.compared
    pair = read_pair(session_of(store), f"{A}0", f"{A}copy")
    assert pair.left.text is not None
    assert pair.left.text.template == (PRINT,)
    for command in ("show", "compare"):
        urls = [f"{A}0", f"{A}copy"][: 1 + (command == "compare")]
        options = ["--text"] if command == "show" else ["--explain", "--diff"]
        for form in ([], ["--json"]):
            where = ("--store", url_of(file))
            done = dedup_command(monkeypatch, command, *urls, *options, *form, *where)
            assert done.code == 0, done
            assert PRINT in done.out
            assert LINK_MARK not in done.out
            assert json.dumps(LINK_MARK)[1:-1] not in done.out
    assert LINK in "".join(str(record.fields.get("text")) for record in export(session_of(store)))


def test_lines_that_are_shown_have_no_marks() -> None:
    passage = own_passage(["We open at 9 on all days"], [f"We open at 8 on all days{LINK_MARK}"], 5)
    assert passage is not None
    assert passage.other == "We open at 8 on all days"
