"""Gradients of several holders' rows, added up securely."""

import itertools

import numpy as np
import pytest

from limits import assert_limits
from understudy import GAN, MERF, InputError, Schema, Table, federate, make_holders
from understudy.counting.row_functions import MAX_WIDTH, DenseGradient, RandomFeatures, RowInputs
from understudy.data.tables import Column
from understudy.federation.messages import Message
from understudy.privacy.budget import Budget
from understudy.privacy.vector_wire import vectors_from_wire, vectors_to_wire
from understudy.privacy.vectors import VectorSum

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "size": {"kind": "categorical", "values": [0, 1, 2, 3]},
            "kind": {"kind": "categorical", "values": [0, 1]},
        }
    }
)
RNG = np.random.default_rng(1)


def make_table(rows, seed):
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 2, rows)
    size = np.where(kind == 1, rng.integers(2, 4, rows), rng.integers(0, 2, rows))
    return Table({"size": Column("integer", size), "kind": Column("integer", kind)})


@pytest.fixture(scope="module")
def holders():
    return {name: make_table(200, seed) for seed, name in enumerate(("a", "b", "c"))}


@pytest.mark.parametrize(
    "method",
    [
        GAN(epsilon=20.0, delta=1e-5, steps=6, hidden=4, sampling_rate=0.2, label="kind"),
        MERF(epsilon=20.0, delta=1e-5, features=100, training_steps=200, label="kind"),
    ],
    ids=["gan", "merf"],
)
def test_holders_train_a_generator_together(holders, method):
    model = federate(make_holders(holders, SCHEMA, allowance=20.0, delta=1e-5), SCHEMA, method)
    assert model.ledger.private
    assert "securely summed" in model.ledger.entries[-1].mechanism
    assert model.ledger.spent()[0] <= 20.0
    drawn = model.sample(600, seed=1)
    if method.name == "merf":
        sizes, kinds = (np.asarray(drawn.columns[name].values) for name in ("size", "kind"))
        assert sizes[kinds == 1].mean() > sizes[kinds == 0].mean() + 1


def as_message(question):
    content, arrays = vectors_to_wire(question)
    return Message("ask", content, arrays)


INPUTS = RowInputs(coded=("size", "kind"))
NETWORK = DenseGradient(
    inputs=INPUTS,
    weights=[RNG.standard_normal(s).astype(np.float32) for s in ((6, 3), (3, 1))],
    biases=[np.ones(3, dtype=np.float32), np.zeros(1, dtype=np.float32)],
    loss="wasserstein",
)
FEATURES = RandomFeatures(
    inputs=INPUTS, directions=RNG.standard_normal((4, 5)).astype(np.float32), labels=2
)


@pytest.mark.parametrize("function", [NETWORK, FEATURES], ids=["network", "features"])
def test_a_function_arrives_as_it_was_sent(function):
    sent = VectorSum(function=function, budget=Budget(0.1, "rho"), clip=0.5, rate=0.25)
    read = vectors_from_wire(as_message(sent), sent.budget)
    assert (read.clip, read.rate, read.function.width) == (0.5, 0.25, function.width)
    rows = np.eye(6, dtype=np.float32)[[1, 5]]
    for mine, theirs in zip(function.vectors(rows), read.function.vectors(rows), strict=True):
        assert mine.tolist() == theirs.tolist()


@pytest.mark.parametrize(
    "change",
    [
        lambda c, a: c.update(kind="pickle"),
        lambda c, a: c.update(loss="eval"),
        lambda c, a: c.update(coded=[3]),
        lambda c, a: a.update(sizes=np.array([6])),
        lambda c, a: a.update(sizes=np.array([6, -3, 1])),
        lambda c, a: a.update(numbers=a["numbers"][:-1]),
    ],
)
def test_what_cannot_be_a_function_is_refused(change):
    sent = VectorSum(function=NETWORK, budget=Budget(0.1, "rho"), clip=0.5, rate=0.25)
    content, arrays = vectors_to_wire(sent)
    change(content, arrays)
    with pytest.raises(InputError, match="cannot be read"):
        vectors_from_wire(Message("ask", content, arrays), sent.budget)


def test_layers_and_labels_are_as_many_as_can_be():
    def layers(*sizes):
        content, arrays = vectors_to_wire(sent(NETWORK))
        weights = sum(a * b + b for a, b in itertools.pairwise(sizes)) if max(sizes) < 9 else 1
        arrays |= {"sizes": np.array(sizes), "numbers": np.ones(weights)}
        vectors_from_wire(Message("ask", content, arrays), Budget(0.1, "rho"))

    def labels(number):
        content, arrays = vectors_to_wire(sent(FEATURES))
        vectors_from_wire(Message("ask", content | {"labels": number}, arrays), Budget(0.1, "rho"))

    def sent(function):
        return VectorSum(function=function, budget=Budget(0.1, "rho"), clip=0.5, rate=0.25)

    assert_limits(lambda number: layers(*[1] * number), [2, 16], [1, 17])
    assert_limits(lambda size: layers(6, size, 1), [1, 3], [0, -1, MAX_WIDTH + 1])
    assert_limits(labels, [1, MAX_WIDTH], [0, MAX_WIDTH + 1])
