"""``understudy local``: from a plan to tables, and what is refused."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from running import Ran, run
from understudy.data import files
from understudy.local.collected import Collected
from understudy.local.plans import CollectionPlan
from understudy.privacy.ledger import LedgerFile

SCHEMA = {
    "attributes": {
        "age": {"kind": "integer", "min": 16, "max": 95, "bins": 4},
        "sex": {"kind": "categorical", "values": ["female", "male"]},
        "smoker": {"kind": "boolean", "missing": True},
    }
}
PERSON = {"age": 34, "sex": "female", "smoker": True}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A plan with two levels, in a home of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    Path("survey.json").write_text(json.dumps(SCHEMA))
    Path("wording.json").write_text(json.dumps({"age": "How old are you?"}))
    ran = run(
        *("local", "plan", "survey.json", "--epsilon", 2, "--epsilon", "0.5", "--persons", 2000),
        *("--title", "Smoking", "--wording", "wording.json", "-o", "plan.json"),
    )
    assert ran.status == 0, ran.err
    return tmp_path


def answer(person: Any, *arguments: object, text: str | None = None) -> Ran:
    given = json.dumps(person) if text is None else text
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        return run("local", "answer", "plan.json", *arguments)


def test_a_plan_holds_what_was_said(folder: Path) -> None:
    plan = CollectionPlan.load("plan.json")
    assert (plan.title, plan.epsilons, plan.persons) == ("Smoking", (2.0, 0.5), 2000)
    assert plan.wording == {"age": "How old are you?"}


def test_delicate_questions_cost_less(folder: Path) -> None:
    ran = run(
        *("local", "plan", "survey.json", "--epsilon", 2, "--delicate", "smoker=0.5"),
        *("-o", "careful.json"),
    )
    assert ran.status == 0, ran.err
    plan = CollectionPlan.load("careful.json")
    costs = {"smoker" in q.columns: q.randomisers[0].epsilon for q in plan.questions}
    assert costs == {True: 0.5, False: 2.0}


def test_one_report_comes_out_and_is_booked(folder: Path) -> None:
    ran = answer(PERSON)
    assert ran.status == 0
    report = json.loads(ran.out)
    assert report["p"] == CollectionPlan.load("plan.json").id
    [booked] = LedgerFile(folder / "home" / "understudy" / "answers.ledger").read()["releases"]
    assert booked["epsilon"] == 2.0
    assert booked["report"] == ran.out.strip()
    assert "8 is left for other surveys" in ran.err


def test_a_second_report_is_refused_and_the_first_can_be_given_again(folder: Path) -> None:
    first = answer(PERSON, "--ledger", "my.ledger")
    second = answer({**PERSON, "smoker": False}, "--ledger", "my.ledger")
    assert (second.status, second.out) == (2, "")
    assert "answered this survey already, at epsilon 2" in second.err
    assert answer(PERSON, "--ledger", "my.ledger", "--again").out == first.out
    assert len(LedgerFile("my.ledger").read()["releases"]) == 1
    refused = answer(PERSON, "--ledger", "other.ledger", "--again")
    assert (refused.status, refused.out) == (2, "")
    assert "not answered this survey yet" in refused.err


def test_the_next_wave_is_for_other_persons(folder: Path) -> None:
    first = CollectionPlan.load("plan.json")
    assert answer(PERSON, "--ledger", "my.ledger").status == 0
    first.next_wave(first.questions[:2]).save("plan.json")
    assert CollectionPlan.load("plan.json").id != first.id
    refused = answer(PERSON, "--ledger", "my.ledger")
    assert (refused.status, refused.out) == (2, "")
    assert answer(PERSON, "--ledger", "neighbour.ledger").status == 0


def test_surveys_share_an_allowance(folder: Path) -> None:
    ledger = ("--ledger", "my.ledger")
    assert answer(PERSON, *ledger, "--allowance", 3, "--epsilon", 2).status == 0
    CollectionPlan.from_dict(
        {**CollectionPlan.load("plan.json").to_dict(), "title": "Another"}
    ).save("plan.json")
    refused = answer(PERSON, *ledger)
    assert (refused.status, refused.out) == (2, "")
    assert "needs epsilon 2" in refused.err
    assert "only epsilon 1" in refused.err
    again = answer(PERSON, *ledger, "--allowance", 9)
    assert "has its allowance already" in again.err
    assert answer(PERSON, *ledger, "--epsilon", "0.5").status == 0


def test_a_person_who_says_nothing_agrees_to_no_large_epsilon(folder: Path) -> None:
    """Whoever makes a plan could offer a level that protects nobody as the usual one."""
    run("local", "plan", "survey.json", "--epsilon", 8, "--epsilon", 1, "-o", "plan.json")
    ledger = ("--ledger", "my.ledger")
    refused = answer(PERSON, *ledger)
    assert (refused.status, refused.out) == (2, "")
    assert "asks for epsilon 8" in refused.err
    assert "2,981 times as likely" in refused.err
    assert not Path("my.ledger").exists()
    assert answer(PERSON, *ledger, "--epsilon", 8).status == 0
    assert answer(PERSON, "--ledger", "other.ledger", "--epsilon", 1).status == 0


@pytest.mark.parametrize("allowance", [0, -1, "nan", "inf"])
def test_an_allowance_that_allows_nothing_is_no_larger_one(allowance: Any, folder: Path) -> None:
    refused = answer(PERSON, "--ledger", "my.ledger", "--allowance", allowance)
    assert (refused.status, refused.out) == (2, "")
    assert "must be a finite number above 0" in refused.err
    assert not Path("my.ledger").exists()


@pytest.mark.parametrize("at", [0, 1, 2, 3])
def test_no_report_leaves_unless_it_is_booked(
    at: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk fails when the ledger is started, when the report is booked, when it is settled, or
    not at all: a report that is printed is in the ledger, and no other is printed later.
    """
    writes = 0
    real = files.new_file

    def new_file(path: Path) -> Any:
        nonlocal writes
        if not path.name.endswith(".ledger"):
            return real(path)
        writes += 1
        if writes > 2 * at:  # each is tried out, and then written
            raise OSError(28, "No space left on device")
        return real(path)

    monkeypatch.setattr(files, "new_file", new_file)
    ran = answer(PERSON, "--ledger", "my.ledger")
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    if ran.out:
        booked = LedgerFile("my.ledger").read()["releases"]
        assert [entry["report"] for entry in booked] == [ran.out.strip()]
    else:
        assert ran.status == 2
        assert "No space left on device" in ran.err
        later = answer(PERSON, "--ledger", "my.ledger")
        again = answer(PERSON, "--ledger", "my.ledger", "--again")
        assert (later.status, again.status) in ((0, 0), (2, 0))
        assert "Traceback" not in ran.err


