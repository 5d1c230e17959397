"""Gradients of a convolutional discriminator, row by row, on NumPy.

The network of a DCGAN: two convolutions of 5 x 5 with steps of 2 and a leaky rectifier and dropout
after each, then a dense layer. It has one unit for all images and one for each label; what the
network says of an image is the sum of the first and its label's (a projection, Miyato and Koyama
2018). There is no batch normalisation, which would make the gradient of one image depend on others.
Dropout leaves out the same units for all images of a step: which ones is public, so an image's
gradient depends on that image alone.

Gradients are worked out layer by layer, as products of what goes into a layer and what comes back
out of it: there is nothing that a library's automatic differentiation would have to keep apart. A
convolution is a product of its weights and the patches that it sees, and the same patches give the
gradient of its weights.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from understudy.counting.row_functions import (
    SLOPE,
    Loss,
    RowInputs,
    Singles,
    make_aligned,
    one_by_one,
    slope_of_real,
)
from understudy.data.schema import Schema
from understudy.errors import InputError

KERNEL, STRIDE, PADDING = 5, 2, 2

INSTALL = "pip install 'understudy[gan]'"


def load_torch() -> Any:
    """The library, or the sentence that says how to get it."""
    try:
        return importlib.import_module("torch")
    except ImportError:
        raise InputError(f"Networks for images need torch, which is not here: {INSTALL}.") from None


@dataclass(frozen=True, kw_only=True, eq=False)
class ConvolutionGradient:
    """The gradient of an image's loss, by the parameters of the discriminator.

    Parameters
    ----------
    inputs
        The pixels, row by row, and the label as the one coded column, if there is one.
    height, width_in_pixels
        The size of images.
    parameters
        ``first``, ``first_bias``, ``second``, ``second_bias``, ``dense``, ``dense_bias``;
        convolutions as (filters, channels x 25). The dense layer has a line for all images, then
        one for each label.
    masks
        What dropout does to the units of the two convolutions: 0, or one over the share that stays.
    loss
        "gan": log(1 + exp(-output)), that of a real row; "wasserstein": -output.
    real
        Whether images are real; the loss of made-up ones is that of the output's opposite.
    """

    inputs: RowInputs
    height: int
    width_in_pixels: int
    parameters: Mapping[str, Singles]
    masks: tuple[Singles, Singles] | None = None
    loss: Loss = "gan"
    real: bool = True

    NAMES = ("first", "first_bias", "second", "second_bias", "dense", "dense_bias")

    @cached_property
    def width(self) -> int:
        """How many parameters the network has."""
        return sum(self.parameters[name].size for name in self.NAMES)

    def check(self, schema: Schema) -> None:
        """Refuse layers that do not fit the schema or each other."""
        self.inputs.check(schema)
        labels = self.inputs.width(schema) - self.height * self.width_in_pixels
        if len(self.inputs.scaled) != self.height * self.width_in_pixels:
            raise InputError("The network sees images of another size.")
        filters, second = len(self.parameters["first"]), len(self.parameters["second"])
        pixels = (self.height // 4) * (self.width_in_pixels // 4)
        shapes = {
            "first": (filters, KERNEL**2),
            "first_bias": (filters,),
            "second": (second, filters * KERNEL**2),
            "second_bias": (second,),
            "dense": (1 + labels, second * pixels),
            "dense_bias": (1 + labels,),
        }
        for name, shape in shapes.items():
            part = self.parameters[name]
            if part.shape != shape or not np.isfinite(part).all():
                raise InputError("The layers of the network do not fit each other.")

    def vectors(self, rows: Singles) -> Iterator[Singles]:
        """The gradient of each image, parameter after parameter."""
        for row in one_by_one(rows):
            self._work.fill(row)
            yield self._work.vector

    @cached_property
    def _work(self) -> _ImageRoom:
        return _ImageRoom(self)

    def describe(self) -> str:
        """What is summed."""
        return f"gradients of {self.width:,} weights"


class _ImageRoom:
    """What the gradient of an image is worked out with: the same room for every image.

    Parameters
    ----------
    function
        The network.
    """

    def __init__(self, function: ConvolutionGradient) -> None:
        given = function.parameters
        self._given, self._loss = given, function.loss
        self._sign = 1.0 if function.real else -1.0
        filters, second = len(given["first"]), len(given["second"])
        self._pixels = function.height * function.width_in_pixels
        self._outer = _Patches(1, function.height, function.width_in_pixels)
        self._inner = _Patches(filters, *self._outer.units)
        self._outputs = _Patches(second, *self._inner.units, kernel=3, stride=1, padding=1)
        self._backwards = _turn_round(given["second"].reshape(second, filters, KERNEL, KERNEL))
        self._dense = make_aligned(given["dense"].shape[1])
        masks = function.masks
        if masks is None:
            masks = np.ones((1, 1), dtype=np.float32), np.ones((1, 1), dtype=np.float32)
        self._passed = [(mask, np.float32(SLOPE) * mask) for mask in masks]
        self._first = make_aligned(filters * self._outer.count).reshape(filters, -1)
        self._second = make_aligned(second * self._inner.count).reshape(second, -1)
        self._phases = make_aligned(4 * filters * self._inner.count).reshape(4 * filters, -1)
        self._to_first = make_aligned(self._first.size).reshape(self._first.shape)
        self.vector = make_aligned(function.width)
        ends = np.cumsum([given[name].size for name in function.NAMES])[:-1]
        self._parts = {
            name: piece.reshape(given[name].shape)
            for name, piece in zip(function.NAMES, np.split(self.vector, ends), strict=True)
        }

    def fill(self, row: Singles) -> None:
        """Write the gradient of one image."""
        given, parts, first, second = self._given, self._parts, self._first, self._second
        label = row[self._pixels :]
        of_image = self._outer.take(row[None, : self._pixels])
        np.matmul(given["first"], of_image, out=first)
        first += given["first_bias"][:, None]
        passed_first = np.where(first > 0, *self._passed[0])
        first *= passed_first
        of_first = self._inner.take(first)
        np.matmul(given["second"], of_first, out=second)
        second += given["second_bias"][:, None]
        passed_second = np.where(second > 0, *self._passed[1])
        second *= passed_second
        dense, bias = self._dense, float(given["dense_bias"][0])
        dense[:] = given["dense"][0]
        if label.size:
            dense += np.matmul(label, given["dense"][1:])
            bias += float(np.dot(label, given["dense_bias"][1:]))
        slope = -self._sign
        if self._loss == "gan":
            output = float(np.dot(second.reshape(-1), dense)) + bias
            slope = self._sign * slope_of_real(self._sign * output)
        np.multiply(second.reshape(-1), np.float32(slope), out=parts["dense"][0])
        parts["dense_bias"][0] = slope
        np.multiply(label[:, None], parts["dense"][0], out=parts["dense"][1:])
        np.multiply(label, np.float32(slope), out=parts["dense_bias"][1:])
        back = np.multiply(dense.reshape(second.shape), passed_second, out=second)
        back *= np.float32(slope)
        np.matmul(back, of_first.T, out=parts["second"])
        back.sum(axis=1, out=parts["second_bias"])
        np.matmul(self._backwards, self._outputs.take(back), out=self._phases)
        to_first, (high, wide) = self._to_first, self._inner.units
        phases = self._phases.reshape(2, 2, len(first), high, wide)
        places = to_first.reshape(len(first), high, 2, wide, 2)
        places[:] = phases.transpose(2, 3, 0, 4, 1)
        to_first *= passed_first
        to_first.sum(axis=1, out=parts["first_bias"])
        np.matmul(to_first, of_image.T, out=parts["first"])


def _turn_round(weights: Singles) -> Singles:
    """The weights of the way back through a convolution with steps of 2.

    A number of the input at an even place (2 a) is seen by the units a - 1, a and a + 1, with the
    weights 4, 2 and 0; one at an odd place (2 a + 1) by a and a + 1, with the weights 3 and 1. So
    the way back is a convolution of 3 x 3 with steps of 1 for even and odd lines and columns each.

    Returns
    -------
    A line for each (line odd, column odd, channel of the input), a column for each (filter, 3 x 3).
    """
    filters, channels = weights.shape[:2]
    turned = np.zeros((2, 2, channels, filters, 3, 3), dtype=np.float32)
    seen = [(odd, place, odd + 4 - 2 * place) for odd in (0, 1) for place in range(3)]
    seen = [(odd, place, weight) for odd, place, weight in seen if weight < KERNEL]
    for (odd_line, i, k), (odd_column, j, m) in itertools.product(seen, seen):
        turned[odd_line, odd_column, :, :, i, j] = weights[:, :, k, m].T
    return turned.reshape(4 * channels, -1)


class _Patches:
    """What each unit of a convolution sees of its input, a column each.

    Parameters
    ----------
    channels, height, width
        Of the input.
    kernel, stride, padding
        Of the convolution.
    """

    def __init__(
        self,
        channels: int,
        height: int,
        width: int,
        *,
        kernel: int = KERNEL,
        stride: int = STRIDE,
        padding: int = PADDING,
    ) -> None:
        self._shape = channels, height, width
        self.units = height // stride, width // stride
        self.count = self.units[0] * self.units[1]
        padded = channels, height + 2 * padding, width + 2 * padding
        self._padded = np.zeros(padded, dtype=np.float32)
        self._inside = self._padded[:, padding : padding + height, padding : padding + width]
        places = np.arange(self._padded.size).reshape(padded)
        seen = np.lib.stride_tricks.sliding_window_view(places, (kernel, kernel), axis=(1, 2))
        seen = seen[:, ::stride, ::stride][:, : self.units[0], : self.units[1]]
        self._places = seen.transpose(0, 3, 4, 1, 2).reshape(channels * kernel**2, -1).copy()
        self._columns = make_aligned(self._places.size).reshape(self._places.shape)

    def take(self, values: Singles) -> Singles:
        """The patches of an input, whose channels are lines."""
        self._inside[:] = values.reshape(self._shape)
        return np.take(self._padded.reshape(-1), self._places, out=self._columns, mode="clip")
