"""No path leads from a method to a row: not by what it imports, and not by what it is handed."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any
from unittest import mock

import numpy as np
import pytest

import understudy.counting
import understudy.data.encoding
import understudy.data.frames
import understudy.data.tables
import understudy.engines
import understudy.privacy.answering
import understudy.privacy.central
from examples import small_schema
from understudy import Independent, SmoothedHistogram
from understudy.data.bits import Bits
from understudy.data.encoding import Coded
from understudy.data.tables import Column, Table
from understudy.privacy.answering import PrivateRows
from understudy.privacy.budget import Budget
from understudy.privacy.central import CentralCurator
from understudy.privacy.curator import Curator
from understudy.privacy.ledger import Ledger
from understudy.synthesizers import registry

# --------------------------------------------------------------------------- what methods import

HOLDS_ROWS: tuple[ModuleType, ...] = (
    understudy.counting,
    understudy.privacy.answering,
    understudy.privacy.central,
    understudy.data.encoding,
    understudy.engines,
    understudy.data.frames,
    understudy.data.tables,
)

EXCEPTIONS = {
    "__init__.py": "fit hands the user's table to the release, and names its type",
    "image_tables.py": "images become the table that a user would have handed over",
}

PUBLIC = ("understudy.counting.row_functions", "understudy.counting.convolutions")
"""Descriptions of functions, as numbers: a curator computes them of rows, a method never does."""


def test_methods_import_nothing_that_holds_rows() -> None:
    folder = Path(registry.__file__).parent
    found = {
        path.name: sorted(set(_forbidden_imports(path)))
        for path in sorted(folder.rglob("*.py"))
        if path.name not in EXCEPTIONS
    }
    assert len(found) > 8
    assert {name: imports for name, imports in found.items() if imports} == {}


def test_the_exceptions_are_still_needed() -> None:
    folder = Path(registry.__file__).parent
    for name in EXCEPTIONS:
        assert list(_forbidden_imports(folder / name)), f"{name} is no exception any more"


def _forbidden_imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        for name in _imported(node):
            if name.startswith(PUBLIC):
                continue
            for module in HOLDS_ROWS:
                if name == module.__name__ or name.startswith(f"{module.__name__}."):
                    yield f"line {getattr(node, 'lineno', 0)}: {name}"


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, "imports are absolute here"
        return [f"{node.module}", *(f"{node.module}.{alias.name}" for alias in node.names)]
    return []


# --------------------------------------------- what methods are handed

ROWS = 5000


def table() -> Table:
    rng = np.random.default_rng(0)
    return Table(
        {
            "a": Column("boolean", rng.random(ROWS) < 0.3),
            "b": Column("integer", rng.integers(0, 3, ROWS)),
            "c": Column("integer", rng.integers(0, 8, ROWS)),
        }
    )


def private_things(start: Any) -> list[str]:
    """Paths along public names, from an object, to whatever holds rows."""
    found: list[str] = []
    seen: dict[int, Any] = {}  # objects are kept, so that no address is used twice
    waiting = [("curator", start)]
    while waiting:
        assert len(seen) < 20_000, f"the walk does not end: {waiting[-1][0]}"
        path, value = waiting.pop()
        if id(value) in seen or _is_plain(value):
            continue
        seen[id(value)] = value
        if _holds_rows(value):
            found.append(path)
            continue
        waiting += [(f"{path}{step}", reached) for step, reached in _public_steps(value)]
    assert len(seen) > 5, "the walk went nowhere"
    return found


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | bytes | int | float | type | ModuleType)


def _holds_rows(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        largest = max(attribute.size for attribute in small_schema().modelled)
        return value.size > largest
    is_counter = hasattr(value, "count_flat")
    return is_counter or isinstance(value, Coded | Table | Column | PrivateRows)


def _public_steps(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from ((f"[{key!r}]", part) for key, part in value.items())
        yield from ((f" key {key!r}", key) for key in value)
    elif isinstance(value, list | tuple | set | frozenset):
        yield from ((f"[{place}]", part) for place, part in enumerate(value))
    if not type(value).__module__.startswith("understudy") and not isinstance(value, Curator):
        return  # only our own objects are followed by name: a list has a copy, and that one too
    for name in dir(value):
        if name.startswith("_"):
            continue
        try:
            reached = getattr(value, name)
        except Exception:  # what refuses leads nowhere
            continue
        yield f".{name}", reached
        if isinstance(reached, MethodType | FunctionType | BuiltinFunctionType):
            try:
                inspect.signature(reached).bind()
                returned = reached()
            except Exception:  # wants arguments, or refuses
                continue
            if isinstance(returned, Iterator):
                returned = list(returned)
            yield f".{name}()", returned


def handed_to(method: Any) -> Curator:
    """The curator that a method's ``learn`` receives."""
    handed: list[Curator] = []
    learn = type(method).learn

    def watched(self: Any, curator: Curator, budget: Any, progress: Any) -> Any:
        handed.append(curator)
        return learn(self, curator, budget, progress)

    with mock.patch.object(type(method), "learn", watched):
        method.fit(table(), small_schema())
    [curator] = handed
    return curator


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("method", [Independent, SmoothedHistogram])
def test_a_method_reaches_no_rows_from_its_curator(method: Any, neighbours: Any) -> None:
    curator = handed_to(method(epsilon=1.0, neighbours=neighbours))
    assert private_things(curator) == []
    assert private_things(curator.in_bits(Bits(curator.schema, gray=False))) == []


def test_a_path_would_be_found() -> None:
    class Careless(CentralCurator):
        @property
        def source(self) -> dict[str, Any]:
            return {"rows": [self._rows]}

        def exact(self) -> Any:
            return self._rows.counter.count([()]), np.zeros(ROWS)

    codes = {"a": np.zeros(ROWS, np.uint8), "b": np.zeros(ROWS, np.uint8)}
    codes["c"] = np.zeros(ROWS, np.uint8)
    careless = Careless(Coded(small_schema(), codes, ROWS, ()), Ledger(1.0))
    assert sorted(private_things(careless)) == ["curator.exact()[1]", "curator.source['rows'][0]"]


def test_answers_are_no_rows() -> None:
    """What comes back is as large as the domain, whatever the number of rows."""
    curator = handed_to(Independent(epsilon=1.0))
    curator.ledger.entries.clear()
    [measured] = curator.measure([(next(iter(curator.domain.sizes)),)], Budget(0.5))
    assert private_things(measured) == []
