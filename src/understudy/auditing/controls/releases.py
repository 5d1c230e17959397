"""Whole releases that let something out beside what they paid for."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from understudy.auditing.control import Control
from understudy.auditing.controls.pairs import (
    CONSTANT,
    NO_MARK,
    ODD_CELL,
    ONE_MISSING,
    THIRD_NUMBER,
    constant_pair,
)
from understudy.auditing.discovery import names_beside, names_numbers
from understudy.auditing.doors import exact_loss
from understudy.auditing.neighbours import Pair, refinement_pairs
from understudy.auditing.unknown_pairs import (
    beside_word_pairs,
    odd_cell_pairs,
    shared_number_pairs,
)
from understudy.counting.partition import Tally
from understudy.data.encoding import encode
from understudy.data.schema import Schema
from understudy.data.tables import MARKS, Column, Table
from understudy.models.model import Model
from understudy.privacy.discovery import discover
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import Noise
from understudy.privacy.refinement import refine
from understudy.release.callbacks import ignore_notes
from understudy.synthesizers.independent import Independent


def fit_loss(epsilon: float, exact_rows: bool) -> float:
    """The exact loss of a whole fit; with ``exact_rows`` their number stands in the model, beside
    its noisy tables.
    """
    pair = constant_pair("add_remove")

    def run(table: Table, noise: Noise) -> Model:
        model = Independent(epsilon=epsilon).fit(table, pair.schema, noise=noise)
        if exact_rows:
            return replace(model, method={**model.method, "fitted_on": table.rows})
        return model

    return exact_loss(run, pair).epsilon


def types_loss(epsilon: float, private_types: bool) -> float:
    """The exact loss of a release of rows; with ``private_types`` in the types of the private
    columns.

    One missing value makes a column of integers one of floats in pandas.
    """
    schema = Schema.from_dict({"attributes": {"n": {"kind": "integer", "min": 0, "max": 3}}})
    values = np.arange(40) % 4
    missing = np.zeros(41, dtype=np.uint8)
    missing[-1] = 1
    pair = Pair(
        Table({"n": Column("integer", values)}),
        Table({"n": Column("integer", np.append(values, 0), missing=missing)}),
        schema,
        name=ONE_MISSING,
    )

    def run(table: Table, noise: Noise) -> NDArray[np.int64] | NDArray[np.float64]:
        model = Independent(epsilon=epsilon).fit(table, schema, noise=noise, notify=ignore_notes)
        released: NDArray[np.int64] = model.sample(20, seed=0).columns["n"].values
        if private_types and table.columns["n"].missing is not None:
            return released.astype(np.float64)
        return released

    return exact_loss(run, pair).epsilon


def kinds_loss(epsilon: float, read_for_free: bool) -> float:
    """The exact loss of discovery; with ``read_for_free`` all cells tell whether a column is one of
    numbers.
    """
    pair = odd_cell_pairs("add_remove")[0]

    def run(table: Table, noise: Noise) -> object:
        ledger = Ledger(epsilon, 1e-12, threshold_delta=1e-12)
        schema = discover(table, ledger, ledger.budget, 1e-12, noise)
        if read_for_free:
            return schema, all(word.isdigit() for word in table.columns["x"].words)
        return schema

    return exact_loss(run, pair).epsilon


def beside_loss(epsilon: float, twice: bool) -> float:
    """The exact loss of naming words beside a vocabulary; with ``twice`` a mark for a missing value
    counts as one of these words, too, so that its row is in two cells.
    """
    (pair,) = (pair for pair in beside_word_pairs("add_remove") if pair.name == NO_MARK)

    def count_twice(tally: Tally) -> None:
        tally.words["another word"] = int(tally.missing[MARKS.index("n/a")])

    spoil = None
    if twice:
        spoil = count_twice
    return exact_loss(names_beside(epsilon, pair, spoil), pair).epsilon


def numbers_loss(epsilon: float, twice: bool) -> float:
    """The exact loss of naming numbers that many rows share; with ``twice`` each counts once more,
    rounded, so that its row is in two cells.
    """
    (pair,) = (pair for pair in shared_number_pairs("add_remove") if pair.name == THIRD_NUMBER)

    def count_twice(tally: Tally) -> None:
        for form in tally.formats.values():
            form.values += [(np.rint(numbers), weights) for numbers, weights in form.values]

    spoil = None
    if twice:
        spoil = count_twice
    return exact_loss(names_numbers(epsilon, pair, spoil), pair).epsilon


def refinement_loss(epsilon: float, exact_step: bool) -> float:
    """The exact loss of learning the inside of bins; with ``exact_step`` the step is the coarsest
    one that all numbers lie on, read off the rows.
    """
    pair = refinement_pairs("add_remove")[0]
    schema = pair.schema
    assert schema is not None

    def run(table: Table, noise: Noise) -> Schema:
        known = schema
        if exact_step:
            amounts = table.columns["amount"].values
            step = next(step for step in (1000, 100, 10, 1) if not (amounts % step).any())
            document = schema.to_dict()
            document["attributes"]["amount"] |= {"step": step}
            known = Schema.from_dict(document)
        ledger = Ledger(epsilon, neighbours=pair.neighbours)
        return refine(known, partial(encode, table), ledger, ledger.budget, noise)

    return exact_loss(run, pair).epsilon


def release_controls() -> tuple[Control, ...]:
    """Of whole releases."""
    return (
        Control(
            "the exact number of rows stands in the model",
            "a temptation of ours",
            CONSTANT,
            1.0,
            exact=lambda: fit_loss(1.0, True),
        ),
        Control(
            "rows in the types of the private frame",
            "a slip of ours",
            ONE_MISSING,
            1.0,
            exact=lambda: types_loss(1.0, True),
        ),
        Control(
            "a step that all numbers lie on, read off the rows",
            "a temptation of ours",
            "one amount beside the grid",
            1.0,
            exact=lambda: refinement_loss(1.0, True),
        ),
        Control(
            "the kind of a column told from all of its cells",
            "ours, before it was paid for",
            ODD_CELL,
            1.0,
            exact=lambda: kinds_loss(1.0, True),
        ),
        Control(
            "a mark for a missing value is a word beside the vocabulary, too",
            "a slip that ours could make",
            NO_MARK,
            1.0,
            exact=lambda: beside_loss(1.0, True),
        ),
        Control(
            "a shared number counts rounded, too",
            "a slip that ours could make",
            THIRD_NUMBER,
            1.0,
            exact=lambda: numbers_loss(1.0, True),
        ),
    )
