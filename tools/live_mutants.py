"""Mutants put into functions that are loaded already.

Importing the package and collecting its tests takes longer than most tests do. So they are
collected once; for each mutant the process forks, and the fork replaces the code of the one
function, runs the tests in their order until one fails, and ends. Whatever holds a function sees
its new code, which tells when the change is reached: a test that does not reach it says nothing of
it, and counts for a quarter of its time. What that cannot change is left to the caller: values
computed at import, defaults of arguments, functions that numba has compiled.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import faulthandler
import importlib
import json
import os
import signal
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from mutations import Mutant


def find_code(code: CodeType, name: str) -> CodeType | None:
    """The code of an outermost function or of a method, by its qualified name."""
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            if inner.co_qualname == name:
                return inner
            if name.startswith(f"{inner.co_qualname}."):
                return find_code(inner, name)
    return None


def unwrap(value: Any) -> Any:
    """The plain function inside a method, a property or a cache; not of compiled code."""
    if hasattr(value, "py_func"):
        return None
    for name in ("__func__", "fget", "func", "__wrapped__"):
        while not isinstance(value, FunctionType) and hasattr(value, name):
            value = getattr(value, name)
    while hasattr(value, "__wrapped__"):
        value = value.__wrapped__
    return value


def find_function(module: Any, name: str) -> tuple[FunctionType, str] | None:
    """The first function on the way to a name, and its own qualified name."""
    place, parts = module, name.split(".")
    for number, part in enumerate(parts, 1):
        place = unwrap(vars(place).get(part))
        if isinstance(place, FunctionType):
            return place, ".".join(parts[:number])
        if not isinstance(place, type):
            return None
    return None


REACHED = "_mutant_reached"
"""The builtin that a changed function calls right before the change."""

PATIENCE = 4
"""How many seconds of tests that do not reach a change count as one of those that do."""


def mark(mutant: Mutant, source: bytes) -> ast.Module:
    """The changed module, in which the statement with the change tells that it is reached."""
    tree = ast.parse(mutant.apply(source))
    call = ast.parse(f"{REACHED}()").body[0]
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            lines = [each.lineno for each in body] if isinstance(body, list) else []
            if isinstance(body, list) and mutant.lines[0] in lines:
                body.insert(lines.index(mutant.lines[0]), call)
                return ast.fix_missing_locations(tree)
    return tree


def change_code(mutant: Mutant, source: bytes) -> Callable[[], None] | None:
    """What puts a mutant into its function; None where that is not possible, or changes nothing."""
    if not mutant.lines:
        return None
    module = importlib.import_module(".".join(Path(mutant.file).with_suffix("").parts))
    found = find_function(module, mutant.function)
    if found is None:
        return None
    function, name = found
    plain, marked = (
        find_code(compile(whole, str(module.__file__), "exec", dont_inherit=True), name)
        for whole in (mutant.apply(source), mark(mutant, source))
    )
    same = function.__code__
    if plain is None or plain == same or plain.co_freevars != same.co_freevars:
        return None

    def put_in() -> None:
        function.__code__ = marked or plain

    return put_in


@dataclass
class LiveJudge:
    """The pytest plugin: in place of running all tests, judge mutants by some of them."""

    jobs: Sequence[tuple[Mutant, Callable[[], None], Sequence[str]]]
    """Each mutant, what puts it in, and the test files for it in their order."""
    enough: float
    limit: float
    write: Callable[[dict[str, Any]], None]

    def pytest_configure(self) -> None:
        """No smaller example is wanted than the first that fails, and the same ones each time."""
        from hypothesis import Phase, settings

        phases = (Phase.explicit, Phase.generate)
        settings.register_profile("live", phases=phases, derandomize=True, database=None)
        settings.load_profile("live")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Fork for each mutant; a file that cannot be collected would judge none of them."""
        if session.testsfailed:
            raise session.Failed(f"{session.testsfailed} test files could not be collected")
        by_file: dict[str, list[pytest.Item]] = {}
        for item in session.items:
            by_file.setdefault(item.nodeid.partition("::")[0], []).append(item)
        failing: set[str] = set()
        left = list(self.jobs)
        while left:  # what catches in place of a test that fails by itself may do so, too
            results = [self._judge(job, by_file, failing) for job in left]
            failing |= self._find_failing(session, results)
            judged = zip(left, results, strict=True)
            left = [job for job, result in judged if result["by"] in failing]
        return True

    def _judge(
        self,
        job: tuple[Mutant, Callable[[], None], Sequence[str]],
        by_file: Mapping[str, Sequence[pytest.Item]],
        failing: Collection[str] = (),
    ) -> dict[str, Any]:
        """Decide a mutant, by all of its tests but those that fail without it."""
        mutant, put_in, files = job
        items = [item for file in files for item in by_file.get(file, ())]
        items = [item for item in items if item.nodeid not in failing]
        started = time.time()
        verdict = self._fork(items, put_in)
        took = round(time.time() - started, 1)
        result = {"mutant": mutant.identity, "digest": mutant.digest, "seconds": took}
        if verdict["failed"]:
            result |= {"outcome": "caught", "by": verdict["failed"], "how": "failed"}
        else:
            how = f"{verdict['ran']} tests, of which {verdict['reached']} reached it"
            result |= {"outcome": "survived", "by": "", "how": how}
        self.write(result)
        return result

    def _fork(self, items: Sequence[pytest.Item], put_in: Callable[[], None]) -> dict[str, Any]:
        reader, writer = os.pipe()
        process = os.fork()
        if not process:
            os.setsid()
            os.close(reader)
            with os.fdopen(writer, "w", buffering=1) as out:
                try:
                    put_in()
                    self._run(items, out)
                finally:
                    out.flush()
                    os._exit(0)
        os.close(writer)
        verdict: dict[str, Any] = {"failed": "", "ran": 0, "reached": 0}
        ended = False
        with os.fdopen(reader) as lines:
            running = ""
            for line in lines:
                told = json.loads(line)
                running = told.get("running", running)
                verdict["ran"] += "running" in told
                verdict["reached"] += told.get("reached", False)
                verdict["failed"] = told.get("failed", verdict["failed"])
                ended |= "end" in told
        os.waitpid(process, 0)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process, signal.SIGKILL)  # processes that a test has started
        if not ended and not verdict["failed"]:
            verdict["failed"] = running or "import"
        return verdict

    def _run(self, items: Sequence[pytest.Item], out: Any) -> None:
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        reached: list[bool] = []
        setattr(builtins, REACHED, lambda: reached.append(True))
        left = PATIENCE * self.enough
        for item, following in _pairs(items):
            begin = time.process_time()
            reached.clear()
            out.write(json.dumps({"running": item.nodeid}) + "\n")
            # By CPU time, since the machine may be busy; what waits for ever is ended by the clock.
            signal.setitimer(signal.ITIMER_PROF, self.limit)
            faulthandler.dump_traceback_later(20 * self.limit, exit=True)
            reports = runtestprotocol(item, log=False, nextitem=following)
            signal.setitimer(signal.ITIMER_PROF, 0)
            faulthandler.cancel_dump_traceback_later()
            if any(report.failed for report in reports):
                out.write(json.dumps({"failed": item.nodeid}) + "\n")
                return
            left -= (PATIENCE if reached else 1) * (time.process_time() - begin)
            out.write(json.dumps({"reached": bool(reached)}) + "\n")
            if left < 0:
                break
        out.write(json.dumps({"end": True}) + "\n")

    def _find_failing(
        self, session: pytest.Session, results: Sequence[Mapping[str, Any]]
    ) -> set[str]:
        """The tests that caught something and fail without a mutant, too."""
        failing = set()
        for name in {result["by"] for result in results if result["by"]}:
            items = [item for item in session.items if item.nodeid == name]
            if self._fork(items, lambda: None)["failed"]:
                print(f"fails by itself: {name}", flush=True)
                failing.add(name)
        return failing


def _pairs(items: Sequence[pytest.Item]) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    yield from zip(items, [*items[1:], None], strict=True)


def judge_live(
    jobs: Sequence[tuple[Mutant, bytes, Sequence[str]]],
    write: Callable[[dict[str, Any]], None],
    *,
    enough: float,
    limit: float,
) -> list[Mutant]:
    """Judge mutants, given with their sources and test files; returns those it cannot put in."""
    prepared, left = [], []
    for mutant, source, files in jobs:
        put_in = change_code(mutant, source)
        if put_in is None:
            left.append(mutant)
        else:
            prepared.append((mutant, put_in, files))
    judge = LiveJudge(prepared, enough, limit, write)
    files = list(dict.fromkeys(file for _, _, files in prepared for file in files))
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:faulthandler"]
    if prepared:
        chosen = [*options, "-m", "not slow and not thorough", *files]
        status = pytest.main(chosen, plugins=[judge])
        if status != pytest.ExitCode.OK:
            raise RuntimeError(f"tests could not judge: pytest ended with {status!r}")
    return left
