"""Requests that are under way: one of the same form waits until the first one is known.

Pages under a session id are asked for many times at once. Before the first of them is fetched and
noted, none of the others can be skipped.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TypeAlias

Form: TypeAlias = tuple[str, int]

_MAX_WAIT_SECONDS = 5.0
_MAX_FORMS = 10_000


class Turns:
    """Forms of URLs that are being fetched, each by the request that came first."""

    def __init__(self) -> None:
        self._first: OrderedDict[Form, tuple[str, asyncio.Future[None]]] = OrderedDict()
        self._forms: dict[str, Form] = {}

    async def wait(self, form: Form, url: str) -> bool:
        """Wait for a request of the same form, for a moment at most.

        Args:
            form: of the URL.
            url: of the request, which is the first one of its form where there is no other.

        Returns:
            Whether there was one.
        """
        if form in self._first:
            await asyncio.wait([self._first[form][1]], timeout=_MAX_WAIT_SECONDS)
            return True
        self._first[form] = url, asyncio.get_running_loop().create_future()
        self._forms[url] = form
        if len(self._first) > _MAX_FORMS:
            self.done(next(iter(self._first.values()))[0])
        return False

    def done(self, url: str) -> None:
        """Let those go on that wait for a request: its page is known, or it has none."""
        form = self._forms.pop(url, None)
        if form is not None:
            self._first.pop(form)[1].set_result(None)
