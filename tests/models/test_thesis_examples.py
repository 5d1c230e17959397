"""The worked examples of the thesis (chapter 3): counts, mutual information, and the three ways of
sampling.

Where the thesis' arithmetic is wrong, the test checks the right value and says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np
import pytest

from understudy.data.encoding import encode
from understudy.data.marginals import Axis
from understudy.data.schema import Schema
from understudy.data.tables import Column, Table
from understudy.models.conditioning import condition_network
from understudy.models.factors import Factor
from understudy.models.inference import joint, make_evidence
from understudy.models.network import Network, Node
from understudy.models.sampling import Sampler

# --------------------------------------------------------------------------- example 3.2


def test_example_3_2_counts() -> None:
    """Two binary attributes, eight rows: counts [1, 2, 3, 2] over (0,0), (0,1), (1,0), (1,1)."""
    rows = np.array([[1, 0], [0, 1], [1, 1], [1, 0], [1, 1], [0, 0], [0, 1], [1, 0]])
    schema = Schema.from_dict(
        {
            "attributes": {
                name: {"kind": "categorical", "values": [0, 1]} for name in ("Attr1", "Attr2")
            }
        }
    )
    table = Table({name: Column("integer", rows[:, i]) for i, name in enumerate(schema.names)}, "D")
    codes = encode(table, schema).codes
    counts = np.bincount(codes["Attr1"].astype(int) * 2 + codes["Attr2"], minlength=4)
    assert counts.tolist() == [1, 2, 3, 2]
    assert (counts / len(rows)).tolist() == [1 / 8, 2 / 8, 3 / 8, 2 / 8]


# --------------------------------------------------------------------------- examples 3.3 and 3.4

ROWS = np.array(
    [
        [1, 1, 1, 0],
        [0, 0, 0, 0],
        [1, 1, 0, 0],
        [1, 1, 1, 0],
        [1, 1, 0, 0],
        [0, 0, 0, 0],
        [1, 1, 0, 0],
        [0, 0, 0, 0],
        [0, 0, 0, 0],
        [0, 0, 0, 0],
    ]
)
COLUMN = dict(zip("ABCD", ROWS.T, strict=True))


def information(child: str, parents: str) -> float:
    """Mutual information in bits, by plain counting."""
    rows = list(zip(COLUMN[child], zip(*(COLUMN[p] for p in parents), strict=True), strict=True))
    n = len(rows)
    total = 0.0
    for x, p in set(rows):
        both = rows.count((x, p)) / n
        total += both * math.log2(
            both / (sum(r[0] == x for r in rows) / n * (sum(r[1] == p for r in rows) / n))
        )
    return total


@pytest.mark.parametrize(
    ("child", "parents", "right", "printed"),
    [
        ("B", "A", 1.0, 1.0),
        # Printed 0.16 + 0 - 0.12 + 0.4, about 0.4: the last term is 0.2 log2(0.2 / 0.1) = 0.2, so
        # 0.236 together.
        ("C", "A", 0.2364527976600279, 0.4),
        ("D", "A", 0.0, 0.0),
        # A and B are equal in every row, so this must be I(C, A); printed 0.
        ("C", "B", 0.2364527976600279, 0.0),
        # D is constant and shares nothing with anything; printed 0.2.
        ("D", "B", 0.0, 0.2),
        # Example 3.4 adds I(C, A) + I(C, B), which holds only where the parents are independent;
        # here B adds nothing.
        ("C", "AB", 0.2364527976600279, 0.4),
        ("D", "AB", 0.0, 0.2),
        # Example 3.4 then prefers (D, {B, C}); all pairs of D are worth the same: nothing.
        ("D", "AC", 0.0, None),
        ("D", "BC", 0.0, None),
    ],
)
def test_examples_3_3_and_3_4_mutual_information(
    child: str, parents: str, right: float, printed: float | None
) -> None:
    found = information(child, parents)
    assert found == pytest.approx(right, abs=1e-12)
    wrong = {("C", "A"), ("C", "B"), ("D", "B"), ("C", "AB"), ("D", "AB")}
    if printed is not None:
        assert (abs(found - printed) > 0.05) == ((child, parents) in wrong)


# --------------------------------------------------------------------------- examples 3.5 to 3.9


def in_turn(numbers: Iterable[float]) -> Callable[[int], np.ndarray]:
    """Uniform numbers in the order in which the thesis draws them (for one row at a time)."""
    waiting = iter(numbers)
    return lambda rows: np.array([next(waiting) for _ in range(rows)])


def test_example_3_5_one_variable() -> None:
    """0.67 lies in [0.3, 0.7): sunny."""
    schema = Schema.from_dict(
        {
            "attributes": {
                "W": {"kind": "categorical", "values": ["Rain", "Sunny", "Cloudy", "Foggy"]}
            }
        }
    )
    sampler = Sampler(Network((Node("W", (), np.array([3.0, 4, 2, 1])),)), schema)
    drawn = sampler.draw_fitting(
        8, lambda rows: np.array([0.67, 0, 0.29, 0.3, 0.69, 0.71, 0.89, 0.91])
    )["W"]
    words = [schema["W"].label(code) for code in drawn]
    assert words == ["Sunny", "Rain", "Rain", "Sunny", "Sunny", "Cloudy", "Cloudy", "Foggy"]


# The thesis lists the value 1 first: [0, 0.8) is A = 1. So do the codes here: code 0 stands for 1.
SCHEMA = Schema.from_dict(
    {"attributes": {n: {"kind": "categorical", "values": ["1", "0"]} for n in "ABCD"}}
)
NETWORK = Network(
    (
        Node("A", (), np.array([0.8, 0.2])),
        Node("B", (Axis("A"),), np.array([[0.8, 0.2], [0.5, 0.5]])),
        Node("C", (Axis("A"),), np.array([[0.7, 0.3], [0.1, 0.9]])),
        Node(
            "D",
            (Axis("B"), Axis("C")),
            np.array([[[0.3, 0.7], [0.1, 0.9]], [[0.2, 0.8], [0.9, 0.1]]]),
        ),
    )
)


def values(codes: dict[str, np.ndarray]) -> list[tuple[int, ...]]:
    return [
        tuple(1 - int(code) for code in row)
        for row in zip(*(codes[n] for n in "ABCD"), strict=True)
    ]


def fits(**wanted: int) -> dict[str, Factor]:
    return {
        name: make_evidence(name, np.array([value == 1, value == 0]))
        for name, value in wanted.items()
    }


def test_example_3_6_prior_sampling() -> None:
    """The numbers 0.59, 0.11, 0.7, 0.07 give (1, 1, 0, 1).

    The text once says that 0.07 in [0, 0.1) makes D = 0; by its own intervals, and in its table of
    results, D = 1.
    """
    assert values(Sampler(NETWORK, SCHEMA).draw_fitting(1, in_turn([0.59, 0.11, 0.7, 0.07]))) == [
        (1, 1, 0, 1)
    ]


GENERATED = [
    (1, 1, 0, 1),
    (1, 0, 0, 0),
    (1, 0, 1, 1),
    (1, 0, 1, 0),
    (0, 1, 1, 0),
    (0, 1, 0, 0),
    (0, 1, 1, 1),
    (0, 0, 0, 0),
    (1, 1, 0, 1),
    (0, 0, 0, 0),
]


def share(rows: list[tuple[int, ...]], weights: list[float], wanted: str, given: str = "") -> float:
    """The weighted share of rows that fit, as in ``share(rows, weights, "D=0", "A=0 C=1")``."""

    def holds(row: tuple[int, ...], text: str) -> bool:
        return all(row["ABCD".index(part[0])] == int(part[2]) for part in text.split())

    among = [(row, weight) for row, weight in zip(rows, weights, strict=True) if holds(row, given)]
    return sum(weight for row, weight in among if holds(row, wanted)) / sum(
        weight for _, weight in among
    )


def test_example_3_6_queries_from_rows() -> None:
    equal = [1.0] * 10
    assert share(GENERATED, equal, "D=1") == 4 / 10
    assert share(GENERATED, equal, "A=0 C=1") == 2 / 10
    assert share(GENERATED, equal, "A=1 B=0 C=1 D=0") == 1 / 10
    assert share(GENERATED, equal, "B=0", "C=1") == 2 / 4
    assert share(GENERATED, equal, "D=0", "A=0 C=1") == 1 / 2


def test_example_3_6_queries_exactly() -> None:
    """What the ten rows estimate, from the network itself."""

    def exactly(wanted: str, **given: int) -> float:
        evidence = {name: factor.table for name, factor in fits(**given).items()}
        table = joint(NETWORK, SCHEMA, [Axis(part[0]) for part in wanted.split()], evidence)
        return float(table[tuple(1 - int(part[2]) for part in wanted.split())])

    assert exactly("A=0 C=1") == pytest.approx(0.2 * 0.1)
    assert exactly("A=1 B=0 C=1 D=0") == pytest.approx(0.8 * 0.2 * 0.7 * 0.8)
    assert exactly("B=0", C=1) == pytest.approx(
        (0.8 * 0.7 * 0.2 + 0.2 * 0.1 * 0.5) / (0.8 * 0.7 + 0.2 * 0.1)
    )
    assert exactly("D=0", A=0, C=1) == pytest.approx(0.5 * 0.7 + 0.5 * 0.8)


def test_example_3_7_rejection_sampling() -> None:
    """For P(D = 0 | B = 1): 0.14 gives A = 1, 0.87 gives B = 0: rejected at once, and 0.69 is the A
    of a new row.
    """
    sampler = Sampler(NETWORK, SCHEMA, fits(B=1))
    numbers = in_turn([0.14, 0.87, 0.69, 0.1, 0.2, 0.3])
    assert values(sampler.draw_fitting(1, numbers)) == []
    assert values(sampler.draw_fitting(1, numbers)) == [(1, 1, 1, 0)]
    rows = values(sampler.draw_by_rejection(100_000, np.random.default_rng(1)))
    assert {row[1] for row in rows} == {1}
    exact = joint(NETWORK, SCHEMA, [Axis("D")], {"B": np.array([1.0, 0.0])})[1]
    assert share(rows, [1.0] * len(rows), "D=0") == pytest.approx(exact, abs=0.01)


def test_example_3_8_likelihood_weighting() -> None:
    """For P(D = 1 | A = 0, B = 1): A and B are forced, 0.98 gives C = 0, 0.52 gives D = 0; weight
    0.2 * 0.5 = 0.1.
    """
    sampler = Sampler(NETWORK, SCHEMA, fits(A=0, B=1))
    codes, weights = sampler.draw_forced(1, in_turn([0.98, 0.52]))
    assert values(codes) == [(0, 1, 0, 0)]
    assert weights.tolist() == pytest.approx([0.1])
    codes, weights = sampler.draw_weighted(100_000, np.random.default_rng(1))
    found = share(values(codes), weights.tolist(), "D=1")
    assert found == pytest.approx(0.1 * 0.3 + 0.9 * 0.1, abs=0.01)
    drawn = condition_network(NETWORK, SCHEMA, fits(A=0, B=1))
    assert joint(drawn, SCHEMA, [Axis("D")])[0] == pytest.approx(0.12)


def test_example_3_9_queries_from_weighted_rows() -> None:
    """The third query's answer, 0.2857, is printed as 0.28, and the second's, 0.2777, as 0.27: cut,
    not rounded.

    The second is asked for (A, B, C, D) = (0, 0, 1, 0), which no sample has, and answered for (1,
    0, 0, 1).
    """
    rows = [
        (1, 0, 0, 1),
        (0, 0, 0, 0),
        (0, 1, 0, 1),
        (1, 0, 0, 0),
        (0, 1, 1, 0),
        (0, 1, 0, 1),
        (0, 0, 0, 1),
        (0, 0, 0, 0),
        (1, 0, 0, 1),
        (0, 0, 0, 0),
    ]
    weights = [0.5, 0.2, 0.3, 0.4, 0.1, 0.2, 0.1, 0.7, 0.5, 0.6]
    assert share(rows, weights, "C=0") == pytest.approx(3.5 / 3.6)
    assert share(rows, weights, "A=0 B=0 C=1 D=0") == 0
    assert share(rows, weights, "A=1 B=0 C=0 D=1") == pytest.approx(1 / 3.6)
    assert share(rows, weights, "D=0", "A=1 C=0") == pytest.approx(0.4 / 1.4)
