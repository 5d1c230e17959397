"""Values to codes and back: every value gets a code, and every code a value of its own bin."""

from __future__ import annotations

import csv
import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from examples import (
    attribute,
    booleans,
    content,
    dates,
    datetimes,
    every_kind_schema,
    every_kind_table,
    integers,
    reals,
    schema_of,
    values_of,
    words,
)
from understudy import InputError
from understudy.data import inside
from understudy.data.encoding import decode, encode, quantity_values
from understudy.data.frames import as_table
from understudy.data.schema import Category, Quantity, Schema
from understudy.data.tables import Column, Table, read_table
from understudy.data.time_formats import EPOCH


def codes_of(column: Column, **entry: Any) -> list[int]:
    return encode(Table({"x": column}), schema_of(x=entry)).codes["x"].tolist()


def outside_of(column: Column, **entry: Any) -> list[tuple[int, str]]:
    return [
        (o.count, o.counted_as) for o in encode(Table({"x": column}), schema_of(x=entry)).outside
    ]


def decoded(codes: list[int], seed: int = 0, **entry: Any) -> Column:
    rng = np.random.default_rng(seed)
    return decode({"x": np.array(codes)}, schema_of(x=entry), rng, len(codes)).columns["x"]


# --------------------------------------------------------------------------- there and back


def test_codes_of_every_kind_survive_decoding_and_encoding_again() -> None:
    schema = every_kind_schema()
    rng = np.random.default_rng(1)
    rows = 500
    codes = {a.name: rng.integers(0, a.size, rows) for a in schema.modelled}
    table = decode(codes, schema, rng, rows)
    again = encode(table, schema)
    assert again.outside == ()
    assert again.rows == rows
    for name, column in codes.items():
        np.testing.assert_array_equal(again.codes[name], column, err_msg=name)


ENTRIES = [
    {"kind": "integer", "min": -7, "max": 1000, "bins": 13, "missing": "?"},
    {"kind": "integer", "min": 2**53 - 100, "max": 2**53 - 1, "bins": 3},
    {"kind": "integer", "edges": [-(2**53), -1, 0, 2**53]},
    {"kind": "real", "min": -1, "max": 1, "bins": 7, "missing": True},
    {"kind": "real", "min": 0.1, "max": 0.3, "bins": 9, "decimals": 1},
    {"kind": "real", "min": 1e9, "max": 1e9 + 1, "bins": 16},
    {"kind": "real", "edges": [0, 1e-15, 1e-3, 1, 1e6]},
    {"kind": "real", "edges": [-(2.0**53), -1e-9, 0, 1e-9, 2.0**53]},
    {"kind": "real", "min": 4503599627370000, "max": 4503599627370001, "bins": 2},
    {"kind": "real", "edges": [1.0, 1.0000000000000002, 1.0000000000000004]},
    {"kind": "date", "min": "1600-01-01", "max": "2199-12-31", "bins": 60},
    {"kind": "date", "min": "0001-01-01", "max": "9999-12-31", "bins": 5},
    {"kind": "date", "min": "2020-01-01", "max": "2020-01-05", "format": "%d.%m.%Y"},
    {
        "kind": "datetime",
        "min": "1969-12-31 23:59:50",
        "max": "1970-01-01 00:00:10",
        "bins": 4,
        "missing": True,
    },
    {"kind": "boolean", "values": ["No", "Yes"], "missing": "unknown"},
    {"kind": "boolean", "values": [0, 1]},
    {"kind": "categorical", "values": [0.5, -1, 7], "missing": True},
    {"kind": "categorical", "values": ["a", "b", "ü", '"', "\n"], "other": "z"},
    {"kind": "categorical", "values": ["007", "7", "07"]},
    {"kind": "categorical", "values": ["only"]},
]


