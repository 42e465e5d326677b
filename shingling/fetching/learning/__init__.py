"""Which URLs of a site would repeat a page that was fetched: learned from pages that were.

`parts` cuts a URL up, `changes` are the ways to change one, and those between two. `evidence`
weighs how often a change made no difference, below which path; `rules` has that of all changes of a
site, and applies those that act. `snapshots` keep what is compared of a page, `site_pages` finds
pages again, and `memory` is what all sites share. A page is learned from in three steps: `looking`
finds the earlier pages beside it, `judging` says which of them are the same, and `pair_evidence`
counts that for or against changes. `refetches` chooses which pages are fetched a second time, and
`traps` finds pages that lead to themselves. `site` learns of one site, `learner` has them all.
"""

from shingling.fetching.learning.changes import UrlChange, read_change
from shingling.fetching.learning.learner import UrlLearner
from shingling.fetching.learning.pages import (
    MAX_LINKS,
    Contradiction,
    FetchedPage,
    RuleCounts,
    Skip,
    UrlRule,
)
from shingling.fetching.learning.parts import site_name

__all__ = [
    "MAX_LINKS",
    "Contradiction",
    "FetchedPage",
    "RuleCounts",
    "Skip",
    "UrlChange",
    "UrlLearner",
    "UrlRule",
    "read_change",
    "site_name",
]
