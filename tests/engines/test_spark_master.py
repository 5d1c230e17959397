"""A Spark master that runs by itself, as on a cluster: rows are counted there, and drawn there."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest
from servers import spark_environment, spark_master

from examples import integers, values_of, words
from running import COMMAND
from understudy import Model, Table, read_table

pytestmark = pytest.mark.thorough

ROWS = 2000


@pytest.mark.skipif(
    shutil.which("java") is None or importlib.util.find_spec("pyspark") is None,
    reason="Java or pyspark are not installed",
)
def test_from_a_cluster_and_back_into_it(tmp_path: Path) -> None:
    """Without a schema, too: the domain is found out on the cluster."""
    wards = ("north", "south", "west")
    table = Table(
        {
            "age": integers(*(i % 90 for i in range(ROWS))),
            "ward": words(*(wards[i % 3] for i in range(ROWS))),
        }
    )
    table.write(tmp_path / "people.parquet")
    environment = spark_environment(tmp_path)
    with spark_master(tmp_path) as master:
        command = [
            COMMAND,
            "synthesize",
            f"{master}?table=parquet.`{tmp_path}/people.parquet`",
            "--epsilon",
            "10",
            "--method",
            "independent",
            "--to",
            f"{master}?table=synthetic",
            "--rows",
            "500",
            "--seed",
            "3",
            "--model",
            tmp_path / "model.json",
            "--explain",
        ]
        done = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr
    assert f"{ROWS:,} rows coded inside Spark" in done.stderr
    model = Model.load(tmp_path / "model.json")
    assert model.schema["ward"].values == wards
    expected = model.sample(500, seed=3)
    (part,) = (tmp_path / "warehouse" / "synthetic").glob("*.parquet")
    drawn = read_table(part)
    for name in ("age", "ward"):
        assert values_of(drawn.columns[name]) == values_of(expected.columns[name])