@pytest.mark.parametrize(
    "entry", ENTRIES, ids=[f"{i}-{entry['kind']}" for i, entry in enumerate(ENTRIES)]
)
@pytest.mark.parametrize("draw", ["random", "lowest", "highest"])
def test_a_decoded_value_lies_in_its_own_bin(
    monkeypatch: pytest.MonkeyPatch, entry: dict[str, Any], draw: str
) -> None:
    """Also with the smallest and the largest numbers that a stream can give."""
    if draw != "random":
        extreme = 0.0 if draw == "lowest" else np.nextafter(1.0, 0.0)
        monkeypatch.setattr(inside, "draw_uniforms", lambda _, rows: np.full(rows, extreme))
    schema = schema_of(x=entry)
    codes = np.tile(np.arange(schema["x"].size), 200 if draw == "random" else 1)
    table = decode({"x": codes}, schema, np.random.default_rng(3), len(codes))
    again = encode(table, schema)
    assert again.outside == ()
    np.testing.assert_array_equal(again.codes["x"], codes)


def test_values_inside_a_bin_are_uniform() -> None:
    values = np.array(values_of(decoded([0] * 60_000, kind="integer", min=10, max=15, bins=1)))
    counts = np.bincount(values - 10, minlength=6)
    assert counts.sum() == 60_000
    assert counts.shape == (6,)
    assert np.abs(counts - 10_000).max() < 600  # over six standard deviations


def test_reals_inside_a_bin_are_uniform_and_have_the_places_of_the_schema() -> None:
    drawn = decoded([1] * 60_000, kind="real", min=0, max=20, bins=2)
    values = np.array(values_of(drawn))
    counts, _ = np.histogram(values, bins=10, range=(10, 20))
    assert counts.sum() == 60_000
    assert np.abs(counts - 6_000).max() < 450  # six standard deviations
    entry = {"kind": "real", "min": 0, "max": 20, "bins": 2}
    attribute = schema_of(x=entry)["x"]
    assert isinstance(attribute, Quantity)
    np.testing.assert_allclose(values, np.round(values, attribute.places), rtol=0, atol=1e-9)
    assert len(np.unique(values)) == 10 * 10**attribute.places  # each is drawn, 60 times or so


def test_integers_stay_integers_and_dates_stay_dates() -> None:
    schema = every_kind_schema()
    codes = {a.name: np.zeros(3, dtype=np.uint8) for a in schema.modelled}
    table = decode(codes, schema, np.random.default_rng(0), 3)
    kinds = {name: column.kind for name, column in table.columns.items()}
    assert kinds == {
        "id": "text",
        "age": "integer",
        "height": "real",
        "smoker": "boolean",
        "ward": "text",
        "grade": "integer",
        "born": "date",
        "seen": "datetime",
        "notes": "text",
    }
    assert table.columns["age"].values.dtype == np.int64
    assert all(
        1.0 <= value == round(value, 2) < 1.1 for value in values_of(table.columns["height"])
    )


def test_booleans_come_out_as_the_schema_spells_them() -> None:
    assert decoded([0, 1], kind="boolean").kind == "boolean"
    spelled = decoded([0, 1], kind="boolean", values=["no", "yes"])
    assert (spelled.kind, spelled.words) == ("text", ("no", "yes"))
    assert decoded([0, 1], kind="categorical", values=["false", "true"]).kind == "text"


def test_a_bin_with_one_value_yields_that_value() -> None:
    assert values_of(decoded([0, 1, 2, 2], kind="integer", min=5, max=7)) == [5, 6, 7, 7]
    assert values_of(decoded([1], kind="date", min="2020-02-28", max="2020-03-01")) == values_of(
        dates("2020-02-29")
    )


def test_columns_come_out_in_the_order_of_the_table_and_not_of_the_schema() -> None:
    table = every_kind_table()
    backwards = Table({name: table.columns[name] for name in reversed(table.names)})
    coded = encode(backwards, every_kind_schema())
    assert coded.schema.names == backwards.names
    assert tuple(coded.codes) == tuple(
        name for name in backwards.names if name not in ("id", "notes")
    )
    synthetic = decode(coded.codes, coded.schema, np.random.default_rng(0), 5)
    assert synthetic.names == backwards.names


def test_codes_are_as_small_as_the_domain_allows() -> None:
    column = integers(*range(300))
    for size, dtype in ((256, np.uint8), (257, np.uint16)):
        schema = schema_of(x={"kind": "integer", "min": 0, "max": size - 1, "bins": size})
        assert encode(Table({"x": column}), schema).codes["x"].dtype == dtype


# --------------------------------------------------------------------------- missing values


