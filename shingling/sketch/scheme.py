"""The scheme: every parameter of the way from text to signature.

Its id is part of each signature, so that signatures of different schemes are never compared.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from shingling.errors import SchemeError, require_accepted
from shingling.sketch.minhash import FAMILIES
from shingling.sketch.shingles import UNITS
from shingling.sketch.simhash import SimhashFeatures
from shingling.text import Canonicaliser

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_SHINGLE_SIZE = 100  # words or characters
VERSION = 3
"""Of the way from text to signature: another one has another id, and is refused."""
_MIN_COMPARABLE_WORDS = 5  # at most, with shingles of characters
_PARTS = {"canonical": Canonicaliser, "simhash": SimhashFeatures}
_T = TypeVar("_T")


@dataclass(frozen=True)
class Scheme:
    """Parameters by which a text becomes a signature.

    Signatures can be compared only if they were made under equal schemes; a store keeps its
    scheme and refuses any other.

    Args:
        shingle_size: units in a shingle, 1 to 100.
        unit: of a shingle, "words", "characters", or "characters+blanks".
        ordered: the order of the units within a shingle counts.
        family: of the 84 hash functions of MinHash, "affine" or "crc".
        canonical: how the text is cut into words.
        simhash: what the SimHash is made of.

    Raises:
        SchemeError: a parameter has a value that is not accepted.
    """

    shingle_size: int = 5
    unit: str = "words"
    ordered: bool = True
    family: str = "affine"
    canonical: Canonicaliser = field(default_factory=Canonicaliser)
    simhash: SimhashFeatures = field(default_factory=SimhashFeatures)

    def __post_init__(self) -> None:
        size = self.shingle_size
        is_size = type(size) is int and 1 <= size <= MAX_SHINGLE_SIZE
        accepted_sizes = f"a whole number, 1 to {MAX_SHINGLE_SIZE}"
        require_accepted(is_size, "shingle_size", size, accepted_sizes)
        require_accepted(self.unit in UNITS, "unit", self.unit, " or ".join(UNITS))
        require_accepted(isinstance(self.ordered, bool), "ordered", self.ordered, "true or false")
        require_accepted(self.family in FAMILIES, "family", self.family, " or ".join(FAMILIES))
        for name, kind in _PARTS.items():
            value = getattr(self, name)
            require_accepted(isinstance(value, kind), name, value, "a dict of its options")

    @property
    def min_comparable_words(self) -> int:
        """Words below which a text is not compared with others: those of one shingle.

        For shingles of characters at most 5, because a text in Chinese has a word for each
        character.
        """
        if self.unit == "words":
            return self.shingle_size
        return min(self.shingle_size, _MIN_COMPARABLE_WORDS)

    @cached_property
    def id(self) -> str:
        """Identifier of the scheme, 16 hexadecimal digits: BLAKE2b-64 of its JSON form."""
        return hashlib.blake2b(self.to_json().encode(), digest_size=8).hexdigest()

    def as_dict(self) -> dict[str, Any]:
        """Shingle size and version, and every other parameter that is not the default.

        `from_dict` makes the scheme of it again.
        """
        changed = _changed(asdict(self), asdict(type(self)()))
        return {"shingle_size": self.shingle_size, **changed, "version": VERSION}

    def describe(self) -> dict[str, Any]:
        """`as_dict` for people: stop words by their list, a table of frequencies by its size."""
        described = self.as_dict()
        if self.canonical.stop_words is not False:
            from shingling.text.languages import describe_stop_words  # few schemes have any

            described["canonical"]["stop_words"] = describe_stop_words(self.canonical.stop_words)
        if self.simhash.idf is not None:
            described["simhash"]["idf"] = str(self.simhash.idf)
        return described

    def to_json(self) -> str:
        """JSON object of `as_dict`, with sorted keys."""
        return json.dumps(self.as_dict(), sort_keys=True)

    @classmethod
    def from_dict(cls, parameters: Mapping[str, Any]) -> Scheme:
        """Make the scheme of these parameters; those that are left out have their defaults.

        Raises:
            SchemeError: a parameter is not known, its value is not accepted, or they are of
                another version.
        """
        values = dict(parameters)
        version = values.pop("version", VERSION)
        if type(version) is not int or version != VERSION:
            raise SchemeError(f"scheme version {version!r} is not known; accepted: {VERSION}")
        simhash = values.get("simhash")
        if isinstance(simhash, dict) and isinstance(simhash.get("idf"), dict):
            from shingling.sketch.idf import Idf  # few schemes have one

            idf = _construct(Idf, simhash["idf"], "simhash.idf.")
            values["simhash"] = {**simhash, "idf": idf}
        for name, kind in _PARTS.items():
            if isinstance(values.get(name), dict):
                values[name] = _construct(kind, values[name], f"{name}.")
        return _construct(cls, values, "")

    @classmethod
    def from_json(cls, text: str) -> Scheme:
        """Read the scheme that `to_json` wrote.

        Raises:
            SchemeError: the text is not a scheme, or has parameters that this release lacks.
        """
        try:
            parameters = json.loads(text)
            if not isinstance(parameters, dict):
                raise TypeError("not an object")
            return cls.from_dict(parameters)
        except (ValueError, TypeError) as error:
            detail = f" ({error})" if isinstance(error, SchemeError) else ""
            raise SchemeError(f"not a scheme of this release{detail}: {text[:200]}") from error


def _changed(values: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """Values that differ from their defaults, also within dictionaries."""
    changed: dict[str, Any] = {}
    for name, value in values.items():
        default = defaults[name]
        if value == default:
            continue
        if isinstance(value, dict) and isinstance(default, dict):
            value = _changed(value, default)
        changed[name] = list(value) if isinstance(value, tuple) else value
    return changed


def _construct(kind: type[_T], parameters: Mapping[str, Any], where: str) -> _T:
    known = [parameter.name for parameter in fields(kind)]  # type: ignore[arg-type]  # kind is a dataclass
    for name in parameters:
        if name not in known:
            close = difflib.get_close_matches(str(name), known, n=1)
            hint = f"did you mean {where}{close[0]}?" if close else f"known: {', '.join(known)}"
            raise SchemeError(f"scheme: {where}{name} is not a parameter; {hint}")
    return kind(**parameters)
