"""Training and predicting on the command line."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import numpy as np
import pytest

from running import run

pytest.importorskip("sklearn")

SCHEMA = {
    "attributes": {
        "age": {"kind": "integer", "min": 0, "max": 99},
        "dose": {"kind": "real", "min": 0, "max": 10},
        "sick": {"kind": "categorical", "values": ["no", "yes"]},
    }
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rng = np.random.default_rng(0)
    ages, doses = rng.integers(0, 100, 2000), rng.uniform(0, 10, 2000)
    lines = [
        f"{age},{dose:.2f},{'yes' if age + 5 * dose > 75 else 'no'}"
        for age, dose in zip(ages, doses, strict=True)
    ]
    (tmp_path / "t.csv").write_text("\n".join(["age,dose,sick", *lines]) + "\n")
    (tmp_path / "t.json").write_text(json.dumps(SCHEMA))
    monkeypatch.chdir(tmp_path)
    return tmp_path


LEARN = ("learn", "t.csv", "--schema", "t.json", "-o", "m.json")


def test_a_model_is_trained_and_predicts(folder: Path) -> None:
    ran = run(*LEARN, "--target", "sick", "--epsilon", "2")
    assert ran.status == 0, ran.err
    assert "epsilon = 2" in ran.err
    assert run("predict", "m.json", "t.csv", "-o", "out.csv").status == 0
    lines = (folder / "out.csv").read_text().splitlines()
    assert lines[0] == "sick"
    assert set(lines[1:]) == {"no", "yes"}
    assert len(lines) == 2001
    scored = run("predict", "m.json", "t.csv", "--score")
    assert scored.status == 0
    accuracy = float(scored.out.split("accuracy: ")[1])
    assert accuracy > 0.85


def test_the_ledger_file_is_debited_once(folder: Path) -> None:
    assert run("ledger", "create", "t.ledger", "--epsilon", "1").status == 0
    books = ("--ledger", "t.ledger", "--target", "sick", "--epsilon", "0.75")
    assert run(*LEARN, *books).status == 0
    refused = run(*LEARN, *books)
    assert refused.status == 2
    assert "0.25" in refused.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "name it (--target"),
        (("--target", "nobody"), "nobody"),
        (("--target", "dose"), "classifier needs"),
        (("--target", "sick", "--model", "linear"), "not a number"),
        (("--target", "sick", "--clusters", "3"), "--clusters does not go with"),
        (("--model", "kmeans", "--target", "sick"), "leave out the target"),
        (("--target", "sick", "--epsilon", "0"), "epsilon"),
        (("--target", "sick", "--engine", "duckdb"), "moments"),
    ],
)
def test_refusals_are_a_sentence_and_leave_no_model(
    folder: Path, arguments: tuple[str, ...], words: str
) -> None:
    ran = run(*LEARN, *arguments)
    assert ran.status == 2
    assert words in ran.err
    assert "Traceback" not in ran.err
    assert not (folder / "m.json").exists()


def test_without_a_schema_what_is_wrong_with_the_target_costs_nothing(folder: Path) -> None:
    assert run("ledger", "create", "t.ledger", "--epsilon", "9", "--delta", "1e-6").status == 0
    books = ("learn", "t.csv", "-o", "m.json", "--ledger", "t.ledger", "--epsilon", "4")
    for target, words in (((), "name it (--target"), (("--target", "sik"), "no column 'sik'")):
        ran = run(*books, *target)
        assert (ran.status, words in ran.err) == (2, True), ran.err
    assert json.loads((folder / "t.ledger").read_text())["releases"] == []


def test_where_nothing_is_discovered_the_owner_can_go_on(folder: Path) -> None:
    """As for synthesize: the advice names the option, and the option works."""
    small = ("learn", "t.csv", "--model", "kmeans", "--epsilon", 0.001, "--delta", "1e-9")
    refused = run(*small, "-o", "none.json")
    assert refused.status == 2
    assert "--keep-going" in refused.err
    share = run(*small, "--discovery", 2, "-o", "none.json")
    assert share.status == 2
    assert "share between 0 and 1" in share.err
    assert not (folder / "none.json").exists()


def test_a_share_of_the_budget_is_for_discovery(folder: Path) -> None:
    ran = run(
        *("learn", "t.csv", "--model", "kmeans", "--clusters", 2, "--epsilon", 500),
        *("--delta", "1e-6", "--discovery", 0.5, "--keep-going", "-o", "found.json"),
    )
    assert ran.status == 0, ran.err
    entries = json.loads((folder / "found.json").read_text())["ledger"]["entries"]
    asked = sum(e["amount"] for e in entries if "sums of" in e["question"])
    assert asked < 0.51 * sum(e["amount"] for e in entries)


def test_a_predicted_date_is_written_as_one(folder: Path) -> None:
    schema = {"attributes": {**SCHEMA["attributes"]}}
    schema["attributes"]["seen"] = {"kind": "date", "min": "2020-01-01", "max": "2020-12-31"}
    (folder / "t.json").write_text(json.dumps(schema))
    lines = (folder / "t.csv").read_text().splitlines()
    dated = [f"{lines[0]},seen", *(f"{line},2020-03-07" for line in lines[1:])]
    (folder / "t.csv").write_text("\n".join(dated) + "\n")
    assert run(*LEARN, "--target", "seen", "--model", "linear").status == 0
    first = run("predict", "m.json", "t.csv").out.splitlines()[1]
    assert dt.date.fromisoformat(first).year in (2019, 2020, 2021)


def test_a_model_of_the_other_kind_is_told_apart(folder: Path) -> None:
    assert run(*LEARN, "--target", "sick").status == 0
    made = ("synthesize", "t.csv", "--schema", "t.json", "--method", "independent", "-q")
    assert run(*made, "-o", "s.csv", "--model", "table.json").status == 0
    for command in (("show", "m.json"), ("query", "m.json", "count"), ("sample", "m.json")):
        assert "understudy predict" in run(*command).err
    assert "understudy learn" in run("predict", "table.json", "t.csv").err


def test_a_file_that_is_no_model_is_refused(folder: Path) -> None:
    ran = run("predict", "t.json", "t.csv")
    assert ran.status == 2
    assert "right file" in ran.err
