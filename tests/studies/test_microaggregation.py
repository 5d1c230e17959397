"""The study of micro-aggregation: what is compared, and a quick run from end to end."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import microaggregation
from understudy import Gaussian, Table
from understudy.data.tables import Column

pytestmark = pytest.mark.thorough


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A made-up table of the breast cancer study's shape, with an identifier and missing cells."""
    rng = np.random.default_rng(1)
    ill = rng.random(300) < 0.4
    names = microaggregation.BREAST_CANCER
    numbers = np.clip(np.rint(rng.normal(3 + 4 * ill[:, None], 2, (300, len(names)))), 1, 10)
    columns = {"id": Column("integer", np.arange(300))}
    for place, name in enumerate(names):
        columns[name] = Column("integer", numbers[:, place].astype(np.int64))
    columns["class"] = Column("integer", np.where(ill, 4, 2))
    Table(columns).write(tmp_path / "breast-cancer.csv")
    text = (tmp_path / "breast-cancer.csv").read_text().splitlines()
    cells = text[1].split(",")
    cells[1 + names.index("nuclei")] = "?"
    text[1] = ",".join(cells)
    (tmp_path / "breast-cancer.csv").write_text("\n".join(text) + "\n")
    return tmp_path


def test_the_quick_study_runs_and_concludes(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out"
    told = ["--quick", "--data", str(folder), "--output", str(output)]
    assert microaggregation.STUDY.main(told) == 0
    claims = json.loads((output / "conclusions.json").read_text())
    assert [len(part) for part in claims.values()] == [4, 3]
    assert "held" in capsys.readouterr().out
    lines = (output / "methods.csv").read_text().splitlines()
    assert len(lines) == 4
    assert "accuracy, scenario 2" in lines[0]


def test_numbers_are_scaled_by_public_bounds_and_the_identifier_is_gone(folder: Path) -> None:
    table = microaggregation.read("breast-cancer", folder)
    assert "id" not in table.columns
    numbers, labels = microaggregation.as_arrays(table, "breast-cancer")
    assert numbers.shape == (300, 9)
    assert (numbers.min(), numbers.max()) == (-1, 1)
    assert numbers[0, 5] == 0  # missing
    assert 0.3 < labels.mean() < 0.5


def test_cells_have_about_k_rows_of_each_label() -> None:
    settings = {"method": "gaussian", "epsilon": 1.0, "k": 50}
    method = microaggregation.method_of(settings, 600)
    assert isinstance(method, Gaussian)
    assert method.clusters == 6
    assert microaggregation.method_of({"method": "gaussian", "epsilon": 1.0}, 600).clusters == 1


def test_clusters_of_the_rows_themselves_agree() -> None:
    rng = np.random.default_rng(0)
    rows = np.where(rng.random(200) < 0.5, -0.5, 0.5)[:, None] + rng.normal(0, 0.1, (200, 3))
    assert microaggregation.agreement(rows, rows) == pytest.approx(1)
    assert microaggregation.agreement(rows, np.zeros((10, 3))) == 0
