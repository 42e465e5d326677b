"""The command `rules`: what was learned of the URLs of sites."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from shingling.console.opening import open_session
from shingling.console.options import ONLY_ONE, flag, option, site
from shingling.console.output import (
    FOUND,
    NOT_FOUND,
    counted,
    print_json,
    print_lines,
    print_table,
)
from shingling.console.subcommand import HelpGroup, Subcommand

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from shingling.console.options import CommandOptions
    from shingling.fetching.learning import UrlRule

# What a URL has that a change takes away: parts of a pattern, behind its site and node.
_PATTERNS = {
    "drop-parameter": r"[^?]*\?(?:[^#]*&)?{what}(?:[=&#]|$)",
    "drop-value": r"[^?]*\?(?:[^#]*&)?{what}(?:[&#]|$)",
    "drop-path-parameter": r"[^?]*;{what}(?:[=;/?#]|$)",
    "drop-last-segment": r"/(?:[^?]*/)?{what}(?:[?#]|$)",
    "drop-segment": r"/(?:[^?]*/)?{what}(?:[/?#]|$)",
    "one-page": r"[^?]*\?(?:[^#]*&)?{what}(?:[&#]|$)",
}


def _rules(options: CommandOptions) -> int:
    from shingling.fetching.counting import lost
    from shingling.fetching.savings import counts_of_runs, known_learner, outermost

    with open_session(options) as session:
        rules = known_learner(session, options.settings.of_rooms, options.site).rules()
        counts = counts_of_runs(session)
    if options.format:
        return _print_for_discarder(rules)
    if options.patterns:
        return _print_patterns(options, [rule for rule in outermost(rules) if rule.active])
    shown = rules if options.all else outermost(rules)
    estimate = _estimate(counts)
    if options.json:
        print_json({"rules": [*map(asdict, shown)], "lost": estimate})
        return FOUND if shown else NOT_FOUND
    if not shown:
        print_lines("no rules are known" if options.all or not rules else "no rule acts: see --all")
        return NOT_FOUND
    print_table(
        ["site", "below", "change", "pages", "against", "risk", "acts", "repeats", "made"],
        [
            (
                rule.site,
                rule.node,
                rule.change,
                f"{rule.agreed:g}",
                f"{rule.contradicted:g}",
                f"{rule.risk:.2%}",
                "yes" if rule.active else "no",
                f"{rule.saved:,}",
                f"{rule.explored:,}",
            )
            for rule in shown
        ],
    )
    if estimate is not None:
        print_lines(lost(estimate["lost"], estimate["checked"]))
    return FOUND


def _site(value: str) -> str:
    """Take a site as rules name it: with a port that is not the usual one."""
    from w3lib.url import safe_url_string

    from shingling.fetching.learning import site_name

    site(value)
    return site_name(safe_url_string(f"http://{value.split('://', 1)[-1]}"))


def _estimate(counts: Mapping[str, int]) -> dict[str, Any] | None:
    """Estimate how many pages are lost, from what the last crawls have counted."""
    from shingling.proportions import Proportion

    tried, lost = counts["fetch_checked"], counts["fetch_would_lose"]
    if not tried:
        return None
    share = Proportion.of(lost, tried)
    return {
        "checked": tried,
        "lost": lost,
        "low": round(share.low, 6),
        "high": round(share.high, 6),
    }


def _print_patterns(options: CommandOptions, rules: Iterable[UrlRule]) -> int:
    """Print patterns of URLs that rules reduce to others."""
    found = [(_pattern(rule), f"{rule.site}{rule.node}: {rule.change}") for rule in rules]
    patterns = [*dict.fromkeys(pattern for pattern, _ in found if pattern)]
    without = [*dict.fromkeys(name for pattern, name in found if not pattern)]
    if options.json:
        print_json({"deny": patterns, "without_pattern": without})
    else:
        print_lines("deny = [", *(f"    {pattern!r}," for pattern in patterns), "]")
        for rule in without:
            print_lines(f"no pattern for: {rule}", error=True)
    return FOUND if patterns else NOT_FOUND


def _print_for_discarder(rules: Iterable[UrlRule]) -> int:
    """Print a file for duplicate-url-discarder: rules of folders in which all speaks for them."""
    acts: dict[tuple[str, str, str], bool] = {}
    for rule in rules:
        folder = rule.site, rule.change, f"/{rule.node.split('/')[1]}"
        acts[folder] = acts.get(folder, True) and rule.active
    # Scrapy sorts parameters before it compares URLs.
    acting = [rule for rule in acts if acts[rule] and rule[1] != "sort-parameters"]
    written = [_for_discarder(*rule) for rule in acting if rule[1].startswith("drop-parameter ")]
    print_json(written)
    if left_out := len(acting) - len(written):
        print_lines(f"{counted(left_out, 'rule')} of other kinds left out", error=True)
    return FOUND if written else NOT_FOUND


def _for_discarder(site: str, change: str, folder: str) -> dict[str, Any]:
    """Write a rule in its format: in a pattern, `*` is any text, and `|` ends the path."""
    name = change.partition(" ")[2]
    # Behind a folder: nothing, what is in it, or path parameters.
    ends = "|" if folder == "/" else ("|", "/", ";*")
    include = [f"{site}{folder}{end}?{name}=*" for end in ends]
    return {
        "args": [name],
        "order": 100,
        "processor": "queryRemoval",
        "urlPattern": {"include": include},
    }


def _pattern(rule: UrlRule) -> str | None:
    """Regular expression for `LinkExtractor(deny=...)`; None if the change has none."""
    kind, _, what = rule.change.partition(" ")
    if kind not in _PATTERNS:
        return None
    what = re.escape(what)
    if kind == "drop-last-segment":
        what = what.replace(r"\#", r"\d+")
    behind = _PATTERNS[kind].format(what=what)
    node = rule.node.rstrip("/")
    between = f"{re.escape(node)}(?=[/?;]|$)" if node else ""
    return rf"^https?://(?:www\.)?{re.escape(rule.site)}(?::80|:443)?{between}{behind}"


COMMANDS = (
    Subcommand(
        name="rules",
        group=HelpGroup.DECIDE,
        summary="list what was learned of URLs",
        example="example.com",
        options=(
            option(
                "site",
                "only of this host, or of that of a URL (default: of all)",
                nargs="?",
                type=_site,
            ),
            flag("--all", "list also what does not act"),
            flag("--patterns", "print regular expressions for a link extractor instead", ONLY_ONE),
            option(
                "--format",
                "print the rules as a file for duplicate-url-discarder instead",
                choices=("dud",),
                group=ONLY_ONE,
            ),
        ),
        run=_rules,
    ),
)
