"""Maintain a store: remove pages, review pairs, rebuild, vacuum."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from shingling.admin.check import Findings, check_store
from shingling.admin.rebuild import rebuild_index, redecide
from shingling.admin.reviews import ReviewAnswer, find_reviews, review_pairs
from shingling.console.files import written_whole
from shingling.store.forgetting import Chosen, forget, note_gone
from shingling.store.urls import pasted_site

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shingling.admin.rebuild import Changes
    from shingling.rules.rules import Rules
    from shingling.sketch import Scheme
    from shingling.store.indexing import Steps
    from shingling.store.model import IndexShape, Review
    from shingling.store.session import Session


def _ignore_progress(*_: object) -> None:
    """Ignore progress."""


class StoreAdmin:
    """Remove, review, rebuild and vacuum: `Store.admin`."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def forget(
        self,
        urls: str | Sequence[str] = (),
        *,
        site: str | None = None,
        run: int | None = None,
        older_than: float | None = None,
        rules: Rules | None = None,
        dry_run: bool = False,
    ) -> int:
        """Remove pages: by URL; by site, by the run that stored them first, and by age.

        Where an original goes, its oldest duplicate takes its place; `rules` say which of the
        others follow it (None: those that the store was opened with, or the default ones of the
        method that it is indexed for).
        Of many pages, 10,000 go at a time, duplicates first. What was learned of a site's template
        and of its URLs goes with all pages of the site. Requests that were skipped are forgotten
        with the page that they would have repeated, and by site and age.

        Args:
            urls: of a page, or of several, which go whatever else is asked.
            site: host, or any URL of it.
            run: its number.
            older_than: days since they were last seen.
            rules: of those that stay.
            dry_run: only count the pages.

        Returns:
            How many pages were removed, or would be.
        """
        chosen = Chosen(
            [urls] if isinstance(urls, str) else urls, site and pasted_site(site), run, older_than
        )
        if dry_run:
            return len(chosen.ids(self._session))
        return forget(self._session, chosen, rules)

    def note_gone(self, urls: str | Sequence[str]) -> None:
        """Note that pages are gone from the web: known duplicates of them take their place.

        Args:
            urls: of a page, or of several, which need not be stored.
        """
        note_gone(self._session, [urls] if isinstance(urls, str) else urls)

    def review(
        self,
        a: str,
        b: str,
        *,
        same: bool | None,
        note: str | None = None,
        rules: Rules | None = None,
    ) -> bool:
        """Review two URLs: their pages are the same, or different, whatever the measures say.

        Groups of stored pages follow at once, and what is stored later does as well.

        Args:
            a: a URL, which need not be stored.
            b: another one.
            same: whether they are; None removes the review.
            note: why.
            rules: how pages that leave their group are decided again; None as in `forget`.

        Returns:
            Whether there was a review of them before.
        """
        answer = ReviewAnswer(a, b, same, note)
        done = review_pairs(self._session, [answer], rules or self._session.fitting_rules)
        return done.before[0] is not None

    def reviews(self, url: str | None = None) -> list[Review]:
        """Read the reviews of a URL, or all of them, newest first."""
        with self._session.reading() as connection:
            return list(find_reviews(connection, url))

    def rebuild(
        self,
        threshold: float | None = None,
        *,
        rules: Rules | None = None,
        progress: Steps | None = None,
    ) -> IndexShape:
        """Make a new index from the stored minima, SimHashes and texts; no page is decided again.

        Meanwhile others wait to write.

        Args:
            threshold: resemblance that pages are to be found at; None takes that of the rules.
            rules: what the index is to serve; None takes those that the store was opened with.
            progress: is told how many pages of how many are done.

        Returns:
            The new index.
        """
        rules = rules or self._session.rules
        if threshold is not None:
            rules = replace(rules, threshold=threshold)
        return rebuild_index(self._session, rules, progress or _ignore_progress)

    def redecide(
        self,
        rules: Rules | None = None,
        *,
        scheme: Scheme | None = None,
        dry_run: bool = False,
        progress: Steps | None = None,
    ) -> Changes:
        """Decide all pages again, in the order in which they were first seen.

        It takes effect at the end, all at once. Meanwhile others wait to write, except in a dry
        run, which changes nothing.

        Args:
            rules: how pages are decided; None takes those that the store was opened with.
            scheme: of the signatures; another one than the store's signs all texts again.
            dry_run: only say what would change.
            progress: is told how many pages of how many are done.

        Returns:
            What changes.

        Raises:
            SchemeError: pages are to be signed again, and not all texts are stored.
        """
        return redecide(
            self._session,
            rules or self._session.rules,
            scheme or self._session.scheme,
            progress or _ignore_progress,
            dry_run=dry_run,
        )

    def check(self, progress: Callable[[str, int], None] | None = None) -> Findings:
        """Examine the whole store for damage; crawls may go on meanwhile.

        Args:
            progress: is told what is being examined, and how many are.

        Raises:
            StoreError: the database cannot be read.
        """
        return check_store(self._session, progress or _ignore_progress)

    def backup(self, file: str | Path) -> None:
        """Copy a SQLite store into a file, as it is at this moment; crawls may go on meanwhile.

        Args:
            file: is replaced if it is there, once the copy is complete.

        Raises:
            StoreError: the store is in PostgreSQL, or cannot be read.
            OSError: the file cannot be written.
        """
        with written_whole(Path(file)) as opened:
            self._session.database.backup(opened.name)

    def vacuum(self) -> tuple[int, int]:
        """Free the space of removed pages; return the bytes before and after."""
        before = self._session.database.read(self._session.database.bytes)
        self._session.database.vacuum()
        return before, self._session.database.read(self._session.database.bytes)
