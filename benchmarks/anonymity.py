"""Anonymisers: time and information loss, beside anonypy where it is installed.

    python benchmarks/anonymity.py --data FOLDER [--rows 1000000] [--oracles FOLDER]

Adult (48,842 rows, eight quasi-identifiers, k = 5) by our Mondrian (strict and relaxed) and levels,
and by anonypy in the same run, in a process of its own that is stopped after a limit of CPU
seconds; the ratio is that of CPU seconds. Then a million rows (Adult repeated with noise on age and
hours), twenty quasi-identifiers, and MDAV on 50,000 x 10. All losses are measured by one function
here: the mean share of a column's distinct values that a published cell could stand for.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from understudy.anonymity import Requirement, Roles, anonymise
from understudy.anonymity.microaggregation import group_by_mdav
from understudy.anonymity.microdata import read_microdata
from understudy.anonymity.mondrian import partition_rows
from understudy.anonymity.publishing import MethodName
from understudy.anonymity.requirement import Judge
from understudy.data.columns import Column, Table
from understudy.data.tables import read_table

QUASI = (
    "age",
    "workclass",
    "education",
    "marital_status",
    "occupation",
    "race",
    "sex",
    "native_country",
)
SECRET = "income"
K = 5
LIMIT = 300
"""CPU seconds that anonypy gets."""


def measure_loss(real: Any, published: Any) -> float:
    """The mean share of a column's values that a published cell could stand for, from the groups of
    rows that are equal in what was published; both are frames with the same order of rows.
    """
    groups = published.groupby(list(QUASI), sort=False).ngroup()
    losses = []
    for name in QUASI:
        distinct = real[name].groupby(groups.to_numpy()).nunique()
        losses.append(float(((distinct[groups] - 1) / (real[name].nunique() - 1)).mean()))
    return float(np.mean(losses))


def run_limited(work: Callable[[Any], Any], frame: Any) -> tuple[float, Any]:
    """CPU seconds and result of some work in a process of its own, or infinity after the limit."""
    receiver, sender = multiprocessing.Pipe(duplex=False)

    def child() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))
        start = time.process_time()
        try:
            found = work(frame)
        except Exception as error:
            found = f"failed: {error!r}"
        sender.send((time.process_time() - start, found))

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    sender.close()
    try:
        answer = receiver.recv()
    except EOFError:
        answer = (float("inf"), None)
    process.join()
    return answer


def run_anonypy(frame: Any) -> Any:
    """Anonypy's Mondrian; gives the rows of each group."""
    anonypy = importlib.import_module("anonypy")
    coded = frame.copy()
    for name in QUASI:
        if coded[name].dtype == object or str(coded[name].dtype) in ("str", "string"):
            coded[name] = coded[name].astype("category")
    found = anonypy.mondrian.Mondrian(coded, list(QUASI), SECRET).partition(k=K)
    return [list(map(int, group)) for group in found]


def compare_adult(data: Path) -> None:
    """Adult by all programs."""
    table = read_table(data / "adult.csv")
    frame = table.to_pandas()
    roles = Roles(quasi_identifiers=QUASI, sensitive=(SECRET,))
    microdata = read_microdata(table, (*QUASI, SECRET))
    judge = Judge(Requirement(k=K), microdata, (SECRET,))
    ours = float("inf")
    for relaxed in (False, True):
        seconds = []
        for _ in range(3):
            start = time.process_time()
            classes = partition_rows(microdata, QUASI, judge, relaxed=relaxed)
            seconds.append(time.process_time() - start)
        ours = min(ours, min(seconds))
        groups = frame[list(QUASI)].assign(**dict.fromkeys(QUASI, classes.of_row))
        loss = measure_loss(frame, groups)
        name = "Mondrian, relaxed" if relaxed else "Mondrian, strict"
        print(f"{name}: {min(seconds):.2f} CPU s, {classes.count:,} groups, loss {loss:.4f}")
    ways: tuple[tuple[MethodName, float], ...] = (("mondrian", 0.0), ("lattice", 0.05))
    for method, share in ways:
        start = time.process_time()
        release = anonymise(
            table,
            roles,
            Requirement(k=K),
            method=method,
            max_suppressed=share,
        )
        print(
            f"whole {method} with checks: {time.process_time() - start:.2f} CPU s, "
            f"{release.suppressed:,} rows left out, our loss {release.loss.generalisation:.4f}"
        )
    compare_anonypy(frame, ours)


def compare_anonypy(frame: Any, ours: float) -> None:
    """The same by anonypy."""
    if importlib.util.find_spec("anonypy") is None:
        print("anonypy: not installed, not compared")
        return
    spent, found = run_limited(run_anonypy, frame[[*QUASI, SECRET]])
    if isinstance(found, str):
        print(f"anonypy: {found}")
    elif found is None:
        print(f"anonypy: not done after {LIMIT} CPU s, more than {LIMIT / ours:,.0f} x ours")
    else:
        of_row = np.zeros(len(frame), dtype=np.int64)
        for place, rows in enumerate(found):
            of_row[rows] = place
        groups = frame[list(QUASI)].assign(**dict.fromkeys(QUASI, of_row))
        print(
            f"anonypy: {spent:.1f} CPU s, {spent / ours:,.0f} x ours, {len(found):,} groups, "
            f"loss {measure_loss(frame, groups):.4f}"
        )


def run_large(data: Path, rows: int) -> None:
    """Many rows, many quasi-identifiers, and MDAV."""
    rng = np.random.default_rng(0)
    table = read_table(data / "adult.csv")
    places = np.arange(rows) % table.rows
    columns = {}
    for name in (*QUASI, SECRET):
        column = table.columns[name]
        values = column.values[places]
        if name == "age":
            values = values + rng.integers(-2, 3, rows)
        columns[name] = Column(column.kind, values, column.words)
    roles = Roles(quasi_identifiers=QUASI, sensitive=(SECRET,))
    start = time.process_time()
    release = anonymise(Table(columns), roles, Requirement(k=K, l=2))
    print(f"{rows:,} rows: {time.process_time() - start:.1f} CPU s, k = {release.after.k}")
    wide = {f"q{i}": Column("integer", rng.integers(0, 20, 48_842)) for i in range(20)}
    ways: tuple[MethodName, ...] = ("mondrian", "lattice")
    for method in ways:
        start = time.process_time()
        release = anonymise(
            Table(wide),
            Roles(quasi_identifiers=tuple(wide)),
            Requirement(k=K),
            method=method,
            max_suppressed=0.05,
        )
        print(
            f"20 quasi-identifiers, {method}: {time.process_time() - start:.1f} CPU s, "
            f"k = {release.after.k}"
        )
    start = time.process_time()
    groups = group_by_mdav(rng.normal(size=(50_000, 10)), K)
    print(
        f"MDAV, 50,000 x 10: {time.process_time() - start:.1f} CPU s, {groups.max() + 1:,} groups"
    )


def main() -> None:
    """Run everything and print it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--oracles", type=Path, help="where anonypy is installed")
    options = parser.parse_args()
    if options.oracles is not None:
        sys.path.append(str(options.oracles))
    compare_adult(options.data)
    run_large(options.data, options.rows)


if __name__ == "__main__":
    main()
