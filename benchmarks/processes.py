"""Crawls in processes of their own, what they print, and the memory that processes take."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil

ROOT = Path(__file__).parent.parent


def run_scrapy(*arguments: str, folder: Path = ROOT, **environment: str) -> str:
    """Run `scrapy crawl`, and return its log.

    Args:
        arguments: of the command.
        folder: in which it runs.
        environment: is added to that of this process.

    Raises:
        SystemExit: it has failed; the message is the end of its log.
    """
    done = subprocess.run(
        [sys.executable, "-m", "scrapy", "crawl", *arguments, "-L", "INFO"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stdout[-500:] + done.stderr[-3000:])
    return done.stderr


def stats_of(log: str) -> dict[str, float]:
    """Return the stats at the end of a log that are numbers."""
    found = re.findall(r"'([\w/]+)': ([\d.]+)(?=[,}]$)", log, re.MULTILINE)
    return {name: float(value) for name, value in found}


def memory_of(pid: int | None = None) -> float:
    """Return MB of a process (this one) and of all below it; pages that they share count once."""
    used = 0
    for process in _family(pid):
        try:
            memory = process.memory_full_info()
        except psutil.Error:  # it is gone
            continue
        used += getattr(memory, "pss", memory.rss)
    return used / 1e6


def cpu_of(pid: int) -> dict[int, float]:
    """Return CPU seconds of a process and of all below it that run now, by their numbers."""
    used = {}
    for process in _family(pid):
        with suppress(psutil.Error):  # it is gone
            times = process.cpu_times()
            used[process.pid] = times.user + times.system
    return used


def _family(pid: int | None) -> list[psutil.Process]:
    try:
        own = psutil.Process(pid)
        return [own, *own.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []
