"""Print the oldest version that pyproject.toml allows of each dependency, as constraints for pip.

python tools/oldest.py > oldest.txt
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"

_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(\[[^]]*])?[>=]=(?P<version>[\d.]+)(,.*)?")


def main() -> None:
    """Print one line per dependency."""
    for line in constraints(tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))):
        print(line)


def constraints(project: dict[str, dict[str, object]]) -> Iterator[str]:
    """``name==version`` for each dependency, by its lower bound or only version.

    One without a bound is an error. What these depend on in turn is left to pip: the newest that
    goes with them.
    """
    for requirement in sorted(set(_requirements(project["project"]))):
        found = _REQUIREMENT.fullmatch(requirement)
        if found is None:
            raise ValueError(f"{requirement!r} in pyproject.toml has no lower bound")
        yield f"{found['name']}=={found['version']}"


def _requirements(project: dict[str, object]) -> Iterator[str]:
    groups = project["optional-dependencies"]
    assert isinstance(groups, dict)
    for group in (project["dependencies"], *groups.values()):
        assert isinstance(group, list)
        yield from (entry for entry in group if not entry.startswith(f"{project['name']}["))


if __name__ == "__main__":
    main()
