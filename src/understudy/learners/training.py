"""From a table to a trained model: the way of every release, with a learner at its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from understudy.data.cells import CellEncoder
from understudy.data.columns import Column, Table
from understudy.data.files import read_json, write_json
from understudy.data.forms import Form, load_facts
from understudy.data.frames import Frame, Library, as_table
from understudy.data.read_options import Reading, join_reading
from understudy.data.schema import Quantity, Schema
from understudy.errors import InputError
from understudy.learners.estimator import Classifier, Learner
from understudy.learners.kmeans import KMeans
from understudy.learners.linear import LinearRegression, Ridge
from understudy.learners.logistic import LogisticRegression
from understudy.learners.naive_bayes import CategoricalNB, GaussianNB
from understudy.learners.pca import PCA
from understudy.privacy.budget import Budget, Currency, Neighbours
from understudy.privacy.curator import Curator
from understudy.privacy.ledger import Ledger, LedgerFile
from understudy.release.callbacks import Notify, Progress, no_progress, warn_owner
from understudy.release.pipeline import Release
from understudy.release.sources import MemorySource, Source, open_source

from sklearn.base import TransformerMixin, clone  # isort: skip

TRAINED_MODEL_VERSION = 1

LEARNERS: dict[str, type[Learner]] = {
    "logistic": LogisticRegression,
    "gaussian-nb": GaussianNB,
    "categorical-nb": CategoricalNB,
    "linear": LinearRegression,
    "ridge": Ridge,
    "kmeans": KMeans,
    "pca": PCA,
}
"""The learners by the names that the command line and model files have for them."""

NOT_KEPT = (
    *("bounds", "target_bounds", "classes", "privacy_classes", "categories"),
    *("ledger", "noise"),
)
"""Parameters that a model does not hold: the schema says it, or they belong to the fit."""


def find_learner(name: str) -> type[Learner]:
    """The learner of a name."""
    if name not in LEARNERS:
        raise InputError(f"There is no learner {name!r}; known are {', '.join(LEARNERS)}.")
    return LEARNERS[name]


def register_learner(name: str, kind: type[Learner]) -> None:
    """Give a learner of another room a name in model files."""
    LEARNERS[name] = kind


def learner_name(learner: Learner) -> str:
    """What a learner is called."""
    for name, kind in LEARNERS.items():
        if type(learner) is kind:
            return name
    raise InputError(f"{type(learner).__name__} has no name that a model could give it.")


# --------------------------------------------------------------------------- the model


@dataclass(frozen=True, kw_only=True)
class TrainedModel:
    """A learner that was fitted to a table, with what is public about it and its ledger.

    Parameters
    ----------
    learner
        The fitted learner.
    schema
        What is public about the table.
    target
        The column that is predicted, where one is.
    ledger
        What the fit cost.
    library
        Whose data frame the table came in.
    """

    learner: Learner
    schema: Schema
    target: str | None
    ledger: Ledger
    library: Library = "table"

    @property
    def name(self) -> str:
        """What the learner is called."""
        return learner_name(self.learner)

    def predict(self, table: Frame, **reading: Unpack[Reading]) -> Table:
        """What the model says of each row of a table: one column, or one per component."""
        rows, _ = as_table(table, **reading)
        features = self.learner.design_.read(rows, self.schema)
        if not len(features):  # learners take one row at least, and a table may have none
            return self._predict(np.zeros((1, features.shape[1]))).take(np.zeros(0, np.int64))
        return self._predict(features)

    def _predict(self, features: NDArray[Any]) -> Table:
        if isinstance(self.learner, TransformerMixin) and not hasattr(self.learner, "predict"):
            found = self.learner.transform(features)
            columns = {f"component {i + 1}": _column(part) for i, part in enumerate(found.T)}
        else:
            name = self.target or "cluster"
            columns = {name: self._write(self.learner.predict(features))}
        return Table(columns, "The predictions")

    def _write(self, found: NDArray[Any]) -> Column:
        """Predictions as the target stands in tables: a date is written as one."""
        attribute = self.target and self.schema[self.target]
        if isinstance(attribute, Quantity) and attribute.is_moment:
            found = np.array([attribute.write(number) for number in np.rint(found).tolist()])
        return _column(found)

    def score(self, table: Frame, **reading: Unpack[Reading]) -> dict[str, float]:
        """How well the model predicts rows that it was not fitted to; rows without a target do not
        count. Exact, of these rows, and free: not for publication where they are private.
        """
        rows, _ = as_table(table, **reading)
        if self.target is None:
            raise InputError(f"A model by {self.name} predicts no column, so it has no score.")
        if self.target not in rows.columns:
            raise InputError(f"{rows.source} has no column {self.target!r} to compare with.")
        truth, known = self._truth(rows)
        if not known.any():
            raise InputError(f"{rows.source} has no row with a {self.target!r} to compare with.")
        features = self.learner.design_.read(rows, self.schema)[known]
        found = self.learner.predict(features)
        if isinstance(self.learner, Classifier):
            return {"rows": int(known.sum()), "accuracy": float(np.mean(found == truth[known]))}
        apart = truth[known] - found
        spread = truth[known] - truth[known].mean()
        squares = float(spread @ spread)
        return {
            "rows": int(known.sum()),
            "R2": 1 - float(apart @ apart) / squares if squares else float("nan"),
            "mean squared error": float(np.mean(apart**2)),
        }

    def _truth(self, rows: Table) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        assert self.target is not None
        attribute = self.schema[self.target]
        encoder = CellEncoder(attribute, rows.columns[self.target])
        if isinstance(self.learner, Classifier):
            codes = encoder.codes()
            known = codes < len(self.learner.classes_)
            return self.learner.classes_[np.where(known, codes, 0)], known
        assert isinstance(attribute, Quantity)
        numbers = encoder.numbers()
        return numbers, ~(encoder.absent | encoder.unreadable)

    def save(self, path: str | Path) -> None:
        """Write the model to a JSON file."""
        write_json(path, self.to_dict(), "model")

    @classmethod
    def load(cls, path: str | Path) -> TrainedModel:
        """Read a model file; nothing in it is executed, and everything in it is checked."""
        return cls.from_dict(read_json(path, "model"), f"The model {path}")

    def to_dict(self) -> dict[str, Any]:
        """The model as it stands in a file."""
        parameters = self.learner.get_params(deep=False)
        return {
            "understudy_learner": TRAINED_MODEL_VERSION,
            "learner": self.name,
            "parameters": {
                name: value for name, value in parameters.items() if name not in NOT_KEPT
            },
            "target": self.target,
            "schema": self.schema.to_dict(),
            "released": self.learner.list_released(),
            "ledger": self.ledger.to_dict(),
        }

    @classmethod
    def from_dict(cls, document: Any, source: str = "The model") -> TrainedModel:
        """Check a parsed model file and build the model."""
        if isinstance(document, Mapping) and "understudy_model" in document:
            raise InputError(
                f"{source} is a model of a table, which predicts no column; understudy learn makes "
                "one that does."
            )
        if not isinstance(document, Mapping) or "understudy_learner" not in document:
            raise InputError(f"{source} is not a model that predicts; is it the right file?")
        if document["understudy_learner"] != TRAINED_MODEL_VERSION:
            raise InputError(
                f"{source} has a format that is not known: {document['understudy_learner']!r}; "
                "perhaps a newer understudy wrote it."
            )
        try:
            schema = Schema.from_dict(document.get("schema"), "its schema")
            ledger = Ledger.from_dict(document.get("ledger"))
            target = document.get("target")
            if target is not None and not isinstance(target, str):
                raise InputError("its target is not a name")
            learner = _make_learner(document.get("learner"), document.get("parameters"))
            learner.restore(schema, target, document.get("released"), ledger)
        except InputError as error:
            cause = str(error).rstrip(".")
            raise InputError(f"{source} cannot be used: {cause}.") from error
        return cls(learner=learner, schema=schema, target=target, ledger=ledger)


def _make_learner(name: Any, parameters: Any) -> Learner:
    if not isinstance(name, str) or not isinstance(parameters, Mapping):
        raise InputError("it does not say by which learner it was made")
    kind = find_learner(name)
    known = set(kind().get_params(deep=False)) - set(NOT_KEPT)
    if set(parameters) != known:
        raise InputError(f"its parameters are not those of {name}")
    if any(isinstance(value, list | dict) for value in parameters.values()):
        raise InputError("a parameter of it is not a plain value")
    return kind(**parameters)


def _column(values: NDArray[Any]) -> Column:
    if values.dtype.kind in "US":
        words, places = np.unique(values, return_inverse=True)
        return Column("text", places.astype(np.uint32), tuple(map(str, words)))
    if values.dtype.kind == "b":
        return Column("boolean", values)
    if values.dtype.kind in "iu":
        return Column("integer", values.astype(np.int64))
    return Column("real", values.astype(np.float64))


# --------------------------------------------------------------------------- training


def learn(
    learner: Learner,
    table: Frame,
    schema: Schema | Form | str | Path | None = None,
    *,
    target: str | None = None,
    unit: ProtectedUnit | None = None,
    discovery: DiscoveryTerms | None = None,
    engine: str | None = None,
    notify: Notify = warn_owner,
    progress: Progress = no_progress,
    **reading: Unpack[Reading],
) -> TrainedModel:
    """Fit a learner to a table, wherever its rows are.

    Parameters
    ----------
    learner
        The learner with its epsilon, delta and other parameters, among them the owner's ledger
        file, when several releases share one allowance. Bounds and classes come from the schema;
        those of the learner are not looked at. It is not changed.
    table
        A data frame, a file, a folder of files, or a table inside an engine, as for
        :meth:`understudy.Synthesizer.fit`.
    schema
        What is public about the table, or the name of its file. Without one the domain is
        discovered at the cost of a share of the budget.
    target
        The column to predict; k-means and PCA have none.
    unit
        Whom the guarantee protects; by default the presence of any one row.
    discovery
        What discovering the domain may cost, and whether to go on where it finds little.
    engine
        For files, who sums: "memory", "duckdb" or "spark".
    notify, progress
        Called with sentences for the owner's eyes, and with progress.
    reading
        What you say about a file; see :func:`understudy.read_table`.

    Examples
    --------
    >>> from understudy.learners import LogisticRegression, learn
    >>> learner = LogisticRegression(epsilon=1.0)
    >>> model = learn(learner, "p.csv", "p.json", target="sick")  # doctest: +SKIP
    >>> model.predict("new.csv").write("predicted.csv")  # doctest: +SKIP
    """
    file = learner.ledger
    if isinstance(file, Ledger):
        raise InputError("A ledger in memory is for fit(); give a learner in learn() a file.")
    if isinstance(schema, str | Path):
        schema = load_facts(schema)
    if isinstance(file, str | Path):
        file = LedgerFile(file)
    if schema is not None and isinstance(table, str | Path):
        reading = join_reading(schema.reading, reading)
    unit = unit or ProtectedUnit()
    progress("reading", 0, 1)
    with open_source(
        table,
        engine=engine,
        person=unit.person,
        max_rows_per_person=unit.max_rows_per_person,
        notify=notify,
        **reading,
    ) as source:
        # A release is of whatever its method makes: here a trained model.
        copy = clone(learner).set_params(ledger=None)
        method: Any = _Training(
            learner=copy,
            target=target,
            unit=unit,
            source=source,
            terms=discovery or DiscoveryTerms(),
        )
        trained: Any = Release(
            method=method,
            source=source,
            schema=schema,
            ledger_file=file,
            noise=learner.noise,
            notify=notify,
            progress=progress,
        ).run()
        assert isinstance(trained, TrainedModel)
        return trained


@dataclass(frozen=True, kw_only=True)
class ProtectedUnit:
    """Whom a guarantee protects.

    Parameters
    ----------
    neighbours
        "add_remove" (one row more or less) or "replace" (one row changed).
    person
        The column that says whose row it is.
    max_rows_per_person
        How many rows of a person count.
    """

    neighbours: Neighbours = "add_remove"
    person: str | None = None
    max_rows_per_person: int = 1


@dataclass(frozen=True, kw_only=True)
class DiscoveryTerms:
    """How the domain is discovered, where the schema leaves it open.

    Parameters
    ----------
    share
        The share of the budget for it; by default what it needs.
    keep_going
        Whether to go on where the domain cannot be discovered, or not that of every column.
    """

    share: float | None = None
    keep_going: bool = False

    def __post_init__(self) -> None:
        if self.share is not None and not 0 < self.share < 1:
            raise InputError(f"discovery must be a share between 0 and 1, not {self.share!r}.")


@dataclass(frozen=True, kw_only=True)
class _Training:
    """A learner as a release knows methods (:class:`understudy.release.pipeline.ReleaseMethod`)."""

    learner: Learner
    target: str | None
    unit: ProtectedUnit
    source: Source
    terms: DiscoveryTerms

    asks = True
    for_strangers = False
    wants_delta = False
    refinement = 0.0
    renyi_order = None
    accounting: Currency = "rho"

    def __post_init__(self) -> None:
        self.learner.check_parameters()
        self.learner.check_target_given(self.target)  # without a schema, discovery comes first

    @property
    def name(self) -> str:
        return learner_name(self.learner)

    @property
    def discovery(self) -> float | None:
        return self.terms.share

    @property
    def keep_going(self) -> bool:
        return self.terms.keep_going

    @property
    def epsilon(self) -> float:
        return self.learner.epsilon

    @property
    def delta(self) -> float:
        return self.learner.delta

    @property
    def neighbours(self) -> Neighbours:
        return self.unit.neighbours

    @property
    def person(self) -> str | None:
        return self.unit.person

    @property
    def max_rows_per_person(self) -> int:
        return self.unit.max_rows_per_person

    @property
    def named(self) -> frozenset[str]:
        return frozenset([self.target] if self.target is not None else [])

    def journal(self) -> None:
        return None

    def check(self, schema: Schema) -> None:
        self.learner.check_target(schema, self.target)

    def learn(self, curator: Curator, budget: Budget, progress: Progress) -> TrainedModel:
        progress("learning", 0, 1)
        coded = None
        if self.learner.needs_rows and isinstance(self.source, MemorySource):
            coded, _ = self.source.code(curator.schema)
        self.learner.fit_curator(curator, self.target, budget=budget, coded=coded)
        progress("learning", 1, 1)
        return TrainedModel(
            learner=self.learner,
            schema=replace(curator.schema, reading={}),
            target=self.target,
            ledger=curator.ledger,
        )
