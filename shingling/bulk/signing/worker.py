"""The worker process of a bulk run: it signs parts of inputs, or measures pairs of rows."""

from __future__ import annotations

import mmap
from functools import partial
from typing import TYPE_CHECKING

from shingling.bulk.signing.sign_part import PLACE, Signer, sign_part
from shingling.extraction.processes import serve

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from shingling.bulk.measuring import Measurer


def prepare(work: Signer | Measurer) -> Callable[[Any], Any]:
    """Return what does one task of some work."""
    if not isinstance(work, Signer):
        return work.measure
    assert work.progress is not None
    with work.progress.open("r+b") as file:
        shared = mmap.mmap(file.fileno(), PLACE.size)
    return partial(sign_part, signer=work, note=partial(PLACE.pack_into, shared, 0))


if __name__ == "__main__":
    serve(prepare)
