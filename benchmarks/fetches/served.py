"""A simulated site over HTTP: the server is the proxy of the crawl, so it answers for every host.

It counts what is fetched, by URL, so that no figure depends on what the crawl says of itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.hostile.server import Reply

if TYPE_CHECKING:
    from benchmarks.fetches.site import Site


class Served:
    """Answers requests of one crawl with a site.

    Args:
        site: that is served.

    Attributes:
        urls: fetched, in their order; redirects are fetches.
        contents: unique pages that were sent.
        links: URLs that were on them.
        sent: bytes of the bodies.
    """

    def __init__(self, site: Site) -> None:
        self._site = site
        self.urls: list[str] = []
        self.contents: set[str] = set()
        self.links: set[str] = set()
        self.sent = 0

    def answer(self, url: str) -> Reply:
        """Answer a request; the path of what is not the site's is not there."""
        if url.endswith("/robots.txt"):
            return Reply(b"", status=404)
        shown = self._site.show(url, len(self.urls))
        self.urls.append(url)
        if shown.content is not None:
            self.contents.add(shown.content)
        self.links.update(shown.links)
        if shown.location is not None:
            return Reply(b"", (("Location", shown.location),), 302)
        body = shown.html().encode()
        self.sent += len(body)
        return Reply(body)

    def saveable(self) -> int:
        """Count fetches that a crawl would not make which knows all right rules from the start.

        It is those of this crawl, less one for each form of its URLs. For the crawl that skips
        nothing, this is what rules could save.
        """
        return len(self.urls) - len({self._site.form(url) for url in self.urls})
