"""Steps of a pipeline that look at the rows for free.

A scaler that is fitted on private rows, an imputer, a feature selection: what they learn goes into
every row that a learner sees, and no ledger knows of it. scikit-learn hands the learner only their
output. So a fit looks at who called it: where that is a pipeline, its other steps must not learn
anything, or must be learners with a ledger themselves.
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
