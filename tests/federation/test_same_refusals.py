"""A question that cannot be answered is refused by every curator, before any debit, in the same
words.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from memory_holders import holders_of

from asking import said, started
from understudy.data.encoding import Coded
from understudy.data.marginals import marginal
from understudy.data.schema import Schema
from understudy.errors import InputError
from understudy.federation import Federation, MemoryLink
from understudy.federation.curator import FederatedCurator
from understudy.federation.holder_rows import HolderRows
from understudy.federation.known_tables import TablesCurator
from understudy.federation.messages import Message
from understudy.federation.noise_shares import ShareNoise
from understudy.federation.terms import schema_digest
from understudy.privacy.budget import Budget
from understudy.privacy.central import CentralCurator
from understudy.privacy.curator import Curator
from understudy.privacy.features import Indicator, Number
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import SeededNoise
from understudy.privacy.questions import MAX_WEIGHT, Choose, Draw, Measure, Question
from understudy.privacy.sum_wire import sum_to_wire
from understudy.privacy.sums import Sum

MANY = {"kind": "categorical", "values": list(range(1000))}
SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "a": {"kind": "categorical", "values": ["x", "y"]},
            "b": {"kind": "categorical", "values": ["p", "q", "r"]},
            "id": {"kind": "identifier"},
            "large": MANY,
            "larger": MANY,
            "largest": MANY,
        }
    }
)
PRICE = Budget(0.1)
A, PAIRS = marginal("a"), [marginal("a", "b"), marginal("b", "a")]
CELLS = [np.full((2, 3), 1.0), np.full((3, 2), 1.0)]


def measure(*marginals: Any, budget: Budget = PRICE, **more: Any) -> Measure:
    return Measure(marginals=marginals, budget=budget, **more)


def choose(*candidates: Any, score: str = "R", budget: Budget = PRICE, **more: Any) -> Choose:
    return Choose(candidates=candidates, score=score, budget=budget, **more)


def sum_of(*features: Any, budget: Budget = PRICE, **more: Any) -> Sum:
    return Sum(features=features, budget=budget, **more)


B = Indicator("b", (0,))

BAD: dict[str, tuple[Question, str]] = {
    "no such attribute": (measure(A, marginal("z")), "There is no attribute 'z'"),
    "no such level": (measure(marginal(("a", 3))), "'a' has no generalisation level 3"),
    "a negative level": (measure(marginal(("a", -1))), "'a' has no generalisation level -1"),
    "an identifier": (measure(marginal("id")), "'id' is of kind identifier: it is never read"),
    "an attribute twice": (measure(marginal("a", "a")), "table of a x a names an attribute twice"),
    "too many cells": (measure(marginal("large", "larger", "largest")), "has more than 268,435,"),
    "too few weights": (measure(A, A, weights=[1.0]), "a weight for each table"),
    "a weight of 0": (measure(A, A, weights=[1.0, 0.0]), "a weight for each table"),
    "a large weight": (measure(A, A, weights=[1.0, 2.0 * MAX_WEIGHT]), "a weight for each"),
    "a free table": (measure(A, budget=Budget(0.0)), "cannot be measured for nothing"),
    "no candidates": (choose(), "nothing to choose from"),
    "an empty candidate": (choose(*PAIRS, ()), "nothing to choose from"),
    "no such candidate": (choose(PAIRS[0], marginal("b", "z")), "There is no attribute 'z'"),
    "a candidate of an identifier": (choose(PAIRS[0], marginal("b", "id")), "it is never read"),
    "a candidate twice": (choose(*PAIRS, PAIRS[0]), "stands twice"),
    "no such score": (choose(*PAIRS, score="Q"), "There is no score 'Q'"),
    "a score of two values": (choose(*PAIRS, score="F"), "Score F is for attributes with two"),
    "no such rule": (choose(*PAIRS, rule="largest"), "There is no rule 'largest'"),
    "too few offsets": (choose(*PAIRS, offsets=np.zeros(1)), "Offsets must be finite numbers"),
    "an offset that is no number": (
        choose(*PAIRS, offsets=np.array([0.0, np.nan])),
        "Offsets must be finite numbers, one per candidate",
    ),
    "no estimates": (choose(*PAIRS, score="misfit"), "Estimates go with the score misfit"),
    "estimates for another score": (choose(*PAIRS, estimates=CELLS), "Estimates go with the score"),
    "too few estimates": (
        choose(*PAIRS, score="misfit", estimates=CELLS[:1]),
        "one estimate for each candidate",
    ),
    "estimates of another shape": (
        choose(*PAIRS, score="misfit", estimates=CELLS[::-1]),
        "does not have the shape of its table",
    ),
    "estimates that cannot be": (
        choose(*PAIRS, score="misfit", estimates=[CELLS[0], CELLS[1] * 1e30]),
        "holds counts that cannot be",
    ),
    "no features": (sum_of(), "1 to 2,000 features"),
    "a feature twice": (sum_of(B, B), "stands twice"),
    "no such feature": (sum_of(Indicator("z", (0,))), "There is no attribute 'z'"),
    "a feature of an identifier": (sum_of(Number("id")), "it is never read"),
    "words to sum": (sum_of(Number("a")), "values that are no numbers"),
    "no such code": (sum_of(Indicator("b", (3,))), "must name codes of it"),
    "bounds upside down": (sum_of(Number("large", 5.0, 1.0)), "must lie below the upper one"),
    "bounds beyond numbers": (sum_of(Number("large", 0.0, 1e300)), "must be finite numbers"),
    "no such moments": (sum_of(B, moments="cubes"), "There are no moments 'cubes'"),
    "no such rule for missing": (sum_of(B, missing="mean"), "There is no rule 'mean'"),
    "a ball of nothing": (sum_of(B, ball=0.0), "The ball must have a radius"),
    "groups of an identifier": (sum_of(B, by=marginal("id")), "it is never read"),
    "points of another size": (sum_of(B, nearest=[[1.0, 2.0]], by=A), "Points must have"),
    "centres of another shape": (sum_of(B, centres=np.ones(3)), "Centres must be finite"),
    "no share": (sum_of(B, shares={"sums": 0.0}), "Shares of the budget must be"),
    "moments without a word": (sum_of(B, shares={"moments": 1.0}), "Moments need a share"),
    "too many sums": (
        sum_of(*(Indicator("large", (i,)) for i in range(1000)), by=marginal("larger", "largest")),
        "sums; take fewer",
    ),
    "free sums": (sum_of(B, budget=Budget(0.0)), "cannot be had for nothing"),
    "a free choice": (choose(*PAIRS, budget=Budget(0.0)), "cannot be made for nothing"),
}

NOT_ON_THE_WIRE = {
    "a negative level",
    "an offset that is no number",
    "too few estimates",
    "estimates of another shape",
    "points of another size",
}
"""Messages cannot hold these, or hold all estimates as one array."""


def rows() -> Coded:
    names = [attribute.name for attribute in SCHEMA.modelled]
    return Coded(SCHEMA, {name: np.zeros(50, dtype=np.uint16) for name in names}, 50, ())


@pytest.fixture(scope="module")
def federated() -> Any:
    links = [MemoryLink(holder) for holder in holders_of([rows(), rows(), rows()])]
    with Federation(links) as federation:
        yield {
            "secure": FederatedCurator(
                federation.open(SCHEMA, "secure", epsilon=1.0, colluders=0), SCHEMA
            ),
            "voting": FederatedCurator(
                federation.open(SCHEMA, "voting", epsilon=1.0, colluders=0), SCHEMA
            ),
        }


def refusal(answer: Any, *question: Any, **more: Any) -> str:
    with pytest.raises(InputError) as refused:
        answer(*question, **more)
    return str(refused.value)


@pytest.mark.parametrize(("bad", "sentence"), BAD.values(), ids=BAD.keys())
def test_all_curators_refuse_in_the_same_words(
    federated: Any, bad: Question, sentence: str
) -> None:
    central = CentralCurator(rows(), Ledger(1.0), SeededNoise(0))
    curators: list[Curator] = [central, *federated.values()]
    curators.append(TablesCurator(federated["voting"], central.measure([A], PRICE)))
    central.ledger.entries.clear()
    holder = HolderRows(rows(), Ledger(1.0), ShareNoise(3, SeededNoise(0)))

    refusals = {refusal(curator.answer, bad) for curator in curators}
    if isinstance(bad, Measure):
        refusals.add(refusal(holder.measure, bad))
    elif isinstance(bad, Sum):
        refusals.add(refusal(holder.sum, bad))
    else:
        refusals.add(refusal(holder.choose, bad))
        refusals.add(refusal(holder.score, bad, None, top=False))
        refusals.add(refusal(holder.score, bad, None, top=True))

    [words] = refusals
    assert sentence in words
    assert all(not asked.ledger.entries for asked in (*curators, holder))


@pytest.mark.parametrize("name", [name for name in BAD if name not in NOT_ON_THE_WIRE])
def test_a_holder_refuses_what_it_reads_from_a_message_in_the_same_words(name: str) -> None:
    bad, sentence = BAD[name]
    holders = holders_of([rows(), rows(), rows()])
    started(holders, schema=schema_digest(SCHEMA))
    if isinstance(bad, Sum):
        content, arrays = sum_to_wire(bad)
    else:
        assert isinstance(bad, Measure | Choose)
        content, arrays = bad.to_wire()
    content |= {"session": "s1", "round": 1, "bits": None}
    if isinstance(bad, Measure):
        content |= {"what": "tables"}
    elif isinstance(bad, Sum):
        content |= {"what": "sums"}
    else:
        content |= {"what": "vote", "most_rows": None, "shares": {"h0": 1.0}}
    answer = said(holders[0], Message("ask", content, arrays))
    assert answer.kind == "refused"
    central = CentralCurator(rows(), Ledger(1.0), SeededNoise(0))
    assert answer.content["sentence"] == refusal(central.answer, bad)
    assert sentence in answer.content["sentence"]
    assert holders[0]._sessions["s1"].ledger.entries == []


def test_nobody_draws_from_the_tables_of_several_holders(federated: Any) -> None:
    words = "Rows cannot be drawn from the tables of several holders"
    for curator in federated.values():
        assert words in refusal(curator.answer, Draw(axes=A, draws=5, budget=PRICE))


def test_a_question_of_another_kind_is_nobodys(federated: Any) -> None:
    class Reveal(Question):
        def check(self, domain: Any) -> None:
            """Anything goes."""

    central = CentralCurator(rows(), Ledger(1.0), SeededNoise(0))
    for curator in (central, *federated.values()):
        with pytest.raises(TypeError, match="does not answer Reveal"):
            curator.answer(Reveal())


def test_a_holder_is_no_central_curator() -> None:
    assert not issubclass(HolderRows, Curator)
