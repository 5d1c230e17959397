"""Mutation testing: put one small fault at a time into the code that privacy rests on, and see a
test fail.

    python tools/mutants.py --sample 200

The files, and what each does, stand in ``tools/mutants.toml`` in two groups: those that privacy
rests on, and those that decide only how good a result is. Changes that no test can see, and
survivors that are left, stand in ``tools/explained_mutants.toml`` with their reasons. For each
mutant only tests that execute its lines are run (:mod:`reach`), those of the module's own test file
first, then the fastest, until one fails. Recording takes long where the machine is busy: with
``--unrecorded``, the test files are taken that are likely to see it (:mod:`likely_tests`), which
finds fewer faults, and no more than recording would.

Libraries are imported once; every mutant is a fork of that process with a copy of the package of
its own, in which the one file is changed. The checkout is never touched. A result is one line of a
file, written at once: a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import fnmatch
import hashlib
import importlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import tomllib
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from likely_tests import choose_files
from live_mutants import judge_live
from mutations import Mutant, find_mutants
from reach import Reach, record

HERE = Path(__file__).resolve().parent

SLOW = 20.0
"""Tests that take longer, in seconds, are run only where no other executes the line."""

ENOUGH = 90.0
"""Seconds of tests per mutant: what has survived these is taken as a survivor. Half as many where
it was not recorded which of them execute the line, unless ``--enough`` says otherwise.
"""

LEAST_LIMIT = 30.0
"""Seconds of CPU, or ten times its usual time, that a test may take before the mutant is caught."""

GROUPS = ("privacy", "quality")


# ---- the project


@dataclass(frozen=True, kw_only=True)
class Project:
    """What is mutated, and by which tests it is judged."""

    root: Path
    groups: Mapping[str, Mapping[str, str]]
    """Files below ``src``, with what each does: those of ``privacy`` and of ``quality``."""
    only: Mapping[str, Sequence[str]]
    """The functions of a file that are meant, where not all of them are."""
    tests: Sequence[str]
    compiled: Mapping[str, Sequence[str]]
    """Files that numba compiles, with the tests that record what reaches their lines."""
    imports: Sequence[str] = ()
    """Libraries that are imported once, before the process forks; none that starts threads."""
    equivalent: Sequence[Mapping[str, Any]] = ()
    """Changes that make no difference that a test could see."""
    survivors: Sequence[Mapping[str, Any]] = ()
    """Survivors that are left, with the reason."""

    @classmethod
    def load(cls, path: Path) -> Project:
        """Read a project's file, and the explained mutants beside it."""
        content = tomllib.loads(path.read_text())
        beside = path.with_name("explained_mutants.toml")
        explained = tomllib.loads(beside.read_text()) if beside.is_file() else {}
        return cls(
            root=path.resolve().parents[1],
            groups={group: content[group] for group in GROUPS},
            only=content.get("only", {}),
            tests=content["tests"],
            compiled=content.get("compiled", {}),
            imports=content.get("imports", []),
            equivalent=explained.get("equivalent", []),
            survivors=explained.get("survivor", []),
        )

    @property
    def files(self) -> dict[str, str]:
        """The files of all groups."""
        return {file: reason for files in self.groups.values() for file, reason in files.items()}

    def read(self, file: str) -> bytes:
        """The source of a file."""
        return (self.root / "src" / file).read_bytes()

    def find_mutants(self) -> list[Mutant]:
        """All mutants of all files."""
        found = [m for file in self.files for m in find_mutants(file, self.read(file))]
        return [
            m for m in found if m.file not in self.only or self.find_name(m) in self.only[m.file]
        ]

    @staticmethod
    def find_name(mutant: Mutant) -> str:
        """The outermost function or class that a mutant is in."""
        return mutant.function.partition(".")[0]

    def find_test_files(self) -> list[str]:
        """The test files, relative to the root, in the order given."""
        found: dict[Path, None] = {}
        for pattern in self.tests:
            path = self.root / pattern
            files = path.rglob("test_*.py") if path.is_dir() else path.parent.glob(path.name)
            found |= dict.fromkeys(sorted(files))
        return [str(path.relative_to(self.root)) for path in found]


def explain(mutant: Mutant, explained: Iterable[Mapping[str, Any]]) -> str | None:
    """The reason of the first entry that is about this mutant."""
    for entry in explained:
        if all(getattr(mutant, key) == value for key, value in entry.items() if key != "reason"):
            return str(entry["reason"])
    return None


