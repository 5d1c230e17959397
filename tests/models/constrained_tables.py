"""Tables with rules between their columns, and networks with random constraints."""

from __future__ import annotations

from typing import Any

import numpy as np

from understudy import Model, Schema
from understudy.data.encoding import Coded, encode
from understudy.data.tables import Column, Table
from understudy.models.network import Network
from understudy.privacy.ledger import Ledger

LOANS: dict[str, Any] = {
    "value": {"kind": "integer", "min": 0, "max": 499_999, "bins": 20},
    "mortgage": {"kind": "integer", "min": 0, "max": 499_999, "bins": 16, "missing": True},
    "rate": {"kind": "real", "min": 0, "max": 10, "bins": 10, "decimals": 2},
    "start": {"kind": "date", "min": "2015-01-01", "max": "2024-12-31", "bins": 20},
    "end": {"kind": "date", "min": "2015-01-01", "max": "2034-12-31", "bins": 16},
    "school": {"kind": "categorical", "values": ["none", "primary", "secondary", "college"]},
    "years": {"kind": "integer", "min": 0, "max": 20, "bins": 7},
    "sex": {"kind": "categorical", "values": ["m", "f"]},
    "pregnant": {"kind": "boolean", "missing": "?"},
    "state": {"kind": "categorical", "values": ["NY", "CA", "WA", "MA"]},
    "region": {"kind": "categorical", "values": ["East", "West"]},
    "level": {"kind": "categorical", "values": [0, 1, 2, 3]},
    "payment": {"kind": "real", "decimals": 2},
}

RULES: list[dict[str, Any]] = [
    {"inequality": "mortgage <= value"},
    {"inequality": "start < end"},
    {"inequality": "end - start <= 3653"},
    {"when": {"school": ["none", "primary"]}, "then": "years <= 6"},
    {"when": {"school": "college"}, "then": {"years": {"min": 11}}},
    {"forbidden": {"sex": "m", "pregnant": True}},
    {
        "combinations": ["state", "region"],
        "only": [["NY", "East"], ["MA", "East"], [["CA", "WA"], "West"]],
    },
    {
        "dependency": "school -> level",
        "mapping": {"none": 0, "primary": 1, "secondary": 2, "college": 3},
    },
    {"formula": "payment = mortgage * rate / 1200"},
]

SCHEMA = Schema.from_dict({"attributes": LOANS, "constraints": RULES})


def loans(rows: int = 4_000, seed: int = 0) -> Table:
    """Rows that keep all rules but a few: two in a hundred have a mortgage above the value."""
    rng = np.random.default_rng(seed)
    value = np.minimum(np.exp(rng.normal(11.5, 0.6, rows)), 490_000).astype(np.int64)
    mortgage = (value * rng.beta(4, 2, rows)).astype(np.int64)
    mortgage = np.where(rng.random(rows) < 0.02, np.minimum(value + 9_000, 499_999), mortgage)
    start = rng.integers(16_436, 20_000, rows)
    end = start + 1 + rng.integers(0, 3_650, rows)
    level = rng.choice(4, rows, p=[0.1, 0.2, 0.4, 0.3])
    years = np.select(
        [level == 0, level == 1, level == 2],
        [rng.integers(0, 3, rows), rng.integers(3, 7, rows), rng.integers(7, 14, rows)],
        rng.integers(11, 21, rows),
    )
    sex = rng.integers(0, 2, rows)
    state = rng.choice(4, rows, p=[0.4, 0.3, 0.1, 0.2])
    region = np.isin(state, [1, 2]).astype(np.int64)
    words = LOANS["school"]["values"], LOANS["sex"]["values"], LOANS["state"]["values"]
    columns = {
        "value": Column("integer", value),
        "mortgage": Column("integer", mortgage, missing=(rng.random(rows) < 0.1).astype(np.uint8)),
        "rate": Column("real", np.round(rng.gamma(4, 1, rows), 2)),
        "start": Column("date", start),
        "end": Column("date", end),
        "school": Column("text", level, tuple(words[0])),
        "years": Column("integer", years),
        "sex": Column("text", sex, tuple(words[1])),
        "pregnant": Column("boolean", (sex == 1) & (rng.random(rows) < 0.1)),
        "state": Column("text", state, tuple(words[2])),
        "region": Column("text", region, ("East", "West")),
        "level": Column("integer", level),
        "payment": Column("real", np.zeros(rows)),
    }
    return Table(columns, "The loans")


def texts(column: Column) -> np.ndarray:
    """The texts of a column."""
    return np.array(column.words)[column.values]


def broken_rules(table: Table) -> dict[str, int]:
    """In how many rows each rule is broken, told without the code under test."""
    c = table.columns
    mortgage = np.where(c["mortgage"].missing > 0, -1, c["mortgage"].values)
    school, years, level = texts(c["school"]), c["years"].values, c["level"].values
    pregnant = c["pregnant"].values & ~(c["pregnant"].missing > 0)
    pairs = list(zip(texts(c["state"]), texts(c["region"]), strict=True))
    allowed = {("NY", "East"), ("MA", "East"), ("CA", "West"), ("WA", "West")}
    due = np.round(c["mortgage"].values * c["rate"].values / 1200, 2)
    wrong = np.abs(np.where(c["payment"].missing > 0, due, c["payment"].values) - due) > 0.006
    absent = (c["payment"].missing > 0) != (c["mortgage"].missing > 0)
    found = {
        "mortgage": mortgage > c["value"].values,
        "order": c["start"].values >= c["end"].values,
        "length": c["end"].values - c["start"].values > 3653,
        "primary": np.isin(school, ["none", "primary"]) & (years > 6),
        "college": (school == "college") & (years < 11),
        "pregnant": (texts(c["sex"]) == "m") & pregnant,
        "region": np.array([pair not in allowed for pair in pairs], dtype=bool),
        "level": np.array(LOANS["school"]["values"])[level] != school,
        "payment": wrong | absent,
    }
    return {name: int(mask.sum()) for name, mask in found.items() if mask.any()}


def coded_loans(rows: int = 4_000, seed: int = 0) -> Coded:
    """The loans as codes."""
    return encode(loans(rows, seed), SCHEMA)


def model_of(network: Network, schema: Schema, rows: int = 1000) -> Model:
    """A model of a network that no method made."""
    return Model({"name": "none"}, schema, network, Ledger(0.0, 0.0, "add_remove"), rows)
