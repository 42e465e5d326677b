"""What the administration of a store offers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shingling.admin.store_admin import StoreAdmin
    from shingling.store.session import Session


def administer(session: Session) -> StoreAdmin:
    """Make `Store.admin`."""
    from shingling.admin.store_admin import StoreAdmin

    return StoreAdmin(session)
