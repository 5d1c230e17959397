"""Sums of numbers over several holders: one noise in all, as of one table."""

from __future__ import annotations

import re

import numpy as np
import pytest
from memory_holders import holders_of

from asking import said, started
from understudy.data.encoding import Coded
from understudy.data.marginals import marginal
from understudy.data.schema import Schema
from understudy.data.tables import Column, Table
from understudy.errors import InputError
from understudy.federation import Federation, HolderRefused, MemoryLink
from understudy.federation.curator import FederatedCurator
from understudy.federation.messages import Message
from understudy.federation.sums import MAX_SUM_STEPS, coarsen_blocks
from understudy.federation.terms import schema_digest
from understudy.privacy.budget import Budget
from understudy.privacy.domain import Domain
from understudy.privacy.features import Indicator, Number
from understudy.privacy.ledger import Ledger
from understudy.privacy.sum_wire import sum_from_wire, sum_to_wire
from understudy.privacy.sums import Sum

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "x": {"kind": "real", "min": -10, "max": 30, "missing": True},
            "y": {"kind": "integer", "min": 0, "max": 9},
            "g": {"kind": "categorical", "values": ["u", "v"]},
        }
    }
)
FEATURES = (Number("x", centre=10.0), Number("y"), Indicator("g", (1,)))


def rows(number: int, seed: int) -> Coded:
    rng = np.random.default_rng(seed)
    x, y, g = rng.normal(8, 12, number), rng.integers(0, 10, number), rng.integers(0, 2, number)
    table = Table(
        {
            "x": Column("real", x, missing=(rng.random(number) < 0.1).astype(np.uint8)),
            "y": Column("integer", y.astype(np.int64)),
            "g": Column("text", g.astype(np.uint32), ("u", "v")),
        }
    )
    codes = {"x": np.zeros(number, np.uint8), "y": y.astype(np.uint8), "g": g.astype(np.uint8)}
    return Coded(SCHEMA, codes, number, (), table)


PARTS = [rows(500, seed) for seed in range(5)]


@pytest.fixture
def opened():
    federations = []

    def curator(parts=PARTS, way="secure", **more):
        relation = {}
        if "neighbours" in more:
            relation = {"neighbours": more["neighbours"]}
        federation = Federation([MemoryLink(holder) for holder in holders_of(parts, **relation)])
        federations.append(federation)
        terms = {"epsilon": 100.0, "colluders": 0} | more
        return FederatedCurator(federation.open(SCHEMA, way, **terms), SCHEMA)

    yield curator
    for federation in federations:
        federation.__exit__()


def exact_sums(by_group: bool = False) -> np.ndarray:
    found = []
    for group in (0, 1):
        total = np.zeros(3)
        for part in PARTS:
            x, y, g = (part.table.columns[name] for name in ("x", "y", "g"))
            kept = (x.missing == 0) & (g.values == group)
            clipped = np.clip(x.values, -10, 30) - 10
            total += [clipped[kept].sum(), y.values[kept].sum(), g.values[kept].sum()]
        found.append(total)
    return np.array(found) if by_group else np.sum(found, axis=0)


@pytest.mark.parametrize("way", ["secure", "voting"])
@pytest.mark.parametrize("delta", [0.0, 1e-9])
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_sums_of_all_rows_with_the_noise_that_is_told(opened, way, delta, neighbours):
    curator = opened(way=way, delta=delta, neighbours=neighbours)
    cost = curator.ledger.left.equally(2)[0]
    answer = curator.sum(FEATURES, cost, moments="products", by=marginal("g"))
    off = np.abs(answer.sums.values - exact_sums(by_group=True))
    assert (off <= 12 * answer.sums.deviation + [0.6, 0, 0]).all()  # and rounding to the grid
    assert answer.moments.values.shape == (2, 3, 3)
    assert [entry.question for entry in curator.ledger.entries] == [
        "sums of 3 features of x, y, g by g",
        "products of 3 features of x, y, g by g",
    ]
    words = "securely summed" if way == "secure" else "by each of 5 holders"
    assert all(words in entry.mechanism for entry in curator.ledger.entries)


