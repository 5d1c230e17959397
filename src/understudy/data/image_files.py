"""Images in files: IDX, as digits come, and folders of PNG pictures.

The labels of IDX files stand in a second file; those of pictures are the names of the folders that
they lie in. Names of folders and the size of images are taken as public.
"""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from understudy.data.files import replace_content, writable_file
from understudy.data.png import PixelGrid, read_png, write_png
from understudy.errors import InputError

IDX_ENDS = (".idx", ".idx.gz", "-ubyte", "-ubyte.gz", ".idx3", ".idx1")
MAX_IMAGE_BYTES = 1 << 31
GAP = 2
"""Pixels between the images of a contact sheet."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Images:
    """Grey images of one size.

    Parameters
    ----------
    pixels
        Images, rows, columns: from 0 to 255.
    labels
        The place of each image's label among the words, where there are labels.
    words
        The labels that there can be.
    """

    pixels: NDArray[np.uint8]
    labels: NDArray[np.int64] | None = None
    words: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.pixels)


def is_images(path: str | Path) -> bool:
    """Whether a path names images, by its name or, of a folder, by what lies in it."""
    path = Path(path)
    if path.is_dir():
        return any(path.glob("*.png")) or any(path.glob("*/*.png"))
    return path.name.endswith(IDX_ENDS)


def read_images(
    path: str | Path, labels: str | Path | None = None, classes: int | None = None
) -> Images:
    """Images from an IDX file or a folder.

    Parameters
    ----------
    path
        The file, or a folder of PNG pictures or of folders of them, one for each label.
    labels
        Of an IDX file: the file of labels, whole numbers from 0.
    classes
        Of an IDX file: how many labels there can be; public.
    """
    path = Path(path)
    if path.is_dir():
        if labels is not None:
            raise InputError("The labels of pictures are the folders that they lie in.")
        return _read_folder(path)
    pixels = read_idx(path)
    if pixels.ndim != 3 or not all(pixels.shape[1:]):
        raise InputError(f"{path} holds no images: it has {pixels.ndim} dimensions, not 3.")
    if labels is None:
        return Images(pixels=pixels)
    told = read_idx(Path(labels))
    if told.ndim != 1 or len(told) != len(pixels):
        raise InputError(
            f"{labels} holds {len(told):,} labels, and {path} {len(pixels):,} images; give the "
            "labels of these images."
        )
    count = 10
    if classes is not None:
        count = classes
    if not 2 <= count <= 256:
        raise InputError(f"There must be 2 to 256 classes, not {count!r}.")
    # What lies beyond the public classes counts as the last one, as in any column.
    places = np.minimum(told.astype(np.int64), count - 1)
    return Images(pixels=pixels, labels=places, words=tuple(map(str, range(count))))


def read_idx(path: Path) -> NDArray[np.uint8]:
    """An array of bytes in the IDX format, gzipped or not."""
    try:
        data = path.read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = zlib.decompressobj(31).decompress(data, MAX_IMAGE_BYTES)
        zeros, kind, dimensions = struct.unpack(">HBB", data[:4])
        sides = struct.unpack(f">{dimensions}I", data[4 : 4 + 4 * dimensions])
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (struct.error, zlib.error) as error:
        raise InputError(f"{path} is not an IDX file that can be read ({error}).") from error
    if zeros or kind != 8 or not 1 <= dimensions <= 3:
        raise InputError(f"{path} is not an IDX file of bytes with 1 to 3 dimensions.")
    body = data[4 + 4 * dimensions :]
    if len(body) != math.prod(sides):
        raise InputError(
            f"{path} is damaged: it says that it holds {math.prod(sides):,} bytes, and holds "
            f"{len(body):,}."
        )
    return np.frombuffer(body, np.uint8).reshape(sides)


def _read_folder(folder: Path) -> Images:
    """The pictures of a folder; an empty folder is a label all the same, or the only picture of a
    label would decide whether there is such a label.
    """
    inside = sorted(part for part in folder.iterdir() if part.is_dir())
    inside = [part for part in inside if not part.name.startswith(".")]
    labelled = [(word, sorted(word.glob("*.png"))) for word in inside]
    if not labelled:
        files = sorted(folder.glob("*.png"))
        return Images(pixels=_stack(files))
    if any(folder.glob("*.png")):
        raise InputError(f"{folder} holds pictures beside folders of pictures; sort them all.")
    words = tuple(word.name for word, _ in labelled)
    if len(words) < 2:
        raise InputError(f"{folder} has one folder of pictures; labels are two or more.")
    places = np.repeat(np.arange(len(words)), [len(files) for _, files in labelled])
    pixels = _stack([file for _, files in labelled for file in files])
    return Images(pixels=pixels, labels=places, words=words)


def _stack(files: Sequence[Path]) -> NDArray[np.uint8]:
    pictures = [read_png(file) for file in files]
    if not pictures:
        raise InputError("There are no pictures in the folder.")
    for file, picture in zip(files, pictures, strict=True):
        if picture.shape != pictures[0].shape:
            raise InputError(
                f"{file} has {_size(picture)} pixels and {files[0].name} {_size(pictures[0])}; "
                "bring all images to one size."
            )
    return np.stack(pictures)


def _size(picture: PixelGrid) -> str:
    return f"{picture.shape[0]} x {picture.shape[1]}"


# --------------------------------------------------------------------------- writing


def labels_path(path: Path) -> Path:
    """Where the labels of an IDX file are written: beside it."""
    name = path.name
    for end in sorted(IDX_ENDS, key=len, reverse=True):
        if name.endswith(end):
            return path.with_name(f"{name.removesuffix(end)}-labels{end}")
    return path.with_name(f"{name}-labels")


def check_images_output(path: Path) -> None:
    """Refuse a place where images cannot be written."""
    if path.name.endswith(IDX_ENDS):
        writable_file(path, "images")
        writable_file(labels_path(path), "labels")
    elif path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise InputError(
            f"{path} is there already; name a new folder, or a file that ends in .idx."
        )


def write_images(path: Path, images: Images) -> list[Path]:
    """Write images, and labels where there are some; what was written."""
    if path.name.endswith(IDX_ENDS):
        written = [path]
        if images.labels is not None:
            written.append(labels_path(path))
            replace_content(written[1], _pack(written[1], images.labels.astype(np.uint8)))
        replace_content(path, _pack(path, images.pixels))
        return written
    digits = len(str(max(len(images) - 1, 0)))
    for place, picture in enumerate(images.pixels):
        folder = path
        if images.labels is not None:
            folder = path / images.words[int(images.labels[place])]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{place:0{digits}d}.png").write_bytes(write_png(picture))
    return [path]


def _pack(path: Path, array: NDArray[np.uint8]) -> bytes:
    header = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape)
    data = header + np.ascontiguousarray(array).tobytes()
    if path.name.endswith(".gz"):
        return gzip.compress(data, mtime=0)
    return data


def contact_sheet(images: Images, rows: int = 10, columns: int = 10) -> PixelGrid:
    """Some images side by side; with labels, a row for each."""
    height, width = images.pixels.shape[1:]
    lines = []
    if images.labels is None:
        places = [list(range(r * columns, (r + 1) * columns)) for r in range(rows)]
        lines = [[p for p in line if p < len(images)] for line in places]
    else:
        for word in range(len(images.words))[:256]:
            lines.append(np.flatnonzero(images.labels == word)[:columns].tolist())
    sheet = np.full(
        (len(lines) * (height + GAP) + GAP, columns * (width + GAP) + GAP), 96, dtype=np.uint8
    )
    for row, line in enumerate(lines):
        for column, place in enumerate(line):
            top, left = GAP + row * (height + GAP), GAP + column * (width + GAP)
            sheet[top : top + height, left : left + width] = images.pixels[place]
    return sheet
