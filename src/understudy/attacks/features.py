"""What an adversary looks at in a synthetic table who wonders whether a certain row was in the real
one.

Three sets look at the table as a whole (Stadler, Oprisanu and Troncoso 2022): summaries of each
attribute, histograms, correlations. One looks at the target (as TAPAS does; Houssiau et al. 2022):
how many synthetic rows agree with it on this or that set of attributes, and how many are so and so
close to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.attacks.rows import has_order
from understudy.data.cells import CodeColumn
from understudy.data.encoding import Coded
from understudy.data.schema import Attribute

Floats = NDArray[np.float64]

AGREEMENT_QUERIES = 200
"""Sets of two attributes or more on which agreement with the target is counted."""


def table_features(rows: Coded) -> dict[str, Floats]:
    """The sets that do not depend on the target."""
    attributes = rows.schema.modelled
    return {
        "summaries": np.array(
            [float(rows.rows), *(x for a in attributes for x in _summary(a, rows.codes[a.name]))]
        ),
        "histograms": np.concatenate(
            [np.bincount(rows.codes[a.name], minlength=a.size) for a in attributes]
        ).astype(np.float64),
        "correlations": _correlations(rows, attributes),
    }


def _summary(attribute: Attribute, codes: CodeColumn) -> tuple[float, float, float]:
    """Mean, median and deviation where there is an order; else how many values, the commonest and
    the rarest.
    """
    if not len(codes):
        return 0.0, 0.0, 0.0
    if has_order(attribute):
        return float(codes.mean()), float(np.median(codes)), float(codes.std())
    counts = np.bincount(codes, minlength=attribute.size)
    held = np.flatnonzero(counts)
    return float(len(held)), float(counts.argmax()), float(held[counts[held].argmin()])


def _correlations(rows: Coded, attributes: Sequence[Attribute]) -> Floats:
    """Of the codes, pair by pair; 0 where an attribute does not vary."""
    if not rows.rows:
        return np.zeros(len(attributes) * (len(attributes) - 1) // 2)
    values = np.stack([rows.codes[a.name] for a in attributes]).astype(np.float64)
    values -= values.mean(axis=1, keepdims=True)
    lengths = np.sqrt((values**2).sum(axis=1))
    values /= np.where(lengths > 0, lengths, 1.0)[:, None]
    return (values @ values.T)[np.triu_indices(len(attributes), 1)]


def random_queries(attributes: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Sets of attributes, one a line: each alone, all together, and random ones."""
    sizes = rng.integers(2, max(attributes, 2) + 1, AGREEMENT_QUERIES)
    lots = rng.random((AGREEMENT_QUERIES, attributes)).argsort(axis=1)
    queries = (
        np.concatenate([np.eye(attributes), np.ones((1, attributes)), lots < sizes[:, None]]) > 0
    )
    return np.unique(queries, axis=0)


def target_features(rows: Coded, target: Mapping[str, int], queries: NDArray[np.bool_]) -> Floats:
    """How many rows agree with the target on each set of attributes, and on at least this many
    attributes.
    """
    agrees = np.stack([rows.codes[name] == code for name, code in target.items()], axis=1).astype(
        np.float32
    )
    on_each = (agrees @ queries.T.astype(np.float32) >= queries.sum(axis=1)).sum(axis=0)
    alike = np.bincount(agrees.sum(axis=1).astype(np.int64), minlength=len(target) + 1)
    return np.concatenate([on_each, alike[::-1].cumsum()[::-1]]).astype(np.float64)
