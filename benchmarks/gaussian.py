"""Images by the method gaussian: how well a network learns digits from synthetic ones.

    python benchmarks/gaussian.py --data DIR
    python benchmarks/gaussian.py --data DIR --epsilon 10 --splits 3

``DIR`` holds 10,000 images of digits and their labels, ``mnist-10k-images.idx.gz`` and
``mnist-10k-labels.idx.gz``. Of these 8,000 are the private table, of 784 numeric columns and a
label; a convolutional network learns from as many synthetic rows and is tried on the other 2,000.
It needs PyTorch, which nothing else here does: ``pip install torch``. One run takes some two
minutes, nearly all of them for the network; the release itself is timed apart.

The network and its eight rounds are fixed: nothing is chosen by the held-out images.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "studies"))

from gan_parts.students import network_accuracy, read_digits, split_digits
from understudy import Gaussian, Model, Schema, Table
from understudy.data.image_files import Images
from understudy.data.tables import Column

SIDE = 28
PIXELS = SIDE**2
NAMES = [f"pixel{place}" for place in range(PIXELS)]


def as_table(images: Images) -> Table:
    """A column for each pixel, named so that no method takes them for images."""
    pixels = images.pixels.reshape(len(images), PIXELS)
    columns = {name: Column("integer", pixels[:, i].astype(int)) for i, name in enumerate(NAMES)}
    return Table({**columns, "digit": Column("integer", np.asarray(images.labels))})


def public_schema() -> Schema:
    """What everybody knows of such images."""
    pixel = {"kind": "integer", "min": 0, "max": 255}
    digit = {"kind": "categorical", "values": list(range(10))}
    return Schema.from_dict({"attributes": {**dict.fromkeys(NAMES, pixel), "digit": digit}})


def as_images(rows: Table, words: tuple[str, ...]) -> Images:
    pixels = np.column_stack([rows.columns[name].values for name in NAMES]).astype(np.uint8)
    labels = rows.columns["digit"].values.astype(np.int64)
    return Images(pixels=pixels.reshape(-1, SIDE, SIDE), labels=labels, words=words)


def release(table: Table, epsilon: float, delta: float) -> tuple[Model, float, float]:
    """A model, and the seconds that it took: on the clock, and of the processor."""
    clock, used = time.perf_counter(), time.process_time()
    model = Gaussian(epsilon=epsilon, delta=delta).fit(table, public_schema())
    return model, time.perf_counter() - clock, time.process_time() - used


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, metavar="DIR")
    parser.add_argument("--epsilon", type=float, nargs="+", default=[10.0, 3.0])
    parser.add_argument("--delta", type=float, default=1e-5)
    parser.add_argument("--splits", type=int, default=1, help="how many random splits")
    parser.add_argument("--real", action="store_true", help="also learn from the real images")
    given = parser.parse_args()
    digits = read_digits(given.data)
    for split in range(given.splits):
        private, held_out = split_digits(digits, split)
        if given.real:
            accuracy = network_accuracy(private, held_out, bent=False)
            print(f"split {split}, real images: accuracy {accuracy:.4f}", flush=True)
        table = as_table(private)
        for epsilon in given.epsilon:
            model, clock, used = release(table, epsilon, given.delta)
            assert model.gaussians is not None
            made = as_images(model.sample(len(private), seed=1), private.words)
            accuracy = network_accuracy(made, held_out, bent=False)
            print(
                f"split {split}, epsilon {epsilon:g}, delta {given.delta:g}: accuracy "
                f"{accuracy:.4f}, {model.gaussians.dimensions} dimensions, fitted in {used:.1f} s "
                f"of processor time ({clock:.1f} s on the clock)",
                flush=True,
            )


if __name__ == "__main__":
    main()
