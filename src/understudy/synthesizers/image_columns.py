"""Images as tables: a column for each pixel, named after its place.

A table is taken for images where its numeric columns are ``pixel_0_0``, ``pixel_0_1`` and so on, to
the last pixel of the last row, each with the same public bounds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from understudy.data.schema import Quantity, Schema

MIN_SIDE = 8


@dataclass(frozen=True, kw_only=True)
class ImageColumns:
    """The columns of images of one size."""

    height: int
    width: int

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, row by row."""
        return tuple(pixel_name(i, j) for i in range(self.height) for j in range(self.width))

    @classmethod
    def of(cls, schema: Schema) -> ImageColumns | None:
        """The size of the images that a table holds, or none where it holds other things."""
        numeric = [one.name for one in schema.modelled if isinstance(one, Quantity)]
        matched = re.fullmatch(r"pixel_(\d{1,4})_(\d{1,4})", numeric[-1]) if numeric else None
        if matched is None:
            return None
        found = cls(height=int(matched[1]) + 1, width=int(matched[2]) + 1)
        small = min(found.height, found.width) < MIN_SIDE
        if small or len(numeric) != found.height * found.width or set(numeric) != set(found.names):
            return None
        return found


def pixel_name(row: int, column: int) -> str:
    """The name of a pixel's column."""
    return f"pixel_{row}_{column}"
