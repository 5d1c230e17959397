"""How long reports of a survey take: to make, to write, to collect; and how much memory.

    python benchmarks/local_reports.py [--persons 1000000] [--repeats 3]

Made-up persons answer a plan for eight columns with four values each, at two levels of privacy,
with the operating system's randomness. Each step runs in a process of its own, on one core; the
median of the runs is printed. Junk is a line of 20 random bytes for each person. Memory is the most
that the process ever held.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from understudy import Schema
from understudy.local.answering import answer_for_all
from understudy.local.collecting import collect_reports
from understudy.local.planning import plan_survey
from understudy.local.plans import CollectionPlan
from understudy.local.reports import write_reports

STEPS = ("answer", "write jsonl", "write parquet", "collect jsonl", "collect parquet", "junk")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--persons", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step:
        print(json.dumps(run_step(arguments.step, arguments.folder, arguments.persons)))
        return
    with tempfile.TemporaryDirectory() as folder:
        make_plan().save(Path(folder) / "plan.json")
        for step in STEPS:
            runs = [watch(step, folder, arguments.persons) for _ in range(arguments.repeats)]
            cpu = statistics.median(run["cpu"] for run in runs)
            memory = max(run["memory"] for run in runs)
            print(f"{step:<16} {cpu:6.2f} s CPU  {memory:6.0f} MB")


def watch(step: str, folder: str, persons: int) -> dict[str, float]:
    """Run one step in a process of its own."""
    command = [sys.executable, __file__, "--step", step, "--folder", folder]
    ran = subprocess.run(
        [*command, "--persons", str(persons)], capture_output=True, text=True, check=True
    )
    found: dict[str, float] = json.loads(ran.stdout)
    return found


def run_step(step: str, folder: Path, persons: int) -> dict[str, float]:
    """What a step takes; what it needs is made before."""
    plan = CollectionPlan.load(folder / "plan.json")
    needed = {}
    if step.startswith(("answer", "write")):
        needed = make_codes(plan, persons)
    batches = []
    if step.startswith("write"):
        batches = answer_for_all(plan, needed, levels=np.arange(persons) % 2)
    if step == "junk":
        with (folder / "junk.jsonl").open("wb") as file:
            for _ in range(persons):
                file.write(os.urandom(20).replace(b"\n", b" ") + b"\n")
    started = time.process_time()
    if step == "answer":
        answer_for_all(plan, needed, levels=np.arange(persons) % 2)
    elif step.startswith("write"):
        write_reports(folder / f"reports.{step.split()[1]}", batches)
    elif step == "junk":
        collect_reports(plan, [folder / "junk.jsonl"])
    else:
        counted = collect_reports(plan, [folder / f"reports.{step.split()[1]}"])
        assert counted.reports == persons
    cpu = time.process_time() - started
    return {"cpu": cpu, "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def make_plan() -> CollectionPlan:
    attribute = {"kind": "categorical", "values": ["a", "b", "c", "d"]}
    schema = Schema.from_dict({"attributes": {f"c{place}": attribute for place in range(8)}})
    return plan_survey(schema, (2.0, 0.5), 1_000_000)


def make_codes(plan: CollectionPlan, persons: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {name: rng.choice(4, persons, p=(0.4, 0.3, 0.2, 0.1)) for name in plan.schema.names}


if __name__ == "__main__":
    main()
