"""The doors and the synthesizers lose no more than they claim, and nearly all of it: the audit is not blind."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from understudy import Independent, InputError, PrivBayes
from understudy.audit import audit
from understudy.audit.doors import RecordingNoise, exact_loss
from understudy.audit.neighbours import choice_pair, small_pair, worst_pairs
from understudy.audit.subjects import RELATIONS, all_pairs, doors, fit_exactly, fit_often, settings
from understudy.curator.mechanisms import Noise
from understudy.tables import Table

EPSILONS = (0.1, 1.0, 5.0)

LOOSE = {  # one row cannot lift one candidate and lower another by the whole sensitivity
    "choice by F, add_remove": 0.74,
    "choice by I, add_remove": 0.15,
    "choice by R, replace": 0.6,
}


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_doors_lose_what_they_claim(epsilon: float) -> None:
    for finding in doors(epsilon):
        assert finding.verdict == "kept", finding
        least = LOOSE.get(finding.subject, 0.8)
        assert finding.measured >= least * finding.claimed, finding


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", [*settings("independent", 1.0), *settings("privbayes", 1.0)])
def test_a_whole_fit_loses_no_more_than_it_claims(name: str, epsilon: float) -> None:
    method = name.split(",")[0]
    finding = fit_exactly(name, settings(method, epsilon)[name])
    assert finding.verdict == "kept", finding
    assert finding.measured >= 0.5 * finding.claimed, finding


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_models_give_away_no_more_than_is_claimed(epsilon: float) -> None:
    for method in (Independent(epsilon=epsilon), Independent(epsilon=epsilon, neighbours="replace")):
        finding = fit_often(method.name, method, runs=150, seed=1)
        assert finding.verdict == "kept", finding
    assert fit_often("privbayes", PrivBayes(epsilon=epsilon, degree=1), runs=40, seed=1).verdict == "kept"


def test_the_real_noise_keeps_the_promise_too() -> None:
    finding = fit_often("independent", Independent(epsilon=1.0), runs=300, confidence=1 - 1e-9)
    assert finding.verdict == "kept", finding


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_pairs_are_neighbours(neighbours: str) -> None:
    pairs = [*all_pairs(neighbours), small_pair(neighbours), *(choice_pair(s, neighbours) for s in "RFI")]  # type: ignore[arg-type]
    for pair in pairs:
        here, there = (
            sorted(zip(*(c.values for c in t.columns.values()), strict=True)) for t in (pair.table, pair.other)
        )
        gone, new = _without(here, there), _without(there, here)
        assert (len(gone), len(new)) == ((0, 1) if neighbours == "add_remove" else (1, 1)), pair.name


def _without(rows: list[tuple[int, ...]], others: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    left = list(rows)
    for row in others:
        if row in left:
            left.remove(row)
    return left


# --------------------------------------------------------------------------- the recorder


def test_what_passes_beside_the_noise_is_seen() -> None:
    pair = worst_pairs("add_remove")[0]

    def looks_at_the_rows(table: Table, noise: Noise) -> None:
        for _ in range(table.rows - 38):
            noise.laplace(np.zeros(2, dtype=np.int64), 1.0)

    loss = exact_loss(looks_at_the_rows, pair)
    assert loss.side_door
    assert loss.epsilon == float("inf")


def test_a_recorded_fit_says_that_it_is_not_private() -> None:
    pair = small_pair("add_remove")
    model = Independent(epsilon=1.0).fit(pair.table, pair.schema, noise=RecordingNoise())
    assert not model.ledger.private


def test_the_worst_answers_are_given() -> None:
    """Where the better candidate hardly ever loses, the loss is in the other one being chosen."""
    pair = small_pair("add_remove")

    def run(table: Table, noise: Noise) -> None:
        more = table.rows - 40
        if noise.choose(np.array([100.0 + more, -1.0 * more]), 2.0, "exponential") == 1:
            noise.laplace(np.array([table.rows]), 0.5)

    assert exact_loss(run, pair).epsilon == pytest.approx(1 + 2)


# --------------------------------------------------------------------------- the function


def test_a_synthesizer_is_audited_as_it_is_set_up() -> None:
    told = []
    result = audit(replace(Independent(epsilon=0.5), repair="clip"), runs=20, seed=1, told=told.append)
    assert (result.claimed, result.verdict, result.passed) == (0.5, "kept", True)
    assert result.measured == pytest.approx(0.5)
    assert tuple(told) == result.details


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "gan"}, "There is no 'gan' to audit"),
        ({"method": "doors", "epsilon": 0}, "epsilon must be"),
        ({"method": "doors", "runs": 1}, "runs must be"),
        ({"method": "doors", "confidence": 1.0}, "confidence must be"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        audit(**arguments)  # type: ignore[arg-type]
