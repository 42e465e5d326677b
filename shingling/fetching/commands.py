"""The command `rules`: what was learned of the URLs of sites, and a person's word on it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError

from shingling.console.opening import open_session
from shingling.console.options import flag, option, text
from shingling.console.output import (
    FOUND,
    NOT_FOUND,
    counted,
    print_json,
    print_lines,
    print_result,
    print_table,
)
from shingling.console.subcommand import HelpGroup, Subcommand

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shingling.console.options import CommandOptions
    from shingling.fetching.learning import UrlRule
    from shingling.fetching.rows import RuleCounts
    from shingling.store.session import Session

_ACTIONS = ("forget", "pin", "export")
_RUNS_LOOKED_AT = 100
_EXAMPLES = 2  # of each rule
_SHOWN = 100  # characters of a value that is refused
_WORDS = {"always": True, "never": False, "learned": None}

_OF_VALUES = ("drop-value", "one-page")

# What a URL has that a change takes away: parts of a pattern, behind its site and node.
_PATTERNS = {
    "drop-parameter": r"[^?]*\?(?:[^#]*&)?{what}(?:[=&#]|$)",
    "drop-value": r"[^?]*\?(?:[^#]*&)?{what}={other}(?:[&#]|$)",
    "drop-path-parameter": r"[^?]*;{what}(?:[=;/?#]|$)",
    "drop-last-segment": r"(?:[^?]*/)?{what}(?:[?#]|$)",
    "drop-segment": r"(?:[^?]*/)?{what}(?:[/?#]|$)",
    "one-page": r"[^?]*\?(?:[^#]*&)?{what}={other}(?:[&#]|$)",
}


def _rules(options: CommandOptions) -> int:
    if not all(one.strip() for one in options.words):
        raise UsageError("a site and a change have a name")
    action, *words = options.words or ["list"]
    if action not in (*_ACTIONS, "list"):
        action, words = "list", options.words
    site = words[0].lower().removeprefix("www.") if words else None
    change = " ".join(words[1:]) or None
    if (action == "pin") != (options.word is not None):
        raise UsageError("pin and --as always, never or learned go together")
    if (site is None and action in ("forget", "pin")) or (change is None and action == "pin"):
        raise UsageError(f"{action} takes a site and a change")
    if change is not None and action in ("list", "export"):
        raise UsageError(f"{action} takes one site at most")
    with open_session(options) as session:
        if site is not None and action == "forget":
            return _forget(options, session, site, change)
        if site is not None and change is not None:
            return _pin(options, session, site, change)
        rules = _learned(options, session, site)
        if action == "export":
            return _export(options, [rule for rule in _outermost(rules) if rule.active])
        return _list(options, session, rules, site)


def _learned(options: CommandOptions, session: Session, site: str | None) -> list[UrlRule]:
    """Rules as a crawl would know them that began now."""
    from shingling.fetching.learning import UrlLearner
    from shingling.fetching.stored_rules import read_rules

    saved: dict[str, list[RuleCounts]] = {}
    with session.reading() as connection:
        for rule in read_rules(connection, site):
            saved.setdefault(rule.site, []).append(rule)
    learner = UrlLearner(
        risk=options.settings.of_rooms["DEDUP_SKIP_RISK"], max_sites=len(saved) + 1
    )
    for name, rows in saved.items():
        learner.load(name, rows)
    found = [rule for name in saved for rule in learner.rules(name)]
    return [rule for rule in found if rule.node.startswith(options.below or "")]


def _list(options: CommandOptions, session: Session, rules: list[UrlRule], site: str | None) -> int:
    examples = _examples(session, site)
    shown = rules if options.all else _outermost(rules)
    estimate = _estimate(session)
    if options.json:
        print_json({"rules": [_as_dict(rule, examples) for rule in shown], "lost": estimate})
        return FOUND if shown else NOT_FOUND
    if not shown:
        print_lines("no rules are known" if options.all or not rules else "no rule acts: see --all")
        return NOT_FOUND
    print_table(
        ["site", "below", "change", "pages", "against", "risk", "acts", "skipped", "made"],
        [
            (
                rule.site,
                rule.node,
                rule.change,
                f"{rule.agreed:g}",
                f"{rule.contradicted:g}",
                f"{rule.risk:.2%}",
                {None: "yes" if rule.active else "no", True: "always", False: "never"}[rule.pinned],
                f"{rule.saved:,}",
                f"{rule.explored:,}",
            )
            for rule in shown
        ],
    )
    for rule in shown:
        for url, page in examples.get((rule.site, rule.change), ()):
            print_lines(f"{rule.change}: {url} is {page}")
    if estimate is not None:
        print_lines(
            f"of {estimate['tried']:,} pages that were looked at all the same,"
            f" {estimate['lost']:,} would have been lost"
            f" ({estimate['low']:.2%} to {estimate['high']:.2%})"
        )
    return FOUND


def _outermost(rules: Iterable[UrlRule]) -> list[UrlRule]:
    """Leave out rules that do not act, and those below a path at which the same one acts."""
    found: list[UrlRule] = []
    acting: set[tuple[str, str, str]] = set()
    for rule in sorted(rules, key=lambda rule: (rule.site, rule.change, rule.node)):
        above = [rule.node[:end] or "/" for end, char in enumerate(rule.node) if char == "/"]
        is_covered = any((rule.site, rule.change, one) in acting for one in above)
        if rule.active:
            acting.add((rule.site, rule.change, rule.node))
        if rule.pinned is not None or rule.saved or (rule.active and not is_covered):
            found.append(rule)
    return found


def _as_dict(rule: UrlRule, examples: dict[tuple[str, str], list[tuple[str, str]]]) -> Any:
    from dataclasses import asdict

    given = [list(pair) for pair in examples.get((rule.site, rule.change), ())]
    return {**asdict(rule), "examples": given}


def _examples(session: Session, site: str | None) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """Read requests that were skipped by one rule alone, each with its page."""
    from shingling.fetching.stored_rules import read_all_skipped

    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    with session.reading() as connection:
        for one in read_all_skipped(connection, site):
            if len(one.rules) == 1:
                pairs = found.setdefault((one.site, one.rules[0]), [])
                if len(pairs) < _EXAMPLES:
                    pairs.append((one.url, one.page))
    return found


def _estimate(session: Session) -> dict[str, Any] | None:
    """Add up what the last crawls have found out about pages that are lost."""
    from shingling.fetching.counting import interval
    from shingling.store import Store

    runs = Store(session).runs(_RUNS_LOOKED_AT)
    tried = sum(run.counts.get("fetch_tried", 0) for run in runs)
    lost = sum(run.counts.get("fetch_would_lose", 0) for run in runs)
    if not tried:
        return None
    low, high = interval(lost, tried)
    return {"tried": tried, "lost": lost, "low": round(low, 6), "high": round(high, 6)}


def _forget(options: CommandOptions, session: Session, site: str, change: str | None) -> int:
    from shingling.fetching.stored_rules import forget_rules

    number = forget_rules(session, site, change, options.below)
    line = f"{counted(number, 'rule')} forgotten"
    return print_result(options, {"forgotten": number}, line, found=bool(number))


def _pin(options: CommandOptions, session: Session, site: str, change: str) -> int:
    from shingling.fetching.learning import read_change
    from shingling.fetching.stored_rules import pin_rule

    read = read_change(change)
    if read is None:
        raise UsageError(f"{change[:_SHOWN]!r} is not a change of URLs")
    node, word = options.below or "/", options.word
    if not node.startswith("/"):
        raise UsageError("--below takes a path that begins with /")
    pin_rule(session, site, read.text, node, _WORDS[word])
    as_json = {"site": site, "change": read.text, "below": node, "pinned": word}
    return print_result(options, as_json, f"{site}{node}: {read.text}: {word}")


def _export(options: CommandOptions, rules: Iterable[UrlRule]) -> int:
    """Print patterns of URLs that rules reduce to others."""
    patterns: dict[str, None] = {}
    without: dict[str, None] = {}
    for rule in rules:
        pattern = _pattern(rule)
        if pattern is None:
            without[f"{rule.site}{rule.node}: {rule.change}"] = None
        else:
            patterns[pattern] = None
    if options.json:
        print_json({"deny": [*patterns], "without_pattern": [*without]})
    else:
        print_lines("deny = [", *(f"    {pattern!r}," for pattern in patterns), "]")
        for one in without:
            print_lines(f"no pattern says it: {one}", error=True)
    return FOUND if patterns else NOT_FOUND


def _pattern(rule: UrlRule) -> str | None:
    """Regular expression for `LinkExtractor(deny=...)`; None where the change has none."""
    kind, _, what = rule.change.partition(" ")
    if kind not in _PATTERNS:
        return None
    what, _, other = what.partition("=") if kind in _OF_VALUES else (what, "", "")
    numbers = r"\d+" if kind == "drop-last-segment" else r"\#"
    what, other = re.escape(what).replace(r"\#", numbers), re.escape(other)
    behind = _PATTERNS[kind].format(what=what, other=other)
    node = rule.node.rstrip("/")
    between = f"{re.escape(node)}(?=[/?;]|$)" if node else ""
    slash = "" if kind in ("drop-parameter", "drop-path-parameter", *_OF_VALUES) else "/"
    return rf"^https?://(?:www\.)?{re.escape(rule.site)}(?::\d+)?{between}{slash}{behind}"


COMMANDS = (
    Subcommand(
        name="rules",
        group=HelpGroup.DECIDE,
        summary="list what was learned of URLs, forget it, or say what holds",
        example="pin example.com drop-parameter sid --as always",
        options=(
            option(
                "words",
                metavar="[forget|pin|export] [SITE] [CHANGE]",
                nargs="*",
                type=text,
                help="list the rules of a site, or of all; forget them; pin a change, such as"
                " 'drop-parameter sid'; export patterns for a link extractor",
            ),
            option(
                "--below",
                metavar="PATH",
                type=text,
                help="only at this path and below (default: all)",
            ),
            option(
                "--as",
                dest="word",
                choices=[*_WORDS],
                help="pin: the change always makes the same page, or never does, or is learned"
                " again",
            ),
            flag("--all", "list also what does not act"),
        ),
        run=_rules,
    ),
)
