"""Answering a plan: a question is drawn, and its answer randomised, where the person is.

What happens is a function of the answers and of a stream of random words (see
:mod:`understudy.local.randomisers.words`), read in this order: one word draws the question, what
the randomiser reads makes the report, and two words are its number. The JavaScript client does the
same with the same bytes.

The question does not depend on any answer, so a report costs what its randomiser costs: at most the
epsilon of the level. The level is sent in the clear. It must not be chosen by what the answer is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.encoding import encode
from understudy.data.tables import Table
from understudy.errors import InputError
from understudy.local.persons import codes_of_one
from understudy.local.plans import CollectionPlan
from understudy.local.randomisers import Words
from understudy.local.reports import NUMBER_BYTES, Batch, Report

NUMBER_WORDS = NUMBER_BYTES // 8


def answer_plan(
    plan: CollectionPlan,
    codes: Mapping[str, int],
    *,
    level: int = 0,
    words: Words | None = None,
    token: str | None = None,
) -> Report:
    """The report of one person. It is to be booked before (:mod:`understudy.local.booking`).

    Parameters
    ----------
    plan
        What can be asked.
    codes
        The person's answers, as :func:`understudy.local.persons.encode_person` gives them.
    level
        The number of the level of privacy.
    words
        The stream of random words; by default the operating system's.
    token
        The number of the report, where the survey has given one out, and what proves that; by
        default a random number.
    """
    words = words or Words()
    question = int(plan.draw_questions(words.take(1))[0])
    asked = plan.questions[question]
    answers = asked.answers(codes_of_one(codes))
    (report,) = asked.randomisers[level].perturb(answers, words).tolist()
    number = words.take(NUMBER_WORDS).astype("<u8", copy=False).tobytes().hex()
    given = token or number
    return Report(
        plan=plan.id,
        question=question,
        level=level,
        answer=tuple(report),
        number=given[: 2 * NUMBER_BYTES],
        token=given[2 * NUMBER_BYTES :],
    )


def answer_for_all(
    plan: CollectionPlan,
    table: Table | Mapping[str, NDArray[Any]],
    *,
    levels: int | NDArray[Any] = 0,
    words: Words | None = None,
) -> list[Batch]:
    """The reports of everybody in a table, for simulations.

    Words are read in another order than one person after the other would: first one per person for
    the question, then what the randomiser of each question and level reads, then the numbers.

    Parameters
    ----------
    plan
        What can be asked.
    table
        A row for each person, or their codes by column.
    levels
        The number of the level of privacy: one for all, or one for each.
    words
        The stream of random words; by default the operating system's.
    """
    words = words or Words()
    codes = _codes_of_all(plan, table)
    persons = len(next(iter(codes.values())))
    chosen = np.broadcast_to(np.asarray(levels, dtype=np.int64), persons)
    if persons and not (chosen.min() >= 0 and chosen.max() < len(plan.epsilons)):
        raise InputError(f"The plan has the levels 0 to {len(plan.epsilons) - 1}.")
    if not persons:
        return []
    groups = plan.draw_questions(words.take(persons)) * len(plan.epsilons) + chosen
    order = np.argsort(groups, kind="stable")
    present, starts = np.unique(groups[order], return_index=True)
    batches = []
    for group, rows in zip(present.tolist(), np.split(order, starts[1:]), strict=True):
        question, level = divmod(group, len(plan.epsilons))
        asked = plan.questions[question]
        answers = asked.answers({name: codes[name][rows] for name in asked.columns})
        batches.append(
            Batch(
                plan=plan.id,
                question=question,
                level=level,
                answers=asked.randomisers[level].perturb(answers, words),
                numbers=words.take(NUMBER_WORDS * len(rows)).reshape(-1, NUMBER_WORDS),
            )
        )
    return batches


def _codes_of_all(
    plan: CollectionPlan, table: Table | Mapping[str, NDArray[Any]]
) -> Mapping[str, NDArray[Any]]:
    if isinstance(table, Table):
        return encode(table, plan.schema).codes
    missing = [name.name for name in plan.schema.modelled if name.name not in table]
    if missing:
        raise InputError(f"The codes of the column {missing[0]!r} are not given.")
    return table
