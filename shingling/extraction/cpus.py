"""How many CPUs this process may use."""

from __future__ import annotations

import os
from contextlib import suppress
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
    """CPUs that control groups of Linux, version 2, leave to this process; None is all.

    Args:
        cgroups: where they are mounted.
        own: the file that names that of this process.
    """
    quotas = []
    for line in _read(own).splitlines():
        if not line.startswith("0::"):  # version 1
            continue
        # In a container, the path may be that of the host: then the mount itself is ours.
        group = cgroups / line.removeprefix("0::").strip("/")
        for folder in (group, *group.parents):
            if folder == cgroups.parent:
                break
            with suppress(ValueError):  # "max", or no such file
                used, period = map(int, _read(folder / "cpu.max").split())
                quotas.append(used / period)
    return min(quotas, default=None)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return ""
