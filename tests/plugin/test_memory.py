"""A crawl gives memory back that it does not use."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

from tests.support.installed import ROOT

HELD = 40_000  # kB that are freed, and that the C library holds

CRAWL = """
import asyncio, re
from collections import deque
from pathlib import Path

from scrapy.settings import Settings

from shingling import Addon
from shingling.plugin.items.store_thread import StoreThread
from shingling.plugin.settings import DedupSettings
from shingling.store.model import Page

settings = Settings({"DEDUP_STORE_URL": "sqlite://"})
Addon().update_settings(settings)


def held():
    return int(re.search(r"VmRSS:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])


async def main():
    store = StoreThread(DedupSettings.from_settings(settings), deque())
    await store.open("spider", {})
    blocks = [bytes(100_000) for _ in range(1_000)]
    del blocks[:-1]  # what is above the others keeps the C library from giving them back
    full = held()
    await store.check(Page("https://a.example/", "Snow closed the road."))
    print(full - held())
    await store.close("finished")


asyncio.run(main())
"""


@pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "malloc_trim"),
    reason="the C library is not glibc",
)
def test_a_crawl_gives_free_memory_back() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CRAWL], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert int(done.stdout) > HELD
