"""The same DCGAN without noise, clipping or curator: what it could learn if nobody were protected.

Both networks are those of :mod:`understudy.synthesizers.gan_images`; the discriminator learns from
the mean gradient of a batch, as everywhere outside of differential privacy.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from gan_parts.students import choose, torch_module
from understudy import GAN
from understudy.data.image_files import Images
from understudy.models.network import Node
from understudy.synthesizers.checkpoints import Checkpoint
from understudy.synthesizers.gan_images import ImageNetworks
from understudy.synthesizers.generated_tables import Columns, Task
from understudy.synthesizers.image_tables import table_of_images

BATCH = 64
LEARNING_RATE = 0.0003


def images_with_labels(torch: Any, images: Images) -> tuple[Any, Any]:
    """Pixels from -1 to 1, and labels with a 1 at their code."""
    assert images.labels is not None
    pixels = torch.tensor(images.pixels[:, None] / 127.5 - 1, dtype=torch.float32)
    return pixels, torch.eye(len(images.words))[torch.tensor(images.labels)]


def train(
    images: Images, steps: int, filters: int, watch: Callable[[int, ImageNetworks], None]
) -> ImageNetworks:
    """Steps of both networks in turn; somebody may watch them."""
    torch = torch_module()
    assert images.labels is not None
    _, schema = table_of_images(choose(images, np.arange(len(images.words))), "gan")
    method = GAN(epsilon=1.0, delta=1e-5, hidden=filters, learning_rate=LEARNING_RATE)
    counts = np.bincount(images.labels, minlength=len(images.words))
    label = Node("label", (), counts.astype(np.float64))
    task = Task(
        columns=Columns.of(schema, None),
        label=label,
        rows=float(len(images)),
        checkpoint=Checkpoint(),
    )
    networks = ImageNetworks(method, schema, task)
    pixels, told = images_with_labels(torch, images)
    order = torch.randperm(0)
    for step in range(steps):
        if len(order) < BATCH:
            order = torch.randperm(len(pixels))
        some, order = order[:BATCH], order[BATCH:]
        with torch.autocast("cpu", dtype=torch.bfloat16):  # half the time, and as good
            networks.step_discriminator(networks.mean_gradient(pixels[some], told[some]))
            networks.step_generator()
        watch(step, networks)
    return networks


def make_unprotected(images: Images, steps: int, filters: int) -> tuple[Images, float]:
    """As many images as there are real ones, and the processor's seconds for the training."""
    torch = torch_module()
    torch.manual_seed(0)
    began = time.process_time()
    networks = train(images, steps, filters, lambda step, networks: None)
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
