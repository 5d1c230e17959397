"""Fixtures that all tests share."""

from __future__ import annotations

import fcntl
import gc
import math
import os
import random
import re
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from understudy.machine import plain_first

# No deadlines: the machine may be busy, and no test depends on the clock. The same examples in
# each run, so that what passed once passes again; `make fuzz` looks for others.
settings.register_profile(
    "understudy",
    deadline=None,
    max_examples=50,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "fuzz", settings.get_profile("understudy"), derandomize=False, max_examples=300
)
settings.load_profile(os.environ.get("UNDERSTUDY_EXAMPLES", "understudy"))

# What tests share across folders: the published tables, and holders in memory.
for folder in ("studies", "tests/federation"):
    sys.path.append(str(Path(__file__).resolve().parents[1] / folder))

DATA = Path(__file__).resolve().parents[1].parent / "shared" / "data"


@pytest.fixture(scope="session", autouse=True)
def no_wait_for_the_disk() -> Iterator[None]:
    """Files are written as always, but nothing waits until the disk has them: that is for when the
    power fails, and what calls ``fsync`` when is tested by itself.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: os.fstat(handle) and None)
        yield


@pytest.fixture(scope="session", autouse=True)
def kernels_are_compiled_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Where several processes share the tests, each would compile the kernels that all of them are
    about to use, seconds each: who comes second waits, and finds it on the disk.
    """
    if "PYTEST_XDIST_WORKER" not in os.environ:
        yield
        return
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.dispatcher import Dispatcher

    folder, compile_kernel = tmp_path_factory.getbasetemp().parent, Dispatcher.compile

    def compile_in_turn(self: Any, signature: Any) -> Any:
        if self._compiling_counter:  # calls itself
            return compile_kernel(self, signature)
        name = self.py_func.__qualname__
        with global_compiler_lock, (folder / f"{name}.lock").open("wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            return compile_kernel(self, signature)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Dispatcher, "compile", compile_in_turn)
        yield


@pytest.fixture(scope="module", autouse=True)
def kernels_are_chosen_as_always() -> Iterator[None]:
    """A holder of an earlier test told this process to compile whatever there is to do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain_first, "WORTH_SECONDS", None)
        yield


@pytest.fixture
def data() -> Path:
    """The folder of real tables; tests that want it are skipped where it is not (and carry the
    marker ``data``).
    """
    if not DATA.is_dir():
        pytest.skip(f"the real tables are not at {DATA}")
    return DATA


@pytest.fixture(scope="module")
def compiled_kernels() -> Iterator[None]:
    """However little there is to do, kernels do it, and not their plain versions."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain_first, "WORTH_SECONDS", 0.0)
        yield


@pytest.fixture(scope="module", params=[math.inf, 0.0], ids=["plain", "compiled"])
def each_version(request: pytest.FixtureRequest) -> Iterator[None]:
    """Plain versions do everything; then the kernels do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain_first, "WORTH_SECONDS", request.param)
        yield


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Thousands of tests, and the libraries that they import, stay until the end: looking through
    them for garbage, again and again, took a third of the time of collecting them.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


ALL_THOROUGH = re.compile(r"^pytestmark = (\[[^\]]*)?pytest\.mark\.thorough", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files whose tests are all thorough are not imported where these are left out: each process
    would load what draws pictures and screens, for nothing.
    """
    if "not thorough" not in config.option.markexpr or collection_path.suffix != ".py":
        return None
    if ALL_THOROUGH.search(collection_path.read_text(encoding="utf-8")):
        return True
    return None


ORDER = os.environ.get("UNDERSTUDY_ORDER")
"""The seed of a random order of the tests; ``make test-orders`` sets it."""


def pytest_report_header() -> str | None:
    """Say in which order tests run, so that it can be had again."""
    return f"order of tests: UNDERSTUDY_ORDER={ORDER}" if ORDER else None


@pytest.hookimpl(tryfirst=True)
def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes that are no text are named by their argument. What gzip packs holds the second of its
    making, and processes that share the tests must find the same names.
    """
    if isinstance(val, bytes) and not val.isascii():
        return argname
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Shuffle the files, and the tests of each file, the same way in all processes.

    pytest brings those together again afterwards that share one version of a fixture.
    """
    if ORDER:
        rng = random.Random(ORDER)
        places: dict[Path, float] = {}
        for item in items:
            places.setdefault(item.path, rng.random())
        rng.shuffle(items)
        items.sort(key=lambda item: places[item.path])


# What stands in the reason of a skipped test; the program that it lacks, and its package.
PROGRAMS = {
    "PostgreSQL": ("PostgreSQL", "postgresql"),
    "Java": ("Java", "default-jre-headless"),
    "Chromium": ("Chromium", "chromium"),
    "Node.js": ("Node.js", "nodejs"),
}


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, None, None]:
    """After everything else, say which tests did not run for want of a program: a green line hides
    them.
    """
    yield
    gc.unfreeze()  # DuckDB's bindings say at the end of the process what was not let go
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        sentence = missing_programs([r.longrepr[2] for r in reporter.stats.get("skipped", ())])
        if sentence:
            reporter.write_line(sentence, yellow=True)


def missing_programs(reasons: list[str]) -> str:
    """What was skipped for want of which program, and how to install it; empty where all are
    there.
    """
    lacking = {
        name: sum(sign in reason for reason in reasons) for sign, (name, _) in PROGRAMS.items()
    }
    counts = [f"{count} without {name}" for name, count in lacking.items() if count]
    packages = [package for name, package in PROGRAMS.values() if lacking[name]]
    if not counts:
        return ""
    return f"NOT RUN: {', '.join(counts)}; to run them: apt install {' '.join(packages)}"