def draw_sample(mutants: Sequence[Mutant], size: int | None, seed: int) -> list[Mutant]:
    """A sample in which every folder has its share, in random order.

    An edit elsewhere hardly changes it: those mutants of a folder are taken whose hashes are
    smallest.
    """
    if size is None:
        return list(mutants)
    folders: dict[str, list[Mutant]] = {}
    for mutant in sorted(mutants, key=lambda mutant: _digest(f"{seed} {mutant.identity}")):
        folders.setdefault(str(Path(mutant.file).parent), []).append(mutant)
    # The k-th of n stands at (k + 1/2) / n: the first SIZE places have of each folder its share.
    placed = [
        ((number + 0.5) / len(inside), _digest(f"{seed} {mutant.identity}"), mutant)
        for inside in folders.values()
        for number, mutant in enumerate(inside)
    ]
    return [mutant for *_, mutant in sorted(placed, key=lambda place: place[:2])][:size]


def _digest(text: str | bytes) -> str:
    data = text.encode() if isinstance(text, str) else text
    return hashlib.sha256(data).hexdigest()[:16]


# ---- which tests see what


def bring_up_to_date(project: Project, path: Path) -> Reach:
    """Load the recording, and record what has changed since."""
    reach = Reach.load(path)
    sources = {file: _digest(project.read(file)) for file in project.files}
    if reach.sources != sources:
        reach = Reach(sources=sources)
    tests = {
        file: _digest((project.root / file).read_bytes()) for file in project.find_test_files()
    }
    for gone in set(reach.test_files) - set(tests):
        reach.forget(gone)
        del reach.test_files[gone]
    stale = [file for file, digest in tests.items() if reach.test_files.get(file) != digest]
    if stale:
        print(f"recording which lines {len(stale)} test files execute: some minutes", flush=True)
    folders = dict.fromkeys(str(Path(file).parent) for file in stale)
    for folder in folders:  # each is saved, so that a run that was stopped goes on
        batch = [file for file in stale if str(Path(file).parent) == folder]
        record_batch(project, reach, batch)
        reach.test_files |= {file: tests[file] for file in batch}
        reach.save(path)
    return reach


def record_batch(project: Project, reach: Reach, tests: Sequence[str]) -> None:
    """Run some test files, those of compiled code twice, and take in which lines they execute."""
    for file in tests:
        reach.forget(file)
    done = record(project.root, list(project.files), tests, interpreted=False)
    reach.add(done, project.files, timed=True)
    compiled = list(project.compiled)
    again = sorted({t for tests in project.compiled.values() for t in tests}.intersection(tests))
    if again:
        done = record(project.root, compiled, again, interpreted=True)
        reach.add(done, compiled, timed=False)


def choose_tests(mutant: Mutant, reach: Reach, sources: dict[str, str]) -> list[str]:
    """The tests to run for a mutant, in their order."""
    seconds = reach.seconds
    found = reach.find_tests(mutant, sources)
    own = f"/test_{Path(mutant.file).stem}.py::"
    ordered = sorted(found, key=lambda test: (own not in test, seconds[test], test))
    chosen = [test for test in ordered if seconds[test] <= SLOW] or ordered[:1]
    together = 0.0
    for number, test in enumerate(chosen):
        together += seconds[test]
        if together > ENOUGH and number:
            return chosen[:number]
    return chosen


# ---- one mutant


@dataclass(frozen=True)
class Limits:
    """How long tests may take, in seconds of CPU."""

    least: float = LEAST_LIMIT
    """One test, before a mutant that keeps it busy is caught."""
    enough: float = ENOUGH / 2
    """All of a mutant, where it was not recorded which of them execute the line."""


