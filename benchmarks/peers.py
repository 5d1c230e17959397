"""Understudy and its peers on the same codes with the same budget: error, time, memory, and which
guarantee each gives.

    python benchmarks/peers.py [--data DIR] [--table nltcs] [--epsilon 1] [--cap 600] [--venvs DIR]
    [--only dpmm ...] [--contenders MST AIM ...]

Every contender gets one CSV file of integer codes and the number of codes of each column, and gives
back as many rows as there were. Each runs in a process of its own; peers also in virtual
environments of their own, which are made where they are missing and kept. Times are of fitting and
sampling in a warm process, from "ready" on; memory is the most that the process and those it
started held. A peer that cannot be installed, fails or meets the cap is a row that says so.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from rich.console import Console

from understudy import Schema
from understudy.data.encoding import Coded, encode
from understudy.evaluation.marginals import marginals_of_order, total_variation

sys.path.append(str(Path(__file__).resolve().parents[1] / "studies"))

from published import published

RUNNERS = Path(__file__).parent / "peers"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "understudy" / "peers"
DELTA = 1e-9
ORDERS = (2, 3)
MAX_MARGINALS = 600
LOOK_EVERY = 0.05
INSTALL_CAP = 1200.0
ENDED = "ended at the cap of"


# ---- the contenders


@dataclass(frozen=True)
class Peer:
    """Another tool: what pip is asked for, step by step, and what can be imported once that is
    done.
    """

    version: str
    module: str
    steps: tuple[tuple[str, ...], ...]


PEERS = {
    "DataSynthesizer": Peer(
        "0.1.13", "DataSynthesizer.DataDescriber", (("DataSynthesizer==0.1.13",),)
    ),
    "dpmm": Peer("0.1.9", "dpmm.pipelines", (("dpmm==0.1.9",),)),
    # Its dependencies would bring gigabytes of torch, which MST does not use.
    "smartnoise-synth": Peer(
        "1.0.8",
        "snsynth.mst.mst",
        (
            ("--no-deps", "smartnoise-synth==1.0.8"),
            (
                "smartnoise-sql==1.0.10",
                "mbi>=1.1,<2",
                "disjoint-set>=0.9,<0.10",
                "Faker>=17",
                "networkx",
                "scipy",
            ),
        ),
    ),
}


@dataclass(frozen=True)
class Job:
    """What every contender is given."""

    source: Path
    target: Path
    sizes: Path
    rows: int
    epsilon: float


@dataclass(frozen=True)
class Contender:
    """A method of a tool.

    Attributes
    ----------
    tool, method
        What it is called.
    command
        Its script and arguments for a job.
    guarantee
        What it gives, whatever it is told to give.
    reason
        Why; empty where a ledger says it, which the audit in the test suite vouches for.
    """

    tool: str
    method: str
    command: Callable[[Job], list[object]]
    guarantee: str
    reason: str = ""

    @property
    def name(self) -> str:
        """As it stands in the table."""
        version = f" {PEERS[self.tool].version}" if self.tool in PEERS else ""
        return f"{self.tool}{version}, {self.method}"


def _understudy(label: str, method: str, neighbours: str, delta: float = 0.0) -> Contender:
    def command(job: Job) -> list[object]:
        common = [job.source, job.target, job.rows, job.epsilon, job.sizes]
        return ["run_understudy.py", *common, method, neighbours, delta]

    return Contender("Understudy", label, command, "as its ledger says")


CONTENDERS = (
    _understudy("independent", "independent", "add_remove"),
    _understudy("independent", "independent", "replace"),
    _understudy("Adaptive, with a delta", "adaptive", "add_remove", DELTA),
    _understudy("Adaptive", "adaptive", "add_remove"),
    _understudy("Adaptive, fast, with a delta", "fast", "add_remove", DELTA),
    _understudy("MST, with a delta", "mst", "add_remove", DELTA),
    _understudy("PrivBayes, default", "privbayes", "add_remove"),
    _understudy("PrivBayes, default, with a delta", "privbayes", "add_remove", DELTA),
    _understudy("PrivBayes, default", "privbayes", "replace"),
    _understudy("PrivBayes, paper", "paper", "replace"),
    Contender(
        "DataSynthesizer",
        "correlated, k = 2",
        lambda job: [
            "run_datasynthesizer.py",
            job.source,
            job.target,
            job.rows,
            2,
            job.epsilon,
            job.sizes,
        ],
        "not epsilon",
        "It spends epsilon on the histograms of single columns and again on network and tables, "
        "all of which it "
        "publishes; all noise comes from NumPy with seed 0 unless one is given, so it can be "
        "subtracted; row count "
        "and missing rates are published as they are (DataDescriber.py).",
    ),
    Contender(
        "dpmm",
        "PrivBayes, two parents",
        lambda job: ["run_dpmm.py", job.source, job.target, job.rows, 3, job.epsilon, job.sizes],
        "not epsilon, delta",
        "It chooses parents by mutual information divided by the root of the entropies, with the "
        "sensitivity of the "
        "undivided one: about log(n)/n in place of up to 1, so that one row can all but decide a "
        "choice "
        "(models/priv_bayes.py).",
    ),
    Contender(
        "dpmm",
        "MST",
        lambda job: ["run_dpmm.py", job.source, job.target, job.rows, 0, job.epsilon, job.sizes],
        "epsilon, delta; add_remove",
        "On paper: its accounts add up where the domain is given, as here. Choices are made in "
        "floating point by a "
        "generator that is not made for secrets, Gaussian noise is OpenDP's (models/mst.py).",
    ),
    Contender(
        "dpmm",
        "AIM, 1 MB",
        lambda job: ["run_dpmm.py", job.source, job.target, job.rows, -1, job.epsilon, job.sizes],
        "epsilon, delta; add_remove",
        "On paper, as its MST (models/aim.py). The smallest model size that its authors name, for "
        "debugging: at its "
        "default it takes hours.",
    ),
    Contender(
        "smartnoise-synth",
        "MST",
        lambda job: ["run_smartnoise.py", job.source, job.target, job.rows, job.epsilon, job.sizes],
        "epsilon, delta only if n is public",
        "Noise and choices are those for a row more or less, but the exact number of rows, which "
        "such neighbours do "
        "not share, goes into the model unpaid; for replaced rows, which do, the noise is too "
        "small (mst/mst.py). "
        "Choices are made in floating point.",
    ),
)


# ---- the command


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, default=Path("../shared/data"), help="where the published tables lie"
    )
    parser.add_argument("--table", choices=("nltcs", "acs", "adult", "br2000"), default="nltcs")
    parser.add_argument(
        "--epsilon", type=float, default=1.0, help=f"delta is {DELTA:g} where a tool needs one"
    )
    parser.add_argument(
        "--cap", type=float, default=600.0, metavar="SECONDS", help="for each run, once it is warm"
    )
    parser.add_argument(
        "--repeats", type=int, default=1, help="runs of each contender; figures are means"
    )
    parser.add_argument(
        "--venvs", type=Path, default=CACHE, help="where the peers' environments are made and kept"
    )
    tools = ("Understudy", *PEERS)
    parser.add_argument(
        "--only", nargs="+", choices=tools, default=tools, help="tools to run, by default all"
    )
    parser.add_argument(
        "--contenders", nargs="+", default=[""], help="only those with one of these in their name"
    )
    arguments = parser.parse_args()
    if not (arguments.data / f"{arguments.table}.csv").exists():
        parser.error(
            f"there is no {arguments.table}.csv in {arguments.data}; give its folder by --data"
        )
    real = plain(encode(*published(arguments.table, arguments.data)))
    chosen = [
        contender
        for contender in CONTENDERS
        if contender.tool in arguments.only
        and any(words in contender.name for words in arguments.contenders)
    ]
    say = Console(stderr=True)
    with tempfile.TemporaryDirectory() as folder:
        job = written(real, Path(folder), arguments.epsilon)
        pythons = {
            tool: environment(tool, arguments.venvs, say)
            for tool in dict.fromkeys(c.tool for c in chosen)
        }
        results = []
        for contender in chosen:
            with say.status(f"{contender.name} (at most {arguments.cap:.0f} s a run)"):
                results.append(
                    tried(
                        contender,
                        pythons[contender.tool],
                        job,
                        real,
                        arguments.cap,
                        arguments.repeats,
                    )
                )
            say.print(f"{contender.name}: {results[-1].story()}")
    print(
        f"{arguments.table}: {real.rows:,} rows, {len(real.codes)} columns; epsilon "
        f"{arguments.epsilon:g}, delta ",
        end="",
    )
    print(f"{DELTA:g} where one is taken; mean of {arguments.repeats} runs; ", end="")
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
    print("\n".join(table_of(chosen, results)))
    for contender in chosen:
        if contender.reason:
            print(f"\n{contender.name}: {contender.reason}")


def plain(coded: Coded) -> Coded:
    """The same codes, of which nothing is known but how many there are: what every contender is
    told.
    """
    attributes = {
        a.name: {"kind": "categorical", "values": list(range(a.size))}
        for a in coded.schema.modelled
    }
    return Coded(Schema.from_dict({"attributes": attributes}), coded.codes, coded.rows, ())


def written(real: Coded, folder: Path, epsilon: float) -> Job:
    """The files that every contender reads."""
    names = [attribute.name for attribute in real.schema.modelled]
    job = Job(
        folder / "codes.csv", folder / "synthetic.csv", folder / "sizes.json", real.rows, epsilon
    )
    codes = np.column_stack([real.codes[name] for name in names])
    np.savetxt(job.source, codes, fmt="%d", delimiter=",", header=",".join(names), comments="")
    sizes = {attribute.name: attribute.size for attribute in real.schema.modelled}
    job.sizes.write_text(json.dumps(sizes), encoding="utf-8")
    return job


# ---- environments


def environment(tool: str, venvs: Path, say: Console) -> Path | str:
    """The interpreter to run a tool with, or why there is none."""
    if tool not in PEERS:
        return Path(sys.executable)
    peer = PEERS[tool]
    folder = venvs.expanduser().resolve() / tool
    python = folder / "bin" / "python"
    if python.exists() and not _failure([python, "-c", f"import {peer.module}"], 120):
        return python
    steps: list[list[object]] = [] if python.exists() else [[sys.executable, "-m", "venv", folder]]
    steps += [[python, "-m", "pip", "install", "-q", *step] for step in peer.steps]
    for step in [*steps, [python, "-c", f"import {peer.module}"]]:
        with say.status(f"Installing {tool} {peer.version} into {folder}"):
            failure = _failure(step, INSTALL_CAP)
        if failure:
            return f"cannot be installed: {failure}"
    return python


def _failure(command: Sequence[object], cap: float) -> str:
    """The last words of a command that failed, or nothing."""
    words = [str(part) for part in command]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=cap, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return _last_words(done.stderr) if done.returncode else ""


def _last_words(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if not line.startswith("WARNING")]
    return lines[-1][:200] if lines else "without a word"


# ---- runs


@dataclass(frozen=True)
class Result:
    """What came of a contender: figures, or a sentence in their place."""

    problem: str = ""
    errors: tuple[float, ...] = ()
    wall: float = float("nan")
    cpu: float = float("nan")
    peak: float = float("nan")
    guarantee: str = ""
    """By the contender's own ledger, where it keeps one."""

    def story(self) -> str:
        """In one line."""
        if self.problem:
            return self.problem
        distances = ", ".join(
            f"{order}-way {error:.4f}" for order, error in zip(ORDERS, self.errors, strict=True)
        )
        return f"{distances}; {self.wall:.2f} s"

    @classmethod
    def mean(cls, results: Sequence[Result]) -> Result:
        """Of several runs; the first one that has a problem stands for all."""
        for result in results:
            if result.problem:
                return result
        errors = tuple(
            statistics.fmean(found) for found in zip(*(r.errors for r in results), strict=True)
        )
        wall, cpu = (
            statistics.fmean(r.wall for r in results),
            statistics.fmean(r.cpu for r in results),
        )
        return cls("", errors, wall, cpu, max(r.peak for r in results), results[0].guarantee)


