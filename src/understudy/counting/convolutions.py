"""Gradients of a convolutional discriminator, row by row; needs torch.

The network of a DCGAN: two convolutions of 5 x 5 with steps of 2 and a leaky rectifier and dropout
after each, then a dense layer of one unit. There is no batch normalisation, which would make the
gradient of one image depend on others. Dropout leaves out the same units for all images of a step:
which ones is public, so an image's gradient depends on that image alone.

Gradients are worked out layer by layer, as products of what goes into a layer and what comes back
out of it: there is nothing that a library's automatic differentiation would have to keep apart.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.counting.row_functions import SLOPE, Floats, Loss, RowInputs
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
        ``first``, ``first_bias``, ``second``, ``second_bias``, ``dense``, ``dense_bias``: torch
        tensors; convolutions as (filters, channels x 25). The label is as many channels, of which
        the one of its code is all 1.
    masks
        What dropout does to the units of the two convolutions: 0, or one over the share that stays.
    loss
        "gan": log(1 + exp(-output)), that of a real row; "wasserstein": -output.
    """

    inputs: RowInputs
    height: int
    width_in_pixels: int
    parameters: Mapping[str, Any]
    masks: tuple[Any, Any] | None = None
    loss: Loss = "gan"

    NAMES = ("first", "first_bias", "second", "second_bias", "dense", "dense_bias")

    @cached_property
    def width(self) -> int:
        """How many parameters the network has."""
        return sum(int(self.parameters[name].numel()) for name in self.NAMES)

    def check(self, schema: Schema) -> None:
        """Refuse layers that do not fit the schema or each other."""
        torch = load_torch()
        self.inputs.check(schema)
        labels = self.inputs.width(schema) - self.height * self.width_in_pixels
        if len(self.inputs.scaled) != self.height * self.width_in_pixels:
            raise InputError("The network sees images of another size.")
        filters, second = len(self.parameters["first"]), len(self.parameters["second"])
        pixels = (self.height // 4) * (self.width_in_pixels // 4)
        shapes = {
            "first": (filters, (1 + labels) * KERNEL**2),
            "first_bias": (filters,),
            "second": (second, filters * KERNEL**2),
            "second_bias": (second,),
            "dense": (second * pixels,),
            "dense_bias": (1,),
        }
        for name, shape in shapes.items():
            part = self.parameters[name]
            if tuple(part.shape) != shape or not bool(torch.isfinite(part).all()):
                raise InputError("The layers of the network do not fit each other.")

    def images(self, rows: Floats) -> Any:
        """Rows as images whose further channels tell the label."""
        torch = load_torch()
        given = torch.from_numpy(np.ascontiguousarray(rows))
        pixels = self.height * self.width_in_pixels
        image = given[:, :pixels].reshape(-1, 1, self.height, self.width_in_pixels)
        labels = given[:, pixels:, None, None].expand(-1, -1, self.height, self.width_in_pixels)
        return torch.cat([image, labels], dim=1)

    def vectors(self, rows: Floats) -> list[NDArray[np.float32]]:
        """Gradients, parameter after parameter."""
        torch = load_torch()
        with torch.inference_mode():
            found = self._gradients(torch, self.images(rows))
            return [part.reshape(len(rows), -1).numpy() for part in found]

    def _gradients(self, torch: Any, images: Any) -> list[Any]:
        """In the order of NAMES, image by image."""
        functional, given, count = torch.nn.functional, self.parameters, len(images)
        step = {"stride": STRIDE, "padding": PADDING}
        kernels = {
            name: given[name].reshape(len(given[name]), -1, KERNEL, KERNEL)
            for name in ("first", "second")
        }
        first = functional.conv2d(images, kernels["first"], given["first_bias"], **step)
        after_first = self._rectify(torch, first, 0)
        second = functional.conv2d(after_first, kernels["second"], given["second_bias"], **step)
        after_second = self._rectify(torch, second, 1).reshape(count, -1)
        output = after_second @ given["dense"] + given["dense_bias"]
        slope = -torch.ones_like(output)
        if self.loss == "gan":
            slope = -torch.sigmoid(-output)
        back = slope[:, None] * given["dense"]
        back = self._slope(torch, second, back.reshape(second.shape), 1)
        to_first = functional.conv_transpose2d(
            back, kernels["second"], output_padding=STRIDE - 1, **step
        )
        to_first = self._slope(torch, first, to_first, 0)
        return [
            _products(functional, to_first, images),
            to_first.sum(dim=(2, 3)),
            _products(functional, back, after_first),
            back.sum(dim=(2, 3)),
            slope[:, None] * after_second,
            slope,
        ]

    def _rectify(self, torch: Any, values: Any, place: int) -> Any:
        rectified = torch.nn.functional.leaky_relu(values, SLOPE)
        if self.masks is None:
            return rectified
        return rectified * self.masks[place].reshape(1, *values.shape[1:])

    def _slope(self, torch: Any, values: Any, back: Any, place: int) -> Any:
        """What comes back through dropout and rectifier."""
        if self.masks is not None:
            back = back * self.masks[place].reshape(1, *values.shape[1:])
        return torch.where(values > 0, back, SLOPE * back)

    def describe(self) -> str:
        """What is summed."""
        return f"gradients of {self.width:,} weights"


def _products(functional: Any, back: Any, seen: Any) -> Any:
    """The gradient of a convolution's weights for each image: what comes back, times the patches
    that each unit saw.
    """
    patches = functional.unfold(seen, kernel_size=KERNEL, stride=STRIDE, padding=PADDING)
    return back.flatten(2) @ patches.transpose(1, 2)
