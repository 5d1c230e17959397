"""MERF: one noisy mean of random features, then a generator that is trained to have the same.

A row's random Fourier features stand for it in a Gaussian kernel; the mean of them over all rows
stands for the table (its mean embedding). It is asked for once, for each value of the label by
itself, with noise. After that a generator is trained until the made-up rows have that mean: that
takes as many steps as one likes and costs nothing more. (Harder, Adamczewski and Park 2021.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.counting.row_functions import RandomFeatures, Singles, fourier_features
from understudy.data.schema import Schema
from understudy.models.generators import Generator
from understudy.privacy.budget import Budget
from understudy.privacy.curator import Curator
from understudy.release.callbacks import Progress
from understudy.synthesizers import AuditedGuarantee, Synthesizer
from understudy.synthesizers.dense_networks import Adam, DenseNetwork
from understudy.synthesizers.generated_tables import (
    GeneratedColumns,
    GeneratorSynthesizer,
    TrainingTask,
    dense_generator,
)
from understudy.synthesizers.parameters import RealNumber, WholeNumber, parameter
from understudy.synthesizers.registry import register

LATENT_SIZE = 16
CODES_PER_STEP = 512


@register(
    "merf",
    summary="the mean of random features of the rows",
    cost="one noisy sum of random features",
    curators=("central", "federated"),
)
@dataclass(frozen=True, kw_only=True)
class MERF(GeneratorSynthesizer):
    """Mean embeddings with random features.

    Parameters
    ----------
    features
        How many random directions there are; each gives a cosine and a sine.
    bandwidth
        The width of the kernel, as a share of the root of the number of columns.
    training_steps
        Steps of the generator, which cost nothing.
    hidden
        Units in the hidden layers of the generator.

    See Also
    --------
    understudy.synthesizers.generated_tables.GeneratorSynthesizer : the label, whose values have a
        mean each.
    understudy.synthesizers.Synthesizer : the parameters that all methods share.
    """

    features: int = parameter(1000, WholeNumber(1, 100_000), "Random directions.")
    bandwidth: float = parameter(0.35, RealNumber(above=0), "The width of the kernel.")
    training_steps: int = parameter(
        2000, WholeNumber(1, 1_000_000), "Steps of the generator, at no price."
    )
    hidden: int = parameter(128, WholeNumber(1, 4096), "Units of hidden layers.")

    def train(
        self, curator: Curator, budget: Budget, task: TrainingTask, progress: Progress
    ) -> Generator:
        """Ask for the mean, and make a generator whose rows have it."""
        function = self._features(curator.schema, task.columns)
        mean = curator.sum_vectors(function, budget, clip=1.0).values / task.rows
        return self._approach(curator.schema, task, function, mean, progress)

    def _features(self, schema: Schema, columns: GeneratedColumns) -> RandomFeatures:
        """Public random directions, always the same ones."""
        labels, width = 1, columns.inputs.width(schema)
        if columns.label is not None:
            labels = columns.label.size
            width -= labels
        seen = len(columns.inputs.scaled) + len(columns.coded)
        drawn = np.random.default_rng(0).standard_normal((width, self.features))
        directions = drawn / (self.bandwidth * np.sqrt(seen))
        return RandomFeatures(
            inputs=columns.inputs, directions=directions.astype(np.float32), labels=labels
        )

    def _approach(
        self,
        schema: Schema,
        task: TrainingTask,
        function: RandomFeatures,
        mean: NDArray[np.float64],
        progress: Progress,
    ) -> Generator:
        """A generator whose rows have the mean, as nearly as it can."""
        rng = np.random.default_rng(0)
        outputs, labels, told = task.columns.outputs(schema), function.labels, task.label_size
        target = mean.reshape(labels, -1).astype(np.float32)
        network = DenseNetwork.start(
            (LATENT_SIZE + told, self.hidden, self.hidden, outputs.width), rng
        )
        adam = Adam(rate=0.003, first=0.9, second=0.999)
        for step in range(self.training_steps):
            if step % 50 == 0:
                progress("training", step, self.training_steps)
            adam.rate = 0.003 * (1 - step / self.training_steps) + 1e-5
            codes = rng.choice(labels, CODES_PER_STEP, p=task.label_shares)
            own = np.eye(labels, dtype=np.float32)[codes]
            latent = rng.standard_normal((CODES_PER_STEP, LATENT_SIZE)).astype(np.float32)
            seen = network.forward(np.concatenate([latent, own[:, :told]], axis=1))
            made = outputs.soften(seen[-1], rng)
            slope = _slope(made, own, function.directions, target)
            gradients, _ = network.backward(seen, outputs.backward(made, slope))
            adam.step(network.parameters, gradients)
        progress("training", self.training_steps, self.training_steps)
        return dense_generator(task.columns, network)

    @classmethod
    def audit_settings(cls, audited: AuditedGuarantee) -> dict[str, Synthesizer]:
        """One mean, and a generator that is hardly trained: it costs nothing."""
        plain = cls(
            epsilon=audited.epsilon, delta=audited.delta, features=5, training_steps=2, hidden=4
        )
        return {f"{cls.name}, {audited.delta_name}": plain}


def _slope(made: Singles, own: Singles, directions: Singles, target: Singles) -> Singles:
    """The gradient, by the made-up rows, of half the squared distance of their mean to the
    target's.
    """
    half = directions.shape[1]
    features = fourier_features(made, directions)
    off = own.T @ features / np.float32(len(made)) - target
    pulled = own @ off / np.float32(len(made))
    cosines, sines = features[:, :half], features[:, half:]
    inner = cosines * pulled[:, half:] - sines * pulled[:, :half]
    return np.asarray(inner @ directions.T)
