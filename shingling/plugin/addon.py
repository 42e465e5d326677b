"""The add-on: `ADDONS = {"shingling.Addon": 500}` switches everything on."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from shingling.errors import SettingsError
from shingling.plugin.carrier import ResponseCarrier
from shingling.plugin.pipeline import DedupPipeline
from shingling.plugin.settings import DedupSettings

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

PIPELINE_ORDER = 250  # before pipelines that write or replace items
MIDDLEWARE_ORDER = 10  # the last to see an item before the pipelines


class Addon:
    """Registers the item pipeline and the spider middleware, where the user has not."""

    def update_settings(self, settings: BaseSettings) -> None:
        """Check the settings and register the components.

        Raises:
            SettingsError: a `DEDUP_*` setting is not accepted; the crawl does not start.
        """
        try:
            if not DedupSettings.read(settings).enabled:
                return
        except SettingsError as error:
            logger.error("%s", error)
            raise
        settings.setdefault_in_component_priority_dict(
            "ITEM_PIPELINES", DedupPipeline, PIPELINE_ORDER
        )
        settings.setdefault_in_component_priority_dict(
            "SPIDER_MIDDLEWARES", ResponseCarrier, MIDDLEWARE_ORDER
        )
