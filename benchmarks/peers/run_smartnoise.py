"""smartnoise-synth's MST on a CSV file of codes, timed. Runs in a virtual environment of its own.

    python run_smartnoise.py IN.csv OUT.csv ROWS EPSILON SIZES.json

SIZES.json holds the number of codes of each column; labels are fitted on rows made up from it, not
on the data. The last line of the output is JSON: wall and CPU seconds of fitting and sampling,
imports not counted.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings

import pandas as pd
from snsynth.mst.mst import MSTSynthesizer  # type: ignore[import-not-found]
from snsynth.transform import LabelTransformer, TableTransformer  # type: ignore[import-not-found]

DELTA = 1e-9


def run(frame: pd.DataFrame, sizes: dict[str, int], rows: int, epsilon: float) -> pd.DataFrame:
    most = max(sizes[name] for name in frame.columns)
    made_up = pd.DataFrame({name: [i % sizes[name] for i in range(most)] for name in frame.columns})
    transformer = TableTransformer([LabelTransformer(nullable=False) for _ in frame.columns])
    transformer.fit(made_up)
    synthesizer = MSTSynthesizer(epsilon=epsilon, delta=DELTA)
    synthesizer.fit(frame, transformer=transformer)
    return synthesizer.sample(rows)


def main() -> None:
    warnings.filterwarnings("ignore")
    source, target = sys.argv[1:3]
    rows, epsilon = int(sys.argv[3]), float(sys.argv[4])
    with open(sys.argv[5], encoding="utf-8") as file:
        sizes = json.load(file)
    frame = pd.read_csv(source)
    run(frame[list(frame.columns[:3])].head(500), sizes, 100, epsilon)  # warm-up
    print("ready", flush=True)
    before, started = os.times(), time.perf_counter()
    synthetic = run(frame, sizes, rows, epsilon)
    after = os.times()
    result = {"wall": time.perf_counter() - started, "cpu": sum(after[:4]) - sum(before[:4])}
    synthetic.to_csv(target, index=False)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
