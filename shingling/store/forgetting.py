"""Pages are forgotten, or noted as gone from the web."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import and_, select, true

from shingling.store.decide.apply import hand_on
from shingling.store.decide.batch import Batch
from shingling.store.decide.meet import regroup
from shingling.store.decide.write import delete_rows, write_batch
from shingling.store.model import DAY
from shingling.store.schema.rows import GONE, key_of
from shingling.store.schema.tables import (
    chunked,
    execute_each,
    pages,
    select_in,
    site_blocks,
    url_rules,
)
from shingling.store.urls import HOST_LABELS, site_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection

    from shingling.rules.rules import Rules
    from shingling.store.session import Session

_LEARNED = (site_blocks, url_rules)  # templates, and rules on URLs
_MAX_REMOVED_AT_ONCE = 10_000  # pages removed in one transaction


class Chosen(NamedTuple):
    """Pages to be forgotten: those of some URLs, and those that fulfil all other conditions given.

    Args:
        urls: of pages.
        site: host, without `www.`.
        run: number of the run that stored them first.
        older_than: days since they were last seen.
        since: time since which they were stored first, seconds since 1970.
        only_learned: no pages, only what was learned of their sites.
        every: all pages.
    """

    urls: Sequence[str] = ()
    site: str | None = None
    run: int | None = None
    older_than: float | None = None
    since: float | None = None
    only_learned: bool = False
    every: bool = False

    def _conditions(self) -> list[ColumnElement[bool]]:
        others: list[ColumnElement[bool]] = [true()] if self.every else []
        if self.site is not None:
            others.append(pages.c.site == self.site)
        if self.run is not None:
            others.append(pages.c.run_id == self.run)
        if self.older_than is not None:
            others.append(pages.c.last_seen < int(time.time() - self.older_than * DAY))
        if self.since is not None:
            others.append(pages.c.first_seen >= self.since)
        return [and_(*others)] if others else []

    def sites(self, session: Session) -> list[str]:
        """Find the sites whose templates and rules on URLs go with them: none by URL or age."""
        if self.older_than is not None or not self._conditions():
            return []
        queries = [select(pages.c.site).where(*self._conditions()).distinct()]
        if self.run is None and self.since is None:
            for table in _LEARNED:
                of_site = true() if self.every else table.c.site == self.site
                queries.append(select(table.c.site).where(of_site).distinct())
        with session.reading() as connection:
            sites = {site for query in queries for site in connection.scalars(query)}
            # What is learned tells the ports of a host apart, and rules on URLs have those of
            # `m.example.com` under `example.com`; pages do neither.
            learned = (
                site
                for table in _LEARNED
                for site in connection.scalars(select(table.c.site).distinct())
            )
            labels = "www", *HOST_LABELS
            sites |= {
                site
                for site in learned
                if any(site_of(f"http://{label}.{site}") in sites for label in labels)
            }
        return sorted(filter(None, sites))

    def ids(self, session: Session) -> list[int]:
        """Find their ids, those of duplicates first."""
        if self.only_learned:
            return []
        conditions = self._conditions()
        conditions += [pages.c.url_key.in_(keys) for keys in chunked(map(key_of, self.urls))]
        query = select(pages.c.original_id.is_(None), pages.c.id)
        ordered_ids: set[tuple[bool, int]] = set()
        with session.reading() as connection:
            for condition in conditions:
                ordered_ids.update(map(tuple, connection.execute(query.where(condition))))
        return [page_id for _, page_id in sorted(ordered_ids)]


def count_removed(session: Session, chosen: Chosen) -> dict[str, int]:
    """Count what `forget` would remove, by name.

    Names are `pages`, the `verdicts` of runs on them, `whole_groups`, `replaced_originals`, whose
    place a duplicate takes, `templates`, and `rules` on URLs, one for each path that a rule was
    counted below.
    """
    ids, sites = chosen.ids(session), chosen.sites(session)
    leaving = {*ids}
    with session.reading() as connection:

        def count(query: str, values: Sequence[object]) -> int:
            return sum(number for (number,) in select_in(connection, query, values))

        members = [
            *select_in(connection, "SELECT original_id, id FROM pages WHERE original_id {}", ids)
        ]
        replaced = {original for original, page_id in members if page_id not in leaving}
        whole = {original for original, _ in members} - replaced
        return {
            "pages": len(ids),
            "verdicts": count(
                # With the runs, the primary key is used.
                "SELECT count(*) FROM verdicts"
                " WHERE run_id IN (SELECT id FROM runs) AND page_id {}",
                ids,
            ),
            "whole_groups": len(whole),
            "replaced_originals": len(replaced),
            "templates": count("SELECT count(DISTINCT site) FROM site_blocks WHERE site {}", sites),
            "rules": count("SELECT count(*) FROM url_rules WHERE site {}", sites),
        }


def forget(session: Session, chosen: Chosen, rules: Rules | None = None) -> int:
    """Remove pages, and what was learned of their sites.

    Args:
        session: of the store.
        chosen: the pages.
        rules: by which the others of their groups are decided; None: as the session says.

    Returns:
        How many pages were removed.
    """

    def remove_rows(connection: Connection, ids: Sequence[int]) -> int:
        batch = Batch(session, connection, rules or session.fitting_rules)
        rows = batch.pages.oldest_first(ids)
        batch.undecided.update(ids)
        for row in rows:
            if row.is_original:
                members = [member for member in batch.pages.members(row) if member.id not in ids]
                regroup(members, batch)
            else:
                hand_on(row, batch)
        write_batch(batch)
        delete_rows(batch, rows)
        return len(rows)

    ids, sites, removed = chosen.ids(session), chosen.sites(session), 0
    for start in range(0, len(ids), _MAX_REMOVED_AT_ONCE):
        part = ids[start : start + _MAX_REMOVED_AT_ONCE]
        removed += session.write(partial(remove_rows, ids=part), alone=True)

    def forget_learned(connection: Connection) -> None:
        for table in _LEARNED:
            delete = f"DELETE FROM {table} WHERE site = ?"  # noqa: S608 (ours)
            execute_each(connection, delete, [(site,) for site in sites])

    session.database.write(forget_learned, alone=True)
    return removed


def note_gone(session: Session, urls: Sequence[str]) -> None:
    """Note that pages are gone from the web: known duplicates of them take their place."""

    def note(connection: Connection) -> None:
        update = "UPDATE pages SET last_run_id = ?, came_out = NULL WHERE url_key = ?"
        execute_each(connection, update, [(GONE, key_of(url)) for url in urls])

    session.write(note)


def take_back(session: Session, url: str) -> None:
    """Note that the item of a page has not come out: a later pipeline has dropped it."""

    def note(connection: Connection) -> None:
        update = "UPDATE pages SET came_out = NULL WHERE url_key = ?"
        execute_each(connection, update, [(key_of(url),)])

    session.write(note)
