"""Sums of clipped vectors: sensitivity, sampling, price, and what is refused."""

import itertools
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from understudy.counting.row_functions import (
    DenseGradient,
    RandomFeatures,
    RowInputs,
    RowMatrix,
    add_products,
    one_by_one,
)
from understudy.data.encoding import encode
from understudy.data.schema import Schema
from understudy.data.tables import Column, Table
from understudy.errors import BudgetError, InputError
from understudy.privacy.budget import Budget
from understudy.privacy.central import CentralCurator
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import SeededNoise, SystemNoise
from understudy.privacy.renyi import find_multiplier
from understudy.privacy.vectors import (
    ADDED_TOGETHER,
    VECTOR_STEPS,
    VectorSum,
    exact_sum,
    put_on_grid,
)

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "a": {"kind": "categorical", "values": [0, 1, 2]},
            "b": {"kind": "categorical", "values": [0, 1]},
        }
    }
)
INPUTS = RowInputs(coded=("a", "b"))
RNG = np.random.default_rng(3)


def table(rows):
    columns = np.array(rows, dtype=int).reshape(-1, 2)
    return Table({n: Column("integer", columns[:, i]) for i, n in enumerate("ab")})


def network(size: float = 1.0, loss: str = "gan") -> DenseGradient:
    rng = np.random.default_rng(1)
    shapes = ((5, 4), (4, 1))
    return DenseGradient(
        inputs=INPUTS,
        weights=[(size * rng.standard_normal(shape)).astype(np.float32) for shape in shapes],
        biases=[rng.standard_normal(shape[1]).astype(np.float32) for shape in shapes],
        loss=loss,
    )


class NoNoise(SeededNoise):
    """All of the rows or some, and nothing added."""

    def gaussian(self, counts, scale):
        self.scale = scale
        return counts


def make_curator(rows, noise=None, order=18):
    ledger = Ledger(1.0, 1e-5, currency="rho", order=order)
    return CentralCurator(encode(table(rows), SCHEMA), ledger, noise)


@pytest.mark.parametrize("size", [0.01, 1.0, 1e4, 1e30])
def test_no_row_of_any_small_table_moves_the_sum_further_than_the_clip(size):
    """All tables of up to two rows, and each row that can be added to them."""
    rows = list(itertools.product(range(3), range(2)))
    for function in (network(size), network(size, "wasserstein")):
        for before in itertools.chain.from_iterable(
            itertools.combinations_with_replacement(rows, n) for n in range(3)
        ):
            for row in rows:
                sums = []
                for held in (list(before), [*before, row]):
                    matrix = RowMatrix(INPUTS, encode(table(held), SCHEMA))
                    sums.append(exact_sum(function, matrix, np.arange(len(held)), 0.5))
                moved = sums[1] - sums[0]
                assert moved @ moved <= VECTOR_STEPS**2


def test_vectors_on_the_grid_are_never_too_long():
    for scale in (1e-6, 0.3, 1.0, 7.0, 1e20):
        vectors = (RNG.standard_normal((200, 300)) * scale).astype(np.float32)
        vectors[0] = 0
        vectors[1, :] = scale  # all alike
        for vector in vectors:
            steps = put_on_grid(vector.copy(), 1.0).astype(np.int64)
            assert steps @ steps <= VECTOR_STEPS**2
    for broken in ([np.nan, 1.0], [np.inf, 0.0], [1e30, 1e30]):
        assert not put_on_grid(np.array(broken, dtype=np.float32), 1.0).any()
    steps = put_on_grid(np.array([3.0, 4.0], dtype=np.float32), 1.0)
    assert steps == pytest.approx([0.6 * VECTOR_STEPS, 0.8 * VECTOR_STEPS], abs=2)


def test_vectors_of_very_many_numbers_are_never_too_long():
    """In double precision: a sum of 2^21 squares in single precision might be off by an eighth."""
    vector = np.full(1 << 21, 0.1, dtype=np.float32)
    steps = put_on_grid(vector, 1.0).astype(np.int64)
    assert steps @ steps <= VECTOR_STEPS**2
    assert steps.any()


def test_a_short_vector_keeps_its_length():
    steps = put_on_grid(np.array([0.25, 0.0], dtype=np.float32), 1.0)
    assert steps == pytest.approx([VECTOR_STEPS / 4, 0], abs=2)


@pytest.mark.parametrize("function", [network(), network(1.0, "wasserstein")])
def test_gradients_are_those_of_the_loss(function):
    rows = np.eye(5, dtype=np.float32)[[0, 3]] + np.eye(5, dtype=np.float32)[[4, 2]]
    parameters = [p for pair in zip(function.weights, function.biases, strict=True) for p in pair]

    def loss(row):
        w1, b1, w2, b2 = (p.astype(np.float64) for p in parameters)
        hidden = row @ w1 + b1
        out = float((np.where(hidden > 0, hidden, 0.2 * hidden) @ w2 + b2)[0])
        return -out if function.loss == "wasserstein" else np.log1p(np.exp(-out))

    for row, line in zip(rows, function.vectors(rows), strict=True):
        place = 0
        for part in parameters:
            for index in np.ndindex(part.shape):
                kept = part[index]
                part[index] = kept + 1e-3
                above = loss(row.astype(np.float64))
                part[index] = kept - 1e-3
                below = loss(row.astype(np.float64))
                part[index] = kept
                assert line[place] == pytest.approx((above - below) / 2e-3, abs=2e-3)
                place += 1
        assert place == function.width


