"""The adversary of the membership game: a classifier that is trained on shadow models."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from understudy.attacks.features import Floats
from understudy.errors import InputError


def train_best_classifier(
    train: tuple[list[dict[str, Floats]], list[dict[str, Floats]]], seed: int
) -> tuple[str, Callable[[list[dict[str, Floats]]], Floats]]:
    """The classifier that does best on fits for learning that it was not trained on, then trained
    on all of them.
    """
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    lines, truth = [*train[0], *train[1]], np.repeat([1, 0], [len(side) for side in train])
    sets = tuple(lines[0])
    forest = RandomForestClassifier(100, min_samples_leaf=3, oob_score=True, random_state=seed)
    forest.fit(_matrix(lines, sets), truth)
    # Each tree of a forest leaves some fits out; they show how good it is, and no fold is needed.
    votes = np.nan_to_num(forest.oob_decision_function_[:, 1], nan=0.5)
    found = [(float(roc_auc_score(truth, votes)), "all, by a forest", sets, forest)]
    folds = StratifiedKFold(3, shuffle=True, random_state=seed)
    for name, kept in (*((name, (name,)) for name in sets), ("all", sets)):
        linear = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=500))
        scores = cross_val_score(linear, _matrix(lines, kept), truth, cv=folds, scoring="roc_auc")
        found.append((float(scores.mean()), name, kept, linear))
    _, name, kept, classifier = max(found, key=lambda each: each[0])
    if classifier is not forest:
        classifier.fit(_matrix(lines, kept), truth)
    return name, lambda looked_at: classifier.predict_proba(_matrix(looked_at, kept))[:, 1]


def _matrix(lines: Sequence[dict[str, Floats]], sets: Sequence[str]) -> Floats:
    return np.stack([np.concatenate([line[name] for name in sets]) for line in lines])


def check_scikit_learn() -> None:
    """Refuse where scikit-learn is missing."""
    try:
        import sklearn  # noqa: F401
    except ImportError as error:
        raise InputError(
            "Shadow models need scikit-learn; install it by `pip install understudy[evaluation]`."
        ) from error
