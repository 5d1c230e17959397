"""The same DCGAN without noise, clipping or curator: what it could learn if nobody were protected.

Both networks are those of :mod:`understudy.synthesizers.gan_images`; the discriminator learns from
the mean gradient of a batch, with other units left out for each image, as everywhere outside of
differential privacy.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gan_parts.students import choose, torch_module
from understudy import GAN
from understudy.data.image_files import Images
from understudy.data.schema import Schema
from understudy.models.network import Node
from understudy.synthesizers.checkpoints import Checkpoint
from understudy.synthesizers.gan_images import DROPOUT, ImageNetworks
from understudy.synthesizers.generated_tables import GeneratedColumns, TrainingTask
from understudy.synthesizers.image_tables import table_of_images

BATCH = 64
LEARNING_RATE, RATE_OF_GENERATOR = 0.0005, 0.001
"""Chosen with 1,200 of the 8,000 images held out, never with the other 2,000."""


class UnclippedNetworks(ImageNetworks):
    """Gradients as long as they are."""

    def gradient_of_made_up(self, images: Any, told: Any) -> NDArray[np.float64]:
        """The mean gradient of made-up images."""
        return self.mean_gradient(images, told, 1)


class PlainNetworks(UnclippedNetworks):
    """Dropout for each image by itself, and a generator that learns faster."""

    def __init__(self, method: GAN, schema: Schema, task: TrainingTask) -> None:
        super().__init__(method, schema, task)
        for group in self._of_maker.param_groups:
            group["lr"] = RATE_OF_GENERATOR

    def _masks(self) -> tuple[Any, Any]:
        torch, (first, second) = self._torch, super()._masks()
        kept = [
            torch.rand((BATCH, *mask.shape), generator=self._random) >= DROPOUT
            for mask in (first, second)
        ]
        return kept[0].float() / (1 - DROPOUT), kept[1].float() / (1 - DROPOUT)


def images_with_labels(torch: Any, images: Images) -> tuple[Any, Any]:
    """Pixels from -1 to 1, and labels with a 1 at their code."""
    assert images.labels is not None
    pixels = torch.tensor(images.pixels[:, None] / 127.5 - 1, dtype=torch.float32)
    return pixels, torch.eye(len(images.words))[torch.tensor(images.labels)]


def make_task(images: Images, schema: Schema) -> TrainingTask:
    """What a generator is trained for, with exact counts of labels."""
    assert images.labels is not None
    counts = np.bincount(images.labels, minlength=len(images.words))
    label = Node("label", (), counts.astype(np.float64))
    columns = GeneratedColumns.of(schema, None)
    return TrainingTask(
        columns=columns, label=label, rows=float(len(images)), checkpoint=Checkpoint()
    )


def train(
    networks: ImageNetworks, images: Images, steps: int, batch: int = BATCH, ratio: int = 1
) -> None:
    """Steps of the discriminator, and one of the generator after each ``ratio`` of them."""
    torch = torch_module()
    pixels, told = images_with_labels(torch, images)
    order = torch.randperm(0)
    for step in range(steps):
        if len(order) < batch:
            order = torch.randperm(len(pixels))
        some, order = order[:batch], order[batch:]
        with torch.autocast("cpu", dtype=torch.bfloat16):  # half the time, and as good
            networks.step_discriminator(networks.mean_gradient(pixels[some], told[some]))
            if (step + 1) % ratio == 0:
                networks.step_generator()


def make_unprotected(
    images: Images, steps: int, filters: int, seed: int = 0
) -> tuple[Images, float]:
    """As many images as there are real ones, and the processor's seconds for the training."""
    torch_module().manual_seed(seed)
    _, schema = table_of_images(choose(images, np.arange(len(images.words))), "gan")
    method = GAN(epsilon=1.0, delta=1e-5, hidden=filters, learning_rate=LEARNING_RATE)
    networks = PlainNetworks(method, schema, make_task(images, schema))
    began = time.process_time()
    train(networks, images, steps)
    seconds = time.process_time() - began
    return draw(networks, images), seconds


def draw(networks: ImageNetworks, like: Images) -> Images:
    """Images with the labels of others, by the generator as it stands."""
    assert like.labels is not None
    generator = networks.generator()
    rng = np.random.default_rng(1)
    told = np.eye(len(like.words), dtype=np.float32)[like.labels]
    latent = rng.standard_normal((len(like), generator.latent)).astype(np.float32)
    made = np.concatenate(
        [
            generator.make(latent[start : start + BATCH], told[start : start + BATCH])
            for start in range(0, len(like), BATCH)
        ]
    )
    pixels = np.clip(np.rint((made + 1) * 127.5), 0, 255).astype(np.uint8)
    return Images(pixels=pixels.reshape(like.pixels.shape), labels=like.labels, words=like.words)
