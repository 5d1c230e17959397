"""The studio without a browser: what is said of columns, what is spent, what is written."""

from __future__ import annotations

import itertools
import json
import shlex
import threading
from pathlib import Path
from typing import Any

import pytest
from studio_stories import SECRET, make_studio, write_wide

from running import run
from understudy.data.interview import Interview, Unit
from understudy.errors import InputError
from understudy.hub.studio import releasing
from understudy.hub.studio.choices import Choices, Places, command_line
from understudy.hub.studio.columns import ColumnLine, column_lines, describe_columns
from understudy.hub.studio.remedies import find_remedies
from understudy.hub.studio.session import Studio
from understudy.models.model import Model
from understudy.privacy.ledger import LedgerFile


def describe_all(studio: Studio) -> None:
    studio.answer("row")
    studio.take_suggestions(list(studio.interview.declared))
    studio.describe(
        ["score_1", "score_2"], ColumnLine(name="", kind="integer", facts="0..5", missing="no")
    )
    studio.change_lines(
        {
            "sex": ColumnLine(name="sex", kind="categorical", facts="M|F", missing="no"),
            "smoker": ColumnLine(name="smoker", kind="boolean", facts="no|yes", missing="no"),
        }
    )
    studio.finish_columns("write")


@pytest.fixture
def studio(tmp_path: Path) -> Studio:
    return make_studio(tmp_path)


@pytest.fixture
def described(studio: Studio) -> Studio:
    describe_all(studio)
    return studio


class TestColumns:
    """A page of all columns and single questions say the same."""

    def test_the_unit_of_protection_comes_first(self, studio: Studio) -> None:
        assert not studio.unit_known
        with pytest.raises(InputError, match="who is protected"):
            studio.ask_about(["age"])
        with pytest.raises(InputError):
            studio.finish_columns("leave out")

    def test_names_suggest_and_nothing_counts_until_it_is_taken(self, studio: Studio) -> None:
        studio.answer("row")
        age = next(line for line in studio.lines() if line.name == "age")
        assert (age.kind, age.facts, age.suggested, age.state) == (
            "integer",
            "0..120",
            True,
            "open",
        )
        assert not studio.change_lines({line.name: line for line in studio.lines()})
        assert len(studio.open_columns()) == len(studio.interview.declared)
        rest = studio.take_suggestions(["age", "sex"])
        assert rest == ["sex"]  # its name does not tell the values
        assert "age" not in studio.open_columns()

    def test_a_line_is_answered_as_the_questions_would_be(self, studio: Studio) -> None:
        studio.answer("row")
        line = ColumnLine(name="age", kind="integer", facts="18..99", missing="no")
        studio.change_lines({"age": line})
        asked = make_studio(Path(studio.places.table).parent, Path(studio.places.table)).interview
        by_hand = Interview(asked.form, asked.declared)
        by_hand.answer("row")
        by_hand.select("age")
        for answer in ("integer", "18..99", "no"):
            by_hand.answer(answer)
        entries = studio.interview.form.entries
        assert entries["age"] == by_hand.form.entries["age"]
        shown = next(line for line in studio.lines() if line.name == "age")
        assert (shown.kind, shown.facts, shown.missing) == ("integer", "18..99", "no")

    def test_every_kind_can_be_said_in_a_line_and_is_shown_as_it_was_said(
        self, studio: Studio
    ) -> None:
        studio.answer("row")
        said = [
            ColumnLine(name="", kind="real", facts="0..1.5", missing="yes"),
            ColumnLine(name="", kind="categorical", facts="a|b|c", missing="?"),
            ColumnLine(name="", kind="categorical", facts="vocabulary iso-5218", missing="no"),
            ColumnLine(name="", kind="boolean", facts="n|y", missing="no"),
            ColumnLine(
                name="",
                kind="date",
                facts="2020-01-01..2021-01-01",
                missing="no",
                format="%d.%m.%Y",
            ),
            ColumnLine(name="", kind="identifier", facts="P-####"),
            ColumnLine(name="", kind="text", facts="[text]"),
        ]
        for line in said:
            describe_columns(studio.interview, ["note"], line)
            shown = next(one for one in column_lines(studio.interview) if one.name == "note")
            assert shown.same_answers(line)
            assert not studio.change_lines({"note": shown})

    def test_what_is_not_understood_leaves_the_column_as_it_was(self, studio: Studio) -> None:
        studio.answer("row")
        studio.take_suggestions(["age"])
        before = dict(studio.interview.form.entries)
        problems = studio.change_lines(
            {
                "age": ColumnLine(name="age", kind="integer", facts="banana", missing="no"),
                "sex": ColumnLine(name="sex", kind="categorical", facts="M|F", missing="no"),
            }
        )
        assert "banana" in problems["age"]
        assert set(problems) == {"age"}
        assert studio.interview.form.entries["age"] == before["age"]
        codes = ColumnLine(name="note", kind="categorical", facts="A00..K09", missing="no")
        assert "is no list of values" in studio.change_lines({"note": codes})["note"]
        assert studio.interview.form.entries["note"] == before["note"]
        assert studio.interview.form.entries["sex"]["values"] == ["M", "F"]

    def test_the_column_of_the_person_cannot_be_changed(self, studio: Studio) -> None:
        for answer in ("person", "patient_id", "3"):
            studio.answer(answer)
        assert studio.interview.unit == Unit(person="patient_id", max_rows_per_person=3)
        line = ColumnLine(name="patient_id", kind="integer", facts="0..9", missing="no")
        assert not studio.change_lines({"patient_id": line})
        assert studio.interview.form.entries["patient_id"] == {"kind": "identifier"}

    def test_a_hundred_columns_take_a_few_steps(self, tmp_path: Path) -> None:
        studio = make_studio(tmp_path, write_wide(tmp_path / "wide.csv"))
        studio.answer("row")
        studio.take_suggestions(list(studio.interview.declared))
        items = [name for name in studio.interview.declared if name.startswith("item_")]
        studio.describe(items, ColumnLine(name="", kind="integer", facts="1..5", missing="no"))
        studio.describe(
            ["country"],
            ColumnLine(name="", kind="categorical", facts="vocabulary iso-3166-1", missing="no"),
        )
        assert studio.open_columns() == ()
        studio.finish_columns("write")
        assert len(studio.expect().tables) == 100

    def test_answers_are_kept_and_taken_up_again(self, studio: Studio) -> None:
        studio.answer("row")
        studio.take_suggestions(["age"])
        again = Studio(studio.places)
        assert again.unit_known
        assert again.interview.form.entries["age"]["max"] == 120

    def test_a_finished_interview_can_be_changed(self, described: Studio) -> None:
        described.change_lines({"age": ColumnLine(name="age", kind="integer", facts="1..9")})
        assert not described.described
        described.finish_columns("write")
        assert described.interview.form.entries["age"]["max"] == 9

    def test_open_columns_are_left_out_or_discovered_on_purpose(self, studio: Studio) -> None:
        studio.answer("row")
        with pytest.raises(InputError, match="7 columns are open"):
            studio.finish_columns("write")
        studio.finish_columns("draft")
        assert len(studio.open_columns()) == 7
        assert "discovery takes" in studio.expect().discovery
        assert studio.price() == (1.0, 1e-9)
        studio.back()
        studio.finish_columns("leave out")
        assert {line.state for line in studio.lines()} == {"left out"}
        assert studio.expect().problem


