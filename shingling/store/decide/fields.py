"""Which own fields of two items keep one from being a duplicate of the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shingling.rules.own_fields import differing

if TYPE_CHECKING:
    from shingling.rules.rules import Rules
    from shingling.store.schema.rows import Row


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
