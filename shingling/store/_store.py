"""The signature store."""

from __future__ import annotations

import json
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from sqlalchemy import insert, select, text, update

from shingling.errors import SchemeError, StoreError
from shingling.sketch import Scheme, Signature, sign
from shingling.store import _queries as queries
from shingling.store._decide import decide, regroup
from shingling.store._engine import named_errors, sqlite_path
from shingling.store._events import event_groups
from shingling.store._index import Index
from shingling.store._migrate import HEAD
from shingling.store._opening import open_database, read_index
from shingling.store._rebuild import rebuild
from shingling.store._rows import read_minima
from shingling.store._tables import pages, runs
from shingling.store._values import DEFAULT_THRESHOLD, Match, Rules, Verdict
from shingling.store._working_set import WorkingSet, read_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import URL, Connection, Engine

    from shingling.store._values import Group, Page, StoredPage


@dataclass
class Run:
    """One crawl or import that is under way; `counts` is what `Store.check` has counted."""

    id: int
    counts: Counter[str]


class Store:
    """Signatures of pages that outlive a crawl, and the verdicts on them.

    Made by `Store.open`. An instance is used by one thread at a time; any number of
    processes may use one store.
    """

    def __init__(self, engine: Engine, url: URL, scheme: Scheme, index: Index) -> None:
        self._engine = engine
        self._url = url
        self.scheme = scheme
        self.index = index

    @classmethod
    def open(
        cls,
        url: str = "sqlite:///dedup.db",
        *,
        scheme: Scheme | None = None,
        threshold: float = DEFAULT_THRESHOLD,
        rules: Rules | None = None,
        create: bool = True,
    ) -> Self:
        """Open a store; create it, or bring its tables up to date, where needed.

        Args:
            url: of the database; a relative SQLite path starts at the working directory.
            scheme: of the signatures. None takes that of the store, or the default one.
            threshold: a new store gets the cheapest bands that find pairs at it.
            rules: instead of the threshold: a new store gets the index that they need.
            create: whether a store that is not there is made.

        Raises:
            StoreError: it cannot be opened, or is not there; the file is left as it was.
            StoreVersionError: it was written by a newer release.
            SchemeError: its signatures were made under another scheme.
        """
        rules = rules or Rules(threshold=threshold)
        return cls(*open_database(url, scheme, rules, create=create))

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        """Return the database URL without its password."""
        return self._url.render_as_string(hide_password=True)

    def check(
        self,
        batch: Sequence[Page],
        threshold: float | None = None,
        *,
        rules: Rules | None = None,
        run: Run | None = None,
    ) -> list[Verdict]:
        """Decide pages in order, each against all that is stored, and insert them.

        All or nothing: the batch is one transaction, and no other crawler writes meanwhile.

        Args:
            batch: pages; those without a signature are signed here.
            threshold: resemblance; None takes that of `rules`.
            rules: how pages are decided.
            run: whose counts go up.

        Returns:
            One verdict a page.

        Raises:
            BandingError: the store's index does not find what the rules look for.
            SchemeError: a signature was made under another scheme.
            StoreError: the database failed; nothing of the batch is stored.
        """
        rules = rules or Rules()
        if threshold is not None:
            rules = replace(rules, threshold=threshold)
        signatures = [self._signature(page) for page in batch]
        signed = [
            (page, signature)
            for page, signature in zip(batch, signatures, strict=True)
            if signature is not None and signature.words
        ]
        with self._writing() as connection:
            self.index.require(rules)
            working = WorkingSet(connection, self.scheme, self.index)
            working.prefetch(
                [page for page, _ in signed], [signature for _, signature in signed], rules
            )
            verdicts = [
                decide(
                    page, signature, rules, self.scheme, working, None if run is None else run.id
                )
                for page, signature in zip(batch, signatures, strict=True)
            ]
            working.flush()
            if run is not None:
                total = run.counts + Counter(verdict.status for verdict in verdicts)
                _write_counts(connection, run.id, total)
        if run is not None:
            run.counts = total
        return verdicts

    def _signature(self, page: Page) -> Signature | None:
        if page.signature is None:
            return None if page.text is None else sign(page.text, self.scheme)
        self._require_scheme(page.signature)
        return page.signature

    def _require_scheme(self, signature: Signature) -> None:
        if signature.scheme != self.scheme.id:
            raise SchemeError(
                f"a signature of scheme {signature.scheme}, the store has {self.scheme.id}"
            )

    def require(self, rules: Rules) -> None:
        """Check that the store finds what these rules look for.

        Raises:
            BandingError: it does not; the message names the command that changes it.
        """
        self.index.require(rules)

    def similar(
        self,
        signature: Signature,
        threshold: float = 0.5,
        limit: int = 10,
        *,
        text: str | None = None,
    ) -> list[Match]:
        """Return the stored pages most alike, best first; nothing is changed.

        Resemblance is estimated from the minima, or measured where `text` is given and
        texts are stored. Below what the bands find, every stored page is looked at.

        Raises:
            SchemeError: the signature was made under another scheme.
        """
        self._require_scheme(signature)
        with self._reading() as connection:
            return queries.similar(
                connection, signature, text, self.scheme, self.index, threshold, limit
            )

    def within(
        self, signature: Signature, distance: int, limit: int = 10, *, text: str | None = None
    ) -> list[Match]:
        """Return the stored pages whose SimHash differs in so few bits, nearest first.

        Where the store is indexed by SimHash, originals are looked up, and the duplicates of
        those found are looked at; a duplicate whose original is further away is not found.
        Otherwise every stored page is looked at.

        Args:
            signature: whose SimHash is looked for.
            distance: bits, 0 to the width of the SimHash.
            limit: at most so many.
            text: that the resemblance is measured on, where texts are stored.

        Raises:
            SchemeError: the signature was made under another scheme.
        """
        self._require_scheme(signature)
        with self._reading() as connection:
            return queries.within(
                connection, signature, self.scheme, self.index, distance, limit, text
            )

    def find(self, url: str) -> list[StoredPage]:
        """Return the pages stored under a URL, one a scope."""
        with self._reading() as connection:
            return [queries.stored_page(row) for row in queries.find_url(connection, url)]

    def text(self, page: StoredPage) -> str | None:
        """Return the main text of a stored page, or None where texts are not kept."""
        with self._reading() as connection:
            return read_text(connection, page.id)

    def signature(self, page: StoredPage) -> Signature:
        """Return the signature of a stored page.

        Raises:
            StoreError: the page is no longer stored.
        """
        with self._reading() as connection:
            query = select(pages).where(pages.c.id == page.id)
            row = connection.execute(query).mappings().one_or_none()
        if row is None:
            raise StoreError(f"page {page.id} is no longer stored")
        return Signature(
            minima=read_minima(row["minima"]),
            simhash=row["simhash"] % (1 << 64),
            text_hash=row["text_hash"],
            words=row["words"],
            scheme=self.scheme.id,
        )

    def pages(
        self,
        *,
        status: str | None = None,
        site: str | None = None,
        since: float | None = None,
        limit: int | None = None,
    ) -> Iterator[StoredPage]:
        """Yield stored pages, oldest first.

        Args:
            status: a page's standing or its last verdict.
            site: its host, without `www.`.
            since: seen at or after this time, seconds since 1970.
            limit: at most so many.
        """
        with self._reading() as connection:
            yield from queries.list_pages(
                connection, status=status, site=site, since=since, limit=limit
            )

    def groups(self, limit: int | None = None) -> Iterator[Group]:
        """Yield originals with their duplicates, the largest groups first."""
        with self._reading() as connection:
            yield from queries.list_groups(connection, limit)

    def events(
        self, threshold: float, *, days: float | None = None, limit: int | None = None
    ) -> list[Group]:
        """Group originals that resemble each other a little, largest groups first.

        Nothing is changed: these are no duplicates, but articles on one event, say. Each
        original joins the earlier one that it resembles most, if that leads a group.

        Args:
            threshold: least resemblance, estimated from the minima; above 0.
            days: between the first sight of a group's pages and of its first one at most.
            limit: at most so many groups.
        """
        with self._reading() as connection:
            return event_groups(connection, threshold, days, limit)

    def duplicates(self, page: StoredPage) -> list[StoredPage]:
        """Return the duplicates attached to an original, oldest first."""
        with self._reading() as connection:
            return queries.duplicates_of(connection, page.id)

    def status(self) -> dict[str, Any]:
        """Return counts, scheme, bands and size in bytes."""
        with self._reading() as connection:
            shown = queries.counts(connection)
        shown["scheme"] = {"id": self.scheme.id, **self.scheme.shown()}
        shown["index"] = self.index.columns()
        shown["revision"] = HEAD
        shown["bytes"] = self._bytes()
        shown["url"] = self.url
        return shown

    def _bytes(self) -> int:
        path = sqlite_path(self._url)
        if path is None:
            with self._reading() as connection:
                query = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
                return int(connection.scalar(text(query)) or 0)
        files = [path, path.with_name(path.name + "-wal")]
        return sum(file.stat().st_size for file in files if file.exists())

    def runs(self, limit: int = 10) -> list[dict[str, Any]]:
        """Return the last runs, newest first."""
        with self._reading() as connection:
            return queries.list_runs(connection, limit)

    def start_run(self, spider: str, settings: dict[str, Any] | None = None) -> Run:
        """Record that a crawl or import has begun."""
        with self._writing() as connection:
            result = connection.execute(
                insert(runs).values(
                    spider=spider,
                    started=int(time.time()),
                    counts="{}",
                    settings=json.dumps(settings or {}),
                )
            )
            (number,) = result.inserted_primary_key or (None,)
        assert number is not None
        return Run(number, Counter())

    def finish_run(self, run: Run, outcome: str) -> None:
        """Record that a run has ended, and why."""
        with self._writing() as connection:
            _write_counts(connection, run.id, run.counts)
            connection.execute(
                update(runs)
                .where(runs.c.id == run.id)
                .values(finished=int(time.time()), outcome=outcome)
            )

    def forget(
        self,
        urls: Sequence[str] = (),
        *,
        site: str | None = None,
        run: int | None = None,
        rules: Rules | None = None,
    ) -> int:
        """Remove pages, by URL, by site, or by the run that stored them first.

        Where an original goes, its oldest duplicate takes its place; `rules` say which of the
        others follow it (None: the default ones of the method that the store is indexed for).

        Returns:
            How many pages were removed.
        """
        with self._writing() as connection:
            chosen = queries.chosen(connection, urls, site, run)
            working = WorkingSet(connection, self.scheme, self.index)
            working.load(chosen)
            chosen_rules = rules or self.index.usual_rules()
            working.remove(chosen, lambda members: regroup(members, chosen_rules, working))
        return len(chosen)

    def count(
        self, urls: Sequence[str] = (), *, site: str | None = None, run: int | None = None
    ) -> int:
        """Return how many pages `forget` would remove."""
        with self._reading() as connection:
            return len(queries.chosen(connection, urls, site, run))

    def rebuild(self, threshold: float = DEFAULT_THRESHOLD, *, rules: Rules | None = None) -> Index:
        """Make a new index from the stored minima, SimHashes and texts; nothing is decided again.

        Args:
            threshold: resemblance that pages are to be found at.
            rules: instead of the threshold: what the index is to serve.

        Returns:
            The new index.
        """
        index = Index.for_rules(rules or Rules(threshold=threshold), self.scheme)
        with self._writing() as connection:
            rebuild(connection, self.scheme, index)
        self.index = index
        return index

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with named_errors(self.url), self._engine.begin() as connection:
            self.index = read_index(connection)  # another process may have made a new one
            yield connection

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        reading = self._engine.execution_options(reading=True)
        with named_errors(self.url), reading.begin() as connection:
            self.index = read_index(connection)  # another process may have made a new one
            yield connection


def _write_counts(connection: Connection, run: int, counts: Counter[str]) -> None:
    connection.execute(update(runs).where(runs.c.id == run).values(counts=json.dumps(dict(counts))))
