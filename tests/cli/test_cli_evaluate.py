"""``understudy evaluate`` from the shell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

from running import Ran, run
from understudy import PrivBayes, Schema
from understudy.cli.evaluate import write_owner_page
from understudy.cli.talk import Talk

pytestmark = pytest.mark.thorough  # guards no privacy, and takes its time

ATTRIBUTES: dict[str, Any] = {
    "age": {"kind": "integer", "min": 0, "max": 99, "bins": 20},
    "ward": {"kind": "categorical", "values": ["eye", "heart", "lung"], "missing": True},
    "smoker": {"kind": "boolean"},
}
ROWS = 400


def write_rows(path: Path, seed: int, rows: int = ROWS) -> None:
    rng = np.random.default_rng(seed)
    ages = rng.integers(18, 90, rows)
    smokers = rng.random(rows) < ages / 100
    wards = rng.choice(["eye", "heart", "lung", ""], rows)
    lines = [
        f"{age},{ward},{str(bool(smoker)).lower()}"
        for age, ward, smoker in zip(ages, wards, smokers, strict=True)
    ]
    path.write_text("\n".join(["age,ward,smoker", *lines]) + "\n")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a real and a synthetic table, a holdout, the schema and the model."""
    folder = tmp_path_factory.mktemp("evaluate")
    write_rows(folder / "real.csv", 1)
    write_rows(folder / "holdout.csv", 2)
    Schema.from_dict({"attributes": ATTRIBUTES}).save(folder / "schema.json")
    model = PrivBayes(epsilon=2.0).fit(
        folder / "real.csv", folder / "schema.json", notify=lambda _: None
    )
    model.save(folder / "model.json")
    model.write(folder / "synthetic.csv", seed=1)
    return folder


@pytest.fixture
def folder(made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(made)
    return made


def fine(*arguments: object) -> Ran:
    ran = run("evaluate", *arguments)
    assert ran.status == 0, ran.err
    return ran


def refused(*arguments: object) -> str:
    ran = run("evaluate", *arguments)
    assert ran.status == 2
    assert ran.out == ""
    assert ran.err.count("\n") == 1
    return ran.err


def test_a_summary_is_for_the_owner(folder: Path) -> None:
    ran = fine("real.csv", "synthetic.csv", "--schema", "schema.json")
    assert ran.out.startswith("For you, not for release")
    assert f"{ROWS} real ones" in ran.out
    for name in ATTRIBUTES:
        assert name in ran.out
    assert "Learning" not in ran.out
    assert "Attacks" not in ran.out


def test_everything_at_once_report_json_learning_and_attacks(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    ran = fine(
        "real.csv",
        "synthetic.csv",
        "--model",
        "model.json",
        "--target",
        "smoker",
        "--learners",
        "CART",
        "--order",
        "2",
        "--holdout",
        "holdout.csv",
        "--secret",
        "smoker",
        "-o",
        page,
        "--json",
    )
    document = json.loads(ran.out)
    assert document["for"] == "the owner of the table, not for release"
    assert [errors["order"] for errors in document["marginals"]] == [2]
    assert document["learning"][0]["learners"][0]["learner"] == "CART"
    assert document["attacks"]["promise"]["epsilon"] == pytest.approx(2.0)
    html = page.read_text(encoding="utf-8")
    for place in ("learning", "network", "attacks"):
        assert f'<section id="{place}">' in html
    assert "epsilon = 2" in html
    assert str(page) in "".join(ran.err.split("\n"))


def test_values_outside_the_domain_are_told_on_the_screen_and_on_the_page(
    folder: Path, tmp_path: Path
) -> None:
    narrow = {**ATTRIBUTES, "age": {"kind": "integer", "min": 0, "max": 49, "bins": 20}}
    Schema.from_dict({"attributes": narrow}).save(tmp_path / "narrow.json")
    tables = ("real.csv", "synthetic.csv", "--schema", tmp_path / "narrow.json", "--order", 1)
    said = fine(*tables).err
    assert "note (for you, not for release): " in said
    outside = next(line for line in said.splitlines() if "real.csv" in line).partition("): ")[2]
    assert "age" in outside
    assert "age in " in fine(*tables).out.partition("the schema allows:")[2]
    assert fine(*tables, "-q").err == ""
    assert outside in fine(*tables, "-o", tmp_path / "page.html").err
    assert outside in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("folder")
def test_a_learner_that_fails_has_a_dash_and_a_reason() -> None:
    class Lost:
        def fit(self, *_: object) -> None:
            raise ValueError("it lost its way")

    options = ("--schema", "schema.json", "--target", "smoker", "--learners", "CART", "--order", 1)
    with mock.patch.dict(
        "understudy.evaluation.classifiers.CLASSIFIERS", {"CART": lambda _: Lost()}
    ):
        ran = fine("real.csv", "synthetic.csv", *options)
    assert "nan" not in ran.out
    assert "–" in next(line for line in ran.out.splitlines() if "CART" in line)
    assert (
        "Learning smoker: CART could not be trained on the synthetic rows: it lost its way"
        in ran.err
    )


def test_missing_values_have_columns_where_there_are_any(folder: Path, tmp_path: Path) -> None:
    assert (
        "missing (real)"
        in fine("real.csv", "synthetic.csv", "--schema", "schema.json", "--order", 1).out
    )
    (tmp_path / "whole.csv").write_text(
        "a,b\n" + "".join(f"{row % 3},{row % 5}\n" for row in range(60))
    )
    assert "missing" not in fine(tmp_path / "whole.csv", tmp_path / "whole.csv", "--order", 1).out


@pytest.mark.usefixtures("folder")
def test_an_order_beyond_the_columns_is_refused_before_anything_is_compared() -> None:
    with mock.patch("understudy.evaluation.columns.column_comparisons") as compare:
        assert "no tables of 9 columns out of 3" in refused(
            "real.csv", "synthetic.csv", "--order", 9
        )
    compare.assert_not_called()


@pytest.mark.parametrize("command", ["evaluate", "attack", "membership"])
def test_quiet_does_not_say_that_the_result_is_left_out(command: str) -> None:
    told = " ".join(run(command, "--help").out.split())
    assert "No progress, no notes" in told
    assert "no summary" not in told


def test_json_is_the_same_every_time(folder: Path) -> None:
    first, second = (
        fine("real.csv", "synthetic.csv", "--schema", "schema.json", "--json", "--order", 1).out
        for _ in range(2)
    )
    assert first == second
    assert json.loads(first)["shape"]["real_rows"] == ROWS


@pytest.mark.usefixtures("folder")
def test_a_table_held_against_itself_has_no_distance() -> None:
    document = json.loads(fine("real.csv", "real.csv", "--schema", "schema.json", "--json").out)
    assert [errors["mean"] for errors in document["marginals"]] == [0, 0, 0]
    assert all(column["total_variation"] == 0 for column in document["columns"])


@pytest.mark.parametrize("other", ["real.csv", "synthetic.csv", "schema.json", "holdout.csv"])
def test_inputs_are_never_overwritten(folder: Path, other: str) -> None:
    before = (folder / other).read_bytes()
    said = refused(
        "real.csv",
        "synthetic.csv",
        "--schema",
        "schema.json",
        "--holdout",
        "holdout.csv",
        "-o",
        folder / other,
    )
    assert "two things at once" in said
    assert (folder / other).read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("real.csv", "nowhere.csv"), "no table at nowhere.csv"),
        (("real.csv", "synthetic.csv", "--target", "shoe"), "shoe"),
        (("real.csv", "synthetic.csv", "--target", "smoker", "--learners", "oracle"), "oracle"),
        (("real.csv", "synthetic.csv", "--order", "9"), "9"),
        (("real.csv", "synthetic.csv", "--seed", "-1"), "seed"),
        (("real.csv", "synthetic.csv", "--secret", "shoe"), "shoe"),
        (("real.csv", "synthetic.csv", "-o", "nowhere/report.html"), "nowhere"),
    ],
)
def test_mistakes_end_in_one_sentence(folder: Path, arguments: tuple[str, ...], words: str) -> None:
    assert words in refused(*arguments)


