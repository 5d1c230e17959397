"""A propensity score: how well a classifier tells real rows from synthetic ones.

Two answers. Gradient-boosted trees, each row judged by trees that never saw it: they find any
difference, also in how columns go together. And the pMSE of a logistic regression on the columns
one by one, which has a known mean where both tables come from one population, so that it can be put
in proportion.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.schema import Quantity
from understudy.evaluation.comparison import Comparison, Side, as_float32
from understudy.evaluation.model_results import Propensity

MAX_CLASSIFIER_ROWS = 20_000
"""The most rows that are taken from each table, a uniform sample."""

FOLDS = 2
MAX_NAMED_COLUMNS = 5


def propensity(tables: Comparison, seed: int = 0) -> Propensity:
    """Try to tell the rows of two tables apart."""
    rng = np.random.default_rng(seed)
    chosen = [np.sort(rng.permutation(side.rows)[:MAX_CLASSIFIER_ROWS]) for side in tables]
    synthetic = np.repeat([0, 1], [len(rows) for rows in chosen])
    names = tables.schema.names
    codes = np.vstack(
        [_codes(side, names)[rows] for side, rows in zip(tables, chosen, strict=True)]
    )
    values = np.vstack([_values(side)[rows] for side, rows in zip(tables, chosen, strict=True)])
    auc, weights = _cross_fit(codes, synthetic, rng)
    auc_values, weights_values = _cross_fit(values, synthetic, rng)
    pmse, expected = propensity_error(codes.astype(np.int64), synthetic)
    return Propensity(
        rows=len(synthetic),
        auc=auc,
        auc_values=auc_values,
        giveaways=_heaviest(names, weights),
        pmse=pmse,
        expected=expected,
        giveaways_values=_heaviest(names, weights_values),
    )


def _heaviest(
    names: tuple[str, ...], weights: NDArray[np.float64]
) -> tuple[tuple[str, float], ...]:
    first = np.argsort(-weights, kind="stable")[:MAX_NAMED_COLUMNS]
    return tuple((names[place], float(weights[place])) for place in first if weights[place] > 0)


def _codes(side: Side, names: tuple[str, ...]) -> NDArray[np.float32]:
    return np.column_stack([side.codes(name) for name in names]).astype(np.float32)


def _values(side: Side) -> NDArray[np.float32]:
    """Numbers as they stand, codes of categories."""
    columns = [
        side.numbers(attribute) if isinstance(attribute, Quantity) else side.codes(attribute.name)
        for attribute in side.coded.schema.modelled
    ]
    return as_float32(np.column_stack(columns))


def _cross_fit(
    features: NDArray[Any], synthetic: NDArray[Any], rng: np.random.Generator
) -> tuple[float, NDArray[np.float64]]:
    """The area under the curve of rows judged by trees that never saw them, and how much each
    column contributed.

    ``nan`` where no trees could be trained.
    """
    from sklearn.metrics import roc_auc_score
    from xgboost import XGBClassifier
    from xgboost.core import XGBoostError

    fold = rng.permutation(len(synthetic)) % FOLDS
    judged = np.full(len(synthetic), 0.5)
    weights = np.zeros(features.shape[1])
    areas = []
    for held_out in range(FOLDS):
        train, test = fold != held_out, fold == held_out
        if len(set(synthetic[train])) < 2 or len(set(synthetic[test])) < 2:
            continue  # a handful of rows: nobody can tell
        trees = XGBClassifier(
            n_estimators=100, max_depth=4, learning_rate=0.2, n_jobs=1, random_state=0, verbosity=0
        )
        try:
            trees.fit(features[train], synthetic[train])
        except XGBoostError:
            continue
        judged[test] = trees.predict_proba(features[test])[:, 1]
        weights += trees.feature_importances_ / FOLDS
        areas.append(roc_auc_score(synthetic[test], judged[test]))
    return (float(np.mean(areas)) if areas else float("nan")), weights


def propensity_error(codes: NDArray[np.int64], synthetic: NDArray[Any]) -> tuple[float, float]:
    """The pMSE of a logistic regression on one-hot codes, and its mean where both tables come from
    one population.

    With N rows, a share c of them synthetic and k free coefficients besides the intercept, the
    fitted propensities differ from c by noise alone in that case, and their mean squared difference
    is k c (1 - c) / N on average. (A share 1 - c of that where the synthetic rows were drawn from a
    perfect model of these very real rows: then they differ by their own chance only.)
    """
    from sklearn.linear_model import LogisticRegression

    flags = _flags(codes)
    if not flags.shape[1]:
        return 0.0, 0.0
    share = float(synthetic.mean())
    centred = flags - flags.mean(axis=0)
    free = int(np.linalg.matrix_rank(centred.T @ centred, hermitian=True))
    # All but no penalty: just enough to hold the coefficient of a value that one table never has.
    fitted = LogisticRegression(C=1e4, solver="newton-cholesky", max_iter=50).fit(flags, synthetic)
    pmse = float(np.mean((fitted.predict_proba(flags)[:, 1] - share) ** 2))
    return pmse, free * share * (1 - share) / len(synthetic)


def _flags(codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """One column a value that occurs, but for the commonest of each attribute: the others are told
    against it.
    """
    columns = []
    for column in codes.T:
        counts = np.bincount(column)
        held = np.flatnonzero(counts)
        columns += [column == code for code in held[held != counts.argmax()]]
    if columns:
        return np.column_stack(columns).astype(np.float64)
    return np.empty((len(codes), 0))
