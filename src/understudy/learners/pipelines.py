"""Steps of a pipeline that look at the rows for free.

A scaler that is fitted on private rows, an imputer, a feature selection: what they learn goes into
every row that a learner sees, and no ledger knows of it. scikit-learn hands the learner only their
output. So a fit looks at who called it: where that is a pipeline, its other steps must not learn
anything, or must be learners with a ledger themselves.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from understudy.errors import InputError

MAX_FRAMES = 50
"""How far up the callers are looked at: between a pipeline and its last step there are a few."""


def refuse_fitted_steps(learner: Any) -> None:
    """Refuse to be the last step of a pipeline in which an earlier one learned from the rows."""
    from sklearn.pipeline import Pipeline

    for caller in _callers():
        pipeline = caller.f_locals.get("self")
        if isinstance(pipeline, Pipeline) and _is_last(pipeline, learner):
            for name, step in pipeline.steps[:-1]:
                if _learns(step):
                    raise InputError(
                        f"The step {name!r} of the pipeline ({type(step).__name__}) learns from "
                        "the private rows at no price; leave it out and give public bounds, or use "
                        "a FunctionTransformer with public numbers."
                    )
            return


def _callers() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(2)
    for _ in range(MAX_FRAMES):
        if frame is None:
            return
        yield frame
        frame = frame.f_back


def _is_last(pipeline: Any, learner: Any) -> bool:
    return bool(pipeline.steps) and pipeline.steps[-1][1] is learner


def _learns(step: Any) -> bool:
    """Whether a step learns from rows without paying; one that keeps nothing has a tag for it."""
    from sklearn.utils import get_tags

    if step is None or isinstance(step, str) or hasattr(step, "ledger_"):
        return False
    return bool(get_tags(step).requires_fit)
