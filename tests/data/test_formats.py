"""Ways to write numbers, dates and times: what is written is read back, and nothing else is taken
for it.
"""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import schema_of
from understudy import Independent, InputError, read_table
from understudy.data.encoding import decode
from understudy.data.formats import CANDIDATES, Format
from understudy.privacy.mechanisms import SeededNoise

NUMBERS: dict[str, Any] = {
    "integer": st.integers(-(10**15), 10**15),
    "real": st.decimals(-(10**9), 10**9, places=2).map(float),
    "date": st.dates(dt.date(1969, 1, 1), dt.date(2068, 12, 31)).map(
        lambda day: (day - dt.date(1970, 1, 1)).days
    ),
    "time": st.integers(0, 86_399),
    "datetime": st.integers(-30_000_000, 3_000_000_000),
}


def read(kind: str, notation: str, word: str) -> float | None:
    (number,) = Format(kind, notation).read([word]).tolist()
    return None if math.isnan(number) else number


def days(text: str) -> int:
    return (dt.date.fromisoformat(text) - dt.date(1970, 1, 1)).days


def seconds(text: str) -> int:
    return int((dt.datetime.fromisoformat(text) - dt.datetime(1970, 1, 1)).total_seconds())


# --------------------------------------------------------------------------- there and back


@settings(max_examples=400)
@given(st.sampled_from(CANDIDATES), st.data())
def test_what_a_format_writes_fits_it_and_is_written_again(way: Format, data: Any) -> None:
    number = data.draw(NUMBERS[way.kind])
    (word,) = way.write([number])
    assert way.fits([word]).all()
    assert way.write(way.read([word])) == [word]
    if way.kind in ("integer", "real"):
        assert way.read([word]).tolist() == [number]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_any_real_is_written_exactly(number: float) -> None:
    for way in (Format("real"), Format("real", "1.234,50 €")):
        if abs(number) < 1e100 and (abs(number) > 1e-100 or number == 0):
            assert way.read(way.write([number])).tolist() == [number]


@settings(max_examples=300)
@given(st.text(max_size=20) | st.text("0123456789.,-+€$%/: ()eETZAPMJanFebMay", max_size=24))
def test_hostile_words_are_read_as_a_number_or_not_at_all(word: str) -> None:
    for way in CANDIDATES[::7]:
        (number,) = way.read([word])
        (fits,) = way.fits([word])
        assert isinstance(float(number), float)
        assert not (fits and np.isnan(number))


def test_the_public_list_names_each_format_once() -> None:
    assert len({way.name for way in CANDIDATES}) == len(CANDIDATES) > 100
    assert {way.kind for way in CANDIDATES} == {"integer", "real", "date", "time", "datetime"}


# --------------------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    ("notation", "word", "number"),
    [
        ("", "1.5", 1.5),
        ("", " -3e2 ", -300.0),
        ("", "1,5", None),
        ("", "1_0", None),
        ("", "0x10", None),
        ("", "nan", None),
        ("", "inf", None),
        ("", "", None),
        ("1,234.50", "1,234.5", 1234.5),
        ("1,234.50", "1234.5", 1234.5),
        ("1,234.50", "12,34.5", None),
        ("1,234.50", "1,2345", None),
        ("1.234,50", "1.234", 1234.0),
        ("1.234,50", "12.34", None),
        ("1.234,50", "-1.234.567,8", -1234567.8),
        ("12,50", "0,5", 0.5),
        ("12,50", ",5", 0.5),
        ("12,50", "1.5", None),
        ("1 234,50", "1 234,5", 1234.5),
        ("$1,234", "$1,234", 1234.0),
        ("$1,234", "-$7", -7.0),
        ("$1,234", "$-7", -7.0),
        ("$1,234", "($7)", -7.0),
        ("$1,234", "-($7)", None),
        ("$1,234", "$ 7", 7.0),
        ("$1,234", "7", 7.0),
        ("$1,234", "€7", None),
        ("1.234,50 €", "7€", 7.0),
        ("12 EUR", "15 EUR", 15.0),
        ("12.5%", "12.5%", 12.5),
        ("12.5%", "12.5", None),
        ("12.5%", "-0.5 %", -0.5),
        ("12,", "7,25", 7.25),
        ("12,", "7", 7.0),
        ("+12", "+49", 49.0),
        ("+12", "49", 49.0),
        ("+12", "-3", -3.0),
        ("<0.5", "<0.5", 0.0),
        ("<0.5", "< 0.5", 0.0),
        ("<0.5", "<0.50", 0.0),
        ("<0.5", "<0.3", None),
        ("<0.5", ">0.5", None),
        ("<0.5", "<", None),
        ("<0.5", "0.3", 0.3),
        ("<0,5 or 12,5 or >100", ">100", 200.0),
        ("<0,5 or 12,5 or >100", "<0,5", 0.0),
        ("<0,5 or 12,5 or >100", "99,5", 99.5),
        ("<-5 or 12.5 or >-1", "<-5", -10.0),
        ("<-5 or 12.5 or >-1", ">-1", 0.0),
    ],
)
def test_numbers_are_read_where_they_can_be_meant_one_way(
    notation: str, word: str, number: float | None
) -> None:
    assert read("real", notation, word) == number


