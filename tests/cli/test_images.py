"""Images on the command line."""

import numpy as np
import pytest

from running import run
from understudy.data.image_files import Images, read_images, write_images


def make_images(rows=300):
    """Two kinds of small images: bright on the left, or at the top."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, rows)
    pixels = rng.integers(0, 60, (rows, 8, 8))
    pixels[labels == 0, :, :3] += 150
    pixels[labels == 1, :3, :] += 150
    return Images(pixels=pixels.astype(np.uint8), labels=labels, words=("0", "1"))


@pytest.fixture
def digits(tmp_path):
    return write_images(tmp_path / "digits.idx.gz", make_images())


def test_images_in_images_out(digits, tmp_path):
    out, sheet = tmp_path / "out.idx.gz", tmp_path / "sheet.png"
    model = tmp_path / "m.json"
    ran = run(
        *("synthesize", digits[0], "--labels", digits[1], "--classes", 2, "--method", "gaussian"),
        *("--epsilon", 10, "--delta", 1e-5, "-o", out, "--sheet", sheet, "--model", model),
        *("--seed", 1),
    )
    assert ran.status == 0, ran.err
    made = read_images(out, tmp_path / "out-labels.idx.gz", 2)
    assert made.pixels.shape[1:] == (8, 8)
    left, top = (made.pixels[made.labels == k].mean(axis=0) for k in (0, 1))
    assert left[4:, :3].mean() > left[4:, 5:].mean() + 60
    assert top[:3, 4:].mean() > top[5:, 4:].mean() + 60
    assert sheet.read_bytes().startswith(b"\x89PNG")
    assert model.exists()
    assert "epsilon = 10" in ran.err


@pytest.mark.thorough
def test_pictures_in_pictures_out(tmp_path):
    write_images(tmp_path / "in", make_images(120))
    ran = run(
        *("synthesize", tmp_path / "in", "--method", "merf", "--features", 200),
        *("--training-steps", 200, "--epsilon", 50, "--delta", 1e-5, "-o", tmp_path / "out"),
        *("--rows", 40, "--seed", 1),
    )
    assert ran.status == 0, ran.err
    made = read_images(tmp_path / "out")
    assert made.pixels.shape == (40, 8, 8)
    assert made.words == ("0", "1")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--method", "adaptive"), "is for tables; for images use"),
        (("--method", "gaussian", "-o", "-"), "Images need a place to go"),
        (("--method", "gan", "--delta", "0"), "needs a delta above 0"),
    ],
)
def test_what_cannot_be_done_is_refused(digits, tmp_path, words, said):
    out = tmp_path / "out.idx"
    options = ("--epsilon", 1, "--delta", 1e-5, "-o", out)
    ran = run("synthesize", digits[0], *options, *words)
    assert ran.status == 2
    assert said in " ".join(ran.err.split())
    assert not out.exists()


def test_labels_are_for_images(tmp_path):
    (tmp_path / "t.csv").write_text("a\n1\n")
    ran = run("synthesize", tmp_path / "t.csv", "--sheet", tmp_path / "s.png")
    assert ran.status == 2
    assert "are for images" in " ".join(ran.err.split())


def test_without_torch_one_sentence_says_how_to_get_it(digits, tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "torch", None)
    out = tmp_path / "out.idx"
    words = ("--labels", digits[1], "--method", "gan", "--delta", 1e-5, "-o", out)
    ran = run("synthesize", digits[0], *words)
    assert ran.status == 2
    assert "pip install 'understudy[gan]'" in " ".join(ran.err.split())
    assert not out.exists()
