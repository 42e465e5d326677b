"""What a request's errback gets that is skipped."""

from __future__ import annotations

from scrapy.exceptions import IgnoreRequest


class RepeatedPage(IgnoreRequest):
    """A request was skipped, because it would repeat a page.

    Args:
        url: of the request.
        page: URL of the page that was fetched.
        rules: changes of URLs that make both the same, in their text form.
        risk: probability that the page at `url` is another one, as far as is known.
    """

    def __init__(self, url: str, page: str, rules: tuple[str, ...], risk: float) -> None:
        super().__init__(url, page, rules, risk)  # as pickle hands them in again
        self.url, self.page, self.rules, self.risk = url, page, rules, risk

    def __str__(self) -> str:
        by = ", ".join(self.rules)[:500]
        return f"{self.url[:500]} would repeat {self.page[:500]} by: {by} ({self.risk:.2%})"
