"""CPUs that may be used, in files as the kernel of Linux shows them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from shingling.extraction import limits
from shingling.extraction.limits import cpu_quota, usable_cpus

if TYPE_CHECKING:
    from pathlib import Path


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


@pytest.mark.parametrize(
    ("own", "files", "quota"),
    [
        ("0::/\n", {"cpu.max": "150000 100000\n"}, 1.5),
        ("0::/\n", {"cpu.max": "max 100000\n"}, None),
        ("0::/a/b\n", {"a/cpu.max": "200000 100000\n", "a/b/cpu.max": "max 100000\n"}, 2.0),
        ("0::/a/b\n", {"a/cpu.max": "200000 100000\n", "a/b/cpu.max": "50000 100000\n"}, 0.5),
        ("0::/docker/of the host\n", {"cpu.max": "300000 100000\n"}, 3.0),
        ("0::/\n", {"cpu.max": "nonsense"}, None),
    ],
)
def test_the_quota_of_a_container_is_read(
    tmp_path: Path, own: str, files: dict[str, str], quota: float | None
) -> None:
    write(tmp_path, {"own": own})
    write(tmp_path / "mounted", files)
    assert cpu_quota(tmp_path / "mounted", tmp_path / "own") == quota
    assert cpu_quota(tmp_path / "mounted", tmp_path / "absent") is None


@pytest.mark.parametrize(("quota", "expected"), [(1.5, 2), (0.2, 1), (None, 64), (100.0, 64)])
def test_a_quota_bounds_the_cpus(
    monkeypatch: pytest.MonkeyPatch, quota: float | None, expected: int
) -> None:
    monkeypatch.setattr(limits, "cpu_quota", lambda *_: quota)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(64), raising=False)
    assert usable_cpus() == expected
