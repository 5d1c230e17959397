"""Print which files test a module.

python tools/tests_of.py counting/kernels
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from rooms import PACKAGE

TESTS = PACKAGE.parent.parent / "tests"


def main() -> None:
    """Print one file per line."""
    if len(sys.argv) != 2:
        sys.exit("usage: python tools/tests_of.py ROOM/MODULE")
    module = ".".join(Path(sys.argv[1].removeprefix("src/understudy/")).with_suffix("").parts)
    for path in tests_of(f"understudy.{module}"):
        print(path.relative_to(TESTS.parent))


def tests_of(module: str) -> list[Path]:
    """The test files that import a module; where none does, those of the modules that import it."""
    tests = {path: _imported(path) for path in sorted(TESTS.rglob("*.py"))}
    sources = {_name(path): _imported(path) for path in PACKAGE.rglob("*.py")}
    asked, seen = {module}, {module}
    while asked:
        found = [path for path, names in tests.items() if names & asked]
        if found:
            return found
        asked = {name for name, names in sources.items() if names & asked} - seen
        seen |= asked
    return []


def _name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


@cache
def _imported(path: Path) -> set[str]:
    """The modules that a file imports: ``from a import b`` may mean a module b of a."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.update(_both(node.module, (alias.name for alias in node.names)))
    return names


def _both(module: str, names: Iterable[str]) -> set[str]:
    return {module, *(f"{module}.{name}" for name in names)}


if __name__ == "__main__":
    main()