def test_a_rows_vector_does_not_depend_on_who_is_sampled_with_it():
    function = network()
    rows = [(i % 3, i % 2) for i in range(48)]
    matrix = RowMatrix(INPUTS, encode(table(rows), SCHEMA))
    alone = [exact_sum(function, matrix, np.array([i]), 0.3) for i in range(len(rows))]
    for places in (np.arange(7), np.arange(21), np.arange(len(rows))[::-1].copy()):
        together = exact_sum(function, matrix, places, 0.3)
        assert together.tolist() == sum(alone[i] for i in places).tolist()


def test_libraries_are_given_one_row_at_a_time_at_one_place():
    """Whatever they round by, it is the same for every row."""
    rows = RNG.standard_normal((300, 7)).astype(np.float32)
    places = set()
    for given, row in zip(one_by_one(rows), rows, strict=True):
        assert given.tolist() == row.tolist()
        places.add((given.shape, given.strides, given.ctypes.data))
    [(shape, _, place)] = places
    assert shape == (7,)
    assert place % 64 == 0


def test_dense_layers_ask_no_library():
    """Their products are operations on numbers, in the order of the weights."""
    rows = RNG.standard_normal((40, 50)).astype(np.float32)
    weights = RNG.standard_normal((50, 9)).astype(np.float32)
    found = add_products(rows, weights)
    for row, line in zip(rows, found, strict=True):
        for column in range(9):
            total = np.float32(0)
            for one, other in zip(row, weights[:, column], strict=True):
                total = np.float32(total + np.float32(one * other))
            assert line[column] == total


@pytest.mark.parametrize("labels", [1, 2])
def test_features_of_a_row_do_not_depend_on_others(labels):
    directions = RNG.standard_normal((5 - 2 * (labels - 1), 33)).astype(np.float32)
    function = RandomFeatures(inputs=INPUTS, directions=directions, labels=labels)
    rows = RNG.standard_normal((60, 5)).astype(np.float32)
    together = [vector.tolist() for vector in function.vectors(rows)]
    for start in (0, 7, 59):
        alone = next(iter(function.vectors(rows[start:])))
        assert alone.tolist() == together[start]


def test_sums_of_many_vectors_are_exact():
    """As many as are added in single precision, and more, all of the full length."""
    rows = [(0, 0)] * (2 * ADDED_TOGETHER + 1)
    matrix = RowMatrix(INPUTS, encode(table(rows), SCHEMA))
    one = exact_sum(network(100.0), matrix, np.array([0]), 1e-6)
    many = exact_sum(network(100.0), matrix, np.arange(len(rows)), 1e-6)
    assert many.tolist() == (len(rows) * one).tolist()
    assert np.abs(one).max() > VECTOR_STEPS / 2  # single precision would not hold all of it


# --------------------------------------------------------------------------- sampling


