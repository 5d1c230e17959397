"""The table of results in README.md: measured, kept run by run, and written into the file.

    python benchmarks/readme_table.py --data ../shared/data --keep runs.jsonl [--repeats 5]
    [--lines adaptive mst] [--tables adult] [--peers] [--write README.md]

The error is the mean total variation distance of 3-way marginals (all, or a uniform sample of 600)
of as many synthetic rows as there are real ones, at epsilon 1, neighbours add/remove; CPU seconds
are of a fit, the fastest one (of a peer, of its process). Every run is a line of the file that
``--keep`` names, with the version it was measured on, so that the table can be made in parts and
made again; only runs of the present version count. ``--peers`` adds other tools, each in an
environment of its own (``benchmarks/peers.py``). ``--write`` replaces what stands between the two
comments in the file.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console

from peers import CACHE, CONTENDERS, Contender, environment, plain, tried, written
from privbayes import source_state
from published import published
from understudy import MST, Adaptive, PrivBayes, Synthesizer, Table
from understudy.data.encoding import encode
from understudy.evaluation.marginals import marginals_of_order, total_variation

DELTA = 1e-9
EPSILON = 1.0
TABLES = {"adult": "Adult", "br2000": "BR2000", "nltcs": "NLTCS", "acs": "ACS"}
LINES: dict[str, tuple[str, Callable[[], Synthesizer]]] = {
    "adaptive": ("`adaptive`, delta 1e-9", lambda: Adaptive(epsilon=EPSILON, delta=DELTA)),
    "pure": ("`adaptive`, pure", lambda: Adaptive(epsilon=EPSILON)),
    "fast": (
        "`adaptive --fast`, delta 1e-9",
        lambda: Adaptive.fast(epsilon=EPSILON, delta=DELTA),
    ),
    "privbayes": ("`privbayes`, pure", lambda: PrivBayes(epsilon=EPSILON)),
    "mst": ("`mst`, delta 1e-9", lambda: MST(epsilon=EPSILON, delta=DELTA)),
}
PEERS = ("dpmm", "smartnoise-synth")
BEGIN, END = "<!-- results: benchmarks/readme_table.py -->", "<!-- end of results -->"

Run = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, default=Path("../shared/data"), help="where the real tables lie"
    )
    parser.add_argument("--keep", type=Path, required=True, help="a file of runs, added to")
    parser.add_argument("--repeats", type=int, default=5, help="runs that figures are the mean of")
    parser.add_argument("--lines", nargs="*", choices=tuple(LINES), default=tuple(LINES))
    parser.add_argument("--tables", nargs="+", choices=tuple(TABLES), default=tuple(TABLES))
    parser.add_argument("--peers", action="store_true", help="other tools, one run each")
    parser.add_argument("--cap", type=float, default=300.0, help="seconds for each run of a peer")
    parser.add_argument("--write", type=Path, metavar="FILE", help="a page with the two comments")
    arguments = parser.parse_args()
    runs = read_runs(arguments.keep)
    for table in arguments.tables:
        for line in arguments.lines:
            label, make = LINES[line]
            done = sum(run["line"] == label and run["table"] == table for run in runs)
            for _ in range(done, arguments.repeats):
                add_run(runs, arguments.keep, measure(label, make(), table, arguments.data))
        if arguments.peers:
            for run in measure_peers(table, arguments):
                add_run(runs, arguments.keep, run)
    shown = "\n".join(draw_table(runs))
    print(shown)
    if arguments.write is not None:
        arguments.write.write_text(put_between(arguments.write.read_text(), shown))


def read_runs(path: Path) -> list[Run]:
    """The runs of this version that are known."""
    if not path.exists():
        return []
    runs = map(json.loads, path.read_text().splitlines())
    return [run for run in runs if run["version"] == find_version()]


def find_version() -> str:
    """A digest of the source: runs of other code do not count."""
    return source_state().partition("(")[2].rstrip(")")


def add_run(runs: list[Run], path: Path, run: Run) -> None:
    run = {**run, "version": find_version()}
    runs.append(run)
    with path.open("a") as file:
        file.write(json.dumps(run) + "\n")


def measure(label: str, method: Synthesizer, table: str, data: Path) -> Run:
    """One fit and its rows."""
    real, schema = published(table, data)
    coded = encode(real, schema)
    cpu = time.process_time()
    model = method.fit(real, schema, notify=lambda _: None)
    cpu = time.process_time() - cpu
    synthetic = model.sample(real.rows)
    assert isinstance(synthetic, Table)
    marginals = marginals_of_order(schema, 3, 600)
    error = statistics.fmean(total_variation(coded, encode(synthetic, schema), marginals))
    return {"line": label, "table": table, "error": error, "cpu": cpu}


def measure_peers(table: str, arguments: argparse.Namespace) -> list[Run]:
    """One run of each method of other tools whose guarantee stands on paper."""
    say = Console(stderr=True)
    real = plain(encode(*published(table, arguments.data)))
    found = []
    for contender in filter(_is_shown, CONTENDERS):
        python = environment(contender.tool, CACHE, say)
        with tempfile.TemporaryDirectory() as folder:
            job = written(real, Path(folder), EPSILON)
            result = tried(contender, python, job, real, arguments.cap, 1)
        say.print(f"{table}, {contender.name}: {result.story()}")
        if not result.problem:
            run = {"line": contender.name, "table": table, "error": result.errors[-1]}
            found.append({**run, "cpu": result.cpu})
    return found


def _is_shown(contender: Contender) -> bool:
    return contender.tool in PEERS and contender.guarantee.startswith("epsilon, delta")


def draw_table(runs: list[Run]) -> list[str]:
    """The table in Markdown, and a sentence that says how it was made."""
    shown = [f"| | {' | '.join(TABLES.values())} | CPU seconds for Adult |"]
    shown.append("|---" * (len(TABLES) + 2) + "|")
    for line in dict.fromkeys(run["line"] for run in runs):
        by_table = {
            table: [run for run in runs if run["line"] == line and run["table"] == table]
            for table in TABLES
        }
        cells = [_mean_error(found) for found in by_table.values()]
        times = [run["cpu"] for run in by_table["adult"]]
        cells.append(f"{min(times):.1f}" if times else "")
        shown.append(f"| {line} | {' | '.join(cells)} |")
    cores = os.cpu_count()
    told = "`python benchmarks/readme_table.py`, in brackets the number of runs"
    return [*shown, "", f"Made by {told}, on {cores} cores."]


def _mean_error(found: list[Run]) -> str:
    if not found:
        return ""
    return f"{statistics.fmean(run['error'] for run in found):.3f} ({len(found)})"


def put_between(page: str, shown: str) -> str:
    """The page with the table between its two comments."""
    pattern = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    if not pattern.search(page):
        raise SystemExit(f"The page has no place for the table: {BEGIN} ... {END}")
    return pattern.sub(lambda _: f"{BEGIN}\n\n{shown}\n\n{END}", page, count=1)


if __name__ == "__main__":
    main()