@dataclass
class _Chosen:
    """The pytest plugin that runs the chosen tests, in their order, each within its limit.

    Where files are chosen, all of their tests are, in the order of the files, until enough time has
    passed.
    """

    seconds: Mapping[str, float]
    running: Path
    limits: Limits
    failing: Collection[str] = ()
    """Tests that fail without a mutant."""
    failed: str = ""
    ran: int = 0
    enough: bool = False
    session: pytest.Session | None = None

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self.session = session

    def pytest_configure(self) -> None:
        if "hypothesis" not in sys.modules:
            return
        from hypothesis import Phase, settings

        # Found is enough: no smaller example is wanted, and the same ones each time.
        phases = (Phase.explicit, Phase.generate)
        settings.register_profile("mutants", phases=phases, derandomize=True, database=None)
        settings.load_profile("mutants")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        place = {test: number for number, test in enumerate(self.seconds)}
        chosen: dict[pytest.Item, int] = {}
        for item in items:
            name = item.nodeid
            if name not in place:
                name = name.partition("::")[0]
            if name in place and item.nodeid not in self.failing:
                chosen[item] = place[name]
        items[:] = sorted(chosen, key=chosen.__getitem__)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        limit = max(self.limits.least, 10 * self.seconds.get(nodeid, 0.0))
        self.running.write_text(nodeid)
        # By CPU time, since the machine may be busy; what waits for ever is ended by the clock.
        signal.setitimer(signal.ITIMER_PROF, limit)
        faulthandler.dump_traceback_later(6 * limit, exit=True)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        faulthandler.cancel_dump_traceback_later()
        if nodeid not in self.seconds and time.process_time() > self.limits.enough and self.session:
            self.enough = True
            self.session.shouldstop = "enough"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.ran += report.when == "call"
        if report.failed and not self.failed:
            self.failed = report.nodeid


def run_tests(
    project: Project,
    folder: Path,
    tests: Mapping[str, float],
    limits: Limits,
    failing: Collection[str] = (),
) -> None:
    """In a process of its own: run tests against the package in a folder and leave a verdict
    there.
    """
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.environ |= {
        "PYTHONPATH": os.pathsep.join((str(folder / "src"), str(project.root / "tests"))),
        "PYTHONDONTWRITEBYTECODE": "1",
        "NUMBA_NUM_THREADS": "1",
        "HYPOTHESIS_STORAGE_DIRECTORY": str(folder / "hypothesis"),
    }
    os.environ.pop("NUMBA_CACHE_DIR", None)
    if "numba" in sys.modules:
        sys.modules["numba.core.config"].reload_config()
    # Not by a limit: commands that find one go on in a process of their own, tests and all.
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")  # the first to go where memory ends
    sys.dont_write_bytecode = True
    sys.path[:0] = [str(folder / "src"), str(project.root / "tests")]
    sys.path = [place for place in sys.path if Path(place or ".").resolve() != HERE]
    os.chdir(project.root)
    with (folder / "output").open("w") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    chosen = _Chosen(tests, folder / "running", limits, failing)
    files = sorted({test.partition("::")[0] for test in tests})
    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:faulthandler", "--tb=short"]
    temporary = folder / "temporary"
    shutil.rmtree(temporary, ignore_errors=True)
    if not any("::" in test for test in tests):
        options += ["-m", "not slow and not thorough"]
    status = pytest.main([*options, f"--basetemp={temporary}", *files], plugins=[chosen])
    if chosen.enough and not chosen.failed:
        status = pytest.ExitCode.OK
    verdict = {"status": int(status), "by": chosen.failed, "ran": chosen.ran}
    (folder / "verdict").write_text(json.dumps(verdict))


