"""Rows from local reports: how far off their tables are, where nobody is trusted.

    python benchmarks/local.py --data ../shared/data [--tables nltcs] [--repeats 5]

Every run asks each row of a published table, as a person, one question of the plan that
``understudy local plan`` makes, randomises the answer with the operating system's randomness,
collects the reports and learns from them. Errors are mean total variation distances of 2- and 3-way
marginals (all, or a uniform sample of 600) of as many synthetic rows as there are persons.

"Independent" is the method of that name, on reports about single columns alone; "clipped pair by
pair" is what pairs say by themselves, without a model. Adult is also learned by a trusted curator,
at epsilon 0.1.

What was tuned where: number and prior of latent classes, shrinkage, rounds and the outlook of plans
on made-up tables (latent classes, one or two factors, random networks) and on BR2000. The first
sketch of the estimate was looked at on NLTCS, too. ACS and Adult played no part.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import understudy

sys.path.append(str(Path(__file__).resolve().parents[1] / "studies"))

from published import published
from understudy import Adaptive, Schema
from understudy.data.encoding import Coded, encode
from understudy.evaluation.marginals import marginals_of_order, total_variation
from understudy.local.answering import answer_for_all
from understudy.local.collected import Collected, ReportTally
from understudy.local.planning import expect_errors, plan_survey
from understudy.local.plans import CollectionPlan, ask_jointly, plan_all_pairs
from understudy.local.release import synthesize_reports
from understudy.models.parameters import clip_counts

SAMPLE = 600
RUNS: dict[str, dict[float, dict[int, float | None]]] = {
    "nltcs": {1.0: {2: 0.060, 3: 0.092}, 2.0: {2: None, 3: 0.070}, 4.0: {2: None, 3: 0.045}},
    "acs": {2.0: {2: None, 3: None}},
    "adult": {4.0: {2: None, 3: None}},
    "br2000": {2.0: {2: None, 3: None}},
}
"""By table and local epsilon: the orders of marginals, and the errors to reach."""

INDEPENDENT = ("acs", "adult", "br2000")
CENTRAL = {"adult": 0.1}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--tables", nargs="+", choices=tuple(RUNS), default=tuple(RUNS))
    parser.add_argument("--epsilons", nargs="+", type=float, help="only these")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    print(f"Understudy {understudy.__version__}; {os.cpu_count()} cores")
    for name in arguments.tables:
        table, schema = published(name, arguments.data)
        coded = encode(table, schema)
        for epsilon, targets in RUNS[name].items():
            if arguments.epsilons is None or epsilon in arguments.epsilons:
                _report(name, coded, epsilon, targets, arguments.repeats)
        if name in CENTRAL:
            method = Adaptive(epsilon=CENTRAL[name], delta=1e-9)
            found = [
                errors_of(coded, encode(method.fit(table, schema).sample(), schema), (2, 3))
                for _ in range(arguments.repeats)
            ]
            print(f"  {name}, trusted curator, epsilon {CENTRAL[name]:g}: {_mean(found)}")


def _report(
    name: str, coded: Coded, epsilon: float, targets: dict[int, float | None], repeats: int
) -> None:
    orders = tuple(targets)
    plan = plan_survey(coded.schema, [epsilon], coded.rows)
    print(f"{name}, local epsilon {epsilon:g}, {coded.rows:,} persons: {_describe(plan)}")
    print(f"  {expect_errors(plan)}")
    found, seconds = [], []
    for _ in range(repeats):
        collected = ask_everybody(plan, coded)
        started = time.process_time()
        model = synthesize_reports(collected)
        seconds.append(time.process_time() - started)
        found.append(errors_of(coded, encode(model.sample(), coded.schema), orders))
        print(f"    a run: {_mean(found[-1:])}, {seconds[-1]:.0f} CPU s", flush=True)
    wanted = " / ".join(f"{t:.3f}" if t is not None else "-" for t in targets.values())
    print(f"  adaptive: {_mean(found)}; to reach {wanted}; {statistics.mean(seconds):.0f} CPU s")
    if name == "nltcs":
        print(f"  clipped pair by pair: {clipped_pairs(coded, epsilon):.4f}")
    if name in INDEPENDENT:
        alone = _plan_singles(coded.schema, epsilon)
        found = [
            errors_of(
                coded,
                encode(
                    synthesize_reports(ask_everybody(alone, coded), "independent").sample(),
                    coded.schema,
                ),
                orders,
            )
            for _ in range(repeats)
        ]
        print(f"  independent, single columns alone: {_mean(found)}", flush=True)


def ask_everybody(plan: CollectionPlan, coded: Coded) -> Collected:
    """The reports of all rows, added up."""
    tallies = {}
    for batch in answer_for_all(plan, coded.codes):
        randomiser = plan.questions[batch.question].randomisers[batch.level]
        tallies[batch.question, batch.level] = ReportTally.of(randomiser, batch.answers)
    return Collected(plan=plan, tallies=tallies)


def errors_of(real: Coded, synthetic: Coded, orders: tuple[int, ...]) -> list[float]:
    """The mean error of the marginals of each order."""
    return [
        statistics.mean(
            total_variation(real, synthetic, marginals_of_order(real.schema, order, SAMPLE))
        )
        for order in orders
    ]


def clipped_pairs(coded: Coded, epsilon: float) -> float:
    """The mean error of pairs that are estimated and clipped one by one, once."""
    plan = plan_all_pairs(coded.schema, [epsilon])
    collected = ask_everybody(plan, coded)
    found = []
    for number, question in enumerate(plan.questions):
        estimate = collected.estimate(number)
        if len(question.columns) == 2 and estimate is not None:
            real = np.bincount(question.answers(coded.codes), minlength=question.size)
            shares = clip_counts(estimate.shares, 1.0)
            found.append(0.5 * float(np.abs(shares - real / coded.rows).sum()))
    return statistics.mean(found)


def _plan_singles(schema: Schema, epsilon: float) -> CollectionPlan:
    names = [attribute.name for attribute in schema.modelled if attribute.size > 1]
    questions = tuple(ask_jointly((name,), schema, (epsilon,)) for name in names)
    return CollectionPlan(schema=schema, epsilons=(epsilon,), questions=questions)


def _describe(plan: CollectionPlan) -> str:
    kinds: dict[Any, float] = {}
    for question, share in zip(plan.questions, plan.shares.tolist(), strict=True):
        kind = f"{len(question.columns)} columns"
        if question.odd is not None:
            kind = f"parities of {len(question.columns)}"
        kinds[kind] = kinds.get(kind, 0.0) + share
    return ", ".join(f"{kind}: {share:.0%} of persons" for kind, share in kinds.items())


def _mean(found: list[list[float]]) -> str:
    means = " / ".join(f"{statistics.mean(column):.4f}" for column in zip(*found, strict=True))
    return f"{means} (mean of {len(found)})"


if __name__ == "__main__":
    main()
