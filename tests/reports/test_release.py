"""The report tells what the model holds and nothing else, and runs nothing."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pages import HOSTILE, Tags, check_harmless

from examples import every_kind_schema, every_kind_table, schema_of
from understudy import Independent, Model, PrivBayes, Random, __version__
from understudy.data.tables import Column, Table
from understudy.models import network_layout
from understudy.models.network import Network
from understudy.privacy.mechanisms import SeededNoise
from understudy.reports.distributions import ShownValues, ValueShares, distribution
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
    text = " ".join(Tags(report(model(refinement=0))).text)
    for fact in (
        "0 to 95, in 16 bins",
        "1, 2, 3 (in this order)",
        "written ?",
        "an empty cell",
        "made for every synthetic row",
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
    monkeypatch.setattr(network_layout, "MAX_WAYPOINTS", 0)
    schema = schema_of(a={"kind": "boolean"}, b={"kind": "boolean"})
    flags = Column("boolean", np.arange(100) < 50)
    fit = PrivBayes(epsilon=100.0, degree=1).fit
    page = report(fit(Table({"a": flags, "b": flags}), schema, noise=SeededNoise(0)))
    assert "too large for a picture" in page
    assert 'id="network"' in page


# --------------------------------------------------------------------------- what it names


def test_it_names_data_set_date_software_contact_and_limits(tmp_path: Path) -> None:
    write_report(
        model(),
        tmp_path / "r.html",
        title="Patients <2020>",
        contact="data@example.org",
        date=dt.date(2024, 5, 6),
    )
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    text = " ".join(Tags(page).text)
    assert "<h1>Patients &lt;2020&gt;</h1>" in page
    for fact in (
        "Patients <2020>",
        "2024-05-06",
        f"Understudy {__version__}",
        "data@example.org",
        "Known limits",
        "A p-value that is computed from synthetic rows is not valid",
        "Numbers beyond the bounds of the schema were counted in the first or the last bin",
    ):
        assert fact in text
    assert "Data set: <b>not named</b>" in report(model())
    assert "Contact: <b>not given</b>" in report(model())


def test_columns_stand_in_the_order_of_the_table() -> None:
    released = model()
    turned = replace(released, network=Network(tuple(reversed(tuple(released.network)))))
    drawn = re.findall(r"<figcaption><b>(.*?)</b>", report(turned))
    assert drawn == [attribute.name for attribute in released.schema.modelled]


def test_other_is_shown_only_where_something_is_left_over() -> None:
    schema = schema_of(k={"kind": "categorical", "values": ["a", "b"], "other": "elsewhere"})
    for places, shown in (([0, 1], False), ([0, 1, 2], True)):
        column = Column("text", np.array(places * 40), ("a", "b", "zzz"))
        released = Independent(epsilon=30.0).fit(
            Table({"k": column}), schema, notify=lambda _: None
        )
        page = report(released)
        assert ("<span>elsewhere</span>" in page) is shown
        assert "“elsewhere” stands for values that the schema does not list" in page


def test_bars_of_unequal_bins_have_the_area_of_their_share() -> None:
    edges = (0, 10, 20, 40, 80, 160)
    values = ShownValues("n", tuple(map(str, range(5))), True, False, edges, "integer")
    shares = np.array([0.1, 0.2, 0.2, 0.3, 0.2])
    drawn = distribution(values, [ValueShares("synthetic", shares)])
    boxes = re.findall(r'width="([0-9.]+)" height="([0-9.]+)"><title>', drawn)
    areas = np.array([(float(width) + 0.8) * float(height) for width, height in boxes])
    assert areas / areas.sum() == pytest.approx(shares, abs=0.005)
    assert "The area of a bar is the share of rows." in drawn


@pytest.mark.parametrize(
    ("hours", "shown"), [(5000, ">2024-01-01<"), (20, ">00:00:00<")], ids=["days", "hours"]
)
def test_ends_of_datetimes_are_told_by_the_part_in_which_they_differ(
    hours: int, shown: str
) -> None:
    start = dt.datetime(2024, 1, 1, tzinfo=dt.UTC).timestamp()
    edges = tuple(start + 3600 * hours * place for place in (0, 0.2, 0.3, 0.6, 0.8, 1))
    values = ShownValues("t", tuple("abcde"), True, False, edges, "datetime")
    drawn = distribution(values, [ValueShares("synthetic", np.full(5, 0.2))])
    assert shown in drawn
    assert "…" not in drawn


def test_a_frequent_value_stands_below_the_histogram_and_a_wide_end_is_told() -> None:
    edges = (0, 1, 10, 20, 30, 40, 50, 10_000)
    labels = ("0", "1 to 9", "10 to 19", "20 to 29", "30 to 39", "40 to 49", "50 to 9999")
    values = ShownValues("n", labels, True, True, edges, "integer")
    shares = np.array([0.6, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.1])
    drawn = distribution(values, [ValueShares("synthetic", shares)])
    assert drawn.count("<rect") == 5
    assert "<span>0</span>" in drawn
    assert "<span>missing</span>" in drawn
    assert "Beyond the picture: 50 to 9999: 5.00%." in drawn


def test_an_end_too_narrow_to_be_seen_is_told_and_makes_no_line() -> None:
    edges = (0, 10_000, 20_000, 40_000, 40_004)
    values = ShownValues("n", tuple("abcd"), True, False, edges, "integer")
    shares = [np.array([0.25, 0.25, 0.4998, 0.0002]), np.array([0.25, 0.25, 0.5, 0.0])]
    drawn = distribution(
        values, [ValueShares("real", shares[1]), ValueShares("synthetic", shares[0])]
    )
    assert drawn.count("<rect") == 3
    assert "Beyond the picture: d: real 0.00%, synthetic 0.02%." in drawn


def test_frequent_values_and_next_to_nothing_beside_them_have_bars_alone() -> None:
    edges = (1, 2, 3, 4, 8)
    values = ShownValues("n", ("1", "2", "3", "4 to 7"), True, False, edges, "integer")
    shares = [np.array([0.3, 0.4, 0.3, 0.0]), np.array([0.3, 0.399, 0.3, 0.001])]
    drawn = distribution(
        values, [ValueShares("real", shares[0]), ValueShares("synthetic", shares[1])]
    )
    assert "<svg" not in drawn
    assert "<span>4 to 7</span>" in drawn


def test_a_bin_for_zero_alone_stands_below_the_histogram() -> None:
    """By its area it would stand so high that no other bar could be seen."""
    values = ShownValues(
        "n", ("[0, 0.01)", "[0.01, 1)", "[1, 60]"), True, False, (0, 0.01, 1, 60), "real"
    )
    page = distribution(values, [ValueShares("synthetic", np.array([0.6, 0.3, 0.1]))])
    picture, below = page.split("The area of a bar")
    assert "[0, 0.01)" not in picture
    assert "[0, 0.01)" in below
