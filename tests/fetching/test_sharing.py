"""What is learned of URLs is read from the store once a site, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import gc
from types import SimpleNamespace
from typing import Any

from scrapy.settings import Settings

from shingling import Addon
from shingling.fetching.sharing import SharedLearner
from shingling.plugin.settings import DedupSettings


def tasks() -> int:
    """Tasks that somebody still has, ended or not."""
    return sum(isinstance(one, asyncio.Task) for one in gc.get_objects())


def test_the_sites_of_a_crawl_leave_no_tasks_behind() -> None:
    settings = Settings({"DEDUP_FETCH": "skip"})
    Addon().update_settings(settings)
    crawler: Any = SimpleNamespace(get_item_pipeline=lambda _: None, spider=None)

    async def read_many() -> int:
        shared = SharedLearner(crawler, DedupSettings.from_settings(settings))
        before = tasks()
        for number in range(50):
            await shared.known(f"https://s{number}.example/")
            assert shared.learner.is_known(f"s{number}.example")
        return tasks() - before

    # That which has opened the store is kept.
    assert asyncio.run(read_many()) == 1
