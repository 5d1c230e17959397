"""Images in files: IDX and PNG, in and out, and what is refused."""

import gzip
import struct
import zlib

import numpy as np
import pytest

from understudy.data.image_files import (
    Images,
    check_images_output,
    contact_sheet,
    is_images,
    labels_path,
    read_images,
    write_images,
)
from understudy.data.png import SIGNATURE, read_png, write_png
from understudy.errors import InputError

RNG = np.random.default_rng(1)
PIXELS = RNG.integers(0, 256, (6, 9, 8), dtype=np.uint8)
LABELS = np.array([0, 1, 2, 2, 1, 0])


def write_idx(path, array):
    header = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape)
    path.write_bytes(gzip.compress(header + array.astype(np.uint8).tobytes()))
    return path


@pytest.mark.parametrize("name", ["out.idx", "out.idx.gz", "folder"])
def test_images_come_back_as_they_were_written(tmp_path, name):
    images = Images(pixels=PIXELS, labels=LABELS, words=("0", "1", "2"))
    written = write_images(tmp_path / name, images)
    assert is_images(tmp_path / name)
    if name == "folder":
        again = read_images(tmp_path / name)
        order = np.argsort(LABELS, kind="stable")
    else:
        assert written[1] == labels_path(tmp_path / name)
        again = read_images(written[0], written[1], 3)
        order = np.arange(6)
    assert again.pixels.tolist() == PIXELS[order].tolist()
    assert again.labels.tolist() == LABELS[order].tolist()
    assert again.words == ("0", "1", "2")


def test_images_without_labels(tmp_path):
    write_images(tmp_path / "plain", Images(pixels=PIXELS))
    again = read_images(tmp_path / "plain")
    assert again.labels is None
    assert again.pixels.tolist() == PIXELS.tolist()
    assert read_images(write_idx(tmp_path / "a.idx.gz", PIXELS)).labels is None


def filtered_png(pixels, kind):
    """A PNG in colour whose lines have a filter, by the definition."""
    height, width, channels = pixels.shape
    flat = pixels.reshape(height, -1).astype(int)
    lines = []
    for row in range(height):
        line = [kind]
        for place in range(width * channels):
            left = flat[row, place - channels] if place >= channels else 0
            up = flat[row - 1, place] if row else 0
            corner = flat[row - 1, place - channels] if row and place >= channels else 0
            guess = left + up - corner
            nearest = min((left, up, corner), key=lambda one: abs(guess - one))
            taken = (0, left, up, (left + up) // 2, nearest)[kind]
            line.append((flat[row, place] - taken) % 256)
        lines.append(bytes(line))
    colour = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)),
        (b"IDAT", zlib.compress(b"".join(lines))),
        (b"IEND", b""),
    )
    found = SIGNATURE
    for name, data in parts:
        found += struct.pack(">I", len(data)) + name + data
        found += struct.pack(">I", zlib.crc32(name + data))
    return found


@pytest.mark.parametrize("kind", range(5))
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_every_filter_and_kind_of_colour_is_read(tmp_path, kind, channels):
    pixels = RNG.integers(0, 256, (5, 6, channels), dtype=np.uint8)
    path = tmp_path / "a.png"
    path.write_bytes(filtered_png(pixels, kind))
    expected = pixels[:, :, 0]
    if channels > 2:
        expected = np.rint(pixels[:, :, :3] @ np.array([0.299, 0.587, 0.114]))
    assert read_png(path).tolist() == expected.tolist()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no picture",
        SIGNATURE,
        write_png(PIXELS[0])[:40],
        write_png(PIXELS[0]).replace(b"\x08\x00\x00\x00\x00", b"\x08\x03\x00\x00\x00"),
        write_png(PIXELS[0])[:20] + b"\xff\xff\xff\xff" + write_png(PIXELS[0])[24:],
    ],
)
def test_what_is_no_picture_is_refused(tmp_path, data):
    path = tmp_path / "a.png"
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"a\.png is not a PNG picture that can be read"):
        read_png(path)


def test_images_of_different_sizes_are_refused(tmp_path):
    (tmp_path / "a.png").write_bytes(write_png(PIXELS[0]))
    (tmp_path / "b.png").write_bytes(write_png(PIXELS[0][:5]))
    with pytest.raises(InputError, match=r"b\.png has 5 x 8 pixels and a\.png 9 x 8; bring all"):
        read_images(tmp_path)


def test_labels_of_another_length_are_refused(tmp_path):
    images = write_idx(tmp_path / "a.idx.gz", PIXELS)
    labels = write_idx(tmp_path / "b.idx.gz", LABELS[:4])
    with pytest.raises(InputError, match=r"holds 4 labels, and .* 6 images"):
        read_images(images, labels)


def test_damaged_idx_files_are_refused(tmp_path):
    path = tmp_path / "a.idx"
    for data, said in (
        (b"", "not an IDX file"),
        (b"\x00\x00\x0d\x03" + bytes(12), "IDX file of bytes"),
        (b"\x00\x00\x08\x03" + struct.pack(">III", 5, 5, 5), "is damaged"),
        (b"\x1f\x8b\x00", "not an IDX file"),
        (b"\x00\x00\x08\x01" + struct.pack(">I", 1) + b"x", "holds no images"),
    ):
        path.write_bytes(data)
        with pytest.raises(InputError, match=said):
            read_images(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_images(tmp_path / "absent.idx")


def test_a_label_beyond_the_public_classes_counts_as_the_last(tmp_path):
    images = write_idx(tmp_path / "a.idx.gz", PIXELS)
    labels = write_idx(tmp_path / "b.idx.gz", np.array([0, 1, 200, 2, 1, 0]))
    assert read_images(images, labels, 3).labels.tolist() == [0, 1, 2, 2, 1, 0]


def test_a_folder_that_holds_something_is_not_written_to(tmp_path):
    (tmp_path / "a.txt").write_text("mine")
    with pytest.raises(InputError, match="is there already"):
        check_images_output(tmp_path)


def test_a_contact_sheet_has_a_row_for_each_label():
    images = Images(pixels=PIXELS, labels=LABELS, words=("0", "1", "2"))
    sheet = contact_sheet(images, columns=2)
    assert sheet.shape == (3 * 11 + 2, 2 * 10 + 2)
    assert sheet[2:11, 2:10].tolist() == PIXELS[0].tolist()
    assert sheet[2 + 11 : 11 + 11, 12:20].tolist() == PIXELS[4].tolist()


def test_the_only_picture_of_a_label_does_not_decide_that_there_is_one(tmp_path):
    """Names of folders are public, and whether one of them holds a picture is not."""
    folder = tmp_path / "pictures"
    for word, count in (("cat", 3), ("dog", 2), ("rare", 1), (".cache", 0)):
        (folder / word).mkdir(parents=True)
        for number in range(count):
            picture = np.full((4, 4), 20 * number, dtype=np.uint8)
            (folder / word / f"{number}.png").write_bytes(write_png(picture))
    whole = read_images(folder)
    assert whole.words == ("cat", "dog", "rare")
    (folder / "rare" / "0.png").unlink()
    less = read_images(folder)
    assert less.words == whole.words
    assert less.labels.tolist() == whole.labels.tolist()[:-1]
