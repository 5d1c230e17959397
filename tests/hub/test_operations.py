"""What a job does: specs are read strictly, priced and checked without rows, and run once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from understudy.data.schema import Schema
from understudy.errors import BudgetError, InputError
from understudy.hub.job_ledgers import JobLedger, find_job, open_books
from understudy.hub.operation_runs import Protected, Run, TermsOfUse
from understudy.hub.operations import OPERATIONS, check_spec, preview, price, read_operation
from understudy.learners.training import TrainedModel
from understudy.models.model import Model
from understudy.privacy.ledger import Ledger, LedgerFile

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "age": {"kind": "integer", "min": 0, "max": 99},
            "sex": {"kind": "categorical", "values": ["f", "m"]},
            "sick": {"kind": "categorical", "values": ["no", "yes"]},
        }
    }
)

SPECS: dict[str, dict[str, Any]] = {
    "synthesise": {"epsilon": 1.0, "method": "independent", "rows": 50},
    "ask": {"epsilon": 0.5, "questions": ["count where age >= 44", "mean age group by sex"]},
    "learn": {"epsilon": 0.5, "learner": "logistic", "target": "sick"},
}


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    lines = [f"{20 + i % 60},{'fm'[i % 2]},{('no', 'yes')[i % 3 == 0]}" for i in range(300)]
    path.write_text("age,sex,sick\n" + "\n".join(lines) + "\n")
    return path


@pytest.fixture
def book(tmp_path: Path) -> LedgerFile:
    return open_books(tmp_path / "rows.ledger", 3.0, 0.0, "add_remove", "row")


def job_ledger(book: LedgerFile, job: str = "j1", price: tuple[float, float] = (1.0, 0.0)) -> Any:
    return JobLedger(book.path, job=job, price=price, details={"user": "u1"})


@pytest.mark.parametrize("name", OPERATIONS)
def test_each_operation_leaves_a_folder_that_is_paid_for(
    name: str, rows: Path, book: LedgerFile, tmp_path: Path
) -> None:
    operation = check_spec(name, SPECS[name], SCHEMA)
    use = TermsOfUse(title="Patients", purpose="care research", conditions="cite us", contact="a@b")
    steps: list[str] = []
    run = Run(
        rows=rows,
        schema=SCHEMA,
        ledger_file=job_ledger(book, price=operation.price()),
        folder=tmp_path / "out",
        use=use,
        progress=lambda step, done, steps_: steps.append(step),
    )
    made = operation.run(run)
    assert set(made.names) == {path.name for path in (tmp_path / "out").iterdir()}
    assert json.loads((made.folder / "use.json").read_text())["purpose"] == "care research"
    ledger = Ledger.from_dict(json.loads((made.folder / "ledger.json").read_text()))
    assert ledger.promise() == operation.price()
    entry = find_job(book.read(), "j1")
    assert entry is not None
    assert (entry["state"], entry["epsilon"], entry["user"]) == (
        "settled",
        operation.price()[0],
        "u1",
    )
    assert steps


def test_a_synthetic_release_holds_model_rows_and_a_report_with_its_use(
    rows: Path, book: LedgerFile, tmp_path: Path
) -> None:
    operation = read_operation("synthesise", {**SPECS["synthesise"], "format": "parquet"})
    run = Run(
        rows=rows,
        schema=SCHEMA,
        ledger_file=job_ledger(book),
        folder=tmp_path / "out",
        use=TermsOfUse(title="T", purpose="<b>care</b>", conditions="none"),
    )
    made = operation.run(run)
    assert made.names == (
        "ledger.json",
        "model.json",
        "report.html",
        "synthetic.parquet",
        "use.json",
    )
    assert Model.load(made.folder / "model.json").schema.names == SCHEMA.names
    page = (made.folder / "report.html").read_text()
    assert "&lt;b&gt;care&lt;/b&gt;" in page
    assert "<b>care</b>" not in page


def test_a_learner_is_released_as_a_model(rows: Path, book: LedgerFile, tmp_path: Path) -> None:
    run = Run(rows=rows, schema=SCHEMA, ledger_file=job_ledger(book), folder=tmp_path / "out")
    made = read_operation("learn", SPECS["learn"]).run(run)
    assert TrainedModel.load(made.folder / "model.json").target == "sick"


def test_a_job_is_computed_and_paid_for_once(rows: Path, book: LedgerFile, tmp_path: Path) -> None:
    operation = read_operation("ask", SPECS["ask"])
    first = Run(rows=rows, schema=SCHEMA, ledger_file=job_ledger(book), folder=tmp_path / "a")
    operation.run(first)
    left = book.left()
    again = Run(rows=rows, schema=SCHEMA, ledger_file=job_ledger(book), folder=tmp_path / "b")
    with pytest.raises(InputError, match="stands on the ledger already"):
        operation.run(again)
    assert book.left() == left
    assert not (tmp_path / "b").exists()


def test_a_job_cannot_cost_more_than_was_approved(
    rows: Path, book: LedgerFile, tmp_path: Path
) -> None:
    ledger = job_ledger(book, price=(0.4, 0.0))
    run = Run(rows=rows, schema=SCHEMA, ledger_file=ledger, folder=tmp_path / "out")
    with pytest.raises(BudgetError, match=r"was approved for epsilon 0\.4"):
        read_operation("ask", SPECS["ask"]).run(run)
    assert book.left() == (3.0, 0.0)
    assert list(tmp_path.glob("*out*")) == []


@pytest.mark.parametrize(
    ("name", "spec", "words"),
    [
        ("download", {"epsilon": 1.0}, "no operation"),
        ("synthesise", [], "JSON object"),
        ("synthesise", {}, "not complete"),
        ("synthesise", {"epsilon": True}, "epsilon must be a number"),
        ("synthesise", {"epsilon": "1"}, "epsilon must be a number"),
        ("synthesise", {"epsilon": -1}, "epsilon"),
        ("synthesise", {"epsilon": 1, "delta": 2}, "delta"),
        ("synthesise", {"epsilon": 1, "surprise": 2}, "no entry 'surprise'"),
        ("synthesise", {"epsilon": 1, "rows": 10**9}, "synthetic rows"),
        ("synthesise", {"epsilon": 1, "rows": 1.5}, "synthetic rows"),
        ("synthesise", {"epsilon": 1, "format": "exe"}, "csv or parquet"),
        ("synthesise", {"epsilon": 1, "algorithm": "../x"}, "SHA-256"),
        ("synthesise", {"epsilon": 1, "parameters": {"x": "y" * 200_000}}, "characters"),
        ("synthesise", {"epsilon": 10**400}, "plain JSON"),
        ("synthesise", {"epsilon": 1, "parameters": {"x": 10**400}}, "plain JSON"),
        ("synthesise", {"epsilon": 1, "method": "\ud800"}, "plain JSON"),
        ("synthesise", {"epsilon": float("nan")}, "plain JSON"),
        ("ask", {"epsilon": 1, "questions": []}, "at least one question"),
        ("ask", {"epsilon": 1, "questions": [3]}, "texts"),
        ("learn", {"epsilon": 1, "learner": 7}, "name of one"),
    ],
)
def test_a_spec_that_is_not_one_is_refused(name: str, spec: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_operation(name, spec)


@pytest.mark.parametrize(
    ("name", "spec", "words"),
    [
        ("synthesise", {"epsilon": 1, "method": "nothing"}, "no method 'nothing'"),
        ("synthesise", {"epsilon": 1, "parameters": {"nothing": 1}}, "no parameter 'nothing'"),
        ("synthesise", {"epsilon": 1, "parameters": {"epsilon": 9}}, "not a parameter"),
        ("synthesise", {"epsilon": 1, "parameters": {"neighbours": "replace"}}, "not a parameter"),
        ("synthesise", {"epsilon": 1, "method": "random"}, "how many rows"),
        ("ask", {"epsilon": 1, "questions": ["count where height > 3"]}, "height"),
        ("ask", {"epsilon": 1, "questions": ["mean age"], "bounds": {"age": 3}}, "two numbers"),
        ("learn", {"epsilon": 1, "learner": "logistic", "target": "height"}, "height"),
        ("learn", {"epsilon": 1, "learner": "logistic"}, "target"),
        ("learn", {"epsilon": 1, "learner": "nothing"}, "no learner"),
        ("learn", {"epsilon": 1, "learner": "kmeans", "parameters": {"ledger": "x"}}, "ledger"),
        ("learn", {"epsilon": 1, "learner": "kmeans", "parameters": {"noise": 3}}, "noise"),
        ("learn", {"epsilon": 1e9, "delta": 1e-6, "learner": "kmeans"}, "does not reach"),
        ("synthesise", {"epsilon": 1e9, "delta": 1e-6}, "does not reach"),
        ("synthesise", {"epsilon": 1e9, "delta": 1e-6, "algorithm": "0" * 64}, "does not reach"),
        (
            "learn",
            {"epsilon": 1, "learner": "kmeans", "parameters": {"random_state": {"a": 1}}},
            "random_state",
        ),
    ],
)
def test_what_does_not_go_with_the_schema_is_refused_before_a_row_is_read(
    name: str, spec: Any, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        check_spec(name, spec, SCHEMA)


def test_prices_are_those_that_are_debited() -> None:
    assert price("synthesise", {"epsilon": 1.5, "delta": 1e-9}) == (1.5, 1e-9)
    assert price("synthesise", {"epsilon": 1.5, "method": "random", "rows": 3}) == (0.0, 0.0)


def test_previews_come_from_public_facts() -> None:
    told = preview("synthesise", {"epsilon": 1.0}, SCHEMA, rows=10_000)
    assert [table["attribute"] for table in told["tables"]] == ["age", "sex", "sick"]
    answers = preview("ask", SPECS["ask"], SCHEMA)["answers"]
    assert answers[0]["error"] > 0
    assert preview("learn", SPECS["learn"], SCHEMA)["features"] == ["age", "sex"]


def test_a_spec_is_the_same_when_it_is_read_back() -> None:
    for name, spec in SPECS.items():
        operation = read_operation(name, spec)
        plain = json.loads(json.dumps(operation.to_dict()))
        assert read_operation(name, plain) == operation


def test_persons_are_protected_where_the_data_set_says_so(tmp_path: Path) -> None:
    lines = [f"p{i // 3},{20 + i % 60}" for i in range(90)]
    rows = tmp_path / "visits.csv"
    rows.write_text("person,age\n" + "\n".join(lines) + "\n")
    schema = Schema.from_dict(
        {
            "attributes": {
                "person": {"kind": "identifier"},
                "age": {"kind": "integer", "min": 0, "max": 99},
            }
        }
    )
    protected = Protected(person="person", max_rows_per_person=2)
    book = open_books(tmp_path / "l", 2.0, 0.0, "add_remove", "person")
    run = Run(
        rows=rows,
        schema=schema,
        protected=protected,
        ledger_file=job_ledger(book),
        folder=tmp_path / "out",
    )
    made = read_operation("ask", {"epsilon": 1.0, "questions": ["count"]}).run(run)
    assert (made.ledger.unit, made.ledger.max_rows_per_person) == ("person", 2)


def test_books_for_another_guarantee_are_refused(book: LedgerFile) -> None:
    with pytest.raises(InputError, match="cannot be added up"):
        open_books(book.path, 1.0, 0.0, "replace", "row")


def test_foreign_algorithms_get_no_rows_that_they_could_read_or_time(
    book: LedgerFile, tmp_path: Path
) -> None:
    import understudy

    operation = read_operation("synthesise", {"epsilon": 1.0, "algorithm": "ab" * 32})
    inside = Path(understudy.__file__).parent / "rows.csv"
    for rows, why in (
        (inside, "among the files of Python"),
        ("postgresql://h/d?table=t", "memory"),
    ):
        with pytest.raises(InputError, match=why):
            operation._engine(rows)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["checkpoint", "preview"])
def test_no_request_names_a_file_of_whoever_computes(name: str, rows: Path, tmp_path: Path) -> None:
    """A checkpoint of a requester's choice would be written and removed at any place, and go on
    with the reservation of another job.
    """
    target = tmp_path / "victim"
    spec = {"epsilon": 1.0, "delta": 1e-6, "method": "gan", "parameters": {name: str(target)}}
    with pytest.raises(InputError, match=f"no parameter '{name}'"):
        check_spec("synthesise", spec, SCHEMA)
    book = open_books(tmp_path / "gan.ledger", 3.0, 1e-5, "add_remove", "row")
    run = Run(
        rows=rows,
        schema=SCHEMA,
        ledger_file=job_ledger(book, price=(1.0, 1e-6)),
        folder=tmp_path / "release",
    )
    with pytest.raises(InputError, match=f"no parameter '{name}'"):
        read_operation("synthesise", spec).run(run)
    assert not target.exists()
    assert book.read()["releases"] == []


def test_every_parameter_that_names_a_file_is_known_as_one() -> None:
    from understudy.synthesizers.parameters import file_parameters
    from understudy.synthesizers.registry import find_method

    assert file_parameters(find_method("gan").kind) == {"checkpoint", "preview"}
    assert file_parameters(find_method("independent").kind) == frozenset()
