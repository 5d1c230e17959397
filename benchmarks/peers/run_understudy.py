"""Understudy on a CSV file of codes, timed, under the same conditions as its peers.

    python run_understudy.py IN.csv OUT.csv ROWS EPSILON SIZES.json METHOD NEIGHBOURS DELTA

METHOD is independent, mst, adaptive, fast, privbayes or paper. SIZES.json holds the number of codes
of each column: all that is said about them, as to the peers (so no taxonomies, no trees over bins).
The last line of the output is JSON: wall and CPU seconds of fitting and sampling, imports not
counted, and the guarantee by the ledger.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from understudy import MST, Adaptive, Independent, PrivBayes, Schema, Synthesizer, Table, read_table

FEW = 500


def synthesizer(method: str, **parameters: Any) -> Synthesizer:
    methods: dict[str, Callable[..., Synthesizer]] = {
        "independent": Independent,
        "mst": MST,
        "adaptive": Adaptive,
        "fast": Adaptive.fast,
        "privbayes": PrivBayes,
        "paper": PrivBayes.paper,
    }
    return methods[method](**parameters)


def main() -> None:
    source, target, rows, epsilon, sizes, method, neighbours, delta = sys.argv[1:]
    domain = json.loads(Path(sizes).read_text(encoding="utf-8"))
    attributes = {
        name: {"kind": "categorical", "values": list(range(size))} for name, size in domain.items()
    }
    schema = Schema.from_dict({"attributes": attributes})
    table = read_table(source)
    asked = synthesizer(method, epsilon=float(epsilon), delta=float(delta), neighbours=neighbours)
    with (
        tempfile.TemporaryDirectory() as folder
    ):  # warm-up: few rows, and a budget that buys as many parents for them
        few = Path(folder) / "few.csv"
        few.write_text(
            "".join(Path(source).read_text(encoding="utf-8").splitlines(keepends=True)[: FEW + 1])
        )
        replace(asked, epsilon=asked.epsilon * max(table.rows / FEW, 1)).fit(few, schema).sample(
            FEW
        )
    print("ready", flush=True)
    before, started = os.times(), time.perf_counter()
    model = asked.fit(table, schema)
    synthetic = model.sample(int(rows))
    after = os.times()
    result = {"wall": time.perf_counter() - started, "cpu": sum(after[:4]) - sum(before[:4])}
    assert isinstance(synthetic, Table)
    synthetic.write(target)
    spent, slack = model.ledger.promise()
    told = (
        f"epsilon {spent:.6g}"
        + (f", delta {slack:.3g}" if slack else "")
        + f"; {model.ledger.neighbours}"
    )
    print(json.dumps(result | {"guarantee": told if model.ledger.private else "none"}))


if __name__ == "__main__":
    main()
