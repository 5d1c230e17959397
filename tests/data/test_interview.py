"""The interview as a state machine: walked by hand, and at random."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy import InputError
from understudy.data.forms import NEEDED, Form
from understudy.data.interview import Interview, InterviewQuestion, Unit
from understudy.data.interview.guesses import guess_from_name


def interview_about(*names: str, **declared: str) -> Interview:
    return Interview(Form({name: {"kind": None} for name in names}), declared)


def asked(interview: Interview) -> InterviewQuestion:
    assert interview.question is not None
    return interview.question


def walk(interview: Interview, *answers: str) -> Interview:
    for answer in answers:
        interview.answer(answer)
    return interview


# --------------------------------------------------------------------------- one way through


def test_who_is_protected_comes_first() -> None:
    interview = interview_about("visit", "patient_id", "age")
    assert asked(interview).fact == "unit"
    interview.answer("person")
    assert asked(interview).suggestion == "patient_id"
    interview.answer("")
    assert asked(interview).fact == "max_rows_per_person"
    interview.answer("3")
    assert interview.unit == Unit(person="patient_id", max_rows_per_person=3)
    assert interview.form.entries["patient_id"] == {"kind": "identifier"}
    assert asked(interview).columns == ("visit",)


def test_what_is_asked_follows_from_the_answers() -> None:
    interview = walk(interview_about("x"), "row")
    facts = {}
    for kind in NEEDED:
        interview.answer(kind)
        facts[kind] = asked(interview).fact
        interview.back()
    assert facts == {
        **dict.fromkeys(("integer", "real", "date", "datetime", "time"), "range"),
        "categorical": "values",
        "boolean": "spelling",
        "identifier": "pattern",
        "text": "replacement",
    }


STEPPED = {"kind": "integer", "min": 0, "max": 50_000, "step": 100}
ENTRIES: list[tuple[tuple[str, ...], dict[str, Any]]] = [
    (("integer", "0..120", "no"), {"kind": "integer", "min": 0, "max": 120}),
    (("integer", "0..50000 step 100", "no"), STEPPED),
    (("real", "0..500 step 0.5", "no"), {"kind": "real", "min": 0, "max": 500, "step": 0.5}),
    (("2", "0 1.5", "?"), {"kind": "real", "min": 0, "max": 1.5, "missing": "?"}),
    (
        ("date", "2020-01-01..2024-12-31", "2", "yes"),
        {
            "kind": "date",
            "min": "2020-01-01",
            "max": "2024-12-31",
            "format": "%d/%m/%Y",
            "missing": True,
        },
    ),
    (
        ("datetime", "2020-01-01..2020-12-31", "", "no"),
        {"kind": "datetime", "min": "2020-01-01 00:00:00", "max": "2020-12-31 23:59:59"},
    ),
    (("boolean", "no|yes", "no"), {"kind": "boolean", "values": ["no", "yes"]}),
    (("categorical", "a, b, c", "none", "no"), {"kind": "categorical", "values": ["a", "b", "c"]}),
    (
        ("cat", "a|b", "", "no"),
        {"kind": "categorical", "values": ["a", "b"], "other": "other"},
    ),
    (("cat", "1..3", "no"), {"kind": "categorical", "values": [1, 2, 3]}),
    (("cat", "vocabulary months", "no"), {"kind": "categorical", "vocabulary": "months"}),
    (("identifier", "P-###"), {"kind": "identifier", "pattern": "P-###"}),
    (("identifier", ""), {"kind": "identifier"}),
    (("text", "nothing"), {"kind": "text", "replacement": None}),
    (
        ("time", "", "%H:%M", "no"),
        {"kind": "time", "min": "00:00:00", "max": "23:59:59", "format": "%H:%M"},
    ),
    (("text", "email"), {"kind": "text", "fake": "email"}),
    (("text", "###-##"), {"kind": "text", "pattern": "###-##"}),
    (("text", ""), {"kind": "text", "replacement": "[text]"}),
]


@pytest.mark.parametrize(
    ("kind", "given", "complaint"),
    [
        ("integer", "0..50000 step 2.5", "is no step"),
        ("real", "0..500 step small", "is no step"),
        ("real", "0..500 step 0", "must be a number above 0"),
        ("integer", "0..90 step 100", "holds no multiple"),
        ("date", "2020-01-01..2024-12-31 step 7", "take no step here"),
    ],
)
def test_a_step_that_cannot_be_is_refused(kind: str, given: str, complaint: str) -> None:
    interview = walk(interview_about("x"), "row", kind)
    with pytest.raises(InputError, match=complaint):
        interview.answer(given)
    assert asked(interview).fact == "range"


def test_a_step_is_suggested_again_and_leaves_with_its_range() -> None:
    interview = walk(interview_about("x"), "row", "integer", "0..50000 step 100", "no")
    interview.select("x")
    interview.answer("integer")
    assert asked(interview).suggestion == "0..50000 step 100"
    walk(interview, "0..90", "no")
    assert interview.form.entries == {"x": {"kind": "integer", "min": 0, "max": 90}}


@pytest.mark.parametrize(("answers", "entry"), ENTRIES, ids=lambda value: str(value)[:30])
def test_answers_become_entries(answers: tuple[str, ...], entry: dict[str, Any]) -> None:
    interview = walk(interview_about("x"), "row", *answers)
    assert asked(interview).fact == "done"
    interview.answer("")
    assert interview.finished
    assert interview.question is None
    assert interview.form.entries == {"x": entry}
    interview.form.to_schema()


@pytest.mark.parametrize(
    ("answers", "refused", "cause"),
    [
        ((), "maybe", "none of the answers: row, person"),
        (("person",), "nobody", "none of the answers"),
        (("person", "x"), "0", "not a whole number at or above 1"),
        (("row",), "", "no suggestion"),
        (("row",), "d", "none of the answers"),  # date or datetime
        (("row", "integer"), "many", "no range"),
        (("row", "integer"), "5..1", "below"),
        (("row", "integer"), "2020-01-01..2020-02-01", "no range of integer"),
        (("row", "real"), "1..1", "must be above"),
        (("row", "cat"), "0..5000", "a range, not a list"),
        (("row", "cat"), "vocabulary mnths", "did you mean 'months'"),
        (("row", "boolean"), "a|b|c", "two values"),
        (("row", "cat", "a|b", "none"), "a", "both a value and the"),
        (("row", "date", "2020-01-01..2020-02-01"), "%", "as for strftime"),
        (("row", "identifier"), "no run", "runs of #"),
    ],
)
def test_what_is_not_understood_is_asked_again(
    answers: tuple[str, ...], refused: str, cause: str
) -> None:
    interview = walk(interview_about("x", "y z"), *answers)
    before, state = asked(interview), interview.to_dict()
    with pytest.raises(InputError, match=cause):
        interview.answer(refused)
    assert asked(interview) == before
    assert interview.to_dict() == state


# --------------------------------------------------------------------------- many columns


def test_a_hundred_columns_take_few_answers() -> None:
    names = [
        *(f"q{i}" for i in range(60)),
        *(f"lab_{c}" for c in "abcdefghij"),
        "age",
        *(f"drug{i}_mg" for i in range(29)),
    ]
    interview = walk(interview_about(*names), "row")
    assert len(asked(interview).columns) == 60
    walk(interview, "categorical", "1..5", "yes")
    interview.select("lab_*")
    assert len(asked(interview).columns) == 10
    walk(interview, "real", "0..1000", "yes")
    interview.accept()  # the age, by its name
    assert len(asked(interview).columns) == 29
    walk(interview, "real", "0..500", "no", "write")
    assert interview.finished
    assert len(interview.form.to_schema()) == 100
    assert len(interview.to_dict()["actions"]) <= 15


def test_columns_by_type_and_by_kind() -> None:
    interview = walk(interview_about("a", "b", "age", "c", a="real", c="real"), "row")
    interview.select("type:real")
    assert asked(interview).columns == ("a", "c")
    interview.select("kind:integer")
    assert asked(interview).columns == ("age",)
    interview.select("b, age")
    assert asked(interview).columns == ("b", "age")
    interview.select("all")
    assert asked(interview).columns == ("a", "b", "age", "c")
    interview.select_columns(["c"])
    assert asked(interview).columns == ("c",)
    with pytest.raises(InputError, match="No column matches 'x"):
        interview.select("x*")


def test_a_selection_is_asked_everything_with_what_was_said_as_suggestion() -> None:
    interview = walk(interview_about("a", "b"), "row", "integer", "0..9", "no")
    interview.select("a")
    for expected in ("integer", "0..9", "yes"):
        assert asked(interview).suggestion == expected
        interview.answer("")
    assert interview.form.entries["a"] == {"kind": "integer", "min": 0, "max": 9, "missing": True}
    assert asked(interview).columns == ("b",)


def test_same_as_another() -> None:
    interview = walk(interview_about("a", "b", "c"), "row", "real", "0..1", "no")
    interview.select("b, c")
    interview.same_as("a")
    assert interview.form.entries["c"] == {"kind": "real", "min": 0, "max": 1}
    assert asked(interview).fact == "done"
    with pytest.raises(InputError, match="Choose columns first"):
        interview.same_as("a")


def test_skipped_columns_come_again() -> None:
    interview = walk(interview_about("a", "b"), "row")
    interview.skip()
    assert interview.skipped_columns == {"a"}
    walk(interview, "boolean", "", "no")
    assert asked(interview).fact == "open"
    interview.answer("again")
    assert asked(interview).columns == ("a",)


def test_open_columns_may_stay_open_or_out() -> None:
    interview = walk(interview_about("a", "b"), "row")
    interview.skip()
    interview.skip()
    interview.answer("leave out")
    assert interview.form.entries["a"] == {"kind": "text", "replacement": None}
    interview.back()
    interview.answer("draft")
    assert interview.finished
    assert interview.form.open_facts() == {"a": ("kind",), "b": ("kind",)}


def test_only_what_is_open_is_asked() -> None:
    form = Form(
        {
            "a": {"kind": "integer", "min": 0, "max": 5},
            "b": {"kind": "real", "min": 0, "max": None, "missing": True, "decimals": 2},
            "c": {"kind": "categorical", "values": None, "missing": "?"},
        }
    )
    interview = walk(Interview(form), "row", "0..10", "x|y", "none")
    assert asked(interview).fact == "done"
    assert interview.form.entries["b"] == {
        **{"kind": "real", "min": 0, "max": 10, "missing": True, "decimals": 2}
    }
    assert interview.form.entries["c"] == {
        **{"kind": "categorical", "values": ["x", "y"], "missing": "?"}
    }


def test_a_declared_type_is_the_suggestion() -> None:
    interview = walk(interview_about("age", age="real"), "row")
    assert asked(interview).suggestion == "real"
    interview.answer("")
    assert asked(interview).suggestion == ""  # the range of ages is one of whole numbers


def test_the_person_cannot_be_changed_by_a_selection() -> None:
    interview = walk(interview_about("who", "a"), "person", "who", "1")
    interview.select("all")
    assert asked(interview).columns == ("a",)
    with pytest.raises(InputError, match="whose row"):
        interview.select("who")


# --------------------------------------------------------------------------- back, save, resume


def test_back_to_the_first_question() -> None:
    interview = walk(interview_about("a"), "row", "integer")
    interview.back()
    assert asked(interview).fact == "kind"
    interview.back()
    assert asked(interview).fact == "unit"
    with pytest.raises(InputError, match="first question"):
        interview.back()


@pytest.mark.parametrize(
    "damage",
    [
        None,
        {},
        {"version": 2},
        {"actions": [["answer"]]},
        {"actions": [["explode", ""]]},
        {"actions": 7},
        {"declared": 7},
        {"form": []},
        {"actions": [["answer", "maybe"]]},
        {"actions": [["columns", "{"]]},
        {"actions": [["answer", "row"], ["columns", "7"]]},
    ],
)
def test_a_damaged_interview_is_refused(damage: Any) -> None:
    document = interview_about("a").to_dict()
    if damage is not None:
        document = {**document, **damage}
    if damage in (None, {}):
        document = damage
    with pytest.raises(InputError):
        Interview.from_dict(document)


STEP = st.one_of(
    st.tuples(
        st.just("answer"),
        st.sampled_from(
            [
                *("", "row", "person", "id", "2", "integer", "real", "cat", "boolean", "date"),
                *("identifier", "text", "0..9", "1900-01-01..2000-01-01", "a|b", "1..3", "yes"),
                *("no", "none", "write", "again", "draft", "leave out", "vocabulary sex", "?"),
            ]
        ),
    ),
    st.tuples(st.just("answer"), st.text(max_size=6)),
    st.tuples(st.just("select"), st.sampled_from(["all", "open", "q*", "age", "kind:real", "zz"])),
    st.tuples(st.just("same_as"), st.sampled_from(["age", "q1", "nobody"])),
    st.tuples(st.sampled_from(["skip", "back", "accept"]), st.none()),
)


@settings(max_examples=300, deadline=None)
@given(steps=st.lists(STEP, max_size=40))
def test_any_walk_stays_in_order(steps: list[tuple[str, str | None]]) -> None:
    """Whatever is done: a question or the end, described columns make a schema, saving and taking
    up again changes nothing, and a step that is taken back was never there.
    """
    names = ("id", "age", "q1", "q2", "wage", "note")
    interview = interview_about(*names, wage="real")
    for what, given_text in steps:
        before = interview.to_dict(), interview.question
        try:
            getattr(interview, what)(*([] if given_text is None else [given_text]))
        except InputError:
            assert (interview.to_dict(), interview.question) == before
            continue
        if what != "back":
            taken_back = Interview.from_dict(interview.to_dict())
            taken_back.back()
            assert (taken_back.to_dict(), taken_back.question) == before
        saved = json.loads(json.dumps(interview.to_dict()))
        resumed = Interview.from_dict(saved)
        assert resumed.question == interview.question
        assert resumed.form.to_dict() == interview.form.to_dict()
        assert resumed.unit == interview.unit
        assert set(interview.form.entries) == set(names)
        assert (interview.question is None) == interview.finished
        interview.form.check()


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_every_walk_can_end_in_a_schema(data: st.DataObject) -> None:
    """Answering what each question offers leads to a valid schema, whatever is chosen."""
    free = {
        "range": {
            "time": "08:00..09:00",
            "date": "2000-01-01..2001-01-01",
            "datetime": "2000-01-01..2001-01-01",
        },
        "values": "a|b",
    }
    interview = interview_about("id", "age", "q1", "q2", "x")
    for _ in range(100):
        question = interview.question
        if question is None:
            break
        if question.fact in ("open", "done"):
            answer = question.suggestion
        elif question.options:
            answer = data.draw(st.sampled_from([name for name, _ in question.options]))
        elif question.fact == "range":
            kind = interview._state.entry["kind"]
            answer = free["range"].get(kind, "0..9")  # type: ignore[attr-defined]
        elif question.fact == "values":
            answer = "a|b"
        else:
            answer = question.suggestion
        interview.answer(answer)
    assert interview.finished
    assert len(interview.form.to_schema()) == 5


# --------------------------------------------------------------------------- guesses


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("age", "integer"),
        ("AgeAtDeath", "integer"),
        ("patient_id", "identifier"),
        ("isSmoker", "boolean"),
        ("birth_date", "date"),
        ("Income2020", "real"),
        ("first name", "text"),
        ("country", "categorical"),
        ("V17", None),
        ("idle", None),
        ("", None),
    ],
)
def test_guesses_come_from_names(name: str, kind: str | None) -> None:
    assert guess_from_name(name).kind == kind
