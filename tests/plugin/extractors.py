"""An extractor that misbehaves as the page asks for; worker processes import it."""

from __future__ import annotations

import os
import time


def awkward(html: str, url: str | None) -> str | None:
    if "hang" in html:
        time.sleep(3600)
    if "die" in html:
        os._exit(1)
    return html
