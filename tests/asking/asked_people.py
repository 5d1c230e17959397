"""A small table of people, its schema, and exact answers to compare with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from understudy import Schema
from understudy.asking.domains import hide_other_columns, infer_schema, raw_schema, read_question
from understudy.asking.functions import Function, Priced
from understudy.asking.preparing import prepare
from understudy.data.encoding import encode
from understudy.data.frames import as_table
from understudy.privacy.central import CentralCurator
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import SeededNoise

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "who": {"kind": "identifier"},
            "age": {"kind": "integer", "min": 0, "max": 99, "bins": 10},
            "height": {"kind": "real", "min": 1.0, "max": 2.2, "bins": 4, "missing": True},
            "sex": {"kind": "categorical", "values": ["f", "m"]},
            "town": {
                "kind": "categorical",
                "values": ["Oslo", "Rome", "Ulm"],
                "missing": True,
                "other": "elsewhere",
            },
            "smoker": {"kind": "boolean"},
            "stars": {"kind": "categorical", "values": [1, 2, 3, 5]},
            "seen": {"kind": "date", "min": "2020-01-01", "max": "2020-12-31", "bins": 4},
            "note": {"kind": "text"},
        }
    }
)


def people(rows: int = 400, seed: int = 0) -> pd.DataFrame:
    """Rows with values outside the domain, too: an age of 120, a sex that is not listed."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "who": [f"p{place // 2}" for place in range(rows)],
            "age": rng.integers(18, 90, rows),
            "height": np.round(rng.normal(1.7, 0.1, rows), 3),
            "sex": rng.choice(["f", "m"], rows),
            "town": rng.choice(["Oslo", "Rome", "Ulm", "Paris"], rows),
            "smoker": rng.random(rows) < 0.3,
            "stars": rng.choice([1, 2, 3, 5], rows),
            "seen": pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 366, rows), "D"),
            "note": "free text",
        }
    )
    frame["seen"] = frame["seen"].dt.strftime("%Y-%m-%d")
    frame.loc[:2, "age"] = 120
    frame.loc[3:5, "sex"] = "x"
    frame.loc[10:29, "height"] = np.nan
    frame.loc[30:39, "town"] = None
    return frame


EXACTLY: Any = {"epsilon": 1e9, "noise": SeededNoise(0)}
"""A price at which there is no noise to speak of."""


def function_of(
    text: str, ledger: Ledger, schema: Schema | None = None, rows: int | None = None
) -> Function:
    """A question, priced at the whole budget of a ledger."""
    raw = infer_schema([text]) if schema is None else raw_schema(schema)
    query = read_question(text, raw)
    return prepare(Priced(text=text, query=query, budget=ledger.budget, ledger=ledger, rows=rows))


class Repeatedly:
    """Asks one question again and again, on one coding of the rows."""

    def __init__(
        self, frame: pd.DataFrame, text: str, ledger: Ledger, schema: Schema | None = None
    ) -> None:
        rows = len(frame) if ledger.neighbours == "replace" else None
        self.function = function_of(text, ledger, schema, rows)
        attributes = [codes.coded for codes in self.function.layout.codes.values()]
        table, _ = as_table(frame)
        self.coded = encode(table, hide_other_columns(attributes, table.names))
        self.noise = SeededNoise(7)
        self.promise = {
            "epsilon": ledger.epsilon,
            "delta": ledger.delta,
            "neighbours": ledger.neighbours,
            "currency": ledger.currency,
            "max_rows_per_person": ledger.max_rows_per_person,
        }

    def answers(self, runs: int) -> list[Any]:
        """The answers of all groups, run by run."""
        found = []
        for _ in range(runs):
            curator = CentralCurator(self.coded, Ledger(**self.promise), self.noise)
            heard = [curator.answer(question) for question in self.function.questions()]
            found.append(self.function.read(heard))
        return found