@pytest.mark.parametrize("text", ["", "junk", "[1]", "3", '{"age": 1, "age": 2}', "\ud800"])
def test_what_is_no_person_is_refused_and_not_booked(text: str, folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        given = io.BytesIO(text.encode("utf-8", "surrogatepass"))
        patch.setattr(sys, "stdin", io.TextIOWrapper(given))
        ran = run("local", "answer", "plan.json", "--ledger", "my.ledger")
    assert (ran.status, ran.out) == (2, "")
    assert "Traceback" not in ran.err
    assert not Path("my.ledger").exists()


def test_answers_that_do_not_fit_give_a_report_all_the_same(folder: Path) -> None:
    for place, person in enumerate([{}, {"age": "old"}, {"sex": [1]}, {"smoker": "x", "z": 1}]):
        ran = answer(person, "--ledger", f"{place}.ledger")
        assert ran.status == 0
        assert set(json.loads(ran.out)) == {"v", "p", "q", "e", "r", "n"}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("answer", "plan.json", "--epsilon", 3), "does not offer epsilon 3"),
        (("answer", "plan.json", "--token", "abc"), "A token has 32 digits"),
        (("answer", "survey.json"), "is not one"),
        (("answer", "nothing.json"), "There is no plan at nothing.json"),
        (("plan", "plan.json", "--epsilon", 1), '"attributes" entry'),
        (("plan", "survey.json", "--epsilon", 0), "psilon"),
        (("plan", "survey.json", "--epsilon", 1, "--epsilon", 1), "the same epsilon twice"),
        (("plan", "survey.json", "--epsilon", 1, "--persons", 0), "persons"),
        (("plan", "survey.json", "--epsilon", 1, "--wording", "plan.json"), "no column"),
        (("plan", "survey.json", "--epsilon", 1, "--delicate", "age"), "age=0.5"),
        (("plan", "survey.json", "--epsilon", 1, "--delicate", "hat=1"), "no attribute 'hat'"),
        (("plan", "survey.json", "--epsilon", 1, "--delicate", "age=0"), "psilon"),
        (("collect", "plan.json", "nothing", "-o", "t.json"), "no reports at nothing"),
        (("collect", "plan.json", ".", "-o", "t.json"), "None of the reports counts"),
        (("collect", "plan.json", ".", "-o", "plan.json"), "named for two things"),
        (("collect", "survey.json", ".", "-o", "t.json"), "is not one"),
        (("collect", "plan.json", ".", "--poisoned", 1, "-o", "t.json"), "--poisoned must be"),
        (("collect", "plan.json", ".", "--tokens", "survey.json", "-o", "t.json"), "is not one"),
        (("page", "survey.json", "-o", "s.html"), "is not one"),
        (("page", "plan.json", "--post", "ftp://x", "-o", "s.html"), "http or https"),
        (("page", "plan.json", "--post", "https://a b;c/", "-o", "s.html"), "http or https"),
        (("tokens", "--persons", 0, "--give", "a", "-o", "b"), "from 1 to"),
        (("tokens", "--persons", 9, "--give", "a", "-o", "a"), "named for two things"),
        (("simulate", "plan.json", "survey.json", "-o", "r.txt"), ""),
    ],
)
def test_mistakes_end_in_one_sentence(
    arguments: tuple[object, ...], complaint: str, folder: Path
) -> None:
    Path("reports.jsonl").write_text("junk\n" * 3)
    ran = run("local", *arguments)
    assert ran.status == 2
    assert ran.out == ""
    assert complaint in ran.err
    assert "Traceback" not in ran.err


