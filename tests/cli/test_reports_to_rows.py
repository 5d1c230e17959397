"""``understudy synthesize --reports`` and the second wave, from the shell."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from running import run
from understudy import Model

SCHEMA = {
    "attributes": {
        "smokes": {"kind": "boolean"},
        "coughs": {"kind": "boolean"},
        "age": {"kind": "categorical", "values": ["young", "middle", "old"]},
    }
}
PERSONS = 6_000

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A survey of made-up persons, collected."""
    folder = tmp_path_factory.mktemp("survey")
    rng = np.random.default_rng(0)
    smokes = rng.random(PERSONS) < 0.3
    coughs = rng.random(PERSONS) < np.where(smokes, 0.8, 0.1)
    ages = rng.choice(["young", "middle", "old"], PERSONS)
    with (folder / "people.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(SCHEMA["attributes"])
        writer.writerows(zip(smokes.tolist(), coughs.tolist(), ages.tolist(), strict=True))
    (folder / "survey.json").write_text(json.dumps(SCHEMA))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for line in (
            f"local plan survey.json --epsilon 4 --persons {PERSONS} -o plan.json",
            "local simulate plan.json people.csv -o reports.jsonl",
            "local collect plan.json reports.jsonl -o tables.json",
        ):
            ran = run(*line.split())
            assert ran.status == 0, ran.err
    return folder


@pytest.mark.parametrize("method", ["adaptive", "mst", "privbayes", "independent"])
def test_rows_come_from_reports(
    folder: Path, method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A share of 6,000 persons at epsilon 4 has a deviation below 0.02; the bound is 6 of them."""
    monkeypatch.chdir(folder)
    out, model = tmp_path / "rows.csv", tmp_path / "model.json"
    ran = run(
        *("synthesize", "--reports", "tables.json", "--method", method),
        *("-o", out, "--model", model),
    )
    assert ran.status == 0, ran.err
    assert "no one but the person" in ran.out + ran.err
    rows = list(csv.DictReader(out.open()))
    assert len(rows) == PERSONS
    share = np.mean([row["smokes"] == "true" for row in rows])
    assert abs(share - 0.3) < 0.12
    asked = run("query", model, "share where smokes = 'true'", "--json")
    assert asked.status == 0, asked.err
    assert run("show", model).status == 0
    assert Model.load(model).rows == PERSONS


def test_a_second_wave_is_planned_from_the_first(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    ran = run("local", "plan", "--after", "tables.json", "--persons", 2000, "-o", "second.json")
    assert ran.status == 0, ran.err
    for line in (
        "local simulate second.json people.csv -o second.jsonl",
        "local collect second.json reports.jsonl second.jsonl -o both.json",
        "synthesize --reports both.json -o both.csv",
    ):
        ran = run(*line.split())
        assert ran.status == 0, ran.err


def test_what_does_not_go_together_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    Path("broken.json").write_text("{}")
    for arguments in (
        ("synthesize", "-o", "x.csv"),
        ("synthesize", "people.csv", "--reports", "tables.json", "-o", "x.csv"),
        ("synthesize", "--reports", "broken.json", "-o", "x.csv"),
        ("synthesize", "--reports", "nowhere.json", "-o", "x.csv"),
        ("synthesize", "--reports", "tables.json", "--method", "gaussian", "-o", "x.csv"),
        ("local", "plan", "--after", "broken.json", "-o", "x.json"),
    ):
        ran = run(*arguments)
        assert ran.status == 2, arguments
        assert ran.err.startswith("understudy: "), arguments
        assert not Path("x.csv").exists()
