"""What the thesis' two ways give away of who was trained on, beside ours.

Some hundred images are canaries: each is in the training set by the toss of a coin. A DCGAN is
trained on those that are in, and whoever has its discriminator guesses which these are: images that
it was trained on look more real to it. The area under the curve of that guess is 0.5 for a coin;
and so many right guesses, in one single run, bound epsilon from below, whatever anybody claims.

The thesis adds noise to the value of the loss, whose gradient has none, or to the outputs of a
layer while training; the epsilon in its tables belongs to neither. It does not say how large its
noise is: here it has a deviation of 1 / epsilon.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gan_parts.students import choose, torch_module
from gan_parts.unprotected import UnclippedNetworks, images_with_labels, make_task, train
from understudy import GAN
from understudy.auditing.gradients import bound_guesses
from understudy.counting.convolutions import KERNEL, PADDING
from understudy.counting.row_functions import SLOPE
from understudy.data.encoding import encode
from understudy.data.image_files import Images
from understudy.privacy.central import CentralCurator
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import SystemNoise
from understudy.privacy.vectors import VectorSum
from understudy.synthesizers.gan_images import ImageNetworks
from understudy.synthesizers.image_tables import table_of_images

WAYS = ("noise on the loss", "noise layer", "DP-SGD")
FILTERS = 16
BATCH, RATIO = 32, 5
LEARNING_RATE = 0.001
DELTA = 1e-5
CONFIDENCE = 0.999


class LossNoiseNetworks(UnclippedNetworks):
    """The thesis' first way: noise on the value of the loss."""

    def _loss_of(self, output: Any) -> Any:
        noise = self._torch.randn((), generator=self._random) / self._method.epsilon
        return super()._loss_of(output) + noise


class NoiseLayerNetworks(UnclippedNetworks):
    """The thesis' second way: noise after the second convolution, and no dropout."""

    def _judge_images(self, images: Any, told: Any, masks: tuple[Any, Any]) -> Any:
        functional, given = self._torch.nn.functional, self._judge
        seen = images
        for name in ("first", "second"):
            weights = given[name].reshape(len(given[name]), -1, KERNEL, KERNEL)
            seen = functional.conv2d(
                seen, weights, given[f"{name}_bias"], stride=2, padding=PADDING
            )
            seen = functional.leaky_relu(seen, SLOPE)
        noise = self._torch.randn(seen.shape, generator=self._random)
        return self._sum_up(seen + noise / self._method.epsilon, told)


NETWORKS: Mapping[str, type[ImageNetworks]] = {
    "noise on the loss": LossNoiseNetworks,
    "noise layer": NoiseLayerNetworks,
    "DP-SGD": ImageNetworks,
}


def membership(
    images: Images, way: str, epsilon: float, canaries: int, steps: int, seed: int = 0
) -> dict[str, float]:
    """The area under the curve of the guess who was trained on, and the epsilon that it refutes."""
    torch_module().manual_seed(seed)
    rng = np.random.default_rng(seed)
    some = choose(images, rng.permutation(len(images))[:canaries])
    coins = rng.random(canaries) < 0.5
    inside = choose(some, np.flatnonzero(coins))
    method = GAN(
        epsilon=epsilon,
        delta=DELTA,
        steps=steps,
        hidden=FILTERS,
        learning_rate=LEARNING_RATE,
        sampling_rate=min(2 * BATCH / canaries, 1.0),
    )
    _, schema = table_of_images(some, "gan")
    networks = NETWORKS[way](method, schema, make_task(some, schema))
    if way == "DP-SGD":
        train_by_curator(networks, method, inside)
    else:
        train(networks, inside, steps, BATCH, RATIO)
    scores = judge(networks, some)
    return {
        "area": area(scores[coins], scores[~coins]),
        "refuted epsilon": bound_guesses(scores, coins, CONFIDENCE, delta=DELTA),
    }


def area(members: NDArray[np.float64], others: NDArray[np.float64]) -> float:
    """The share of pairs in which the member has the higher score; ties count half."""
    above = (members[:, None] > others[None, :]).mean()
    return float(above + (members[:, None] == others[None, :]).mean() / 2)


def train_by_curator(networks: ImageNetworks, method: GAN, images: Images) -> None:
    """As many steps of both networks, of which the discriminator's are those of DP-SGD."""
    table, schema = table_of_images(images, "gan")
    ledger = Ledger(method.epsilon, DELTA, currency="rho", order=method.renyi_order)
    curator = CentralCurator(encode(table, schema), ledger, SystemNoise())
    price = ledger.budget.equally(method.steps)[0]
    for step in range(method.steps):
        asked = VectorSum(
            function=networks.gradient(),
            budget=price,
            clip=method.clip,
            rate=method.sampling_rate,
        )
        networks.step_discriminator(curator.answer(asked).values / BATCH)
        if (step + 1) % RATIO == 0:
            networks.step_generator()


def judge(networks: ImageNetworks, images: Images) -> NDArray[np.float64]:
    """What the discriminator says of images, without dropout or noise."""
    torch = torch_module()
    pixels, told = images_with_labels(torch, images)
    plain = tuple(torch.ones_like(mask) for mask in networks._masks())
    with torch.no_grad():
        told_real = ImageNetworks._judge_images(networks, pixels, told, plain)
    found: NDArray[np.float64] = told_real.double().numpy()
    return found
