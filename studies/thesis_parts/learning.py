"""Learners trained on some rows and tested on others."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.encoding import Coded
from understudy.evaluation.classifiers import CLASSIFIERS

Floats = NDArray[np.float64]

MAX_ROWS = 5_000
SLOW = ("SVC", "MLP", "gradient boosting")
MAX_ROWS_SLOW = 2_000


def accuracies(
    train: Coded, test: Coded, target: str, learners: Sequence[str], seed: int
) -> dict[str, float]:
    """Per cent of the test rows that each learner tells right, and the mean over all learners."""
    order = np.random.default_rng(seed).permutation(train.rows)[:MAX_ROWS]
    inputs, answers = features(train, target)[order], np.asarray(train.codes[target])[order]
    questions, truth = features(test, target), np.asarray(test.codes[target])
    found = {}
    for name in learners:
        most = MAX_ROWS_SLOW if name in SLOW else MAX_ROWS
        told = answered(name, inputs[:most], answers[:most], questions, seed)
        found[name] = 100 * float(np.mean(told == truth))
    return {"accuracy": float(np.mean(list(found.values()))), **found}


def answered(
    learner: str, inputs: Floats, answers: NDArray[Any], questions: Floats, seed: int
) -> NDArray[np.unsignedinteger[Any]]:
    """What a learner says to the questions after training."""
    if learner == "QDA":
        # Of a class that has no more rows than there are attributes it cannot estimate a
        # covariance.
        counts = np.bincount(answers)
        kept = counts[answers] > min(inputs.shape[1], counts.max() - 1)
        inputs, answers = inputs[kept], answers[kept]
    classes, places = np.unique(answers, return_inverse=True)
    if len(classes) == 1:
        return np.full(len(questions), classes[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a learner has not converged, that a class is small
        return classes[CLASSIFIERS[learner](seed % 2**31).fit(inputs, places).predict(questions)]


def majority(train: Coded, test: Coded, target: str) -> float:
    """Per cent of the test rows that are of the class that is commonest in training."""
    return 100 * float(np.mean(test.codes[target] == np.bincount(train.codes[target]).argmax()))


def features(coded: Coded, target: str) -> Floats:
    """Codes as numbers from 0 to 1; a missing value lies one step below 0, as the thesis' -1
    does.
    """
    columns = []
    for attribute in coded.schema.modelled:
        if attribute.name != target:
            codes = np.asarray(coded.codes[attribute.name], dtype=np.float64)
            codes[codes == attribute.values_size] = -1
            columns.append(codes / max(attribute.values_size - 1, 1))
    return np.column_stack(columns)