def test_missing_values_have_the_last_code_and_keep_their_mark() -> None:
    assert codes_of(integers(1, None, 3), kind="integer", min=1, max=3, missing="?") == [0, 3, 2]
    column = decoded([0, 3, 2], kind="integer", min=1, max=3, missing="?")
    assert values_of(column) == [1, None, 3]
    assert column.mark == "?"


def test_the_mark_of_the_schema_among_texts_is_missing() -> None:
    entry = {"kind": "categorical", "values": ["a", "b"], "missing": "?"}
    assert codes_of(words("a", "?", "b", None), **entry) == [0, 2, 1, 2]
    assert outside_of(words("a", "?", "b", None), **entry) == []
    assert values_of(decoded([0, 2], **entry)) == ["a", None]


@pytest.mark.parametrize(
    ("column", "mark"),
    [
        (words("1", "unknown", "3", "unknown", None), "unknown"),
        (words("1", "1.5.2000", "3", "1.5.2000", None), "1.5.2000"),
        (integers(1, -99, 3, -99, None), "-99"),
        (reals(1.0, -99.0, 3.0, -99.0, None), "-99"),
    ],
)
def test_a_mark_of_the_owners_own_among_numbers_is_missing(column: Column, mark: str) -> None:
    entry = {"kind": "integer", "min": 1, "max": 3, "missing": mark}
    assert codes_of(column, **entry) == [0, 3, 2, 3, 3]
    assert outside_of(column, **entry) == []


def test_a_word_that_no_cell_has_is_not_looked_at() -> None:
    # A frame may list categories that no row has: whether one reads as a number is nobody's
    # business.
    column = Column("text", np.array([0, 0]), ("1", "x"))
    assert codes_of(column, kind="integer", min=1, max=2) == [0, 0]


@pytest.mark.parametrize(
    ("column", "entry", "counted_as"),
    [
        (integers(5, None), {"kind": "integer", "min": 1, "max": 9}, "5"),
        (reals(5.0, None), {"kind": "real", "min": 1, "max": 9, "bins": 2}, "[5, 9]"),
        (words("b", None), {"kind": "categorical", "values": ["a", "b"]}, "b"),
        (words("b", None), {"kind": "categorical", "values": ["a", "b"], "other": "z"}, "z"),
        (booleans(True, None), {"kind": "boolean"}, "true"),
    ],
)
def test_missing_values_that_the_schema_does_not_allow_are_counted_and_reported(
    column: Column, entry: dict[str, Any], counted_as: str
) -> None:
    assert outside_of(column, **entry) == [(1, counted_as)]


@pytest.mark.parametrize(
    "entry",
    [{"kind": "integer", "min": -5, "max": 5}, {"kind": "categorical", "values": [3, 4, 5]}],
)
def test_what_lies_under_a_missing_cell_has_no_say_in_its_code(entry: dict[str, Any]) -> None:
    codes = [
        codes_of(
            Column("integer", np.array([3, under]), missing=np.array([0, 1], np.uint8)), **entry
        )
        for under in (0, 3, 4, 5)
    ]
    assert all(each == codes[0] for each in codes)


def test_not_a_number_is_missing() -> None:
    column = Column("real", np.array([1.5, np.nan]))
    assert codes_of(column, kind="real", min=1, max=2, bins=1, missing=True) == [0, 1]
    assert codes_of(
        Column("real", np.array([1.0, np.nan])), kind="integer", min=1, max=2, missing=True
    ) == [0, 2]


def test_a_column_without_values_is_all_missing() -> None:
    nothing = Column("empty", np.zeros(2, dtype=np.int64), missing=np.ones(2, dtype=np.uint8))
    for entry in (
        {"kind": "integer", "min": 0, "max": 1},
        {"kind": "categorical", "values": ["a", "b"]},
    ):
        assert codes_of(nothing, **entry, missing=True) == [2, 2]
        assert outside_of(nothing, **entry)[0][0] == 2


def test_values_that_are_not_cut_into_bins_tell_where_they_are_missing() -> None:
    attribute = schema_of(x={"kind": "integer", "min": 0, "max": 9, "bins": 2, "missing": True})[
        "x"
    ]
    assert isinstance(attribute, Quantity)
    nothing = Column("empty", np.zeros(2, dtype=np.int64), missing=np.ones(2, dtype=np.uint8))
    some = Column("integer", np.array([7, 0]), missing=np.array([0, 1], dtype=np.uint8))
    for column, values, absent in ((nothing, [0, 0], [True, True]), (some, [7, 0], [False, True])):
        found, missing = quantity_values(attribute, Table({"x": column}, "table"))
        assert (found.tolist(), missing.tolist()) == (values, absent)


