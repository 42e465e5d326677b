"""benchmarks/fetches: the simulated sites answer what they link to, and their truth is right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks.data import data_folder
from benchmarks.fetches.sites.articles import Mixed, Wiki
from benchmarks.fetches.sites.shops import Shop

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.fetches.site import Shown, Site

_SITES = (Mixed, Shop, Wiki)  # the others need the main texts of many pages
_MAX_URLS = 400


@pytest.fixture(scope="module")
def data() -> Path:
    try:
        return data_folder()
    except SystemExit as absent:
        pytest.skip(str(absent))


def _walk(site: Site) -> dict[str, Shown]:
    """Follow the links of a site, breadth first, as far as a test may."""
    shown: dict[str, Shown] = {}
    todo = [site.start]
    for url in todo:
        if url in shown:
            continue
        if len(shown) >= _MAX_URLS:
            break
        shown[url] = site.show(url, 0)
        location = shown[url].location
        todo += shown[url].links if location is None else (location,)
    return shown


@pytest.mark.parametrize("kind", _SITES, ids=lambda kind: kind.name)
def test_one_seed_gives_one_site_and_another_seed_another(kind: type[Site], data: Path) -> None:
    first, same, other = (_walk(kind(seed, data)) for seed in (1, 1, 2))

    assert first == same
    assert first != other


@pytest.mark.parametrize("kind", _SITES, ids=lambda kind: kind.name)
def test_urls_of_one_form_show_one_content(kind: type[Site], data: Path) -> None:
    site = kind(1, data)
    contents: dict[str, set[str | None]] = {}
    for url, shown in _walk(site).items():
        if shown.location is None:
            contents.setdefault(site.form(url), set()).add(shown.content)

    assert {form: found for form, found in contents.items() if len(found) > 1} == {}