@dataclass
class _Worker:
    """A copy of the package, in which one file at a time is changed."""

    project: Project
    folder: Path
    limits: Limits
    mutant: Mutant | None = None
    started: float = 0.0
    kept: dict[str, tuple[bytes, os.stat_result]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # With the bytecode and the compiled code beside it, which hold for the files not changed.
        shutil.copytree(self.project.root / "src", self.folder / "src")

    def start(
        self, mutant: Mutant, tests: Mapping[str, float], failing: Collection[str] = ()
    ) -> int:
        """Change the file and run the tests; returns the process."""
        self.mutant, self.started = mutant, time.time()
        path = self.folder / "src" / mutant.file
        source = path.read_bytes()
        self.kept[mutant.file] = source, path.stat()
        path.write_bytes(mutant.apply(source))
        os.utime(path, (1, random.randrange(10**9)))  # no stale bytecode is taken for it
        self.put_aside_compiled(path)
        return self.run(tests, failing)

    def run(self, tests: Mapping[str, float], failing: Collection[str] = ()) -> int:
        """Run tests against the copy as it is; returns the process."""
        for name in ("verdict", "running"):
            (self.folder / name).unlink(missing_ok=True)
        process = os.fork()
        if not process:
            with contextlib.suppress(BaseException):
                run_tests(self.project, self.folder, tests, self.limits, failing)
            os._exit(0)
        return process

    def find_failing(self, tests: Iterable[str]) -> set[str]:
        """Those of some tests that fail, or never end, without a mutant."""
        failing: set[str] = set()
        while left := {test: 0.0 for test in tests if test not in failing}:
            os.waitpid(self.run(left), 0)
            verdict = self.folder / "verdict"
            if verdict.is_file():
                failed = json.loads(verdict.read_text())["by"]
            else:
                failed = (self.folder / "running").read_text()
            if not failed:
                break
            print(f"fails by itself: {failed}", flush=True)
            failing.add(failed)
        return failing

    def finish(self, process: int) -> dict[str, Any]:
        """Put the file back and tell what came of it."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process, signal.SIGKILL)  # holders that a test has started
        mutant = self.mutant
        assert mutant is not None
        source, stat = self.kept.pop(mutant.file)
        path = self.folder / "src" / mutant.file
        path.write_bytes(source)
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        self.put_back_compiled(path)
        self.mutant = None
        took = round(time.time() - self.started, 1)
        result = {"mutant": mutant.identity, "digest": mutant.digest, "seconds": took}
        verdict = self.folder / "verdict"
        if not verdict.is_file():
            running = self.folder / "running"
            by = running.read_text() if running.is_file() else ""
            return {**result, "outcome": "caught", "by": by, "how": "ended"}
        told = json.loads(verdict.read_text())
        if told["status"] == pytest.ExitCode.OK:
            return {**result, "outcome": "survived", "by": "", "how": f"{told['ran']} tests"}
        if told["status"] == pytest.ExitCode.NO_TESTS_COLLECTED:
            raise SystemExit(f"no test was run: {(self.folder / 'output').read_text()[-2000:]}")
        return {**result, "outcome": "caught", "by": told["by"], "how": "failed"}

    def put_aside_compiled(self, path: Path) -> None:
        """Keep what numba has compiled of a file from its mutant, which would overwrite it."""
        aside = self.folder / "aside"
        aside.mkdir(exist_ok=True)
        for compiled in self.find_compiled(path):
            compiled.rename(aside / compiled.name)

    def put_back_compiled(self, path: Path) -> None:
        for compiled in self.find_compiled(path):
            compiled.unlink()
        for compiled in (self.folder / "aside").iterdir():
            compiled.rename(path.parent / "__pycache__" / compiled.name)

    @staticmethod
    def find_compiled(path: Path) -> list[Path]:
        return list((path.parent / "__pycache__").glob(f"{path.stem}.*.nb[ic]"))


# ---- all of them


def load_results(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """The last result of each mutant; a line that was cut off by the end of a run is left out."""
    found = {}
    for line in path.read_text().splitlines() if path.is_file() else ():
        with contextlib.suppress(json.JSONDecodeError):
            result = json.loads(line)
            found[result["mutant"], result["digest"]] = result
    return found


def run_mutants(
    project: Project,
    mutants: Sequence[Mutant],
    reach: Reach | None,
    path: Path,
    *,
    processes: int,
    limits: Limits,
) -> None:
    """Decide mutants, several at a time, and append each result."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_file() and not path.read_bytes().endswith(b"\n"):
        path.write_bytes(path.read_bytes() + b"\n")  # the last run was stopped in a line
    sources = {file: project.read(file).decode() for file in project.files}
    for name in project.imports:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    running: dict[int, _Worker] = {}
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, path.open("a") as out:

        def write(result: dict[str, Any]) -> None:
            out.write(json.dumps(result) + "\n")
            out.flush()
            print(
                f"{result['outcome']:9}{result['seconds']:6.1f} s  {result['mutant']}", flush=True
            )

        def choose(mutant: Mutant) -> dict[str, float]:
            """The tests of a mutant, or their files, in their order, with the seconds of each."""
            if reach is None:
                return dict.fromkeys(choose_files(mutant, project.root, files), 0.0)
            return {test: reach.seconds[test] for test in choose_tests(mutant, reach, sources)}

        files = project.find_test_files()
        if reach is None:
            jobs = [(m, project.read(m.file), list(choose(m))) for m in mutants]
            mutants = run_live(project, jobs, write, limits, processes)
        folders = [Path(folder, str(number)) for number in range(processes)]
        idle = [_Worker(project, each, limits) for each in folders]

        def decide(mutants: Iterable[Mutant], failing: Collection[str]) -> dict[Mutant, str]:
            """Decide mutants; returns which test caught each."""
            waiting, caught = list(mutants)[::-1], {}
            while waiting or running:
                while waiting and idle:
                    mutant = waiting.pop()
                    seconds = choose(mutant)
                    if seconds:
                        worker = idle.pop()
                        running[worker.start(mutant, seconds, failing)] = worker
                    else:
                        unseen = {"mutant": mutant.identity, "digest": mutant.digest, "seconds": 0}
                        write({**unseen, "outcome": "survived", "by": "", "how": "no test"})
                if running:
                    process, _ = os.wait()
                    worker = running.pop(process)
                    assert worker.mutant is not None
                    mutant, result = worker.mutant, worker.finish(process)
                    caught[mutant] = result["by"]
                    write(result)
                    idle.append(worker)
            return caught

        try:
            failing: set[str] = set()
            left = list(mutants)
            while left:  # what catches in place of a test that fails by itself may do so, too
                caught = decide(left, failing)
                failing |= idle[0].find_failing({by for by in caught.values() if by})
                left = [mutant for mutant, by in caught.items() if by in failing]
        finally:
            for process in running:
                os.killpg(process, signal.SIGKILL)


def run_live(
    project: Project,
    jobs: Sequence[tuple[Mutant, bytes, Sequence[str]]],
    write: Callable[[dict[str, Any]], None],
    limits: Limits,
    processes: int,
) -> list[Mutant]:
    """Judge what can be judged in functions that are loaded; returns the others.

    In forks, some of them for each: this process must not load the package, or the changed copies
    that it forks for the others would never be read.
    """
    reading = []
    for part in (jobs[place::processes] for place in range(min(processes, len(jobs)))):
        reader, writer = os.pipe()
        process = os.fork()
        if not process:
            try:
                sys.path[:0] = [str(project.root / "src"), str(project.root / "tests")]
                os.environ["NUMBA_NUM_THREADS"] = "1"
                os.chdir(project.root)
                others = judge_live(part, write, enough=limits.enough, limit=limits.least)
                with os.fdopen(writer, "w") as out:
                    json.dump([mutant.identity for mutant in others], out)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(0)
        os.close(writer)
        reading.append((process, reader))
    names: set[str] = set()
    for process, reader in reading:
        with os.fdopen(reader) as told:
            text = told.read()
        os.waitpid(process, 0)
        if not text:
            raise SystemExit("Mutants of loaded functions could not be judged; see above.")
        names |= set(json.loads(text))
    return [mutant for mutant, _, _ in jobs if mutant.identity in names]


# ---- the page


def write_page(
    project: Project,
    mutants: Sequence[Mutant],
    results: Mapping[tuple[str, str], Mapping[str, Any]],
    path: Path,
    drawn: str,
) -> tuple[int, int]:
    """Write the score of each file and the survivors; returns how many were caught of how many."""
    caught: Counter[str] = Counter()
    decided: Counter[str] = Counter()
    equivalent: Counter[str] = Counter()
    survivors = []
    for mutant in mutants:
        if explain(mutant, project.equivalent) is not None:
            equivalent[mutant.file] += 1
            continue
        result = results.get((mutant.identity, mutant.digest))
        if result is None:
            continue
        decided[mutant.file] += 1
        if result["outcome"] == "caught":
            caught[mutant.file] += 1
        else:
            survivors.append(mutant)
    text = (path.read_text() if path.is_file() else "# Mutants\n").partition(BEGIN)[0]
    lines = [
        BEGIN,
        "",
        f"{drawn.capitalize()}: **{caught.total()} of {decided.total()} decided mutants caught "
        f"({_percent(caught.total(), decided.total())})**; {equivalent.total()} more change "
        "nothing that a test could see.",
        "",
        "| group | caught | decided | score | equivalent |",
        "|---|---:|---:|---:|---:|",
    ]
    for group, files in project.groups.items():
        totals = [sum(found[file] for file in files) for found in (caught, decided, equivalent)]
        row = (group, *totals[:2], _percent(*totals[:2]), totals[2])
        lines.append(f"| {' | '.join(map(str, row))} |")
    lines += [
        "",
        "Files of which a mutant was judged:",
        "",
        "| file | group | caught | decided | score | equivalent | what it does |",
        "|---|---|---:|---:|---:|---:|---|",
    ]
    for group, files in project.groups.items():
        for file, reason in files.items():
            if decided[file] or equivalent[file]:
                score = _percent(caught[file], decided[file])
                row = (f"`{file}`", group, caught[file], decided[file], score)
                row = (*row, equivalent[file], reason)
                lines.append(f"| {' | '.join(map(str, row))} |")
    lines += ["", "### Survivors", ""]
    for mutant in survivors:
        reason = explain(mutant, project.survivors) or "not explained yet"
        change = f"`{_one_line(mutant.original)}` to `{_one_line(mutant.mutated)}`"
        lines.append(f"- `{mutant.file}`, `{mutant.function}`: {change}: {reason}")
    if not survivors:
        lines.append("None.")
    path.write_text(text + "\n".join(lines) + "\n")
    return caught.total(), decided.total()


BEGIN = "<!-- from here on written by tools/mutants.py -->"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def _one_line(text: str) -> str:
    short = " ".join(text.split()).replace("|", "\\|")
    return short if len(short) <= 90 else short[:87] + "..."


# ---- the command


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--project", type=Path, default=HERE / "mutants.toml")
    parser.add_argument("--sample", type=int, help="how many mutants are drawn (default: all)")
    parser.add_argument("--seed", type=int, default=0, help="which sample")
    parser.add_argument("--decided", action="store_true", help="only those that have a result")
    parser.add_argument("--files", default="*", help="a pattern: mutants of these files alone")
    parser.add_argument("--group", choices=GROUPS, help="mutants of this group alone")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--results", type=Path, help="default: .mutants/results.jsonl")
    parser.add_argument("--survivors", action="store_true", help="run survivors again")
    parser.add_argument("--page", type=Path, help="where the score is written")
    parser.add_argument("--least-limit", type=float, default=LEAST_LIMIT, help="seconds a test")
    parser.add_argument(
        "--enough", type=float, default=ENOUGH / 2, help="seconds a mutant, where --unrecorded"
    )
    parser.add_argument("--list", action="store_true", help="only list mutants and their tests")
    parser.add_argument(
        "--unrecorded", action="store_true", help="choose tests by what their files import"
    )
    asked = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # and end the tests that run

    project = Project.load(asked.project)
    state = project.root / ".mutants"
    path = asked.results or state / "results.jsonl"
    asked_files = project.groups[asked.group] if asked.group else project.files
    everything = [
        mutant
        for mutant in project.find_mutants()
        if mutant.file in asked_files and fnmatch.fnmatch(mutant.file, asked.files)
    ]
    mutants = draw_sample(everything, asked.sample, asked.seed)
    for entry in (*project.equivalent, *project.survivors):
        if entry["file"] in {m.file for m in everything} and not any(
            explain(mutant, [entry]) for mutant in everything
        ):
            print(f"explained, but there is no such mutant: {dict(entry)}")
    reach = None
    if not asked.unrecorded:
        reach = bring_up_to_date(project, state / "reach.json")
    if asked.list and reach is not None:
        sources = {file: project.read(file).decode() for file in project.files}
        for mutant in mutants:
            print(f"{len(choose_tests(mutant, reach, sources)):5} tests  {mutant.identity}")
        return 0
    results = load_results(path)
    if asked.decided:
        mutants = [m for m in mutants if (m.identity, m.digest) in results]
    left = []
    for mutant in mutants:
        result = results.get((mutant.identity, mutant.digest))
        again = asked.survivors and result is not None and result["outcome"] == "survived"
        if (result is None or again) and explain(mutant, project.equivalent) is None:
            left.append(mutant)
    print(f"{len(mutants)} mutants of {len(everything)}, {len(left)} to decide", flush=True)
    limits = Limits(least=asked.least_limit, enough=asked.enough)
    run_mutants(project, left, reach, path, processes=asked.processes, limits=limits)
    results = load_results(path)
    drawn = f"all {len(mutants):,} mutants"
    if asked.sample is not None:
        drawn = f"a sample of {len(mutants):,} of {len(everything):,} mutants (seed {asked.seed})"
    if asked.decided:
        drawn = f"{len(mutants):,} mutants, drawn at random from {len(everything):,}"
    page = asked.page or project.root / "docs" / "mutants.md"
    caught, decided = write_page(project, mutants, results, page, drawn)
    print(f"{caught} of {decided} caught ({_percent(caught, decided)}); see {page}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
