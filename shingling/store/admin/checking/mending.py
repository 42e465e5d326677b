"""What can be made again of a damaged page: its signature from its text, and harmless values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from shingling.sketch import exact_hash, sign
from shingling.store.decide.texts import unpacked
from shingling.store.schema.damage import Blank, blank_signature, checksum
from shingling.store.schema.fields import LITTLE_ENDIAN, SIGNED
from shingling.store.schema.rows import COLUMNS, ORIGINS, problems_of, replaced, url_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shingling.sketch import Scheme

_SIGNED = {*ORIGINS["signature"], "checksum"}


class Mended(NamedTuple):
    """A page after everything that can be made again is made.

    Args:
        values: of its row, in the order of `COLUMNS`.
        text: its main text; None where there is none, or none that can be read.
        problems: what was wrong: `row`, `signature`, `text`; none of a sound page.
        is_blank: whether its signature is lost: one that is like no other is in its place.
        lacks_checksum: whether an older release has written it.
    """

    values: tuple[Any, ...]
    text: str | None
    problems: tuple[str, ...]
    is_blank: bool = False
    lacks_checksum: bool = False


def mend(values: Sequence[Any], packed: object, scheme: Scheme, *, signs_alike: bool) -> Mended:
    """Find what is wrong with a page, and make again what can be made.

    Args:
        values: its row as it was read, in the order of `COLUMNS`.
        packed: its text as it was read; None: it has none.
        scheme: of its signature.
        signs_alike: whether its text is signed now as it was then, so that a signature without a
            checksum can be compared with it.
    """
    wrong = {*problems_of(values)}
    row = dict(zip(COLUMNS, values, strict=True))
    prepared = None if packed is None else unpacked(packed)
    text = None if prepared is None else prepared.text
    problems = ["text"] if packed is not None and text is None else []
    if "url" in wrong or row["url_key"] != url_key(row["url"]):
        wrong.add("url_key")
    lacks_checksum = "checksum" not in wrong and row["checksum"] is None
    is_signed = not wrong & _SIGNED
    stored = tuple(row[name] for name in Blank._fields)
    if is_signed and text is not None:
        if lacks_checksum and signs_alike:
            is_signed = _signed(text, scheme) == stored
        elif scheme.version != 1:
            is_signed = exact_hash(text) == row["text_hash"]
    if not is_signed:
        problems.append("signature")
    if wrong - _SIGNED:
        problems.append("row")
        row = dict(zip(COLUMNS, replaced(values, wrong - _SIGNED), strict=True))
    if not is_signed:
        stored = blank_signature(row["id"]) if text is None else _signed(text, scheme)
    row |= zip(Blank._fields, stored, strict=True)
    row["checksum"] = checksum(*stored)
    is_blank = not is_signed and text is None
    return Mended(tuple(row.values()), text, tuple(problems), is_blank, lacks_checksum)


def _signed(text: str, scheme: Scheme) -> tuple[int, bytes, bytes, int]:
    """Signature of a text, as the database keeps it."""
    made = sign(text, scheme)
    minima: bytes = LITTLE_ENDIAN.write(made.minima)
    # A page without words is not stored: its text was not this one.
    return max(made.words, 1), made.text_hash, minima, SIGNED.write(made.simhash)


def standing(values: Sequence[Any], *, follows: bool) -> tuple[Any, ...]:
    """Values of a page whose columns agree on whether it follows an original.

    Args:
        values: of its row.
        follows: whether its original is there, and is one.
    """
    row = dict(zip(COLUMNS, values, strict=True))
    if follows:
        if row["status"] not in ("exact", "near"):
            row["status"] = "near"
        if row["resemblance"] is None:
            row["resemblance"] = 0.0
        return tuple(row.values())
    if row["status"] not in ("new", "skipped"):
        row["status"] = "new"
    row |= dict.fromkeys(("original_id", "resemblance", "containment"))
    return tuple(row.values())
