"""Which columns tell rows or persons apart: by their names, which are public."""

from __future__ import annotations

import re

_IDENTIFIER_NAME = re.compile(
    r"(?i)(.*[_\- ])?(id|uuid|guid|ssn|identifier|rownames|row_?number|index)"
)

_ROW_NUMBER_NAME = re.compile(r"(?i)(id|row_?id|.*(uuid|guid|rownames|row_?number|index))")
"""Identifiers that tell rows apart, hardly persons."""


def is_identifier(name: str, person: str | None = None) -> bool:
    """Whether a column is taken for one that tells rows or persons apart: by its name."""
    return name == person or _IDENTIFIER_NAME.fullmatch(name) is not None


def is_owner(name: str) -> bool:
    """Whether an identifier may say whose row it is, as ``patient_id`` does: by its name."""
    return is_identifier(name) and _ROW_NUMBER_NAME.fullmatch(name) is None
