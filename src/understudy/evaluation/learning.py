"""Learning: what a classifier or a regression is worth on real rows when it was trained on
synthetic ones.

A fifth of the real rows is kept apart for testing. Each learner is trained twice, on the synthetic
rows and on the other real rows; both are tested on the rows kept apart, and the second on synthetic
rows too (the reverse). The learner sees numbers, scaled by mean and deviation of the rows it is
trained on, and one column of 0 and 1 for each category.

The rows kept apart were among those that the synthetic table was made from: a private synthesis
hardly depends on any one of them, one that is not private may.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.schema import Attribute, Quantity, Schema
from understudy.errors import InputError
from understudy.evaluation.classifiers import CHEAP, CLASSIFIERS, Classifying, for_classes
from understudy.evaluation.comparison import Comparison, Side, as_float32
from understudy.evaluation.model_results import LearnerScores, LearningTask

TEST_SHARE = 0.2
MAX_LEARNING_ROWS = 100_000
"""The most rows that are trained on, and tested on, from each table: a uniform sample where there
are more.
"""

MAX_CLASSES_FOR_ALL = 50
"""Of more classes than this only the learners whose time does not grow with their number are
tried.
"""

FEW_NUMBERS = 12
"""A whole number with no more values than this might have been meant as a class."""

CLASSIFICATION_MEASURES = ("accuracy", "f1")
REGRESSION_MEASURES = ("r2", "mse")

Scores = Mapping[str, float]
ScoreFunction = Callable[[NDArray[Any], NDArray[Any]], dict[str, float]]
UNDEFINED = float("nan")
NO_FIT = -1.0


@dataclass(frozen=True)
class Examples:
    """Rows to learn from.

    Attributes
    ----------
    numbers
        The quantities, as they stand; ``nan`` where missing.
    flags
        One column of 0 and 1 a category, and one a quantity that may be missing.
    target
        Codes of a class, or numbers.
    """

    numbers: NDArray[np.float32]
    flags: NDArray[np.float32]
    target: NDArray[Any]

    def __len__(self) -> int:
        return len(self.target)

    def take(self, rows: NDArray[Any]) -> Examples:
        """Only these rows."""
        return Examples(self.numbers[rows], self.flags[rows], self.target[rows])


@dataclass(frozen=True)
class Scale:
    """How numbers are brought to a common size: by mean and deviation of the rows that are trained
    on.
    """

    middle: NDArray[np.float64]
    width: NDArray[np.float64]

    @classmethod
    def of(cls, numbers: NDArray[Any]) -> Scale:
        """The scale of some rows; a column without values or without spread is left as it is."""
        held = np.where(np.isnan(numbers).all(axis=0), 0.0, numbers).astype(np.float64)
        width = np.nanstd(held, axis=0)
        return cls(np.nanmean(held, axis=0), np.where(width > 0, width, 1.0))

    def features(self, examples: Examples) -> NDArray[np.float32]:
        """All features of the rows; a missing number stands at the mean."""
        scaled = np.nan_to_num((examples.numbers - self.middle) / self.width, nan=0.0)
        return np.hstack([scaled, examples.flags], dtype=np.float32, casting="same_kind")


# --------------------------------------------------------------------------- the task


def is_classification(attribute: Attribute) -> bool:
    """Whether a target is a class: a category, or a number that can take two values only."""
    if not isinstance(attribute, Quantity):
        return True
    return attribute.whole and attribute.edges[-1] - attribute.edges[0] <= 2


def check_target(tables: Comparison, name: str) -> None:
    """Refuse a target that cannot be learned."""
    if name in tables.left_out:
        raise InputError(
            f"The target {name!r} is an identifier or text, which is not compared; choose another "
            "column."
        )
    attribute = tables.schema[name]
    if len(tables.schema) < 2:
        raise InputError(
            f"The target {name!r} is the only column; there is nothing to learn it from."
        )
    # What the synthetic table lacks is a poor synthesis, not a wrong question.
    source = tables.real.table.source
    target = _target(tables.real, attribute)
    there = target[~np.isnan(target)]
    if not len(there):
        raise InputError(f"{source} has no value in the target {name!r}; choose another column.")
    if there.min() == there.max():
        raise InputError(
            f"The target {name!r} is constant in {source[0].lower()}{source[1:]}; "
            f"there is nothing to learn, choose another column."
        )


def learning_task(
    tables: Comparison,
    target: str,
    classifiers: Sequence[str],
    seed: int = 0,
    notify: Callable[[str], None] = lambda learner: None,
) -> LearningTask:
    """Learn a column from the others, on synthetic and on real rows.

    Parameters
    ----------
    tables
        The tables.
    target
        The column to learn: a category by the classifiers named, a number by linear regression.
    classifiers
        Names out of ``CLASSIFIERS``.
    seed
        Makes the split and the learners repeatable.
    notify
        Called with the name of each learner before it is trained.
    """
    check_target(tables, target)
    attribute = tables.schema[target]
    rng = np.random.default_rng(seed)
    real, synthetic = (examples(side, tables.schema, target) for side in tables)
    order = rng.permutation(len(real))
    kept = max(1, round(TEST_SHARE * len(real)))
    test, train = (
        real.take(order[:kept][:MAX_LEARNING_ROWS]),
        real.take(order[kept:][:MAX_LEARNING_ROWS]),
    )
    if not len(train):
        raise InputError(
            f"{tables.real.table.source} has too few rows with a {target!r} to learn from."
        )
    notes = []
    if len(synthetic) > MAX_LEARNING_ROWS:
        synthetic = synthetic.take(rng.permutation(len(synthetic))[:MAX_LEARNING_ROWS])
    if max(len(real), tables.synthetic.rows) > MAX_LEARNING_ROWS:
        notes.append(
            f"Learned from and tested on at most {MAX_LEARNING_ROWS:,} rows of each table, a "
            "random sample."
        )
    if is_classification(attribute):
        score, measures = classification_scores, CLASSIFICATION_MEASURES
        classes = len(np.union1d(real.target, synthetic.target))
        if classes > MAX_CLASSES_FOR_ALL:
            classifiers = [name for name in classifiers if name in CHEAP] or CHEAP[:1]
            notes.append(
                f"Of {classes:,} values, {target} was learned by {', '.join(classifiers)} only: "
                "others are slow."
            )
        makers: dict[str, Callable[[int], Classifying]] = {
            name: CLASSIFIERS[name] for name in classifiers
        }
        majority: Any = np.bincount(train.target.astype(np.int64)).argmax()
    else:
        score, measures = regression_scores, REGRESSION_MEASURES
        makers = {"linear regression": _linear_regression}
        majority = train.target.mean()
        if isinstance(attribute, Quantity) and attribute.whole and _few_values(real, synthetic):
            notes.append(
                f"{target} is a number, so linear regression was used and no classifier; the floor "
                "is always saying "
                f"the mean. To have it classified, call it categorical in the schema."
            )
    learners = []
    for name, make in makers.items():
        notify(name)
        on_synthetic = scores(make, synthetic, [test], score, measures, seed)
        tests = [test, synthetic] if len(synthetic) else [test]
        on_real = scores(make, train, tests, score, measures, seed)
        reverse = dict.fromkeys(measures, UNDEFINED)
        if len(synthetic):
            reverse = on_real.scores[1]
        learners.append(LearnerScores(name, on_synthetic.scores[0], on_real.scores[0], reverse))
        for rows, trained in (("synthetic", on_synthetic), ("real", on_real)):
            if trained.trouble:
                notes.append(f"{name} could not be trained on the {rows} rows: {trained.trouble}")
    return LearningTask(
        target=target,
        task="classification" if score is classification_scores else "regression",
        measures=measures,
        majority=score(test.target, np.full(len(test), majority)),
        train_rows=len(train),
        test_rows=len(test),
        synthetic_rows=len(synthetic),
        learners=tuple(learners),
        notes=tuple(notes),
    )


def _few_values(*sides: Examples) -> bool:
    return all(len(np.unique(side.target)) <= FEW_NUMBERS for side in sides)


def _linear_regression(seed: int) -> Classifying:
    from sklearn.linear_model import Ridge

    # All but least squares: one-hot columns sum to 1, so the coefficients need a little to hold
    # them.
    return Ridge(alpha=1e-3)


# --------------------------------------------------------------------------- rows as numbers


def examples(side: Side, schema: Schema, target: str) -> Examples:
    """The rows that have a target, ready to learn from; both tables get the same columns, whatever
    they hold.
    """
    wanted = _target(side, schema[target])
    rows = np.flatnonzero(~np.isnan(wanted))
    numbers, flags = features_of(
        side, [attribute for attribute in schema.modelled if attribute.name != target]
    )
    found = wanted[rows]
    return Examples(
        numbers[rows],
        flags[rows],
        found.astype(np.int64) if is_classification(schema[target]) else found,
    )


def features_of(
    side: Side, attributes: Sequence[Attribute]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Numbers as they stand, and flags for categories and missing numbers."""
    quantities = [attribute for attribute in attributes if isinstance(attribute, Quantity)]
    numbers = np.empty((side.rows, len(quantities)), dtype=np.float32)
    for place, quantity in enumerate(quantities):
        numbers[:, place] = as_float32(side.numbers(quantity))
    widths = [flag_count(attribute) for attribute in attributes]
    flags = np.zeros((side.rows, sum(widths)), dtype=np.float32)
    everyone = np.arange(side.rows)
    start = 0
    for attribute, width in zip(attributes, widths, strict=True):
        codes = side.codes(attribute.name)
        if isinstance(attribute, Quantity):
            if width:
                flags[:, start] = codes == attribute.values_size
        elif attribute.size == 2:
            flags[:, start] = codes
        elif width:
            flags[everyone, start + codes.astype(np.intp)] = 1
        start += width
    return numbers, flags


