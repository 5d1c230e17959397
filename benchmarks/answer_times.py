"""Does the time of an answer tell whether one row is there? CPU times on T and on T plus one row.

For each score: a table at the place where one row changes most, the same question put to both
tables many times, in random order, each time from the first count on. Printed are the medians,
their ratio, and how often the best threshold tells the two apart: found on one half of the runs,
tried on the other, so that 50 % is what tossing a coin gets. Two controls go with it: T against a
copy of itself, which differs in nothing but its place in memory, and T against T with a tenth more
rows, which must be told apart.

    python benchmarks/answer_times.py
    python benchmarks/answer_times.py --rows 200000 --repeats 100 --only F
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy import Ledger, Schema
from understudy.curator.budget import Budget
from understudy.curator.central import CentralCurator
from understudy.encoding import Coded
from understudy.marginals import marginal

Codes = dict[str, NDArray[np.uint8]]
PARENTS = 64
COPIES = 16


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_800_000, help="rows of T, about")
    parser.add_argument("--repeats", type=int, default=200, help="answers on each table")
    parser.add_argument("--only", nargs="+", choices=tuple(CASES), default=tuple(CASES))
    arguments = parser.parse_args()
    print(f"{os.cpu_count()} cores, {arguments.rows:,} rows, {arguments.repeats} answers each")
    print(f"{'question':<34} {'T':>9} {'other':>9} {'ratio':>7} {'told apart':>11}")
    rng = np.random.default_rng(0)
    for question in arguments.only:
        case = CASES[question]
        table = case.make(arguments.rows)
        others = {
            "T + 1 row": {
                name: np.append(codes, np.uint8(case.row[name])) for name, codes in table.items()
            },
            "a copy of T": {name: codes.copy() for name, codes in table.items()},
            "T + 10 % rows": {
                name: np.append(codes, codes[: len(codes) // 10]) for name, codes in table.items()
            },
        }
        here = Answerer(table, case.score)
        for what, codes in others.items():
            times = measure(here, Answerer(codes, case.score), arguments.repeats, rng)
            first, second = np.median(times, axis=1) * 1000
            print(
                f"{question + ', ' + what:<34} {first:>6.2f} ms {second:>6.2f} ms "
                f"{second / first:>7.3f} {told_apart(times):>10.0%}",
                flush=True,
            )


@dataclass(frozen=True, kw_only=True)
class Case:
    """A question, a table at which one row changes most about the work, and that row."""

    score: str
    make: Callable[[int], Codes]
    row: dict[str, int]


class Answerer:
    """Answers one question again and again, each time as if it had not been asked before."""

    def __init__(self, codes: Codes, score: str) -> None:
        self.score = score
        columns = [name for name in codes if name != "x"]
        sizes = {"x": 2, **dict.fromkeys(columns, PARENTS)}
        attributes = {
            name: {"kind": "integer", "min": 0, "max": size - 1, "bins": size}
            for name, size in sizes.items()
        }
        schema = Schema.from_dict({"attributes": attributes})
        self.coded = Coded(schema, codes, len(codes["x"]), ())
        self.curator = CentralCurator(self.coded, Ledger(1.0))
        self.candidates = [marginal("x", name) for name in columns]

    def seconds(self) -> float:
        """CPU seconds of one answer; the noise of the choice is a part of it."""
        self.curator.ledger = Ledger(1.0)
        self.curator._known.clear()
        started = time.process_time()
        self.curator.choose(self.candidates, self.score, Budget(1.0))
        return time.process_time() - started


def measure(
    here: Answerer, there: Answerer, repeats: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Times on both tables, in random order: whatever else goes on meets both alike."""
    for answerer in (here, there):
        answerer.seconds()
    times: tuple[list[float], list[float]] = ([], [])
    for second in rng.permutation(np.repeat([False, True], repeats)):
        times[int(second)].append((there if second else here).seconds())
    return np.array(times)


def told_apart(times: NDArray[np.float64]) -> float:
    """How often the best threshold of every other run is right about the runs between."""
    learned, tried = times[:, ::2], times[:, 1::2]
    thresholds = np.unique(learned)
    right = (learned[0][:, None] <= thresholds).mean(0) + (learned[1][:, None] > thresholds).mean(0)
    best = int(np.argmax(np.abs(right - 1)))
    accuracy = ((tried[0] <= thresholds[best]).mean() + (tried[1] > thresholds[best]).mean()) / 2
    return float(accuracy if right[best] >= 1 else 1 - accuracy)


# ---- tables


def at_the_old_threshold(rows: int) -> Codes:
    """One parent value has as many rows of either kind: one row more once ended the search."""
    even = rows // 3
    rest = np.arange(rows - 2 * even)
    p = np.concatenate([np.zeros(2 * even, np.int64), 1 + rest % (PARENTS - 1)])
    x = np.concatenate([np.repeat([0, 1], even), (rest // (PARENTS - 1)) % 100 == 0])
    return _columns(x, p)


def determined(rows: int) -> Codes:
    """Most parent values have one value of the child only: one row once added to the search."""
    place = np.arange(rows)
    p = place % PARENTS
    return _columns((p == 0) & (place // PARENTS % 2 == 0), p)


def independent(rows: int) -> Codes:
    """All cells alike: every logarithm is that of 1, and with one more row none is."""
    cells = np.arange(rows) % (2 * PARENTS)
    return _columns(cells % 2, cells // 2)


def _columns(x: NDArray[np.generic], p: NDArray[np.generic]) -> Codes:
    parents = {f"p{copy}": p.astype(np.uint8) for copy in range(COPIES)}
    return {"x": x.astype(np.uint8), **parents}


def _row(x: int, p: int) -> dict[str, int]:
    return {"x": x, **{f"p{copy}": p for copy in range(COPIES)}}


CASES = {
    "F": Case(score="F", make=at_the_old_threshold, row=_row(1, 0)),
    "F determined": Case(score="F", make=determined, row=_row(1, PARENTS - 1)),
    "I": Case(score="I", make=independent, row=_row(1, 0)),
    "R": Case(score="R", make=independent, row=_row(1, 0)),
}

if __name__ == "__main__":
    main()
