"""`Store`: what crawls, commands and notebooks use."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Self, Unpack

from sqlalchemy import func, select, text

from shingling.errors import ArgumentError, StoreError, require_accepted, require_type
from shingling.rooms import hooks
from shingling.rules.own_fields import changed_fields
from shingling.rules.reasons import Reason
from shingling.rules.rules import Rules
from shingling.store.backends import is_file_name, url_of_file
from shingling.store.known import read_text, signature_of
from shingling.store.model import PAGE_COLUMNS, Group, Match, Page, Verdict, page_cells
from shingling.store.queries import (
    SHOWN,
    duplicates_of,
    shown_pages,
    status_of,
    stored_pages,
)
from shingling.store.schema.rows import key_of, row_from
from shingling.store.schema.tables import pages
from shingling.store.session import Session
from shingling.store.templates import SiteCache, Templates
from shingling.store.urls import pasted_site, pasted_urls, server_of
from shingling.text import without_marks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from shingling.admin.store_admin import StoreAdmin
    from shingling.rules.rules import RuleValues
    from shingling.sketch import Scheme, Signature
    from shingling.store.listing import PageFilter
    from shingling.store.model import SplitText, StoredPage, StoreStatus
    from shingling.store.run_records import RunRecord
    from shingling.store.runs import Run


_MATCH_COLUMNS = ("URL", "title", "resemblance", "containment", "measured")


def _matches(matches: list[Match]) -> list[Match]:
    """Have matches show themselves as a table in a notebook."""
    from shingling.notebook import Listed  # a crawl does not need it

    def row(match: Match) -> tuple[Any, ...]:
        return (
            match.page.url,
            match.page.title,
            match.resemblance,
            match.containment,
            match.measured,
        )

    return Listed(matches, _MATCH_COLUMNS, row)


class Store:
    """A persistent database of the signatures of pages, and the verdicts on them.

    Open one with `Store.open`; use it as a context manager, or call `close`. Only one thread at a
    time may use an instance. Any number of processes may use the same store.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    @cached_property
    def admin(self) -> StoreAdmin:
        """What removes pages, reviews pairs of pages, rebuilds and vacuums."""
        (store_admin,) = hooks("StoreAdmin", "store_admin")
        admin: StoreAdmin = store_admin(self._session)
        return admin

    @classmethod
    def open(
        cls,
        url: str | PathLike[str] = "sqlite:///dedup.db",
        *,
        scheme: Scheme | None = None,
        rules: Rules | None = None,
        create: bool = True,
        **single: Unpack[RuleValues],
    ) -> Self:
        """Open a store. Create it, or bring its tables up to date, if needed.

        The store decides by these rules until a call names others. A new store gets the cheapest
        index that finds what the rules look for. An existing store keeps its index; `check`
        refuses rules that this index does not serve.

        Args:
            url: of the database, or a SQLite file; a relative path starts at the working
                directory.
            scheme: of the signatures; None: that of the store, or the default. An existing store
                keeps the version of its scheme: sign with `Store.scheme`.
            rules: how pages are decided; None: the default rules.
            create: create a store that does not exist.
            **single: instead of `rules`, values of `Rules` by name (`threshold`, `method`,
                `min_words`, `simhash_distance`, `containment`,
                `original_max_age_days`, `store_text`, `templates`); the others have their defaults.

        Raises:
            StoreError: it cannot be opened, or does not exist; the file is not changed.
            StoreVersionError: another release has written it, and this one does not know its
                revision.
            SchemeError: its signatures have another scheme.
            SettingsError: a rule has a value that is not accepted, or `rules` was given too.
        """
        given = Rules.given(rules, single)
        if not isinstance(url, str) or is_file_name(url):
            url = url_of_file(url)
        return cls(Session.open(url, scheme=scheme, rules=given, create=create))

    def close(self) -> None:
        """Close the database."""
        self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _repr_html_(self) -> str:
        from shingling.notebook import table  # a crawl does not need it

        status = self.status()
        names = ("pages", "originals", "duplicates", "exact", "near", "runs", "reviews")
        return table([("store", status.url), *((name, getattr(status, name)) for name in names)])

    @property
    def url(self) -> str:
        """URL of the database, without its password."""
        return self._session.database.where

    @property
    def scheme(self) -> Scheme:
        """Scheme of the signatures: sign with it."""
        return self._session.scheme

    @property
    def rules(self) -> Rules:
        """Rules that decide if a call does not name others."""
        return self._session.rules

    def check(
        self,
        batch: Page | Iterable[Page],
        threshold: float | None = None,
        *,
        rules: Rules | None = None,
        run: Run | None = None,
        dry_run: bool = False,
    ) -> list[Verdict]:
        """Decide pages in order, each against everything stored, and insert them.

        A batch is one transaction: all of it is stored, or nothing. It is decided as if no other
        process wrote at the same time. In PostgreSQL, a batch that has missed what another one
        has committed meanwhile is decided again.

        Args:
            batch: pages, or one; those without a signature are signed here.
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
            ArgumentError: a page is something else.
            StoreUnavailableError: the database was locked or away for a minute.
            StoreError: it failed, or the store is being rebuilt; nothing of the batch is stored.
        """
        from shingling.store.decide.check import check_batch  # whoever only looks needs none of it

        rules = rules or self._session.rules
        if threshold is not None:
            rules = replace(rules, threshold=threshold)
        require_type("batch", batch, Page, Iterable)
        batch = [batch] if isinstance(batch, Page) else [*batch]
        for page in batch:
            require_type("page", page, Page, hint="Page(url, text) makes one")
        return check_batch(self._session, batch, rules, run=run, dry_run=dry_run)

    def check_one(self, url: str, text: str | None, *, threshold: float | None = None) -> Verdict:
        """Decide one text and insert it, as `check` does.

        Args:
            url: of the page.
            text: its main text, or None if it has none.
            threshold: resemblance; None takes that of the rules.
        """
        return self.check([Page(url=url, text=text)], threshold)[0]

    def require(self, rules: Rules) -> None:
        """Check that the store finds what these rules look for.

        Raises:
            BandingError: it does not; the message names the command that changes it.
        """
        self._session.index.require(rules)

    def similar(
        self,
        signature: Signature,
        threshold: float = 0.5,
        limit: int = 10,
        *,
        text: str | None = None,
    ) -> list[Match]:
        """Find the stored pages that are most alike, best first.

        Resemblance is estimated from the minima, or measured if `text` is given and
        texts are stored. Below what the bands find, every stored page is looked at.

        Raises:
            ArgumentError: the threshold is not between 0 and 1.
            SchemeError: the signature was made under another scheme.
        """
        from shingling.store.similar import similar  # a crawl does not need it

        require_accepted(0 <= threshold <= 1, "threshold", threshold, "0 to 1", ArgumentError)
        self._session.require_scheme(signature)
        with self._session.reading() as connection:
            return _matches(similar(self._session, connection, signature, text, threshold, limit))

    def measure(
        self,
        text: str,
        measure: str,
        threshold: float,
        limit: int = 10,
        *,
        without: StoredPage | None = None,
    ) -> tuple[list[Match], float]:
        """Measure a text against every text that is kept.

        Args:
            text: that is measured.
            measure: "resemblance", "dice", "share" (of words), "containment", or "uniqueness", by
                which matches are pages with a share of the text's shingles.
            threshold: least measure of a match, 0 to 1.
            limit: at most so many matches.
            without: a page that is left out.

        Returns:
            Matches, best first, each with its measure as `value`; and for "uniqueness" the share
            of the text's shingles that no page has.

        Raises:
            StoreError: no texts are kept.
        """
        from shingling.store.similar import measure_stored  # a crawl does not need it

        with self._session.reading() as connection:
            matches, unique = measure_stored(
                connection, text, self.scheme, measure, threshold, limit, without
            )
            return _matches(matches), unique

    def within(
        self, signature: Signature, distance: int, limit: int = 10, *, text: str | None = None
    ) -> list[Match]:
        """Find the stored pages whose SimHash differs in so few bits, nearest first.

        Where the store is indexed by SimHash, originals are looked up, and the duplicates of
        those found are looked at; a duplicate whose original is further away is not found.
        Otherwise every stored page is looked at.

        Args:
            signature: whose SimHash is looked for.
            distance: bits, 0 to the width of the SimHash.
            limit: at most so many.
            text: that the resemblance is measured on, if texts are stored.

        Raises:
            SchemeError: the signature was made under another scheme.
        """
        from shingling.store.similar import within  # a crawl does not need it

        self._session.require_scheme(signature)
        with self._session.reading() as connection:
            return _matches(within(self._session, connection, signature, text, distance, limit))

    def find(self, url: str) -> list[StoredPage]:
        """Find the pages that are stored under a URL, one a scope."""
        return [*map(self.with_own_text, self._of_urls([url]))]

    def find_pasted(self, text: str) -> list[StoredPage]:
        """Find the pages of a URL, or else those that it has without scheme, `www.` or slash.

        If there are none, those that it has without its fragment.
        """
        url = text.partition("#")[0]
        tried = [text], pasted_urls(text), pasted_urls(url)
        stored = next(filter(None, map(self._of_urls, tried)), [])
        return [*map(self.with_own_text, stored)]

    def _of_urls(self, urls: list[str]) -> list[StoredPage]:
        query = SHOWN.where(pages.c.url_key.in_(map(key_of, urls))).order_by(pages.c.id)
        with self._session.reading() as connection:
            return [*shown_pages(connection, query)]

    def with_own_text(self, page: StoredPage) -> StoredPage:
        """Find the passage for which a page was kept that resembles another one of its site.

        By the texts and the template of the site as the store has them now; what is not found there
        any more stays None.
        """
        if page.reason != Reason.OWN_TEXT or page.compared_with is None:
            return page
        from shingling.similarity.own_text import other_number, own_passage

        others = (
            other for other in self._of_urls([page.compared_with]) if other.scope == page.scope
        )
        texts = [split for other in (page, *others) if (split := self.split_text(other))]
        passage = None
        if texts:
            text, beside = texts[0], texts[-1]
            passage = other_number(text.counted_numbers, beside.numbered) or own_passage(
                text.lines_beside(beside), beside.lines, 0, strict=True
            )
        return replace(page, own_text=passage and passage[:2])

    def verdicts(self, page: StoredPage) -> list[dict[str, Any]]:
        """Read what the last runs that have met a page have said of it, the last one first.

        Each has `run`, `spider`, `started`, `verdict`, `status`, `reason`, `original` and
        `resemblance`.
        """
        from shingling.store.verdicts import said_of

        with self._session.reading() as connection:
            return said_of(connection, page.id)

    def shares_most(self, page: StoredPage) -> Match | None:
        """Find the page of a site that has most of what a page says, of those stored about then.

        Its containment is that of the smaller one in the other. None if it is below a half.
        """
        from shingling.store.similar import sharing_most  # a crawl does not need it

        signature = self.signature(page)
        with self._session.reading() as connection:
            return sharing_most(self._session, connection, page, signature)

    def differing_fields(self, page: StoredPage, other: StoredPage) -> tuple[str, ...]:
        """Name the own fields in which the item of a page says what another's does not."""
        return changed_fields(page.packed_fields, other.packed_fields)

    def _page(self, page: StoredPage | str) -> StoredPage:
        stored = self.find_pasted(page) if isinstance(page, str) else [page]
        if not stored:
            raise StoreError(f"{page} is not stored")
        return stored[0]

    def text(self, page: StoredPage | str) -> str | None:
        """Read the main text of a stored page; None if texts are not kept.

        Args:
            page: of the store, or its URL.

        Raises:
            StoreError: no page is stored under the URL.
        """
        page = self._page(page)
        with self._session.reading() as connection:
            text = read_text(connection, page.id)
            return None if text is None else without_marks(text.text)

    def texts(self) -> Iterator[str]:
        """Yield the main texts that are kept, those of the oldest pages first."""
        from shingling.store.similar import stored_texts  # a crawl does not need it

        with self._session.reading() as connection:
            for _, _, text in stored_texts(connection):
                yield without_marks(text)

    def split_text(self, page: StoredPage) -> SplitText | None:
        """Split the text of a stored page into what is compared and its site's template.

        By what the store knows of the site now; None if texts are not kept.
        """
        with self._session.reading() as connection:
            text = read_text(connection, page.id)
            if text is None:
                return None
            return (
                Templates(connection, SiteCache()).site(server_of(page.site, page.url)).split(text)
            )

    def signature(self, page: StoredPage | str) -> Signature:
        """Read the signature of a stored page.

        Args:
            page: of the store, or its URL.

        Raises:
            StoreError: the page is not stored, or no longer.
        """
        page = self._page(page)
        with self._session.reading() as connection:
            query = select(pages).where(pages.c.id == page.id)
            values = connection.execute(query).mappings().one_or_none()
        if values is None:
            raise StoreError(f"page {page.id} is no longer stored")
        return signature_of(row_from(values, 0), self.scheme)

    def moving_lines(self, site: str) -> list[dict[str, Any]]:
        """Find the lines of a site that are known to move, those that moved most often first.

        Args:
            site: its host, or any URL of it.

        Returns:
            Of each, how often it `stood` and `moved`, whether it `keeps_moving` from crawl to
            crawl, and the `line` as one of its last pages has it ("" if none does).
        """
        from shingling.store.listing import moving_lines_of  # a crawl does not need it

        with self._session.reading() as connection:
            return moving_lines_of(connection, pasted_site(site))

    def pages(
        self, *, limit: int | None = None, **wanted: Unpack[PageFilter]
    ) -> Iterator[StoredPage]:
        """Yield stored pages, oldest first.

        Args:
            limit: at most so many.
            **wanted: which pages, all of: `status` (`new`, `exact`, `near`, `skipped`, `original`,
                `duplicate`, or else the last verdict), `site` (a host, or any URL of it), `title`
                and `words` that are in it, `since` and `until` (seconds since 1970), `reason`,
                `run` that has met them, `change` beside the run before (`came`, `went`, `moved`,
                `skipped`). With `run`, status and reason are those of its verdict.
        """
        from shingling.notebook import Listed, Streamed  # a crawl needs neither
        from shingling.store.listing import ids_query

        def read(limit: int | None) -> Iterator[StoredPage]:
            with self._session.reading() as connection:
                ids, values = ids_query(connection, wanted)
                asked = text(f"pages.id IN ({ids})").bindparams(**values)
                query = SHOWN.where(asked).order_by(pages.c.id)
                yield from shown_pages(connection, query.limit(limit))

        return Streamed(
            read(limit),
            lambda most: Listed(read(min(most, limit or most)), PAGE_COLUMNS, page_cells),
        )

    def groups(self, limit: int | None = None, *, site: str | None = None) -> Iterator[Group]:
        """Yield originals with their duplicates, the largest groups first.

        Args:
            limit: at most so many.
            site: host of a page in each of them, or any URL of it.
        """
        from shingling.notebook import Listed, Streamed  # a crawl does not need it

        return Streamed(
            self._groups(limit, site),
            lambda most: Listed(
                self._groups(min(most, limit or most), site),
                ("original", "title", "duplicates"),
                lambda group: (group.original.url, group.original.title, len(group.duplicates)),
            ),
        )

    def _groups(self, limit: int | None, site: str | None) -> Iterator[Group]:
        size = func.count().label("size")
        query = (
            select(pages.c.original_id, size)
            .where(pages.c.original_id.is_not(None))
            .group_by(pages.c.original_id)
            .order_by(size.desc(), pages.c.original_id)
            .limit(limit)
        )
        if site is not None:
            head = func.coalesce(pages.c.original_id, pages.c.id)
            of_site = select(head).where(pages.c.site == pasted_site(site))
            query = query.where(pages.c.original_id.in_(of_site))
        with self._session.reading() as connection:
            for original_id, _ in connection.execute(query).all():
                original = stored_pages(connection, [original_id])[original_id]
                yield Group(original, tuple(duplicates_of(connection, original_id)))

    def duplicates(self, page: StoredPage | str) -> list[StoredPage]:
        """Duplicates of an original, oldest first.

        Args:
            page: of the store, or its URL.

        Raises:
            StoreError: no page is stored under the URL.
        """
        page = self._page(page)
        with self._session.reading() as connection:
            return duplicates_of(connection, page.id)

    def status(self) -> StoreStatus:
        """Count what is stored, and say how: scheme, index, size."""
        with self._session.reading() as connection:
            return status_of(self._session, connection)

    def runs(self, limit: int = 10) -> list[RunRecord]:
        """Last runs, newest first."""
        from shingling.store.run_records import list_runs

        with self._session.reading() as connection:
            return list_runs(connection, limit)

    def start_run(
        self, spider: str, settings: dict[str, Any] | None = None, *, is_crawl: bool = False
    ) -> Run:
        """Record that a crawl or import has begun.

        Args:
            spider: its name; `import` and `bulk` for those commands.
            settings: that it runs with.
            is_crawl: whether known duplicates take the place of originals that neither this crawl
                has met nor the spider's last one that has finished.
        """
        from shingling.store.runs import insert_run

        begin = partial(insert_run, spider=spider, settings=settings or {}, is_crawl=is_crawl)
        return self._session.write(begin)

    def finish_run(self, run: Run, outcome: str) -> None:
        """Record that a run has ended, and why."""
        from shingling.store.runs import end_run

        self._session.database.write(partial(end_run, run=run, outcome=outcome))
