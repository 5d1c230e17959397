"""Names that stand for two things: classes, types and constants that several files define.

A class has a name of its own. What a file names at its top in capitals, or in the way of classes (a
type), means the same in every file that names it. A constant with a leading underscore is its
file's own business.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rooms import PACKAGE


@dataclass(frozen=True)
class DoubledName:
    """A name, and the places that define it, each with what it says there."""

    name: str
    places: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        where = ", ".join(f"{path}:{line}" for path, line in self.places)
        return f"{self.name} stands for several things: {where}"


def find_doubled_names(package: Path = PACKAGE) -> Iterator[DoubledName]:
    """Each name that is defined twice and does not mean the same."""
    meanings: defaultdict[str, list[tuple[str, tuple[str, int]]]] = defaultdict(list)
    for path in sorted(package.rglob("*.py")):
        tree, place = ast.parse(path.read_text(encoding="utf-8")), str(path.relative_to(package))
        for name, line, meaning in _definitions(tree, place):
            meanings[name].append((meaning, (place, line)))
    for name, found in sorted(meanings.items()):
        if len({meaning for meaning, _ in found}) > 1:
            yield DoubledName(name, tuple(place for _, place in found))


def _definitions(tree: ast.Module, place: str) -> Iterator[tuple[str, int, str]]:
    """Names that a file defines, with their lines and what they mean: a class is like no other."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield node.name, node.lineno, f"class at {place}:{node.lineno}"
    for statement in tree.body:
        for target, value in _assignments(statement):
            if target[0].isupper():
                yield target, statement.lineno, ast.unparse(value)


def _assignments(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """What is assigned to which name: `A, B = 1, 2` are two."""
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    value = getattr(statement, "value", None)
    if value is None:
        return
    for target in targets:
        if isinstance(target, ast.Name):
            yield target.id, value
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for name, part in zip(target.elts, value.elts, strict=True):
                if isinstance(name, ast.Name):
                    yield name.id, part
