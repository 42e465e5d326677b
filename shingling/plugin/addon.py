"""The add-on: `ADDONS = {"shingling.Addon": 500}` switches everything on."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from shingling.errors import SettingsError

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

PIPELINE_ORDER = 250  # before pipelines that write or replace items
SOURCE_ORDER = -1_000_000  # before all pipelines
MIDDLEWARE_ORDER = 10  # the last to see an item before the pipelines
BACKLOG_ORDER = 1  # the last to see a response
_FALSE_VALUES = ("0", "false", "no", "off")


class Addon:
    """Registers the pipelines and the middlewares that the user has not registered."""

    def update_settings(self, settings: BaseSettings) -> None:
        """Check the settings and register the components.

        Raises:
            SettingsError: a `DEDUP_*` setting is not accepted; the crawl does not start.
        """
        # Nothing else is imported for a crawl that has it switched off.
        if str(settings.get("DEDUP_ENABLED", True)).lower() in _FALSE_VALUES:
            logger.info("Dedup is switched off: DEDUP_ENABLED = False")
            return
        from shingling.plugin.middleware import (
            ITEMS_AT_ONCE,
            WEAK_PRIORITY,
            BacklogMiddleware,
            SourceMiddleware,
            SourcePipeline,
        )
        from shingling.plugin.pipeline import DedupPipeline
        from shingling.plugin.settings import DedupSettings
        from shingling.rooms import hooks

        try:
            dedup = DedupSettings.from_settings(settings)
        except SettingsError as error:
            logger.error("%s", error)
            raise
        for name, component, order in (
            ("ITEM_PIPELINES", SourcePipeline, SOURCE_ORDER),
            ("ITEM_PIPELINES", DedupPipeline, PIPELINE_ORDER),
            ("SPIDER_MIDDLEWARES", SourceMiddleware, MIDDLEWARE_ORDER),
            ("DOWNLOADER_MIDDLEWARES", BacklogMiddleware, BACKLOG_ORDER),
        ):
            settings.setdefault_in_component_priority_dict(name, component, order)
        settings.set("CONCURRENT_ITEMS", ITEMS_AT_ONCE, WEAK_PRIORITY)
        for update in hooks("update_settings"):
            update(settings, dedup)
