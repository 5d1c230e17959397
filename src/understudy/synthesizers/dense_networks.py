"""Small networks of dense layers, trained with NumPy: the generators and discriminators of tables.

What is here sees released values and random numbers only. The randomness of training comes from a
fixed seed: it protects nobody and need not surprise anybody.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from understudy.counting.row_functions import SLOPE, Singles
from understudy.models.generators import Layer

TEMPERATURE = 0.5
"""Of the softmax by which made-up codes are all but a 1 and zeros."""


@dataclass
class DenseNetwork:
    """Dense layers with leaky rectifiers between them."""

    weights: list[Singles]
    biases: list[Singles]

    @classmethod
    def start(cls, sizes: Sequence[int], rng: np.random.Generator) -> DenseNetwork:
        """Random weights for layers of these sizes."""
        weights = [
            (rng.standard_normal((before, after)) * np.sqrt(2 / before)).astype(np.float32)
            for before, after in itertools.pairwise(sizes)
        ]
        return cls(weights, [np.zeros(size, dtype=np.float32) for size in sizes[1:]])

    def forward(self, rows: Singles) -> list[Singles]:
        """What goes into each layer, and what comes out of the last one."""
        seen = [rows]
        for place, (weights, biases) in enumerate(zip(self.weights, self.biases, strict=True)):
            out = seen[-1] @ weights + biases
            if place < len(self.weights) - 1:
                out = np.where(out > 0, out, np.float32(SLOPE) * out)
            seen.append(out)
        return seen

    def backward(self, seen: list[Singles], slope: Singles) -> tuple[list[Singles], Singles]:
        """The gradient of all parameters (weights and biases in turn, summed over rows) and of the
        inputs, by that of the outputs.
        """
        parts: list[Singles] = []
        for place in reversed(range(len(self.weights))):
            parts[:0] = [seen[place].T @ slope, slope.sum(axis=0)]
            slope = slope @ self.weights[place].T
            if place:
                slope = np.where(seen[place] > 0, slope, np.float32(SLOPE) * slope)
        return parts, slope

    def gradient_lengths(self, seen: list[Singles], slope: Singles) -> Singles:
        """The length of each row's own gradient, by that of the outputs."""
        squares = np.zeros(len(slope), dtype=np.float32)
        for place in reversed(range(len(self.weights))):
            squares += ((seen[place] ** 2).sum(axis=1) + 1) * (slope**2).sum(axis=1)
            slope = slope @ self.weights[place].T
            if place:
                slope = np.where(seen[place] > 0, slope, np.float32(SLOPE) * slope)
        return np.sqrt(squares)

    @property
    def parameters(self) -> list[Singles]:
        """Weights and biases in turn."""
        return [part for pair in zip(self.weights, self.biases, strict=True) for part in pair]

    def split(self, flat: NDArray[np.float64]) -> list[Singles]:
        """A vector as long as all parameters, in their shapes."""
        ends = np.cumsum([part.size for part in self.parameters])
        pieces = np.split(flat, ends[:-1])
        return [
            piece.reshape(part.shape).astype(np.float32)
            for piece, part in zip(pieces, self.parameters, strict=True)
        ]

    def layers(self) -> tuple[Layer, ...]:
        """The network as a model holds it."""
        found = []
        for place, (weights, biases) in enumerate(zip(self.weights, self.biases, strict=True)):
            found.append(Layer(kind="dense", arrays={"weights": weights, "bias": biases}))
            if place < len(self.weights) - 1:
                found.append(Layer(kind="leaky_relu"))
        return tuple(found)


@dataclass
class Adam:
    """Steps by the gradient's running mean over the root of its running square (Kingma and Ba)."""

    rate: float
    first: float = 0.5
    second: float = 0.9
    steps: int = 0
    means: list[Singles] = field(default_factory=list)
    squares: list[Singles] = field(default_factory=list)

    def step(self, parameters: Sequence[Singles], gradients: Sequence[Singles]) -> None:
        """Move parameters, in place, against their gradients."""
        if not self.means:
            self.means = [np.zeros_like(part) for part in parameters]
            self.squares = [np.zeros_like(part) for part in parameters]
        self.steps += 1
        one = 1 - self.first**self.steps
        two = 1 - self.second**self.steps
        state = zip(parameters, gradients, self.means, self.squares, strict=True)
        for part, gradient, mean, square in state:
            mean += (1 - self.first) * (gradient - mean)
            square += (1 - self.second) * (gradient * gradient - square)
            part -= self.rate * (mean / one) / (np.sqrt(square / two) + 1e-8)


@dataclass(frozen=True, kw_only=True)
class OutputLayer:
    """What becomes of a generator's outputs: numbers from -1 to 1, then codes.

    Parameters
    ----------
    scaled
        How many numbers come first.
    sizes
        How many codes each of the columns has that follow.
    """

    scaled: int
    sizes: tuple[int, ...]

    @property
    def width(self) -> int:
        """How many outputs there are."""
        return self.scaled + sum(self.sizes)

    def soften(self, raw: Singles, rng: np.random.Generator) -> Singles:
        """Rows as a discriminator sees them: tanh, and for codes the Gumbel softmax."""
        made = np.empty_like(raw)
        made[:, : self.scaled] = np.tanh(raw[:, : self.scaled])
        gumbel = rng.gumbel(size=raw[:, self.scaled :].shape).astype(np.float32)
        noisy = (raw[:, self.scaled :] + gumbel) / np.float32(TEMPERATURE)
        for start, end in self._spans():
            part = noisy[:, start:end]
            part = np.exp(part - part.max(axis=1, keepdims=True))
            made[:, self.scaled + start : self.scaled + end] = part / part.sum(
                axis=1, keepdims=True
            )
        return made

    def backward(self, made: Singles, slope: Singles) -> Singles:
        """The gradient of the outputs by that of the rows."""
        raw = np.empty_like(made)
        numbers = made[:, : self.scaled]
        raw[:, : self.scaled] = slope[:, : self.scaled] * (1 - numbers * numbers)
        for start, end in self._spans():
            some = slice(self.scaled + start, self.scaled + end)
            part, own = made[:, some], slope[:, some]
            inner = (part * own).sum(axis=1, keepdims=True)
            raw[:, some] = part * (own - inner) / np.float32(TEMPERATURE)
        return raw

    def _spans(self) -> list[tuple[int, int]]:
        ends = np.cumsum((0, *self.sizes)).tolist()
        return list(itertools.pairwise(ends))
