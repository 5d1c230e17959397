"""Steps and places after the point, as discovery finds them: of times, datetimes and amounts."""

from __future__ import annotations

import datetime as dt
import itertools
from typing import Any

import numpy as np
import pytest

from understudy import Table
from understudy.counting.partition import Tally
from understudy.counting.spacings import Spacing, spacings_of
from understudy.data.encoding import decode, encode
from understudy.data.formats import CANDIDATES, Format
from understudy.data.schema import Quantity, Schema
from understudy.data.tables import Column
from understudy.privacy.discovery import Discovery, discover
from understudy.privacy.discovery_draft import Draft
from understudy.privacy.discovery_scores import (
    KINDS,
    Kind,
    count_grids,
    count_kinds,
    grid_odds,
    kind_odds,
)
from understudy.privacy.discovery_scores import WORDS as WORDS_KIND
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import SeededNoise

ROWS = 4000


def table_of(texts: list[str]) -> Table:
    words = sorted(set(texts))
    codes = np.array([words.index(text) for text in texts], dtype=np.uint32)
    return Table({"x": Column("text", codes, tuple(words))})


def found_of(texts: list[str], epsilon: float = 5.0) -> Quantity:
    ledger = Ledger(epsilon, 1e-9, threshold_delta=1e-9)
    schema = discover(table_of(texts), ledger, ledger.budget, 1e-9, SeededNoise(1))
    found = schema["x"]
    assert isinstance(found, Quantity)
    again = Schema.from_dict(schema.to_dict())["x"]
    assert again == found
    return found


def clock(minutes: int) -> str:
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


