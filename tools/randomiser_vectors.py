"""Test vectors of local randomisers, for clients in other languages.

    python tools/randomiser_vectors.py tests/local/randomiser_vectors.json

Each vector holds a randomiser as it stands in a plan, the values of some persons, a stream of bytes
and the reports that they make of it, one person after the other; and how many bytes were read.
Streams are of three kinds: ordinary ones, ones with words of all zeros and all ones, which lie at
the ends of every comparison and are sometimes thrown away, and ones with the thresholds themselves,
and one less.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from understudy.local.randomisers import (
    BinaryResponse,
    DirectEncoding,
    Duchi,
    HadamardResponse,
    OptimalHashing,
    OptimalUnary,
    Piecewise,
    Randomiser,
    SquareWave,
    SubsetSelection,
    SymmetricUnary,
    ThresholdHistogram,
    Words,
)
from understudy.local.randomisers.numeric import NUMBER_STEPS

ABOUT = (
    "Reports that each randomiser makes of the same values and bytes. Bytes are read eight at a "
    "time as 64-bit words, the least significant byte first; docs/local-randomisers.md says in "
    "which order each randomiser uses them. Thresholds are text, since they have up to 20 digits."
)

MANY = 1 << 14
"""Bytes that a stream begins with; only those that were read are kept."""


def subjects() -> list[tuple[Randomiser, list[Any]]]:
    """Randomisers, and the values of a few persons each."""
    return [
        (BinaryResponse(epsilon=1.0), [0, 1, 1, 0]),
        (BinaryResponse(epsilon=0.1), [0, 1]),
        (DirectEncoding(size=3, epsilon=2.0), [0, 1, 2, 2]),
        (DirectEncoding(size=14, epsilon=5.0), [0, 13, 7, 7]),
        (DirectEncoding(size=1000, epsilon=0.5), [0, 999, 500]),
        (SymmetricUnary(size=5, epsilon=1.0), [0, 4, 2]),
        (OptimalUnary(size=5, epsilon=5.0), [0, 4, 2]),
        (OptimalUnary(size=33, epsilon=1.0), [0, 31, 32]),
        (OptimalUnary(size=130, epsilon=2.0), [0, 63, 64, 129]),
        (ThresholdHistogram(size=40, epsilon=1.0), [0, 39]),
        (SubsetSelection(size=6, epsilon=1.0), [0, 3, 5]),
        (SubsetSelection(size=40, epsilon=1.0), [0, 20, 39]),
        (SubsetSelection(size=100, epsilon=0.1), [0, 99]),
        (OptimalHashing(size=2, epsilon=1.0), [0, 1]),
        (OptimalHashing(size=5000, epsilon=1.0), [0, 4999, 1234]),
        (OptimalHashing(size=65536, epsilon=3.0), [0, 65535, 32768]),
        (HadamardResponse(size=2, epsilon=1.0), [0, 1]),
        (HadamardResponse(size=100, epsilon=1.0), [0, 50, 99]),
        (HadamardResponse(size=1000, epsilon=4.0), [0, 500, 999]),
        (HadamardResponse(size=100_000, epsilon=0.5), [0, 99_999]),
        (Duchi(epsilon=1.0), [-1.0, 0.0, 0.3, 1.0]),
        (Duchi(epsilon=2.0, dimensions=4, low=0.0, high=10.0), [[0, 2.5, 10, 7], [1, 1, 9, 9]]),
        (Duchi(epsilon=2.0, dimensions=35), [[0.1] * 35, [-1.0] * 35]),
        (Piecewise(epsilon=1.0), [-1.0, 0.0, 0.3, 1.0]),
        (Piecewise(epsilon=8.0, dimensions=5), [[-1.0, 0.5, 0, 0.25, 1.0], [1.0] * 5]),
        (SquareWave(epsilon=1.0, low=0.0, high=100.0, bins=10), [0.0, 33.3, 100.0]),
    ]


def streams(randomiser: Randomiser, name: str) -> dict[str, bytes]:
    """Three streams for a randomiser."""
    ordinary = hashlib.shake_256(name.encode()).digest(MANY)
    ends = np.frombuffer(ordinary, dtype="<u8").copy()
    ends[0::4], ends[1::4] = 0, np.uint64((1 << 64) - 1)
    edges = np.frombuffer(ordinary, dtype="<u8").copy()
    edges_of_runs = [*randomiser.thresholds().values(), *_sums(randomiser.thresholds())]
    interesting = [word for edge in edges_of_runs for word in (edge - 1, edge)]
    for place, word in enumerate(interesting * 20):
        edges[place] = np.uint64(word % (1 << 64))
    return {"ordinary": ordinary, "ends": ends.tobytes(), "edges": edges.tobytes()}


def _sums(thresholds: dict[str, int]) -> list[int]:
    """Where the words of one report end and those of the next begin."""
    if "keep" in thresholds and "other" in thresholds:
        return [thresholds["keep"] + thresholds["other"]]
    if "high" in thresholds:
        return [thresholds["length"] // 2 * thresholds["high"]]
    if "inside" in thresholds:
        inside = thresholds["width"] * thresholds["inside"]
        return [inside, inside + NUMBER_STEPS * thresholds["outside"]]
    return []


def vectors() -> dict[str, Any]:
    """The whole file."""
    found = []
    for randomiser, values in subjects():
        name = json.dumps(randomiser.to_dict())
        for stream, bytes_given in streams(randomiser, name).items():
            words = Words.of_bytes(bytes_given)
            reports = randomiser.perturb(values, words)
            assert randomiser.is_possible(reports).all()
            found.append(
                {
                    "randomiser": randomiser.to_dict(),
                    "stream": stream,
                    "values": values,
                    "codes": randomiser.encode(values).tolist(),
                    "bytes": bytes_given[: 8 * words.used].hex(),
                    "reports": reports.tolist(),
                }
            )
    return {"about": ABOUT, "version": 1, "vectors": found}


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    path = parser.parse_args().path
    lines = ",\n".join(json.dumps(vector) for vector in vectors()["vectors"])
    about = json.dumps(ABOUT)
    path.write_text(f'{{"about": {about},\n"version": 1,\n"vectors": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