def tried(
    contender: Contender, python: Path | str, job: Job, real: Coded, cap: float, repeats: int
) -> Result:
    """Some runs of a contender."""
    if isinstance(python, str):
        return Result(python)
    results: list[Result] = []
    while len(results) < repeats and not (results and results[-1].problem):
        job.target.unlink(missing_ok=True)
        script, *arguments = contender.command(job)
        result = watched([python, RUNNERS / str(script), *arguments], cap)
        results.append(result if result.problem else judged(result, job, real))
    return Result.mean(results)


def judged(result: Result, job: Job, real: Coded) -> Result:
    """The result with the errors of the rows that were written."""
    try:
        synthetic = read_codes(job.target, real)
    except (OSError, ValueError) as error:
        return replace(result, problem=f"wrote no such rows: {error}")
    errors = []
    for order in ORDERS:
        marginals = marginals_of_order(real.schema, order, MAX_MARGINALS)
        errors.append(statistics.fmean(total_variation(real, synthetic, marginals)))
    return replace(result, errors=tuple(errors))


def read_codes(path: Path, real: Coded) -> Coded:
    """Synthetic codes as a contender wrote them; refused where they are not codes of the domain."""
    with path.open(encoding="utf-8") as file:
        names = file.readline().strip().split(",")
        drawn = np.loadtxt(file, delimiter=",", ndmin=2)
    if sorted(names) != sorted(real.codes):
        raise ValueError(f"its columns are {', '.join(names)}")
    codes = {}
    for attribute in real.schema.modelled:
        column = drawn[:, names.index(attribute.name)]
        if not (np.isfinite(column).all() and (column == np.rint(column)).all()):
            raise ValueError(f"column {attribute.name} holds something else than whole numbers")
        if not ((column >= 0) & (column < attribute.size)).all():
            raise ValueError(f"column {attribute.name} holds codes outside its domain")
        codes[attribute.name] = column.astype(real.codes[attribute.name].dtype)
    return Coded(real.schema, codes, len(drawn), ())


