"""No name for two things: classes, types and constants."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

from names import find_doubled_names


def test_no_name_stands_for_two_things() -> None:
    found = [str(one) for one in find_doubled_names()]
    assert found == [], "\n".join(found)


@pytest.mark.parametrize(
    ("one", "other", "doubled"),
    [
        ("class Plan:\n    x = 1\n", "def f():\n    class Plan: ...\n", ["Plan"]),
        ("class Table: ...\n", "Table = list[float]\n", ["Table"]),
        ("MAX_ROWS = 10\n", "MAX_ROWS: int = 20\n", ["MAX_ROWS"]),
        ("MIN, MAX = 1, 2\n", "MIN, MAX = 1, 3\n", ["MAX"]),
        ("MAX_ROWS = 10\nInts = list[int]\n", "MAX_ROWS = 10\nInts = list[int]\n", []),
        ("_BLOCK = 1\nrows = 2\n", "_BLOCK = 2\nrows = 3\n", []),
        ("LIMIT = 1\n", "def f():\n    LIMIT = 2\n    return LIMIT\n", []),
    ],
)
def test_a_name_for_two_things_is_seen(
    one: str, other: str, doubled: list[str], tmp_path: Path
) -> None:
    (tmp_path / "room").mkdir()
    (tmp_path / "one.py").write_text(one)
    (tmp_path / "room" / "other.py").write_text(other)
    found = list(find_doubled_names(tmp_path))
    assert [each.name for each in found] == doubled
    for each in found:
        assert [place for place, _ in each.places] == ["one.py", "room/other.py"]
