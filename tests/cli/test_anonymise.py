"""The command ``understudy anonymise``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import running
from anonymity.tables import random_table

QUASI = ["--quasi", "age,income,job", "--sensitive", "illness"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "patients.csv"
    random_table(np.random.default_rng(0), 200).write(path)
    return path


def run(*arguments: object) -> tuple[int, str]:
    found = running.run("anonymise", *arguments)
    return found.status, found.out + found.err


def test_a_table_is_anonymised_with_a_report(file: Path, tmp_path: Path) -> None:
    out, page = tmp_path / "out.csv", tmp_path / "report.html"
    code, said = run(file, *QUASI, "--k", 5, "--l", 2, "-o", out, "--report", page)
    assert code == 0
    assert "Every group fulfils k = 5, l = 2 (distinct)." in said
    assert "not differential privacy" in said
    assert "homogeneity" in said
    assert out.read_text().count("\n") == 201
    html = page.read_text()
    header = html[html.index("<header>") :]
    assert header.index("This is not differential privacy") < header.index("<h1>")
    checked, said = run(out, *QUASI, "--k", 5, "--l", 2, "--check")
    assert checked == 0
    assert "Every group fulfils" in said


def test_quiet_says_nothing(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    assert run(file, *QUASI, "--k", 5, "-o", out, "-q") == (0, "")
    assert out.exists()


def test_check_says_why_not(file: Path) -> None:
    code, said = run(file, *QUASI, "--k", 5, "--check")
    assert code == 0
    assert "does not hold" in said
    assert "Most is gained by generalising" in said
    code, said = run(file, *QUASI, "--k", 5, "--check", "--json")
    document = json.loads(said)
    assert document["check"]["k"] == 1
    assert not document["check"]["holds"]


def test_roles_from_a_schema(file: Path, tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text(
        json.dumps(
            {
                "attributes": {
                    "age": {"kind": "integer", "min": 0, "max": 99, "role": "quasi-identifier"},
                    "income": {"kind": "integer", "min": 0, "max": 9, "role": "insensitive"},
                    "job": {"kind": "categorical", "values": ["a", "b", "c"], "missing": True},
                    "illness": {
                        "kind": "categorical",
                        "values": ["flu", "cold", "cancer", "none"],
                        "role": "sensitive",
                    },
                }
            }
        )
    )
    out = tmp_path / "out.csv"
    code, said = run(
        file, "--schema", schema, "--method", "lattice", "-o", out, "--hierarchy", "age=5"
    )
    assert code == 0
    assert out.read_text().splitlines()[0] == "age,income,illness"
    assert "Columns without a role are left out: job" in said.replace("\n", " ")
    document = json.loads(schema.read_text())
    document["attributes"]["age"]["role"] = "secret"
    schema.write_text(json.dumps(document))
    code, said = run(file, "--schema", schema, "-o", out)
    assert code == 2
    assert "'secret' is unknown" in said.replace("\n", " ")


def test_what_cannot_be_done_is_said_and_writes_nothing(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    for arguments, words in (
        ((*QUASI, "--k", 999, "-o", out), "no group of them can have k = 999"),
        ((*QUASI,), "Say where"),
        ((*QUASI, "--check", "-o", out), "only looks"),
        (("--quasi", "age", "--sensitive", "age", "-o", out), "can only be one"),
        (("-o", out), "no quasi-identifier"),
        ((*QUASI, "--l", 9, "-o", out), "has 4 values"),
        ((*QUASI, "-o", out, "--hierarchy", "age"), "name=prefix"),
        ((*QUASI, "-o", file), "named for two things"),
    ):
        code, said = run(file, *arguments)
        assert code == 2, said
        assert words in " ".join(said.split()), said
        assert not out.exists()
