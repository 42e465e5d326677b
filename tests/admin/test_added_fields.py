"""Fields that are added to `Row`, and to nothing else."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = r"""
import io, sys
from importlib.util import find_spec, module_from_spec
from pathlib import Path

ADDED = {
    "Text()": ["", "ü\n", None],
    "Integer()": [-(1 << 31), (1 << 31) - 1, None],
    "BigInteger()": [-(1 << 63), (1 << 63) - 1, None],
    "ROW_ID": [1, 1 << 53, None],
    "Float()": [0.25, 1.0, None],
    "LargeBinary()": [b"", b"\0\xff", None],
    "LargeBinary(HASH_BYTES)": [bytes(16), b"0123456789abcdef", None],
}
names = [f"added_{number}" for number in range(len(ADDED))]
name = "shingling.store.schema.rows"
assert name not in sys.modules
spec = find_spec(name)
source = Path(spec.origin).read_text(encoding="utf-8")
last = "    stored: bool = True\n"
assert source.count(last) == 1
columns = [f"{one}: object = _column({sql}, nullable=True)" for one, sql in zip(names, ADDED)]
source = source.replace(last, "".join(f"    {one}\n" for one in columns) + last)
rows = sys.modules[name] = module_from_spec(spec)
exec(compile(source, spec.origin, "exec"), vars(rows))

from sqlalchemy import select, update
from shingling import Page, Store
from shingling.admin.files import record_of, write_records
from shingling.admin.records import of_column, read_export
from shingling.admin.transfer import export, restore
from shingling.files.lines import json_lines
from shingling.store.schema.tables import pages

values = [dict(zip(names, of_page)) for of_page in zip(*ADDED.values(), strict=True)]
with Store.open("one.db") as one, Store.open("two.db") as two:
    one.check([Page(f"https://a.example/{page}", "some words " * 20) for page in range(3)])
    with one._session.database.writing() as connection:
        for page, own in enumerate(values, 1):
            connection.execute(update(pages).where(pages.c.id == page).values(own))
    file = io.BytesIO()
    write_records(export(one._session), file)
    file.seek(0)
    lines = json_lines(io.BufferedReader(file))
    records = (record_of(line.values, str(line.number)) for line in lines)
    restore(two._session, *read_export(records))
    with two._session.reading() as connection:
        query = select(*(pages.c[one] for one in names)).order_by(pages.c.id)
        found = [dict(row) for row in connection.execute(query).mappings()]
    assert found == values, found
fits, _ = of_column(rows.PAGE_FIELDS[names[1]])
assert not fits(1 << 31)
"""


def test_a_field_that_is_added_to_a_page_is_exported_and_restored(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
