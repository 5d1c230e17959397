"""Gradients of images, against slopes that are measured: no library of networks is needed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from understudy.counting.convolutions import ConvolutionGradient
from understudy.counting.row_functions import SLOPE, RowInputs, slope_of_real
from understudy.data.schema import Schema
from understudy.errors import InputError

HEIGHT, WIDTH = 8, 12
"""Not square, so that lines and columns are told apart."""

FILTERS, SECOND, LABELS = 2, 3, 2
UNITS = (HEIGHT // 2) * (WIDTH // 2), (HEIGHT // 4) * (WIDTH // 4)
SHAPES = {
    "first": (FILTERS, 25),
    "first_bias": (FILTERS,),
    "second": (SECOND, FILTERS * 25),
    "second_bias": (SECOND,),
    "dense": (1 + LABELS, SECOND * UNITS[1]),
    "dense_bias": (1 + LABELS,),
}
PIXELS = tuple(f"p{place}" for place in range(HEIGHT * WIDTH))
SCHEMA = Schema.from_dict(
    {
        "attributes": {
            **{name: {"kind": "integer", "edges": [0, 128, 256]} for name in PIXELS},
            "label": {"kind": "categorical", "values": [0, 1]},
        }
    }
)


def make_network(seed: int = 1, labels: int = LABELS, **changes: Any) -> ConvolutionGradient:
    rng = np.random.default_rng(seed)
    shapes = SHAPES | {
        "dense": (1 + labels, SHAPES["dense"][1]),
        "dense_bias": (1 + labels,),
    }
    parameters = {
        name: (0.3 * rng.standard_normal(shape)).astype(np.float32)
        for name, shape in shapes.items()
    }
    coded = ("label",) if labels else ()
    given = {
        "inputs": RowInputs(scaled=PIXELS, coded=coded),
        "height": HEIGHT,
        "width_in_pixels": WIDTH,
        "parameters": parameters,
    }
    return ConvolutionGradient(**given | changes)


def draw_images(number: int, labels: int = LABELS) -> np.ndarray:
    rng = np.random.default_rng(5)
    images = rng.uniform(-1, 1, (number, HEIGHT * WIDTH))
    ones = np.eye(labels)[rng.integers(0, max(labels, 1), number)] if labels else images[:, :0]
    return np.concatenate([images, ones], axis=1).astype(np.float32)


def convolve(images: np.ndarray, weights: np.ndarray, biases: np.ndarray) -> np.ndarray:
    """Written out: each unit sees 5 x 5 places around every second one of each channel."""
    channels, height, width = images.shape
    padded = np.zeros((channels, height + 4, width + 4))
    padded[:, 2:-2, 2:-2] = images
    found = np.zeros((len(weights), height // 2, width // 2))
    kernels = weights.reshape(len(weights), channels, 5, 5)
    for unit, kernel in enumerate(kernels):
        for line in range(height // 2):
            for column in range(width // 2):
                seen = padded[:, 2 * line : 2 * line + 5, 2 * column : 2 * column + 5]
                found[unit, line, column] = (seen * kernel).sum() + biases[unit]
    return found


def compute_loss(network: ConvolutionGradient, row: np.ndarray, given: dict[str, Any]) -> float:
    """The loss as the docstring has it, in double precision."""
    masks = network.masks or (np.ones((1, 1)), np.ones((1, 1)))
    seen = row[: HEIGHT * WIDTH].astype(np.float64).reshape(1, HEIGHT, WIDTH)
    for layer, mask in zip(("first", "second"), masks, strict=True):
        seen = convolve(seen, given[layer], given[f"{layer}_bias"])
        seen = np.where(seen > 0, seen, SLOPE * seen)
        if mask.size > 1:
            seen = seen * mask.reshape(seen.shape)
    label = np.concatenate([[1.0], row[HEIGHT * WIDTH :]])
    output = float(label @ (given["dense"] @ seen.reshape(-1) + given["dense_bias"]))
    if not network.real:
        output = -output
    if network.loss == "wasserstein":
        return -output
    return float(np.logaddexp(0.0, -output))


def measure_slopes(network: ConvolutionGradient, row: np.ndarray) -> np.ndarray:
    """The loss a little further in each parameter, and a little before it."""
    given = {name: network.parameters[name].astype(np.float64) for name in network.NAMES}
    found = []
    for name in network.NAMES:
        for place in range(given[name].size):
            ends = []
            for step in (1e-5, -1e-5):
                moved = given[name].copy()
                moved.flat[place] += step
                ends.append(compute_loss(network, row, given | {name: moved}))
            found.append((ends[0] - ends[1]) / 2e-5)
    return np.array(found)


def draw_masks() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(9)
    shapes = (FILTERS, UNITS[0]), (SECOND, UNITS[1])
    first, second = ((rng.random(shape) < 0.7).astype(np.float32) / 0.7 for shape in shapes)
    return first.astype(np.float32), second.astype(np.float32)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"real": False, "masks": draw_masks()},
        {"loss": "wasserstein", "real": False},
    ],
    ids=["real", "made up, dropout", "wasserstein"],
)
def test_gradients_are_the_slopes_of_the_loss(settings: dict[str, Any]) -> None:
    network = make_network(**settings)
    [row] = draw_images(1)
    [vector] = [vector.copy() for vector in network.vectors(row[None])]
    assert network.width == vector.size == sum(np.prod(shape) for shape in SHAPES.values())
    np.testing.assert_allclose(vector, measure_slopes(network, row), rtol=1e-3, atol=1e-5)


def test_images_without_labels_have_one_unit() -> None:
    network = make_network(labels=0, loss="wasserstein")
    [row] = draw_images(1, labels=0)
    [vector] = [vector.copy() for vector in network.vectors(row[None])]
    np.testing.assert_allclose(vector, measure_slopes(network, row), rtol=1e-3, atol=1e-5)


def test_the_vector_of_an_image_depends_on_that_image_alone() -> None:
    """To the bit: whichever images come before it, and in however large a batch."""
    rows = draw_images(4)
    together = [vector.copy() for vector in make_network(masks=draw_masks()).vectors(rows)]
    for place, row in enumerate(rows):
        network = make_network(masks=draw_masks())
        [alone] = [vector.copy() for vector in network.vectors(row[None])]
        assert alone.tobytes() == together[place].tobytes()
        [again] = [vector.copy() for vector in network.vectors(row[None])]
        assert again.tobytes() == alone.tobytes()


def test_networks_that_do_not_fit_are_refused() -> None:
    make_network().check(SCHEMA)
    for name, shape in SHAPES.items():
        for axis in range(len(shape)):
            longer = tuple(size + (place == axis) for place, size in enumerate(shape))
            network = make_network()
            network.parameters[name] = np.zeros(longer, dtype=np.float32)
            with pytest.raises(InputError, match=r"do not fit each other"):
                network.check(SCHEMA)
        network = make_network()
        network.parameters[name].flat[0] = np.inf
        with pytest.raises(InputError, match=r"do not fit each other"):
            network.check(SCHEMA)
    with pytest.raises(InputError, match=r"another size"):
        make_network(height=HEIGHT + 4).check(SCHEMA)
    with pytest.raises(InputError, match=r"no bounds"):
        make_network(inputs=RowInputs(scaled=(*PIXELS[1:], "label"))).check(SCHEMA)


def test_the_slope_of_the_loss_ends_where_floats_do() -> None:
    for output in (-80.0, -3.0, 0.0, 3.0, 80.0):
        assert slope_of_real(output) == -1 / (1 + np.exp(output))
    assert slope_of_real(1e9) == slope_of_real(80.0) == -1 / (1 + np.exp(80.0))
    assert slope_of_real(-1e9) == slope_of_real(-80.0)
    assert make_network().describe() == f"gradients of {make_network().width:,} weights"
