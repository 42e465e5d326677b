"""What long commands tell of their progress on standard error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shingling.console.progress import progress_bar

if TYPE_CHECKING:
    import pytest


def test_without_a_terminal_each_phase_has_a_line_and_long_ones_have_more_where_it_is_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with progress_bar("rows", seconds_between_lines=1e-9) as show:
        show("signing", 0, 0.0)
        show("signing", 1500, 0.5)
        show("sorting", 0, None)
        show("sorting", 20, None)
    first, signing, second, sorting = capsys.readouterr().err.splitlines()
    assert (first, second) == ("signing ...", "sorting ...")
    assert signing.startswith("signing: 1,500 rows, ")
    assert signing.endswith(" rows/s, 50%")
    assert sorting.startswith("sorting: 20 rows, ")
    with progress_bar("rows", seconds_between_lines=3600) as show:
        for done in range(100):
            show("signing", done, done / 100)
    assert capsys.readouterr().err == "signing ...\n"
    with progress_bar("pages") as show:
        show("export", 1, 0.5)
    assert capsys.readouterr().err == "", "most commands are silent"
