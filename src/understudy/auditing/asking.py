"""Questions to private rows, audited from the text of a question to its answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from understudy.asking.api import ask_with
from understudy.asking.run import AnswerTerms
from understudy.auditing.doors import RunWithNoise
from understudy.auditing.findings import Finding
from understudy.auditing.neighbours import PERSON, Pair, label_pair, number_pair, rank_pair
from understudy.auditing.questions import make_run
from understudy.auditing.subjects import DELTA, RELATIONS, ROWS_PER_PERSON, exact_findings
from understudy.data.marginals import marginal
from understudy.data.tables import Table
from understudy.privacy.central import CentralCurator
from understudy.privacy.mechanisms import Noise
from understudy.privacy.ranks import ChooseRank
from understudy.release.callbacks import ignore_notes

AUDITED_QUESTIONS = {
    "count": "count where number > 5",
    "histogram": "histogram number",
    "share": "share where number > 5",
    "labels": "count each number > 5, number > 7, group = 1 at most 2",
    "sum": "sum number",
    "mean": "mean number group by group",
    "variance": "variance number",
    "median": "median number",
    "quantile": "quantile 0.9 number",
    "median of groups": "median number group by group",
    "largest value": "max number",
}


def answers(epsilon: float) -> Iterator[Finding]:
    """The choice by rank by itself, then every function that can be asked for."""
    for relation in RELATIONS:
        asked = make_run(_choose_rank, epsilon)
        pairs = [rank_pair(relation)]
        yield from exact_findings(f"choice by rank, {relation}", epsilon, asked, pairs)
    for name, text in AUDITED_QUESTIONS.items():
        for relation in RELATIONS:
            pairs = [number_pair(relation)]
            if name == "labels" and relation == "replace":
                pairs = [label_pair()]
            yield from exact_findings(
                f"ask {name}, {relation}", epsilon, _make_asking_run(text, epsilon), pairs
            )
    for name in ("mean", "labels", "median of groups"):
        pairs = [number_pair("add_remove")]
        asked = _make_asking_run(AUDITED_QUESTIONS[name], epsilon, DELTA)
        yield from exact_findings(f"ask {name}, delta {DELTA:g}", epsilon, asked, pairs, DELTA)
        pairs = [number_pair("add_remove", person_rows=ROWS_PER_PERSON)]
        asked = _make_asking_run(AUDITED_QUESTIONS[name], epsilon, most=ROWS_PER_PERSON)
        yield from exact_findings(
            f"ask {name}, {ROWS_PER_PERSON} rows per person", epsilon, asked, pairs
        )


def _choose_rank(curator: CentralCurator) -> object:
    """A rank beyond all rows: one more at the top lifts the best candidate and lowers all others,
    each as far as can be. Under replace the median, of :func:`rank_pair`.
    """
    shift = 1e4
    if curator.neighbours == "replace":
        shift = 0.0
    size = curator.schema["number"].size
    question = ChooseRank(
        axes=marginal("number"),
        places=np.arange(size),
        candidates=size,
        groups=np.zeros(size, dtype=np.int64),
        groups_size=1,
        level=0.5,
        shift=shift,
        budget=curator.ledger.budget,
        text="rank",
    )
    return curator.answer(question)


def _make_asking_run(
    text: str, epsilon: float, delta: float = 0.0, most: int = 1
) -> Callable[[Pair], RunWithNoise]:
    """A run that asks one question."""

    def run(pair: Pair, table: Table, noise: Noise) -> object:
        person = None
        if most > 1:
            person = PERSON
        terms = AnswerTerms(
            epsilon=epsilon,
            delta=delta,
            neighbours=pair.neighbours,
            person=person,
            max_rows_per_person=most,
        )
        found, _ = ask_with(
            table, [text], terms, schema=pair.schema, noise=noise, notify=ignore_notes
        )
        return [answer.to_dict() for answer in found]

    return lambda pair: partial(run, pair)
