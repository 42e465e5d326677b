"""What becomes of a page, and which fields keep it from being a duplicate."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from shingling.rules.own_fields import differing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shingling.rules.rules import Rules
    from shingling.store.schema.rows import Row


class Decision(NamedTuple):
    """What becomes of a page.

    Args:
        status: as measured: `new`, `exact`, `near` or `skipped`.
        original: that it is a duplicate of; None makes it one itself.
        resemblance, containment: to its original, or the page that it was compared with.
        compared_with: the page that decided, if that is not the original.
        fields: names of the fields in which its item says something else.
        reason, candidates, distance, contains, template: as in `Verdict`.
    """

    status: str
    original: Row | None = None
    resemblance: float | None = None
    containment: float | None = None
    compared_with: Row | None = None
    fields: Sequence[str] = ()
    reason: str | None = None
    candidates: int = 0
    distance: int | None = None
    contains: str | None = None
    template: float | None = None


def differing_fields(row: Row, original: Row, rules: Rules) -> tuple[str, ...]:
    """Names of the fields for which a page is not a duplicate of an original.

    See `shingling.rules.own_fields.differing`.
    """
    return differing(
        row.fields,
        original.fields,
        same_site=row.site == original.site,
        names=None if rules.fields == "auto" else rules.fields,
        ignored=rules.ignore_fields,
    )
