"""The dense networks of a GAN for tables, on NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from understudy.counting.row_functions import DenseGradient, RowFunction, Singles
from understudy.data.schema import Schema
from understudy.models.generators import Generator
from understudy.synthesizers.checkpoints import NetworkState
from understudy.synthesizers.dense_networks import Adam, DenseNetwork
from understudy.synthesizers.generated_tables import TrainingTask, dense_generator

if TYPE_CHECKING:
    from understudy.synthesizers.gan import GAN

ROWS_PER_STEP = 128
"""Made-up rows of a step: they cost nothing."""

WEIGHT_BOUND = 0.1
"""Of the discriminator's weights under the Wasserstein loss."""


class DenseNetworks:
    """Dense networks for tables, on NumPy."""

    def __init__(self, method: GAN, schema: Schema, task: TrainingTask) -> None:
        self._method, self._task = method, task
        self._rng = np.random.default_rng(0)
        self._outputs = task.columns.outputs(schema)
        hidden, told = method.hidden, task.label_size
        self._latent = max(hidden // 2, 1)
        sizes = (self._latent + told, hidden, hidden, self._outputs.width)
        self._maker = DenseNetwork.start(sizes, self._rng)
        self._judge = DenseNetwork.start((self._outputs.width + told, hidden, hidden, 1), self._rng)
        self._of_maker = Adam(rate=method.learning_rate)
        self._of_judge = Adam(rate=method.learning_rate)

    def gradient(self) -> RowFunction:
        """The gradient of real rows' loss, at the present weights."""
        return DenseGradient(
            inputs=self._task.columns.inputs,
            weights=[part.copy() for part in self._judge.weights],
            biases=[part.copy() for part in self._judge.biases],
            loss="wasserstein" if self._method.loss == "wasserstein" else "gan",
        )

    def _make(self) -> tuple[list[Singles], Singles, Singles]:
        """Made-up rows: what the generator saw on its way, the rows, and the rows with labels."""
        latent = self._rng.standard_normal((ROWS_PER_STEP, self._latent)).astype(np.float32)
        told = self._task.draw_labels(ROWS_PER_STEP, self._rng)
        seen = self._maker.forward(np.concatenate([latent, told], axis=1))
        made = self._outputs.soften(seen[-1], self._rng)
        return seen, made, np.concatenate([made, told], axis=1)

    def step_discriminator(self, real: NDArray[np.float64]) -> None:
        """A step by the noisy mean gradient of real rows, and that of made-up ones, each clipped
        alike: else the discriminator would learn from made-up rows alone.
        """
        _, _, rows = self._make()
        seen = self._judge.forward(rows)
        slope = np.ones_like(seen[-1])
        if self._method.loss == "gan":
            slope = sigmoid(seen[-1])
        lengths = self._judge.gradient_lengths(seen, slope)
        slope = (
            slope / np.maximum(lengths / np.float32(self._method.clip), 1)[:, None] / ROWS_PER_STEP
        )
        of_made, _ = self._judge.backward(seen, slope)
        of_real = self._judge.split(real)
        total = [one + other for one, other in zip(of_real, of_made, strict=True)]
        self._of_judge.step(self._judge.parameters, total)
        if self._method.loss == "wasserstein":
            for part in self._judge.parameters:
                np.clip(part, -WEIGHT_BOUND, WEIGHT_BOUND, out=part)

    def step_generator(self) -> None:
        """A step towards rows that the discriminator takes for real."""
        seen, made, rows = self._make()
        judged = self._judge.forward(rows)
        slope = np.full_like(judged[-1], -1 / ROWS_PER_STEP)
        if self._method.loss == "gan":
            slope = slope * sigmoid(-judged[-1])
        _, of_rows = self._judge.backward(judged, slope)
        raw = self._outputs.backward(made, of_rows[:, : made.shape[1]])
        gradients, _ = self._maker.backward(seen, raw)
        self._of_maker.step(self._maker.parameters, gradients)

    def generator(self) -> Generator:
        """The generator as it stands."""
        return dense_generator(self._task.columns, self._maker)

    def state(self) -> NetworkState:
        """Weights, and what the optimisers remember."""
        found = {}
        for name, network, adam in self._parts():
            for place, part in enumerate(network.parameters):
                found[f"{name}.{place}"] = part
            for place, (mean, square) in enumerate(zip(adam.means, adam.squares, strict=True)):
                found[f"{name}.mean.{place}"], found[f"{name}.square.{place}"] = mean, square
            found[f"{name}.steps"] = np.array([adam.steps + 1], dtype=np.float32)
        return found

    def resume(self, state: NetworkState) -> None:
        """Go on from a state; the random numbers of training begin again."""
        for name, network, adam in self._parts():
            for place, part in enumerate(network.parameters):
                part[...] = state[f"{name}.{place}"]
            adam.steps = int(state[f"{name}.steps"][0]) - 1
            places = range(len(network.parameters))
            if f"{name}.mean.0" in state:
                adam.means = [state[f"{name}.mean.{place}"].copy() for place in places]
                adam.squares = [state[f"{name}.square.{place}"].copy() for place in places]
            self._rng = np.random.default_rng(adam.steps)

    def _parts(self) -> Iterator[tuple[str, DenseNetwork, Adam]]:
        yield "generator", self._maker, self._of_maker
        yield "discriminator", self._judge, self._of_judge


def sigmoid(values: Singles) -> Singles:
    """1 / (1 + exp(-value))."""
    return (1 / (1 + np.exp(-np.clip(values, -80, 80)))).astype(np.float32)
