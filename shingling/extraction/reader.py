"""What was fetched, in; signed main text, out: the work that is done away from the event loop."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, NamedTuple

from shingling.defaults import MAX_BYTES
from shingling.errors import ExtractionError, SettingsError
from shingling.extraction.html import read_head, read_html
from shingling.sketch import Scheme, sign
from shingling.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable


READ = "3"
"""What `read_html` takes from a page; another number from when on it takes something else."""

# What else decides it. The title is read by lxml, whoever extracts the text.
_LIBRARIES = {
    "trafilatura": ("trafilatura", "lxml"),
    "resiliparse": ("resiliparse", "trafilatura", "lxml"),
}


class Content(NamedTuple):
    """What was fetched.

    Args:
        body: HTML (bytes or str), or a main text (str).
        is_html: which of the two.
        url: where it came from.
        encoding: of bytes, as the HTTP header declares it.
        head_only: whether only what the page says of itself is asked for, and no text.
    """

    body: bytes | str
    is_html: bool
    url: str | None = None
    encoding: str | None = None
    head_only: bool = False


class Reading(NamedTuple):
    """The main text, with its signature as bytes; or the reason why there is none.

    Of a content with `head_only` there is neither, but the URL that it declares as canonical.
    """

    text: str | None = None
    title: str | None = None
    language: str | None = None
    signature: bytes | None = None
    reason: str | None = None
    canonical: str | None = None


@dataclass(frozen=True)
class Reader:
    """How contents are read.

    Args:
        scheme: to sign with.
        extractor: `trafilatura`, `resiliparse`, or the import path of a function that takes
            the HTML (str) and the URL (str or None) and returns the main text (str or None).
        max_bytes: larger contents are not read.
        refuse_apps: whether pages are left out whose text is short, and which have data for
            scripts: all pages of a single-page application have the same text.
    """

    scheme: Scheme
    extractor: str = "trafilatura"
    max_bytes: int = MAX_BYTES
    refuse_apps: bool = False

    def warm_up(self) -> None:
        """Load what reading needs, so that the first content takes no longer than others."""
        import_module("trafilatura")
        load_extractor(self.extractor)
        sign("é", self.scheme)

    def read(self, content: Content) -> Reading:
        """Return the main text and its signature; a content never raises, it has a reason."""
        if content.head_only:
            head = read_head(content.body, content.url, encoding=content.encoding)
            return Reading(None, head.title, head.language, canonical=head.canonical)
        try:
            if content.is_html:
                main = read_html(
                    content.body,
                    content.url,
                    encoding=content.encoding,
                    max_bytes=self.max_bytes,
                    extractor=load_extractor(self.extractor),
                )
                if main.is_app and self.refuse_apps:
                    return Reading(reason="data_in_scripts")
                text, title, language = main.text, main.title, main.language
            else:
                text, title, language = self._plain(content.body), None, None
        except ExtractionError as error:
            return Reading(reason=error.reason)
        return Reading(text, title, language, sign(text, self.scheme).to_bytes())

    def body_key(self, content: Content) -> bytes | None:
        """Return a 128-bit hash of a body, and of all that decides what is read from it.

        None where a function of the user's reads it: nobody knows when that changes.
        """
        extractor = _version(self.extractor)
        if extractor is None:
            return None
        body, encoding = content.body, content.encoding
        if isinstance(body, str):
            body, encoding = body.encode("utf-8", "surrogatepass"), "str"
        how = f"{extractor} {encoding}\0".encode("utf-8", "replace")
        return hashlib.blake2b(how + body, digest_size=16).digest()

    def _plain(self, body: bytes | str) -> str:
        if len(body) > self.max_bytes:
            raise ExtractionError("too_large", f"{len(body):,} characters")
        return clean(body if isinstance(body, str) else body.decode("utf-8", "replace"))


@cache
def _version(extractor: str) -> str | None:
    """Return a name for what an extractor of this release, with its libraries, reads."""
    libraries = _LIBRARIES.get(extractor)
    if libraries is None:
        return None
    return " ".join((READ, extractor, *(f"{name} {version(name)}" for name in libraries)))


def load_extractor(name: str) -> Callable[[str, str | None], str | None] | None:
    """Return the function that a name stands for; None is trafilatura.

    Raises:
        SettingsError: there is no such function.
    """
    if name == "trafilatura":
        return None
    if name == "resiliparse":
        try:
            from shingling.extraction.resiliparse import resiliparse
        except ImportError as error:
            raise SettingsError(
                f"resiliparse is not installed ({error}):"
                ' pip install "scrapy-shingling[resiliparse]"'
            ) from error
        return resiliparse
    module, _, attribute = name.rpartition(".")
    try:
        function: Callable[[str, str | None], str | None] = getattr(
            import_module(module), attribute
        )
    except Exception as error:  # whatever importing a user's module raises
        raise SettingsError(f"extractor {name!r} cannot be imported: {error}") from error
    if not callable(function):
        raise SettingsError(f"extractor {name!r} is not a function")
    return function
