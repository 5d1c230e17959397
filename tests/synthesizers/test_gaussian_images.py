"""Gaussians of images in the frequencies of a public transform."""

import numpy as np
import pytest

from understudy import Gaussian, Schema
from understudy.data.image_files import Images
from understudy.errors import InputError
from understudy.privacy.mechanisms import SeededNoise
from understudy.synthesizers.gaussian_images import FrequencyColumns, denoise
from understudy.synthesizers.image_columns import ImageColumns
from understudy.synthesizers.image_tables import images_of_model, table_of_images

RNG = np.random.default_rng(1)


def make_images(rows=1500):
    """Of 12 x 10 pixels: a bar on the left, or at the top, of random brightness."""
    labels = RNG.integers(0, 2, rows)
    pixels = RNG.integers(0, 20, (rows, 12, 10))
    bright = RNG.integers(40, 110, rows)
    pixels[labels == 0, :, :4] += bright[labels == 0, None, None]
    pixels[labels == 1, :4, :] += bright[labels == 1, None, None]
    return Images(pixels=pixels.astype(np.uint8), labels=labels, words=("left", "top"))


def test_frequencies_are_orthonormal_and_lowest_first():
    columns = FrequencyColumns(height=12, width=10, count=40)
    basis = columns.basis()
    assert basis @ basis.T == pytest.approx(np.eye(40), abs=1e-12)
    assert columns.places[:3] == [(0, 0), (1, 0), (0, 1)]
    whole = FrequencyColumns(height=12, width=10, count=120).basis()
    picture = RNG.random(120)
    assert whole.T @ (whole @ picture) == pytest.approx(picture)


def test_columns_tell_what_images_they_are_of():
    _, schema = table_of_images(make_images(5), "gaussian")
    assert FrequencyColumns.of(schema) == FrequencyColumns(height=12, width=10, count=100)
    assert ImageColumns.of(schema) is None
    _, pixels = table_of_images(make_images(5), "merf")
    assert ImageColumns.of(pixels) == ImageColumns(height=12, width=10)
    assert FrequencyColumns.of(pixels) is None
    other = Schema.from_dict({"attributes": {"age": {"kind": "integer", "min": 0, "max": 9}}})
    assert FrequencyColumns.of(other) is None
    assert ImageColumns.of(other) is None


def test_synthetic_images_look_like_their_label_and_vary_as_much():
    images = make_images()
    table, schema = table_of_images(images, "gaussian")
    method = Gaussian(epsilon=5.0, delta=1e-5)
    model = method.fit(table, schema, noise=SeededNoise(1), notify=lambda _: None)
    made = images_of_model(model, 1000, seed=1)
    assert made.words == ("left", "top")
    for label in (0, 1):
        own = images.pixels[images.labels == label].astype(float)
        found = made.pixels[made.labels == label].astype(float)
        assert np.abs(own.mean(axis=0) - found.mean(axis=0)).mean() < 25
        assert found.mean(axis=(1, 2)).std() == pytest.approx(own.mean(axis=(1, 2)).std(), rel=0.5)


def test_the_ledger_lists_four_questions_about_moments():
    table, schema = table_of_images(make_images(200), "gaussian")
    model = Gaussian(epsilon=1.0, delta=1e-5).fit(table, schema, notify=lambda _: None)
    asked = [entry.question for entry in model.ledger.entries]
    assert asked[0] == "table of label"
    assert [question.split(" of ")[0] for question in asked[1:]] == [
        *("sums", "sums", "products", "products")
    ]
    assert model.ledger.spent()[0] <= 1.0


def test_denoising_takes_off_what_noise_adds():
    width, noise = 60, 0.05
    true = np.diag([9.0, 4.0] + [0.1] * (width - 2))
    off = RNG.normal(0, noise, (width, width))
    found, kept = denoise(true + np.triu(off) + np.triu(off, 1).T, noise)
    assert len(kept) < width / 2
    assert np.trace(found) == pytest.approx(np.trace(true), abs=2)
    assert np.linalg.eigvalsh(found).min() >= -1e-9
    assert found[0, 0] == pytest.approx(9, abs=0.3)


def test_tiny_images_are_refused():
    images = Images(pixels=np.zeros((3, 4, 4), dtype=np.uint8))
    with pytest.raises(InputError, match="at least 8"):
        table_of_images(images, "gaussian")


def test_an_image_more_changes_no_coefficient_of_another():
    """To the last digit, however many threads multiply: 101 images at once are not 100 and one."""
    from understudy.data.image_files import Images
    from understudy.synthesizers.image_tables import table_of_images

    pixels = np.random.default_rng(4).integers(0, 256, (101, 28, 28), dtype=np.uint8)
    whole, _ = table_of_images(Images(pixels=pixels), "gaussian")
    for kept in (slice(0, 100), slice(1, 101), slice(50, 51)):
        part, _ = table_of_images(Images(pixels=pixels[kept]), "gaussian")
        for name, column in part.columns.items():
            assert np.array_equal(column.values, whole.columns[name].values[kept])