def test_samples_come_from_the_operating_system(monkeypatch):
    drawn = []
    monkeypatch.setattr(
        "understudy.privacy.exact_noise.os.urandom",
        lambda n: drawn.append(n) or (b"\x00\x00\x00\x40\xff\xff\xff\xff" * (n // 8)),
    )
    assert SystemNoise().sample(4, Fraction(1, 2)).tolist() == [0, 2]
    assert SystemNoise().sample(4, Fraction(1, 4)).tolist() == []  # 0x40000000 is not below it
    assert drawn == [16, 16]


def test_every_row_is_sampled_at_the_rate_and_by_itself():
    rows, times, rate = 50, 4000, Fraction(1, 8)
    noise = SystemNoise()
    hits = np.zeros((times, rows))
    for line in hits:
        line[noise.sample(rows, rate)] = 1
    # Six deviations: less than once in 10^7 for all rows together.
    assert np.abs(hits.mean(axis=0) - 0.125).max() < 6 * np.sqrt(0.125 * 0.875 / times)
    sizes = hits.sum(axis=1)
    assert abs(sizes.var() / (rows * 0.125 * 0.875) - 1) < 6 * np.sqrt(2 / times)


def test_rate_one_takes_all_rows():
    assert SystemNoise().sample(1000, Fraction(1)).tolist() == list(range(1000))


# --------------------------------------------------------------------------- price


def test_the_noise_is_what_the_price_asks_for():
    noise = NoNoise(1)
    curator = make_curator([(0, 0)] * 10, noise)
    price = Budget(curator.ledger.budget.amount / 50, "rho")
    answer = curator.sum_vectors(network(), price, clip=2.0, rate=0.25)
    multiplier = find_multiplier(18, 0.25, price.amount)
    assert noise.scale == VECTOR_STEPS * multiplier
    assert answer.deviation == pytest.approx(2.0 * multiplier)


def test_all_steps_are_booked_before_the_first():
    curator = make_curator([(0, 0), (1, 1)], SeededNoise(1))
    [price] = set(curator.ledger.budget.equally(20))
    asked = VectorSum(function=network(), budget=price, clip=1.0, rate=0.5)
    curator.prepay(asked, 20)
    [entry] = curator.ledger.entries
    assert entry.question.startswith("20 sums of gradients of 29 weights, clipped to length 1")
    for _ in range(20):
        curator.answer(asked)
    assert len(curator.ledger.entries) == 1
    with pytest.raises(BudgetError, match="nothing was asked"):
        curator.answer(asked)


def test_answers_that_were_given_before_are_not_given_again():
    curator = make_curator([(0, 0), (1, 1)], SeededNoise(1))
    asked = VectorSum(
        function=network(), budget=curator.ledger.budget.equally(5)[0], clip=1.0, rate=0.5
    )
    curator.prepay(asked, 5)
    curator.forfeit(asked, 0)
    curator.forfeit(asked, 4)
    curator.answer(asked)
    with pytest.raises(BudgetError):
        curator.answer(asked)
    with pytest.raises(InputError, match="More answers were given before"):
        curator.forfeit(asked, 1)


def test_another_clip_is_not_prepaid():
    curator = make_curator([(0, 0), (1, 1)], SeededNoise(1))
    [price] = set(curator.ledger.budget.equally(2))
    curator.prepay(VectorSum(function=network(), budget=price, clip=1.0, rate=0.5), 2)
    with pytest.raises(BudgetError):
        curator.sum_vectors(network(), price, clip=1.0, rate=1.0)


def test_nothing_is_read_before_it_is_paid_for(monkeypatch):
    curator = make_curator([(0, 0), (1, 1)], SeededNoise(1))
    curator.ledger.debit("all", curator.ledger.budget, "noise")
    monkeypatch.setattr(RowMatrix, "take", lambda *_: pytest.fail("a row was read"))
    with pytest.raises(BudgetError):
        curator.sum_vectors(network(), Budget(1e-6, "rho"), clip=1.0, rate=0.5)


# --------------------------------------------------------------------------- refused


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"clip": 0.0}, "length that vectors are clipped to"),
        ({"clip": float("nan")}, "length that vectors are clipped to"),
        ({"rate": 0.0}, "sampling rate"),
        ({"budget": Budget(0.1, "epsilon")}, "needs a delta"),
        ({"budget": Budget(0.0, "rho")}, "cannot be summed for nothing"),
    ],
)
def test_what_cannot_be_asked_is_refused(changes, said):
    curator = make_curator([(0, 0)])
    asked = {"function": network(), "budget": Budget(0.001, "rho"), "clip": 1.0, "rate": 0.5}
    with pytest.raises(InputError, match=said):
        curator.answer(VectorSum(**{**asked, **changes}))
    assert not curator.ledger.entries


def test_other_relations_are_refused():
    for options in ({"neighbours": "replace"}, {"max_rows_per_person": 2}):
        ledger = Ledger(1.0, 1e-5, currency="rho", order=18, **options)
        curator = CentralCurator(encode(table([(0, 0)]), SCHEMA), ledger)
        with pytest.raises(InputError, match="one row that is added or removed"):
            curator.sum_vectors(network(), Budget(0.001, "rho"), clip=1.0, rate=0.5)


def test_a_sample_needs_an_order_and_all_rows_do_not():
    curator = make_curator([(0, 0)], order=None)
    with pytest.raises(InputError, match="kept at an order"):
        curator.sum_vectors(network(), Budget(0.001, "rho"), clip=1.0, rate=0.5)
    curator.sum_vectors(network(), Budget(0.001, "rho"), clip=1.0)


def test_networks_that_do_not_fit_are_refused():
    @dataclass(frozen=True)
    class Changed:
        weights: tuple
        said: str

    good = network()
    cases = [
        Changed((good.weights[0][:4], good.weights[1]), "do not fit"),
        Changed((good.weights[0] * np.nan, good.weights[1]), "finite"),
        Changed((good.weights[0],), "as many biases"),
    ]
    for case in cases:
        function = DenseGradient(inputs=INPUTS, weights=case.weights, biases=good.biases)
        with pytest.raises(InputError, match=case.said):
            function.check(SCHEMA)
    with pytest.raises(InputError, match="no bounds"):
        RowInputs(scaled=("a",)).check(SCHEMA)


def test_random_features_have_length_one():
    function = RandomFeatures(
        inputs=INPUTS, directions=RNG.standard_normal((3, 8)).astype(np.float32), labels=2
    )
    function.check(SCHEMA)
    matrix = RowMatrix(INPUTS, encode(table([(0, 0), (2, 1)]), SCHEMA))
    vectors = np.array([one.copy() for one in function.vectors(matrix.take(np.arange(2)))])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1], rel=1e-6)
    assert not vectors[0, 16:].any()  # those of the other label
