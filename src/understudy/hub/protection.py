"""Whom the releases of a data set protect, as its row says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from understudy.errors import InputError
from understudy.hub.operation_runs import Protected
from understudy.privacy.budget import check_neighbours


def read_protected(neighbours: Any, unit: Any) -> Protected:
    """Read the neighbour relation and the unit: "row", or a person with her column.

    Parameters
    ----------
    neighbours
        "add_remove" or "replace".
    unit
        "row", or ``{"person": column, "max_rows_per_person": number}``.

    Examples
    --------
    >>> read_protected("add_remove", {"person": "id", "max_rows_per_person": 5}).unit
    'person'
    """
    relation = check_neighbours(neighbours)
    if unit == "row":
        return Protected(neighbours=relation)
    known = {"person", "max_rows_per_person"}
    if not isinstance(unit, Mapping) or set(unit) - known:
        raise InputError('The unit must be "row", or name a person\'s column and her most rows.')
    person = unit.get("person")
    if person is not None and not isinstance(person, str):
        raise InputError("The person's column must be a name.")
    rows = unit.get("max_rows_per_person", 1)
    return Protected(neighbours=relation, person=person, max_rows_per_person=rows)