def test_without_the_extra_one_sentence_tells_what_to_install(folder: Path) -> None:
    with mock.patch(
        "understudy.cli.evaluate.find_spec", lambda name: None if name == "sklearn" else name
    ):
        said = refused("real.csv", "synthetic.csv")
    assert "scikit-learn" in said
    assert 'pip install "understudy[evaluation]"' in said
    assert "understudy attack" in said


def test_a_refused_run_leaves_no_report(folder: Path, tmp_path: Path) -> None:
    refused("real.csv", "synthetic.csv", "--target", "shoe", "-o", tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_a_column_that_never_changes_is_compared_like_any_other(tmp_path: Path) -> None:
    for name, rows in (("real.csv", 60), ("synthetic.csv", 50)):
        (tmp_path / name).write_text("kind,n\n" + "".join(f"x,{row % 7}\n" for row in range(rows)))
    ran = fine(tmp_path / "real.csv", tmp_path / "synthetic.csv", "--json")
    columns = {column["name"]: column for column in json.loads(ran.out)["columns"]}
    assert columns["kind"]["total_variation"] == 0
    assert columns["n"]["total_variation"] > 0


@pytest.mark.parametrize("installed", [True, False])
def test_the_demos_page_is_made_where_the_extra_is_installed(
    folder: Path, tmp_path: Path, installed: bool
) -> None:
    page = tmp_path / "owner.html"
    with mock.patch("understudy.cli.evaluate.find_spec", lambda name: name if installed else None):
        made = write_owner_page(
            folder / "real.csv",
            folder / "synthetic.csv",
            folder / "model.json",
            page,
            ["smoker"],
            Talk(quiet=True),
        )
    assert made is installed
    assert page.exists() is installed


# --------------------------------------------------------------------------- the verdict


@pytest.mark.usefixtures("folder")
def test_the_verdict_comes_first_then_the_reasons() -> None:
    ran = fine("real.csv", "holdout.csv")
    lines = ran.out.splitlines()
    assert lines[1].startswith("Fit for: software tests, exploring")
    assert any(line.startswith("Not for: p-values") for line in lines[:5])
    assert ran.out.index("Not for:") < ran.out.index("why, the worst first")


def test_a_report_also_says_the_verdict_on_the_screen(folder: Path, tmp_path: Path) -> None:
    told = fine("real.csv", "holdout.csv", "-o", tmp_path / "report.html").err
    assert "Fit for: software tests, exploring" in told
    assert "Not for: p-values" in told


def test_two_files_alone_are_enough_also_for_junk(folder: Path, tmp_path: Path) -> None:
    rows = ["age,ward,smoker", *["3000,[text],maybe"] * ROWS]
    (tmp_path / "junk.csv").write_text("\n".join(rows) + "\n")
    ran = fine(folder / "real.csv", tmp_path / "junk.csv", "--order", 1)
    assert "Fit for: nothing" in ran.out
    assert "3 of 3 columns are lost" in ran.out
    assert "lost (replaced)" in ran.out
    assert "good" not in ran.out


def test_numbered_columns_are_summed_up_but_not_those_that_are_far(tmp_path: Path) -> None:
    names = [*(f"q{place}" for place in range(1, 21)), "item_1", "item_2"]
    for seed, out in enumerate(("one.csv", "other.csv")):
        answers = np.random.default_rng(seed).integers(1, 6, (5000, len(names)))
        if seed:
            answers[:, 2] = np.minimum(answers[:, 2], 4)
        lines = [",".join(map(str, row)) for row in answers.tolist()]
        (tmp_path / out).write_text("\n".join([",".join(names), *lines]) + "\n")
    shown = fine(tmp_path / "one.csv", tmp_path / "other.csv", "--order", 1).out
    table = shown[shown.index("Columns") :]
    lines = [line.split("│")[1].strip() for line in table.splitlines() if line.startswith("│")]
    assert lines[1] == "q3"
    assert sum(line.endswith(" (+18 alike)") for line in lines) == 1
    assert {"item_1", "item_2"} < set(lines)
    assert len(lines) == 5


def test_a_regression_without_a_fit_says_so(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for name, sign in (("real", 1), ("wrong", -1)):
        x = rng.normal(0, 1, 300)
        rows = [f"{a:.3f},{sign * 1000 * a:.3f}" for a in x]
        (tmp_path / f"{name}.csv").write_text("\n".join(["x,y", *rows]) + "\n")
    ran = fine(tmp_path / "real.csv", tmp_path / "wrong.csv", "--target", "y", "--order", 1)
    assert "no fit" in ran.out
    assert "-3" not in ran.out.partition("Learning y")[2]


def test_notes_on_many_columns_are_one_table_the_worst_first(tmp_path: Path) -> None:
    names = [f"c{place}" for place in range(8)]
    rows = [",".join(str(99 if row <= place else 5) for place in range(8)) for row in range(50)]
    (tmp_path / "t.csv").write_text("\n".join([",".join(names), *rows]) + "\n")
    narrow = {name: {"kind": "integer", "min": 0, "max": 9, "bins": 2} for name in names}
    Schema.from_dict({"attributes": narrow}).save(tmp_path / "s.json")
    ran = run(
        "synthesize",
        tmp_path / "t.csv",
        "--schema",
        tmp_path / "s.json",
        "--method",
        "independent",
        "-o",
        tmp_path / "o.csv",
    )
    assert ran.status == 0
    notes = [line for line in ran.err.splitlines() if line.startswith("note (for you")]
    assert notes == [
        "note (for you, not for release): 8 columns hold values outside the domain, most of them "
        "first:"
    ]
    lines = ran.err.splitlines()
    start = lines.index(notes[0])
    assert lines[start + 1].split() == ["column", "values", "counted", "as", "remedy"]
    assert [line.split()[0] for line in lines[start + 2 : start + 10]] == names[::-1]
    assert lines[start + 10] == "  a: if the public bounds are wider than the schema says, fix it"
    quiet = run(
        *("synthesize", tmp_path / "t.csv", "--schema", tmp_path / "s.json"),
        *("--method", "independent", "-o", tmp_path / "o.csv", "-q"),
    )
    assert quiet.err == ""


def test_a_long_table_of_notes_ends_with_how_many_more(tmp_path: Path) -> None:
    names = [f"c{place}" for place in range(30)]
    rows = [",".join(str(99 if row <= place else 5) for place in range(30)) for row in range(50)]
    (tmp_path / "t.csv").write_text("\n".join([",".join(names), *rows]) + "\n")
    narrow = {name: {"kind": "integer", "min": 0, "max": 9, "bins": 2} for name in names}
    Schema.from_dict({"attributes": narrow}).save(tmp_path / "s.json")
    ran = run(
        *("synthesize", tmp_path / "t.csv", "--schema", tmp_path / "s.json"),
        *("--method", "independent", "-o", tmp_path / "o.csv"),
    )
    assert ran.status == 0
    lines = ran.err.splitlines()
    assert "  and 10 more, of at most 10 values each" in lines
    assert sum(line.startswith("  c") for line in lines) == 1 + 20
