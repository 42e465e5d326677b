"""Sites that are for reports alone: nothing is tuned on them."""

from benchmarks.fetches.sites.unseen.languages import Languages
from benchmarks.fetches.sites.unseen.mixed import Mixed
from benchmarks.fetches.sites.unseen.versions import Versions
from benchmarks.fetches.sites.unseen.wiki import Wiki

SITES = (Languages, Versions, Wiki, Mixed)
