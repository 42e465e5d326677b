"""benchmarks/fetches: the simulated sites answer what they link to, and their truth is right."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from benchmarks.data import data_folder
from benchmarks.fetches.sites import seen, unseen

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.fetches.site import Shown, Site

_SITES = [*seen.SITES, *unseen.SITES]
_MAX_URLS = 400


@pytest.fixture(scope="module")
def data() -> Path:
    try:
        return data_folder()
    except SystemExit as absent:
        pytest.skip(str(absent))


def _walk(site: Site, visit: int = 0) -> dict[str, Shown]:
    """Follow the links of a site, breadth first, as far as a test may."""
    shown: dict[str, Shown] = {}
    todo = [site.start]
    for url in todo:
        if url in shown:
            continue
        if len(shown) >= _MAX_URLS:
            break
        shown[url] = site.show(url, visit)
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


@pytest.mark.parametrize("kind", _SITES, ids=lambda kind: kind.name)
def test_what_shows_the_same_content_has_the_same_words(kind: type[Site], data: Path) -> None:
    words: dict[str, set[frozenset[str]]] = {}
    for shown in _walk(kind(1, data)).values():
        if shown.content is not None:
            found = frozenset(re.findall(r"\w+", " ".join(shown.paragraphs)))
            words.setdefault(shown.content, set()).add(found)

    assert len(words) > 50
    assert {name for name, found in words.items() if len(found) > 1} == set()


@pytest.mark.parametrize("kind", _SITES, ids=lambda kind: kind.name)
def test_a_form_is_a_form_of_itself(kind: type[Site], data: Path) -> None:
    site = kind(1, data)
    forms = {site.form(url) for url in _walk(site)}

    assert {form for form in forms if site.form(form) != form} == set()


@pytest.mark.parametrize("kind", _SITES, ids=lambda kind: kind.name)
def test_pages_are_written_as_html_with_their_links(kind: type[Site], data: Path) -> None:
    for shown in list(_walk(kind(1, data)).values())[:30]:
        assert shown.html().count("<li>") == len(shown.links)
