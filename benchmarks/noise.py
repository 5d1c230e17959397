"""Exact noise, many cells at a time: speed on one core, against OpenDP's call for a whole vector.

Run ``python benchmarks/noise.py``. Both are timed in one run by the processor time that they use,
system time included; OpenDP on fewer cells, since its time a cell does not depend on how many there
are.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from understudy.machine.plain_first import always_compile
from understudy.privacy import exact_noise
from understudy.privacy.mechanisms import opendp_gaussian, opendp_laplace


def seconds(job: Callable[[], object]) -> tuple[float, float]:
    """Processor time and time on the clock."""
    clock, used = time.perf_counter(), time.process_time()
    job()
    return time.process_time() - used, time.perf_counter() - clock


def against_opendp(
    name: str, ours: Any, theirs: Any, scale: float, cells: int, opendp_cells: int
) -> None:
    ours(1, scale)  # compiles, and finds the probabilities of this scale
    measurement, counts = theirs(scale), np.zeros(opendp_cells, dtype=np.int64).tolist()
    used, clock = seconds(lambda: ours(cells, scale))
    reference, _ = seconds(lambda: measurement(counts))
    ratio = (reference / opendp_cells) / (used / cells)
    print(
        f"{name:<9} scale {scale:<9g} {cells:,} cells: {used:5.2f} s of processor time "
        f"({clock:5.2f} s on the clock); "
        f"OpenDP {reference / opendp_cells * 1e6:5.1f} us a cell: {ratio:4.0f} times faster",
        flush=True,
    )


def shares(scale: float, share: Fraction, cells: int) -> None:
    used, clock = seconds(lambda: exact_noise.polya(cells, scale, share))
    print(
        f"share {share!s:<6} scale {scale:<9g} {cells:,} cells: {used:5.2f} s of processor time "
        f"({clock:.2f} s)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=10_000_000)
    parser.add_argument("--opendp-cells", type=int, default=200_000)
    arguments = parser.parse_args()
    always_compile()
    for scale in (1.0, 40.0, 1000.0, 1e6):
        for name, ours, theirs in (
            ("Laplace", exact_noise.laplace, opendp_laplace),
            ("Gaussian", exact_noise.gaussian, opendp_gaussian),
        ):
            against_opendp(name, ours, theirs, scale, arguments.cells, arguments.opendp_cells)
    for scale in (40.0, 1e5):
        for share in (Fraction(1, 3), Fraction(1, 100)):
            shares(scale, share, 100_000)


if __name__ == "__main__":
    main()
