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
import gzip
import importlib
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy import Gaussian, Model, Schema, Table
from understudy.data.tables import Column

PIXELS = 784
TRAINING_ROWS = 8_000
NAMES = [f"pixel{place}" for place in range(PIXELS)]


def read_digits(folder: Path) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Images as lines of pixels, and which digit each is."""
    images = gzip.decompress((folder / "mnist-10k-images.idx.gz").read_bytes())
    labels = gzip.decompress((folder / "mnist-10k-labels.idx.gz").read_bytes())
    pixels = np.frombuffer(images, np.uint8, offset=16).reshape(-1, PIXELS)
    return pixels, np.frombuffer(labels, np.uint8, offset=8)


def as_table(pixels: NDArray[np.uint8], digits: NDArray[np.uint8]) -> Table:
    columns = {name: Column("integer", pixels[:, i].astype(int)) for i, name in enumerate(NAMES)}
    return Table({**columns, "digit": Column("integer", digits.astype(int))})


def public_schema() -> Schema:
    """What everybody knows of such images."""
    pixel = {"kind": "integer", "min": 0, "max": 255}
    digit = {"kind": "categorical", "values": list(range(10))}
    return Schema.from_dict({"attributes": {**dict.fromkeys(NAMES, pixel), "digit": digit}})


def as_arrays(rows: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    pixels = np.column_stack([rows.columns[name].values for name in NAMES])
    return pixels, rows.columns["digit"].values


def release(table: Table, epsilon: float, delta: float) -> tuple[Model, float, float]:
    """A model, and the seconds that it took: on the clock, and of the processor."""
    clock, used = time.perf_counter(), time.process_time()
    model = Gaussian(epsilon=epsilon, delta=delta).fit(table, public_schema())
    return model, time.perf_counter() - clock, time.process_time() - used


def learned_accuracy(
    training: tuple[NDArray[Any], NDArray[Any]],
    held_out: tuple[NDArray[Any], NDArray[Any]],
    rounds: int = 8,
) -> float:
    """How many held-out digits a small convolutional network gets right."""
    try:
        torch: Any = importlib.import_module("torch")
    except ImportError as error:
        raise SystemExit("This benchmark trains a network: pip install torch.") from error
    nn = torch.nn
    torch.manual_seed(0)
    torch.set_num_threads(1)
    network = nn.Sequential(
        nn.Conv2d(1, 16, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.3),
        nn.Linear(32 * 7 * 7, 128),
        nn.ReLU(),
        nn.Linear(128, 10),
    )
    optimiser = torch.optim.Adam(network.parameters(), 1e-3)

    def images(pixels: NDArray[Any]) -> Any:
        return torch.tensor(pixels.reshape(-1, 1, 28, 28) / 255, dtype=torch.float32)

    inputs, digits = images(training[0]), torch.tensor(training[1].astype(int))
    for _ in range(rounds):
        for some in torch.randperm(len(inputs)).split(64):
            optimiser.zero_grad()
            nn.functional.cross_entropy(network(inputs[some]), digits[some]).backward()
            optimiser.step()
    network.eval()
    with torch.no_grad():
        told = network(images(held_out[0])).argmax(1).numpy()
    return float((told == held_out[1]).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, metavar="DIR")
    parser.add_argument("--epsilon", type=float, nargs="+", default=[10.0, 3.0])
    parser.add_argument("--delta", type=float, default=1e-5)
    parser.add_argument("--splits", type=int, default=1, help="how many random splits")
    parser.add_argument("--real", action="store_true", help="also learn from the real images")
    given = parser.parse_args()
    pixels, digits = read_digits(given.data)
    for split in range(given.splits):
        order = np.random.default_rng(split).permutation(len(pixels))
        mine, others = order[:TRAINING_ROWS], order[TRAINING_ROWS:]
        held_out = pixels[others], digits[others]
        if given.real:
            accuracy = learned_accuracy((pixels[mine], digits[mine]), held_out)
            print(f"split {split}, real images: accuracy {accuracy:.4f}", flush=True)
        table = as_table(pixels[mine], digits[mine])
        for epsilon in given.epsilon:
            model, clock, used = release(table, epsilon, given.delta)
            assert model.gaussians is not None
            accuracy = learned_accuracy(as_arrays(model.sample(TRAINING_ROWS, seed=1)), held_out)
            print(
                f"split {split}, epsilon {epsilon:g}, delta {given.delta:g}: accuracy "
                f"{accuracy:.4f}, {model.gaussians.dimensions} dimensions, fitted in {used:.1f} s "
                f"of processor time ({clock:.1f} s on the clock)",
                flush=True,
            )


if __name__ == "__main__":
    main()
