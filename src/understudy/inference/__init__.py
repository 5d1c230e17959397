"""Inference from synthetic rows that knows how they were made.

An interval or a p-value that treats synthetic rows as real ones knows by what chance people came
into a table. It does not know the noise of the release, nor what the method did with it. Here the
whole way is repeated (a *parametric bootstrap*): rows are drawn from the released model as if they
were the real ones, the same method is run on them with the same budget, and rows are drawn from
what it learned. How an estimate scatters in these repetitions is how it scatters about the truth.
All of it is post-processing of the model: it costs nothing.

It assumes that the method does to the true distribution about what it does to the model's. What the
model has lost for good, such as a dependence that the noise hid, no repetition brings back. So an
interval adds what the model says of its own misfit, for the columns that the statistic is about
(:mod:`understudy.inference.misfit`).

>>> from understudy import inference
>>> inference.estimate(model, inference.mean("age"))                    # doctest: +SKIP
>>> inference.independence_test(model, "smoker", "sex").p               # doctest: +SKIP
"""

from __future__ import annotations

from understudy.inference.estimates import Inference, combine, estimate, infer_from
from understudy.inference.independence import Independence, independence_test, shuffle_column
from understudy.inference.misfit import find_unmeasured, misfit_variance
from understudy.inference.repetitions import observe, repeat_release
from understudy.inference.statistics import (
    ColumnStatistic,
    Statistic,
    coefficient,
    difference,
    mean,
    proportion,
)

__all__ = [
    "ColumnStatistic",
    "Independence",
    "Inference",
    "Statistic",
    "coefficient",
    "combine",
    "difference",
    "estimate",
    "find_unmeasured",
    "independence_test",
    "infer_from",
    "mean",
    "misfit_variance",
    "observe",
    "proportion",
    "repeat_release",
    "shuffle_column",
]
