"""The report tells what the model holds and nothing else, and runs nothing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pages import HOSTILE, Tags, check_harmless

from examples import every_kind_schema, every_kind_table, schema_of
from understudy import Independent, Model, PrivBayes, Random
from understudy.data.tables import Column, Table
from understudy.models import drawing
from understudy.privacy.mechanisms import SeededNoise
from understudy.reports.release import report, write_report


def model(**parameters: Any) -> Model:
    method = Independent(**{"epsilon": 1.0, **parameters})
    return method.fit(every_kind_table(), every_kind_schema(), notify=lambda _: None)


def test_the_report_is_a_function_of_the_model_alone(tmp_path: Path) -> None:
    released = model()
    released.save(tmp_path / "m.json")
    page = report(released)
    assert report(released) == page
    assert report(Model.load(tmp_path / "m.json")) == page


def test_a_report_shows_columns_ledger_and_guarantee() -> None:
    released = model(neighbours="replace")
    text = " ".join(Tags(report(released)).text)
    for attribute in released.schema:
        assert attribute.name in text
    for entry in released.ledger.entries:
        assert entry.question in text
    assert "north" in text
    assert "epsilon" in text


def test_every_tag_is_closed_and_nothing_comes_from_outside_or_runs() -> None:
    for released in (
        model(),
        model(delta=1e-6),
        Random().fit(every_kind_table(), every_kind_schema(), notify=lambda _: None),
    ):
        page = report(released)
        check_harmless(page)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_values_and_questions_are_shown_and_not_obeyed(name: str) -> None:
    schema = schema_of(
        **{
            name: {"kind": "categorical", "values": [name + "1", name + "2"]},
            name + "t": {"kind": "text"},
        }
    )
    table = Table(
        {
            name: Column("text", np.array([0, 1]), (name + "1", name + "2")),
            name + "t": Column("integer", np.array([1, 2])),
        }
    )
    document = Independent(epsilon=1.0).fit(table, schema).to_dict()
    document["method"]["name"] = name
    document["ledger"]["entries"][0]["question"] = name
    document["ledger"]["entries"][0]["mechanism"] = name
    page = report(Model.from_dict(document))
    tags = Tags(page)
    assert tags.open == []
    assert not tags.tags & {"script", "img"}
    assert not any(attribute.startswith("on") for attribute, _ in tags.attributes)
    assert page.count("</style>") == 1
    assert "\x1b" not in page


def test_a_model_that_is_not_private_is_shown_with_an_alarm() -> None:
    document = model().to_dict()
    document["ledger"]["private"] = False
    seeded = report(Model.from_dict(document))
    assert "NOT PRIVATE" in seeded
    assert "NOT PRIVATE" not in report(model())


def test_a_report_is_written_whole(tmp_path: Path) -> None:
    released = model()
    write_report(released, tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == report(released)
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]


def test_tables_without_rows_and_long_domains_are_drawn_too() -> None:
    schema = schema_of(
        n={"kind": "integer", "min": 0, "max": 299, "bins": 300},
        w={"kind": "categorical", "values": [f"value {i}" for i in range(100)]},
        k={"kind": "categorical", "values": ["only"]},
    )
    table = Table(
        {
            "n": Column("integer", np.array([3])),
            "w": Column("text", np.array([0]), ("value 7",)),
            "k": Column("text", np.array([0]), ("only",)),
        }
    )
    document = Independent(epsilon=1.0).fit(table, schema).to_dict()
    for node in document["network"]:
        node["counts"] = [0.0] * len(node["counts"])
    page = report(Model.from_dict({**document, "rows": 0}))
    assert Tags(page).open == []
    assert "nan" not in page.lower().replace("finance", "")
    assert "inf" not in re.sub(r"[a-z]*inf[a-z]+", "", page.lower())


def test_the_schema_stands_in_it_with_bounds_values_and_missing_marks() -> None:
    text = " ".join(Tags(report(model())).text)
    for fact in (
        "0 to 95, in 16 bins",
        "1, 2, 3 (in this order)",
        "written ?",
        "an empty cell",
        "made anew",
    ):
        assert fact in text


def test_the_picture_of_the_ledger_divides_all_that_was_spent() -> None:
    released = PrivBayes(epsilon=1.0).fit(
        every_kind_table(), every_kind_schema(), notify=lambda _: None
    )
    drawn = re.search(r'<div class="split">(.*?)</div>', report(released))
    assert drawn is not None
    assert sum(float(share) for share in re.findall(r"flex:([0-9.]+)", drawn[1])) == pytest.approx(
        1, abs=1e-3
    )


def test_a_column_of_very_many_bins_does_not_make_a_very_large_page() -> None:
    schema = schema_of(n={"kind": "integer", "min": 0, "max": 49_999, "bins": 50_000})
    released = Random().fit(
        Table({"n": Column("integer", np.array([3]))}), schema, notify=lambda _: None
    )
    page = report(released)
    assert len(page) < 50_000
    assert page.count("<rect") <= 64


def test_a_network_too_large_for_a_picture_does_not_cost_the_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(drawing, "MAX_WAYPOINTS", 0)
    schema = schema_of(a={"kind": "boolean"}, b={"kind": "boolean"})
    flags = Column("boolean", np.arange(100) < 50)
    fit = PrivBayes(epsilon=100.0, degree=1).fit
    page = report(fit(Table({"a": flags, "b": flags}), schema, noise=SeededNoise(0)))
    assert "too large for a picture" in page
    assert 'id="network"' in page