@pytest.mark.parametrize(
    ("dropouts", "colluders", "more"), [(0, 0, 1.0), (1, 0, 5 / 4), (1, 1, 5 / 3)]
)
@pytest.mark.parametrize("delta", [0.0, 1e-9])
def test_noise_is_as_large_as_is_told(opened, dropouts, colluders, more, delta):
    """Many empty groups: their deviation is that of one table's noise, and what dropouts add."""
    curator = opened(
        [rows(0, 0)] * 5, epsilon=1.0, delta=delta, dropouts=dropouts, colluders=colluders
    )
    points = [[float(place), 0.0, 0.0] for place in range(300)]
    answer = curator.sum(FEATURES, curator.ledger.left, nearest=points)
    noise = answer.sums.values / answer.sums.deviation
    assert noise.std() == pytest.approx(1, rel=0.2)  # 900 numbers of kurtosis 6: 3.7 % by chance
    question = Sum(features=FEATURES, budget=curator.ledger.budget, nearest=points)
    blocks = question.blocks(Domain(SCHEMA), "add_remove", 1)
    scale = question.scales(blocks)["sums"]
    central = scale / blocks["sums"].steps * np.array([20.0, 9.0, 1.0])
    if not delta:
        central = central * np.sqrt(2)
    assert answer.sums.deviation == pytest.approx(central * np.sqrt(more), rel=2e-2)


def test_the_grid_is_as_fine_as_shares_of_noise_allow():
    domain, ledger = Domain(SCHEMA), Ledger(1.0)
    fine = Sum(features=[Number("y")], budget=Budget(1.0))
    assert coarsen_blocks(fine, domain, ledger)["sums"].steps == 9
    for budget in (Budget(1.0), Budget(1.0, "rho")):
        most = MAX_SUM_STEPS[budget.currency]
        mixed = Sum(features=FEATURES, budget=budget)
        assert coarsen_blocks(mixed, domain, ledger)["sums"].steps == most
        ball = Sum(features=FEATURES, budget=budget, ball=1.0, moments="products")
        assert coarsen_blocks(ball, domain, ledger)["moments"].steps == most
    poor = Sum(features=FEATURES, budget=Budget(1e-4))
    block = coarsen_blocks(poor, domain, ledger)["sums"]
    assert block.steps < MAX_SUM_STEPS["epsilon"]
    assert 2**23 < block.scale(Budget(1e-4)) <= 2**24
    with pytest.raises(InputError, match="more noise than holders can draw"):
        coarsen_blocks(Sum(features=FEATURES, budget=Budget(1e-7)), domain, ledger)


def test_a_question_is_the_same_on_the_other_side_of_the_wire():
    question = Sum(
        features=FEATURES,
        budget=Budget(0.5),
        moments="squares",
        by=marginal("g"),
        nearest=[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],
        centres=np.arange(12.0).reshape(2, 2, 3),
        ball=2.0,
        missing="centre",
        shares={"counts": 1.0, "sums": 2.0, "moments": 3.0},
    )
    domain = Domain(SCHEMA)
    question.check(domain)
    content, arrays = sum_to_wire(question)
    message = Message.from_bytes(Message("ask", content, arrays).to_bytes())
    read = sum_from_wire(message, Budget(0.5), domain)
    read.check(domain)
    assert read.summation(domain) == question.summation(domain)
    assert read.costs == question.costs


def test_directions_and_pooled_groups_come_through_as_they_were_sent():
    question = Sum(
        features=FEATURES,
        budget=Budget(0.5),
        moments="products",
        by=marginal("g"),
        centres=np.array([[1.0, 2.0, 0.0], [3.0, 4.0, 1.0]]),
        ball=2.0,
        missing="centre",
        shares={"moments": 1.0},
        directions=np.array([[0.6, 0.8, 0.0], [0.0, 0.1, -0.9]]),
        pooled=True,
    )
    domain = Domain(SCHEMA)
    content, arrays = sum_to_wire(question)
    message = Message.from_bytes(Message("ask", content, arrays).to_bytes())
    read = sum_from_wire(message, Budget(0.5), domain)
    read.check(domain)
    assert read.summation(domain) == question.summation(domain)
    assert read.costs == question.costs


