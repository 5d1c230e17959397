"""Questions to rows inside an engine: with the same noise, the same answers as in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from engine_people import SCHEMA, people
from servers import Server
from test_postgres import fill

from understudy import ask
from understudy.data.tables import write_plain_csv
from understudy.privacy.mechanisms import SeededNoise

QUESTIONS = [
    "count",
    "count where age >= 44 and age < 55 and not ward = 'north'",
    "share where height > 1.7 or smoker = true",
    "sum age where grade >= 2 group by ward",
    "mean height",
    "std age group by smoker",
    "median age where age < 44.5 or born >= '1990-05-05'",
    "max height",
    "count each smoker = true, age > 50, ward = 'east' at most 2",
    "histogram seen",
    "histogram age from 20 to 60 by 5",
    "count where ward = 'attic'",
]


def answered(table: Any, text: str, schema: Any = SCHEMA, **options: Any) -> Any:
    answer = ask(
        table, text, schema=schema, epsilon=1.0, noise=SeededNoise(4), notify=str, **options
    )
    return answer.to_dict()


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "people.csv"
    table = people()
    names = ",".join(table.names).encode() + b"\n"
    write_plain_csv(path, table)
    path.write_bytes(names + path.read_bytes())
    return path


def with_schema(text: str) -> Any:
    """A value that the schema does not list can only be asked for without it."""
    if "attic" in text:
        return None
    return SCHEMA


@pytest.mark.parametrize("text", QUESTIONS)
def test_duckdb_answers_as_memory_does(rows: Path, text: str) -> None:
    here = answered(rows, text, with_schema(text))
    assert answered(rows, text, with_schema(text), engine="duckdb") == here


@pytest.fixture(scope="module")
def patients(postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with postgres.connect() as connection:
        fill(connection, "asked", people(), tmp_path_factory.mktemp("copied"))
        yield postgres.url("asked")
        connection.execute("DROP TABLE asked")


@pytest.mark.parametrize("text", QUESTIONS)
def test_postgresql_answers_as_memory_does(patients: str, text: str) -> None:
    schema = with_schema(text)
    assert answered(patients, text, schema) == answered(people(), text, schema)


def test_persons_count_with_a_few_rows_inside_an_engine(rows: Path) -> None:
    answer = ask(
        rows,
        "count",
        epsilon=1e9,
        person="id",
        max_rows_per_person=1,
        engine="duckdb",
        noise=SeededNoise(0),
        notify=str,
    )
    assert answer.value == len({*people().columns["id"].values.tolist()})
