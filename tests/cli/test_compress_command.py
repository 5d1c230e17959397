"""``understudy compress``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from running import run

SCHEMA = {
    "attributes": {
        **{name: {"kind": "real", "min": -8, "max": 8} for name in ("s", "u", "p")},
        "work": {"kind": "categorical", "values": ["no", "yes"]},
        "sex": {"kind": "categorical", "values": ["f", "m"]},
    }
}


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    work, sex = rng.integers(0, 2, (2, 3000))
    X = rng.normal(size=(3000, 3)) * [2.5, 1, 1] + np.column_stack([0 * work, 3 * work, 3 * sex])
    lines = [
        f"{a:.2f},{b:.2f},{c:.2f},{['no', 'yes'][w]},{'fm'[x]}"
        for (a, b, c), w, x in zip(np.clip(X, -8, 8), work, sex, strict=True)
    ]
    Path("t.csv").write_text("\n".join(["s,u,p,work,sex", *lines]) + "\n")
    Path("s.json").write_text(json.dumps(SCHEMA))
    return tmp_path


@pytest.mark.parametrize("method", ["pca", "dca", "mdr"])
def test_a_projection_is_written_with_its_ledger(table, method):
    ran = run(
        *("compress", "t.csv", "--schema", "s.json", "--method", method, "--components", 1),
        *("--utility", "work", "--privacy", "sex", "--epsilon", 5, "-o", "p.json", "--attack"),
    )
    assert ran.status == 0, ran.err
    document = json.loads((table / "p.json").read_text())
    assert document["parameters"]["epsilon"] == 5
    [[*weights]] = document["released"]["components_"]
    assert len(weights) == 3
    assert "reconstruction: rows come within" in ran.out
    assert "sex: guessed right for" in ran.out
    assert "for your eyes" in ran.err
    again = run("predict", "p.json", "t.csv", "-o", "coordinates.csv")
    assert again.status == 0, again.err
    assert (table / "coordinates.csv").read_text().startswith("component 1\n")


def test_projected_rows_are_said_to_be_somebodys(table):
    ran = run(
        *("compress", "t.csv", "--schema", "s.json", "--utility", "work", "--components", 1),
        *("-o", "p.json", "--rows", "rows.csv"),
    )
    assert ran.status == 0, ran.err
    assert "no guarantee holds for them" in ran.err
    assert len((table / "rows.csv").read_text().splitlines()) == 3001


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--method", "dca"], "needs --utility"),
        (["--method", "mdr", "--utility", "work"], "privacy"),
        (["--utility", "work", "--components", "9"], "n_components"),
        (["--utility", "nothing"], "nothing"),
    ],
)
def test_what_does_not_go_together_is_refused_and_nothing_is_written(table, options, sentence):
    ran = run("compress", "t.csv", "--schema", "s.json", "-o", "p.json", *options)
    assert ran.status == 2
    assert sentence in ran.err
    assert not (table / "p.json").exists()
