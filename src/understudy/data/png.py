"""PNG pictures of 8 bits a channel, without a library for pictures.

Read: grey and colour, with or without transparency, not interlaced; colours become grey by their
brightness. Written: grey.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError

SIGNATURE = b"\x89PNG\r\n\x1a\n"
CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}
"""By the format's number for the kind of colour."""

MAX_IMAGE_SIDE = 1 << 14
BRIGHTNESS = (0.299, 0.587, 0.114)

PixelGrid = NDArray[np.uint8]


def write_png(picture: PixelGrid) -> bytes:
    """A grey picture, a line for each row of pixels, as the bytes of a file."""
    height, width = picture.shape
    lines = np.zeros((height, width + 1), dtype=np.uint8)  # each begins with its filter: none
    lines[:, 1:] = picture
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b""))
    return SIGNATURE + b"".join(_chunk(kind, data) for kind, data in parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    check = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)


def read_png(path: Path) -> PixelGrid:
    """A grey picture from a file."""
    try:
        return _decode(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (ValueError, struct.error, zlib.error) as error:
        raise InputError(
            f"{path} is not a PNG picture that can be read ({error}); save it as 8-bit grey PNG."
        ) from error


def _decode(data: bytes) -> PixelGrid:
    if not data.startswith(SIGNATURE):
        raise ValueError("it does not begin as one")
    place, packed, header = len(SIGNATURE), [], None
    while place + 8 <= len(data):
        size, kind = struct.unpack(">I4s", data[place : place + 8])
        body = data[place + 8 : place + 8 + size]
        if len(body) < size:
            raise ValueError("it ends early")
        if kind == b"IHDR":
            header = struct.unpack(">IIBBBBB", body)
        elif kind == b"IDAT":
            packed.append(body)
        elif kind == b"IEND":
            break
        place += size + 12
    if header is None:
        raise ValueError("it has no header")
    width, height, depth, colour, _, _, interlaced = header
    if depth != 8 or colour not in CHANNELS or interlaced:
        raise ValueError("it is interlaced, has a palette, or not 8 bits")
    if not (1 <= width <= MAX_IMAGE_SIDE and 1 <= height <= MAX_IMAGE_SIDE):
        raise ValueError("its size is out of bounds")
    channels = CHANNELS[colour]
    wanted = height * (width * channels + 1)
    flat = zlib.decompressobj().decompress(b"".join(packed), wanted + 1)
    if len(flat) != wanted:
        raise ValueError("it does not have as many pixels as it says")
    lines = _unfilter(np.frombuffer(flat, np.uint8).reshape(height, -1), channels)
    pixels = lines.reshape(height, width, channels)
    if channels <= 2:
        return np.ascontiguousarray(pixels[:, :, 0])
    return np.rint(pixels[:, :, :3] @ np.array(BRIGHTNESS)).astype(np.uint8)


def _unfilter(lines: PixelGrid, step: int) -> PixelGrid:
    """Undo what makes lines easier to pack: differences from neighbours."""
    width = lines.shape[1] - 1
    found = np.zeros((len(lines) + 1, width + step), dtype=np.int64)
    for row, line in enumerate(lines, start=1):
        kind, values = int(line[0]), line[1:].astype(np.int64)
        if kind > 4:
            raise ValueError("a line has an unknown filter")
        above = found[row - 1]
        if kind in (0, 2):
            found[row, step:] = (values + (above[step:] if kind == 2 else 0)) % 256
            continue
        for place in range(width):
            left, up, corner = found[row, place], above[place + step], above[place]
            if kind == 1:
                guess = left
            elif kind == 3:
                guess = (left + up) // 2
            else:
                guess = _nearest(int(left), int(up), int(corner))
            found[row, place + step] = (values[place] + guess) % 256
    return found[1:, step:].astype(np.uint8)


def _nearest(left: int, up: int, corner: int) -> int:
    """Of three neighbours the one that is nearest to left + up - corner."""
    guess = left + up - corner
    distances = abs(guess - left), abs(guess - up), abs(guess - corner)
    return (left, up, corner)[distances.index(min(distances))]
