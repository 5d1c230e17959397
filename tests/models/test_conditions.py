"""Every value that is drawn fulfils the condition it was drawn under, however the condition cuts
through bins.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from examples import schema_of, values_of
from understudy import InputError, Model
from understudy.data.bits import Bits
from understudy.data.schema import Schema
from understudy.data.time_formats import EPOCH
from understudy.models.model import How
from understudy.models.network import Network, Node
from understudy.models.query.conditions import parse_conditions
from understudy.models.query.subsets import Subset
from understudy.privacy.ledger import Ledger

WAYS = get_args(How)


def model_of(schema: Schema, encoding: str | None = None) -> Model:
    """All values equally likely, each attribute by itself."""
    bits = None if encoding is None else Bits(schema, encoding == "gray")
    over = schema if bits is None else bits.schema
    nodes = tuple(Node(attribute.name, (), np.ones(attribute.size)) for attribute in over.modelled)
    return Model({"name": "made"}, schema, Network(nodes), Ledger(0), 100, bits)


def drawn(model: Model, wanted: Any, how: How, rows: int = 300) -> list[Any]:
    table = model.sample(rows, seed=1, given={"x": wanted}, method=how)
    return values_of(table.columns["x"])  # type: ignore[union-attr]


# Numbers that no grid of a few decimals holds, and those that float arithmetic rounds: 0.29 * 100,
# 0.1 + 0.2, ...
REALS = st.one_of(
    st.floats(-1, 6, allow_nan=False),
    st.integers(-100, 600).map(lambda cents: cents / 100),
    st.sampled_from([1e-20, 0.29, 0.57, 1.1, 0.1 + 0.2, 4.35, math.nextafter(1, 2)]),
)
GRIDS = st.lists(REALS, min_size=2, max_size=6, unique=True).map(sorted)


@st.composite
def real_entries(draw: Any) -> dict[str, Any]:
    edges = draw(GRIDS)
    assume(all(b - a > 1e-6 for a, b in itertools.pairwise(edges)))
    return {"kind": "real", "edges": edges, "decimals": draw(st.integers(0, 4))}


@st.composite
def whole_entries(draw: Any) -> dict[str, Any]:
    low, span = draw(st.integers(-30, 30)), draw(st.integers(1, 60))
    bins = draw(st.integers(1, span))
    return {"kind": "integer", "min": low, "max": low + span - 1, "bins": bins}


def ends_of(draw: Any, numbers: Any) -> tuple[Any, Any]:
    low, high = sorted([draw(numbers), draw(numbers)])
    return draw(st.sampled_from([(low, high), (low, None), (None, high), (low, low)]))


@given(st.data(), st.sampled_from(WAYS), st.booleans(), st.sampled_from([None, "binary", "gray"]))
def test_every_value_lies_in_the_range_or_in_one_of_several(
    data: Any, how: How, whole: bool, encoding: str | None
) -> None:
    entry = data.draw(whole_entries() if whole else real_entries())
    numbers = st.integers(-40, 100) if whole else REALS
    ranges = [ends_of(data.draw, numbers) for _ in range(data.draw(st.integers(1, 3)))]
    values: list[Any] = []
    with suppress(InputError):  # nothing, or next to nothing, fits
        values = drawn(model_of(schema_of(x=entry), encoding), ranges, how)
    for value in values:
        assert any(
            (low is None or low <= value) and (high is None or value <= high)
            for low, high in ranges
        ), (value, ranges)


def days(text: str) -> int:
    return (dt.datetime.fromisoformat(text) - EPOCH).days


DATES = {"kind": "date", "min": "1950-01-01", "max": "2009-12-31", "bins": 7, "missing": True}
TIMES = {"kind": "datetime", "min": "1969-12-31 23:59:00", "max": "1970-01-01 00:00:59", "bins": 7}
CASES: list[tuple[dict[str, Any], str, Callable[[Any], bool]]] = [
    (DATES, "1969-12-30..1970-01-02", lambda v: days("1969-12-30") <= v <= days("1970-01-02")),
    (DATES, "..1950-01-03", lambda v: days("1950-01-01") <= v <= days("1950-01-03")),
    (DATES, "2009-12-31..", lambda v: v == days("2009-12-31")),
    (DATES, "1960-02-29|missing", lambda v: v is None or v == days("1960-02-29")),
    (DATES, "1999-01-01 12:00..1999-01-03 12:00", lambda v: v - days("1999-01-01") in (1, 2)),
    (TIMES, "1969-12-31 23:59:58..1970-01-01 00:00:01", lambda v: -2 <= v <= 1),
    (TIMES, "1969-12-31 23:59:58.5..1970-01-01 00:00:00.5", lambda v: -1 <= v <= 0),
    (TIMES, "..1969-12-31 23:59:30", lambda v: -60 <= v <= -30),
    ({"kind": "categorical", "values": ["u", "v", "w"], "missing": True}, "u|w", "uw".__contains__),
    ({"kind": "categorical", "values": [1, 2, 5], "missing": "-"}, "2..9", lambda v: v in (2, 5)),
    ({"kind": "boolean", "missing": True}, "missing", lambda v: v is None),
    ({"kind": "integer", "min": 0, "max": 99, "bins": 3}, "7|50..52", {7, 50, 51, 52}.__contains__),
]


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize(("entry", "text", "fits"), CASES, ids=[text for _, text, _ in CASES])
def test_conditions_as_written_on_the_command_line(
    entry: dict[str, Any], text: str, fits: Callable[[Any], bool], how: How
) -> None:
    model = model_of(schema_of(x=entry, y={"kind": "boolean"}))
    wanted = parse_conditions([f"x={text}"], model.schema)["x"]
    values = drawn(model, wanted, how)
    assert len(values) == 300
    assert all(map(fits, values)), set(values)


@pytest.mark.parametrize("how", WAYS)
def test_values_that_fit_are_all_drawn_and_evenly(how: How) -> None:
    """A condition must not lose values either: 20 and 21 of the first bin, all of the second, 44 of
    the third.
    """
    entry = {"kind": "integer", "min": 0, "max": 65, "bins": 3}
    values = drawn(model_of(schema_of(x=entry)), (20, 44), how, rows=50_000)
    counts = np.bincount(values, minlength=66)
    assert counts[:20].sum() == counts[45:].sum() == 0
    # 25 values, 2,000 rows each; six deviations of independent rows.
    assert np.abs(counts[20:45] - 2000).max() < 6 * math.sqrt(2000)


def test_a_range_whose_ends_are_the_wrong_way_round_is_empty() -> None:
    """Also inside one step of the last decimal."""
    schema = schema_of(x={"kind": "real", "min": 0, "max": 3, "bins": 3, "decimals": 2})
    with pytest.raises(InputError, match="No value of 'x' fits"):
        model_of(schema).sample(5, given={"x": (1.236, 1.234)})


def test_a_bin_that_is_cut_by_less_than_a_float_shows_is_cut() -> None:
    attribute = schema_of(x={"kind": "real", "min": 0, "max": 2, "bins": 2})["x"]
    cut = Subset(attribute, ((1e-20, 1.0),))
    assert cut.shares().tolist() == [1.0, 0.0]
    assert cut.cuts_a_bin
    assert not Subset(attribute, ((0.0, 1.0),)).cuts_a_bin
