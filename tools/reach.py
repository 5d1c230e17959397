"""Which tests execute which lines, and how long they take.

Recorded by ``coverage``, one context per test. Code that numba has compiled cannot be watched, so
the tests of such files run a second time, interpreted. A recording holds as long as the sources are
as they were; a test file that changed is recorded again by itself.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from mutations import Mutant

HERE = Path(__file__).resolve().parent


@dataclass(kw_only=True)
class Reach:
    """The recording."""

    sources: dict[str, str] = field(default_factory=dict)
    """Digests of the files that are watched."""
    test_files: dict[str, str] = field(default_factory=dict)
    """Digests of the test files that were run."""
    seconds: dict[str, float] = field(default_factory=dict)
    """What each test that passed took."""
    lines: dict[str, dict[int, set[str]]] = field(default_factory=dict)
    """For each file and line the tests that executed it."""

    @classmethod
    def load(cls, path: Path) -> Reach:
        """Read a recording; an empty one if there is none."""
        if not path.is_file():
            return cls()
        kept = json.loads(path.read_text())
        tests = kept["tests"]
        lines = {
            file: {int(line): {tests[i] for i in reached} for line, reached in by_line.items()}
            for file, by_line in kept["lines"].items()
        }
        seconds = dict(zip(tests, kept["seconds"], strict=True))
        return cls(
            sources=kept["sources"], test_files=kept["test_files"], seconds=seconds, lines=lines
        )

    def save(self, path: Path) -> None:
        """Write the recording."""
        number = {test: i for i, test in enumerate(self.seconds)}
        lines = {
            file: {line: sorted(number[t] for t in tests) for line, tests in by_line.items()}
            for file, by_line in self.lines.items()
        }
        content = {
            "sources": self.sources,
            "test_files": self.test_files,
            "tests": list(self.seconds),
            "seconds": [round(seconds, 4) for seconds in self.seconds.values()],
            "lines": lines,
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))

    def forget(self, file: str) -> None:
        """Drop what is known of one test file."""
        gone = {test for test in self.seconds if test.partition("::")[0] == file}
        self.seconds = {test: s for test, s in self.seconds.items() if test not in gone}
        for by_line in self.lines.values():
            for line in by_line:
                by_line[line] -= gone

    def add(self, recorded: dict[str, Any], files: Iterable[str], *, timed: bool) -> None:
        """Take in what a run of some test files has recorded, of the source files named."""
        if timed:
            self.seconds |= recorded["seconds"]
        for file in files:
            by_line = self.lines.setdefault(file, {})
            for line, tests in recorded["lines"].get(file, {}).items():
                known = by_line.setdefault(int(line), set())
                known.update(test for test in tests if test in self.seconds)

    def find_tests(self, mutant: Mutant, sources: dict[str, str]) -> set[str]:
        """All tests that can see a mutant."""
        by_line = self.lines.get(mutant.file, {})
        if mutant.lines:
            return set().union(*(by_line.get(line, ()) for line in mutant.lines))
        # Executed at import: whoever executes a line that names it.
        found: set[str] = set()
        if mutant.names:
            named = re.compile(rf"\b({'|'.join(map(re.escape, mutant.names))})\b")
            for file, text in sources.items():
                reached = self.lines.get(file, {})
                for number, line in enumerate(text.splitlines(), 1):
                    if named.search(line):
                        found |= reached.get(number, set())
        return found or set().union(*by_line.values())


def record(
    root: Path, sources: Sequence[str], tests: Sequence[str], *, interpreted: bool
) -> dict[str, Any]:
    """Run test files in a process of their own and return seconds and lines per test."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        target = Path(folder, "recorded.json")
        wanted = {"root": str(root), "sources": sources, "to": str(target)}
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, (root / "src", root / "tests", HERE))),
            "NUMBA_NUM_THREADS": "1",
            "MUTANTS_RECORD": json.dumps(wanted),
        }
        if interpreted:
            environment["NUMBA_DISABLE_JIT"] = "1"
        options = ["-p", "no:cacheprovider", "-p", "reach", f"--basetemp={folder}/temporary"]
        command = [sys.executable, "-m", "pytest", *options, *tests]
        done = subprocess.run(command, cwd=root, env=environment, capture_output=True, check=False)
        if not target.is_file():
            raise SystemExit(done.stdout.decode()[-2000:] + done.stderr.decode()[-2000:])
        recorded: dict[str, Any] = json.loads(target.read_text())
        return recorded


class _Recorder:
    """The pytest plugin that records."""

    def __init__(self, root: str, sources: Sequence[str], to: str) -> None:
        import coverage

        self.paths = {source: str(Path(root, "src", source)) for source in sources}
        self.to = Path(to)
        self.seconds: dict[str, float] = defaultdict(float)
        self.passed: set[str] = set()
        self.coverage = coverage.Coverage(
            data_file=None, config_file=False, include=list(self.paths.values())
        )
        self.coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        self.coverage.switch_context(item.nodeid)
        try:
            return (yield)
        finally:
            self.coverage.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += report.duration
        if report.when == "call" and report.passed:
            self.passed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        data = self.coverage.get_data()
        lines = {}
        for source, path in self.paths.items():
            by_line = data.contexts_by_lineno(path)
            lines[source] = {
                line: sorted(self.passed.intersection(tests)) for line, tests in by_line.items()
            }
        seconds = {test: self.seconds[test] for test in self.seconds if test in self.passed}
        self.to.write_text(json.dumps({"seconds": seconds, "lines": lines}))


def pytest_configure(config: pytest.Config) -> None:
    """Record, where the process was started for that."""
    wanted = os.environ.get("MUTANTS_RECORD")
    if wanted:
        config.pluginmanager.register(_Recorder(**json.loads(wanted)), "mutants-recorder")
