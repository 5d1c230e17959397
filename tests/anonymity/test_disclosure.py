"""What anonymised tables tell, rules that are hidden, and databases that refuse."""

from __future__ import annotations

import numpy as np
import pytest

from anonymity.tables import make_table, random_table
from understudy import Ledger
from understudy.anonymity import Requirement, Roles
from understudy.anonymity.association import AssociationRule, Baskets, hide_rules
from understudy.anonymity.disclosure import difference_releases, intersect_releases
from understudy.anonymity.inference_control import (
    RefusedError,
    RestrictedDatabase,
    answer_privately,
    track,
)
from understudy.anonymity.microdata import read_microdata
from understudy.anonymity.reviewing import review_release
from understudy.errors import BudgetError, InputError


def test_two_releases_tell_what_neither_does() -> None:
    """Each group has two illnesses, but only one is in both of a person's groups."""
    table = make_table(illness=["a", "b", "c", "d"])
    microdata = read_microdata(table, ("illness",))
    first, second = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 0])
    found = intersect_releases(microdata, first, second, "illness")
    assert found.figures == {"first_alone": 0.0, "second_alone": 0.0}
    assert found.learned == 1.0
    left_out = intersect_releases(microdata, first, np.array([-1, -1, -1, -1]), "illness")
    assert left_out.learned == 0.0


def test_who_joins_between_two_releases_is_told() -> None:
    found = difference_releases({"flu": 3, "cancer": 1}, {"flu": 3, "cancer": 2}, "illness")
    assert found.learned == 1.0
    assert found.figures["value"] == "cancer"
    assert difference_releases({"flu": 3}, {"flu": 3}, "illness").learned == 0.0


def test_a_review_attacks_and_compares() -> None:
    table = random_table(np.random.default_rng(0), 2000)
    roles = Roles(quasi_identifiers=("age", "income"), sensitive=("illness",))
    schema = {
        "attributes": {
            "age": {"kind": "integer", "min": 20, "max": 39},
            "income": {"kind": "integer", "min": 0, "max": 4},
            "illness": {"kind": "categorical", "values": ["flu", "cold", "cancer", "none"]},
        }
    }
    from understudy import Schema

    review = review_release(
        table, roles, Requirement(k=20, l=3), schema=Schema.from_dict(schema), compare=True
    )
    learned = {after.attack: (before.learned, after.learned) for before, after in review.attacks}
    assert learned["linkage"][1] <= 1 / 20 < learned["linkage"][0] + 1
    assert learned["homogeneity"][1] == 0.0
    assert review.comparison is not None
    assert review.comparison.baseline == pytest.approx(0.3, abs=0.06)
    assert review.comparison.private.pair_error < 0.3
    assert review.to_dict()["after"]["holds"]
    assert any("epsilon 1" in sentence for sentence in review.say_comparison())


def test_rules_are_found_and_measured() -> None:
    """Against all item sets, one by one."""
    rng = np.random.default_rng(0)
    rows = [{item for item in "abcde" if rng.random() < 0.5} for _ in range(60)]
    rules = Baskets(rows).find_rules(min_support=0.2, min_confidence=0.5)
    import itertools

    expected = set()
    for size in range(2, 5):
        for items in itertools.combinations("abcde", size):
            support = sum(set(items) <= row for row in rows) / 60
            for part in range(1, size):
                for left in itertools.combinations(items, part):
                    before = sum(set(left) <= row for row in rows) / 60
                    if support >= 0.2 and support / before >= 0.5:
                        expected.add(AssociationRule(left, tuple(sorted(set(items) - set(left)))))
    assert set(rules) == expected
    assert len(rules) > 3


@pytest.mark.parametrize("how", ["support", "confidence", "noise"])
def test_a_sensitive_rule_is_hidden_and_side_effects_counted(how: str) -> None:
    rows = [{"bread", "butter", "jam"}] * 6 + [{"bread", "butter"}] * 2 + [{"bread"}] * 2
    rows += [{"milk"}] * 10 + [{"milk", "jam"}] * 3
    baskets = Baskets(rows)
    secret = AssociationRule(("bread",), ("butter",))
    thresholds = {"min_support": 0.2, "min_confidence": 0.6}
    assert secret in baskets.find_rules(**thresholds)
    found = hide_rules(baskets, [secret], how=how, **thresholds)  # type: ignore[arg-type]
    assert (found.hidden, found.failed) == ((secret,), ())
    assert secret not in found.baskets.find_rules(**thresholds)
    before, after = baskets.find_rules(**thresholds), found.baskets.find_rules(**thresholds)
    assert set(found.lost) == set(before) - set(after) - {secret}
    assert set(found.ghosts) == set(after) - set(before)
    assert found.removed > 0
    assert baskets.to_sets() == rows
    with pytest.raises(InputError, match="no item 'tea'"):
        hide_rules(baskets, [AssociationRule(("tea",), ("milk",))], how=how, **thresholds)  # type: ignore[arg-type]


def test_a_tracker_breaks_a_restricted_database_and_a_ledger_stops_it() -> None:
    rng = np.random.default_rng(0)
    salaries = rng.integers(20, 120, 100).astype(np.float64)
    women = rng.random(100) < 0.5
    person = np.zeros(100, dtype=bool)
    person[17] = True
    database = RestrictedDatabase(salaries, min_query_set=10)
    with pytest.raises(RefusedError, match="1 person"):
        database.total(person)
    found = track(database, person, [person, women])
    assert found.value == salaries[17]
    assert database.highest(women)[1] - database.highest(women)[0] == 50
    strict = RestrictedDatabase(salaries, min_query_set=10, max_overlap=5)
    assert track(strict, person, [women]).value is None
    with pytest.raises(InputError, match="one person"):
        track(database, women, [women])
    ledger = Ledger(epsilon=1.0)
    total = answer_privately(salaries, (0, 120), 0.5, ledger)
    answers = [total(women) for _ in range(2)]
    assert all(isinstance(answer, int) for answer in answers)
    with pytest.raises(BudgetError):
        total(women)


def test_refusals_of_the_restricted_database() -> None:
    database = RestrictedDatabase(np.arange(20.0), min_query_set=3, max_overlap=2)
    people = np.arange(20) < 5
    assert database.count(people) == 5
    with pytest.raises(RefusedError, match="shares 5 people"):
        database.count(people)
    with pytest.raises(RefusedError, match="leaves out 1 people"):
        database.total(np.arange(20) < 19)
