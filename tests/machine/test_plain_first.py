"""Kernels take over when the work is worth it, by sizes alone, and at holders from the start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from understudy import Independent, Ledger, Model, Schema
from understudy.counting import kernel_choice, kernels
from understudy.data.encoding import Coded
from understudy.data.marginals import marginal
from understudy.data.tables import Column, Table
from understudy.federation.holder_rows import HolderRows
from understudy.machine import plain_first
from understudy.machine.plain_first import PlainFirst, always_compile, is_compiled, thread_count
from understudy.privacy.answering import PrivateRows
from understudy.privacy.budget import Budget
from understudy.privacy.curator import Curator
from understudy.privacy.mechanisms import SystemNoise
from understudy.privacy.questions import Measure
from understudy.release.callbacks import Progress


@pytest.fixture(autouse=True)
def numbers_as_they_come(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is compiled yet."""
    monkeypatch.setattr(plain_first, "WORTH_SECONDS", None)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))


def first(says: str = "kernels") -> PlainFirst:
    return PlainFirst(lambda: says, Path("room/kernels.py"), compiling=2.0)


def test_kernels_take_over_once_plain_work_adds_up_to_compiling_them() -> None:
    kernels, piece = first(), 0.8
    assert [kernels.kernels_for(piece) for _ in range(4)] == [None, None, "kernels", "kernels"]


def test_kernels_that_were_compiled_before_take_over_sooner(tmp_path: Path) -> None:
    for folder, name in (("room_1f", "kernels.count-3.py311.nbi"), ("other_2e", "more.x-1.nbi")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).touch()
    kernels, piece = first(), 0.4 * plain_first.LOADING_SECONDS
    assert [kernels.kernels_for(piece) for _ in range(4)] == [None, None, "kernels", "kernels"]
    assert not is_compiled(Path("room/others.py"))
    assert not is_compiled(Path("other/kernels.py"))


@pytest.mark.thorough
@pytest.mark.parametrize("given", [True, False])
def test_it_is_seen_where_numba_keeps_kernels(
    given: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = tmp_path / "room" / "steps.py"
    source.parent.mkdir()
    source.write_text("import numba\n@numba.njit(cache=True)\ndef add(a):\n    return a + 1\n")
    if not given:
        monkeypatch.delenv("NUMBA_CACHE_DIR")
    assert not is_compiled(source)
    run = [sys.executable, "-c", "import steps; steps.add(1)"]
    subprocess.run(run, cwd=source.parent, env={**os.environ, "PYTHONPATH": "."}, check=True)
    assert is_compiled(source)


def test_much_work_goes_to_kernels_at_once() -> None:
    assert first().kernels_for(2.5) == "kernels"


def test_work_of_one_kind_loads_no_kernels_of_another() -> None:
    done, other = first(), first("others")
    assert done.kernels_for(100.0) == "kernels"
    assert other.kernels_for(0.1) is None


def test_kernels_can_be_asked_for() -> None:
    always_compile()
    assert first().kernels_for(0.0) == "kernels"


def rows_of(count: int) -> Coded:
    schema = Schema.from_dict(
        {"attributes": {"a": {"kind": "categorical", "values": ["x", "y", "z"]}}}
    )
    codes = np.random.default_rng(0).integers(0, 3, count).astype(np.uint8)
    return Coded(schema, {"a": codes}, count, ())


@pytest.mark.parametrize("count", [0, 1, 100])
def test_a_holder_counts_by_kernels_however_few_its_rows_are(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stranger sees the time that an answer takes; with few rows, an owner's counter is plain."""
    loaded: list[str] = []

    def load() -> Any:
        loaded.append("kernels")
        return kernels

    monkeypatch.setattr(
        kernel_choice, "COUNTING_KERNELS", PlainFirst(load, Path("kernels.py"), compiling=4.0)
    )
    PrivateRows(rows_of(count)).counter.count([marginal("a")])
    assert not loaded
    holder = HolderRows(rows_of(count), Ledger(1.0), SystemNoise())
    holder.measure(Measure(marginals=[marginal("a")], budget=Budget(0.5, "epsilon")))
    assert loaded


@pytest.mark.parametrize("for_strangers", [False, True])
def test_a_method_that_is_not_trusted_is_answered_by_kernels_from_the_start(
    for_strangers: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has a clock: when kernels are loaded would tell it the number of rows."""
    seen = []

    class Stranger(Independent):
        def learn(self, curator: Curator, budget: Budget, progress: Progress) -> Model:
            seen.append(plain_first.WORTH_SECONDS)
            return super().learn(curator, budget, progress)

    monkeypatch.setattr(Stranger, "for_strangers", for_strangers)
    rows = rows_of(30)
    table = Table({"a": Column("text", rows.codes["a"], ("x", "y", "z"))})
    Stranger(epsilon=1.0, refinement=0.0).fit(table, rows.schema, notify=lambda _: None)
    assert seen == [0.0 if for_strangers else None]


def test_threads_are_numbas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_NUM_THREADS", "3")
    assert thread_count() == 3
    monkeypatch.delenv("NUMBA_NUM_THREADS")
    script = "import numba; print(numba.config.NUMBA_NUM_THREADS)"
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout
    assert thread_count() == int(said)
