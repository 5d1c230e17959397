"""A person's answers as codes, on her own device.

Every answer has a code. One that is not given, or that cannot be read as the schema says, counts as
missing where the schema allows that; else a category counts as its "other" or as the last value
listed, and a number in its middle bin. A number beyond the public bounds counts at the edge. So
whatever a person writes, one report leaves her device, and the kind of report tells nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.cells import CellEncoder
from understudy.data.columns import Column
from understudy.data.schema import Schema

MAX_ANSWER_LENGTH = 10_000


def encode_person(person: Mapping[str, Any], schema: Schema) -> tuple[dict[str, int], list[str]]:
    """The code of each column, and sentences for the person about answers that did not fit.

    Parameters
    ----------
    person
        By column; what is left out is not given, and other entries are not looked at.
    schema
        That of the plan.
    """
    codes: dict[str, int] = {}
    notes: list[str] = []
    for attribute in schema.modelled:
        encoder = CellEncoder(attribute, _cell(person.get(attribute.name)))
        (code,) = encoder.codes().tolist()
        codes[attribute.name] = code
        notes += [
            f"Your answer to {outside.column} does not fit; it counts as {outside.counted_as}."
            for outside in encoder.outside
        ]
    return codes, notes


def codes_of_one(codes: Mapping[str, int]) -> dict[str, NDArray[np.int64]]:
    """The codes of one person as a table of one row."""
    return {name: np.array([code], dtype=np.int64) for name, code in codes.items()}


def _cell(answer: Any) -> Column:
    """An answer as the only cell of a column, written as it would stand in a file."""
    place = np.zeros(1, dtype=np.int64)
    if answer is None:
        return Column("text", place, words=("",), missing=np.ones(1, dtype=np.uint8))
    if isinstance(answer, str):
        text = answer
    else:
        text = json.dumps(answer)
    return Column("text", place, words=(text[:MAX_ANSWER_LENGTH],))
