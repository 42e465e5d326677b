"""What the owner of a store does with it: take out, say, make anew, move."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from shingling.store.admin import queries
from shingling.store.admin.rebuild import Plan, Rebuild, abandon, read_plan
from shingling.store.admin.reviews import apply_review, find_reviews, write_review
from shingling.store.admin.transfer import (
    export_records,
    is_empty,
    merge_reviews,
    restore,
    widen_seen,
)
from shingling.store.decide.batch import WorkingSet
from shingling.store.decide.templates import Templates, forget_site
from shingling.store.decide.verdict import regroup
from shingling.store.model import DAY, Rules, safe_url
from shingling.store.opening import read_index

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

    from sqlalchemy import Connection

    from shingling.sketch import Scheme
    from shingling.store.admin.rebuild import Changes
    from shingling.store.admin.records import Header, Record
    from shingling.store.admin.transfer import Restored
    from shingling.store.backends.base import Database
    from shingling.store.index.keys import Index
    from shingling.store.model import Review

    Progress = Callable[[int, int], None]

_AT_ONCE = 10_000  # pages removed in one transaction


class Upkeep:
    """An open store, without what crawls and readers do with it: see `Store`."""

    def __init__(
        self, database: Database, scheme: Scheme, index: Index, rules: Rules | None
    ) -> None:
        self._database = database
        self.scheme = scheme
        self.index = index
        self._rules = rules  # None: nobody has given any
        self._templates = Templates()

    @property
    def rules(self) -> Rules:
        """Return how pages are decided where a call does not say otherwise."""
        return self._rules or Rules()

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with self._database.reading() as connection:
            self.index = read_index(connection)  # another process may have made a new one
            yield connection

    def _working_set(self, connection: Connection, rules: Rules) -> WorkingSet:
        templates = self._templates.open(connection)
        return WorkingSet(self._database, connection, self.scheme, self.index, rules, templates)

    def forget(
        self,
        urls: Sequence[str] = (),
        *,
        site: str | None = None,
        run: int | None = None,
        older_than: float | None = None,
        rules: Rules | None = None,
    ) -> int:
        """Remove pages: by URL; by site, by the run that stored them first, and by age.

        Where an original goes, its oldest duplicate takes its place; `rules` say which of the
        others follow it (None: those that the store was opened with, or the default ones of the
        method that it is indexed for).
        Of many pages, 10,000 go at a time, duplicates first. What was learned of a site's template
        goes with all pages of the site.

        Args:
            urls: of pages, which go whatever else is asked.
            site: host, without `www.`.
            run: its number.
            older_than: days since they were last seen.
            rules: of those that stay.

        Returns:
            How many pages were removed.
        """
        chosen = self._chosen(urls, site, run, older_than)

        def remove(connection: Connection, ids: Sequence[int]) -> int:
            self.index = read_index(connection, writing=True)
            chosen_rules = rules or self._rules or self.index.usual_rules()
            working = self._working_set(connection, chosen_rules)
            leaving = set(ids)
            return working.remove(
                leaving,
                lambda members: regroup(members, chosen_rules, working, leaving=leaving),
            )

        removed = 0
        for start in range(0, len(chosen), _AT_ONCE):
            some = chosen[start : start + _AT_ONCE]
            removed += self._database.write(partial(remove, ids=some), alone=True)
        if site is not None and run is None and older_than is None:
            self._database.write(lambda connection: forget_site(connection, site), alone=True)
        return removed

    def count(
        self,
        urls: Sequence[str] = (),
        *,
        site: str | None = None,
        run: int | None = None,
        older_than: float | None = None,
    ) -> int:
        """Return how many pages `forget` would remove."""
        return len(self._chosen(urls, site, run, older_than))

    def _chosen(
        self, urls: Sequence[str], site: str | None, run: int | None, older_than: float | None
    ) -> list[int]:
        before = None if older_than is None else int(time.time() - older_than * DAY)
        with self._reading() as connection:
            return queries.chosen(connection, urls, site, run, before)

    def review(
        self,
        a: str,
        b: str,
        *,
        same: bool | None,
        note: str | None = None,
        rules: Rules | None = None,
    ) -> bool:
        """Say that two URLs show the same page, or different ones; it goes before every measure.

        Groups of stored pages follow at once, and what is stored later does as well.

        Args:
            a: a URL, which need not be stored.
            b: another one.
            same: what they are; None takes back what was said.
            note: why.
            rules: how pages that leave their group are decided again; None as in `forget`.

        Returns:
            Whether something was said of them before.
        """

        def say(connection: Connection) -> bool:
            self.index = read_index(connection, writing=True)
            chosen_rules = rules or self._rules or self.index.usual_rules()
            first, second = safe_url(a), safe_url(b)
            before = write_review(connection, first, second, same, note)
            if before or same is not None:
                working = self._working_set(connection, chosen_rules)
                apply_review(working, first, second, same, chosen_rules, self.scheme)
                working.flush()
            return before

        return self._database.write(say, alone=True)

    def reviews(self, url: str | None = None) -> list[Review]:
        """Return what was said of pairs of URLs, of one of them or of all, newest first."""
        with self._reading() as connection:
            return list(find_reviews(connection, url))

    def rebuild(
        self,
        threshold: float | None = None,
        *,
        rules: Rules | None = None,
        progress: Progress | None = None,
    ) -> Index:
        """Make a new index from the stored minima, SimHashes and texts; nothing is decided again.

        What was made before an interruption is used when it is called again. Meanwhile nobody
        can write.

        Args:
            threshold: resemblance that pages are to be found at; None takes that of the rules.
            rules: what the index is to serve; None takes those that the store was opened with.
            progress: is told how many pages of how many are done.

        Returns:
            The new index.

        Raises:
            StoreError: another rebuild has not ended.
        """
        rules = rules or self.rules
        if threshold is not None:
            rules = replace(rules, threshold=threshold)
        plan = Plan(False, rules, self.scheme)
        return self._rebuild(plan, progress)[0]

    def redecide(
        self,
        rules: Rules | None = None,
        *,
        scheme: Scheme | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> Changes:
        """Decide all pages again, in the order in which they were first seen.

        As `rebuild`, it goes on where it was interrupted, and takes effect at the end, all at
        once. A dry run changes nothing and lets crawls write.

        Args:
            rules: how pages are decided; None takes those that the store was opened with.
            scheme: of the signatures; another one than the store's signs all texts again.
            dry_run: only say what would change.
            progress: is told how many pages of how many are done.

        Returns:
            What changes.

        Raises:
            SchemeError: pages are to be signed again, and not all texts are stored.
            StoreError: another rebuild has not ended.
        """
        plan = Plan(True, rules or self.rules, scheme or self.scheme, dry_run)
        changes = self._rebuild(plan, progress)[1]
        assert changes is not None
        return changes

    def resume_rebuild(
        self, progress: Progress | None = None
    ) -> tuple[Index, Changes | None] | None:
        """Go on with a rebuild that was interrupted; return None where there is none."""
        plan = self._database.read(read_plan)
        return None if plan is None or plan.dry_run else self._rebuild(plan, progress)

    def abandon_rebuild(self) -> bool:
        """Forget a rebuild that was interrupted, and return whether there was one."""

        def forget_it(connection: Connection) -> bool:
            begun = read_plan(connection) is not None
            abandon(self._database, connection)
            return begun

        return self._database.write(forget_it, alone=True)

    def _rebuild(self, plan: Plan, progress: Progress | None) -> tuple[Index, Changes | None]:
        index, changes = Rebuild(self._database, self.scheme, plan).run(progress)
        if not plan.dry_run:
            self.index, self.scheme = index, plan.scheme
        return index, changes

    def vacuum(self) -> tuple[int, int]:
        """Give back the space of what was removed; return the bytes before and after."""
        before = self._database.read(self._database.bytes)
        self._database.vacuum()
        return before, self._database.read(self._database.bytes)

    def is_empty(self) -> bool:
        """Return whether the store holds neither pages nor runs, so that it may be restored."""
        with self._reading() as connection:
            return is_empty(connection)

    def export(self, *, texts: bool = True) -> Generator[Record]:
        """Yield the store as it is at this moment, as records: see `restore`.

        Args:
            texts: whether pages have their main texts.
        """
        with self._reading() as connection:
            yield from export_records(connection, with_texts=texts)

    def restore(self, header: Header, records: Iterable[Record]) -> Restored:
        """Make an empty store of the records of another one, all or nothing.

        It gets their scheme, index, ids, groups, verdicts, runs and reviews.

        Args:
            header: what the first record says.
            records: those behind it.

        Raises:
            StoreError: the store is not empty, or a record is not what it should be.
        """
        with self._database.writing() as connection:  # records cannot be read a second time
            read_index(connection, writing=True)
            restored = restore(self._database, connection, header, records)
        self.scheme, self.index = restored.scheme, restored.index
        return restored

    def take_reviews(self, records: Iterable[Record], rules: Rules) -> None:
        """Take in what was said in another store; of two words on a pair the newer one holds.

        Args:
            records: of the kind `review`.
            rules: how pages that leave their group are decided again.
        """
        said = [*records]

        def take(connection: Connection) -> None:
            self.index = read_index(connection, writing=True)
            fresh = merge_reviews(connection, said)
            working = self._working_set(connection, rules)
            for row in fresh:
                a, b, same = row["a_url"], row["b_url"], row["same"]
                apply_review(working, a, b, same, rules, self.scheme)
            working.flush()

        self._database.write(take, alone=True)

    def widen_seen(self, seen: Iterable[tuple[int, int, int]]) -> None:
        """Have pages, by id, been seen from one time on, or until another, as well."""
        rows = [*seen]
        self._database.write(lambda connection: widen_seen(connection, rows), alone=True)