def test_a_plan_of_another_version_is_named_so(folder: Path) -> None:
    document = json.loads(Path("plan.json").read_text())
    Path("plan.json").write_text(json.dumps({**document, "version": 2}))
    for command in (("answer", "plan.json"), ("page", "plan.json", "-o", "x.html")):
        ran = run("local", *command)
        assert ran.status == 2
        assert "has version 2, and this program reads version 1" in ran.err


def test_a_survey_from_plan_to_tables(folder: Path) -> None:
    rows = [
        f"{16 + i % 80},{('female', 'male')[i % 2]},{('true', '')[i % 3 > 0]}\n"
        for i in range(2000)
    ]
    Path("people.csv").write_text("age,sex,smoker\n" + "".join(rows))
    Path("reports").mkdir()
    ran = run("local", "simulate", "plan.json", "people.csv", "-o", "reports/a.jsonl")
    assert "2,000 simulated reports" in ran.err
    ran = run(
        *("local", "simulate", "plan.json", "people.csv", "--epsilon", "0.5"),
        *("-o", "reports/b.parquet"),
    )
    assert ran.status == 0, ran.err
    Path("reports/own.jsonl").write_text(answer(PERSON).out)
    Path("reports/copy.jsonl").write_text(Path("reports/own.jsonl").read_text() + "junk\n")
    ran = run(
        *("local", "collect", "plan.json", "reports", "--poisoned", "0.01", "-o", "tables.json")
    )
    assert ran.status == 0, ran.err
    assert "4,001 reports counted" in ran.err
    assert "2 not counted: 1 duplicated" in ran.err
    assert "If 0.01 of the reports are forged" in ran.err
    collected = Collected.load("tables.json")
    assert collected.reports_by_level() == (2001, 2000)
    estimate = collected.estimate(1)
    assert estimate is not None
    # Seven deviations: by chance once in 10^11 runs.
    share = float(collected.plan.shares[1])
    spread = (4001 * share * (1 - share)) ** 0.5
    assert estimate.reports == pytest.approx(4001 * share, abs=7 * spread)


def test_tokens_are_given_out_and_counted_once(folder: Path) -> None:
    made = run("local", "tokens", "--persons", 3, "--give", "tokens.txt", "-o", "tokens.json")
    assert made.status == 0, made.err
    tokens = Path("tokens.txt").read_text().split()
    assert len(set(tokens)) == 3
    lines = [
        answer(PERSON, "--ledger", f"{place}.ledger", "--token", token).out
        for place, token in enumerate([*tokens, tokens[0].upper(), "ab" * 16])
    ]
    assert [json.loads(line)["n"] for line in lines] == [*tokens, tokens[0], "ab" * 16]
    Path("r.jsonl").write_text("".join(lines))
    ran = run("local", "collect", "plan.json", "r.jsonl", "--tokens", "tokens.json", "-o", "t.json")
    assert ran.status == 0, ran.err
    rejected = Collected.load("t.json").rejected
    assert rejected["no token"] == 1
    assert rejected.get("conflicting", 0) + 2 * rejected.get("duplicated", 0) == 2
