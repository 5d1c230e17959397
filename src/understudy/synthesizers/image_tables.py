"""Images as private tables, and synthetic rows as images again.

For Gaussians an image becomes the lowest frequencies of its cosine transform, which is public; for
other methods its pixels. Both are functions of that image alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.frames import as_table
from understudy.data.image_files import Images
from understudy.data.schema import Category, Schema
from understudy.data.tables import Column, Table
from understudy.errors import InputError
from understudy.models.gaussians import Floats
from understudy.models.generators import Generator
from understudy.models.model import Model
from understudy.synthesizers.gaussian_images import BOUND, FrequencyColumns
from understudy.synthesizers.image_columns import MIN_SIDE, ImageColumns

FREQUENCIES = 100
"""How many an image is described by."""

LABEL = "label"
DECIMALS = 3


def table_of_images(images: Images, method: str) -> tuple[Table, Schema]:
    """The table that a method learns from, and what is public about it."""
    count, height, width = images.pixels.shape
    if min(height, width) < MIN_SIDE:
        raise InputError(
            f"The images have {height} x {width} pixels; each side must be at least {MIN_SIDE}."
        )
    columns: dict[str, Column] = {}
    if method == "gaussian":
        frequencies = FrequencyColumns(
            height=height, width=width, count=min(FREQUENCIES, height * width)
        )
        fact: dict[str, Any] = {"kind": "real", "min": -BOUND, "max": BOUND, "decimals": DECIMALS}
        flat = images.pixels.reshape(count, -1)
        values = _multiply_each(flat, frequencies.basis().T * _unit(height, width))
        for place, name in enumerate(frequencies.names):
            columns[name] = Column("real", np.ascontiguousarray(values[:, place]))
    else:
        pixels = ImageColumns(height=height, width=width)
        fact = {"kind": "integer", "min": 0, "max": 255}
        lines = images.pixels.reshape(count, -1).astype(np.int64)
        for place, name in enumerate(pixels.names):
            columns[name] = Column("integer", np.ascontiguousarray(lines[:, place]))
    facts = dict.fromkeys(columns, fact)
    if images.labels is not None:
        facts[LABEL] = {"kind": "categorical", "values": list(images.words)}
        columns[LABEL] = Column("text", images.labels, images.words)
    return Table(columns, "The table of images"), Schema.from_dict({"attributes": facts})


def _multiply_each(images: NDArray[np.uint8], basis: Floats) -> Floats:
    """Each image by itself times the basis, always from the same place in memory.

    A product of all images at once adds up in another order where there is one image more: then the
    last digits of some others change, and one row would decide what another one is.
    """
    found = np.empty((len(images), basis.shape[1]))
    basis, image = np.ascontiguousarray(basis), np.empty(basis.shape[0])
    for place, pixels in enumerate(images):
        image[:] = pixels
        image /= 255.0
        found[place] = image @ basis
    return found


def _unit(height: int, width: int) -> float:
    """Coefficients of images of any size are brought to those of 28 x 28 pixels."""
    return 28 / float(np.sqrt(height * width))


def images_of_model(model: Model, count: int | None, seed: int | None = None) -> Images:
    """Images drawn from a model."""
    table, _ = as_table(model.sample(count, seed=seed))
    return images_of_rows(table, model.schema)


def images_of_rows(rows: Table, schema: Schema) -> Images:
    """Rows of pixels or of frequencies, as images."""
    size: ImageColumns | FrequencyColumns | None = ImageColumns.of(schema)
    if size is None:
        size = FrequencyColumns.of(schema)
    if size is None:
        raise InputError("The model holds no images.")
    values: Floats = np.column_stack(
        [np.asarray(rows.columns[name].values, dtype=np.float64) for name in size.names]
    )
    if isinstance(size, FrequencyColumns):
        values = 255 * (values @ size.basis()) / _unit(size.height, size.width)
    pixels = np.clip(np.rint(values), 0, 255).astype(np.uint8)
    labels = None
    words: tuple[str, ...] = ()
    if LABEL in schema:
        label = schema[LABEL]
        assert isinstance(label, Category)
        words = tuple(map(str, label.domain))
        column = rows.columns[LABEL]
        own = [str(word) for word in column.words] if column.words else None
        told = [own[v] if own else str(v) for v in column.values.tolist()]
        labels = np.array([words.index(word) for word in told], dtype=np.int64)
    return Images(pixels=pixels.reshape(-1, size.height, size.width), labels=labels, words=words)


def preview_of(generator: Generator, schema: Schema, columns: int = 10) -> Images | None:
    """A few images of a generator in training, the same random numbers each time."""
    size = ImageColumns.of(schema)
    if size is None:
        return None
    lines, told = columns, None
    words: tuple[str, ...] = ()
    if generator.label is not None:
        lines = schema[generator.label].size
        words = tuple(str(code) for code in range(lines))
        told = np.repeat(np.eye(lines, dtype=np.float32), columns, axis=0)
    rng = np.random.default_rng(1)
    latent = rng.standard_normal((lines * columns, generator.latent)).astype(np.float32)
    made = generator.make(latent, told)
    pixels = np.clip(np.rint((made + 1) * 127.5), 0, 255).astype(np.uint8)
    labels = None
    if told is not None:
        labels = told.argmax(axis=1)
    return Images(pixels=pixels.reshape(-1, size.height, size.width), labels=labels, words=words)
