"""Reasons of verdicts: why a document was skipped, kept or dropped."""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class Reason(StrEnum):
    """Why a document was skipped, kept or dropped; each one equals its name as a string.

    Attributes:
        advice: what to do if most items of a crawl are skipped for it; "" if there is nothing.
    """

    advice: str

    def __new__(cls, name: str, advice: str = "") -> Self:
        """Make a reason of its name and the advice."""
        reason = str.__new__(cls, name)
        reason._value_ = name
        reason.advice = advice
        return reason

    @classmethod
    def named(cls, name: str | None) -> Self | None:
        """Reason of a name; None if there is none."""
        return None if name is None or name not in cls._value2member_map_ else cls(name)

    # Nothing was extracted.
    NO_MAIN_TEXT = (
        "no_main_text",
        "name the field that holds their text or HTML in DEDUP_TEXT_FIELD or DEDUP_HTML_FIELD",
    )
    DATA_IN_SCRIPTS = (
        "data_in_scripts",
        (
            "their pages have little text, and data for scripts: give the items a text of their own"
            " (DEDUP_TEXT_FIELD)"
        ),
    )
    NOT_HTML = (
        "not_html",
        (
            "their responses are not HTML: name the field that holds their text or HTML in"
            " DEDUP_TEXT_FIELD or DEDUP_HTML_FIELD"
        ),
    )
    TOO_LARGE = "too_large", "they are larger than DEDUP_MAX_BYTES"
    TOO_MANY_ELEMENTS = "too_many_elements", "they have more tags than any page that people read"
    TOO_MANY_ATTRIBUTES = "too_many_attributes"
    TOO_MUCH_MEMORY = (
        "too_much_memory",
        "extracting their text takes more memory than DEDUP_WORKER_MEMORY",
    )
    TIMEOUT = "timeout", "extracting their text takes longer than DEDUP_TIMEOUT"
    NEEDS_WORKER = (
        "needs_worker",
        (
            "a thread does not extract pages that could block the crawl: set DEDUP_WORKERS to 1"
            " or more"
        ),
    )
    WORKER_DIED = (
        "worker_died",
        "worker processes end while they extract their text: look at the system log",
    )
    EXTRACTION_FAILED = "extraction_failed", "look at the log and at DEDUP_EXTRACTOR"

    # The item is not compared.
    HTTP_STATUS = (
        "http_status",
        (
            "the status of their responses is not 2xx; if the spider looks for such pages, set"
            " DEDUP_ENABLED = False"
        ),
    )
    URL_MISMATCH = (
        "url_mismatch",
        (
            "they have another URL than the page that they were yielded from, or were begun on"
            " another page and carried to it by its request: if it is their own page, give them its"
            " URL (DEDUP_URL_FIELD), otherwise a text of their own (DEDUP_TEXT_FIELD)"
        ),
    )
    NOT_MODIFIED = "not_modified"
    OPTED_OUT = "opted_out"
    NO_URL = "no_url", "name the field that holds their URL in DEDUP_URL_FIELD"
    NO_CONTENT = (
        "no_content",
        "name the field that holds their text or HTML in DEDUP_TEXT_FIELD or DEDUP_HTML_FIELD",
    )
    NO_ITEM = (
        "no_item",
        (
            "they are None, or of a class that itemadapter does not know: a pipeline before this"
            " one may lack its `return item`"
        ),
    )
    LIST = "list"
    ERROR = "error"

    # The crawl has decided so.
    REPEATED = "repeated"

    # The store has decided so.
    SHORT = (
        "short",
        (
            "their texts have fewer words than DEDUP_MIN_WORDS, and are compared only with the same"
            " text under the same title"
        ),
    )
    TEMPLATE = (
        "template",
        (
            "other pages of their site have the same texts: give them a text of their own"
            " (DEDUP_TEXT_FIELD), or set DEDUP_TEMPLATES = False"
        ),
    )
    OTHER_FIELDS = "other_fields"
    OWN_TEXT = "own_text"
    MOVING_LINES = "moving_lines"
    ORIGINAL_MISSING = "original_missing"
    PREFERRED_SITE = "preferred_site"
    REVIEW = "review"
    PIECE = "piece"
    TITLE_NOT_IN_TEXT = "title_not_in_text"
    OTHER_TITLE = "other_title"


KEEPING = (Reason.OTHER_FIELDS, Reason.OWN_TEXT)
"""Reasons for which a page is kept although it resembles an original: it says more than that one.

Its verdict names that original. With the reasons of `REJECTING` the status is `new`, and the
original is named as what it was compared with.
"""

REJECTING = (Reason.OTHER_TITLE, Reason.TITLE_NOT_IN_TEXT)
"""Reasons for which an original is rejected that a page resembles: their titles tell them apart."""
