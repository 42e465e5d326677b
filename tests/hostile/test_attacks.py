"""Every attack has its tests."""

from __future__ import annotations

import re

import tests.hostile
from tests.support.installed import ROOT


def test_the_tests_of_every_attack_are_there() -> None:
    named = re.findall(r"\S+/test_\w+\.py", str(tests.hostile.__doc__))
    assert len(named) >= 14
    assert [name for name in named if not (ROOT / "tests" / name).is_file()] == []
