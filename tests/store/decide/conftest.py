"""Stores in SQLite alone: what decides is the same code in both databases.

The walks of the two references, large batches and odd characters are tried in PostgreSQL as well,
by `both_databases` of `tests.support.stores`.
"""

import pytest

from tests.store.conftest import empty_in_a_database, in_a_database

file = pytest.fixture(params=["sqlite"])(in_a_database)
empty = pytest.fixture(scope="module", params=["sqlite"])(empty_in_a_database)
