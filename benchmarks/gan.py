"""Images by GANs, by random features and by Gaussians: accuracies, and what a step costs.

    python benchmarks/gan.py --data DIR
    python benchmarks/gan.py --data DIR --only gaussian real
    python benchmarks/gan.py --data DIR --only gan --steps 20000

``DIR`` holds 10,000 images of digits and their labels, ``mnist-10k-images.idx.gz`` and
``mnist-10k-labels.idx.gz``. Of these 8,000 are private; a convolutional network learns from as many
synthetic ones, each bent a little every time it is seen, and is tried on the other 2,000. What is
fixed (frequencies, clipping, the network and its rounds) was chosen on a part of the 8,000, never
on the 2,000.

The parts: ``real`` (images themselves), ``gaussian``, ``merf``, ``gan``, ``plain`` (a GAN without
noise or clipping), ``step`` (the cost of a step of DP-SGD by opacus' own engine and by ours). It
needs torch and, for ``step``, opacus: pip install 'understudy[gan]'.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "studies"))

from gan_parts import makers
from gan_parts.students import network_accuracy, read_digits, split_digits, torch_module
from gan_parts.unprotected import images_with_labels, make_unprotected
from understudy.counting.row_functions import RowMatrix
from understudy.data.encoding import encode
from understudy.data.image_files import Images
from understudy.models.network import Node
from understudy.privacy.budget import Budget
from understudy.privacy.mechanisms import SystemNoise
from understudy.privacy.vectors import VectorSum, sum_vectors
from understudy.synthesizers.checkpoints import Checkpoint
from understudy.synthesizers.gan_images import ImageNetworks
from understudy.synthesizers.generated_tables import GeneratedColumns, TrainingTask
from understudy.synthesizers.image_tables import table_of_images

PARTS = ("real", "gaussian", "merf", "plain", "gan", "step")
BATCH = 128


def try_recipe(recipe: makers.Recipe, private: Images, held_out: Images, what: str) -> None:
    made = recipe.make(private)
    accuracy = network_accuracy(made.images, held_out)
    print(
        f"{recipe.name}, {what}: accuracy {accuracy:.4f}, learned in {made.seconds:.0f} s of "
        "processor time",
        flush=True,
    )


def opacus_steps(images: Images, filters: int) -> Iterator[None]:
    """Steps of opacus' engine on the same network, for ever."""
    torch = torch_module()
    import opacus

    nn = torch.nn
    judge = nn.Sequential(
        nn.Conv2d(1, filters, 5, stride=2, padding=2),
        nn.LeakyReLU(0.2),
        nn.Dropout(0.3),
        nn.Conv2d(filters, 2 * filters, 5, stride=2, padding=2),
        nn.LeakyReLU(0.2),
        nn.Dropout(0.3),
        nn.Flatten(),
        nn.Linear(2 * filters * 49, 11),  # one unit for all images, one for each label
    )
    pixels, told = images_with_labels(torch, images)
    data = torch.utils.data.TensorDataset(pixels, torch.cat([torch.ones(len(told), 1), told], 1))
    loader = torch.utils.data.DataLoader(data, batch_size=BATCH)
    optimiser = torch.optim.Adam(judge.parameters(), 1e-3)
    judge, optimiser, loader = opacus.PrivacyEngine().make_private(
        module=judge,
        optimizer=optimiser,
        data_loader=loader,
        noise_multiplier=1.0,
        max_grad_norm=1.0,
    )
    while True:
        for batch, units in loader:
            optimiser.zero_grad()
            nn.functional.softplus(-(judge(batch) * units).sum(1)).mean().backward()
            optimiser.step()
            yield


