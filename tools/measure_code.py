"""Print how easily the code is read: sizes, density, the order of the rooms, repetition.

python tools/measure_code.py
"""

from __future__ import annotations

import ast
import hashlib
import itertools
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from names import find_doubled_names
from rooms import PACKAGE, upward_imports

MAX_LINE = 100
MAX_PARAMETERS = 8
SHARED_LINES = 6
"""Two places that share as many lines, one after the other, count as a repetition."""


def main() -> None:
    """Measure the package and print a table."""
    files = {path: path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
    trees = {path: ast.parse(source) for path, source in files.items()}
    lines = sum(source.count("\n") for source in files.values())
    conditionals = sum(_count(tree, ast.IfExp) for tree in trees.values())
    nested = sum(_nested_conditionals(tree) for tree in trees.values())
    long_lines = sum(
        len(line) > MAX_LINE for source in files.values() for line in source.split("\n")
    )
    wide = sorted(_wide_functions(trees), reverse=True)
    repeated = list(_repetitions(files))
    doubled = list(find_doubled_names())
    rows = (
        ("lines of src", f"{lines:,}"),
        ("upward imports", f"{sum(1 for _ in upward_imports())}"),
        ("conditional expressions per 1,000 lines", f"{1000 * conditionals / lines:.1f}"),
        ("conditional expressions inside another", f"{nested}"),
        (f"lines over {MAX_LINE} characters", f"{long_lines} ({100 * long_lines / lines:.1f} %)"),
        (f"functions with more than {MAX_PARAMETERS} parameters", f"{len(wide)}"),
        ("most parameters of a function", f"{wide[0][0]}, {wide[0][1]}" if wide else "-"),
        (f"pairs of places that share {SHARED_LINES} lines", f"{len(repeated)}"),
        ("names of classes, types and constants for two things", f"{len(doubled)}"),
    )
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{name:<{width}}  {value}")
    if "--details" in sys.argv[1:]:
        for number, name in wide:
            print(f"{number} parameters: {name}")
        for pair in repeated:
            print("repeated:", pair)
        for one in doubled:
            print("doubled:", one)


def _count(tree: ast.AST, kind: type[ast.AST]) -> int:
    return sum(isinstance(node, kind) for node in ast.walk(tree))


def _nested_conditionals(tree: ast.AST) -> int:
    outer = [node for node in ast.walk(tree) if isinstance(node, ast.IfExp)]
    return sum(_count(node, ast.IfExp) > 1 for node in outer)


def _wide_functions(trees: dict[Path, ast.Module]) -> Iterator[tuple[int, str]]:
    """Functions with too many parameters; a command's options are its interface, so those do not
    count.
    """
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef) or _is_command(node):
                continue
            arguments = node.args
            names = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
            number = sum(argument.arg not in ("self", "cls") for argument in names)
            if number > MAX_PARAMETERS:
                yield number, f"{path.relative_to(PACKAGE)}:{node.lineno} {node.name}"


def _is_command(node: ast.FunctionDef) -> bool:
    return any("command" in ast.unparse(decorator) for decorator in node.decorator_list)


def _repetitions(files: dict[Path, str]) -> Iterator[str]:
    """Pairs of places with the same run of code lines: the first of each run, counted once."""
    places: defaultdict[bytes, list[tuple[Path, int, int]]] = defaultdict(list)
    for path, source in files.items():
        code = list(_code_lines(source))
        for start in range(len(code) - SHARED_LINES + 1):
            run = code[start : start + SHARED_LINES]
            key = hashlib.sha256("\n".join(text for _, text in run).encode()).digest()
            places[key].append((path, run[0][0], start))
    seen: set[tuple[Path, Path, int]] = set()
    for group in places.values():
        for one, other in itertools.pairwise(group):
            diagonal = (one[0], other[0], other[2] - one[2])
            if diagonal not in seen:
                yield f"{_place(one)} ~ {_place(other)}"
            seen.add(diagonal)


def _place(place: tuple[Path, int, int]) -> str:
    return f"{place[0].relative_to(PACKAGE)}:{place[1]}"


def _code_lines(source: str) -> Iterator[tuple[int, str]]:
    """Lines that say something: no comments, no imports, no docstrings, no lone brackets."""
    skipped: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Expr | ast.Import | ast.ImportFrom):
            continue
        if not isinstance(node, ast.Expr) or isinstance(node.value, ast.Constant):
            skipped.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    for number, line in enumerate(source.split("\n"), start=1):
        bare = " ".join(line.split())
        if number not in skipped and len(bare) > 3 and not bare.startswith("#"):
            yield number, bare


if __name__ == "__main__":
    main()
