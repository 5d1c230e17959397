"""Evaluation on the original values: what is lost counts as lost, and nothing flatters."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from loans import COLUMNS, write_junk, write_loans

from examples import integers, reals, words
from understudy.data.schema import Schema
from understudy.data.tables import Column, Table, read_table
from understudy.evaluation import Evaluation, evaluate
from understudy.evaluation.cells import NOT_REAL, real_edges
from understudy.evaluation.columns import column_comparisons, missing_rows, on_grid
from understudy.evaluation.original import compare_originals
from understudy.evaluation.result import ColumnComparison

pytestmark = pytest.mark.thorough  # guards no privacy, and takes its time

pytest.importorskip("xgboost")

ROWS = 3000


@pytest.fixture(scope="module")
def loans(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("loans")
    write_loans(folder / "real.csv", ROWS, 0)
    write_loans(folder / "again.csv", ROWS, 1)
    write_junk(folder / "junk.csv", ROWS, 2)
    return folder


@pytest.fixture(scope="module")
def junk(loans: Path) -> Evaluation:
    return evaluate(
        loans / "real.csv", loans / "junk.csv", target=["bad", "loan"], learners=["CART"]
    )


@pytest.fixture(scope="module")
def again(loans: Path) -> Evaluation:
    return evaluate(loans / "real.csv", loans / "again.csv", target="bad", learners=["CART"])


def said(found: Evaluation, subject: str) -> str:
    return next(each.sentence for each in found.findings if each.subject == subject)


def column(
    real: Column, synthetic: Column | None, schema: Schema | None = None
) -> ColumnComparison:
    one, other = {"x": real, "y": real}, {"y": real}
    if synthetic is not None:
        other = {"x": synthetic, "y": synthetic}
    return column_comparisons(compare_originals(Table(one), Table(other)))[0]


# --------------------------------------------------------------------------- the verdict


def test_junk_is_fit_for_nothing_and_says_why_worst_first(junk: Evaluation) -> None:
    assert junk.verdict.fit_for == ()
    assert junk.verdict.undecided == ()
    assert junk.verdict.sentence.startswith("Fit for: nothing. Not for: software tests, exploring,")
    assert {"software tests", "exploring", "exact numbers"} <= set(junk.verdict.not_for)
    assert junk.findings[0].subject == "lost"
    grades = [finding.grade for finding in junk.findings]
    assert grades == sorted(grades, key=["poor", "unknown", "fair", "good"].index)
    assert "good" not in grades
    assert junk.verdict.uses[0].because == (
        "Lost columns: reason, job, derogatory, delinquent, ratio."
    )


def test_junk_differs_by_most_of_the_rows_on_original_values(junk: Evaluation) -> None:
    two_way = next(errors for errors in junk.marginals if errors.order == 2)
    assert two_way.mean > 0.4
    states = {column.name: column.state for column in junk.columns if column.lost}
    assert states == {
        "reason": "replaced",
        "job": "replaced",
        "derogatory": "constant",
        "delinquent": "constant",
        "ratio": "mostly replaced",
    }
    assert all(column.total_variation == 1 for column in junk.columns if column.state == "replaced")


def test_missing_cells_that_are_gone_are_told(junk: Evaluation, again: Evaluation) -> None:
    assert said(junk, "missing").startswith("Missing cells are not as frequent as in the real")
    assert "7 of 7 columns have none left: reason, job, years and 4 more." in said(junk, "missing")
    assert junk.columns[4].real_missing > 0.08
    assert junk.columns[4].synthetic_missing == 0
    assert said(again, "missing").startswith("Missing cells are as frequent as in the real table")


def test_multiples_that_are_gone_are_told(junk: Evaluation, again: Evaluation) -> None:
    assert "loan is a multiple of 100 in 100.0 % of the real rows, in" in said(junk, "values")
    assert "multiple" not in said(again, "values")
    loan = again.columns[1]
    assert (loan.step, loan.real_on_step, loan.synthetic_on_step) == (100.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("beyond", "times", "words"),
    [
        (0.0, 1.0, ""),
        (0.004, 1.2, "pay lies beyond every real value in 0.4 % of the synthetic rows."),
        (0.02, 1.2, "pay lies beyond every real value in 2 % of the synthetic rows."),
        (0.004, 3.0, "0.4 % of the synthetic rows, over a range 3.0 times as wide."),
    ],
)
def test_numbers_beyond_every_real_one_are_told(beyond: float, times: float, words: str) -> None:
    rng = np.random.default_rng(0)
    pay = rng.integers(0, 1001, 2000).astype(float)
    pay[:2] = 0, 1000
    made = pay.copy()
    made[2 : 2 + round(beyond * 2000)] = 1000 * times
    real, synthetic = (
        Table({"pay": Column("real", values), "n": Column("integer", np.arange(2000) % 7)})
        for values in (pay, made)
    )
    found = evaluate(real, synthetic)
    assert words in said(found, "values")
    assert ("beyond" in said(found, "values")) == bool(words)
    poor = beyond > 0.01 or times > 1.5
    assert ("exact numbers" in found.verdict.not_for) == poor


def test_a_second_sample_of_people_is_fit_for_all_but_what_nothing_is(again: Evaluation) -> None:
    assert {"software tests", "exploring", "exact numbers"} <= set(again.verdict.fit_for)
    assert again.verdict.not_for == ("p-values", "telling about single people")
    assert not any(finding.grade == "poor" for finding in again.findings)
    assert again.propensity.auc_values < 0.55


def test_what_cannot_be_learned_from_real_rows_is_no_use(junk: Evaluation) -> None:
    """Loans depend on nothing here, so that there is nothing to be fit for."""
    assert "no fit" in said(junk, "learning") or "no fit" in junk.findings[-1].sentence
    assert not any("learning loan" in use.name for use in junk.verdict.uses)


def test_a_lost_target_is_a_poor_table_and_no_refusal() -> None:
    rng = np.random.default_rng(0)
    age, pay = rng.integers(20, 60, 400), rng.normal(10, 2, 400)
    real = Table({"age": Column("integer", age), "pay": Column("real", pay + age)})
    lost = Table({"age": Column("integer", age), "pay": words(*["[text]"] * 400)})
    found = evaluate(real, lost, target="pay")
    assert said(found, "learning") == "No synthetic row has a value of pay to learn from."
    assert found.verdict.fit_for == ()


def test_a_regression_that_does_not_fit_says_so_and_nothing_else() -> None:
    rng = np.random.default_rng(0)
    x, noise = rng.normal(0, 1, 500), rng.normal(0, 0.1, 500)
    real = Table({"x": Column("real", 1e6 * x), "y": Column("real", x + noise)})
    bad = Table({"x": Column("real", 1e-6 * x), "y": Column("real", 1e6 * x)})
    found = evaluate(real, bad, target="y")
    assert found.learning[0].learners[0].synthetic_to_real["r2"] == -1.0
    assert "explains nothing (no fit: always saying the mean does better)" in said(
        found, "learning"
    )


# --------------------------------------------------------------------------- lost columns


def test_times_of_day_stay_times(tmp_path: Path) -> None:
    """Also the last of the day, whose cell ends at midnight."""
    clock = [f"{hour:02d}:{minute:02d}:59" for hour in range(8, 24) for minute in range(60)]
    path = tmp_path / "times.csv"
    path.write_text("\n".join(["at", *clock]) + "\n")
    table = read_table(path)
    cells = compare_originals(table, table).schema["at"]
    assert cells.kind == "time"
    assert cells.label(0).startswith("08:00:59")
    assert cells.label(cells.bins - 1).endswith("23:59:59")


def test_an_absent_column_is_lost() -> None:
    found = column(integers(*range(20)), None)
    assert (found.state, found.total_variation, found.not_real) == ("absent", 1.0, 1.0)
    assert found.kolmogorov_smirnov == 1.0


@pytest.mark.parametrize(
    ("real", "synthetic"),
    [
        (words(*"abcde" * 4), words(*["[text]"] * 20)),
        (words(*"abcde" * 4), words(*["other"] * 20)),
        (integers(*range(20)), words(*["[text]"] * 20)),
        (reals(*np.linspace(0, 1, 40)), words(*["[text]"] * 40)),
        (integers(*[0, 1] * 10), integers(*range(2, 22))),
        (reals(*[1.0, 2.0] * 10), reals(*np.linspace(1.00012, 1.8495, 20))),
        (integers(*range(1000, 1040)), integers(*range(120, 128), *range(120, 128))),
    ],
)
def test_values_that_no_real_row_has_are_a_lost_column(real: Column, synthetic: Column) -> None:
    found = column(real, synthetic)
    assert found.state == "replaced"
    assert found.total_variation == pytest.approx(1)
    assert found.not_real == pytest.approx(1)


def test_a_column_of_which_most_rows_are_others_is_lost() -> None:
    real = words(*"abcdefghij" * 10)
    for named, state in ((49, "mostly replaced"), (50, "kept"), (51, "kept")):
        assert column(real, words(*["a"] * named, *["other"] * (100 - named))).state == state


@pytest.mark.parametrize(
    ("cut", "words", "poor"), [(0, "", False), (20, "1 %", False), (80, "4 %", True)]
)
def test_real_numbers_beyond_every_synthetic_one_are_told(cut: int, words: str, poor: bool) -> None:
    """Debts beside many zeros that became one are few rows: no distance shows them."""
    debt = np.concatenate([np.zeros(1900), np.arange(1, 101.0)])
    made = np.minimum(debt, 100 - cut)
    real, synthetic = (
        Table({"debt": Column("real", values), "n": Column("integer", np.arange(2000) % 7)})
        for values in (debt, made)
    )
    found = evaluate(real, synthetic)
    told = f"{words} of the real values of debt lie beyond every synthetic one."
    assert (told in said(found, "values")) == bool(words)
    assert ("exact numbers" in found.verdict.not_for) == poor


def test_half_a_column_of_text_is_half_an_error() -> None:
    real = integers(*range(10), *range(10))
    half = words(*(str(number) for number in range(10)), *["[text]"] * 10)
    found = column(real, half)
    assert found.state == "kept"
    assert found.total_variation == pytest.approx(0.5)
    assert found.labels[-1] == NOT_REAL


def test_a_constant_is_lost_where_the_real_column_is_none() -> None:
    assert column(integers(*[0, 1] * 10), integers(*[0] * 20)).state == "constant"
    assert column(integers(*[0] * 20), integers(*[0] * 20)).state == "kept"
    empty = Column("empty", np.zeros(20, dtype=np.int64), missing=np.ones(20, dtype=np.uint8))
    assert column(integers(*[0, 1] * 10), empty).state == "empty"


def test_free_text_is_named_and_left_out_of_the_distances() -> None:
    texts = words(*(f"note {number}" for number in range(200)))
    ages = integers(*[1, 2, 3, 4] * 50)
    real = Table({"note": texts, "age": ages})
    found = evaluate(real, Table({"note": words(*["[text]"] * 200), "age": ages}))
    assert found.shape.left_out == ("note",)
    assert found.shape.replaced == ("note",)
    assert said(found, "lost") == "Free text is not in the synthetic table: note."
    assert evaluate(real, real).shape.replaced == ()


def test_a_column_that_the_owner_calls_text_is_no_loss_but_one_that_a_model_gave_up_is() -> None:
    jobs, ages = words(*"abcd" * 20), integers(*[1, 2, 3, 4] * 20)
    real = Table({"job": jobs, "age": ages})
    lost = Table({"job": words(*["[text]"] * 80), "age": ages})
    schema = Schema.from_dict(
        {
            "attributes": {
                "job": {"kind": "text"},
                "age": {"kind": "integer", "min": 0, "max": 9},
            }
        }
    )
    assert compare_originals(real, lost, schema).left_out == ("job",)
    given_up = column_comparisons(compare_originals(real, lost, None, schema))
    assert [(each.name, each.state) for each in given_up] == [("job", "replaced"), ("age", "kept")]


# --------------------------------------------------------------------------- cells


def test_cells_are_cut_from_the_real_rows_alone() -> None:
    rng = np.random.default_rng(0)
    real = rng.normal(0, 1, 4000)
    one = compare_originals(
        Table({"x": Column("real", real)}), Table({"x": Column("real", rng.normal(0, 1, 50))})
    )
    other = compare_originals(
        Table({"x": Column("real", real)}), Table({"x": Column("real", rng.uniform(-9, 9, 50))})
    )
    inner = real_edges(np.sort(real), whole=False)
    for tables in (one, other):
        assert set(inner) <= set(tables.schema["x"].edges)  # type: ignore[attr-defined]
    shares = np.histogram(real, inner)[0] / 4000
    assert len(shares) == 16
    assert np.abs(shares - 1 / 16).max() < 0.001


def test_spikes_are_cells_of_their_own() -> None:
    rng = np.random.default_rng(0)
    hours = np.where(rng.random(2000) < 0.5, 40, rng.integers(1, 99, 2000))
    tables = compare_originals(*[Table({"x": Column("integer", hours)})] * 2)
    assert "40" in [tables.schema["x"].label(code) for code in range(tables.schema["x"].size)]
    spread = np.where(hours == 40, 41, hours)
    found = column(Column("integer", hours), Column("integer", spread))
    assert found.total_variation > 0.45
    pay = np.where(rng.random(2000) < 0.3, 0.0, rng.lognormal(3, 1, 2000))
    found = column(Column("real", pay), Column("real", np.where(pay == 0, 1e-3, pay)))
    assert found.total_variation > 0.25
    assert found.labels[0] == "0"
    assert not any("e-3" in label for label in found.labels)


def test_numbers_beyond_the_real_range_are_no_part_of_the_end_bins() -> None:
    real = integers(*range(100))
    found = column(real, integers(*range(100, 200)))
    assert found.state == "replaced"
    found = column(real, integers(*range(50, 150)))
    assert found.not_real == pytest.approx(0.5)
    assert found.total_variation == pytest.approx(0.5)


def test_words_for_numbers_and_truth_values_are_one_however_written() -> None:
    truth = Column("boolean", np.array([True, False] * 10))
    assert column(truth, words(*["True", "False"] * 10)).total_variation == 0
    assert column(integers(*[1, 2] * 10), reals(*[1.0, 2.0] * 10)).total_variation == 0


def test_one_odd_cell_leaves_a_column_of_numbers_one_of_numbers(tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text("x\n" + "\n".join([*map(str, range(99)), "unknown"]))
    (tmp_path / "other.csv").write_text("x\n" + "\n".join(map(str, range(99))))
    found = column_comparisons(compare_originals(tmp_path / "real.csv", tmp_path / "other.csv"))[0]
    assert found.kind == "integer"
    assert found.total_variation == pytest.approx(0.01, abs=0.002)


def test_more_words_than_there_are_cells_share_one() -> None:
    names = [f"town {number}" for number in range(1500) for _ in range(3)]
    found = column(words(*names), words(*names))
    assert found.total_variation == 0
    assert "rarer values" in found.labels
    assert len(found.labels) == 1001


# --------------------------------------------------------------------------- missing cells


def test_missing_cells_are_counted_as_they_stand_in_the_file(tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text("job,n\na,1\n?,2\n,NA\nb,4\n")
    (tmp_path / "other.csv").write_text("job,n\na,1\n[text],2\nb,3\nb,4\n")
    tables = compare_originals(tmp_path / "real.csv", tmp_path / "other.csv")
    assert tables.missing == {"job": (0.5, 0.0), "n": (0.25, 0.0)}
    assert [side.tolist() for side in tables.missing_cells] == [[0, 1, 2, 0], [0, 0, 0, 0]]
    rows = missing_rows(tables)
    assert rows is not None
    assert (rows.cells, rows.with_more) == (2, (0.25, 0.0))


def test_empty_cells_of_free_text_do_not_count_among_those_of_a_row(tmp_path: Path) -> None:
    """What became of the text is told by itself."""
    remarks = [f"remark number {place} of many" if place % 2 else "" for place in range(300)]
    real = "".join(f"{place % 7},{remark}\n" for place, remark in enumerate(remarks))
    (tmp_path / "real.csv").write_text("n,remark\n" + real.replace("0,", ",", 1))
    (tmp_path / "other.csv").write_text("n,remark\n,[text]\n" + "1,[text]\n" * 299)
    tables = compare_originals(tmp_path / "real.csv", tmp_path / "other.csv")
    assert tables.missing["remark"] == (0.5, 0.0)
    assert missing_rows(tables) is None


def test_a_mark_that_the_schema_lists_is_a_value_and_one_that_it_names_is_missing(
    tmp_path: Path,
) -> None:
    (tmp_path / "real.csv").write_text("job,n\na,1\n?,-99\n")
    schema = Schema.from_dict(
        {
            "attributes": {
                "job": {"kind": "categorical", "values": ["?", "a"]},
                "n": {"kind": "integer", "min": 0, "max": 9, "missing": "-99"},
            }
        }
    )
    real = read_table(tmp_path / "real.csv")
    assert compare_originals(real, real, schema).missing == {"job": (0.0, 0.0), "n": (0.5, 0.5)}


def test_missing_cells_that_no_longer_come_together_are_told() -> None:
    rng = np.random.default_rng(0)

    def rows(*, together: bool) -> Table:
        gone = rng.random((2000, 1 if together else 6)) < 0.05
        absent = np.broadcast_to(gone, (2000, 6)).astype(np.uint8)
        values = rng.integers(0, 5, (2000, 6))
        return Table(
            {
                f"c{place}": Column("integer", values[:, place], missing=absent[:, place])
                for place in range(6)
            }
        )

    found = evaluate(rows(together=True), rows(together=False))
    assert "Rows with 4 or more: 5" in said(found, "missing")
    assert next(f for f in found.findings if f.subject == "missing").grade == "poor"
    same = evaluate(rows(together=True), rows(together=True))
    assert next(f for f in same.findings if f.subject == "missing").grade == "good"


# --------------------------------------------------------------------------- two files alone


def test_two_files_are_enough(loans: Path) -> None:
    found = evaluate(loans / "real.csv", loans / "again.csv", orders=(1,))
    assert found.shape.columns == tuple(COLUMNS.split(","))


def test_multiples_are_found_on_any_grid() -> None:
    assert on_grid(np.array([100.0, 250.0, 300.0]), 50) == 1
    assert on_grid(np.array([0.1, 0.25, 0.3]), 0.1) == pytest.approx(2 / 3)
    assert on_grid(np.array([1e8 + 0.5]), 1) == 0
    assert on_grid(np.array([]), 1) == 1  # nothing is off it: zeros alone are multiples


def test_zeros_alone_are_multiples_of_anything() -> None:
    """As where discovery found nothing but the zeros of a column."""
    real = Table({"gain": Column("integer", np.concatenate([np.zeros(900), np.arange(1, 101)]))})
    zeros = Table({"gain": Column("integer", np.zeros(1000))})
    assert "multiple" not in said(evaluate(real, zeros, orders=(1,)), "values")


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("{day:02d}/{month:02d}/2020", "date"),
        ("{month:02d}/{day:02d}/2020", "date"),
        ("${amount:,}", "integer"),
        ("{amount},50", "real"),
    ],
)
def test_numbers_and_dates_are_read_however_they_are_written(
    written: str, kind: str, tmp_path: Path
) -> None:
    cells = [
        written.format(day=1 + place % 28, month=1 + place % 12, amount=1000 + 37 * place)
        for place in range(84)
    ]
    quote = "\n".join(f'"{cell}"' for cell in cells)
    (tmp_path / "real.csv").write_text(f"x\n{quote}\n")
    (tmp_path / "lost.csv").write_text("x\n" + "[text]\n" * 84)
    found = column_comparisons(compare_originals(tmp_path / "real.csv", tmp_path / "real.csv"))[0]
    assert (found.kind, found.total_variation) == (kind, 0)
    assert found.kolmogorov_smirnov == 0
    found = column_comparisons(compare_originals(tmp_path / "real.csv", tmp_path / "lost.csv"))[0]
    assert (found.state, found.total_variation) == ("replaced", 1)
