"""Reading the entries of numbers, dates and times in a schema file: bounds, bins and formats."""

from __future__ import annotations

import datetime as dt
import itertools
import math
import sys
from collections.abc import Mapping
from typing import Any

from understudy.data.attributes import DEFAULT_BINS, END_OF_DAY, MAX_FEW_VALUES, Quantity
from understudy.data.formats import Format
from understudy.data.inside import DAY_SECONDS
from understudy.data.inside_files import with_details
from understudy.data.time_formats import EPOCH

MAX_DOMAIN_SIZE = 1 << 16


def read_quantity(name: str, kind: str, missing: str | None, entry: Mapping[str, Any]) -> Quantity:
    """The attribute that an entry describes.

    Raises
    ------
    ValueError
        With the cause, where the entry does not describe one.
    """
    form = _read_format(kind, entry)
    decimals = entry.get("decimals")
    if decimals is not None and (not is_whole(decimals) or not 0 <= decimals <= 12):
        raise ValueError(f'"decimals" must be a whole number from 0 to 12, not {decimals!r}')
    few: tuple[float, ...] = ()
    if "edges" in entry:
        if {"min", "max", "bins"} & set(entry):
            raise ValueError('give either "edges", or "min", "max" and "bins"')
        edges = _read_edges(kind, entry["edges"])
    elif few := _read_few_values(kind, entry):
        edges = _part_values(kind, few)
    else:
        edges = _make_equal_edges(kind, entry)
    free = not few and not {"bins", "edges"} & set(entry)
    even = not few and "edges" not in entry
    attribute = Quantity(name, kind, missing, edges, even, form, decimals, free_bins=free)
    return with_details(attribute, entry)


def _read_few_values(kind: str, entry: Mapping[str, Any]) -> tuple[float, ...]:
    """The values of a short list that lies within its bounds; none where there is no such list, or
    somebody says how many bins there should be.
    """
    given = entry.get("values")
    if "bins" in entry or not isinstance(given, list) or not 2 <= len(given) <= MAX_FEW_VALUES:
        return ()
    try:
        values = [_read_number(kind, value, "a value") for value in given]
        low = _read_number(kind, entry.get("min", given[0]), '"min"')
        high = _read_number(kind, entry.get("max", given[-1]), '"max"')
    except ValueError:
        return ()  # what is wrong with it is said where details are read
    rising = all(a < b for a, b in itertools.pairwise(values))
    if kind not in ("integer", "real") or not rising or low > values[0] or high < values[-1]:
        return ()
    return tuple(values)


def _part_values(kind: str, values: tuple[float, ...]) -> tuple[float, ...]:
    """A bin for each of a few values."""
    last = values[-1] + 1
    if kind == "real":
        last = values[-1] + (values[-1] - values[-2]) / 2
    return _check_bounds((*values, last))


def _read_format(kind: str, entry: Mapping[str, Any]) -> str | None:
    form = entry.get("format")
    if form is None:
        return None
    if not isinstance(form, str) or not form:
        raise ValueError(f'"format" must be text that shows how values are written, not {form!r}')
    Format(kind, form)  # refuses what it cannot read
    return form


def _read_edges(kind: str, given: Any) -> tuple[float, ...]:
    if not isinstance(given, list) or len(given) < 2:
        raise ValueError('"edges" must be a list of at least two numbers, smallest first')
    if len(given) > MAX_DOMAIN_SIZE + 1:
        raise ValueError(
            f'"edges" has {len(given)} entries; more than {MAX_DOMAIN_SIZE} bins cannot be modelled'
        )
    edges = tuple(_read_edge(kind, edge) for edge in given)
    if any(b <= a for a, b in itertools.pairwise(edges)):
        raise ValueError('"edges" must rise from one to the next')
    return _check_bounds(edges)


def _read_edge(kind: str, given: Any) -> float:
    if (kind, given) == ("time", END_OF_DAY):
        return DAY_SECONDS
    return _read_number(kind, given, "an edge")


def _make_equal_edges(kind: str, entry: Mapping[str, Any]) -> tuple[float, ...]:
    if kind == "time":
        entry = {"min": "00:00:00", "max": "23:59:59", **entry}
    for bound in ("min", "max"):
        if bound not in entry:
            raise ValueError(f'it needs "{bound}" (a public bound, not one read off the data)')
    low = _read_number(kind, entry["min"], '"min"')
    high = _read_number(kind, entry["max"], '"max"')
    if high < low:
        raise ValueError(f'"max" {entry["max"]!r} is below "min" {entry["min"]!r}')
    bins = entry.get("bins")
    if bins is not None and (not is_whole(bins) or not 1 <= bins <= MAX_DOMAIN_SIZE):
        raise ValueError(f'"bins" must be a whole number from 1 to {MAX_DOMAIN_SIZE}, not {bins!r}')
    if kind == "real":
        count = bins or DEFAULT_BINS
        if high == low:
            raise ValueError(
                '"max" must be above "min"; for a column with one value use a categorical'
            )
        edges = (*(low + (high - low) * i / count for i in range(count)), high)
        if any(b <= a for a, b in itertools.pairwise(edges)):
            raise ValueError(f'there is no room for {count} bins between "min" and "max"')
        return _check_bounds(edges)
    span = int(high) - int(low) + 1
    if bins is not None:
        count = bins
    else:
        count = min(DEFAULT_BINS, span)
    if count > span:
        raise ValueError(
            f'{count} bins are more than the {span} values from "min" to "max"; use {span} or fewer'
        )
    # Value v lies in bin floor((v - low) * count / span), so bin i starts at the next whole
    # number.
    return _check_bounds(tuple(int(low) - (-i * span // count) for i in range(count + 1)))


def _check_bounds(edges: tuple[float, ...]) -> tuple[float, ...]:
    if max(abs(edges[0]), abs(edges[-1])) > 2**53:
        raise ValueError(
            "its bounds lie beyond 2^53, where numbers are no longer exact; rescale the column"
        )
    return edges


def _read_number(kind: str, given: Any, what: str) -> float:
    """A bound in the attribute's unit: itself, days or seconds."""
    if kind == "time":
        seconds = Format("time").read([str(given)])[0]
        if math.isnan(seconds):
            raise ValueError(f'{what} must be a time such as "09:30", not {given!r}')
        return int(seconds)
    if kind in ("date", "datetime"):
        try:
            moment = None
            if isinstance(given, str):
                moment = dt.datetime.fromisoformat(given)
        except ValueError:
            moment = None
        if moment is None:
            raise ValueError(f'{what} must be an ISO date such as "2020-01-31", not {given!r}')
        since = moment.replace(tzinfo=None) - EPOCH
        if kind == "date":
            return since.days
        return since.days * 86400 + since.seconds
    if kind == "integer":
        if not is_number(given) or given != int(given):
            raise ValueError(f"{what} must be a whole number, not {given!r}")
        return int(given)
    if not is_number(given):
        raise ValueError(f"{what} must be a finite number, not {given!r}")
    return float(given)


def is_number(value: Any) -> bool:
    """Whether a value of a file is a finite number."""
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value) <= sys.float_info.max
    )


def is_whole(value: Any) -> bool:
    """Whether a value of a file is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)
