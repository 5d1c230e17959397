"""Generators: networks that turn random numbers into rows, which some models hold besides their
Bayesian network.

A generator is data, not code: a list of layers of five kinds, each with its numbers. Drawing rows
needs NumPy alone.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from understudy.data.schema import Category, Quantity, Schema
from understudy.errors import InputError

Singles = NDArray[np.float32]

OperationKind = Literal["dense", "affine", "leaky_relu", "reshape", "conv_transpose", "tanh"]

MAX_LAYERS = 64
MAX_WEIGHTS = 1 << 24
MAX_LATENT = 1 << 12
MAX_UNITS = 1 << 22
SLOPE = 0.2


@dataclass(frozen=True, kw_only=True, eq=False)
class Layer:
    """One layer.

    Parameters
    ----------
    kind
        "dense": lines times ``weights`` plus ``bias``. "affine": each channel times ``weights``
        plus ``bias``, which is what is left of a batch normalisation once it is trained.
        "leaky_relu", "tanh": number by number. "reshape": lines to channels, height and width.
        "conv_transpose": a transposed convolution, of as many pixels as before times ``stride``.
    arrays
        Its numbers, by name.
    shape
        Of "reshape": channels, height, width.
    stride
        Of "conv_transpose".
    """

    kind: OperationKind
    arrays: Mapping[str, Singles] = field(default_factory=dict)
    shape: tuple[int, ...] = ()
    stride: int = 1

    def apply(self, values: Singles) -> Singles:
        """What comes out of the layer."""
        if self.kind == "dense":
            return np.asarray(values @ self.arrays["weights"] + self.arrays["bias"])
        if self.kind == "affine":
            sides = (1, -1) + (1,) * (values.ndim - 2)
            weights, bias = (self.arrays[name].reshape(sides) for name in ("weights", "bias"))
            return np.asarray(values * weights + bias)
        if self.kind == "leaky_relu":
            return np.where(values > 0, values, np.float32(SLOPE) * values)
        if self.kind == "tanh":
            return np.tanh(values)
        if self.kind == "reshape":
            return values.reshape(len(values), *self.shape)
        return _conv_transpose(values, self.arrays["weights"], self.arrays["bias"], self.stride)

    def output_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of what comes out, of one row; refuses what does not fit what comes in."""
        arrays = self.arrays
        if self.kind == "dense":
            weights = arrays["weights"]
            _require(len(shape) == 1 and weights.ndim == 2 and weights.shape[0] == shape[0])
            _require(arrays["bias"].shape == weights.shape[1:])
            return (weights.shape[1],)
        if self.kind == "affine":
            _require(arrays["weights"].shape == arrays["bias"].shape == shape[:1])
            return shape
        if self.kind == "reshape":
            _require(len(self.shape) == 3 and math.prod(self.shape) == math.prod(shape))
            return self.shape
        if self.kind == "conv_transpose":
            weights = arrays["weights"]
            _require(len(shape) == 3 and weights.ndim == 4 and weights.shape[0] == shape[0])
            _require(arrays["bias"].shape == (weights.shape[1],))
            _require(weights.shape[2] == weights.shape[3] and self.stride in (1, 2))
            _require(weights.shape[2] >= self.stride)
            return (weights.shape[1], shape[1] * self.stride, shape[2] * self.stride)
        return shape

    def to_dict(self) -> dict[str, Any]:
        """The layer as it stands in a file."""
        document: dict[str, Any] = {"kind": self.kind}
        if self.arrays:
            document["arrays"] = {name: pack_array(array) for name, array in self.arrays.items()}
        if self.shape:
            document["shape"] = list(self.shape)
        if self.stride != 1:
            document["stride"] = self.stride
        return document

    @classmethod
    def from_dict(cls, document: Any) -> Layer:
        """Read a layer back, trusting nothing."""
        if not isinstance(document, Mapping) or document.get("kind") not in get_args(OperationKind):
            raise InputError("a layer of its generator is of no known kind")
        kind = cast(OperationKind, document["kind"])
        needed = set()
        if kind in ("dense", "affine", "conv_transpose"):
            needed = {"weights", "bias"}
        arrays = document.get("arrays", {})
        if not isinstance(arrays, Mapping) or set(arrays) != needed:
            raise InputError(f"a layer {kind} of its generator does not have the arrays it needs")
        shape, stride = document.get("shape", []), document.get("stride", 1)
        if not isinstance(shape, list) or not all(_is_count(side) for side in shape):
            raise InputError("a layer of its generator has a shape that cannot be one")
        if not _is_count(stride):
            raise InputError("a layer of its generator has a stride that cannot be one")
        return cls(
            kind=kind,
            arrays={name: unpack_array(arrays[name]) for name in arrays},
            shape=tuple(shape),
            stride=stride,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Generator:
    """A network that makes rows; equal to another one if every bit of it is.

    Parameters
    ----------
    scaled
        Numeric columns that it gives as numbers from -1 to 1, by the bounds of the schema.
    coded
        Columns of which it gives, after those, how likely each code is (before the softmax).
    label
        The column that tells it what to make, as one more input for each of its codes; drawn from
        the model's network.
    latent
        How many standard normal numbers it makes a row of.
    layers
        Its layers, in order.
    """

    scaled: tuple[str, ...]
    coded: tuple[str, ...]
    label: str | None
    latent: int
    layers: tuple[Layer, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it makes."""
        return (*self.scaled, *self.coded)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Generator):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]  # arrays have none

    def make(self, latent: Singles, labels: Singles | None = None) -> Singles:
        """Outputs, a line each, of random numbers and of labels with a 1 at their code."""
        values = latent
        if labels is not None:
            values = np.concatenate([latent, labels], axis=1)
        for layer in self.layers:
            values = layer.apply(values)
        return values.reshape(len(values), -1)

    def check(self, schema: Schema) -> None:
        """Refuse layers that do not fit each other or the schema."""
        for name in self.columns:
            if name not in schema or not schema[name].modelled:
                raise InputError(f"its generator makes {name!r}, which is no column of it")
        if not self.columns or len(set(self.columns)) < len(self.columns):
            raise InputError("its generator must make columns, and each of them once")
        if not all(isinstance(schema[name], Quantity) for name in self.scaled):
            raise InputError("its generator scales a column that is not numeric")
        inputs = self.latent
        if self.label is not None:
            known = self.label in schema and self.label not in self.columns
            if not known or not isinstance(schema[self.label], Category):
                raise InputError(f"its generator has the label {self.label!r}, which cannot be one")
            inputs += schema[self.label].size
        if sum(a.size for layer in self.layers for a in layer.arrays.values()) > MAX_WEIGHTS:
            raise InputError("its generator is larger than any that a release makes")
        shape: tuple[int, ...] = (inputs,)
        for layer in self.layers:
            shape = layer.output_shape(shape)
            if math.prod(shape) > MAX_UNITS:
                raise InputError("its generator is larger than any that a release makes")
        outputs = len(self.scaled) + sum(schema[name].size for name in self.coded)
        if math.prod(shape) != outputs:
            raise InputError("the outputs of its generator are not those of its columns")

    def check_question(self, names: Collection[str]) -> None:
        """Refuse a question about several columns that it makes: the network, which answers, knows
        each of them by itself.
        """
        asked = [name for name in self.columns if name in names]
        if len(asked) > 1:
            raise InputError(
                f"This model holds a generator, and a question about {asked[0]!r} and {asked[1]!r} "
                "together is answered by rows: draw some with `sample`, and count."
            )

    def __str__(self) -> str:
        weights = sum(array.size for layer in self.layers for array in layer.arrays.values())
        columns = f"{len(self.columns):,} columns"
        if len(self.columns) == 1:
            columns = "1 column"
        told = f"a network of {weights:,} weights that makes {columns}"
        if self.label is not None:
            told += f", by {self.label}"
        return told

    # ---- files

    def to_dict(self) -> dict[str, Any]:
        """The generator as it stands in a model file."""
        return {
            "scaled": list(self.scaled),
            "coded": list(self.coded),
            "label": self.label,
            "latent": self.latent,
            "layers": [layer.to_dict() for layer in self.layers],
        }

    @classmethod
    def from_dict(cls, document: Any, schema: Schema) -> Generator:
        """Read a generator back, trusting nothing."""
        if not isinstance(document, Mapping):
            raise InputError("its generator is not an object")
        layers, latent = document.get("layers"), document.get("latent")
        if not isinstance(layers, list) or not 1 <= len(layers) <= MAX_LAYERS:
            raise InputError(f"its generator does not have 1 to {MAX_LAYERS} layers")
        if not isinstance(latent, int) or not _is_count(latent) or latent > MAX_LATENT:
            raise InputError("its generator has no number of random numbers that can be one")
        label = document.get("label")
        if label is not None and not isinstance(label, str):
            raise InputError("the label of its generator is not a name")
        generator = cls(
            scaled=_read_names(document.get("scaled")),
            coded=_read_names(document.get("coded")),
            label=label,
            latent=latent,
            layers=tuple(map(Layer.from_dict, layers)),
        )
        generator.check(schema)
        return generator


def _conv_transpose(values: Singles, weights: Singles, bias: Singles, stride: int) -> Singles:
    """A transposed convolution whose output has as many pixels as its input times the stride.

    Every input pixel adds its weights to the output, at its place times the stride; of what stands
    over, half is cut off on each side, the larger half at the beginning.
    """
    rows, channels, height, width = values.shape
    _, made, size, _ = weights.shape
    lines = values.transpose(0, 2, 3, 1).reshape(-1, channels)
    spread = (lines @ weights.reshape(channels, -1)).reshape(rows, height, width, made, size, size)
    whole = np.zeros(
        (rows, made, (height - 1) * stride + size, (width - 1) * stride + size), dtype=np.float32
    )
    down, right = height * stride, width * stride
    for i in range(size):
        for j in range(size):
            part = spread[:, :, :, :, i, j].transpose(0, 3, 1, 2)
            whole[:, :, i : i + down : stride, j : j + right : stride][:, :, :height, :width] += (
                part
            )
    before = (size - stride + 1) // 2
    cut = whole[:, :, before : before + down, before : before + right]
    return cut + bias[None, :, None, None]


def _require(fits: bool) -> None:
    if not fits:
        raise InputError("the layers of its generator do not fit each other")


def _is_count(number: Any) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and 1 <= number <= MAX_UNITS


def _read_names(given: Any) -> tuple[str, ...]:
    names: Sequence[Any] = given if isinstance(given, list) else [None]
    if not all(isinstance(name, str) for name in names):
        raise InputError("the columns of its generator are not a list of names")
    return tuple(names)


def pack_array(array: Singles) -> dict[str, Any]:
    """An array as it stands in a file."""
    data = np.ascontiguousarray(array, dtype="<f4").tobytes()
    return {"shape": list(array.shape), "float32": base64.b64encode(data).decode("ascii")}


def unpack_array(document: Any) -> Singles:
    """An array of finite numbers."""
    try:
        shape = document["shape"]
        data = base64.b64decode(document["float32"], validate=True)
    except (KeyError, TypeError, ValueError, binascii.Error) as error:
        raise InputError("an array of its generator cannot be read") from error
    if not isinstance(shape, list) or not all(map(_is_count, shape)) or len(shape) > 4:
        raise InputError("an array of its generator has a shape that cannot be one")
    if len(data) != 4 * math.prod(shape):
        raise InputError("an array of its generator does not have as many numbers as its shape")
    array = np.frombuffer(data, dtype="<f4").reshape(shape).astype(np.float32)
    if not np.isfinite(array).all():
        raise InputError("an array of its generator holds a number that is not finite")
    return array
