"""Which test files are likely to see a change, in their order, where nothing was recorded."""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from mutations import Mutant
from tests_of import tests_of

WHOLE_RUNS = ("counting", "data", "privacy", "release", "synthesizers")
"""Rooms that transcripts of releases go through, and those of the room ``privacy``."""

QUICK = (
    "tests/release/test_release_transcripts.py",
    "tests/privacy/test_price_transcripts.py",
    "tests/privacy/test_domain_transcripts.py",
)
"""Transcripts that take a few seconds."""

CONSTANTS = "tests/test_constants.py"
"""Sees what is computed at import, and defaults, but not whether they are right."""

NEAR = 3
"""Lines around a change whose names count as often as this."""

_DEFINED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_NAME = re.compile(r"[A-Za-z_]\w{3,}")


def choose_files(mutant: Mutant, root: Path, files: Sequence[str]) -> list[str]:
    """The test files of a module, of its room, and those that import it.

    Its own and the limits of its room come first, and quick transcripts; then those that share the
    rarest names with the code around the change, or use what the module is for. Other transcripts
    come after the first few: they see much, and take their time. Audits come last.
    """
    path = Path(mutant.file)
    module = ".".join(path.with_suffix("").parts)
    importing = {str(test.relative_to(root)) for test in tests_of(module)}
    room = f"tests/{path.parts[1]}/"
    own = {f"test_{path.stem}.py", f"test_{path.parent.name}.py"}
    weights = weigh_files(root, files, find_names(mutant, root))

    def rank(file: str) -> float:
        factor = 1 + 2 * (file in importing) + file.startswith(room)
        return -factor * weights[file] + 1e9 * ("audit" in file)

    nearest = sorted(files, key=rank)
    transcripts = [file for file in nearest if file.endswith("_transcripts.py")]
    quick = [file for file in transcripts if file in QUICK]
    whole_runs = [file for file in transcripts if file.startswith(room)]
    ordered = [file for file in nearest if Path(file).name in own]
    if not mutant.lines or find_line(mutant, root) < mutant.lines[0]:
        ordered += [file for file in files if file == CONSTANTS]
    ordered += [file for file in nearest if file.endswith("_limits.py") and file.startswith(room)]
    if path.parts[1] in WHOLE_RUNS:
        ordered += quick
        whole_runs += [file for file in transcripts if "/privacy/" in file]
    ordered += nearest[:4] + whole_runs
    ordered += [file for file in nearest if file in importing or file.startswith(room)]
    return list(dict.fromkeys(ordered))


def find_names(mutant: Mutant, root: Path) -> Counter[str]:
    """The names around a change, and those of its function, each as often as it counts."""
    source = (root / "src" / mutant.file).read_bytes()
    lines = source.decode().splitlines()
    line = find_line(mutant, root) - 1
    near = "\n".join(lines[max(line - 2, 0) : line + 3])
    names = Counter(
        dict.fromkeys(_NAME.findall("\n".join(lines[max(line - 20, 0) : line + 20])), 1)
    )
    names |= Counter(dict.fromkeys([*_NAME.findall(near), *mutant.function.split(".")], NEAR))
    names |= Counter(dict.fromkeys(find_public(source), NEAR))
    return names


def find_line(mutant: Mutant, root: Path) -> int:
    """Where a change is; that of a default is above the body of its function."""
    source = (root / "src" / mutant.file).read_bytes()
    return source[: mutant.place[0]].count(b"\n") + 1


def find_public(source: bytes) -> list[str]:
    """The functions and classes by which others, tests among them, reach what a module does."""
    found = [node.name for node in ast.parse(source).body if isinstance(node, _DEFINED)]
    return [name for name in found if not name.startswith("_")]


def weigh_files(root: Path, files: Sequence[str], names: Counter[str]) -> dict[str, float]:
    """How much the names say for each file: one that few files use says more."""
    used = {file: names.keys() & _names_in(root / file) for file in files}
    often = Counter(name for found in used.values() for name in found)
    return {
        file: sum(names[name] * math.log(len(files) / often[name]) for name in found)
        for file, found in used.items()
    }


@cache
def _names_in(path: Path) -> frozenset[str]:
    return frozenset(_NAME.findall(path.read_text(encoding="utf-8")))