@pytest.mark.parametrize("minutes", [1, 5, 10, 15, 30, 60])
def test_times_of_day_keep_their_step(minutes: int) -> None:
    rng = np.random.default_rng(minutes)
    places = rng.integers(8 * 60 // minutes, 20 * 60 // minutes, ROWS) * minutes
    found = found_of([clock(place) for place in places.tolist()])
    assert (found.kind, found.step) == ("time", 60 * minutes)
    drawn = decode({"x": np.zeros(500, np.uint16)}, Schema((found,)), rng, 500).columns["x"]
    for word in drawn.words:
        hours, rest = map(int, word.split(":"))
        assert (60 * hours + rest) % minutes == 0


def test_datetimes_keep_their_step() -> None:
    rng = np.random.default_rng(1)
    start = dt.datetime(2022, 1, 1)
    quarters = rng.integers(0, 60_000, ROWS).tolist()
    stamps = [(start + place * dt.timedelta(minutes=15)).isoformat(sep=" ") for place in quarters]
    found = found_of(stamps)
    assert (found.kind, found.step) == ("datetime", 900)


@pytest.mark.parametrize("step", [0.05, 0.2, 0.25, 0.5])
def test_amounts_keep_step_and_places(step: float) -> None:
    rng = np.random.default_rng(1)
    amounts = np.where(rng.random(ROWS) < 0.6, 0, step * rng.geometric(0.05, ROWS))
    found = found_of([f"{amount:.2f}" for amount in amounts.tolist()])
    assert (found.kind, found.step, found.format) == ("real", step, "0.00")
    codes = encode(table_of(["0.00", "3.00"]), Schema((found,))).codes
    assert Format("real", "0.00").write([0, 3, 2.5]) == ["0.00", "3.00", "2.50"]
    assert len(codes["x"]) == 2


@pytest.mark.parametrize("places", [1, 2, 3, 4])
def test_places_after_a_decimal_comma_are_kept(places: int) -> None:
    """Body temperatures have one, prices two, costs of calls four: 7,0 is not written 7,00.

    Many numbers are below 1: 37,125 could be thirty-seven thousand, 0,125 cannot.
    """
    rng = np.random.default_rng(places)
    numbers = rng.integers(0, 5 * 10**places, ROWS) / 10**places
    found = found_of([f"{number:.{places}f}".replace(".", ",") for number in numbers.tolist()])
    assert found.kind == "real"
    assert Format("real", found.format or "").write([37.0]) == [f"37,{'0' * places}"]


def with_comma(numbers: Any, places: int, group: str = "") -> list[str]:
    """Numbers with a decimal comma, and a sign between thousands."""
    signs = str.maketrans({",": group, ".": ","})
    return [f"{number:,.{places}f}".translate(signs) for number in numbers.tolist()]


def without_zeros(texts: list[str]) -> list[str]:
    return [text.rstrip("0").rstrip(",") for text in texts]


@pytest.mark.parametrize("seed", range(6))
def test_thousands_that_no_cell_shows_do_not_change_what_is_written(seed: int) -> None:
    """Whether 14,8 would have thousands apart cannot be told: it is written the same either way."""
    rng = np.random.default_rng(seed)
    texts = with_comma(rng.gamma(4, 5, ROWS).round(1), 1)
    ledger = Ledger(1.0, 1e-9, threshold_delta=1e-9)
    found = discover(table_of(texts), ledger, ledger.budget, 1e-9, SeededNoise(seed))["x"]
    assert isinstance(found, Quantity)
    assert Format("real", found.format or "").write([14.8, 15, 0]) == ["14,8", "15,0", "0,0"]


@pytest.mark.parametrize("step", [0.5, 0.1, 0.001])
def test_whole_numbers_have_no_comma_where_the_real_ones_have_none(step: float) -> None:
    """As spreadsheets write them; one in two halves is whole."""
    rng = np.random.default_rng(2)
    numbers = (rng.gamma(4, 5, ROWS) / step).round() * step
    found = found_of(without_zeros(with_comma(numbers, 3)))
    assert (found.kind, found.step) == ("real", step)
    assert Format("real", found.format or "").write([15, 14.5, 0]) == ["15", "14,5", "0"]


@pytest.mark.parametrize("places", [1, 2, 3])
@pytest.mark.parametrize("group", [".", " "])
def test_places_are_kept_beside_thousands(places: int, group: str) -> None:
    rng = np.random.default_rng(places)
    found = found_of(with_comma(rng.gamma(2, 900, ROWS), places, group))
    assert found.kind == "real"
    expected = f"1{group}234,{'5'.ljust(places, '0')}"
    assert Format("real", found.format or "").write([1234.5]) == [expected]


@pytest.mark.parametrize(("other", "kind"), [("7,5", "real"), ("7.5", "integer")])
def test_a_decimal_comma_elsewhere_tells_that_of_others(other: str, kind: str) -> None:
    """12,125 by itself is twelve thousand; beside 7,5 it is twelve and an eighth."""
    rng = np.random.default_rng(3)
    columns = {
        "x": with_comma(rng.uniform(1, 90, ROWS), 3),
        "y": rng.choice([other, other.replace("7", "8"), other.replace("7", "13")], ROWS).tolist(),
        "z": [f"{number:,}" for number in rng.integers(10**4, 10**8, ROWS).tolist()],
    }
    table = Table({name: table_of(texts).columns["x"] for name, texts in columns.items()})
    ledger = Ledger(5.0, 1e-9, threshold_delta=1e-9)
    found = discover(table, ledger, ledger.budget, 1e-9, SeededNoise(3))
    assert [found[name].kind for name in ("x", "z")] == [kind, "integer"]
    asked = [entry.question for entry in ledger.entries if entry.question.startswith("comma of")]
    assert asked == ["comma of x", "comma of z"] * (kind == "real")


def test_prefixes_keep_their_plus() -> None:
    rng = np.random.default_rng(4)
    found = found_of(rng.choice(["+49", "+43", "+1"], ROWS).tolist())
    assert (found.kind, found.format) == ("integer", "+12")
    changes = rng.normal(0, 3, ROWS).round(1).tolist()
    signed = found_of([f"{change:+.1f}" if change else "0.0" for change in changes])
    assert (signed.kind, signed.format, signed.step) == ("real", "+12.5", 0.1)


@pytest.mark.parametrize("comma", [False, True])
def test_limits_of_laboratories_are_kept(comma: bool) -> None:
    rng = np.random.default_rng(5)
    texts = []
    for number in rng.lognormal(2, 1.5, ROWS).round(1).tolist():
        text = str(number)
        if number < 0.5:
            text = "<0.5"
        elif number > 60:
            text = ">60"
        texts.append(text)
    limits = ["<0.5", ">60"]
    if comma:
        texts = [text.replace(".", ",") for text in texts]
        limits = ["<0,5", ">60"]
    found = found_of(texts)
    assert (found.kind, found.step) == ("real", 0.1)
    encoded = encode(table_of(texts), Schema((found,)))
    assert not encoded.outside
    drawn = decode({"x": encoded.codes["x"]}, Schema((found,)), rng, len(texts)).columns["x"]
    words = Format("real", drawn.format).write(drawn.values.tolist())
    for limit in limits:
        assert words.count(limit) == pytest.approx(texts.count(limit), abs=0.01 * ROWS)


def test_limits_by_themselves_are_words() -> None:
    tally = Tally(1)
    tally.add(["<18", ">65", "40"], [400, 500, 100])
    integer = KINDS.index(Kind(format=CANDIDATES.index(Format("integer"))))
    assert count_kinds(tally)[[0, integer]].tolist() == [1000, 550]
    for evidence in (80.0, 240.0):
        scores = count_kinds(tally) / 1000 * evidence + kind_odds(evidence)
        assert KINDS[int(scores.argmax())] == WORDS_KIND


def test_a_limit_below_which_most_numbers_lie_is_none() -> None:
    """Written as the limit, they would be lost."""
    rng = np.random.default_rng(6)
    numbers = rng.integers(0, 60, ROWS)
    texts = np.where(rng.random(ROWS) < 0.1, "<50", numbers.astype(str)).tolist()
    assert found_of(texts).format is None


def test_datetimes_of_half_days_are_read() -> None:
    rng = np.random.default_rng(2)
    start = dt.datetime(2022, 1, 1)
    for notation in ("%m/%d/%Y %I:%M %p", "%Y-%m-%d %I:%M:%S %p"):
        moments = [start + dt.timedelta(minutes=5 * int(m)) for m in rng.integers(0, 10**5, ROWS)]
        found = found_of([moment.strftime(notation) for moment in moments])
        assert (found.kind, found.format, found.step) == ("datetime", notation, 300)


def test_places_that_vary_are_not_fixed() -> None:
    rng = np.random.default_rng(1)
    found = found_of([str(amount) for amount in rng.gamma(2, 50, ROWS).round(1).tolist()])
    assert (found.step, found.format) == (0.1, None)


def test_whole_amounts_have_no_point_where_the_real_ones_have_none() -> None:
    rng = np.random.default_rng(1)
    found = found_of(rng.choice(["49", "19.9", "5.75", "0"], ROWS).tolist())
    assert found.kind == "real"
    drawn = decode({"x": np.arange(found.size)}, Schema((found,)), rng, found.size).columns["x"]
    assert Format("real", drawn.format).write([49, 19.9, 0]) == ["49", "19.9", "0"]


def test_codes_keep_their_leading_zeros() -> None:
    rng = np.random.default_rng(1)
    codes = rng.integers(1_067, 99_998, ROWS).tolist()
    found = found_of([f"{code:05d}" for code in codes])
    assert (found.kind, found.format) == ("integer", "00000")
    assert found.edges[0] <= 2_000
    assert found.edges[-1] <= 100_000
    assert Format("integer", "00000").write([1_067, 99_998]) == ["01067", "99998"]


def test_numbers_of_one_length_are_no_codes() -> None:
    rng = np.random.default_rng(1)
    found = found_of([str(number) for number in rng.integers(10_000, 100_000, ROWS).tolist()])
    assert (found.kind, found.format) == ("integer", None)


@pytest.mark.parametrize("step", [2, 20, 25, 250])
def test_whole_numbers_keep_uncommon_steps(step: int) -> None:
    rng = np.random.default_rng(step)
    numbers = step * rng.integers(3, 400, ROWS)
    assert found_of([str(number) for number in numbers.tolist()]).step == step


WORDS = (
    "1.00",
    "0.25",
    "1,0",
    "1.234,5",
    "12,125",
    "<0.5",
    "> 100",
    "+49",
    "0.5",
    "3",
    "0.00",
    "2.345",
    "1e5",
    "01067",
    "0.0",
    "12:15",
    "12:07",
    "3.50 %",
    "0,00 kg",
    "x",
    "",
)

STEPPED = ("integer", "real", "time")


def test_one_row_changes_each_spacing_by_at_most_one() -> None:
    """Over all columns of up to three of these cells, one more cell or one less."""
    places = [place for place, form in enumerate(CANDIDATES) if form.kind in STEPPED]
    for texts in itertools.combinations_with_replacement(WORDS, 3):
        tallies = []
        for some in (texts, texts[1:]):
            tally = Tally(1)
            counts: dict[str, int] = {}
            for text in some:
                counts[text] = counts.get(text, 0) + 1
            tally.add(counts, counts.values())
            tallies.append(tally)
        for place in places:
            more = count_grids(tallies[0], place) - count_grids(tallies[1], place)
            assert set(more.tolist()) <= {0, 1}
        kinds = count_kinds(tallies[0]) - count_kinds(tallies[1])
        assert set(kinds.tolist()) <= {0, 1}


def test_a_cell_has_fixed_places_only_if_it_is_written_so() -> None:
    tally = Tally(1)
    tally.add(["1.00", "0.250", "0.5", "0.75"], [1, 2, 4, 8])
    form = Format("real")
    counts: Any = dict(
        zip(spacings_of(form), count_grids(tally, CANDIDATES.index(form)), strict=True)
    )
    assert counts[Spacing(0.25)] == 15
    assert counts[Spacing(0.25, "0.00")] == 9
    assert counts[Spacing(0.25, "0.000")] == 2
    assert counts[Spacing(0.5, "0.00")] == 1
    assert counts[Spacing(0.25, "0")] == 12


@pytest.mark.parametrize("form", ["12.5 %", "12,5 kg", "12.5%", "12,5 °C"])
@pytest.mark.parametrize("places", [1, 2, 3])
def test_places_before_a_unit_are_kept(form: str, places: int) -> None:
    rng = np.random.default_rng(places)
    before, mark, after = form[:2], form[2], form[4:]
    numbers = rng.integers(1, 400, ROWS) * 0.25
    numbers = numbers.round(1) if places == 1 else numbers
    texts = [f"{number:.{places}f}".replace(".", mark) + after for number in numbers.tolist()]
    notation = before + mark + "5".ljust(places, "0") + after
    assert found_of(texts).format == notation
    assert Format("real", notation).write([0, 7.5])[0] == f"0{mark}{places * '0'}{after}"


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("written", ["{:.2f} %", "{:.2f}€", "${:.2f}", "{:.2f} kg", "{:.2f}"])
def test_two_places_are_kept_where_most_rows_are_zero(written: str, seed: int) -> None:
    """Whole amounts in one row of ten, at a budget that tables with a dozen columns have."""
    rng = np.random.default_rng(seed)
    numbers = np.where(rng.random(ROWS) < 0.9, 0, rng.integers(1, 20, ROWS) * 5)
    found = found_of([written.format(number) for number in numbers.tolist()], epsilon=0.6)
    zero, some = Format("real", found.format or "").write([0, 50])
    assert (zero, some) == (written.format(0), written.format(50))


def test_an_amount_of_money_has_no_thousandths() -> None:
    rng = np.random.default_rng(0)
    prices = rng.lognormal(6, 1, 1500).round(2)
    for seed in range(10):
        ledger = Ledger(0.3, 1e-9, threshold_delta=1e-9)
        table = table_of([f"${price:,.2f}" for price in prices.tolist()])
        found = discover(table, ledger, ledger.budget, 1e-9, SeededNoise(seed))["x"]
        assert isinstance(found, Quantity)
        assert (found.format, found.step) == ("$1,234.50", 0.01)


def test_whole_reals_with_a_unit_have_places_however_little_evidence_there_is() -> None:
    """Else they would have counted as whole numbers."""
    form = Format("real", "12.5 %")
    odds = dict(zip(spacings_of(form), grid_odds(form, 2.0).tolist(), strict=True))
    assert odds[Spacing(5.0, "12.50 %")] > odds[Spacing(5.0)] + 9
    assert odds[Spacing(5.0, "12.50 %")] > odds[Spacing(5.0, "12.5 %")] + 9
    assert abs(odds[Spacing(0.5, "12.50 %")] - odds[Spacing(0.5)]) < 1


def test_numbers_with_a_unit_need_no_more_places_than_they_have() -> None:
    """49 kg beside 19.9 kg, and thousandths of a dollar where all rows have them."""
    rng = np.random.default_rng(0)
    weights = rng.integers(100, 999, ROWS) / 10
    assert found_of([f"{weight:g} kg" for weight in weights.tolist()]).format == "12. kg"
    rates = rng.integers(1000, 9999, ROWS) / 1000
    assert found_of([f"${rate:.3f}" for rate in rates.tolist()]).step == 0.001


@pytest.mark.parametrize("seed", range(4))
def test_a_column_of_zeros_tells_its_step_by_the_others(seed: int) -> None:
    """One row in twenty holds a number; zero lies on every grid."""
    rng = np.random.default_rng(seed)
    numbers = np.where(rng.random(20_000) < 0.95, 0, rng.integers(1000, 2600, 20_000))
    words = [str(number) for number in numbers.tolist()]
    ledger = Ledger(2.0, 1e-9, threshold_delta=1e-9)
    found = discover(table_of(words), ledger, ledger.budget, 1e-9, SeededNoise(seed))["x"]
    assert isinstance(found, Quantity)
    assert found.step in (None, 1)
    assert found.edges[-1] > 2500


@pytest.mark.parametrize("word", ["0", "0.00", "-0", "$0", "0,00 €", "0%", " 0 "])
def test_zero_is_zero_however_it_is_written(word: str) -> None:
    tally = Tally(1)
    tally.add([word, "10", "x0", "00:00", "0.01", "2000"], [1] * 6)
    assert tally.zeros == 1
    assert tally.present == 6


class Recording(SeededNoise):
    """Notes the exact counts that noise is added to."""

    def __init__(self) -> None:
        super().__init__(1)
        self.seen: list[Any] = []

    def laplace(self, counts: Any, scale: float) -> Any:
        """Keep them."""
        self.seen.append(np.array(counts))
        return super().laplace(counts, scale)


def counted_cells(texts: tuple[str, ...]) -> Any:
    noise = Recording()
    ledger = Ledger(1.0, 1e-9, threshold_delta=1e-9)
    run = Discovery(Draft(table_of(list(texts))), ledger, ledger.budget, 1e-9, noise)
    run.count_rows()
    run.count_present()
    return noise.seen[-1]


def test_one_row_changes_one_count_of_cells_by_one() -> None:
    for texts in itertools.combinations_with_replacement(("0", "0.00", "7", "x", "", "n/a"), 3):
        more = counted_cells(texts) - counted_cells(texts[1:])
        assert np.abs(more).sum() <= 1


@pytest.mark.parametrize("step", [0.5, 0.1, 0.01])
def test_numbers_of_single_precision_have_the_step_they_were_rounded_to(step: float) -> None:
    """6.2 is written 6.199999809265137 by whoever stored it in 32 bits."""
    rng = np.random.default_rng(7)
    numbers = np.round(rng.normal(20, 4, ROWS) / step) * step
    found = found_of([repr(float(np.float32(number))) for number in numbers.tolist()])
    assert found.step == step
    exact = found_of([repr(float(number)) for number in rng.normal(20, 4, ROWS).tolist()])
    assert exact.step is None


def test_numbers_of_single_precision_count_as_the_nearest_value() -> None:
    found = found_of([repr(float(np.float32(place / 10))) for place in range(60, 80)] * 300)
    words = [repr(float(np.float32(place / 10))) for place in (61, 62, 63)]
    codes = encode(table_of(words), Schema((found,))).codes["x"]
    plain = encode(table_of(["6.1", "6.2", "6.3"]), Schema((found,))).codes["x"]
    assert sorted(codes.tolist()) == sorted(plain.tolist())


@pytest.mark.parametrize("notation", ["%-m/%-d/%Y %-H:%M", "%-d/%-m/%Y %-H:%M:%S"])
def test_datetimes_as_spreadsheets_save_them_are_found(notation: str) -> None:
    """9/30/1990 0:05: such a column used to be words that are all rare."""
    rng = np.random.default_rng(2)
    form = Format("datetime", notation)
    minutes = rng.integers(0, 700 * 1440, ROWS)
    found = found_of(form.write((631_152_000 + 60 * minutes).tolist()))
    assert (found.kind, found.format) == ("datetime", notation)
