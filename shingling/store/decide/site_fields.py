"""Which own fields of items tell the pages of a site apart.

Where nothing else of a page has changed, a field that differs says nothing of the page: a counter
of views, random neighbours. The store counts, for each field of a site, how often it differed and
how often it did not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from sqlalchemy import select, text

from shingling.rules.own_fields import BODY_BYTES, body_of, name_key, unpack
from shingling.store.schema.statements import among
from shingling.store.schema.tables import site_fields
from shingling.text import clean

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from sqlalchemy import Connection

    from shingling.rules.own_fields import OwnFields
    from shingling.store.schema.rows import Row

_MAX_FIELDS_OF_SITE = 1_000
_MAX_NAME = 100  # characters
_MAX_SITE = 253  # characters of a host
_ENOUGH = 100  # looks at a field; it is counted no further
_LEAST_DIFFERED, _SELDOM_SAME = 3, 9  # a field that says nothing differs 9 times as often as not

_unpacked = lru_cache(16)(unpack)  # the fields of a page are compared with those of many others

_READ = select(site_fields).where(among(site_fields.c.site))
_WRITE = text(
    f"INSERT INTO {site_fields} (site, name_key, name, differed, same)"  # noqa: S608 (ours)
    " VALUES (:site, :name_key, :name, :differed, :same) ON CONFLICT (site, name_key)"
    " DO UPDATE SET differed = excluded.differed, same = excluded.same"
)


@dataclass
class _Field:
    """A field of a site's items: its name, and how often it differed where nothing else did."""

    name: str
    differed: int = 0
    same: int = 0

    @property
    def says_nothing(self) -> bool:
        return self.differed >= max(_LEAST_DIFFERED, _SELDOM_SAME * self.same)

    def count(self, *, same: bool) -> bool:
        """Count one look at the field; False if it was looked at often enough."""
        if self.differed + self.same >= _ENOUGH:
            return False
        self.same += same
        self.differed += not same
        return True


@dataclass
class SiteFields:
    """The fields of the sites that one batch meets.

    Args:
        connection: of the transaction.
        names: fields that must be equal on every site; None: on one site, all that say something.
    """

    connection: Connection
    names: Collection[str] | None
    _sites: dict[str, dict[bytes, _Field]] = field(default_factory=dict)
    _changed: set[tuple[str, bytes]] = field(default_factory=set)

    def read(self, sites: Iterable[str]) -> None:
        """Read what is known of sites."""
        wanted = {*sites} - self._sites.keys()
        if not wanted:
            return
        self._sites.update((site, {}) for site in wanted)
        for row in self.connection.execute(_READ, {"values": [*wanted]}):
            self._sites[row.site][row.name_key] = _Field(row.name, row.differed, row.same)

    def note_names(self, site: str, fields: OwnFields) -> None:
        """Keep the names of the fields of an item."""
        known = self._of(site)
        for name in fields:
            key = name_key(name)
            if key not in known and len(known) < _MAX_FIELDS_OF_SITE:
                known[key] = _Field(clean(name)[:_MAX_NAME])
                self._changed.add((site, key))

    def learn(self, site: str, before: bytes | None, after: bytes | None) -> None:
        """Learn from two items of one page, of which nothing else differs."""
        self._learn(site, before, after, but_in_url=False)

    def learn_from_copies(self, row: Row, other: Row) -> None:
        """Learn from two items that were made of the same bytes, under two URLs.

        A value that stands in its URL may be what the page shows.
        """
        body = body_of(row.fields)
        if body is not None and body == body_of(other.fields) and row.site == other.site:
            self._learn(row.site, other.fields, row.fields, but_in_url=True)

    def _learn(
        self, site: str, before: bytes | None, after: bytes | None, *, but_in_url: bool
    ) -> None:
        if not before or not after:
            return
        known, first, second = self._of(site), _unpacked(before), _unpacked(after)
        for key in known.keys() & (first.keys() | second.keys()):
            pair = [one for one in (first.get(key), second.get(key)) if one is not None]
            same = len(pair) == 2 and pair[0].equals(pair[1])
            if not all(one.is_readable for one in pair):
                continue
            if but_in_url and not same and any(one.in_url for one in pair):
                continue
            if known[key].count(same=same):
                self._changed.add((site, key))

    def differing(self, row: Row, other: Row) -> list[bytes]:
        """Keys of the fields in which the item of a page says what that of another one does not.

        Args:
            row: the page that would be a duplicate.
            other: its original, which may say more.
        """
        if self.names is None and (row.site != other.site or not row.fields):
            return []
        if self.names is not None:
            mine, theirs = _unpacked(row.fields), _unpacked(other.fields)
            both = [(key, mine.get(key), theirs.get(key)) for key in map(name_key, self.names)]
            return [key for key, a, b in both if (a or b) and not (a and a.equals(b))]
        keys = self.all_differing(row, other)
        known = self._of(row.site) if keys else {}
        return [key for key in keys if key not in known or not known[key].says_nothing]

    def all_differing(self, row: Row, other: Row) -> list[bytes]:
        """Keys of the fields in which an item says what another one does not, on any site."""
        # Most candidates are looked at in vain: their fields are not taken apart.
        packed = (other.fields or b"")[BODY_BYTES:]
        return [
            key
            for key, digest in _unpacked(row.fields).items()
            if not digest.is_readable or key + digest.hash not in packed
        ]

    def named(self, site: str, keys: Collection[bytes]) -> tuple[str, ...]:
        """Names of fields, in alphabetical order."""
        if not keys:
            return ()
        known = {name_key(name): name for name in self.names or ()}
        known.update((key, one.name) for key, one in self._of(site).items())
        return tuple(sorted({known.get(key, "?") for key in keys}))

    def write(self) -> None:
        """Write what was learned."""
        rows = [
            {"site": site, "name_key": key, **vars(self._sites[site][key])}
            for site, key in sorted(self._changed)
            if len(site) <= _MAX_SITE
        ]
        if rows:
            self.connection.execute(_WRITE, rows)
        self._changed.clear()

    def _of(self, site: str) -> dict[bytes, _Field]:
        self.read([site])
        return self._sites[site]