def watched(command: Iterable[object], cap: float) -> Result:
    """Run a script that says "ready" once it is warm and then has ``cap`` seconds; look at its
    memory all the while.
    """
    with tempfile.TemporaryDirectory() as folder:
        said, complained = Path(folder) / "said", Path(folder) / "complained"
        with said.open("w") as out, complained.open("w") as err:
            process = subprocess.Popen(
                [str(part) for part in command],
                stdout=out,
                stderr=err,
                cwd=folder,
                start_new_session=True,
                env=os.environ | {"PYTHONWARNINGS": "ignore"},
            )
        since, warm, peak, spent, before = time.perf_counter(), False, 0.0, 0.0, 0.0
        while process.poll() is None:
            held, spent = session(process.pid)
            peak = max(peak, held)
            if not warm and "ready" in said.read_text(encoding="utf-8", errors="replace").split():
                since, warm, before = time.perf_counter(), True, spent
            if time.perf_counter() - since > cap:
                os.killpg(
                    process.pid, signal.SIGKILL
                )  # its own session: the script and the workers it started
                process.wait()
                return Result(f"{ENDED} {cap:g} s", (), cap, spent - before, peak)
            time.sleep(LOOK_EVERY)
        if process.returncode:
            return Result(
                f"failed: {_last_words(complained.read_text(encoding='utf-8', errors='replace'))}",
                peak=peak,
            )
        report = json.loads(said.read_text(encoding="utf-8").strip().splitlines()[-1])
    return Result("", (), report["wall"], report["cpu"], peak, report.get("guarantee", ""))