def asked(**changes):
    content, arrays = sum_to_wire(Sum(features=FEATURES, budget=Budget(0.1), by=marginal("g")))
    content |= {"session": "s1", "round": 1, "what": "sums", "bits": None}
    arrays |= changes.pop("arrays", {})
    return Message("ask", {**content, **changes}, arrays)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"features": ["x"]}, "cannot be read"),
        ({"arrays": {"directions": np.ones(2)}}, "for each feature"),
        ({"arrays": {"directions": np.ones(3)}}, "need a ball"),
        ({"features": [[]]}, "cannot be read"),
        ({"features": [[1, [0]]]}, "cannot be read"),
        ({"features": [["g", [True]]]}, "cannot be read"),
        ({"features": [["g", [0.0]]]}, "cannot be read"),
        ({"features": [["g", [-1]]]}, "codes"),
        ({"features": [["g", [2**40]]]}, "codes"),
        ({"features": [["x", None, None, None, None, None]]}, "cannot be read"),
        ({"features": [["x", None, None, "0", None, None]]}, "cannot be read"),
        ({"features": [["x", True, None, 0.0, None, None]]}, "cannot be read"),
        ({"features": [["x", None, None, 0.0, None]]}, "cannot be read"),
        ({"features": [["x", 1e300, 1e301, 0.0, None, None]]}, "finite numbers"),
        ({"features": [["x", None, None, 0.0, None, 5e-324]]}, "step"),
        ({"features": [["x", 0.0, 2.0, 1.0, None, 5e-324]]}, "step"),
        ({"features": [["x", None, None, 0.0, 5e-324, None]], "ball": 1.0}, "ball|unit|steps"),
        ({"features": [["x", None, None, 0.0, 1e300, None]], "ball": 1.0}, "ball|unit"),
        ({"features": [["x", 0.0, 1e-30, 0.0, None, None]] * 2}, "twice"),
        ({"moments": 1}, "moments"),
        ({"ball": "1"}, "ball"),
        ({"ball": 2**62}, "radius"),
        ({"split": {"sums": "1"}}, "cannot be read"),
        ({"split": {"sums": 1e-300}}, "Shares"),
        ({"split": {"tables": 1.0}}, "Shares"),
        ({"split": {}}, "Shares"),
        ({"bits": "binary"}, "bits"),
        ({"score": "R"}, "score"),
        ({"arrays": {"points": np.ones(4)}}, "Points"),
        ({"arrays": {"points": np.zeros(0)}}, "Points"),
        ({"arrays": {"points": np.ones(60_000)}}, "points"),
        ({"arrays": {"centres": np.ones(5)}}, "Centres"),
        ({"arrays": {"lengths": np.array([1, 0])}}, "one table"),
        ({"amount": 1e-9}, "more noise than holders can draw"),
        ({"amount": 5.0}, "0.1|left|budget|epsilon"),
    ],
)
def test_hostile_questions_are_refused_before_anything_is_debited(changes, why):
    holders = holders_of(PARTS[:3])
    started(holders, schema=schema_digest(SCHEMA))
    answer = said(holders[0], asked(**changes))
    assert answer.kind == "refused"
    assert not answer.content["gone"], answer
    assert re.search(why, answer.content["sentence"]), answer.content["sentence"]
    session = holders[0]._sessions["s1"]
    assert session.ledger.entries == []
    assert (
        said(
            holders[0],
            Message("ask", {**asked().content, "round": session.round + 1}, asked().arrays),
        ).kind
        == "masked"
    )


def test_centres_beyond_all_bounds_are_clipped_and_close_nobody():
    holders = holders_of(PARTS[:3])
    started(holders, schema=schema_digest(SCHEMA))
    centres = np.resize([1.7e308, -1.7e308], SCHEMA["g"].size * len(FEATURES))
    answer = said(holders[0], asked(arrays={"centres": centres}))
    assert answer.kind == "masked", answer
    assert not holders[0]._closed


def test_a_holder_of_codes_alone_says_so(opened):
    codes = [Coded(SCHEMA, part.codes, part.rows, ()) for part in PARTS]
    curator = opened(codes)
    with pytest.raises(HolderRefused, match="only codes are known"):
        curator.sum([Number("x")], Budget(1.0))
    assert curator.sum([Indicator("g", (1,))], Budget(1.0)).sums is not None


def test_ways_that_do_not_sum_say_so(opened):
    curator = opened(way="statistics")
    with pytest.raises(InputError, match="use secure"):
        curator.sum([Number("x")], Budget(1.0))
    assert not curator.ledger.entries
