"""No side doors: commands look the same from outside."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from outside_view import (
    ODD_ROWS,
    SCHEMA,
    Row,
    SameAnswers,
    neighbours_of,
    plain_rows,
    written,
)

import understudy.privacy.curator
import understudy.privacy.refinement
from running import run

JOBS = {
    "independent": ["--method", "independent"],
    "privbayes": ["--rows", "30"],
    "as many rows as there are": [],
    "marginals": ["--method", "marginals", "--marginal", "age,sex"],
    "perturbed histogram": ["--method", "perturbed-histogram", "--rows", "30"],
    "smoothed histogram": ["--method", "smoothed-histogram"],
    "correlated": ["--method", "correlated", "--degree", "1"],
    "paper": ["--paper", "--epsilon", "4"],
    "binary": ["--attribute-encoding", "binary"],
    "delta": ["--delta", "1e-6"],
    "random": ["--method", "random", "--rows", "9"],
    "person": ["--person", "who", "--max-rows-per-person", "2"],
    "too large a degree": ["--degree", "20"],
    "no such column": ["--person", "nobody"],
}


FILES = [
    "--schema",
    "s.json",
    "--model",
    "m.json",
    "--report",
    "r.html",
    "-o",
    "o.csv",
    "--seed",
    "1",
]


def outcome(options: Sequence[str], table: Path) -> tuple[Any, ...]:
    """All that anybody but the owner sees of a command."""
    with contextlib.chdir(table.parent):
        SCHEMA.save("s.json")
        with contextlib.ExitStack() as doors:
            for module in (understudy.privacy.curator, understudy.privacy.refinement):
                doors.enter_context(mock.patch.object(module, "SystemNoise", SameAnswers))
            ran = run("synthesize", "t.csv", *FILES, *options)
        files = [path for path in sorted(Path().iterdir()) if path.name != "t.csv"]
        left = {path.name: path.read_bytes() for path in files}
    private = ("note (for you, not for release)", "  ")  # a note may be a table, indented
    spoken = [line for line in ran.err.splitlines() if not line.startswith(private)]
    return ran.status, ran.out, spoken, left


@pytest.fixture(scope="module")
def outcome_without(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Any, ...]]:
    """What is seen of a command on the table without any odd row."""

    @cache
    def look(job: str) -> tuple[Any, ...]:
        table = tmp_path_factory.mktemp("without") / "t.csv"
        return outcome(JOBS[job], written(table, plain_rows()))

    return look


def every_pair() -> Iterator[Any]:
    """Each job with each odd row. Methods meet all of these rows without the command, too: a third
    of the pairs is enough with each change, with every job and every row in it.
    """
    for number, job in enumerate(JOBS):
        for place, odd in enumerate(ODD_ROWS):
            marks = [pytest.mark.slow] if (number + place) % 3 else []
            yield pytest.param(job, ODD_ROWS[odd], marks=marks, id=f"{job}-{odd}")


@pytest.mark.parametrize("engine", [[], ["--engine", "duckdb"]], ids=["memory", "duckdb"])
def test_a_table_without_rows_looks_as_one_with_a_row(engine: list[str], tmp_path: Path) -> None:
    """No exit status and no refusal tells whether anybody is in the table."""
    found = []
    for rows in ([], plain_rows()[:1]):
        (tmp_path / str(len(rows))).mkdir()
        table = written(tmp_path / str(len(rows)) / "t.csv", rows)
        found.append(outcome([*engine, "--method", "independent", "--rows", "30"], table))
    assert found[0] == found[1]
    assert found[0][0] == 0


@pytest.mark.parametrize(("job", "odd"), list(every_pair()))
def test_the_whole_command_looks_the_same_from_outside(
    job: str, odd: Row, tmp_path: Path, outcome_without: Callable[[str], tuple[Any, ...]]
) -> None:
    options = JOBS[job]
    relation = "replace" if "--paper" in options else "add_remove"
    _, there = neighbours_of(relation, odd, tmp_path)
    found = outcome(options, there)
    assert found == outcome_without(job)
    assert found[0] == (2 if {"20", "nobody"} & set(options) else 0)
