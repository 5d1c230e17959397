"""Spark, on a cluster of real executor processes: the same codes and models, a lost executor, rows
drawn there.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from awkward import by_engine, every_case, expected
from column_counts import TYPED, rows, seen_by, seen_in_memory
from engine_people import SCHEMA, people, saved
from spellings import ONE_EACH, OWNERS, WITH_ONE_MORE, WORDS, words_counted
from test_engine_fingerprints import CHANGED, ROWS, mark

from examples import schema_of, values_of
from understudy import Independent, InputError, PrivBayes, Table, ask
from understudy.data.frames import as_table
from understudy.engines import EngineError
from understudy.engines.dialects import SPARK
from understudy.engines.spark import SparkEngine
from understudy.privacy.mechanisms import SeededNoise
from understudy.release.targets import spark_frame

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("spark") / "people.parquet"
    people().write(path)
    return path


@pytest.fixture(scope="module")
def patients(spark: Any, path: Path) -> Any:
    return spark.read.parquet(str(path))


CASES = {  # one for each way to write a code in SQL that differs in Spark; all columns take minutes
    ("text", "marked"),
    ("text", "moment"),
    ("text", "ward"),
    ("text", "euros"),
    ("text", "written moment"),
    ("boolean", "years"),
    ("real", "measure"),
    ("real", "number day"),
    ("integer", "grade"),
    ("datetime", "date as text"),
}


def test_every_awkward_cell_has_the_code_that_it_has_in_memory(spark: Any) -> None:
    cases = [case for case in every_case() if (case.kind, case.read_as) in CASES]
    assert len(cases) == len(CASES)
    columns = ", ".join(f"{SPARK.quote_name(case.name)} {SPARK.types[case.kind]}" for case in cases)
    rows = [(i, *row) for i, row in enumerate(zip(*(case.cells for case in cases), strict=True))]
    frame = spark.createDataFrame(rows, f"place BIGINT, {columns}").coalesce(1)
    assert by_engine(SparkEngine(frame, "T"), cases) == expected(cases)


def test_models_are_the_same_to_the_byte_and_nothing_is_left_behind(
    spark: Any, path: Path, tmp_path: Path
) -> None:
    method = PrivBayes(epsilon=1.0)
    assert saved(tmp_path, method, path, engine="spark") == saved(tmp_path, method, people())
    assert [table.name for table in spark.catalog.listTables() if "understudy" in table.name] == []
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == 0


def test_columns_are_counted_as_in_memory(spark: Any, patients: Any) -> None:
    columns = ", ".join(
        f"{SPARK.quote_name(name)} {SPARK.types[name.split()[-1]]}" for name in TYPED
    )
    frame = spark.createDataFrame(rows(), columns).coalesce(1)
    assert seen_by(SparkEngine(frame, "T")) == seen_in_memory()
    names = ("id", "age", "smoker", "ward", "notes")
    kept = seen_by(SparkEngine(patients.select(*names), "T"), "id", 2)  # nobody has more
    assert kept == seen_in_memory(Table({name: people().columns[name] for name in names}))


def test_a_table_of_a_cluster(
    spark: Any, patients: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    method = Independent(epsilon=1.0)
    masters: list[str | None] = []
    monkeypatch.setattr(
        "understudy.engines.spark.session",
        lambda master: (masters.append(master), (spark, False))[1],
    )
    patients.createOrReplaceTempView("clinic")
    assert saved(tmp_path, method, "spark://master:7077?table=clinic") == saved(
        tmp_path, method, people()
    )
    assert masters == ["spark://master:7077"]
    spark.catalog.dropTempView("clinic")


def test_another_cluster_than_the_one_that_is_there(spark: Any) -> None:
    with pytest.raises(
        InputError, match="Spark runs here with another master than spark://master:7077 already"
    ):
        Independent(epsilon=1.0).fit("spark://master:7077?table=clinic", SCHEMA)


def test_a_collation_does_not_join_texts_and_queries_hold_none(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row that is spelled otherwise changes no other; what is learned of spellings stays out of
    logs of queries.
    """
    asked: list[str] = []
    sql = type(spark).sql
    monkeypatch.setattr(
        type(spark), "sql", lambda self, query: (asked.append(query), sql(self, query))[1]
    )
    rows = [WITH_ONE_MORE, *zip(OWNERS, WORDS, strict=True)]
    frame = spark.createDataFrame(
        rows, "who STRING COLLATE UTF8_LCASE, x STRING COLLATE UTF8_LCASE"
    ).coalesce(1)
    assert words_counted(SparkEngine(frame, "T"), "who") == ONE_EACH | {"MALE": 1}
    assert asked
    assert not any("'male'" in query.lower() for query in asked)


def test_an_executor_is_lost_in_the_middle(
    spark: Any, patients: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark works out again what was lost, and gets the same."""
    keep = SparkEngine.keep

    def bereft(self: SparkEngine, name: str, query: str) -> None:
        keep(self, name, query)
        if "coded" in name:
            os.kill(executors(spark)[0], signal.SIGKILL)

    monkeypatch.setattr(SparkEngine, "keep", bereft)
    method = PrivBayes(epsilon=1.0, person="id", max_rows_per_person=2)
    assert saved(tmp_path, method, patients) == saved(tmp_path, method, people())


def executors(spark: Any) -> list[int]:
    """The processes of this cluster's executors."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                command = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            ours = spark.sparkContext.applicationId.encode() in command
            if ours and b"org.apache.spark.executor.CoarseGrainedExecutorBackend" in command:
                found.append(int(folder.name))
    return found


def test_a_type_that_the_schema_does_not_expect(spark: Any, patients: Any) -> None:
    from pyspark.sql import functions

    with pytest.raises(InputError, match="column 'age' is of type array<bigint>"):
        PrivBayes(epsilon=1.0).fit(patients.withColumn("age", functions.array("age")), SCHEMA)


def test_a_query_that_fails_on_the_executors(spark: Any, patients: Any) -> None:
    from pyspark.sql import functions

    broken = patients.select(
        functions.expr("CAST(raise_error('the disk is gone') AS BIGINT) AS age")
    )
    with pytest.raises(EngineError, match=r"could not be .* by Spark: .*the disk is gone"):
        PrivBayes(epsilon=1.0).fit(broken, schema_of(age={"kind": "integer", "min": 0, "max": 9}))


def test_rows_are_drawn_by_the_executors(spark: Any) -> None:
    model = PrivBayes(epsilon=1.0).fit(people(), SCHEMA, notify=lambda _: None)
    drawn, _ = as_table(spark_frame(model, spark, 600, seed=3).toPandas())
    here = model.sample(600, seed=3)
    for name in ("id", "age", "height", "ward", "seen"):
        assert values_of(drawn.columns[name]) == values_of(here.columns[name]), name


def test_the_fingerprint_of_a_frame_goes_by_its_rows(spark: Any) -> None:
    def frame(rows: list[tuple[Any, ...]]) -> str:
        return mark(spark.createDataFrame(rows, "a BIGINT, b STRING, c DOUBLE"))

    assert frame(ROWS) == frame(ROWS[::-1])
    assert len({frame(ROWS), *map(frame, CHANGED.values())}) == 1 + len(CHANGED)


def test_a_question_is_answered_as_in_memory(patients: Any) -> None:
    text = "count where age >= 44 and not ward = 'north'"
    found = [
        ask(table, text, schema=SCHEMA, epsilon=1.0, noise=SeededNoise(4), notify=str).to_dict()
        for table in (patients, people())
    ]
    assert found[0] == found[1]
