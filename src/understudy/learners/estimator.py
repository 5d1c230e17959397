"""What all learners share: scikit-learn's contract on the outside, a curator on the inside."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from understudy.data.columns import Column, Table
from understudy.data.encoding import Coded
from understudy.data.schema import Attribute, Category, Schema
from understudy.errors import InputError
from understudy.learners.asking import Asked, class_labels
from understudy.learners.design import Design, Matrix, numbers_column, quantity
from understudy.learners.pipelines import refuse_fitted_steps, refuse_free_choices
from understudy.learners.rehearsal import rehearsal_curators
from understudy.learners.values import (
    check_classes,
    find_places,
    read_cells,
    read_numbers,
    refuse_objects,
)
from understudy.privacy.budget import Budget, Currency, check_delta, check_epsilon, exact, rho_of
from understudy.privacy.central import CentralCurator
from understudy.privacy.curator import Curator
from understudy.privacy.ledger import Ledger, LedgerFile
from understudy.privacy.mechanisms import Noise
from understudy.privacy.sums import MAX_FEATURES
from understudy.release.callbacks import warn_owner
from understudy.release.reservations import reserve
from understudy.release.sources import MemorySource

try:
    from sklearn.base import BaseEstimator, clone
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data
except ImportError as error:
    raise ImportError(
        "understudy.learners needs scikit-learn 1.6 or later; install it by `pip install "
        "understudy[learners]`."
    ) from error

LedgerLike = Ledger | LedgerFile | str | Path | None

OBSERVED = "observed"
"""Classes that the caller takes as public: those that stand in y."""

OBSERVED_CLASSES = "which classes there are"
COLUMNS_OF_X = "the number, names and types of the columns of X"
BOUNDS = "the bounds of the features"


@dataclass(eq=False, repr=False)
class Learner(BaseEstimator):
    """A learner that only asks a curator, or pays before it looks.

    ``fit(X, y)`` takes arrays or data frames of numbers. ``fit_curator`` asks any curator: of a
    table in memory, in an engine, or of several holders. Parameters are fields, declared once; the
    constructor that scikit-learn asks for is made of them.
    """

    epsilon: float = 1.0
    delta: float = 0.0
    _: KW_ONLY
    ledger: LedgerLike = None
    noise: Noise | None = None

    supervised: ClassVar[bool] = False

    # ---- what a learner says for itself

    @abstractmethod
    def _learn(self, asked: Asked) -> None:
        """Ask, and set what is fitted."""

    @abstractmethod
    def _design_of_arrays(self, names: Sequence[str]) -> Design:
        """The features of the columns of X."""

    def _design_of_schema(self, schema: Schema, target: str | None) -> Design:
        """The features of a table."""
        return Design.from_schema(schema, target)

    @abstractmethod
    def _shapes(self) -> dict[str, tuple[int, ...]]:
        """What is released, by the names of the attributes that hold it, and the shapes of these;
        known from the design and the classes.
        """

    def _complete(self) -> None:
        """Work out what follows from what is released."""

    def _check_parameters(self) -> None:
        """Refuse parameters of the learner's own."""

    def _check_design(self, design: Design) -> None:
        """Refuse more features than a curator sums, before anything is paid."""
        if len(design) >= MAX_FEATURES:
            raise InputError(
                f"{type(self).__name__} takes fewer than {MAX_FEATURES:,} features, not "
                f"{len(design):,}; leave some columns out."
            )

    def _target_of_array(self, name: str, y: Any) -> tuple[Attribute, Column] | None:
        """The target of an array y, as a column with what is public about it."""
        return None

    def _attribute(self, name: str, lower: float, upper: float) -> Attribute:
        """What is public about a column of X."""
        return quantity(name, lower, upper)

    def _column(self, numbers: Matrix) -> Column:
        """A column of X, as a table has it."""
        return numbers_column(numbers)

    # ---- fitting

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803 - scikit-learn's name
        """Learn from private rows.

        Parameters
        ----------
        X
            Rows of numbers. What is not a number counts as the middle of the bounds, and what lies
            outside them as the nearest bound.
        y
            What is to be predicted, where there is something.
        """
        self.check_parameters()
        refuse_fitted_steps()
        if self.noise is None or self.noise.private:
            refuse_free_choices()
        rows, y = self._check_arrays(X, y)
        names = self._names()
        design = self._design_of_arrays(names)
        self._check_design(design)
        columns = {name: self._column(rows[:, place]) for place, name in enumerate(names)}
        attributes = [self._attribute(f.name, f.lower, f.upper) for f in design.features]
        target = _free_name("y", names)
        found = self._target_of_array(target, y)
        if found is None:
            target_name = None
        else:
            target_name = target
            attributes.append(found[0])
            columns[target] = found[1]
        schema = Schema(tuple(attributes))
        source = MemorySource(Table(columns, "X"), "table", None, 1)
        coded, notes = source.code(schema)
        for note in notes:
            warn_owner(note)
        with self._open_ledger(source) as (ledger, budget):
            curator = CentralCurator(coded, ledger, self.noise)
            self._ask(
                Asked(
                    curator=curator,
                    design=design,
                    budget=budget,
                    target=target_name,
                    coded=coded,
                    noise=self.noise,
                )
            )
        return self

    def fit_curator(
        self,
        curator: Curator,
        target: str | None = None,
        *,
        budget: Budget | None = None,
        coded: Coded | None = None,
    ) -> Self:
        """Learn from the rows of a curator, wherever they are.

        Parameters
        ----------
        curator
            Who is asked; its schema gives the public bounds, and its ledger is debited.
        target
            The column to predict.
        budget
            What may be spent; by default all that is left in the ledger.
        coded
            The same rows in memory, for solvers that perturb.
        """
        self._check_parameters()
        self.check_target(curator.schema, target)
        design = self._design_of_schema(curator.schema, target)
        self.n_features_in_ = len(design)
        self._ask(
            Asked(
                curator=curator,
                design=design,
                budget=budget or curator.ledger.left,
                target=target,
                coded=coded,
                noise=self.noise,
            )
        )
        return self

    def _ask(self, asked: Asked) -> None:
        self.design_ = asked.design
        self._set_target(asked.schema, asked.target)
        self._rehearse(asked)
        self._learn(asked)
        self._complete()
        self.ledger_ = asked.curator.ledger

    def _rehearse(self, asked: Asked) -> None:
        """Refuse a budget that a later question could not be answered for, before the first one is
        paid. Solvers that need rows price everything at once.
        """
        if self.needs_rows:
            return
        for curator in rehearsal_curators(asked.curator):
            understudy = object.__new__(type(self))  # a copy that may forget what it learns
            understudy.__dict__.update(self.__dict__)
            understudy._learn(replace(asked, curator=curator))

    @property
    def needs_rows(self) -> bool:
        """Whether the learner reads rows in memory, once it has paid for everything."""
        return False

    def _set_target(self, schema: Schema, target: str | None) -> None:
        """Take over what is public about the target."""

    def check_parameters(self) -> None:
        """Refuse parameters that no rows could make sense of."""
        check_epsilon(self.epsilon)
        check_delta(self.delta)
        self._check_parameters()

    def check(self, schema: Schema, target: str | None) -> None:
        """Refuse what does not go together, before anything is asked."""
        self.check_parameters()
        self.check_target(schema, target)

    def check_target(self, schema: Schema, target: str | None) -> None:
        """Refuse a target that does not go with the learner; reads nothing private."""
        self.check_target_given(target)
        if target is not None and not schema[target].modelled:
            raise InputError(
                f"The target {target!r} is of kind {schema[target].kind}: it is never read."
            )
        self._check_design(self._design_of_schema(schema, target))

    def check_target_given(self, target: str | None) -> None:
        """Refuse a target where none is predicted, and none where one is."""
        if self.supervised != (target is not None):
            raise InputError(_target_sentence(type(self).__name__, supervised=self.supervised))

    # ---- model files

    def list_released(self) -> dict[str, Any]:
        """What a fit released, as plain numbers."""
        check_is_fitted(self)
        return {name: np.asarray(getattr(self, name)).tolist() for name in self._shapes()}

    def restore(self, schema: Schema, target: str | None, released: Any, ledger: Ledger) -> Self:
        """Become what was fitted and released, once it is checked."""
        self._check_parameters()
        self.check_target(schema, target)
        self.design_ = self._design_of_schema(schema, target)
        self.n_features_in_ = len(self.design_)
        self._set_target(schema, target)
        shapes = self._shapes()
        if not isinstance(released, dict) or set(released) != set(shapes):
            raise InputError("what it released is not what its learner releases")
        for name, shape in shapes.items():
            setattr(self, name, read_numbers(name, released[name], shape))
        self._complete()
        self.ledger_ = ledger
        return self

    def _check_arrays(self, X: Any, y: Any) -> tuple[Matrix, Any]:  # noqa: N803
        """X as numbers, y as it is; their types are refused, never their values."""
        if isinstance(X, list | tuple):
            X = read_cells(X)  # noqa: N806
        refuse_objects(X)
        X = validate_data(  # noqa: N806
            self, X, dtype=np.float64, ensure_all_finite=False, ensure_min_samples=1
        )
        if not self.supervised:
            return X, None
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        y = column_or_1d(self._target_cells(y), warn=True)
        if len(y) != len(X):
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: {[len(X), len(y)]}"
            )
        return X, y

    def _target_cells(self, y: Any) -> Any:
        """A list of targets with each as it stands there: NumPy would turn all of them into texts
        because of one.
        """
        if not isinstance(y, list | tuple):
            return y
        cells = np.empty(len(y), dtype=object)
        for place, cell in enumerate(y):
            cells[place] = cell
        return cells

    def _names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            return [f"x{place}" for place in range(self.n_features_in_)]
        return [str(name) for name in names]

    def _scale(self, X: Any) -> Matrix:  # noqa: N803
        """Rows to predict, scaled as those that were fitted."""
        check_is_fitted(self)
        X = validate_data(  # noqa: N806
            self, X, dtype=np.float64, ensure_all_finite=False, reset=False
        )
        return self.design_.scale(X)

    # ---- the ledger

    @contextmanager
    def _open_ledger(self, source: MemorySource) -> Iterator[tuple[Ledger, Budget]]:
        """The ledger of a fit and what it may spend; a file is reserved first, settled last."""
        shared = self.ledger
        public = self._list_public()
        if isinstance(shared, Ledger):
            shared.taken_as_public = tuple(dict.fromkeys((*shared.taken_as_public, *public)))
            yield shared, self._price(shared)
            return
        currency: Currency = "epsilon"
        if self.delta:
            currency = "rho"
        ledger = Ledger(self.epsilon, self.delta, currency=currency)
        ledger.taken_as_public = public
        if shared is None:
            yield ledger, ledger.left
            return
        file = shared
        if not isinstance(file, LedgerFile):
            file = LedgerFile(file)
        if self.noise is not None and not self.noise.private:
            raise InputError("Seeded noise protects nobody; it does not belong into a ledger file.")
        fingerprint = source.fingerprint(file.key())
        file.check_table(fingerprint)
        with reserve(file, type(self).__name__, ledger, fingerprint):
            yield ledger, ledger.left

    def _price(self, ledger: Ledger) -> Budget:
        """What a fit costs on a ledger that it shares: in rho, as much as this epsilon with the
        ledger's delta would have bought.
        """
        if ledger.currency == "epsilon":
            price = Budget(float(self.epsilon), "epsilon")
        else:
            price = Budget(rho_of(float(self.epsilon), ledger.conversion_delta), "rho")
        if exact(price.amount) > exact(ledger.left.amount):
            ledger.debit(type(self).__name__, price, "")  # refuses, and says what is left
        return price

    def _list_public(self) -> tuple[str, ...]:
        return (COLUMNS_OF_X, BOUNDS)

    # ---- scikit-learn

    def __sklearn_tags__(self) -> Any:
        """What the learner can do, for scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.non_deterministic = True
        tags.target_tags.required = self.supervised
        return tags

    def __sklearn_clone__(self) -> Self:
        """A copy that is not fitted, on the same ledger: a copy of that would be money printed."""
        shared = {"ledger", "noise"}
        parameters = {
            name: value if name in shared else clone(value, safe=False)
            for name, value in self.get_params(deep=False).items()
        }
        return type(self)(**parameters)

    def __getstate__(self) -> Any:
        """What is pickled or copied; a ledger in memory cannot be in two places."""
        if isinstance(self.__dict__.get("ledger"), Ledger):
            raise InputError(
                "A learner with a ledger in memory cannot be copied or sent to another process, "
                "where it would be debited twice; use a ledger file."
            )
        return super().__getstate__()


@dataclass(eq=False, repr=False)
class Classifier(Learner):
    """A learner of classes."""

    _: KW_ONLY
    classes: Any = None
    supervised = True

    def _target_of_array(self, name: str, y: Any) -> tuple[Attribute, Column]:
        """Labels as codes; one that is not listed counts as the last class."""
        if isinstance(self.classes, str) and self.classes == OBSERVED:
            check_classification_targets(y)
            classes = np.unique(y)
        else:
            classes = check_classes(self.classes)
        self._labels = classes
        if len(classes) < 2:
            raise ValueError(
                f"The classes are {classes.tolist()}: a classifier needs more than one class."
            )
        codes = find_places(classes, np.asarray(y))
        attribute = Category(name, "categorical", None, tuple(range(len(classes))))
        return attribute, Column("integer", codes)

    def _target_cells(self, y: Any) -> Any:
        if isinstance(self.classes, str) and self.classes == OBSERVED:
            return y  # all of them are public
        return super()._target_cells(y)

    def _list_public(self) -> tuple[str, ...]:
        if isinstance(self.classes, str) and self.classes == OBSERVED:
            return (COLUMNS_OF_X, BOUNDS, OBSERVED_CLASSES)
        return (COLUMNS_OF_X, BOUNDS)

    def check_target(self, schema: Schema, target: str | None) -> None:
        """A classifier needs a target with classes."""
        super().check_target(schema, target)
        assert target is not None
        class_labels(schema[target])

    def _set_target(self, schema: Schema, target: str | None) -> None:
        assert target is not None
        labels = class_labels(schema[target])
        self.classes_ = self.__dict__.pop("_labels", None)
        if self.classes_ is None:
            self.classes_ = np.array(labels)

    def _label(self, places: NDArray[np.int64]) -> NDArray[Any]:
        labels: NDArray[Any] = self.classes_[places]
        return labels


def _free_name(wanted: str, names: Sequence[str]) -> str:
    while wanted in names:
        wanted += "_"
    return wanted


def _target_sentence(name: str, *, supervised: bool) -> str:
    if supervised:
        return f"{name} predicts a column; name it (--target; in Python target=)."
    return f"{name} predicts no column; leave out the target (--target; in Python target=)."
