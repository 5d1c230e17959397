"""Linkage: who is unique, who is found, and what the row found is worth."""

from __future__ import annotations

import numpy as np
import pytest
from people import coded, people

from understudy.attacks import Promise
from understudy.attacks.linkage import linkage
from understudy.attacks.rows import pick_rows

REAL, HOLDOUT, FRESH = (coded(people(500, seed)) for seed in (1, 2, 3))
KNOWN = ["age", "town"]


def test_copies_are_found_and_tell_everything() -> None:
    attack = linkage(REAL, REAL, HOLDOUT, KNOWN, None, Promise(1.0))
    assert attack.verdict == "look at this"
    assert (
        attack.measured == attack.figures["linked"] == attack.figures["right_where_linked"] == 1.0
    )
    assert attack.beside == 0.0  # whoever is unique in both parts together is not in the other part


def test_fresh_rows_find_nobody_in_particular() -> None:
    attack = linkage(REAL, FRESH, HOLDOUT, KNOWN, "ill", None)
    assert attack.verdict == "nothing seen"
    assert attack.figures["linked"] > 0
    assert attack.figures["linked_in_holdout"] > 0


def test_the_figures_are_those_of_a_search_by_hand() -> None:
    attack = linkage(REAL, FRESH, None, KNOWN, "ill", None)

    def known(table: object, row: int) -> tuple[int, ...]:
        return tuple(int(table.codes[name][row]) for name in KNOWN)  # type: ignore[attr-defined]

    ours, theirs = ([known(table, row) for row in range(500)] for table in (REAL, FRESH))
    unique = [row for row in range(500) if ours.count(ours[row]) == 1]
    linked = [row for row in unique if theirs.count(ours[row]) == 1]
    right = [
        REAL.codes["ill"][row] == FRESH.codes["ill"][theirs.index(ours[row])] for row in linked
    ]
    assert attack.figures["unique_people"] == len(unique)
    assert attack.figures["linked"] == pytest.approx(len(linked) / len(unique))
    assert attack.measured == pytest.approx(sum(right) / len(unique))
    assert attack.verdict == "not judged"


def test_where_nobody_is_unique_nothing_is_judged() -> None:
    twice = pick_rows(REAL, np.repeat(np.arange(50), 2))
    attack = linkage(twice, FRESH, HOLDOUT, ["grade"], None, None)
    assert attack.verdict == "not judged"
    assert attack.figures["unique_people"] == 0


def test_all_attributes_known_leaves_the_match_itself() -> None:
    names = [attribute.name for attribute in REAL.schema]
    assert linkage(REAL, REAL, HOLDOUT, names, None, None).measured == 1.0
