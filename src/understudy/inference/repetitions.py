"""The way from rows to a release, repeated with the model in the place of the truth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from understudy.data.tables import Table
from understudy.errors import InputError
from understudy.models.model import Model
from understudy.privacy.mechanisms import SeededNoise
from understudy.release.callbacks import ignore_notes
from understudy.synthesizers import Synthesizer
from understudy.synthesizers.parameters import file_parameters
from understudy.synthesizers.registry import find_method

_ASKED_BY_METHODS = ("table of", "choice among", "draws", "rows drawn")
"""How the questions of methods begin, in a ledger; the others are about the domain."""


def observe(model: Model, *, seed: int = 0) -> Table:
    """Rows of the release, as many as the original has."""
    table: Table = replace(model, library="table").sample(_rows(model), seed=seed)
    return table


def repeat_release(
    model: Model,
    repetitions: int,
    *,
    seed: int = 0,
    change: Callable[[Table, np.random.Generator], Table] | None = None,
) -> Iterator[Table]:
    """Synthetic tables from repetitions of the release, with the model in the place of the truth.

    Parameters
    ----------
    model
        The released model.
    repetitions
        How many tables.
    seed
        Makes them repeatable.
    change
        What is done to the rows in the place of the real ones, such as to make a hypothesis true.
    """
    if isinstance(repetitions, bool) or not isinstance(repetitions, int) or repetitions < 1:
        raise InputError(f"The number of repetitions must be 1 or more, not {repetitions!r}.")
    rows = _rows(model)
    method = same_method(model)
    plain = replace(model, library="table")
    rng = np.random.default_rng(seed)
    for _ in range(repetitions):
        drawn = plain.sample(rows, seed=_new_seed(rng), spread="independent")
        if change is not None:
            drawn = change(drawn, rng)
        noise = SeededNoise(_new_seed(rng))
        fitted = method.fit(drawn, model.schema, noise=noise, notify=ignore_notes)
        yield fitted.sample(rows, seed=_new_seed(rng))


def same_method(model: Model) -> Synthesizer:
    """The method of the model, with the part of the budget that was its own.

    What discovery and refinement spent is in the schema, which stays as it is.
    """
    told = dict(model.method)
    known = find_method(told.pop("name"))
    # A model is a file of somebody else's, and opening one writes to no file that it names.
    names = {parameter.name for parameter in known.parameters} - file_parameters(known.kind)
    shared = ("epsilon", "delta", "neighbours", "max_rows_per_person")
    given = {name: told[name] for name in (*shared, *names) if name in told}
    ledger = model.ledger
    whole = sum(entry.amount for entry in ledger.entries)
    own = sum(e.amount for e in ledger.entries if e.question.startswith(_ASKED_BY_METHODS))
    if 0 < own < whole:
        if ledger.currency == "epsilon":
            given["epsilon"] = given["epsilon"] * own / whole
        else:
            given["epsilon"] = ledger.epsilon_of(own, given["delta"])
    return known.make(**given, refinement=0.0)


def _rows(model: Model) -> int:
    if not model.rows:
        raise InputError(
            "This model does not know how many rows the original has, so nothing can be inferred."
        )
    return model.rows


def _new_seed(rng: np.random.Generator) -> int:
    return int(rng.integers(1 << 31))
