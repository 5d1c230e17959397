"""How much of the dependence between columns a model's network holds: the sum that PrivBayes tries
to make large.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from understudy.counting.memory import MemoryCounter
from understudy.data.encoding import Coded, encode
from understudy.data.marginals import Axis
from understudy.data.schema import Schema
from understudy.errors import InputError
from understudy.evaluation.comparison import Comparison, Side
from understudy.evaluation.model_results import NetworkQuality, NodeInformation
from understudy.models.model import Model
from understudy.privacy.scores import SCORES


def network_quality(tables: Comparison, model: Model) -> NetworkQuality:
    """The mutual information of every attribute of the network and its parents, in both tables, and
    the sums.
    """
    if set(model.schema.modelled) != set(tables.schema.modelled):
        _check(tables, model)
    real, synthetic = (_information(side, model) for side in tables)
    nodes = tuple(
        NodeInformation(node.attribute, tuple(map(str, node.parents)), float(a), float(b))
        for node, a, b in zip(model.network, real, synthetic, strict=True)
    )
    return NetworkQuality(float(real.sum()), float(synthetic.sum()), nodes)


def _check(tables: Comparison, model: Model) -> None:
    for attribute in model.schema.modelled:
        if attribute.name not in tables.schema:
            raise InputError(
                f"The model has an attribute {attribute.name!r} that the tables do not have."
            )


def _information(side: Side, model: Model) -> NDArray[np.float64]:
    counter = _counter(_encode_side(side, model), model)
    found = np.zeros(len(model.network))
    asked = {
        place: (Axis(node.attribute), *node.parents)
        for place, node in enumerate(model.network)
        if node.parents
    }
    if asked:
        found[list(asked)] = SCORES["I"].evaluate(counter, list(asked.values())) / side.rows
    return np.maximum(found, 0.0)


def _encode_side(side: Side, model: Model) -> Coded:
    """The rows as the model's schema codes them, which need not be the schema that tables are
    compared under.
    """
    schema = Schema(model.schema.modelled)
    if set(schema.attributes) == set(side.coded.schema.attributes):
        return side.coded
    columns = {name: side.table.columns[name] for name in schema.names}
    return encode(type(side.table)(columns, side.table.source), schema)


def _counter(coded: Coded, model: Model) -> MemoryCounter:
    if model.bits is None:
        codes = coded.codes
    else:
        codes = model.bits.split(coded.codes)
    attributes = model.network_schema.modelled
    return MemoryCounter(
        {a.name: codes[a.name] for a in attributes},
        {a.name: a.generalisations for a in attributes},
        {a.name: a.size for a in attributes},
    )
