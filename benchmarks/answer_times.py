"""Does the time of an answer tell whether one row is there? CPU times on T and on T plus one row.

For each score a table at which one row once changed most, or might: the same question is put to a
holder of T and to a holder of the other table, in random order, each time as if for the first time.
Printed are the median CPU times, their ratio, and how often the best threshold tells the two apart:
found on every other run, tried on the runs between, so that 50 % is what tossing a coin gets.

Two controls go with it: a copy of T, which differs in nothing but its place in memory, and T with a
tenth more rows, which takes longer and is told apart where the time goes by the rows.

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
from understudy.data.encoding import Coded
from understudy.data.marginals import marginal
from understudy.federation.holder_rows import HolderRows
from understudy.privacy.budget import Budget
from understudy.privacy.mechanisms import SystemNoise
from understudy.privacy.questions import Choose

Codes = dict[str, NDArray[np.uint16]]


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
        table = case.make(min(arguments.rows, case.most_rows), case)
        others = {
            "T + 1 row": {
                name: np.append(codes, np.uint16(case.row[name == "x"]))
                for name, codes in table.items()
            },
            "a copy of T": {name: codes.copy() for name, codes in table.items()},
            "T + 10 % rows": {
                name: np.append(codes, codes[: len(codes) // 10]) for name, codes in table.items()
            },
        }
        here = Answerer(table, case)
        for what, codes in others.items():
            times = measure(here, Answerer(codes, case), arguments.repeats, rng)
            first, second = np.median(times, axis=1) * 1000
            print(
                f"{question + ', ' + what:<34} {first:>6.2f} ms {second:>6.2f} ms "
                f"{second / first:>7.3f} {told_apart(times):>10.0%}",
                flush=True,
            )


@dataclass(frozen=True, kw_only=True)
class Case:
    """A question, a table at which one row may change the work, and that row."""

    score: str
    make: Callable[[int, Case], Codes]
    row: tuple[int, int]
    """The code of the row in every parent, and in the child."""
    child: int = 2
    parent: int = 64
    """How many values they have."""
    candidates: int = 16
    """How many parents there are to choose from."""
    most_rows: int = 1 << 31


class Answerer:
    """A holder's rows, and one question about them."""

    def __init__(self, codes: Codes, case: Case) -> None:
        self.score = case.score
        parents = [name for name in codes if name != "x"]
        sizes = {"x": case.child, **dict.fromkeys(parents, case.parent)}
        attributes = {
            name: {"kind": "integer", "min": 0, "max": size - 1, "bins": size}
            for name, size in sizes.items()
        }
        schema = Schema.from_dict({"attributes": attributes})
        self.rows = HolderRows(
            Coded(schema, codes, len(codes["x"]), ()), Ledger(1.0), SystemNoise()
        )
        self.candidates = [marginal("x", name) for name in parents]

    def seconds(self) -> float:
        """CPU seconds of one answer, as if it had not been given before."""
        self.rows.ledger = Ledger(1.0)
        self.rows._rows.known_scores.clear()
        question = Choose(candidates=self.candidates, score=self.score, budget=Budget(1.0))
        started = time.process_time()
        self.rows.choose(question)
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


def at_the_old_threshold(rows: int, case: Case) -> Codes:
    """One parent value has as many rows of either kind: one row more once ended the search."""
    even = rows // 3
    rest = np.arange(rows - 2 * even)
    p = np.concatenate([np.zeros(2 * even, np.int64), 1 + rest % (case.parent - 1)])
    x = np.concatenate([np.repeat([0, 1], even), (rest // (case.parent - 1)) % 100 == 0])
    return _columns(x, p, case)


def determined(rows: int, case: Case) -> Codes:
    """Most parent values have one value of the child only: one row once added to the search."""
    place = np.arange(rows)
    p = place % case.parent
    return _columns((p == 0) & (place // case.parent % 2 == 0), p, case)


def independent(rows: int, case: Case) -> Codes:
    """All cells alike: every logarithm is that of 1, and with one more row none is."""
    cells = case.child * case.parent
    place = np.arange(max(rows // cells, 1) * cells) % cells
    return _columns(place % case.child, place // case.child, case)


def each_row_twice(rows: int, case: Case) -> Codes:
    """Half of the rows are distinct: with one more, collapsing them would no longer pay."""
    rng = np.random.default_rng(1)
    half = {f"p{place}": rng.integers(0, case.parent, rows // 2) for place in range(16)}
    half["x"] = rng.integers(0, case.child, rows // 2)
    return {name: np.tile(codes, 2).astype(np.uint16) for name, codes in half.items()}


def _columns(x: NDArray[np.generic], p: NDArray[np.generic], case: Case) -> Codes:
    parents = {f"p{place}": p.astype(np.uint16) for place in range(case.candidates)}
    return {"x": x.astype(np.uint16), **parents}


CASES = {
    "F": Case(score="F", make=at_the_old_threshold, row=(0, 1)),
    "F, determined": Case(score="F", make=determined, row=(63, 1)),
    "I": Case(score="I", make=independent, row=(0, 1), child=64, parent=4096, candidates=4),
    "R": Case(score="R", make=independent, row=(0, 1), child=64, parent=4096, candidates=4),
    "counting": Case(score="R", make=each_row_twice, row=(63, 1), most_rows=32_000),
}

if __name__ == "__main__":
    main()
