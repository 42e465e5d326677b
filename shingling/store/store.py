"""The signature store."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, Unpack

from sqlalchemy import select

from shingling.errors import SchemeError, StoreError
from shingling.sketch import Scheme, Signature, sign
from shingling.store.admin import queries
from shingling.store.admin.events import event_groups
from shingling.store.admin.maintenance import Upkeep
from shingling.store.admin.rebuild import read_plan
from shingling.store.admin.runs import end_run, insert_run, write_counts
from shingling.store.decide.locks import lock_pages
from shingling.store.decide.templates import part_page
from shingling.store.decide.texts import read_text
from shingling.store.decide.verdict import decide
from shingling.store.model import Match, Rules, Verdict
from shingling.store.opening import open_database, read_index
from shingling.store.schema.migrate import HEAD
from shingling.store.schema.tables import LIVE, pages

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from sqlalchemy import Connection

    from shingling.store.admin.runs import Run
    from shingling.store.decide.batch import WorkingSet
    from shingling.store.decide.templates import Parted
    from shingling.store.index.postings import Postings
    from shingling.store.model import Group, Page, RuleValues, StoredPage

    Progress = Callable[[int, int], None]

_EXACT_MEANS = {
    1: "same words (made by an older release without all texts; new stores compare whole texts)",
    2: "same text",
}


class Store(Upkeep):
    """Signatures of pages that outlive a crawl, and the verdicts on them.

    Made by `Store.open`. An instance is used by one thread at a time; any number of
    processes may use one store.
    """

    @classmethod
    def open(
        cls,
        url: str = "sqlite:///dedup.db",
        *,
        scheme: Scheme | None = None,
        rules: Rules | None = None,
        create: bool = True,
        **single: Unpack[RuleValues],
    ) -> Self:
        """Open a store; create it, or bring its tables up to date, where needed.

        The open store keeps the rules that it is given, and decides by them until a call says
        otherwise. A new store gets the cheapest index that finds what they look for; one that
        is there keeps its index, and `check` refuses rules that it does not serve.

        Args:
            url: of the database; a relative SQLite path starts at the working directory.
            scheme: of the signatures. None takes that of the store, or the default one. The
                version of a store that is there holds: `Store.scheme` is what to sign by.
            rules: how pages are decided; None takes the default ones.
            create: whether a store that is not there is made.
            **single: instead of `rules`, values of `Rules` by name (`threshold`, `method`,
                `min_words`, `simhash_distance`, `containment`, `window_days`, `store_text`,
                `templates`); those that are left out have their default.

        Raises:
            StoreError: it cannot be opened, or is not there; the file is left as it was.
            StoreVersionError: it was written by a newer release.
            SchemeError: its signatures were made under another scheme.
            SettingsError: a rule has a value that is not accepted, or was given beside `rules`.
        """
        given = Rules.given(rules, single)
        return cls(*open_database(url, scheme, given or Rules(), create=create), given)

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        """Return the database URL without its password."""
        return self._database.where

    def check(
        self,
        batch: Sequence[Page],
        threshold: float | None = None,
        *,
        rules: Rules | None = None,
        run: Run | None = None,
        dry_run: bool = False,
    ) -> list[Verdict]:
        """Decide pages in order, each against all that is stored, and insert them.

        All or nothing: the batch is one transaction, and it decides as if no other crawler
        wrote meanwhile. In PostgreSQL only those wait for each other whose pages may be alike.

        Args:
            batch: pages; those without a signature are signed here.
            threshold: resemblance; None takes that of the rules.
            rules: how pages are decided; None takes those that the store was opened with.
            run: whose counts go up.
            dry_run: decide, and leave the store as it was.

        Returns:
            One verdict a page.

        Raises:
            BandingError: the store's index does not find what the rules look for.
            SettingsError: the threshold is not accepted.
            SchemeError: a signature was made under another scheme.
            StoreUnavailableError: the database was locked or away for a minute.
            StoreError: it failed, or the store is being rebuilt; nothing of the batch is stored.
        """
        rules = rules or self.rules
        if threshold is not None:
            rules = replace(rules, threshold=threshold)
        signatures = [self._signature(page) for page in batch]
        signed = [
            (page, signature)
            for page, signature in zip(batch, signatures, strict=True)
            if signature is not None and signature.words
        ]

        def decide_all(
            connection: Connection,
        ) -> tuple[list[Verdict], Counter[str], WorkingSet]:
            self.index = read_index(connection, writing=True)
            self.index.require(rules)
            if not self._database.alone:
                lock_pages(self._database, connection, signed, rules, self.scheme, self.index)
            working = self._working_set(connection, rules)
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
            counts = Counter(verdict.status for verdict in verdicts)
            if working.full:
                counts["full_keys"] = working.full
            if run is not None:
                counts = run.counts + counts
                write_counts(connection, run.id, counts)
            if dry_run:
                raise _UndoneError(verdicts)
            return verdicts, counts, working

        try:
            verdicts, counts, working = self._database.write(decide_all)
        except _UndoneError as undone:
            return undone.verdicts
        working.keep_templates()
        if run is not None:
            run.counts = counts
        return verdicts

    def _bands(self, connection: Connection) -> Postings:
        return self._database.postings(connection, LIVE.bands)

    def _signature(self, page: Page) -> Signature | None:
        if page.signature is None:
            return None if page.text is None else sign(page.text, self.scheme)
        self._require_scheme(page.signature)
        return page.signature

    def _require_scheme(self, signature: Signature) -> None:
        if signature.scheme != self.scheme.id:
            raise SchemeError(
                f"a signature of scheme {signature.scheme}, the store has {self.scheme.id}:"
                " sign by Store.scheme"
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
                connection,
                self._bands(connection),
                signature,
                text,
                self.scheme,
                self.index,
                threshold,
                limit,
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
                connection,
                self._bands(connection),
                signature,
                self.scheme,
                self.index,
                distance,
                limit,
                text,
            )

    def find(self, url: str) -> list[StoredPage]:
        """Return the pages stored under a URL, one a scope."""
        with self._reading() as connection:
            return [queries.stored_page(row) for row in queries.find_url(connection, url)]

    def text(self, page: StoredPage) -> str | None:
        """Return the main text of a stored page, or None where texts are not kept."""
        with self._reading() as connection:
            return read_text(connection, page.id)

    def by_body(self, keys: Collection[bytes]) -> dict[bytes, Page]:
        """Return what was read from bodies before: pages with their texts and signatures.

        Of pages with one body, any: they have all that was read from it in common.

        Args:
            keys: as pages were stored with, `Page.body_key`.
        """
        with self._database.reading() as connection:
            return queries.by_body(connection, keys, self.scheme)

    def as_read(self, url: str, scope: str = "") -> Page | None:
        """Return what was read from a URL when it was stored: its text (if kept) and signature."""
        with self._reading() as connection:
            return queries.as_read(connection, url, scope, self.scheme)

    def parted(self, page: StoredPage) -> Parted | None:
        """Return the text of a stored page, parted into what is compared and its site's template.

        By what the store knows of the site now; None where texts are not kept.
        """
        with self._reading() as connection:
            text = read_text(connection, page.id)
            return None if text is None else part_page(connection, page.site, text)

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
        return queries.signature_of(row, self.scheme)

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
        """Return counts, scheme, bands and size in bytes, and what `exact` means here."""
        with self._reading() as connection:
            shown = queries.counts(connection)
            shown["bytes"] = self._database.bytes(connection)
            plan = read_plan(connection)
        shown["rebuilding"] = plan is not None and not plan.dry_run
        shown["scheme"] = {"id": self.scheme.id, **self.scheme.shown()}
        shown["exact_means"] = _EXACT_MEANS[self.scheme.version]
        shown["index"] = self.index.columns()
        shown["revision"] = HEAD
        shown["url"] = self.url
        return shown

    def runs(self, limit: int = 10) -> list[dict[str, Any]]:
        """Return the last runs, newest first."""
        with self._reading() as connection:
            return queries.list_runs(connection, limit)

    def start_run(self, spider: str, settings: dict[str, Any] | None = None) -> Run:
        """Record that a crawl or import has begun."""

        def begin(connection: Connection) -> Run:
            read_index(connection, writing=True)
            return insert_run(connection, spider, settings or {})

        return self._database.write(begin)

    def finish_run(self, run: Run, outcome: str) -> None:
        """Record that a run has ended, and why."""
        self._database.write(lambda connection: end_run(connection, run, outcome))


class _UndoneError(Exception):
    """Pages are decided, and their transaction is to be rolled back."""

    def __init__(self, verdicts: list[Verdict]) -> None:
        super().__init__()
        self.verdicts = verdicts
