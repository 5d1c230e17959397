"""One release, traced: nothing is read, checked, drafted or counted twice."""

from __future__ import annotations

import csv
import inspect
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from understudy import MST, Schema
from understudy.counting.columns import MemoryColumns
from understudy.data import tables
from understudy.data.cells import CellEncoder
from understudy.engines.columns import EngineColumns
from understudy.engines.duckdb import DuckDBEngine
from understudy.engines.rows import EngineTable
from understudy.privacy import contributions, fingerprints
from understudy.privacy.discovery_draft import Draft
from understudy.privacy.ledger import LedgerFile
from understudy.release.pipeline import Release
from understudy.release.sources import EngineSource, MemorySource

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "age": {"kind": "integer", "min": 0, "max": 100, "bins": 10},
            "sex": {"kind": "categorical", "values": ["F", "M"]},
            "town": {"kind": "categorical", "values": ["a", "b", "c"]},
            "who": {"kind": "identifier"},
        }
    }
)

MADE_TWICE = {Release._new_ledger, Release._unit}
"""An empty ledger is made first, only to see whether unit and relation go together."""


class Trace:
    """How often each function was called, and what engines and discovery were asked."""

    def __init__(self) -> None:
        self.calls: Counter[CodeType] = Counter()
        self.encoded: Counter[str] = Counter()
        self.counted: Counter[str] = Counter()
        self.statements: Counter[str] = Counter()

    def note(self, frame: FrameType, event: str, _: Any) -> None:
        if event != "call":
            return
        code, local = frame.f_code, frame.f_locals
        self.calls[code] += 1
        if code is CellEncoder.__init__.__code__:
            self.encoded[local["attribute"].name] += 1
        if code in (MemoryColumns.count.__code__, EngineColumns.count.__code__):
            self.counted.update(local["tallies"].keys())

    def times(self, function: Callable[..., Any]) -> int:
        """How often a function was called."""
        return self.calls[inspect.unwrap(function).__code__]


class Connection:
    """A connection to DuckDB that writes down which statements read the file."""

    def __init__(self, real: Any, statements: Counter[str]) -> None:
        self._real = real
        self._statements = statements

    def execute(self, query: str, *more: Any) -> Any:
        if "people.csv" in query:
            asked = re.sub(r"^CREATE .*? AS ", "", query)
            self._statements[re.sub(r"(?<=_)[0-9a-f]{8}\b", "", asked)] += 1
        return self._real.execute(query, *more)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


@contextmanager
def traced() -> Iterator[Trace]:
    found = Trace()
    sys.setprofile(found.note)
    try:
        yield found
    finally:
        sys.setprofile(None)


@pytest.fixture(params=["memory", "duckdb"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[SCHEMA, None], ids=["with a schema", "without"])
def schema(request: pytest.FixtureRequest) -> Schema | None:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def trace(
    tmp_path: Path, engine: str, schema: Schema | None, monkeypatch: pytest.MonkeyPatch
) -> Trace:
    statements: Counter[str] = Counter()
    connect = DuckDBEngine._connect
    monkeypatch.setattr(
        DuckDBEngine, "_connect", lambda engine: Connection(connect(engine), statements)
    )
    lots = random.Random(1)
    with (tmp_path / "people.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(SCHEMA.names)
        for row in range(300):
            age, sex, town = lots.randint(18, 90), lots.choice("FM"), lots.choice("abc")
            writer.writerow([age, sex, town, row // 2])
    ledger = LedgerFile.create(tmp_path / "l.ledger", 200.0, 1e-3, unit="person")
    # What lies inside bins is further questions, for which rows are coded by further schemas.
    questions: Any = {"keep_going": True, "refinement": 0}
    method = MST(epsilon=100.0, delta=1e-6, person="who", max_rows_per_person=2, **questions)
    with traced() as found:
        method.fit(
            tmp_path / "people.csv",
            schema,
            engine=engine,
            ledger=ledger,
            notify=lambda sentence: None,
        )
    found.statements = statements
    return found


def test_every_step_of_the_pipeline_is_taken_once(trace: Trace, schema: Schema | None) -> None:
    steps = [step for step in vars(Release).values() if inspect.isfunction(step)]
    steps = [step for step in steps if step.__module__ == Release.__module__]
    repeated = {step for step in steps if trace.times(step) > 1}
    assert repeated <= MADE_TWICE
    for step in (Release.run, Release._check_table, Release._check_price, Release._code):
        assert trace.times(step) == 1
    assert trace.times(MST.check) == 1
    assert trace.times(Draft.__init__) == (schema is None)


def test_rows_are_opened_and_coded_once(trace: Trace, engine: str) -> None:
    in_memory, in_engine = engine == "memory", engine == "duckdb"
    assert trace.times(tables.read_table) == in_memory
    assert trace.times(DuckDBEngine.__init__) == in_engine
    assert trace.times(MemorySource.code) == in_memory
    assert trace.times(contributions.limit_rows_per_person) == in_memory
    assert trace.times(EngineSource.code) == in_engine
    assert trace.times(EngineTable.encode) == in_engine
    sources = (MemorySource, EngineSource)
    for name in ("fingerprint", "spellings"):
        assert sum(trace.times(getattr(source, name)) for source in sources) == 1
    assert trace.times(fingerprints.fingerprint) == in_memory


def test_every_column_is_coded_and_counted_once(
    trace: Trace, engine: str, schema: Schema | None
) -> None:
    if schema is None:
        assert set(trace.counted) >= {"age", "sex", "town"}
    else:
        assert not trace.counted
    assert all(times == 1 for times in trace.counted.values()), trace.counted
    if engine == "memory":
        assert trace.encoded
        assert all(times == 1 for times in trace.encoded.values()), trace.encoded


def test_an_engine_is_asked_nothing_twice(trace: Trace, engine: str) -> None:
    if engine == "memory":
        assert not trace.statements
        return
    assert len(trace.statements) > 2
    assert [text for text, times in trace.statements.items() if times > 1] == []


def test_the_ledger_file_is_asked_before_anything_is_spent_and_again_under_its_lock(
    trace: Trace,
) -> None:
    # The second time is the one that counts: somebody else may have spent in between.
    assert trace.times(LedgerFile.check_table) == 1
    assert trace.times(LedgerFile.check_release) == 1
    assert trace.times(LedgerFile._check_release) == 2


def test_the_trace_would_see_a_second_time() -> None:
    def twice() -> None:
        for _ in range(2):
            MemoryColumns(tables.Table({})).count({})

    with traced() as found:
        twice()
    assert found.times(MemoryColumns.count) == 2
    assert found.times(twice) == 1
