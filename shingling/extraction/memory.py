"""The memory of a worker process: how much it may take, and when it has taken too much to go on."""

from __future__ import annotations

from pathlib import Path

try:
    import resource
except ImportError:  # on Windows
    resource = None  # type: ignore[assignment]

_STATUS = Path("/proc/self/statm")
_DATA_FIELD = 5  # of that file: pages of data and stack
_GROWN_FRACTION = 0.75  # of the limit, when no page is being extracted


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
