"""Extractors of a user's own; worker processes import them."""

from __future__ import annotations

import os
import time

import shingling


def awkward(html: str, url: str | None) -> str | None:
    if "hang" in html:
        time.sleep(3600)
    if "busy" in html:
        end = time.process_time() + float(html.split("busy ")[1].split()[0])
        while time.process_time() < end:
            pass
    if "sleep" in html:
        time.sleep(float(html.split("sleep ")[1].split()[0]))
    if "die" in html:
        os._exit(1)
    return html


def plain(html: str, url: str | None) -> str | None:
    return shingling.extract(html, url)