@pytest.mark.parametrize(
    ("kind", "notation", "words"),
    [
        ("real", "12,", ["-3", "0", "0,25", "0,5", "100", "250"]),
        ("integer", "+12", ["-3", "0", "+100", "+250"]),
        ("real", "+12.5", ["-3.0", "0.0", "+0.25", "+0.5", "+100.0", "+250.0"]),
        ("real", "<0.5 or 0.0 or >100", ["<0.5", "<0.5", "<0.5", "0.5", "100.0", ">100"]),
        ("integer", "<0.5", ["<0.5", "<0.5", "100", "250"]),
    ],
)
def test_signs_and_limits_are_written(kind: str, notation: str, words: list[str]) -> None:
    numbers = [-3, 0, 0.25, 0.5, 100, 250]
    if kind == "integer":
        numbers = [number for number in numbers if number == int(number)]
    way = Format(kind, notation)
    assert way.write(numbers) == words
    assert way.fits(words).all()
    assert way.write(way.read(words)) == words
    assert np.isfinite(way.read_exact(words)).all()


def test_plain_numbers_have_no_plus() -> None:
    """A column of +49 and +1 holds prefixes: without the sign they would be other words."""
    assert not Format("integer").fits(["+49"]).any()
    assert Format("integer", "+12").fits(["+49", "-3", "0", "49", "+0", "+"]).tolist() == [
        *(True, True, True),
        *(False, False, False),
    ]


def test_integers_may_be_written_with_zeros_behind_the_point() -> None:
    way = Format("integer")
    assert way.read(["1.0", "1.", "1.5", "1e3"]).tolist()[:2] == [1.0, 1.0]
    assert way.fits(["1.0", "1.5", "007", "7"]).tolist() == [True, False, False, True]
    assert read("integer", "", "1.5") is None
    assert read("integer", "1.234", "1.234,0") == 1234


@pytest.mark.parametrize(
    ("kind", "notation"),
    [
        ("real", "x"),
        ("real", "1,234,50"),
        ("real", "%d"),
        ("real", "1.5e3"),
        ("integer", "1.50"),
        ("real", "12" + "€" * 50),
        ("real", "<x"),
        ("real", "<1 or <2"),
        ("real", "<5 or 12.5 or >2"),
        ("real", "<1 or 12.5 or 12,5"),
        ("real", "++12"),
        ("date", "%H:%M"),
        ("date", "%Y-%m-%d %Y"),
        ("date", "%Y-%Q-%d"),
        ("datetime", "%Y-%m-%d %I:%M"),
        ("time", "%M"),
        ("date", "%Y-%m-%d\n"),
        ("word", ""),
    ],
)
def test_a_notation_that_means_nothing_is_refused(kind: str, notation: str) -> None:
    with pytest.raises(ValueError, match="format"):
        Format(kind, notation)


# --------------------------------------------------------------------------- dates and times


