"""Tables turn into the frames that people use, and objects look well in a notebook."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from examples import every_kind_schema, every_kind_table, schema_of
from understudy import Independent, InputError, Table, plan, read_table
from understudy.data.looks import MAX_COLUMNS, MAX_SHOWN_ROWS, html_table
from understudy.data.tables import Column
from understudy.reports.page import HtmlPage
from understudy.reports.release import report

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def sample(tmp_path: Path) -> Table:
    """What ``fit`` of a file and ``sample`` give."""
    every_kind_table().write(tmp_path / "file.csv")
    model = Independent(epsilon=1.0).fit(
        tmp_path / "file.csv", every_kind_schema(), notify=lambda _: None
    )
    found = model.sample(1000, seed=1)
    assert isinstance(found, Table)
    return found


@pytest.mark.parametrize(
    ("method", "package"),
    [("to_pandas", "pandas"), ("to_polars", "polars"), ("to_arrow", "pyarrow")],
)
def test_a_sample_turns_into_a_frame(sample: Table, method: str, package: str) -> None:
    pytest.importorskip(package)
    frame = getattr(sample, method)()
    assert type(frame).__module__.startswith(package)
    assert len(frame) == 1000
    names = frame.column_names if package == "pyarrow" else list(frame.columns)
    assert tuple(names) == sample.names


@pytest.mark.parametrize(
    ("method", "package"),
    [("to_pandas", "pandas"), ("to_polars", "polars"), ("to_arrow", "pyarrow")],
)
def test_a_library_that_is_missing_is_named_in_one_sentence(
    sample: Table, method: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = importlib.util.find_spec
    monkeypatch.setattr(
        "understudy.data.frames.find_spec",
        lambda name: None if name == package else there(name),
    )
    with pytest.raises(InputError) as refusal:
        getattr(sample, method)()
    assert str(refusal.value) == (
        f"{method} needs {package}, which is not installed; install it by `pip install {package}`."
    )


def test_a_sample_is_written_as_csv_and_parquet(sample: Table, tmp_path: Path) -> None:
    sample.to_csv(tmp_path / "s.csv")
    sample.to_parquet(tmp_path / "s.parquet")
    for name in ("s.csv", "s.parquet"):
        again = read_table(tmp_path / name)
        assert (again.rows, again.names) == (1000, sample.names)
    with pytest.raises(InputError, match=r"s\.csv is not the name of a Parquet file; it must end"):
        sample.to_parquet(tmp_path / "s.csv")
    with pytest.raises(InputError, match=r"s\.parquet is not the name of a CSV file; it must end"):
        sample.to_csv(tmp_path / "s.parquet")


# --------------------------------------------------------------------------- in a notebook


def test_a_table_shows_its_first_rows() -> None:
    table = Table(
        {
            "n": Column("integer", np.arange(100)),
            HOSTILE: Column("text", np.zeros(100, dtype=int), (HOSTILE,)),
            "d": Column(
                "date", np.zeros(100, dtype=int), missing=(np.arange(100) % 2).astype("u1")
            ),
        }
    )
    shown = table._repr_html_()
    assert f"100 rows, 3 columns; the first {MAX_SHOWN_ROWS} rows" in shown
    assert shown.count("<tr>") == MAX_SHOWN_ROWS + 1
    assert "1970-01-01" in shown
    assert "<script" not in shown
    assert "&lt;script&gt;" in shown
    wide = Table({f"c{place}": Column("integer", np.arange(2)) for place in range(200)})
    assert wide._repr_html_().count("<th>") == MAX_COLUMNS


def test_a_schema_shows_what_columns_can_hold() -> None:
    schema = schema_of(
        age={"kind": "integer", "min": 0, "max": 95, "bins": 16, "missing": True},
        town={"kind": "categorical", "values": [f"{HOSTILE}{place}" for place in range(9)]},
        note={"kind": "text"},
        who={"kind": "identifier"},
    )
    shown = schema._repr_html_()
    for fact in ("0 to 95, bins: 16", "an empty cell", "not read", "made for every row"):
        assert fact in shown
    assert "<script" not in shown


def test_a_model_shows_its_guarantee_and_its_schema_and_nothing_private() -> None:
    rows = Table({"age": Column("integer", np.array([47, 48] * 50))})
    schema = schema_of(age={"kind": "integer", "min": 0, "max": 99, "bins": 4})
    model = Independent(epsilon=1.0).fit(rows, schema, notify=lambda _: None)
    shown = model._repr_html_()
    assert "epsilon = 1" in shown
    assert "0 to 99, bins: 4" in shown
    assert "47" not in shown
    assert len(shown) < 2000


def test_a_plan_shows_what_to_expect() -> None:
    schema = schema_of(age={"kind": "integer", "min": 0, "max": 99, "bins": 4})
    shown = plan(schema, 1000, 1.0)._repr_html_()
    assert "Plan: epsilon 1, about 1,000 rows" in shown
    assert "<td>age</td><td>4</td>" in shown


def test_a_report_stands_in_a_frame_of_its_own() -> None:
    rows = Table({"age": Column("integer", np.array([1, 2] * 50))})
    schema = schema_of(age={"kind": "integer", "min": 0, "max": 9})
    page = report(Independent(epsilon=1.0).fit(rows, schema, notify=lambda _: None))
    assert isinstance(page, HtmlPage)
    shown = page._repr_html_()
    assert shown.startswith('<iframe sandbox srcdoc="&lt;!doctype html&gt;')
    assert shown.count("<") == 2


def test_an_evaluation_shows_its_verdict_first() -> None:
    pytest.importorskip("xgboost")
    from understudy import evaluate

    rows = Table({f"<b>{name}": Column("integer", np.arange(60) % 5) for name in "ab"})
    shown = evaluate(rows, rows)._repr_html_()
    assert shown.startswith("<div><b>For the owner only, not for release.</b><br>Fit for: ")
    assert "Why, the worst first" in shown
    assert "<b>a" not in shown


def test_long_cells_are_cut() -> None:
    shown = html_table("t", ("a",), [("x" * 1000,)])
    assert len(shown) < 300
    assert "…" in shown


# --------------------------------------------------------------------------- estimators


def test_methods_are_cloned_and_say_their_parameters() -> None:
    base = pytest.importorskip("sklearn.base")
    method = Independent(epsilon=0.5, neighbours="replace")
    twin: Any = base.clone(method)
    assert twin is not method
    assert twin.get_params() == method.get_params()
    assert twin.get_params()["epsilon"] == 0.5


@pytest.mark.parametrize("wrong", [{"epsilon": -1.0}, {"neighbours": "all"}, {"discovery": 2.0}])
def test_wrong_parameters_are_refused_in_the_constructor(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Independent(**{"epsilon": 1.0, **wrong})
