"""The rooms of the house, lowest first, and the imports that go upwards.

A room may import from itself and from the rooms below it, never from one above: not at the head of
a file, not late inside a function, not under ``TYPE_CHECKING``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "understudy"

ROOMS = (
    "errors",
    "machine",
    "data",
    "counting",
    "privacy",
    "mechanisms",
    "engines",
    "models",
    "release",
    "asking",
    "synthesizers",
    "learners",
    "local",
    "anonymity",
    "federation",
    "encrypted",
    "compression",
    "evaluation",
    "inference",
    "auditing",
    "attacks",
    "reports",
    "hub",
    "cli",
)
"""What imports what: each room from those before it. The package itself only names what users
need.
"""

ABOVE_ALL = ("__init__", "__main__")


@dataclass(frozen=True, kw_only=True)
class UpwardImport:
    """An import that breaks the order of the rooms."""

    path: Path
    line: int
    text: str
    importer: str
    imported: str

    def __str__(self) -> str:
        place = f"{self.path.relative_to(PACKAGE.parent)}:{self.line}"
        return f"{place}: {self.importer} may not import from {self.imported}: {self.text}"


def upward_imports(package: Path = PACKAGE) -> Iterator[UpwardImport]:
    """Every import in the package that goes upwards, or out of a room that is not listed."""
    for path in sorted(package.rglob("*.py")):
        room = path.relative_to(package).with_suffix("").parts[0]
        if room in ABOVE_ALL:
            continue
        source = path.read_text(encoding="utf-8")
        lines = source.splitlines()
        for line, imported in _imported_rooms(ast.parse(source), package.name):
            if not _may_import(room, imported):
                yield UpwardImport(
                    path=path,
                    line=line,
                    text=lines[line - 1].strip(),
                    importer=room,
                    imported=imported,
                )


def _may_import(room: str, imported: str) -> bool:
    if room not in ROOMS or imported not in ROOMS:
        return False
    return ROOMS.index(imported) <= ROOMS.index(room)


def _imported_rooms(tree: ast.AST, package: str) -> Iterator[tuple[int, str]]:
    """Line and room of each import, however deep inside a function it stands."""
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            names = [ast.unparse(argument).strip("f'\"") for argument in node.args[:1]]
        for name in names:
            parts = name.split(".")
            if parts[0] == package and len(parts) > 1 and parts[1] != "__version__":
                yield getattr(node, "lineno", 0), parts[1]
