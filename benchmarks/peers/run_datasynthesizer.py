"""DataSynthesizer's correlated attribute mode on a CSV file, timed. Runs in a virtual environment
of its own.

    python run_datasynthesizer.py IN.csv OUT.csv ROWS DEGREE EPSILON [SIZES.json]

SIZES.json holds the number of codes of each column; without it the values are read off the file.
The last line of the output is JSON: wall and CPU seconds of describing and generating, imports not
counted.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd
from DataSynthesizer.DataDescriber import DataDescriber  # type: ignore[import-not-found]
from DataSynthesizer.DataGenerator import DataGenerator  # type: ignore[import-not-found]


def run(
    source: Path, target: Path, rows: int, degree: int, epsilon: float, sizes: dict[str, int]
) -> None:
    columns = pd.read_csv(source, nrows=1).columns
    describer = DataDescriber(category_threshold=20)
    with tempfile.TemporaryDirectory() as folder:
        domains = Path(folder) / "domains.json"
        domains.write_text(
            json.dumps({name: list(range(sizes[name])) for name in columns if name in sizes})
        )
        describer.describe_dataset_in_correlated_attribute_mode(
            str(source),
            epsilon=epsilon,
            k=degree,
            attribute_to_is_categorical=dict.fromkeys(columns, True),
            categorical_attribute_domain_file=str(domains),
        )
        description = str(Path(folder) / "description.json")
        describer.save_dataset_description_to_file(description)
        generator = DataGenerator()
        generator.generate_dataset_in_correlated_attribute_mode(rows, description)
        generator.save_synthetic_data(str(target))


def main() -> None:
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    rows, degree, epsilon = int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5])
    sizes = json.loads(Path(sys.argv[6]).read_text(encoding="utf-8")) if len(sys.argv) > 6 else {}
    with tempfile.TemporaryDirectory() as folder:  # warm-up: a few rows of a few columns
        few = Path(folder) / "few.csv"
        pd.read_csv(source, nrows=200).iloc[:, :4].to_csv(few, index=False)
        run(few, Path(folder) / "out.csv", 100, 1, epsilon, sizes)
    print("ready", flush=True)
    before, started = os.times(), time.perf_counter()
    run(source, target, rows, degree, epsilon, sizes)
    after = os.times()
    print(
        json.dumps({"wall": time.perf_counter() - started, "cpu": sum(after[:4]) - sum(before[:4])})
    )


if __name__ == "__main__":
    main()
