"""Sites that may be looked at while rules are made better."""

from benchmarks.fetches.sites.seen.forum import Forum
from benchmarks.fetches.sites.seen.manual import Manual
from benchmarks.fetches.sites.seen.news import News
from benchmarks.fetches.sites.seen.shop import Shop

SITES = (Forum, Shop, News, Manual)
