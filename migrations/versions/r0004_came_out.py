"""Whether the item of a page has come out is kept with it."""

from __future__ import annotations

import logging

import sqlalchemy as sa
from alembic import op

revision = "r0004"
down_revision = "r0003"

logger = logging.getLogger("shingling.store")

# An original counts if the last verdict that was not `unchanged` is of a run that was not killed,
# and if it has been no duplicate since.
_WERE_KEPT = sa.text(
    "UPDATE pages SET came_out = said.run_id FROM"
    " (SELECT page_id, max(CASE WHEN verdict <> 'unchanged' THEN run_id END) AS run_id,"
    " coalesce(max(CASE WHEN original_id IS NOT NULL THEN run_id END), 0) AS followed"
    " FROM verdicts GROUP BY page_id) AS said JOIN runs ON runs.id = said.run_id"
    " WHERE said.page_id = pages.id AND said.run_id > said.followed"
    " AND runs.outcome IS NOT NULL AND pages.original_id IS NULL AND pages.last_run_id <> 0"
)
_NOT_KNOWN = sa.text("SELECT count(*) FROM pages WHERE original_id IS NULL AND came_out IS NULL")


def upgrade() -> None:
    """Take over what the stored verdicts show; the items of other originals come out once more."""
    op.add_column("pages", sa.Column("came_out", sa.BigInteger))
    connection = op.get_bind()
    connection.execute(_WERE_KEPT)
    if not_known := connection.scalar(_NOT_KNOWN):
        logger.info(
            "Dedup: no stored verdict shows that the items of %s pages have come out: if these are"
            " met again, they come out once more",
            f"{not_known:,}",
        )
