"""Rules that pages are decided by."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from typing import TypedDict

from shingling.errors import ArgumentError, SettingsError, require_accepted
from shingling.rules import (
    DEFAULT_METHOD,
    DEFAULT_MIN_WORDS,
    DEFAULT_SIMHASH_DISTANCE,
    DEFAULT_THRESHOLD,
    MAX_SIMHASH_DISTANCE,
    METHODS,
    MOVING_LINES,
    OWN_TEXT,
    TITLES,
)

_CHOICES = {"own_text": OWN_TEXT, "titles": TITLES, "moving_lines": MOVING_LINES}
_NOT_IN_HOSTS = frozenset("/:@?#* ")

_require = partial(require_accepted, error=SettingsError)


@dataclass(frozen=True)
class Rules:
    """How a page is decided.

    Args:
        threshold: resemblance at or above which a page is a near-duplicate, 0 < t <= 1, for
            the methods that measure it.
        min_words: shorter texts match only exactly, and under the same title; with the method
            `exact`, also if neither page has a title.
        method: name of one of `shingling.rules.METHODS`, which say how each decides.
        simhash_distance: bits in which the SimHashes of near-duplicates differ at most, 0 to 7.
        containment: share of a page's shingles from which on it is a piece of another; None
            does not look for pieces.
        original_max_age_days: originals not seen for longer do not count; None is for ever.
        store_text: keep the texts, which lets verdicts be measured exactly.
        templates: measure texts without what the pages of their sites have in common; without
            `store_text` it has no effect.
        fields: own fields of items that duplicates have in common: "auto", by the rule of
            `shingling.rules.own_fields.differing`; or names of fields, which must be equal on
            every site. An empty tuple: none.
        ignore_fields: names of fields that say nothing.
        own_text: what of its text keeps a page that resembles an original of its site: "keep",
            other numbers and passages; "strict", any changed line; "ignore", nothing. Without
            `store_text` it has no effect.
        titles: whether another title makes another page: "count"; "ignore", the texts decide, but
            short texts still need equal titles.
        moving_lines: what becomes of a page that is met again, and has changed only in lines that
            move from crawl to crawl: "count", it has changed; "ignore", it is unchanged. Without
            `store_text` or `templates` it has no effect.
        prefer_sites: hosts, in lower case and without `www.`. Their pages are never duplicates
            of pages of other sites, nor of those of a site that stands further down.

    Raises:
        SettingsError: a value that is not accepted, or values that contradict each other.
    """

    threshold: float = DEFAULT_THRESHOLD
    min_words: int = DEFAULT_MIN_WORDS
    method: str = DEFAULT_METHOD
    original_max_age_days: float | None = None
    store_text: bool = True
    simhash_distance: int = DEFAULT_SIMHASH_DISTANCE
    containment: float | None = None
    templates: bool = True
    fields: str | tuple[str, ...] = "auto"
    ignore_fields: tuple[str, ...] = ()
    own_text: str = OWN_TEXT[0]
    titles: str = TITLES[0]
    moving_lines: str = MOVING_LINES[0]
    prefer_sites: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _require(self.method in METHODS, "method", self.method, " or ".join(METHODS))
        distance = self.simhash_distance
        is_distance = type(distance) is int and 0 <= distance <= MAX_SIMHASH_DISTANCE
        _require(is_distance, "simhash distance", distance, f"0 to {MAX_SIMHASH_DISTANCE} bits")
        _require(_is_share(self.threshold), "threshold", self.threshold, "above 0, at most 1")
        is_minimum = type(self.min_words) is int and self.min_words >= 0
        _require(is_minimum, "min_words", self.min_words, "a whole number from 0 on")
        for name, accepted in _CHOICES.items():
            value = getattr(self, name)
            _require(value in accepted, name, value, " or ".join(accepted))
        days = self.original_max_age_days
        is_age = days is None or (_is_number(days) and days > 0)
        _require(is_age, "original_max_age_days", days, "a number above 0, or None")
        if self.fields != "auto":
            object.__setattr__(self, "fields", _names("fields", self.fields))
        object.__setattr__(self, "ignore_fields", _names("ignore_fields", self.ignore_fields))
        sites = tuple(map(host_name, _names("prefer_sites", self.prefer_sites)))
        are_hosts = all(site == site.lower().removeprefix("www.").lstrip(".") for site in sites)
        are_hosts = are_hosts and _NOT_IN_HOSTS.isdisjoint("".join(sites))
        _require(are_hosts, "prefer_sites", sites, "hosts such as example.com, without www.")
        object.__setattr__(self, "prefer_sites", sites)
        for name in ("store_text", "templates"):
            value = getattr(self, name)
            _require(isinstance(value, bool), name, value, "True or False")
        if self.containment is None:
            return
        _require(_is_share(self.containment), "containment", self.containment, "above 0, at most 1")
        if not self.store_text:
            raise SettingsError(
                "containment (DEDUP_CONTAINMENT) is measured on stored texts: it needs store_text"
                " (DEDUP_STORE_TEXT = True)"
            )
        if not self.finds_near:
            raise SettingsError(
                f"containment (DEDUP_CONTAINMENT) needs a method other than {self.method}"
            )

    @property
    def least_resemblance(self) -> float | None:
        """Resemblance that the threshold asks for; None if the method does not ask for one."""
        return self.threshold if METHODS[self.method].threshold else None

    @property
    def finds_near(self) -> bool:
        """Whether near-duplicates are looked for, and not exact ones only."""
        return METHODS[self.method].keys is not None

    @property
    def deciding(self) -> str:
        """What decides, as JSON: pages that were decided by something else are decided again."""
        values = asdict(self)
        del values["store_text"], values["moving_lines"]
        # Pages that an earlier release has decided stand as they do.
        if not self.prefer_sites:
            del values["prefer_sites"]
        if self.titles == TITLES[0]:
            del values["titles"]
        return json.dumps(values, sort_keys=True)

    def rank(self, site: str) -> int:
        """Place of a site among those that are preferred; that of all others is the last."""
        sites = self.prefer_sites
        return sites.index(site) if site in sites else len(sites)

    @classmethod
    def given(cls, rules: Rules | None, single: RuleValues) -> Rules | None:
        """Take rules that are given whole or one by one; None if there are none.

        Raises:
            SettingsError: both were given, or a value is not accepted.
            ArgumentError: there is no rule of a name.
        """
        for name in single.keys() - RuleValues.__annotations__.keys():
            names = ", ".join(RuleValues.__annotations__)
            raise ArgumentError(f"{name} is no argument of Store.open, nor a rule: {names}")
        if rules is None:
            return cls(**single) if single else None
        if single:
            raise SettingsError(f"rules were given, and {', '.join(single)} besides")
        return rules


class RuleValues(TypedDict, total=False):
    """Values of `Rules` by name."""

    threshold: float
    min_words: int
    method: str
    original_max_age_days: float | None
    store_text: bool
    simhash_distance: int
    containment: float | None
    templates: bool
    fields: str | tuple[str, ...]
    ignore_fields: tuple[str, ...]
    own_text: str
    titles: str
    moving_lines: str
    prefer_sites: tuple[str, ...]


def host_name(host: str) -> str:
    """Write a host as URLs have it: in ASCII (`xn--…`), and without a dot at its end."""
    if not host.isascii():
        with suppress(UnicodeError):  # it is no host that anything could be fetched from
            host = host.encode("idna").decode()
    return host.removesuffix(".")


def _names(name: str, value: object) -> tuple[str, ...]:
    are_names = isinstance(value, (list, tuple)) and all(isinstance(x, str) and x for x in value)
    _require(are_names, name, value, "a tuple of names of fields")
    return tuple(value)  # type: ignore[arg-type]  # a list or tuple, as was just checked


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_share(value: float) -> bool:
    return _is_number(value) and 0 < value <= 1
