"""Steps of a pipeline, and searches for parameters, that look at the rows for free.

A scaler that is fitted on private rows, an imputer, a feature selection: what they learn goes into
every row that a learner sees, and no ledger knows of it. scikit-learn hands the learner only their
output. So a fit looks at who called it: where that is a pipeline, its other steps must not learn
anything, or must be learners with a ledger themselves.

A search that fits many candidates pays for every fit, but then compares their exact scores on
private rows: which candidate it takes is an answer that nobody paid for.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any

from understudy.errors import InputError

MAX_FRAMES = 50
"""How far up the callers are looked at: between a pipeline and its last step there are a few."""


def refuse_fitted_steps() -> None:
    """Refuse to be fitted where a step before learned from the rows: of the pipeline that calls,
    and of all that it stands in. What else a pipeline may hand rows through (another pipeline, a
    search, one classifier per class) does not matter: their rows come from its earlier steps.
    """
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.pipeline import Pipeline

    for caller in _callers():
        owner = caller.f_locals.get("self")
        if isinstance(owner, Pipeline):
            _refuse_learning(owner.steps[:-1])
        elif isinstance(owner, TransformedTargetRegressor):
            _refuse_learning([("transformer", owner.transformer)])


FREE_CHOICES = (
    ("sklearn.model_selection", "GridSearchCV"),
    ("sklearn.model_selection", "RandomizedSearchCV"),
    ("sklearn.model_selection", "TunedThresholdClassifierCV"),
    ("sklearn.model_selection._search", "BaseSearchCV"),
    ("sklearn.feature_selection", "RFECV"),
    ("sklearn.feature_selection", "SequentialFeatureSelector"),
    ("sklearn.calibration", "CalibratedClassifierCV"),
    ("sklearn.ensemble", "StackingClassifier"),
    ("sklearn.ensemble", "StackingRegressor"),
)
"""What decides by exact scores or predictions of the rows that it is given."""


def refuse_free_choices() -> None:
    """Refuse to be fitted by what goes on to choose by exact scores of private rows."""
    choosing = tuple(_choosing_classes())
    for caller in _callers():
        owner = caller.f_locals.get("self")
        if isinstance(owner, choosing):
            raise InputError(
                f"{type(owner).__name__} would decide by exact scores of private rows, at no "
                "price; search on public or synthetic rows, with noise=SeededNoise(0), and fit the "
                "private rows once with what was found."
            )


def _choosing_classes() -> Iterator[type]:
    for module, name in FREE_CHOICES:
        found = getattr(sys.modules.get(module), name, None)  # not imported: nobody can have one
        if isinstance(found, type):
            yield found


def _refuse_learning(steps: Sequence[tuple[str, Any]]) -> None:
    for name, step in steps:
        if _learns(step):
            raise InputError(
                f"The step {name!r} of the pipeline ({type(step).__name__}) learns from "
                "the private rows at no price; leave it out and give public bounds, or use "
                "a FunctionTransformer with public numbers."
            )


def _callers() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(2)
    for _ in range(MAX_FRAMES):
        if frame is None:
            return
        yield frame
        frame = frame.f_back


def _learns(step: Any) -> bool:
    """Whether a step learns from rows without paying; one that keeps nothing has a tag for it."""
    from sklearn.pipeline import Pipeline
    from sklearn.utils import get_tags

    from understudy.learners.estimator import Learner

    if step is None or isinstance(step, str | Learner):
        return False
    if isinstance(step, Pipeline):
        return any(_learns(inner) for _, inner in step.steps)
    return bool(get_tags(step).requires_fit)
