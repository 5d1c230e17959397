"""A million reports, randomised and collected on one core, beside multi-freq-ldpy in the same run.

    python benchmarks/local_randomisers.py --peer /tmp/peer/bin/python

``--peer`` is an interpreter with multi-freq-ldpy installed (``pip install multi-freq-ldpy`` in an
environment of its own). It is timed on fewer persons, since it makes one report per call and its
time per report does not depend on how many there are. Times are of the processor, system time
included, the best of three; compilation is left out on both sides. Ours draws from OpenSSL, which
the operating system seeds, and in whole numbers; the peer from NumPy's generator in
floating point. The peer needs an xxhash before version 4.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from understudy.local.randomisers import (
    CategoricalRandomiser,
    DirectEncoding,
    HadamardResponse,
    OptimalHashing,
    OptimalUnary,
    SubsetSelection,
    SymmetricUnary,
    ThresholdHistogram,
    best_randomiser,
)
from understudy.machine.plain_first import always_compile

PEER = """
import json, sys, time
from multi_freq_ldpy.pure_frequency_oracles import GRR, LH, SS, UE
persons, settings = json.loads(sys.argv[1])
calls = {
    "direct": (GRR.GRR_Client, GRR.GRR_Aggregator_MI, ()),
    "optimal unary": (UE.UE_Client, UE.UE_Aggregator_MI, (True,)),
    "symmetric unary": (UE.UE_Client, UE.UE_Aggregator_MI, (False,)),
    "optimal hashing": (LH.LH_Client, LH.LH_Aggregator_MI, (True,)),
    "subset selection": (SS.SS_Client, SS.SS_Aggregator_MI, ()),
}
for kind, size, epsilon in settings:
    if kind not in calls:
        print(json.dumps([0, 0]), flush=True)
        continue
    client, aggregate, more = calls[kind]
    sizes = [] if kind.endswith("unary") else [size]
    values = [value % size for value in range(persons)]
    few = [client(value, size, epsilon, *more) for value in values[:50]]
    aggregate(few, *sizes, epsilon, *more)
    times = []
    for _ in range(3):
        start = time.process_time()
        reports = [client(value, size, epsilon, *more) for value in values]
        middle = time.process_time()
        aggregate(reports, *sizes, epsilon, *more)
        times.append(((middle - start) / persons, (time.process_time() - middle) / persons))
    print(json.dumps([min(column) for column in zip(*times)]), flush=True)
"""


def settings() -> list[CategoricalRandomiser]:
    """What is timed."""
    kinds: tuple[type[Any], ...] = (
        DirectEncoding,
        SymmetricUnary,
        OptimalUnary,
        ThresholdHistogram,
        SubsetSelection,
        OptimalHashing,
        HadamardResponse,
    )
    return [kind(size=size, epsilon=1.0) for size in (14, 100) for kind in kinds]


def seconds(job: Callable[[], Any]) -> tuple[float, Any]:
    """The least processor time of three runs, and the last result."""
    times = []
    for _ in range(3):
        start = time.process_time()
        result = job()
        times.append(time.process_time() - start)
    return min(times), result


def collect(randomiser: CategoricalRandomiser, reports: Any) -> Any:
    """Counts from reports."""
    return randomiser.estimate(randomiser.tally(reports), len(reports))


def peer_times(python: str | None, persons: int, timed: list[Any]) -> list[list[float]] | str:
    """Seconds per report that the peer takes to randomise and to collect, or why there are none."""
    if python is None:
        return "multi-freq-ldpy was not timed: name an interpreter that has it by --peer"
    given = json.dumps([persons, [[each.kind, each.size, each.epsilon] for each in timed]])
    run = subprocess.run([python, "-c", PEER, given], capture_output=True, text=True, check=False)
    if run.returncode:
        return f"multi-freq-ldpy could not be timed: {run.stderr.strip().splitlines()[-1]}"
    return [json.loads(line) for line in run.stdout.splitlines()]


def main() -> None:
    """Time all of them and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=1_000_000)
    parser.add_argument("--peer", help="an interpreter with multi-freq-ldpy")
    parser.add_argument("--peer-persons", type=int, default=20_000)
    arguments = parser.parse_args()
    always_compile()
    timed = settings()
    peers = peer_times(arguments.peer, arguments.peer_persons, timed)
    if isinstance(peers, str):
        print(peers)
        peers = [[0.0, 0.0]] * len(timed)
    codes = np.arange(arguments.persons)
    print(f"{arguments.persons:,} reports at epsilon 1: seconds (times faster than the peer)")
    for randomiser, peer in zip(timed, peers, strict=True):
        values = codes % randomiser.size
        randomiser.tally(randomiser.perturb(values[:100]))
        drawing, reports = seconds(partial(randomiser.perturb, values))
        counting, _ = seconds(partial(collect, randomiser, reports))
        shown = [
            f"{used:5.2f} s"
            + (f" ({each * arguments.persons / used:6.0f} x)" if each else " " * 11)
            for used, each in zip((drawing, counting), peer, strict=True)
        ]
        print(f"{randomiser.kind:<20}{randomiser.size:>5} values  {'  '.join(shown)}", flush=True)
    best = best_randomiser(14, 1.0)
    print(f"best_randomiser(14, 1.0) is {best.kind}")


if __name__ == "__main__":
    main()