def own_steps(images: Images, filters: int) -> Iterator[None]:
    """The same by ours: sampling, clipping, exact sums, exact noise, and the optimiser's step."""
    torch = torch_module()
    method: Any = makers.gan(10.0, 10, filters).method
    table, schema = table_of_images(images, "gan")
    columns = GeneratedColumns.of(schema, None)
    matrix = RowMatrix(columns.inputs, encode(table, schema))
    label = Node("label", (), np.ones(schema["label"].size))
    task = TrainingTask(
        columns=columns, label=label, rows=float(len(images)), checkpoint=Checkpoint()
    )
    networks = ImageNetworks(method, schema, task)
    while True:
        asked = VectorSum(
            function=networks.gradient(), budget=Budget(1.0, "rho"), clip=1.0, rate=BATCH / 8000
        )
        noisy = sum_vectors(asked, matrix, SystemNoise(), 65536.0)
        parts = list(networks._judge.values())
        flat = torch.from_numpy((noisy * asked.step / BATCH).astype(np.float32))
        for part, piece in zip(parts, flat.split([p.numel() for p in parts]), strict=True):
            part.grad = piece.reshape(part.shape)
        networks._of_judge.step()
        yield


def compare_steps(images: Images, filters: int, steps: int) -> None:
    """Steps of both in turn, so that whatever else the machine does meets both; seconds of the
    processor.
    """
    both = {"opacus": opacus_steps(images, filters), "ours": own_steps(images, filters)}
    seconds: dict[str, list[float]] = {name: [] for name in both}
    for step in range(steps + 1):
        for name, engine in both.items():
            began = time.process_time()
            next(engine)
            if step:  # the first is not timed
                seconds[name].append(time.process_time() - began)
    middle = {name: statistics.median(found) for name, found in seconds.items()}
    total = {name: sum(found) for name, found in seconds.items()}
    print(
        f"a step with {filters} filters, {steps} of each in turn: opacus {middle['opacus']:.3f} s, "
        f"ours {middle['ours']:.3f} s, ratio of medians {middle['ours'] / middle['opacus']:.2f}, "
        f"of sums {total['ours'] / total['opacus']:.2f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, metavar="DIR")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[10.0, 1.0])
    parser.add_argument("--splits", type=int, default=1, help="how many random splits")
    parser.add_argument("--steps", type=int, default=800, help="of the GAN under DP-SGD")
    parser.add_argument("--plain-steps", type=int, default=1000, help="of the GAN without noise")
    parser.add_argument("--hidden", type=int, default=16, help="filters under DP-SGD")
    parser.add_argument(
        "--plain-filters", type=int, default=24, help="filters without noise; the thesis has 64"
    )
    parser.add_argument("--timed-steps", type=int, default=30, help="of each engine, for step")
    given = parser.parse_args()
    images = read_digits(given.data)
    for split in range(given.splits):
        private, held_out = split_digits(images, split)
        if "real" in given.only:
            accuracy = network_accuracy(private, held_out)
            print(f"real images: accuracy {accuracy:.4f}", flush=True)
        for epsilon in given.epsilon:
            what = f"epsilon {epsilon:g}, delta {makers.DELTA:g}, split {split}"
            if "gaussian" in given.only:
                try_recipe(makers.gaussian(epsilon), private, held_out, what)
            if "merf" in given.only:
                try_recipe(makers.merf(epsilon), private, held_out, what)
            if "gan" in given.only:
                recipe = makers.gan(epsilon, given.steps, given.hidden)
                try_recipe(recipe, private, held_out, f"{given.steps:,} steps, {what}")
        if "plain" in given.only:
            made, seconds = make_unprotected(private, given.plain_steps, given.plain_filters, split)
            print(
                f"gan without noise, {given.plain_steps:,} steps, {given.plain_filters} filters, "
                f"split {split}: accuracy {network_accuracy(made, held_out):.4f}, learned in "
                f"{seconds:.0f} s of processor time",
                flush=True,
            )
    if "step" in given.only:
        private, _ = split_digits(images)
        for filters in (16, 64):
            compare_steps(private, filters, given.timed_steps)


if __name__ == "__main__":
    main()
