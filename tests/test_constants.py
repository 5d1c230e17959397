"""The numbers that privacy rests on, constants and defaults, against a list of them.

Many of them have tests of what they do: limits, prices, proofs. This one sees that a number has
changed, not whether it is right; where that is meant, ``UNDERSTUDY_WRITE_TRANSCRIPTS=1`` writes the
list again. What is new is on it from then on, and what is gone is not missed.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import os
import re
import tomllib
import zlib
from collections.abc import Iterator, Mapping, Sequence, Set
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
FILES = ROOT / "tools" / "mutants.toml"
LISTED = ROOT / "tests" / "golden" / "constants.txt"
LONGEST = 100
"""Longer values are told by a checksum."""
NUMBER = re.compile(r"(?<!['\w])(\d|True\b|False\b)")
"""Of texts others have to say whether they are right."""
OWN = re.compile(r"^[A-Z_][A-Z0-9_, ]*(?=[:=])", re.MULTILINE)
"""What a module gives a value to, and has not imported."""

pytestmark = pytest.mark.skipif(not FILES.is_file(), reason="the list of files is not here")


def tell(value: Any) -> str | None:
    """A value that is made of numbers and texts alone."""
    match value:
        case bool() | int() | str() | bytes() | None | Fraction():
            return repr(value)
        case float():
            return f"{value:.12g}"
        case Mapping():
            return _join([tell(each) for pair in value.items() for each in pair])
        case Set():
            return _join(sorted(str(tell(each)) for each in value))
        case tuple() | list():
            return _join([tell(each) for each in value])
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _join([tell(getattr(value, each.name)) for each in dataclasses.fields(value)])
    return None


def _join(parts: Sequence[str | None]) -> str | None:
    if None in parts:
        return None
    return f"({', '.join(map(str, parts))})"


def list_module(module: ModuleType) -> Iterator[tuple[str, str]]:
    """Constants of a module, and defaults of its functions and methods, with their names."""
    names = OWN.findall(inspect.getsource(module))
    own = {name.strip() for each in names for name in each.split(",")}
    for name, value in vars(module).items():
        told = tell(value)
        if name in own and told is not None and NUMBER.search(told):
            if len(told) > LONGEST:
                told = f"{zlib.crc32(told.encode()):08x}"
            yield f"{module.__name__} {name}", told
        if getattr(value, "__module__", "") != module.__name__:
            continue
        functions = {name: value}
        if isinstance(value, type):
            functions = {f"{name}.{each}": inner for each, inner in vars(value).items()}
        for full, function in functions.items():
            function = getattr(function, "__func__", function)
            if inspect.isfunction(function):
                for parameter in inspect.signature(function).parameters.values():
                    if isinstance(parameter.default, int | float):
                        key = f"{module.__name__} {full}({parameter.name})"
                        yield key, str(tell(parameter.default))


def find_constants() -> dict[str, str]:
    """Those of all files of the group ``privacy`` whose libraries are installed."""
    found: dict[str, str] = {}
    for file in tomllib.loads(FILES.read_text())["privacy"]:
        try:
            module = importlib.import_module(".".join(Path(file).with_suffix("").parts))
        except ImportError:
            continue
        found |= dict(list_module(module))
    return found


def test_no_constant_and_no_default_has_changed_unnoticed() -> None:
    found = find_constants()
    if os.environ.get("UNDERSTUDY_WRITE_TRANSCRIPTS"):
        LISTED.write_text("".join(f"{name} = {value}\n" for name, value in sorted(found.items())))
    listed = dict(line.split(" = ", 1) for line in LISTED.read_text().splitlines())
    changed = {name: (listed[name], found[name]) for name in listed.keys() & found.keys()}
    assert {name: pair for name, pair in changed.items() if pair[0] != pair[1]} == {}
    assert len(changed) > 0.5 * len(listed)
