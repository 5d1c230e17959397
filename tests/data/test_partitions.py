"""Rows in many files: the same rows however many, all files or none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from examples import content, every_kind_schema, every_kind_table, schema_of
from running import run
from understudy import Independent, InputError, Model
from understudy.data.partitions import write_folder
from understudy.data.tables import Column, Table
from understudy.federation.merged_models import MergedModels
from understudy.models import model as model_module
from understudy.privacy.mechanisms import SeededNoise

ROWS = 1010

WITH_CONDITIONS = [
    {"given": {"x": (0.2, 0.9)}, "method": how} for how in ("exact", "rejection", "weighting")
]


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Model:
    """A model whose chunks are small: eleven for ROWS rows."""
    monkeypatch.setattr(model_module, "CHUNK", 100)
    fit = Independent(epsilon=1.0).fit
    return fit(every_kind_table(), every_kind_schema(), noise=SeededNoise(0), notify=lambda _: None)


def in_folder(folder: Path) -> list[tuple[Any, ...]]:
    """All rows, file after file."""
    found: list[tuple[Any, ...]] = []
    for file in sorted(folder.iterdir()):
        found += duckdb.sql(f"SELECT * FROM read_parquet('{file}')").fetchall()
    return found


def parquet(number: int) -> list[str]:
    return [f"part-{place:05}.parquet" for place in range(number)]


@pytest.mark.thorough
@pytest.mark.parametrize("partitions", [None, 1, 2, 3, 10, 11, 500])
@pytest.mark.parametrize("given", [None, {"ward": ["north", "west"]}])
def test_the_rows_do_not_depend_on_the_number_of_files(
    tmp_path: Path, model: Model, partitions: int | None, given: Any
) -> None:
    model.write(tmp_path / "whole.parquet", ROWS, 5, given=given)
    counted: list[int] = []
    assert (
        model.write(
            f"{tmp_path}/rows/", ROWS, 5, counted.append, given=given, partitions=partitions
        )
        == ROWS
    )
    assert sum(counted) == ROWS
    # Files of up to four chunks by default, and never of less than one.
    assert [file.name for file in sorted((tmp_path / "rows").iterdir())] == parquet(
        min(partitions or 3, 11)
    )
    assert (
        in_folder(tmp_path / "rows")
        == duckdb.sql(f"SELECT * FROM '{tmp_path}/whole.parquet'").fetchall()
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows", "whole.parquet"]


def test_chunks_may_be_drawn_anywhere_in_any_order(model: Model) -> None:
    assert model.chunk_count(ROWS) == 11
    whole = content(model.sample(ROWS, seed=9))
    runs = {
        first: list(model.chunks(ROWS, 9, first=first, last=last))
        for first, last in ((7, 11), (0, 1), (1, 7))
    }
    together = [content(chunk) for first in sorted(runs) for chunk in runs[first]]
    assert {name: [value for chunk in together for value in chunk[name]] for name in whole} == whole
    assert list(model.chunks(ROWS, 9, first=4, last=4)) == []


def exact_values(model: Any, rows: int, seed: int, **more: Any) -> list[float]:
    """Real numbers of twelve decimals: two rows that share one share their random numbers."""
    return content(model.sample(rows, seed=seed, **more))["x"]


@pytest.fixture
def fine(model: Model) -> Model:
    """One attribute of many decimals; chunks are small."""
    schema = schema_of(x={"kind": "real", "min": 0, "max": 1, "bins": 4, "decimals": 12})
    table = Table({"x": Column("real", np.linspace(0, 1, 50))})
    return Independent(epsilon=1.0).fit(table, schema, noise=SeededNoise(0))


@pytest.mark.parametrize("more", [{}, {"spread": "independent"}, *WITH_CONDITIONS])
def test_no_chunk_repeats_another_one_of_this_or_of_another_seed(
    fine: Model, more: dict[str, Any]
) -> None:
    """Of 5 seeds with 4 chunks each; by chance two values would agree for one of 500,000 choices of
    seeds.
    """
    values = [value for seed in range(5) for value in exact_values(fine, 400, seed, **more)]
    assert len(set(values)) == len(values) == 2000


def test_no_part_of_merged_models_repeats_another_one(fine: Model) -> None:
    merged = MergedModels({"name": "independent"}, fine.schema, (fine, fine), fine.ledger)
    values = [value for seed in range(5) for value in exact_values(merged, 400, seed)]
    assert len(set(values)) == len(values) == 2000


def test_a_chunk_depends_on_its_number_and_not_on_who_drew_the_ones_before(fine: Model) -> None:
    whole = exact_values(fine, 400, 3)
    assert exact_values(fine, 400, 3) == whole
    for number in (3, 1, 2, 0):
        (chunk,) = fine.chunks(400, 3, first=number, last=number + 1)
        assert content(chunk)["x"] == whole[100 * number : 100 * number + 100]
    # More rows are more chunks: those that are there stay as they are.
    assert exact_values(fine, 950, 3)[:400] == whole


@pytest.mark.parametrize(("first", "last"), [(-1, 2), (3, 2), (0, 12)])
def test_chunks_that_do_not_exist_are_refused(model: Model, first: int, last: int) -> None:
    with pytest.raises(InputError, match="There are 11 chunks"):
        model.chunks(ROWS, 9, first=first, last=last)


def test_all_files_have_the_same_columns_and_kinds(tmp_path: Path, model: Model) -> None:
    model.write(f"{tmp_path}/rows/", ROWS, 5, partitions=11)
    kinds = {
        str(duckdb.sql(f"DESCRIBE SELECT * FROM '{file}'").fetchall())
        for file in (tmp_path / "rows").iterdir()
    }
    assert len(kinds) == 1
    whole = duckdb.sql(
        f"SELECT count(*), count(DISTINCT id) FROM '{tmp_path}/rows/*.parquet'"
    ).fetchall()
    assert whole == [(ROWS, ROWS)]


def test_no_rows_make_one_file_with_the_columns(tmp_path: Path, model: Model) -> None:
    assert model.write(tmp_path / "rows", 0, 5, partitions=3) == 0
    assert [file.name for file in (tmp_path / "rows").iterdir()] == parquet(1)
    assert in_folder(tmp_path / "rows") == []
    assert "ward" in duckdb.sql(f"SELECT * FROM '{tmp_path}/rows/part-00000.parquet'").columns


@pytest.mark.parametrize("partitions", [0, -1, 1.5, True])
def test_the_number_of_partitions_is_a_whole_number_above_0(
    tmp_path: Path, model: Model, partitions: Any
) -> None:
    with pytest.raises(InputError, match="partitions"):
        model.write(tmp_path / "rows", ROWS, 5, partitions=partitions)
    assert not list(tmp_path.iterdir())


# --------------------------------------------------------------------------- all or nothing


def table_of(number: int) -> Table:
    return Table({"x": Column("integer", np.arange(number))})


def test_a_folder_that_is_empty_is_filled_and_any_other_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert write_folder(tmp_path / "empty", [[table_of(3)], [table_of(2)]]) == 5
    assert sorted(file.name for file in (tmp_path / "empty").iterdir()) == parquet(2)
    with pytest.raises(InputError, match="is not empty"):
        write_folder(tmp_path / "empty", [[table_of(9)]])
    assert in_folder(tmp_path / "empty") == [(0,), (1,), (2,), (0,), (1,)]
    with pytest.raises(InputError, match="no folder"):
        write_folder(tmp_path / "nowhere" / "rows", [[table_of(9)]])


@pytest.mark.parametrize(
    "fault", [OSError("No space left on device"), InputError("No row fits."), RuntimeError("?")]
)
def test_a_failure_in_one_file_leaves_nothing(tmp_path: Path, fault: Exception) -> None:
    def failing() -> Any:
        yield table_of(10)
        yield table_of(10)
        raise fault

    expected = type(fault) if not isinstance(fault, OSError) else InputError
    with pytest.raises(expected, match=r"No space left on device|No row fits|\?"):
        write_folder(
            tmp_path / "rows", [[table_of(5)], failing(), *([table_of(5)] for _ in range(50))]
        )
    assert not list(tmp_path.iterdir())


def test_an_interruption_leaves_nothing(tmp_path: Path) -> None:
    def stop(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_folder(tmp_path / "rows", [[table_of(5)], [table_of(5)]], stop)
    assert not list(tmp_path.iterdir())


# --------------------------------------------------------------------------- the command


@pytest.fixture
def released(tmp_path: Path, model: Model, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    model.save("m.json")
    return tmp_path


@pytest.mark.thorough
@pytest.mark.parametrize("rows", ["1000", "1e3", "1_000", "1E+3"])
def test_rows_in_a_folder_by_command(released: Path, rows: str) -> None:
    ran = run("sample", "m.json", "--rows", rows, "--seed", 1, "--partitions", 4, "-o", "rows")
    assert (ran.status, ran.out) == (0, "")
    assert sorted(file.name for file in (released / "rows").iterdir()) == parquet(4)
    assert run("sample", "m.json", "--rows", rows, "--seed", 1, "-o", "again/").status == 0
    assert len(list((released / "again").iterdir())) == 3
    assert in_folder(released / "again") == in_folder(released / "rows")
    assert len(in_folder(released / "rows")) == 1000


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--partitions", "4"], "name one, like -o rows/"),
        (["--partitions", "0", "-o", "rows/"], "--partitions"),
        (["--rows", "1e400", "-o", "rows/"], "--rows"),
        (["--rows", "1.5", "-o", "rows/"], "--rows"),
        (["--rows", "nan", "-o", "rows/"], "--rows"),
        (["-o", "full/"], "not empty"),
        (["-o", "m.json/"], "m.json"),
    ],
)
def test_a_mistake_costs_nothing_and_is_said_in_a_sentence(
    released: Path, arguments: list[str], said: str
) -> None:
    (released / "full").mkdir()
    (released / "full" / "x").touch()
    ran = run("sample", "m.json", *arguments)
    assert ran.status != 0
    assert said in ran.err
    assert "Traceback" not in ran.err
    assert sorted(path.name for path in released.iterdir()) == ["full", "m.json"]