@pytest.mark.parametrize(
    ("notation", "word", "day"),
    [
        ("", "2020-01-05", "2020-01-05"),
        ("", "2020-1-5", None),
        ("%d/%m/%Y", "05/01/2020", "2020-01-05"),
        ("%d/%m/%Y", "5/1/2020", "2020-01-05"),
        ("%m/%d/%Y", "05/01/2020", "2020-05-01"),
        ("%m/%d/%Y", "13/01/2020", None),
        ("%d.%m.%Y", "31.02.2020", None),
        ("%Y%m%d", "20200105", "2020-01-05"),
        ("%d%m%Y", "5012020", None),  # the fifth of January, or the fiftieth of something
        ("%d %b %Y", "05 Jan 2020", "2020-01-05"),
        ("%d %b %Y", "5 JANUARY 2020", "2020-01-05"),
        ("%B %-d, %Y", "January 5, 2020", "2020-01-05"),
        ("%d%^b%Y", "05JAN2020", "2020-01-05"),
        ("%d/%m/%y", "05/01/68", "2068-01-05"),
        ("%d/%m/%y", "05/01/69", "1969-01-05"),
        ("%Y-%m", "2020-02", "2020-02-01"),
        ("%Y-%j", "2020-366", "2020-12-31"),
        ("%Y-%j", "2019-366", None),
        ("%Y-%j", "9999-366", None),
        ("%d %b %Y", "05 ſep 2020", None),
        ("%d/%m/%Y", "٠٥/٠١/٢٠٢٠", None),
        ("%A, %d %B %Y", "Sunday, 05 January 2020", "2020-01-05"),
        ("%d/%m/%Y", "0000-01-01", None),
    ],
)
def test_dates_are_read_where_they_can_be_meant_one_way(
    notation: str, word: str, day: str | None
) -> None:
    assert read("date", notation, word) == (None if day is None else days(day))


@pytest.mark.parametrize(
    ("notation", "word", "moment"),
    [
        ("%Y-%m-%dT%H:%M:%SZ", "2020-01-05T10:00:00Z", "2020-01-05 10:00:00"),
        ("%Y-%m-%dT%H:%M:%S+02:00", "2020-01-05T10:00:00+02:00", "2020-01-05 10:00:00"),
        ("%Y-%m-%dT%H:%M:%S+02:00", "2020-01-05T10:00:00Z", "2020-01-05 12:00:00"),
        ("%Y-%m-%dT%H:%M:%S+02:00", "2020-01-05T10:00:00", None),
        ("%Y-%m-%dT%H:%M:%S%z", "2020-01-05T01:00:00+0200", "2020-01-04 23:00:00"),
        ("%Y-%m-%dT%H:%M:%S%z", "2020-01-05T01:00:00+25:00", None),
        ("%Y-%m-%dT%H:%M:%S.%3fZ", "2020-01-05T10:00:00.999Z", "2020-01-05 10:00:00"),
        ("%m/%d/%Y %I:%M %p", "01/05/2020 12:30 AM", "2020-01-05 00:30:00"),
        ("%m/%d/%Y %I:%M %p", "1/5/2020 1:30 p.m.", "2020-01-05 13:30:00"),
        ("%m/%d/%Y %I:%M %p", "01/05/2020 13:30 PM", None),
        ("%Y-%m-%d %H:%M:%S", "2020-01-05 24:00:00", None),
    ],
)
def test_datetimes_keep_their_offset(notation: str, word: str, moment: str | None) -> None:
    assert read("datetime", notation, word) == (None if moment is None else seconds(moment))
    if moment is not None and "z" not in notation:
        (written,) = Format("datetime", notation).write([seconds(moment)])
        assert written.endswith(notation[-6:]) == notation.endswith("+02:00")


@pytest.mark.parametrize(
    ("notation", "word", "second"),
    [
        ("", "09:30", 34200),
        ("", "9:30:01", 34201),
        ("", "24:00", None),
        ("%I:%M %p", "12:00 AM", 0),
        ("%-I:%M %p", "12:00 PM", 43200),
        ("%H%M", "0930", 34200),
        ("%H%M", "930", None),
    ],
)
def test_times_are_seconds_since_midnight(notation: str, word: str, second: int | None) -> None:
    assert read("time", notation, word) == second


# --------------------------------------------------------------------------- synthetic cells


