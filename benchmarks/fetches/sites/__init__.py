"""The simulated sites."""

from benchmarks.fetches.sites.board import Board
from benchmarks.fetches.sites.collections import Collections
from benchmarks.fetches.sites.documentation import Documentation
from benchmarks.fetches.sites.forum import Forum
from benchmarks.fetches.sites.languages import Languages
from benchmarks.fetches.sites.manual import Manual
from benchmarks.fetches.sites.mixed import Mixed
from benchmarks.fetches.sites.news import News
from benchmarks.fetches.sites.shop import Shop
from benchmarks.fetches.sites.versions import Versions
from benchmarks.fetches.sites.wiki import Wiki

SITES = (
    *(Forum, Shop, News, Manual, Languages, Versions, Wiki, Mixed),
    *(Collections, Board, Documentation),
)
