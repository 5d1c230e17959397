"""Synthetic images by each method, timed."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from understudy import GAN, MERF, Gaussian, Model
from understudy.data.image_files import Images
from understudy.synthesizers import Synthesizer
from understudy.synthesizers.image_tables import images_of_model, table_of_images

DELTA = 1e-5


def quiet(sentence: str) -> None:
    """Nobody listens."""


@dataclass(frozen=True, kw_only=True)
class Made:
    """Images, the model that they were drawn from, and the processor's seconds for it."""

    images: Images
    model: Model
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A method, and what it is called in tables."""

    name: str
    method: Synthesizer
    options: dict[str, Any] = field(default_factory=dict)

    def make(self, images: Images) -> Made:
        """Learn from private images, and draw as many."""
        table, schema = table_of_images(images, self.method.name)
        began = time.process_time()
        model = self.method.fit(table, schema, notify=quiet, **self.options)
        seconds = time.process_time() - began
        return Made(
            images=images_of_model(model, len(images), seed=1), model=model, seconds=seconds
        )


def gaussian(epsilon: float) -> Recipe:
    return Recipe(name="gaussian", method=Gaussian(epsilon=epsilon, delta=DELTA, label="label"))


def merf(epsilon: float, steps: int = 2000) -> Recipe:
    method = MERF(epsilon=epsilon, delta=DELTA, training_steps=steps, hidden=256, features=1000)
    return Recipe(name="merf", method=method)


def gan(epsilon: float, steps: int, hidden: int = 16, preview: str | None = None) -> Recipe:
    """DP-SGD; few steps are worth more with less noise each, and so are large samples."""
    method = GAN(
        epsilon=epsilon,
        delta=DELTA,
        steps=steps,
        hidden=hidden,
        sampling_rate=0.064,
        clip=1.0,
        discriminator_steps=2,
        learning_rate=0.001,
        preview=preview,
    )
    return Recipe(name="gan", method=method)


def few(images: Images, per_label: int = 10) -> Images:
    """Some images of each label, for a contact sheet."""
    assert images.labels is not None
    places = [np.flatnonzero(images.labels == k)[:per_label] for k in range(len(images.words))]
    kept = np.concatenate(places)
    return Images(pixels=images.pixels[kept], labels=images.labels[kept], words=images.words)
