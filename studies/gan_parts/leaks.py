"""What the thesis' two ways give away of who was trained on, beside ours.

A DCGAN is trained on a few images, and whoever has its discriminator guesses, of these and of as
many others, which it has seen: real images that it was trained on look more real to it. The area
under the curve of that guess is 0.5 for a coin. The thesis adds noise to the value of the loss,
whose gradient has none, or to the outputs of a layer while training; the epsilon in its tables
belongs to neither.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gan_parts.students import choose, torch_module
from understudy import GAN
from understudy.counting.row_functions import RowMatrix
from understudy.data.encoding import encode
from understudy.data.image_files import Images
from understudy.privacy.central import CentralCurator
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import SystemNoise
from understudy.privacy.vectors import VectorSum
from understudy.synthesizers.checkpoints import Checkpoint
from understudy.synthesizers.gan_images import ImageNetworks
from understudy.synthesizers.generated_tables import Columns, Task, count_labels
from understudy.synthesizers.image_tables import table_of_images

WAYS = ("noise on the loss", "noise layer", "DP-SGD")
FILTERS = 16
BATCH = 32


def membership(
    images: Images, way: str, epsilon: float, members: int = 150, steps: int = 400, seed: int = 0
) -> float:
    """The area under the curve of the guess who was trained on."""
    order = np.random.default_rng(seed).permutation(len(images))[: 2 * members]
    inside, outside = choose(images, order[:members]), choose(images, order[members:])
    if way == "DP-SGD":
        judge = _train_by_curator(inside, epsilon, steps)
    else:
        judge = _train_like_the_thesis(inside, way, epsilon, steps, seed)
    return area(judge(inside), judge(outside))


def area(members: NDArray[np.float64], others: NDArray[np.float64]) -> float:
    """The share of pairs in which the member has the higher score; ties count half."""
    above = (members[:, None] > others[None, :]).mean()
    return float(above + (members[:, None] == others[None, :]).mean() / 2)


def _planes(torch: Any, images: Images) -> Any:
    pixels = torch.tensor(images.pixels[:, None] / 127.5 - 1, dtype=torch.float32)
    height, width = images.pixels.shape[1:]
    told = torch.eye(len(images.words))[torch.tensor(images.labels)][:, :, None, None]
    return torch.cat([pixels, told.expand(-1, -1, height, width)], dim=1)


def _train_like_the_thesis(images: Images, way: str, epsilon: float, steps: int, seed: int) -> Any:
    """A discriminator against made-up images that are noise around a mean: it only has to know
    the real ones. Noise has the scale 1 / epsilon; the thesis does not say which it took.
    """
    torch = torch_module()
    torch.manual_seed(seed)
    nn = torch.nn
    pixels = images.pixels.shape[1] // 4 * (images.pixels.shape[2] // 4)
    first = nn.Conv2d(1 + len(images.words), FILTERS, 5, stride=2, padding=2)
    second = nn.Conv2d(FILTERS, 2 * FILTERS, 5, stride=2, padding=2)
    dense = nn.Linear(2 * FILTERS * pixels, 1)
    parts = [*first.parameters(), *second.parameters(), *dense.parameters()]
    optimiser = torch.optim.Adam(parts, 1e-3, betas=(0.5, 0.9))
    real = _planes(torch, images)

    def judge(given: Any, noisy: bool) -> Any:
        seen = nn.functional.leaky_relu(second(nn.functional.leaky_relu(first(given), 0.2)), 0.2)
        if noisy:
            seen = seen + torch.randn_like(seen) / epsilon
        return dense(seen.flatten(1))

    for _ in range(steps):
        some = real[torch.randperm(len(real))[:BATCH]]
        made = some.clone()
        made[:, :1] = torch.tanh(torch.randn_like(made[:, :1]))
        layer = way == "noise layer"
        loss = nn.functional.softplus(-judge(some, layer)).mean()
        loss = loss + nn.functional.softplus(judge(made, layer)).mean()
        if way == "noise on the loss":
            loss = loss + torch.randn(()) / epsilon
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

    def score(others: Images) -> NDArray[np.float64]:
        with torch.no_grad():
            found: NDArray[np.float64] = judge(_planes(torch, others), False)[:, 0].numpy()
        return found

    return score


def _train_by_curator(images: Images, epsilon: float, steps: int) -> Any:
    torch = torch_module()
    method = GAN(
        epsilon=epsilon,
        delta=1e-5,
        steps=steps,
        hidden=FILTERS,
        sampling_rate=BATCH / len(images),
        discriminator_steps=5,
    )
    table, schema = table_of_images(images, "gan")
    ledger = Ledger(epsilon, 1e-5, currency="rho", order=method.renyi_order)
    curator = CentralCurator(encode(table, schema), ledger, SystemNoise())
    columns = Columns.of(schema, None)
    counts, rest = ledger.left.split(0.02, 0.98)
    label, rows = count_labels(curator, columns.label, counts, Checkpoint())
    networks = ImageNetworks(
        method, schema, Task(columns=columns, label=label, rows=rows, checkpoint=Checkpoint())
    )
    price = rest.equally(steps)[0]
    for step in range(steps):
        asked = VectorSum(
            function=networks.gradient(), budget=price, clip=1.0, rate=method.sampling_rate
        )
        answer = curator.answer(asked)
        networks.step_discriminator(answer.values / (rows * method.sampling_rate))
        if step % 5 == 4:
            networks.step_generator()

    def score(others: Images) -> NDArray[np.float64]:
        own, its_schema = table_of_images(others, "gan")
        matrix = RowMatrix(columns.inputs, encode(own, its_schema))
        seen = matrix.take(np.arange(len(others)))
        size = others.pixels.shape[1] * others.pixels.shape[2]
        pixels = torch.from_numpy(seen[:, :size]).reshape(-1, 1, *others.pixels.shape[1:])
        told = torch.from_numpy(np.ascontiguousarray(seen[:, size:]))
        shapes = networks._masks()
        plain = tuple(torch.ones_like(mask) for mask in shapes)
        with torch.no_grad():
            found: NDArray[np.float64] = networks._judged(pixels, told, plain).numpy()
        return found

    return score