def session(leader: int) -> tuple[float, float]:
    """Megabytes and CPU seconds of a process and all that it started; 0 where the system does not
    say.

    Memory is the most that the leader ever held, and what the others hold now.
    """
    kilobytes, ticks = _field(Path(f"/proc/{leader}/status"), "VmHWM"), 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (
                (folder / "stat")
                .read_text(encoding="utf-8", errors="replace")
                .rpartition(")")[2]
                .split()
            )
        except OSError:
            continue  # it has just ended
        if len(fields) > 14 and int(fields[3]) == leader:
            ticks += sum(int(field) for field in fields[11:15])
            if folder.name != str(leader):
                kilobytes += _field(folder / "smaps_rollup", "Pss")
    return kilobytes / 1024, ticks / os.sysconf("SC_CLK_TCK")


def _field(path: Path, name: str) -> int:
    try:
        found = re.search(rf"^{name}:\s+(\d+) kB", path.read_text(encoding="ascii"), re.MULTILINE)
    except OSError:
        return 0
    return int(found[1]) if found else 0


# ---- the table


def table_of(contenders: Sequence[Contender], results: Sequence[Result]) -> list[str]:
    """A Markdown table, a row a contender."""
    head = [
        "contender",
        *(f"{order}-way" for order in ORDERS),
        "wall s",
        "CPU s",
        "peak MB",
        "the guarantee it gives",
    ]
    rows = [head, ["---"] * len(head)]
    for contender, result in zip(contenders, results, strict=True):
        errors = [f"{error:.4f}" for error in result.errors] or [
            result.problem,
            *[""] * (len(ORDERS) - 1),
        ]
        figures = [_figure(result.wall, 2), _figure(result.cpu, 2), _figure(result.peak, 0)]
        rows.append([contender.name, *errors, *figures, result.guarantee or contender.guarantee])
    return ["| " + " | ".join(row) + " |" for row in rows]


def _figure(number: float, places: int) -> str:
    return f"{number:.{places}f}" if number > 0 else ""


if __name__ == "__main__":
    main()
