"""Classifiers that learn from images, real or synthetic, and are tried on held-out real ones.

All of them are fixed beforehand; nothing is chosen by the images that they are tried on.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.image_files import Images, read_images

ROUNDS = 8


def read_digits(folder: Path) -> Images:
    """The images of digits: the full set where somebody has it, else 10,000."""
    full = folder / "train-images-idx3-ubyte.gz"
    if full.exists():
        return read_images(full, folder / "train-labels-idx1-ubyte.gz")
    return read_images(folder / "mnist-10k-images.idx.gz", folder / "mnist-10k-labels.idx.gz")


def split_digits(images: Images, split: int = 0) -> tuple[Images, Images]:
    """Private images, and others to try classifiers on."""
    order = np.random.default_rng(split).permutation(len(images))
    cut = len(images) * 4 // 5
    return choose(images, order[:cut]), choose(images, order[cut:])


def choose(images: Images, places: NDArray[np.int64]) -> Images:
    """Some of the images."""
    assert images.labels is not None
    return Images(pixels=images.pixels[places], labels=images.labels[places], words=images.words)


def torch_module() -> Any:
    try:
        torch: Any = importlib.import_module("torch")
    except ImportError as error:
        raise SystemExit("This needs torch: pip install 'understudy[gan]'.") from error
    torch.set_num_threads(1)
    return torch


def thesis_network(torch: Any) -> Any:
    """The student of the thesis; it does not say how many filters there are."""
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(1, 32, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 13 * 13, 128),
        nn.ReLU(),
        nn.Dropout(0.2),
        nn.Linear(128, 10),
    )


def convolutional_network(torch: Any) -> Any:
    """Two convolutions and two dense layers."""
    nn = torch.nn
    return nn.Sequential(
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


def bend(torch: Any, images: Any) -> Any:
    """Images turned, slanted, scaled and moved a little, each in its own way."""
    count = len(images)

    def off(size: float) -> Any:
        return (torch.rand(count) * 2 - 1) * size

    angle, scale = off(0.2), 1 + off(0.12)
    maps = torch.zeros(count, 2, 3)
    maps[:, 0, 0] = maps[:, 1, 1] = scale * torch.cos(angle)
    maps[:, 0, 1] = off(0.2) - torch.sin(angle)
    maps[:, 1, 0] = torch.sin(angle)
    maps[:, :, 2] = torch.stack([off(0.12), off(0.12)], dim=1)
    functional = torch.nn.functional
    grid = functional.affine_grid(maps, images.shape, align_corners=False)
    return functional.grid_sample(images, grid, align_corners=False)


def network_accuracy(
    training: Images,
    held_out: Images,
    make: Callable[[Any], Any] = convolutional_network,
    *,
    bent: bool = True,
    rounds: int = ROUNDS,
) -> float:
    """How many held-out images a network gets right that has learned from others."""
    torch = torch_module()
    torch.manual_seed(0)
    network = make(torch)
    optimiser = torch.optim.Adam(network.parameters(), 1e-3)
    inputs, labels = as_tensor(torch, training), torch.tensor(training.labels)
    for _ in range(rounds):
        for some in torch.randperm(len(inputs)).split(64):
            given = inputs[some]
            if bent:
                given = bend(torch, given)
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(network(given), labels[some]).backward()
            optimiser.step()
    network.eval()
    with torch.no_grad():
        told = network(as_tensor(torch, held_out)).argmax(1).numpy()
    return float((told == held_out.labels).mean())


def as_tensor(torch: Any, images: Images) -> Any:
    return torch.tensor(images.pixels[:, None] / 255, dtype=torch.float32)


def plain_accuracy(training: Images, held_out: Images, name: str) -> float:
    """The same by a classifier that sees pixels as numbers: "logistic" or "forest"."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    makers: dict[str, Callable[[], Any]] = {
        "logistic": lambda: LogisticRegression(C=0.01, max_iter=200),
        "forest": lambda: RandomForestClassifier(100, random_state=0),
    }
    classifier = makers[name]()
    classifier.fit(training.pixels.reshape(len(training), -1) / 255, training.labels)
    right = classifier.predict(held_out.pixels.reshape(len(held_out), -1) / 255)
    return float((right == held_out.labels).mean())
