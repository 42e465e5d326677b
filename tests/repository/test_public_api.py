"""The public API is what `tests/repository/public_api.txt` says, and every class in it is public.

`python -m tests.repository.test_public_api` writes down a change that is meant; CHANGELOG.md tells
users.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pytest

import shingling
import shingling.bulk
import shingling.errors
from tests.support.installed import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

WRITTEN = ROOT / "tests" / "repository" / "public_api.txt"
# Classes of Python, and kinds of arrays.
FOREIGN = {
    *("Any", "Counter", "Iterator", "Mapping", "None", "Self"),
    *("Fingerprints", "Floats", "Flags", "Hashes", "Minima", "Numbers"),
}


def public_modules() -> Iterator[ModuleType]:
    yield from (shingling, shingling.bulk, shingling.errors)


def public_names(module: ModuleType) -> list[str]:
    if module is shingling.errors:
        return sorted(name for name, value in vars(module).items() if inspect.isclass(value))
    return sorted(module.__all__)


def members(cls: type) -> Iterator[tuple[str, Any]]:
    """Public members of a class, and of those of its bases that are shingling's."""
    for name in dir(cls):
        owner = next((base for base in cls.__mro__ if name in vars(base)), object)
        if owner.__module__.startswith("shingling") and (name[0] != "_" or name == "__init__"):
            yield name, inspect.getattr_static(cls, name)


def signature(function: Any) -> str:
    try:
        return str(inspect.signature(function)).replace("'", "")
    except ValueError:
        return "(...)"


def described(name: str, value: Any) -> Iterator[str]:
    if not inspect.isclass(value):
        is_function = inspect.isroutine(value)
        yield f"{name}{signature(value)}" if is_function else f"{name} = {value!r}"
        return
    bases = [base.__name__ for base in value.__bases__ if base is not object]
    yield f"class {name}({', '.join(bases)})"
    if value.__module__.startswith(("shingling.fetching", "shingling.plugin")) and not issubclass(
        value, Exception
    ):
        return  # named in settings; Scrapy calls its methods
    fields = {}
    if dataclasses.is_dataclass(value):
        fields = {field.name: str(field.type) for field in dataclasses.fields(value)}
    elif issubclass(value, tuple):
        fields = {key: str(kind) for key, kind in value.__annotations__.items()}
    for key, kind in fields.items():
        yield f"    {key}: {re.sub(r'ForwardRef|[()]|, module=.*', '', kind).strip(chr(39))}"
    for key, member in members(value):
        if key in fields or (key == "__init__" and fields):
            continue
        if isinstance(member, property | cached_property):
            getter = member.fget if isinstance(member, property) else member.func
            yield f"    {key}: {signature(getter).rpartition('-> ')[2]}"
        elif isinstance(member, (classmethod, staticmethod)):
            yield f"    {key}{signature(member.__func__)}"
        elif callable(member):
            yield f"    {key}{signature(member)}"


def api() -> list[str]:
    return [
        line
        for module in public_modules()
        for name in public_names(module)
        for line in described(f"{module.__name__}.{name}", getattr(module, name))
    ]


def test_the_public_api_is_the_one_that_is_written_down() -> None:
    assert api() == WRITTEN.read_text(encoding="utf-8").splitlines()


def test_every_class_that_the_public_api_names_is_public() -> None:
    known = {*FOREIGN, *(name for module in public_modules() for name in public_names(module))}
    for line in api():
        kind = line.rpartition("->")[2] if "->" in line else line.partition(": ")[2]
        assert {*re.findall(r"(?<![\w.'])[A-Z]\w+", kind)} <= known, line


def test_another_name_is_an_ordinary_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = shingling.nothing


def test_types_are_declared_for_every_public_name() -> None:
    source = (ROOT / "shingling" / "__init__.py").read_text(encoding="utf-8")
    assert set(re.findall(r"(\w+) as \1\b", source)) == {*shingling.__all__}


if __name__ == "__main__":
    WRITTEN.write_text("\n".join(api()) + "\n", encoding="utf-8")