# --------------------------------------------------------------------------- outside the domain


@pytest.mark.parametrize(
    ("column", "entry", "codes", "outside"),
    [
        (
            integers(-5, 0, 9, 10),
            {"kind": "integer", "min": 0, "max": 9, "bins": 5},
            [0, 0, 4, 4],
            [(1, "0 to 1"), (1, "8 to 9")],
        ),
        (
            reals(-np.inf, 0, 1, 1.01, np.inf),
            {"kind": "real", "min": 0, "max": 1, "bins": 2},
            [0, 0, 1, 1, 1],
            [(1, "[0, 0.5)"), (2, "[0.5, 1]")],
        ),
        (
            reals(-np.inf, 3, np.inf),
            {"kind": "integer", "min": 0, "max": 9},
            [0, 3, 9],
            [(1, "0"), (1, "9")],
        ),
        (
            dates("1900-01-01", "2020-01-02"),
            {"kind": "date", "min": "2020-01-01", "max": "2020-01-02"},
            [0, 1],
            [(1, "2020-01-01")],
        ),
        (
            words("a", "q", "r"),
            {"kind": "categorical", "values": ["a", "b"]},
            [0, 1, 1],
            [(2, "b")],
        ),
        (
            words("a", "q", "z"),
            {"kind": "categorical", "values": ["a", "b"], "other": "z"},
            [0, 2, 2],
            [(1, "z")],
        ),
        (integers(1, 5), {"kind": "categorical", "values": [1, 2]}, [0, 1], [(1, "2")]),
        (words("true", "maybe"), {"kind": "boolean"}, [1, 1], [(1, "true")]),
        (
            booleans(True, False),
            {"kind": "categorical", "values": ["true"], "other": "no"},
            [0, 1],
            [(1, "no")],
        ),
    ],
)
def test_values_outside_the_domain_count_at_its_edge_and_are_reported(
    column: Column, entry: dict[str, Any], codes: list[int], outside: list[tuple[int, str]]
) -> None:
    assert codes_of(column, **entry) == codes
    assert outside_of(column, **entry) == outside


def test_the_report_names_column_count_edge_and_remedy() -> None:
    [report] = encode(
        Table({"x": integers(*[50] * 1500)}), schema_of(x={"kind": "integer", "min": 0, "max": 9})
    ).outside
    assert str(report).startswith("x: 1,500 values outside the domain counted as 9; ")


@given(
    numbers=st.lists(st.integers(-(2**63), 2**63 - 1) | st.none(), min_size=1, max_size=20),
    low=st.integers(-1000, 1000),
    span=st.integers(1, 500),
    missing=st.booleans(),
)
def test_every_integer_has_a_code(
    numbers: list[int | None], low: int, span: int, missing: bool
) -> None:
    entry = {"kind": "integer", "min": low, "max": low + span - 1, "missing": missing}
    coded = encode(Table({"x": integers(*numbers)}), schema_of(x=entry))
    size = coded.schema["x"].size
    assert (coded.codes["x"] < size).all()
    strangers = sum(n is None or not low <= n < low + span for n in numbers)
    allowed = sum(n is None for n in numbers) if missing else 0
    assert sum(outside.count for outside in coded.outside) == strangers - allowed


