"""How many CPUs this process may use."""

from __future__ import annotations

import os
from math import ceil
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")


def usable_cpus() -> int:
    """Count the CPUs that this process may use: by its affinity and the limit of its container."""
    cpus = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        cpus = len(os.sched_getaffinity(0))
    quota = cpu_quota(_CGROUPS, _OWN)
    return cpus if quota is None else max(1, min(cpus, ceil(quota)))


def cpu_quota(cgroups: Path, own: Path) -> float | None:
    """CPUs that control groups of Linux leave to this process; None is all.

    Args:
        cgroups: where they are mounted, version 2 or 1.
        own: the file that names those of this process.
    """
    quotas = []
    for line in _read(own).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers not in ("", "cpu", "cpu,cpuacct"):
            continue
        root = cgroups / controllers
        # In a container, the path may be that of the host: then the mount itself is ours.
        group = root / path.strip("/")
        for folder in (group, *group.parents):
            if folder == root.parent:
                break
            used, period = _limit(folder, new=not controllers)
            if used > 0 and period > 0:
                quotas.append(used / period)
    return min(quotas, default=None)


def _limit(folder: Path, *, new: bool) -> tuple[int, int]:
    """Microseconds of CPU, and of the period that they are for; 0 or less is no limit."""
    if new:
        parts = _read(folder / "cpu.max").split()
    else:
        parts = [_read(folder / f"cpu.cfs_{name}_us").strip() for name in ("quota", "period")]
    try:
        used, period = map(int, parts)
    except ValueError:  # "max", or no such file
        return 0, 0
    return used, period


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return ""
