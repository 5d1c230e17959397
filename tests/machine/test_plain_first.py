"""Kernels take over when the work is worth it, by sizes alone, and at holders from the start."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from understudy import Ledger, Schema
from understudy.counting import memory
from understudy.data.encoding import Coded
from understudy.data.marginals import marginal
from understudy.federation.holder_rows import HolderRows
from understudy.machine import plain_first
from understudy.machine.plain_first import PlainFirst, always_compile, thread_count
from understudy.privacy.answering import PrivateRows
from understudy.privacy.budget import Budget
from understudy.privacy.mechanisms import SystemNoise
from understudy.privacy.questions import Measure


@pytest.fixture(autouse=True)
def worth_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_first, "WORTH_SECONDS", 1.0)


def test_kernels_take_over_once_plain_work_adds_up() -> None:
    kernels = PlainFirst(lambda: "kernels")
    assert [kernels.kernels_for(0.4) for _ in range(4)] == [None, None, "kernels", "kernels"]


def test_much_work_goes_to_kernels_at_once() -> None:
    assert PlainFirst(lambda: "kernels").kernels_for(2.0) == "kernels"


def test_work_of_one_kind_loads_no_kernels_of_another() -> None:
    done, other = PlainFirst(lambda: "kernels"), PlainFirst(lambda: "others")
    assert done.kernels_for(2.0) == "kernels"
    assert other.kernels_for(0.1) is None


def test_kernels_can_be_asked_for() -> None:
    always_compile()
    assert PlainFirst(lambda: "kernels").kernels_for(0.0) == "kernels"


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
    load = memory._load_kernels
    monkeypatch.setattr(memory, "_KERNELS", PlainFirst(lambda: loaded.append("k") or load()))
    PrivateRows(rows_of(count)).counter.count([marginal("a")])
    assert not loaded
    holder = HolderRows(rows_of(count), Ledger(1.0), SystemNoise())
    holder.measure(Measure(marginals=[marginal("a")], budget=Budget(0.5, "epsilon")))
    assert loaded


def test_threads_are_numbas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_NUM_THREADS", "3")
    assert thread_count() == 3
    monkeypatch.delenv("NUMBA_NUM_THREADS")
    script = "import numba; print(numba.config.NUMBA_NUM_THREADS)"
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout
    assert thread_count() == int(said)
