"""The simulated sites."""

from benchmarks.fetches.sites.languages import Languages
from benchmarks.fetches.sites.mixed import Mixed
from benchmarks.fetches.sites.shop import Shop
from benchmarks.fetches.sites.versions import Versions
from benchmarks.fetches.sites.wiki import Wiki

SITES = (Languages, Versions, Wiki, Mixed, Shop)