def flag_count(attribute: Attribute) -> int:
    """How many columns of flags an attribute has; two values need one only."""
    if isinstance(attribute, Quantity):
        return int(attribute.missing is not None)
    if attribute.size > 2:
        return attribute.size
    return attribute.size - 1


def _target(side: Side, attribute: Attribute) -> NDArray[np.float64]:
    """Codes or numbers; ``nan`` where missing."""
    if isinstance(attribute, Quantity) and not is_classification(attribute):
        return side.numbers(attribute)
    codes = side.codes(attribute.name)
    return np.where(codes < attribute.values_size, codes, np.nan)


# --------------------------------------------------------------------------- training and testing


@dataclass(frozen=True)
class Trained:
    """The scores of a learner on each set of test rows, and what went wrong, if anything did."""

    scores: list[dict[str, float]]
    trouble: str = ""


def scores(
    make: Callable[[int], Classifying],
    train: Examples,
    tests: Sequence[Examples],
    score: ScoreFunction,
    measures: Sequence[str],
    seed: int,
) -> Trained:
    """Train a learner and score it on each set of test rows."""
    undefined = [dict.fromkeys(measures, UNDEFINED) for _ in tests]
    if not len(train):
        return Trained(undefined, "none of them has a value to learn.")
    # No learner takes that; what it would say is clear.
    if train.target.min() == train.target.max():
        return Trained([score(test.target, np.full(len(test), train.target[0])) for test in tests])
    scale = Scale.of(train.numbers)
    # Some learners want classes numbered without gaps.
    values, target = train.target, train.target
    if target.dtype.kind == "i":
        values, target = np.unique(train.target, return_inverse=True)
    learner = for_classes(make(seed), len(values))
    try:
        with warnings.catch_warnings():
            # About convergence and collinear columns: nothing the owner can act on.
            warnings.simplefilter("ignore")
            learner.fit(scale.features(train), target)
            said = [learner.predict(scale.features(test)) for test in tests]
    except Exception as error:  # whatever a library raises: the other learners go on
        trouble = (str(error) or type(error).__name__).splitlines()[0]
        return Trained(undefined, trouble)
    if values is not target:
        said = [values[codes] for codes in said]
    return Trained([score(test.target, found) for test, found in zip(tests, said, strict=True)])


def classification_scores(truth: NDArray[Any], said: NDArray[Any]) -> dict[str, float]:
    """Accuracy, and F1 averaged over the classes that occur."""
    from sklearn.metrics import f1_score

    return {
        "accuracy": float(np.mean(truth == said)),
        "f1": float(f1_score(truth, said, average="macro", zero_division=0.0)),
    }


def regression_scores(truth: NDArray[Any], said: NDArray[Any]) -> dict[str, float]:
    """The share of the variance explained, and the mean squared error.

    Below 0 a regression does worse than always saying the mean: it does not fit. How much worse
    says nothing, so what is below ``NO_FIT`` counts as that.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        error = float(np.mean((truth - said) ** 2))
        variance = float(np.var(truth))
    if not 0 < variance < np.inf:
        return {"r2": UNDEFINED, "mse": error}
    return {"r2": max(1 - error / variance, NO_FIT), "mse": error}
