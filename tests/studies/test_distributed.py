"""The thesis' distributed experiments: what was printed, splits, ways, conclusions."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from test_thesis import heart

import distributed
from distributed import PRINTED, PRINTED_UNSPLIT, SPLITS, WAYS, holders_of, losses, released
from study import Options, Row
from thesis_parts import accuracy, tables

pytestmark = pytest.mark.thorough


@pytest.fixture(autouse=True)
def forget() -> None:
    tables.coded_table.cache_clear()


def test_the_quick_study_runs_from_the_command_line(tmp_path: Path) -> None:
    data, output = heart(tmp_path), tmp_path / "out"
    assert distributed.STUDY.main(["--quick", "--data", str(data), "--output", str(output)]) == 0
    for part, count in (
        ("printed", 5),
        ("best", 17),
        ("ways", 17),
        ("splits", 21),
        ("divergence", 16),
    ):
        with (output / f"{part}.csv").open() as file:
            assert len(list(csv.DictReader(file))) == count, part
        assert "<svg" in (output / f"{part}.svg").read_text()
    conclusions = json.loads((output / "conclusions.json").read_text())
    assert {part: len(claims) for part, claims in conclusions.items()} == {
        "printed": 3,
        "best": 0,
        "ways": 3,
        "splits": 3,
        "divergence": 2,
    }


def test_what_was_printed() -> None:
    """Some rows of tables 11 to 13, as they stand there, and the whole as far as it can be summed
    up.
    """
    assert ("attribute", "statistics", 1, 0.01, 5.17) in PRINTED["adult"]
    assert ("random", "voting", 2, 1.0, 3.94) in PRINTED["adult"]
    assert ("attribute", "statistics", 2, 0.5, 3.43) in PRINTED["poker"]
    assert ("class", "statistics", 1, 0.5, 2.59) in PRINTED["heart"]
    for table, rows in PRINTED.items():
        assert len({row[:4] for row in rows}) == len(rows)
        smallest = accuracy.SMALLEST_DIFFERENCE[table]
        for epsilon in {row[3] for row in rows}:
            assert min(row[4] for row in rows if row[3] == epsilon) == pytest.approx(
                smallest[epsilon], abs=0.011
            )
    assert len({row[:3] for row in PRINTED_UNSPLIT}) == len(PRINTED_UNSPLIT)
    assert {
        e: min(r[3] for r in PRINTED_UNSPLIT if r[2] == e)
        for e in (0.01, 0.02, 0.05, 0.1, 0.2, 1.0)
    } == {
        epsilon: pytest.approx(lost, abs=0.011)
        for epsilon, lost in accuracy.SMALLEST_DIFFERENCE["heart"].items()
        if epsilon != 0.5
    }


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("form", distributed.FORMS)
def test_every_way_gives_rows_under_the_stated_guarantee(
    tmp_path: Path, way: str, form: str
) -> None:
    on = tables.task("heart", heart(tmp_path), 0)
    options = Options(tmp_path, tmp_path, 1, True, False)
    settings = {
        "table": "heart",
        "split": "random",
        "form": form,
        "way": way,
        "k": 1,
        "epsilon": 2.0,
        "repeat": 0,
    }
    model = released(on, options, settings)
    assert model.ledger.neighbours == "replace"
    assert model.ledger.promise() == (2.0, 0.0)
    assert not model.ledger.private  # seeded
    assert model.rows == on.train.rows
    again = released(on, options, settings)
    first, second = (found.sample(50, 1) for found in (model, again))
    assert all(
        (first.columns[name].values == second.columns[name].values).all() for name in first.names
    )  # type: ignore[union-attr]


@pytest.mark.parametrize(("split", "count"), [*zip(SPLITS, (5, 5, 5, None, 1), strict=True)])
def test_rows_are_dealt_out_whole(tmp_path: Path, split: str, count: int | None) -> None:
    on = tables.task("heart", heart(tmp_path), 0)
    settings = {"table": "heart", "split": split, "repeat": 0}
    holders = holders_of(on, settings, Options(tmp_path, tmp_path, 1, True, False))
    assert count is None or len(holders) == count
    ages = np.concatenate([holder._coded.codes["age"] for holder in holders])
    assert sorted(ages) == sorted(on.train.codes["age"])


# ---- conclusions


def made_up(lost: dict[str, float], table: str = "heart", split: str = "random") -> list[Row]:
    """Rows of a table that lose so much by each way, twice as much at a small epsilon; trained on
    real rows 60 %.
    """
    rows: list[Row] = [
        {"table": table, "way": "real", "repeat": 0, "accuracy": 60.0, "majority": 50.0}
    ]
    for form in distributed.FORMS:
        for way, points in lost.items():
            for k in distributed.DEGREES:
                for epsilon, times in ((0.1, 2), (10.0, 1)):
                    settings = {
                        "table": table,
                        "split": split,
                        "form": form,
                        "way": way,
                        "k": k,
                        "epsilon": epsilon,
                    }
                    rows.append({**settings, "repeat": 0, "accuracy": 60.0 - times * points})
    return rows


def test_losses_are_taken_from_training_on_real_rows() -> None:
    rows = losses(made_up({"secure": 3.0}))
    assert {(row["epsilon"], row["lost"]) for row in rows} == {(0.1, 6.0), (10.0, 3.0)}


def test_conclusions_follow_from_the_rows() -> None:
    said = made_up({"statistics": 2.0, "voting": 3.0, "models": 4.0, "secure": 1.0})
    assert [claim.held for claim in distributed.ways_claims(said)] == [True, True, True]
    other = made_up({"statistics": -3.0, "voting": -4.0, "models": -5.0, "secure": -1.0})
    assert [claim.held for claim in distributed.ways_claims(other)] == [False, False, False]


def test_conclusions_on_splits() -> None:
    alike = [row for name in SPLITS for row in made_up(dict.fromkeys(WAYS, 3.0), "adult", name)]
    assert [claim.held for claim in distributed.splits_claims(alike)] == [True, True, True]
    lost = {"equal": 1.0, "random": 1.0, "class": 1.0, "attribute": 1.0, "central": 30.0}
    apart = [
        row
        for name, points in lost.items()
        for row in made_up(dict.fromkeys(WAYS, points), "adult", name)
    ]
    assert [claim.held for claim in distributed.splits_claims(apart)] == [False, False, False]


def test_conclusions_on_what_was_printed() -> None:
    def rows(more: float) -> list[Row]:
        found: list[Row] = []
        for table, printed in PRINTED.items():
            found.append(
                {"table": table, "way": "real", "repeat": 0, "accuracy": 60.0, "majority": 50.0}
            )
            every = [
                *printed,
                *((("random", *row) for row in PRINTED_UNSPLIT) if table == "heart" else ()),
            ]
            for form in distributed.FORMS:
                for split, way, k, epsilon, lost in every:
                    settings = {
                        "table": table,
                        "split": split,
                        "form": form,
                        "way": way,
                        "k": k,
                        "epsilon": epsilon,
                    }
                    found.append({**settings, "repeat": 0, "accuracy": 60.0 - lost - more})
        return found

    assert [claim.held for claim in distributed.printed_claims(rows(-0.5))][1:] == [True] * 6
    assert [claim.held for claim in distributed.printed_claims(rows(+0.5))][1:] == [False] * 6


def test_conclusions_on_the_best_of_many_runs() -> None:
    def rows(more: float) -> list[Row]:
        found: list[Row] = [
            {"table": "adult", "way": "real", "repeat": 0, "accuracy": 60.0, "majority": 50.0}
        ]
        for settings in distributed.best_cells(
            Options(Path(), Path(), 1, quick=False, real_noise=False)
        )[1:]:
            best = accuracy.SMALLEST_DIFFERENCE["adult"][settings["epsilon"]]
            far = (
                0.0
                if (settings["split"], settings["way"], settings["k"]) == ("class", "voting", 2)
                else 5.0
            )
            found.append({**settings, "accuracy": 60.0 - best - far - more})
        return found

    (better,), (worse,) = distributed.best_claims(rows(-0.1)), distributed.best_claims(rows(+0.1))
    assert better.held
    assert not worse.held
    assert better.numbers.count("class, voting, k = 2") == len(distributed.BEST_EPSILONS)


def divergences(
    statistics: float, voting: float, secure: float, k2: float, central: float
) -> list[Row]:
    rows: list[Row] = []
    for split in SPLITS:
        for way, value in (
            ("statistics", statistics),
            ("voting", voting),
            ("models", 9.0),
            ("secure", secure),
        ):
            for k in distributed.DEGREES:
                for epsilon in distributed.EPSILONS:
                    bits = (
                        value
                        * (k2 if k == 2 else 1)
                        * (central if split == "central" else 1)
                        / epsilon**0.1
                    )
                    settings = {
                        "table": "heart",
                        "split": split,
                        "form": "thesis",
                        "way": way,
                        "k": k,
                    }
                    row = {**settings, "epsilon": epsilon, "repeat": 0, "KL of pairs": bits}
                    rows.append(row if way == "models" else row | {"KL of tables": bits})
    return rows


def test_conclusions_on_divergence() -> None:
    said = distributed.divergence_claims(divergences(2.0, 3.0, 1.0, k2=2.0, central=0.5))
    assert [claim.held for claim in said] == [True] * 6
    other = distributed.divergence_claims(divergences(300.0, 200.0, 400.0, k2=1.1, central=2.0))
    assert [claim.text for claim in other if claim.held] == [said[0].text]