def test_synthetic_cells_look_like_the_real_ones(tmp_path: Any) -> None:
    schema = schema_of(
        price={"kind": "real", "min": 1000, "max": 9000, "format": "$1,234.50"},
        share={"kind": "integer", "min": 0, "max": 100, "format": "12%"},
        day={"kind": "date", "min": "2020-01-01", "max": "2020-12-31", "format": "%B %-d, %Y"},
        at={
            "kind": "datetime",
            "min": "2020-01-01",
            "max": "2020-12-31",
            "format": "%d.%m.%y %H:%M",
        },
        zoned={
            "kind": "datetime",
            "min": "2020-01-01",
            "max": "2020-12-31",
            "format": "%Y-%m-%dT%H:%M:%S+02:00",
        },
        clock={"kind": "time", "format": "%I:%M %p", "missing": "closed"},
    )
    rng = np.random.default_rng(0)
    codes = {a.name: rng.integers(0, a.size, 400) for a in schema.modelled}
    path = tmp_path / "out.csv"
    decode(codes, schema, rng, 400).write(path)
    table = read_table(path)
    for attribute in schema:
        column = table.columns[attribute.name].raw or table.columns[attribute.name]
        assert column.kind == "text"
        words = [word for word in column.words if word != "closed"]
        way = Format(attribute.kind, attribute.format)  # type: ignore[attr-defined]
        assert way.fits(words).all(), words[:3]
    assert "closed" in table.columns["clock"].words


def test_conditions_are_written_like_the_cells() -> None:
    schema = schema_of(
        day={"kind": "date", "min": "2020-01-01", "max": "2020-12-31", "format": "%B %-d, %Y"},
        clock={"kind": "time", "bins": 4, "format": "%I:%M %p"},
    )
    table = decode({name: np.arange(4) % 4 for name in schema.names}, schema, *_stream(), 4)
    model = Independent(epsilon=1e6, refinement=0).fit(table, schema, noise=SeededNoise(0))
    conditions = {"clock": ("01:00 PM", "02:00 PM"), "day": "March 5, 2020"}
    drawn = model.sample(20, seed=1, given=conditions)
    assert set(drawn.columns["day"].values.tolist()) == {days("2020-03-05")}
    times = Format("time", "%I:%M %p").read(drawn.columns["clock"].words)
    assert times.min() >= 13 * 3600
    assert times.max() <= 14 * 3600
    with pytest.raises(InputError, match="compare it with one such as"):
        model.sample(1, given={"clock": "noon"})


def _stream() -> tuple[np.random.Generator]:
    return (np.random.default_rng(0),)


def test_frames_and_parquet_keep_numbers(tmp_path: Any) -> None:
    schema = schema_of(price={"kind": "real", "min": 0, "max": 9, "format": "$1,234.50"})
    table = decode({"price": np.zeros(3, np.uint8)}, schema, np.random.default_rng(0), 3)
    assert table.columns["price"].kind == "real"
    table.write(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").columns["price"].kind == "real"


@pytest.mark.parametrize("form", CANDIDATES, ids=lambda form: form.name)
def test_words_that_fit_are_read_in_one_go(form: Format) -> None:
    """As by asking whether each fits, and reading those that do."""
    numbers = [0, 12, 1234, 20_000, 1_728_045_296, 12.5, -1234.25, 0.125]
    if form.kind in ("date", "time", "datetime"):
        numbers = [0, 3600, 20_000, 45_296]
    words = [*form.write(numbers), "1.234", "1,234", "12", "abc", "", "31/12/2020", "007", "1e5"]
    read = np.where(form.fits(words), form.read(words), np.nan)
    assert np.array_equal(form.read_exact(words), read, equal_nan=True)


def test_leading_zeros_are_read_and_written() -> None:
    code = Format("integer", "00000")
    assert code.write([7, 1067, 99998, 123456]) == ["00007", "01067", "99998", "123456"]
    assert code.fits(["01067", "99998", "123456", "1067", "012345"]).tolist() == [
        *(True, True, True),
        *(False, False),
    ]
    assert code.read(["01067", "1067", "x"])[:2].tolist() == [1067, 1067]
