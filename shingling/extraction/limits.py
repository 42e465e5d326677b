"""Limits of the memory and CPUs of processes."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from math import ceil
from pathlib import Path
from typing import Any

try:
    import resource
except ImportError:  # on Windows
    resource = None  # type: ignore[assignment]  # it is a module elsewhere

_CGROUPS = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")
_STATUS = Path("/proc/self/statm")
_DATA_FIELD = 5  # of that file: pages of data and stack
_GROWN_FRACTION = 0.75  # of the limit, when no page is being extracted
_M_ARENA_MAX = -8  # of malloc.h: the number of heaps


def limit_memory(size: int) -> None:
    """Limit the memory that this process may take; what asks for more gets a MemoryError.

    Counted is what is allocated, not what is reserved or mapped from files: `RLIMIT_DATA` of
    Linux. There is no such limit on Windows, and macOS does not keep to it.

    Args:
        size: bytes; 0 is no limit.
    """
    if resource is None or not size:
        return
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    if hard != resource.RLIM_INFINITY:
        size = min(size, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (size, hard))


def share_heap() -> None:
    """Let threads share one heap, if the address space of this process is limited (`ulimit -v`).

    glibc reserves 64 MB for each thread that allocates. A process that has reserved all it may
    hangs or crashes in C, while most of it is free.
    """
    if resource is not None and resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        call_libc("mallopt", _M_ARENA_MAX, 1)


def call_libc(name: str, *arguments: int) -> None:
    """Call a function of the C library, unless Python has no ctypes or it is another library."""
    with suppress(ImportError, AttributeError):
        from ctypes import CDLL

        getattr(CDLL(None), name)(*arguments)


def limit_time(seconds: int) -> None:
    """Limit the CPU time that this process may take from now on; a TimeoutError is raised then.

    There is no such limit on Windows.
    """
    if resource is None:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = round(used.ru_utime + used.ru_stime) + seconds
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]

    def stop(*_: Any) -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (hard, hard))
        raise TimeoutError(f"it takes more than {seconds:,} seconds")

    signal.signal(signal.SIGXCPU, stop)
    soft = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def has_grown() -> bool:
    """Whether this process still holds so much memory that an ordinary page might get too little.

    What one page has left behind must not be the fault of the next one.
    """
    if resource is None:
        return False
    limit = resource.getrlimit(resource.RLIMIT_DATA)[0]
    if limit == resource.RLIM_INFINITY:
        return False
    try:
        data = int(_STATUS.read_bytes().split()[_DATA_FIELD])
    except OSError:  # not on Linux
        return False
    return data * resource.getpagesize() > _GROWN_FRACTION * limit


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
