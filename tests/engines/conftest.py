"""A PostgreSQL server and a Spark cluster, each started once, where the programs for it are
found.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from servers import QUICK, Server, postgres_programs, running


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    programs = postgres_programs()
    if programs is None or importlib.util.find_spec("psycopg") is None:
        pytest.skip("PostgreSQL's programs or psycopg are not installed")
    with running(programs) as server:
        yield server


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A cluster with two executors, processes of their own."""
    if shutil.which("java") is None or importlib.util.find_spec("pyspark") is None:
        pytest.skip("Java or pyspark are not installed")
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("understudy tests")
    for name, value in {
        "spark.driver.extraJavaOptions": QUICK,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.extraJavaOptions": QUICK,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