class TestBudget:
    """Numbers before anything is spent."""

    def test_numbers_move_with_epsilon_and_no_row_is_read(self, described: Studio) -> None:
        Path(described.places.table).unlink()  # nothing to read: the numbers do not need it
        small, large = described.expect({"epsilon": "0.1"}), described.expect({"epsilon": "10"})
        assert small.error is not None
        assert large.error is not None
        assert small.error > 2 * large.error
        assert "1.11" in small.promise
        assert described.choices.epsilon == 1.0  # only tried

    def test_what_cannot_be_is_a_sentence(self, described: Studio) -> None:
        for given in ({"epsilon": "-1"}, {"epsilon": "x"}, {"about_rows": "many"}, {"delta": "2"}):
            with pytest.raises(InputError):
                described.choose(given)
        assert described.choices == Choices()

    def test_a_ledger_is_started_for_what_is_protected(self, described: Studio) -> None:
        assert described.read_left() is None
        described.start_ledger("3", "1e-6")
        assert described.read_left() == (3.0, 1e-6)
        with pytest.raises(InputError, match="already"):
            described.start_ledger("9", "0")


class TestRelease:
    """One click, one price, all files."""

    def test_a_release_writes_what_the_command_would(self, described: Studio) -> None:
        described.choose({"epsilon": "2", "rows": "50", "title": "Patients of 2026"})
        task = described.take_offer(described.make_offer())
        assert task.wait(120).state == "done"
        places = described.places
        model = Model.load(places.model)
        assert model.ledger.promise() == (2.0, 0.0)
        assert json.loads(places.account.read_text()) == model.ledger.to_dict()
        assert len(places.rows.read_text().splitlines()) == 51
        assert "Patients of 2026" in places.report.read_text()
        for path in (places.rows, places.model, places.report, places.schema, places.account):
            assert SECRET not in path.read_text()
        words = shlex.split(described.command())
        for path in (places.model, places.rows, places.report):
            path.unlink()
        assert run(*words[1:]).status == 0
        again = Model.load(places.model)
        assert [column.name for column in again.schema] == [c.name for c in model.schema]
        assert again.method == model.method
        assert again.ledger.promise() == model.ledger.promise()
        assert again.ledger.taken_as_public == model.ledger.taken_as_public
        assert len(places.rows.read_text().splitlines()) == 51

    def test_a_double_click_spends_once(
        self, described: Studio, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        calls: list[Any] = []
        go = threading.Event()

        def wait(*given: Any, **options: Any) -> None:
            calls.append(given)
            go.wait(10)

        monkeypatch.setattr("understudy.hub.studio.session.release_table", wait)
        key = described.make_offer()
        tasks = {id(described.take_offer(key)) for _ in range(3)}
        assert len(tasks) == 1
        with pytest.raises(InputError, match="is running"):
            described.take_offer(described.make_offer())
        go.set()
        assert described.release is not None
        described.release.wait(10)
        assert described.take_offer(key) is described.release
        with pytest.raises(InputError, match="out of date"):
            described.take_offer("another")
        assert len(calls) == 1

    def test_a_ledger_is_debited_and_its_end_is_a_stop(self, described: Studio) -> None:
        described.start_ledger("1.5", "0")
        assert described.places.ledger is not None
        first = described.take_offer(described.make_offer())
        assert first.wait(120).state == "done"
        assert LedgerFile(described.places.ledger).left() == (0.5, 0.0)
        assert f"--ledger {described.places.ledger}" in described.command()
        second = described.take_offer(described.make_offer())
        step = second.wait(120)
        assert step.state == "stopped"
        assert "left" in step.message
        assert any(remedy.address == "/budget" for remedy in find_remedies(step.message))
        assert LedgerFile(described.places.ledger).left() == (0.5, 0.0)

    def test_a_stop_before_the_budget_is_gone_names_remedies(self, studio: Studio) -> None:
        studio.answer("row")
        studio.finish_columns("draft")
        studio.choose({"epsilon": "0.05"})
        step = studio.take_offer(studio.make_offer()).wait(120)
        assert step.state == "stopped"
        assert "too few rows" in step.message
        labels = {remedy.label for remedy in find_remedies(step.message)}
        assert {"Describe more columns", "Choose another budget", "Go on all the same"} <= labels
        assert not studio.places.model.exists()
        studio.keep_going()
        assert "--keep-going" in studio.command() or studio.choices.keep_going

    def test_an_unexpected_error_tells_its_kind_and_nothing_of_the_rows(
        self, described: Studio, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*given: Any, **options: Any) -> None:
            raise ValueError(SECRET)

        monkeypatch.setattr("understudy.hub.studio.session.release_table", fail)
        step = described.take_offer(described.make_offer()).wait(10)
        assert step.state == "failed"
        assert "ValueError" in step.message
        assert SECRET not in step.message

    def test_the_owners_comparison_is_kept_in_memory_alone(
        self, described: Studio, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with pytest.raises(InputError, match="nothing to compare"):
            described.compare()
        described.take_offer(described.make_offer()).wait(120)
        before = {path.name for path in described.places.folder.iterdir()}
        monkeypatch.setattr(
            "understudy.hub.studio.session.compare_with_real", lambda *given: "<p>for the owner"
        )
        task = described.compare()
        assert task.wait(60).state == "done"
        assert described.compare() is task
        assert {path.name for path in described.places.folder.iterdir()} == before

    @pytest.mark.thorough
    def test_the_comparison_is_the_owners_report(self, described: Studio) -> None:
        described.take_offer(described.make_offer()).wait(120)
        assert described.release is not None
        page = releasing.compare_with_real(
            described.places, described.release.result, lambda *step: None
        )
        assert "For the owner only" in page


def test_the_command_line_says_all_that_was_chosen() -> None:
    places = Places(
        table="my patients.csv",
        folder=Path("out"),
        ledger=Path("p.ledger"),
        reading={"encoding": "latin-1", "missing_marks": ("n/a", "-9"), "header": False},
    )
    choices = Choices(
        epsilon=0.1 + 0.2, delta=1e-9, method="mst", rows=10, keep_going=True, accept="new_rows"
    )
    words = shlex.split(command_line(places, choices, Unit(person="who", max_rows_per_person=4)))
    assert words[:3] == ["understudy", "synthesize", "my patients.csv"]
    pairs = dict(itertools.pairwise(words))
    assert pairs["--epsilon"] == "0.30000000000000004"
    assert pairs["--person"] == "who"
    assert pairs["--max-rows-per-person"] == "4"
    assert pairs["--missing-marks"] == "n/a,-9"
    assert {"--no-header", "--keep-going", "--new-rows"} <= set(words)


def test_a_folder_or_an_address_is_no_file_for_the_studio(tmp_path: Path) -> None:
    for table in (str(tmp_path), "postgresql://me@db/d?table=t", str(tmp_path / "none.csv")):
        with pytest.raises(InputError, match="one file"):
            Studio(Places(table=table, folder=tmp_path / "out"))