@given(numbers=st.lists(st.floats(), min_size=1, max_size=20), missing=st.booleans())
def test_every_real_has_a_code(numbers: list[float], missing: bool) -> None:
    for entry in (
        {"kind": "real", "min": -3, "max": 8, "bins": 5},
        {"kind": "real", "edges": [-1e-300, 0, 1e-300]},
    ):
        attr = attribute(**entry, missing=missing)
        assert isinstance(attr, Quantity)
        codes = codes_of(Column("real", np.array(numbers)), **entry, missing=missing)
        for number, code in zip(numbers, codes, strict=True):
            if np.isnan(number):
                assert code == (attr.bins if missing else attr.bins // 2)
            else:
                assert code < attr.bins
                assert number >= attr.edges[code] or code == 0
                assert number < attr.edges[code + 1] or code == attr.bins - 1


@given(
    texts=st.lists(st.text(max_size=3) | st.none(), min_size=1, max_size=20), other=st.booleans()
)
def test_every_text_has_a_code(texts: list[str | None], other: bool) -> None:
    entry: dict[str, Any] = {"kind": "categorical", "values": ["a", "b"], "missing": "?"}
    if other:
        entry["other"] = "c"
    attr = attribute(**entry)
    assert isinstance(attr, Category)
    for text, code in zip(texts, codes_of(words(*texts), **entry), strict=True):
        bare = "" if text is None else text.strip()
        if bare in ("", "?"):
            assert code == attr.values_size
        else:
            assert code == (attr.domain.index(bare) if bare in attr.domain else attr.outside)


# --------------------------------------------------------------------------- one row, one code

CELLS = [
    *(
        "1",
        "1.0",
        " 1",
        "+1",
        "01",
        "2",
        "2.5",
        "NA",
        "?",
        "-",
        "nan",
        "",
        " ",
        "-9",
        "unknown",
        "x",
        "true",
        "True",
    ),
    *("no", "2020-01-31", "2020-01-31T10:00:00", "20200131", "1e3", "inf", "1_0", "a,b", 'q"q'),
]
DESCRIBED: list[dict[str, Any]] = [
    {"kind": "integer", "min": 0, "max": 9, "missing": True},
    {"kind": "integer", "min": 0, "max": 9, "missing": "unknown"},
    {"kind": "integer", "min": -10, "max": 9, "missing": "-9"},
    {"kind": "real", "min": 0, "max": 9, "missing": True},
    {"kind": "date", "min": "2020-01-01", "max": "2020-12-31", "missing": True},
    {"kind": "datetime", "min": "2020-01-01", "max": "2020-12-31", "missing": "?"},
    {"kind": "date", "min": "2020-01-01", "max": "2020-12-31", "format": "%Y%m%d"},
    {"kind": "categorical", "values": ["1", "2"], "missing": "-9"},
    {"kind": "categorical", "values": ["1", "1.0", "NA"], "other": "else"},
    {"kind": "categorical", "values": [1, 2], "missing": True},
    {"kind": "categorical", "values": ["True", "x"]},
    {"kind": "boolean", "missing": True},
    {"kind": "boolean", "values": ["no", "x"]},
]


@settings(
    max_examples=settings.default.max_examples // 2,  # each reads two files
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    entry=st.sampled_from(DESCRIBED),
    cells=st.lists(st.sampled_from(CELLS), min_size=1, max_size=6),
    more=st.sampled_from(CELLS),
)
def test_a_row_more_leaves_the_codes_of_the_others_alone(
    tmp_path: Path, entry: dict[str, Any], cells: list[str], more: str
) -> None:
    """Else one row would count for many, and noise made for one row would protect nobody."""
    schema = Schema.from_dict({"attributes": {"x": entry, "y": {"kind": "text"}}})

    def codes(values: list[str]) -> list[int] | None:
        path = tmp_path / "t.csv"
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([("x", "y"), *((value, "t") for value in values)])
        try:
            return encode(read_table(path), schema).codes["x"].tolist()
        except InputError:
            return None

    without, with_it = codes(cells), codes([*cells, more])
    if without is None:
        assert with_it is None
    elif with_it is not None:
        assert with_it[:-1] == without


@pytest.mark.parametrize(
    "values", [[1, 2, None], [1, 2, 2.5], [True, False, None], [1, 2, "x"], [True, 1, 1.0, "1"]]
)
def test_a_value_has_one_code_whatever_type_pandas_gives_the_column(values: list[Any]) -> None:
    pandas = pytest.importorskip("pandas")
    for entry in ({"values": ["1", "2"]}, {"values": ["True", "False", "1"]}, {"values": [1, 2]}):
        schema = Schema.from_dict(
            {"attributes": {"x": {"kind": "categorical", "missing": True, **entry}}}
        )

        def codes(some: list[Any], schema: Schema = schema) -> list[int]:
            return encode(as_table(pandas.DataFrame({"x": some}))[0], schema).codes["x"].tolist()

        assert codes(values)[:2] == codes(values[:2])


# --------------------------------------------------------------------------- other spellings


def test_numbers_in_the_schema_match_texts_that_spell_them() -> None:
    assert codes_of(words("01", "2", "1.0", "x"), kind="categorical", values=[1, 2]) == [0, 1, 0, 1]


def test_texts_in_the_schema_match_numbers_of_the_column() -> None:
    assert codes_of(integers(0, 1, 1), kind="categorical", values=["0", "1"]) == [0, 1, 1]


@pytest.mark.parametrize("spelled", [["false", "true"], ["False", "True"], ["no", "yes"], [0, 1]])
def test_booleans_go_to_the_two_values_whatever_those_are(spelled: list[Any]) -> None:
    assert codes_of(booleans(True, False), kind="boolean", values=spelled) == [1, 0]
    assert outside_of(booleans(True, False), kind="boolean", values=spelled) == []


def test_booleans_are_read_in_any_case() -> None:
    assert codes_of(words("TRUE", "False", "true"), kind="boolean") == [1, 0, 1]


@pytest.mark.parametrize(
    ("column", "form"),
    [
        (words("31/01/2020", "01/02/2020"), "%d/%m/%Y"),
        (words("2020-01-31", "2020-02-01"), None),
        (integers(20200131, 20200201), "%Y%m%d"),
        (dates("2020-01-31", "2020-02-01"), None),
        (datetimes("2020-01-31 10:00:00", "2020-02-01 23:59:59"), None),
    ],
)
def test_dates_are_read_as_they_are_written(column: Column, form: str | None) -> None:
    entry = {"kind": "date", "min": "2020-01-31", "max": "2020-02-01"} | (
        {"format": form} if form else {}
    )
    assert codes_of(column, **entry) == [0, 1]
    assert outside_of(column, **entry) == []


def test_a_date_in_a_datetime_column_is_its_midnight() -> None:
    entry = {"kind": "datetime", "edges": ["2020-01-01", "2020-01-01 00:00:01", "2020-01-03"]}
    assert codes_of(dates("2020-01-01", "2020-01-02"), **entry) == [0, 1]


def test_the_missing_mark_among_formatted_dates_is_missing() -> None:
    entry = {
        "kind": "date",
        "min": "2020-01-31",
        "max": "2020-02-01",
        "format": "%d/%m/%Y",
        "missing": "??",
    }
    assert codes_of(words("31/01/2020", "??", None), **entry) == [0, 2, 2]


@given(moment=st.datetimes(dt.datetime(1000, 1, 1), dt.datetime(2999, 12, 31)))
def test_formatted_datetimes_are_read_to_the_second(moment: dt.datetime) -> None:
    moment = moment.replace(microsecond=0)
    spelled = f"{moment.year:04d}{moment:|%m|%d %H-%M-%S}"
    entry = {
        "kind": "datetime",
        "edges": ["0999-01-01", moment.isoformat(), "3001-01-01"],
        "format": "%Y|%m|%d %H-%M-%S",
    }
    assert codes_of(words(spelled), **entry) == [1]
    assert (moment - EPOCH).total_seconds() == attribute(**entry).edges[1]  # type: ignore[attr-defined]


# --------------------------------------------------------------------------- what cannot be read

NUMBER = {"kind": "integer", "min": 1, "max": 9}
DAY = {"kind": "date", "min": "2020-01-01", "max": "2020-02-01", "bins": 4}


@pytest.mark.parametrize(
    ("column", "entry"),
    [
        (words("3", "two"), NUMBER),
        (words("1.5", "x"), {"kind": "real", "min": 0, "max": 9}),
        (words("2020-01-09", "soon"), DAY),
        (words("2020-01-09", "2020-02-30"), DAY),
        (integers(20200109, 3), DAY),
        (words("09/01/2020", "2020/01/01"), {**DAY, "format": "%d/%m/%Y"}),
        (words("$3", "3 pounds"), {**NUMBER, "format": "$1,234"}),
        (words("09:30", "25:00"), {"kind": "time", "bins": 24}),
    ],
)
def test_a_cell_that_cannot_be_read_counts_as_missing_or_in_the_middle_bin(
    column: Column, entry: dict[str, Any]
) -> None:
    """No cell ends a run: that it did would tell that there is such a cell."""
    bins = attribute(**entry).values_size
    first, unread = codes_of(column, **entry, missing=True)
    assert 0 < first < bins
    assert unread == bins
    assert outside_of(column, **entry, missing=True) == [(1, "missing")]
    assert codes_of(column, **entry) == [first, bins // 2]
    [report] = encode(Table({"x": column}), schema_of(x=entry)).outside
    assert report.count == 1
    assert "they cannot be read as " + entry["kind"] in str(report)


@pytest.mark.parametrize(
    ("column", "entry"),
    [
        (booleans(True, False), NUMBER),
        (dates("2020-01-01", "2020-01-02"), {"kind": "real", "min": 0, "max": 9}),
        (datetimes("2020-01-01 10:00:00", "2020-01-01 11:00:00"), {"kind": "time"}),
        (booleans(True, False), DAY),
    ],
)
def test_a_column_of_another_kind_cannot_be_read(column: Column, entry: dict[str, Any]) -> None:
    """A frame's type may hang on one row: a refusal by type would tell of that row."""
    assert codes_of(column, **entry) == [attribute(**entry).values_size // 2] * 2
    [report] = outside_of(column, **entry)
    assert report[0] == 2


def test_numbers_among_categories_of_words_are_outside() -> None:
    assert codes_of(integers(1, 2), kind="categorical", values=["a", "b"], other="c") == [2, 2]


@settings(max_examples=300)
@given(
    word=st.text(max_size=12) | st.text("0123456789.,-+€$%/: ()eETZ", max_size=20),
    entry=st.sampled_from(
        [
            NUMBER,
            {"kind": "real", "min": 0, "max": 9},
            {**NUMBER, "format": "1.234"},
            {"kind": "real", "min": 0, "max": 9, "format": "1.234,50 €"},
            {"kind": "real", "min": 0, "max": 9, "format": "12.5%"},
            DAY,
            {**DAY, "format": "%-d/%-m/%Y"},
            {"kind": "time", "format": "%I:%M %p"},
            {**DAY, "kind": "datetime", "format": "%Y-%m-%dT%H:%M:%S%z"},
        ]
    ),
    missing=st.booleans(),
)
def test_any_cell_has_a_code_and_a_row_more_changes_none(
    word: str, entry: dict[str, Any], missing: bool
) -> None:
    size = attribute(**entry, missing=missing).size
    alone = codes_of(words(word, None), **entry, missing=missing)
    assert 0 <= alone[0] < size
    assert codes_of(words("3", word, None), **entry, missing=missing)[1:] == alone


def test_a_column_that_the_schema_or_the_table_lacks_is_named() -> None:
    schema = schema_of(a={"kind": "boolean"}, b={"kind": "boolean"})
    with pytest.raises(InputError, match=r"The table has no column 'b'"):
        encode(Table({"a": booleans(True)}), schema)
    with pytest.raises(
        InputError, match=r"The table has a column 'c' that the schema does not describe"
    ):
        encode(Table({"a": booleans(True), "b": booleans(True), "c": booleans(True)}), schema)


def test_a_table_without_a_column_to_model_is_refused() -> None:
    with pytest.raises(InputError, match="no column to model"):
        encode(Table({"id": integers(1)}), schema_of(id={"kind": "identifier"}))


# --------------------------------------------------------------------------- never copied


def test_identifiers_are_numbered_anew_and_texts_replaced() -> None:
    schema = schema_of(
        id={"kind": "identifier"},
        code={"kind": "identifier", "pattern": "P-###/x"},
        notes={"kind": "text"},
        remark={"kind": "text", "replacement": "…"},
        secret={"kind": "text", "replacement": None},
        a={"kind": "boolean"},
    )
    table = decode(
        {"a": np.zeros(3, dtype=np.uint8)}, schema, np.random.default_rng(0), 3, first=998
    )
    assert content(table) == {
        "id": [999, 1000, 1001],
        "code": ["P-999/x", "P-1000/x", "P-1001/x"],
        "notes": ["[text]"] * 3,
        "remark": ["…"] * 3,
        "a": [False] * 3,
    }


def test_nothing_of_identifiers_and_texts_is_in_the_codes() -> None:
    coded = encode(every_kind_table(), every_kind_schema())
    assert set(coded.codes) == {"age", "height", "smoker", "ward", "grade", "born", "seen"}
