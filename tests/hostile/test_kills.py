"""A process that is killed at any moment loses nothing that was done, and can go on."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from benchmarks.hostile.kills import WORKS, killed

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.parametrize("name", WORKS)
def test_what_was_killed_leaves_a_sound_store_and_ends_as_without_a_kill(
    name: str, tmp_path: Path
) -> None:
    found = killed(tmp_path / "stores", name, times=2)
    assert found.met, found
