"""The scheme: every parameter that changes a signature."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from shingling.errors import SchemeError

MAX_SHINGLE_SIZE = 100


@dataclass(frozen=True)
class Scheme:
    """How a text becomes a signature.

    Signatures can be compared only when they were made under equal schemes; a store keeps
    its scheme and refuses any other.

    Args:
        shingle_size: words in a shingle, 1 to 100.
        version: of the algorithm; this release knows version 1 (docs/algorithms.md).

    Raises:
        SchemeError: a value that is not accepted.
    """

    shingle_size: int = 5
    version: int = 1

    def __post_init__(self) -> None:
        if type(self.version) is not int or self.version != 1:
            raise SchemeError(f"scheme version {self.version!r} is not known; accepted: 1")
        size = self.shingle_size
        if type(size) is not int or not 1 <= size <= MAX_SHINGLE_SIZE:
            raise SchemeError(
                f"shingle_size {size!r} is not accepted: a whole number, 1 to {MAX_SHINGLE_SIZE}"
            )

    @cached_property
    def id(self) -> str:
        """Return 16 hexadecimal digits that name the scheme: BLAKE2b of its JSON form."""
        return hashlib.blake2b(self.to_json().encode(), digest_size=8).hexdigest()

    def to_json(self) -> str:
        """Return the scheme as a JSON object with sorted keys."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Scheme:
        """Return the scheme that `to_json` wrote.

        Raises:
            SchemeError: the text is no scheme, or has parameters that this release lacks.
        """
        try:
            fields: dict[str, Any] = json.loads(text)
            return cls(**fields)
        except (ValueError, TypeError) as error:
            raise SchemeError(f"not a scheme of this release: {text[:200]}") from error
