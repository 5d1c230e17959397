"""dpmm's pipelines on a CSV file of codes, timed. Runs in a virtual environment of its own.

    python run_dpmm.py IN.csv OUT.csv ROWS DEGREE EPSILON SIZES.json

DEGREE is that of PrivBayes, which counts the child too; 0 stands for MST and -1 for AIM, which have
none. SIZES.json holds the number of codes of each column; nothing is left to bin, so the pipeline's
processing is off. The last line of the output is JSON: wall and CPU seconds of fitting and
generating, imports not counted.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings

import pandas as pd
from dpmm.pipelines import AIMPipeline, MSTPipeline, PrivBayesPipeline  # type: ignore[import-not-found]

DELTA = 1e-9


def run(
    frame: pd.DataFrame, sizes: dict[str, int], rows: int, degree: int, epsilon: float, **more: int
) -> pd.DataFrame:
    kinds = {0: (MSTPipeline, {}), -1: (AIMPipeline, {"max_model_size": 1})}
    kind, own = kinds.get(degree, (PrivBayesPipeline, {}))
    pipeline = kind(
        epsilon=epsilon,
        delta=DELTA,
        gen_kwargs=({"degree": degree} if degree > 0 else {}) | more,
        proc_epsilon=None,
        disable_processing=True,
        **own,
    )
    pipeline.fit(frame, sizes)
    return pipeline.generate(n_records=rows)


def main() -> None:
    warnings.filterwarnings("ignore")
    source, target = sys.argv[1:3]
    rows, degree, epsilon = int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5])
    with open(sys.argv[6], encoding="utf-8") as file:
        sizes = json.load(file)
    frame = pd.read_csv(source)
    few = list(frame.columns[:4])  # warm-up
    run(frame[few].head(500), {name: sizes[name] for name in few}, 500, degree, epsilon, n_iters=20)
    print("ready", flush=True)
    before, started = os.times(), time.perf_counter()
    synthetic = run(frame, sizes, rows, degree, epsilon)
    after = os.times()
    result = {"wall": time.perf_counter() - started, "cpu": sum(after[:4]) - sum(before[:4])}
    synthetic[list(frame.columns)].to_csv(target, index=False)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
