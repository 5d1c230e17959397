"""How fast tables are counted, beside a plain loop of ``np.bincount``, in one run on the same data.

    python benchmarks/counting.py [--rows N] [--columns N] [--triples N]

Both sides count the same random triples, best of three runs each; the compiled kernels are warmed
up first (the first ever call compiles them, later processes load them from a cache). Every table is
checked to be equal.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.counting.memory import MemoryCounter
from understudy.data.marginals import Axis, Marginal
from understudy.machine.plain_first import always_compile

Columns = Mapping[str, NDArray[Any]]
RUNS = 3


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=10**6)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--triples", type=int, default=1000)
    args = parser.parse_args()
    always_compile()
    rng = np.random.default_rng(20)

    cardinalities = rng.integers(2, 17, args.columns)
    cardinalities[:: max(1, args.columns // 3)] = rng.integers(
        24, 41, len(cardinalities[:: max(1, args.columns // 3)])
    )
    mixed = random_columns(rng, cardinalities, args.rows)
    binary = random_columns(rng, np.full(args.columns, 2), args.rows)
    few = random_columns(rng, np.full(args.columns, 4), args.rows)
    for name in list(few)[6:]:  # six columns decide the others: at most 4^6 distinct rows
        few[name] = (few["c0"] + few["c1"]) % np.uint8(4)

    print(
        f"{args.rows:,} rows x {args.columns} columns, {args.triples} random triples, "
        f"{os.cpu_count()} cores"
    )
    print(
        f"best of {RUNS} runs, kernels warmed up; load of the machine before: "
        f"{os.getloadavg()[0]:.1f}"
    )
    print()
    print(
        f"{'data':<18}{'counter':<38}{'build s':>8}"
        f"{'count s':>9}{'row visits/s':>14}{'x bincount':>12}"
    )
    compare(
        "mixed, 2 to 40", mixed, args.triples, [("as chosen", {}), ("one thread", {"threads": 1})]
    )
    plain = {"collapse": False, "pack": False}
    compare(
        "binary",
        binary,
        args.triples,
        [("packed bits", {"collapse": False}), ("not packed", plain)],
    )
    compare(
        "few distinct rows",
        few,
        args.triples,
        [("as chosen", {}), ("not collapsed", {"collapse": False})],
    )
    prepare(mixed)


def random_columns(
    rng: np.random.Generator, sizes: NDArray[Any], rows: int
) -> dict[str, NDArray[Any]]:
    """Columns in which small codes are more common, as in real tables."""
    return {
        f"c{i}": (size * rng.random(rows) ** 1.5).astype(np.uint8) for i, size in enumerate(sizes)
    }


def compare(
    title: str, columns: Columns, triples: int, variants: list[tuple[str, dict[str, Any]]]
) -> None:
    sizes = {name: int(column.max(initial=0)) + 1 for name, column in columns.items()}
    every = list(itertools.combinations(columns, 3))
    chosen = np.random.default_rng(3).choice(len(every), min(triples, len(every)), replace=False)
    marginals: list[Marginal] = [tuple(map(Axis, every[i])) for i in chosen]
    visits = len(marginals) * len(columns["c0"])

    seconds, expected = best(lambda: [bincount(columns, sizes, axes) for axes in marginals])
    print(f"{title:<18}{'np.bincount':<38}{'':>8}{seconds:>9.3f}{visits / seconds:>14.2g}{1:>12}")
    for name, options in variants:
        for merged in (True, False):
            counter = MemoryCounter(columns, {}, sizes, **options)
            built, _ = best(partial(MemoryCounter, columns, {}, sizes, **options))
            run = (
                partial(counter.count, marginals)
                if merged
                else partial(one_by_one, counter, marginals)
            )
            run()  # compile, or load what was compiled
            took, counted = best(run)
            assert all(map(np.array_equal, counted, expected)), "tables differ"
            label = (
                name
                if counter.distinct_rows is None
                else f"{name} ({counter.distinct_rows:,} rows)"
            )
            label += "" if merged else ", one by one"
            print(
                f"{'':<18}{label:<38}{built:>8.3f}"
                f"{took:>9.3f}{visits / took:>14.2g}{seconds / took:>12.1f}"
            )


def one_by_one(counter: MemoryCounter, marginals: list[Marginal]) -> list[NDArray[np.int64]]:
    """Count each table in a call of its own, so that none are merged."""
    return [counter.count([axes])[0] for axes in marginals]


def bincount(columns: Columns, sizes: Mapping[str, int], axes: Marginal) -> NDArray[Any]:
    """Count one table as one would by hand, with indices in the smallest type that holds them."""
    shape = [sizes[axis.attribute] for axis in axes]
    cells = int(np.prod(shape))
    index = columns[axes[0].attribute].astype(np.min_scalar_type(cells))
    for axis, size in zip(axes[1:], shape[1:], strict=True):
        index *= index.dtype.type(size)
        index += columns[axis.attribute]
    return np.bincount(index, minlength=cells).reshape(shape)


def prepare(columns: Columns) -> None:
    """Time what does not depend on the rows: looking up and planning 100,000 marginals."""
    sizes = {name: int(column.max(initial=0)) + 1 for name, column in columns.items()}
    empty = {name: column[:0] for name, column in columns.items()}
    counter = MemoryCounter(empty, {}, sizes, pack=False)
    marginals = [tuple(map(Axis, names)) for names in itertools.combinations(columns, 3)]
    marginals = (marginals * (100_000 // len(marginals) + 1))[:100_000]
    looked_up, _ = best(lambda: counter._lookup(marginals))
    print()
    print(f"index arrays of 100,000 triples: {looked_up:.3f} s")


def best(run: Callable[[], Any]) -> tuple[float, Any]:
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        result = run()
        times.append(time.perf_counter() - start)
    return min(times), result


if __name__ == "__main__":
    main()
