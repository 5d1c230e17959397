"""Tables 7 to 9 beside ours, the networks that are drawn, and the hands that are dealt."""

import csv
import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from test_thesis import heart

import thesis
from study import Row
from thesis_parts import best_learners, dealt, networks, tables
from understudy.data.encoding import encode
from understudy.data.frames import read_table
from understudy.evaluation.classifiers import THESIS

pytestmark = pytest.mark.thorough

HANDS_OF_CLASS = (1_302_540, 1_098_240, 123_552, 54_912, 10_200, 5_108, 3_744, 624, 36, 4)
"""How many of the 2,598,960 hands are nothing, a pair, ..., a royal flush."""


# ---- hands


def test_every_hand_there_is_has_its_class() -> None:
    every = np.array(list(combinations(range(52), 5)))
    assert np.bincount(dealt.name_hands(every), minlength=10).tolist() == list(HANDS_OF_CLASS)


def test_the_order_of_cards_does_not_matter() -> None:
    cards = dealt.deal(2_000, seed=3)
    shuffled = np.random.default_rng(4).permuted(cards, axis=1)
    assert (dealt.name_hands(cards) == dealt.name_hands(shuffled)).all()


def test_hands_are_dealt_fairly() -> None:
    cards = dealt.deal(52_000, seed=5)
    assert (np.diff(np.sort(cards, axis=1), axis=1) > 0).all()  # no card twice
    for place in range(5):  # each card 1,000 times in each place, deviation 31
        assert np.abs(np.bincount(cards[:, place], minlength=52) - 1_000).max() < 8 * 31.5


def test_dealt_hands_are_coded_as_their_values_would_be(tmp_path: Path) -> None:
    coded = dealt.dealt(300)
    names = list(coded.codes)
    with (tmp_path / "hands.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        first = {"s": 1, "r": 1, "h": 0}
        writer.writerows(
            zip(*(coded.codes[name].astype(int) + first[name[0]] for name in names), strict=True)
        )
    again = encode(read_table(tmp_path / "hands.csv"), coded.schema)
    assert again.outside == ()
    assert all((again.codes[name] == coded.codes[name]).all() for name in names)


@pytest.mark.data
def test_the_published_hands_are_named_by_the_same_rules(data: Path) -> None:
    coded = tables.coded_table("poker", data)
    codes = {name: np.asarray(column, dtype=np.int64) for name, column in coded.codes.items()}
    cards = np.stack([13 * codes[f"s{n}"] + codes[f"r{n}"] for n in range(1, 6)], axis=1)
    assert (dealt.name_hands(cards) == codes["hand"]).all()


# ---- networks


def test_a_child_is_drawn_below_its_parents() -> None:
    edges = [("a", "b"), ("a", "c"), ("b", "c"), ("c", "d")]
    places = networks.place_nodes(edges)
    assert set(places) == {"a", "b", "c", "d"}
    assert all(places[child][1] < places[parent][1] for parent, child in edges)
    assert len(set(places.values())) == 4


def test_information_is_that_of_the_families() -> None:
    same = np.array([[8, 0], [0, 8]])
    assert networks._mutual_information(same) == 1.0
    assert networks._mutual_information(np.ones((2, 3))) == pytest.approx(0.0, abs=1e-12)


def network(epsilon: float, repeat: int, information: float, *edges: str) -> Row:
    settings = {"table": "heart", "degree": 1, "epsilon": epsilon, "repeat": repeat}
    return settings | dict.fromkeys(edges, 1.0) | {"information": information}


def test_conclusions_about_networks_can_hold_and_fail() -> None:
    exact = network(networks.NO_NOISE, 0, 1.0, "a -> b")
    like = network(1.0, 0, 0.95, "a -> b"), network(1.0, 1, 0.95, "b -> a")
    unlike = network(1.0, 0, 0.5, "a -> b"), network(1.0, 1, 0.5, "a -> c")
    assert all(claim.held for claim in networks.conclude([exact, *like]))
    assert not any(claim.held for claim in networks.conclude([exact, *unlike]))


# ---- tables 7 to 9


def test_the_printed_averages_are_those_of_the_printed_accuracies() -> None:
    rows = best_learners.printed()
    assert len(rows) == 54
    for row in rows:
        assert np.mean([row[name] for name in THESIS]) == pytest.approx(row["average"], abs=0.06)


def runs(shift: float) -> list[Row]:
    """The printed runs, as if they had been made here."""
    return [
        {"table": row["table"], "epsilon": 10.0, "accuracy": row["average"] + shift}
        | {name: row[name] + shift for name in THESIS}
        for row in best_learners.printed()
    ]


def test_the_printed_runs_themselves_hold_and_worse_ones_do_not() -> None:
    assert all(claim.held for claim in best_learners.conclude(runs(0.0)))
    best, by_classifier, voted = best_learners.conclude(runs(-20.0))
    assert not best.held
    assert not by_classifier.held
    assert voted.held  # the order is the same


def test_a_run_without_all_classifiers_says_nothing_of_the_tables() -> None:
    assert best_learners.conclude([{"table": "heart", "epsilon": 10.0, "CART": 1.0}]) == []


# ---- the command


def test_the_quick_parts_run_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dealt, "QUICK_HANDS", (300, 900))
    data, output = heart(tmp_path), tmp_path / "out"
    arguments = ["--quick", "--only", "networks", "dealt", "--data", str(data)]
    tables.coded_table.cache_clear()
    assert thesis.STUDY.main([*arguments, "--output", str(output)]) == 0
    claims = json.loads((output / "conclusions.json").read_text())
    assert {part: len(found) for part, found in claims.items()} == {"networks": 2, "dealt": 2}
    assert "vessels" in (output / "networks.svg").read_text()
    assert "<svg" in (output / "dealt.svg").read_text()
