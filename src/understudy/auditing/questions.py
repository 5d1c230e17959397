"""The curator's doors, audited one by one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from understudy.auditing.bounds import choice_losses, renyi_rho
from understudy.auditing.doors import RunWithNoise, exact_loss
from understudy.auditing.findings import Finding, mu_of, unit_at
from understudy.auditing.gradients import gradient_findings
from understudy.auditing.neighbours import (
    PERSON,
    Pair,
    choice_pair,
    person_pairs,
    refinement_pairs,
    refinement_person_pair,
    tiny_pair,
    worst_pairs,
)
from understudy.auditing.subjects import DELTA, RELATIONS, ROWS_PER_PERSON, exact_findings
from understudy.auditing.sums import sum_settings
from understudy.data.encoding import encode
from understudy.data.marginals import marginal
from understudy.data.tables import Table
from understudy.mechanisms.distributions import choice_log_probabilities
from understudy.privacy.budget import Currency, Neighbours, epsilon_of, rho_of
from understudy.privacy.central import CentralCurator
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import (
    SCORE_GRID,
    ChoiceRule,
    Noise,
    choice_scale,
    round_to_grid,
)
from understudy.privacy.refinement import refine

RULES: tuple[ChoiceRule, ...] = ("permute_and_flip", "exponential")


def doors(epsilon: float) -> Iterator[Finding]:
    """Every kind of question to the curator, by itself, on the pair on which it loses most."""
    for relation in RELATIONS:
        if relation == "add_remove":
            ask = _tables
        else:
            ask = _histograms
        yield from exact_findings(
            f"tables, Laplace, {relation}", epsilon, make_run(ask, epsilon), worst_pairs(relation)
        )
        gaussian = make_run(ask, epsilon, DELTA)
        yield from exact_findings(
            f"tables, Gaussian, {relation}", epsilon, gaussian, worst_pairs(relation), DELTA
        )
    people = person_pairs(ROWS_PER_PERSON)
    yield from exact_findings(
        f"tables, Laplace, {ROWS_PER_PERSON} rows per person",
        epsilon,
        make_run(_tables, epsilon, most=ROWS_PER_PERSON),
        people,
    )
    gaussian = make_run(_tables, epsilon, DELTA, ROWS_PER_PERSON)
    yield from exact_findings(
        f"tables, Gaussian, {ROWS_PER_PERSON} rows per person", epsilon, gaussian, people, DELTA
    )
    for rule in RULES:
        yield _any_scores(epsilon, rule)
    yield _any_scores_in_rho(epsilon)
    for score in ("F", "I", "R"):
        for relation in RELATIONS:
            pairs = [choice_pair(score, relation)]
            yield from exact_findings(
                f"choice by {score}, {relation}", epsilon, make_run(_choice(score), epsilon), pairs
            )
    pairs = [choice_pair("I", "replace", two_values=True)]
    yield from exact_findings(
        "choice by I of two values, replace", epsilon, make_run(_choice("I"), epsilon), pairs
    )
    for score in ("F", "R"):
        for relation in RELATIONS:
            pairs = [choice_pair(score, relation)]
            asked = make_run(_choice(score, _even(score, relation)), epsilon, DELTA)
            yield from exact_findings(
                f"choice by {score}, zCDP, {relation}", epsilon, asked, pairs, DELTA
            )
    for relation in RELATIONS:
        worst = worst_pairs(relation)[0]
        for handicap, delta in ((1000.0, 0.0), (0.0, DELTA)):
            asked = make_run(_misfit_choice(worst, handicap), epsilon, delta)
            name = f"choice by misfit, {'zCDP, ' if delta else ''}{relation}"
            yield from exact_findings(name, epsilon, asked, [worst], delta)
    pairs = [choice_pair("R", "add_remove", rows=4000, person_rows=ROWS_PER_PERSON)]
    name = f"choice by R, {ROWS_PER_PERSON} rows per person"
    yield from exact_findings(
        name, epsilon, make_run(_choice("R"), epsilon, most=ROWS_PER_PERSON), pairs
    )
    name = f"choice by R, zCDP, {ROWS_PER_PERSON} rows per person"
    yield from exact_findings(
        name, epsilon, make_run(_choice("R", 0.0), epsilon, DELTA, ROWS_PER_PERSON), pairs, DELTA
    )
    for relation in RELATIONS:
        # Many rows, so that one more changes their number hardly at all; or none, so that nothing
        # hides the row.
        pairs = [worst_pairs(relation, 400)[0], tiny_pair(relation)]
        yield from exact_findings(f"draws, {relation}", epsilon, make_run(_draws, epsilon), pairs)
        yield from exact_findings(
            f"draws, zCDP, {relation}", epsilon, make_run(_draws, epsilon, DELTA), pairs, DELTA
        )
    yield from _in_gdp(epsilon)
    yield from _sums(epsilon)
    yield from gradient_findings(epsilon)
    yield from _refinements(epsilon)
    people = (person_pairs(ROWS_PER_PERSON, 1200)[0], person_pairs(ROWS_PER_PERSON, 0)[0])
    name = f"draws, {ROWS_PER_PERSON} rows per person"
    yield from exact_findings(
        name, epsilon, make_run(_draws, epsilon, most=ROWS_PER_PERSON), people
    )
    name = f"draws, zCDP, {ROWS_PER_PERSON} rows per person"
    yield from exact_findings(
        name, epsilon, make_run(_draws, epsilon, DELTA, ROWS_PER_PERSON), people, DELTA
    )


def _in_gdp(epsilon: float) -> Iterator[Finding]:
    """Questions that are priced in GDP: tables, a choice before tables, and one that nothing
    follows.
    """
    for relation in RELATIONS:
        pairs = worst_pairs(relation)
        for ask, name in ((_all_tables, "tables"), (_choice_before_tables, "choice before tables")):
            run = make_run(ask, epsilon, DELTA, currency="gdp")
            subject = f"{name}, GDP, {relation}"
            yield from exact_findings(subject, epsilon, run, pairs, DELTA, currency="gdp")
        pair = choice_pair("R", relation)
        run = make_run(_choice("R", _even("R", relation)), epsilon, DELTA, currency="gdp")
        loss = exact_loss(run(pair), pair)
        claimed = math.erf(mu_of(epsilon, DELTA, "gdp") / math.sqrt(8))
        measured = max(float(np.abs(np.exp(p) - np.exp(q)).sum() / 2) for p, q in loss.chosen)
        yield Finding(
            f"choice alone, GDP, {relation}", pair.name, "exact", claimed, measured, "delta"
        )


def _sums(epsilon: float) -> Iterator[Finding]:
    """Sums of numbers and their second moments, in boxes and balls."""
    for delta, noise in ((0.0, "Laplace"), (DELTA, "Gaussian")):
        for setting in sum_settings(delta):
            for relation in RELATIONS:
                name = f"{setting.name}, {noise}, {relation}"
                run = make_run(setting.ask, epsilon, delta)
                yield from exact_findings(name, epsilon, run, [setting.pair(relation)], delta)
            name = f"{setting.name}, {noise}, {ROWS_PER_PERSON} rows per person"
            run = make_run(setting.ask, epsilon, delta, ROWS_PER_PERSON)
            people = [setting.pair("add_remove", ROWS_PER_PERSON)]
            yield from exact_findings(name, epsilon, run, people, delta)


ENOUGH_TO_REFINE = 1000
"""Rows with which all questions about the inside of bins are asked, at epsilon 1."""


def _refinements(epsilon: float) -> Iterator[Finding]:
    """What lies inside bins, all questions of it together."""
    rows = max(400, round(ENOUGH_TO_REFINE / epsilon))
    for relation in RELATIONS:
        pairs = refinement_pairs(relation, rows)
        for delta in (0.0, DELTA):
            name = f"inside of bins, {'zCDP, ' if delta else ''}{relation}"
            yield from exact_findings(
                name, epsilon, _make_refinement_run(epsilon, delta), pairs, delta
            )
    pairs = (refinement_person_pair(ROWS_PER_PERSON, rows),)
    name = f"inside of bins, {ROWS_PER_PERSON} rows per person"
    yield from exact_findings(
        name, epsilon, _make_refinement_run(epsilon, most=ROWS_PER_PERSON), pairs
    )


def _make_refinement_run(
    epsilon: float, delta: float = 0.0, most: int = 1
) -> Callable[[Pair], RunWithNoise]:
    """A run that refines a schema, and nothing else."""

    def run(pair: Pair, table: Table, noise: Noise) -> object:
        ledger = Ledger(
            epsilon, delta, pair.neighbours, "rho" if delta else "epsilon", max_rows_per_person=most
        )
        assert pair.schema is not None
        rows = _limit_rows(table, most)
        return refine(pair.schema, partial(encode, rows), ledger, ledger.budget, noise)

    return lambda pair: partial(run, pair)


AuditedQuestion = Callable[[CentralCurator], object]


def make_run(
    ask: AuditedQuestion,
    epsilon: float,
    delta: float = 0.0,
    most: int = 1,
    *,
    currency: Currency = "rho",
) -> Callable[[Pair], RunWithNoise]:
    """A run that puts questions to a curator, and nothing else."""

    def run(pair: Pair, table: Table, noise: Noise) -> object:
        ledger = Ledger(
            epsilon,
            delta,
            pair.neighbours,
            currency if delta else "epsilon",
            max_rows_per_person=most,
        )
        assert pair.schema is not None
        return ask(CentralCurator(encode(_limit_rows(table, most), pair.schema), ledger, noise))

    return lambda pair: partial(run, pair)


def _limit_rows(table: Table, most: int) -> Table:
    """The rows that count, where people have several."""
    from understudy.privacy.contributions import limit_rows_per_person

    if PERSON in table.columns:
        return limit_rows_per_person(table, PERSON, most)[0]
    return table


def _tables(curator: CentralCurator) -> object:
    """Three tables, the number of rows among them."""
    names = [attribute.name for attribute in curator.schema.modelled]
    return curator.measure(
        [(), marginal(names[0]), marginal(names[0], names[1])], curator.ledger.budget
    )


def _histograms(curator: CentralCurator) -> object:
    """One histogram an attribute: a replaced row changes two cells of each."""
    return curator.measure([marginal(name) for name in curator.schema.names], curator.ledger.budget)


def _choice(score: str, handicap: float = 1000.0) -> AuditedQuestion:
    """The first two attributes, or the last two at a handicap, so that the better one is certain to
    stay so.
    """
    pairs = [marginal("a", "b"), marginal("c", "d")]
    return lambda curator: curator.choose(
        pairs, score, curator.ledger.budget, np.array([0.0, -handicap])
    )


def _all_tables(curator: CentralCurator) -> object:
    """The tables that one row changes most, under either relation."""
    if curator.neighbours == "add_remove":
        return _tables(curator)
    return _histograms(curator)


def _choice_before_tables(curator: CentralCurator) -> object:
    """A choice that takes a tenth of the budget, and tables for the rest."""
    names = [attribute.name for attribute in curator.schema.modelled]
    tenth = curator.ledger.budget.split(0.1, 0.9)[0]
    chosen = curator.choose([marginal(*names[:2]), marginal(*names[1:3])], "R", tenth)
    tables = [marginal(name) for name in names]
    return chosen, curator.measure(tables, curator.ledger.left)


def _misfit_choice(pair: Pair, handicap: float) -> AuditedQuestion:
    """One histogram against two estimates: one that the row comes nearer to, and one that it moves
    away from.
    """
    assert pair.schema is not None
    name = pair.schema.modelled[0].name
    size = pair.schema[name].size
    before, after = (
        np.bincount(encode(table, pair.schema).codes[name], minlength=size)
        for table in (pair.table, pair.other)
    )
    far = 2.0 * (before.sum() + 1)
    nearer = np.where((after > before) | (pair.neighbours == "add_remove"), far, 0.0)
    away = far - nearer
    ahead = [np.abs(before - estimate).sum() for estimate in (nearer, away)]
    step = (
        np.abs(after - nearer).sum() - ahead[0]
    ) / 2  # without a handicap they change places, by as much
    offsets = np.array([-ahead[0] - step, -ahead[1] + step - handicap])
    return lambda curator: curator.choose(
        [marginal(name)] * 2, "misfit", curator.ledger.budget, offsets, estimates=[nearer, away]
    )


def _even(score: str, relation: Neighbours) -> float:
    """The handicap at which the better one becomes the worse one, by as much: in rho that tells
    most.

    By R, and where a row is replaced, they change places as it is. By F a new row takes two halves
    of 400 rows from 0 to -1, and two constants from -200 to -199.5.
    """
    if (score, relation) == ("F", "add_remove"):
        return 199.25
    return 0.0


def _draws(curator: CentralCurator) -> object:
    """A few draws from the first attribute."""
    return curator.draw(marginal(curator.schema.modelled[0].name), 5, curator.ledger.budget)


def _any_scores(epsilon: float, rule: ChoiceRule) -> Finding:
    """Scores that move by all that their sensitivity allows: one up, very many down."""
    one = np.array([1.0] + [0.0] * 500)
    losses = choice_losses(
        round_to_grid(one, 1.0), round_to_grid(1 - one, 1.0), choice_scale(epsilon, "epsilon"), rule
    )
    name = f"choice, {rule.replace('_', '-')}"
    return Finding(
        name, "one score up, all others down", "exact", epsilon, float(np.abs(losses).max())
    )


def _any_scores_in_rho(epsilon: float) -> Finding:
    """The exponential mechanism under zCDP: of two candidates, the better one becomes the worse
    one.
    """
    rho = rho_of(epsilon, DELTA)
    scale = choice_scale(rho, "rho")
    ahead = np.array([SCORE_GRID / 2, -SCORE_GRID / 2])
    log_p, log_q = (
        choice_log_probabilities(scores, scale, "exponential") for scores in (ahead, -ahead)
    )
    measured = epsilon_of(renyi_rho(log_p, log_q), DELTA)
    return Finding(
        "choice, zCDP", "one score up, one down", "exact", epsilon, measured, unit_at(DELTA)
    )
