"""Whole fits of the synthesizers lose no more than they claim, and nearly all of it."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest
from greedy_path import ENOUGH, EPSILONS, follow_the_greedy_path

import understudy.synthesizers
from understudy import Independent
from understudy.auditing import audit_subjects
from understudy.auditing.discovery import without_schema
from understudy.auditing.subjects import (
    DELTA,
    fit_exactly,
    fit_often,
    settings_of,
)
from understudy.privacy.mechanisms import (
    SeededNoise,
)
from understudy.synthesizers import Synthesizer
from understudy.synthesizers.registry import methods

NO_METHODS = (
    *("doors", "discovery", "mechanisms", "ask", "learners", "local", "collusion"),
    "controls",
)
METHODS = [name for name in audit_subjects() if name not in NO_METHODS]


LEAST_OF_A_FIT = 0.6
"""Most fits lose more than 0.8 of what they claim on the pairs here. Two lose less, perhaps by
nature. Draws under zCDP (0.68 to 0.79): each is priced as the worst pure mechanism of its epsilon,
of rho = epsilon^2 / 2, and loses less than that. Moments that a row is replaced in (0.63 to 0.68):
squares and products of the row that goes and of the one that comes cannot all be at opposite ends.
"""


@pytest.mark.parametrize(
    "epsilon", [pytest.param(EPSILONS[0], marks=pytest.mark.slow), *EPSILONS[1:]]
)
@pytest.mark.parametrize("name", [name for method in METHODS for name in settings_of(method, 1.0)])
def test_a_whole_fit_loses_no_more_than_it_claims(
    name: str, epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    follow_the_greedy_path(epsilon, monkeypatch)
    method = settings_of(name.split(",")[0], epsilon)[name]
    for finding in fit_exactly(name, method):
        assert finding.verdict == "kept", finding
        assert finding.measured >= LEAST_OF_A_FIT * finding.claimed, finding


@pytest.mark.parametrize("method", METHODS)
def test_models_give_away_no_more_than_is_claimed(method: str) -> None:
    for name, synthesizer in settings_of(method, 1.0).items():
        for finding in fit_often(name, synthesizer, runs=ENOUGH, seed=1):
            assert finding.verdict == "kept", finding


@pytest.mark.parametrize("delta", [0.0, DELTA])
def test_without_noise_they_would_give_away_more(
    delta: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in ("laplace", "gaussian"):
        monkeypatch.setattr(SeededNoise, kind, lambda self, counts, scale: counts)
    for finding in fit_often(
        "independent", Independent(epsilon=1.0, delta=delta), runs=ENOUGH, seed=1
    ):
        assert finding.verdict == "broken", finding


@pytest.mark.parametrize("epsilon", [0.1, 3.0])
def test_models_give_away_part_of_it_where_that_is_much(epsilon: float) -> None:
    found = list(fit_often("independent", Independent(epsilon=epsilon), runs=400, seed=1))
    assert [finding.verdict for finding in found] == ["kept"]
    assert found[0].measured > 0.8 or epsilon < 1


def test_the_real_noise_keeps_the_promise_too() -> None:
    [finding] = fit_often("independent", Independent(epsilon=1.0), runs=300, confidence=1 - 1e-9)
    assert finding.verdict == "kept", finding


def _classes(of: type[Synthesizer]) -> Iterator[type[Synthesizer]]:
    for kind in of.__subclasses__():
        if not inspect.isabstract(kind):
            yield kind
        yield from _classes(kind)


def test_no_synthesizer_is_forgotten() -> None:
    """Every class of the package is audited: with a schema, or, where that asks for nothing,
    without one.
    """
    for module in pkgutil.iter_modules(
        understudy.synthesizers.__path__, "understudy.synthesizers."
    ):
        importlib.import_module(module.name)
    audited: list[Any] = [
        *without_schema(1.0).values(),
        *(m for method in METHODS for m in settings_of(method, 1.0).values()),
    ]
    known = {
        kind
        for kind in _classes(Synthesizer)
        if kind.__module__.startswith(understudy.synthesizers.__name__)
    }
    assert known == {type(method) for method in audited}
    assert set(METHODS) == {
        name for name, one in methods().items() if one.kind.asks and not one.defaults
    }
