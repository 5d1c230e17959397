"""Encoding, decoding and the independent method: speed, memory and error.

Run ``python benchmarks/independent.py --data ../shared/data``.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from understudy import Independent, Table, read_table
from understudy.data.encoding import decode, encode
from understudy.data.schema import Schema
from understudy.data.tables import Column
from understudy.evaluation.marginals import marginal_errors

sys.path.append(str(Path(__file__).resolve().parents[1] / "studies"))

from published import published


def best_of(times: int, job: Callable[[], object]) -> float:
    seconds = []
    for _ in range(times):
        started = time.perf_counter()
        job()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def encoding_rate(rows: int) -> None:
    """Adult-like data: 15 columns, half of them categorical."""
    rng = np.random.default_rng(0)
    columns: dict[str, Column] = {}
    attributes: dict[str, object] = {}
    for place in range(15):
        name = f"c{place}"
        if place % 2:
            words = tuple(f"value {i}" for i in range(2 + 3 * place))
            columns[name] = Column(
                "text", rng.integers(0, len(words), rows).astype(np.uint8), words
            )
            attributes[name] = {"kind": "categorical", "values": list(words)}
        else:
            columns[name] = Column("integer", rng.integers(0, 1000 * (place + 1), rows))
            attributes[name] = {
                "kind": "integer",
                "min": 0,
                "max": 1000 * (place + 1) - 1,
                "bins": 16,
            }
    table, schema = Table(columns), Schema.from_dict({"attributes": attributes})
    coded = encode(table, schema)
    seconds = best_of(
        3, lambda: decode(encode(table, schema).codes, schema, np.random.default_rng(0), rows)
    )
    print(
        f"encode + decode  {rows:,} x 15: {rows * 15 / seconds / 1e6:.1f} million cells a second "
        "on one core"
    )
    again = encode(decode(coded.codes, schema, rng, rows), schema)
    assert all(np.array_equal(coded.codes[name], again.codes[name]) for name in coded.codes)
    try:
        from understudy.data.frames import as_table, to_pandas
    except ImportError:
        return
    frame = to_pandas(table)

    def through_pandas() -> None:
        to_pandas(
            decode(encode(as_table(frame)[0], schema).codes, schema, np.random.default_rng(0), rows)
        )

    print(
        f"  the same from and to pandas: {rows * 15 / best_of(2, through_pandas) / 1e6:.1f} "
        "million cells a second"
    )


def whole_run(data: Path) -> None:
    """Read, fit, draw and write Adult."""
    _, schema = published("adult", data)
    words = {name: {"missing": "?"} for name in ("workclass", "occupation", "native_country")}
    document = schema.to_dict()
    for name, more in words.items():
        document["attributes"][name] |= more
        document["attributes"][name].pop("taxonomy", None)
    document["attributes"]["workclass"]["values"].append("Never-worked")
    all_rows = Schema.from_dict(document)
    with tempfile.TemporaryDirectory() as folder:

        def run() -> None:
            model = Independent(epsilon=1.0).fit(read_table(data / "adult.csv"), all_rows)
            model.write(Path(folder) / "synthetic.csv")

        run()  # warm-up: compiled code is loaded, OpenDP too
        seconds = best_of(3, run)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"Independent on adult.csv (48,842 x 15), read to written: {seconds:.2f} s warm, peak "
        f"memory {peak:.0f} MB"
    )


def error(data: Path, repeats: int) -> None:
    table, schema = published("adult", data)
    for neighbours in ("replace", "add_remove"):
        errors = []
        for _ in range(repeats):
            model = Independent(epsilon=1.0, neighbours=neighbours).fit(table, schema)
            errors.append(
                np.mean(list(marginal_errors(table, model.sample(table.rows), schema, 1).values()))
            )
        print(
            f"Independent, epsilon 1, {neighbours}: mean one-way error of Adult "
            f"{np.mean(errors):.4f} "
            f"(+- {np.std(errors):.4f}, {repeats} runs)"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=10)
    arguments = parser.parse_args()
    if not (arguments.data / "adult.csv").exists():
        parser.error(f"there is no adult.csv in {arguments.data}; give its folder by --data")
    whole_run(arguments.data)
    error(arguments.data, arguments.repeats)
    encoding_rate(arguments.rows)


if __name__ == "__main__":
    main()
