"""``understudy schema`` from codebooks: nothing is spent, and what is open is listed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from running import Ran, run
from understudy import Independent, Schema, read_table
from understudy.engines.headers import read_columns

PACKAGE = {
    "fields": [
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}},
        {"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"], "required": True}},
        {"name": "score_1", "type": "number"},
        {"name": "score_2", "type": "number"},
    ]
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{20 + i % 50},{'fm'[i % 2]},{i % 7}.5,{i % 5}\n" for i in range(300))
    (tmp_path / "people.csv").write_text("age,sex,score_1,score_2\n" + rows)
    (tmp_path / "package.json").write_text(json.dumps(PACKAGE))
    (tmp_path / "facts.csv").write_text("score_*,real 0..10\n")
    return tmp_path


def fine(*arguments: object) -> Ran:
    ran = run(*arguments, columns=1000)
    assert ran.status == 0, ran.err
    return ran


def test_what_is_open_is_said(folder: Path) -> None:
    ran = fine("schema", "people.csv", "--from", "package.json", "-o", "s.json")
    assert "Nothing was spent" in ran.err
    assert "a smallest and a largest value of score_1, score_2." in ran.err
    assert "understudy schema people.csv --from s.json --interactive -o s.json" in ran.err
    written = json.loads(Path("s.json").read_text())["attributes"]
    assert written["score_1"] == {"kind": "real", "min": None, "max": None, "missing": True}
    refused = run("plan", "--schema", "s.json", "--rows", 300, columns=1000)
    assert refused.status == 2
    assert "column 'score_1': \"min\" is still open (null)" in refused.err


def test_what_is_open_is_discovered_at_a_price(folder: Path) -> None:
    fine("schema", "people.csv", "--from", "package.json", "-o", "s.json")
    release = ["--schema", "s.json", "--model", "m.json", "-o", "out.csv", "--epsilon", 100]
    ran = fine("synthesize", "people.csv", *release)
    assert "Not all columns are described" in ran.err
    model = json.loads(Path("m.json").read_text())
    assert model["ledger"]["taken_as_public"][0].startswith("the schema, but for the columns")
    asked = [entry["question"] for entry in model["ledger"]["entries"]]
    found = [question for question in asked if question.startswith(("kind of", "values of"))]
    assert found
    assert all("score_" in question for question in found)
    attributes = model["schema"]["attributes"]
    assert attributes["sex"] == {"kind": "categorical", "values": ["f", "m"]}
    assert list(attributes) == ["age", "sex", "score_1", "score_2"]


def test_a_draft_of_another_table_is_refused(folder: Path) -> None:
    (folder / "s.json").write_text('{"attributes": {"age": {"kind": null}, "x": {"kind": "text"}}}')
    ran = run("synthesize", "people.csv", "--schema", "s.json", "-o", "out.csv", columns=1000)
    assert (ran.status, "has no column 'x', which the schema describes" in ran.err) == (2, True)


def test_two_codebooks_make_a_release(folder: Path) -> None:
    options = ["--from", "package.json", "--from", "facts.csv"]
    ran = fine("schema", "people.csv", *options, "-o", "s.json")
    assert "Next: understudy synthesize people.csv --schema s.json --epsilon 1" in ran.err
    assert len(Schema.load("s.json")) == 4
    fine("synthesize", "people.csv", "--schema", "s.json", "--rows", 50, "-o", "out.csv")
    assert read_table("out.csv").rows == 50


def test_the_dialect_of_a_package_reads_the_file(folder: Path) -> None:
    """Values in single quotes come out without them, also where one holds a comma."""
    package = {
        "resources": [
            {
                "name": "zoo",
                "dialect": {"quoteChar": "'"},
                "encoding": "utf-16",
                "schema": {"fields": [{"name": "kind of", "type": "string"}, {"name": "n"}]},
            }
        ]
    }
    (folder / "zoo.json").write_text(json.dumps(package))
    (folder / "zoo.facts.csv").write_text('kind of,"cat, small|dog"\nn,1|2\n')
    rows = "".join(
        f"{['dog', chr(39) + 'cat, small' + chr(39)][i % 2]},{1 + i % 2}\n" for i in range(200)
    )
    (folder / "zoo.csv").write_text("'kind of',n\n" + rows, encoding="utf-16")
    ran = fine("schema", "zoo.csv", "--from", "zoo.json", "--from", "zoo.facts.csv", "-o", "s.json")
    assert "Next:" in ran.err
    assert json.loads(Path("s.json").read_text())["reading"] == {
        **{"quote": "'", "encoding": "utf-16"}
    }
    release = ["--schema", "s.json", "--epsilon", 100, "-o", "out.csv", "--model", "m.json"]
    fine("synthesize", "zoo.csv", *release)
    made = Path("out.csv").read_text().splitlines()
    assert made[0] == "kind of,n"
    assert set(made[1:]) == {'"cat, small",2', "dog,1"}
    assert "reading" not in json.loads(Path("m.json").read_text())["schema"]
    kinds = Independent(epsilon=100.0).fit("zoo.csv", "s.json").sample(10).columns["kind of"].words
    assert set(kinds) - {""} == {"cat, small", "dog"}


@pytest.mark.parametrize(
    ("reading", "cause"),
    [
        ({"quotes": "'"}, "unknown entry 'quotes'; did you mean 'quote'"),
        ({"quote": 7}, "an object of texts"),
        ([], "an object of texts"),
        ({"quote": "abc"}, "quote must be a single sign"),
        ({"encoding": "klingon"}, "encoding 'klingon' is unknown"),
    ],
)
def test_reading_options_are_checked(folder: Path, reading: object, cause: str) -> None:
    attributes = {name: {"kind": "text"} for name in ("age", "score_1", "score_2")}
    attributes["sex"] = {"kind": "boolean"}
    document = {"attributes": attributes, "reading": reading}
    (folder / "s.json").write_text(json.dumps(document))
    ran = run("synthesize", "people.csv", "--schema", "s.json", "-o", "out.csv", columns=1000)
    assert (ran.status, cause in ran.err) == (2, True), ran.err


def test_without_a_table(folder: Path) -> None:
    ran = fine("schema", "--from", "package.json", "--from", "facts.csv")
    assert list(json.loads(ran.out)["attributes"]) == ["age", "sex", "score_1", "score_2"]


def test_columns_that_only_one_side_has(folder: Path) -> None:
    (folder / "facts.csv").write_text("AGE,0..99\nsex,f|m\nsalary,0..9\n")
    ran = fine("schema", "people.csv", "--from", "facts.csv")
    attributes = json.loads(ran.out)["attributes"]
    assert attributes["age"] == {"kind": "integer", "min": 0, "max": 99}
    assert attributes["score_1"] == {"kind": None}
    assert "not in the table, left out: salary." in ran.err
    assert "the kind of score_1, score_2" in ran.err


def test_no_cell_is_looked_at(folder: Path) -> None:
    before = fine("schema", "people.csv", "--from", "package.json").out
    (folder / "people.csv").write_text("age,sex,score_1,score_2\nx,y,z\n\x01,,,,,,\n")
    assert fine("schema", "people.csv", "--from", "package.json").out == before


def test_a_type_decides_nothing(folder: Path) -> None:
    """Whoever wrote the file may have told it from the cells: one empty cell makes reals of
    integers. The interview shows it, and a person decides.
    """
    read_table("people.csv").write("people.parquet")
    (folder / "facts.csv").write_text("sex,f|m\n")
    attributes = json.loads(fine("schema", "people.parquet", "--from", "facts.csv").out)
    assert attributes["attributes"]["age"] == {"kind": None}
    assert read_columns("people.parquet") == {
        **{"age": "integer", "sex": "text", "score_1": "real", "score_2": "integer"}
    }
    assert read_columns("people.csv") == dict.fromkeys(["age", "sex", "score_1", "score_2"])


def test_a_blank_form_needs_no_row(folder: Path) -> None:
    (folder / "people.csv").write_text('age,person_id\n"broken\n')
    ran = fine("schema", "people.csv", "--blank")
    assert json.loads(ran.out) == {
        "attributes": {"age": {"kind": None}, "person_id": {"kind": "identifier"}}
    }
    assert "Nothing was spent" in ran.err


def test_vocabularies_are_listed() -> None:
    assert "iso-3166-1" in fine("schema", "--vocabularies").out


@pytest.mark.parametrize(
    ("arguments", "cause"),
    [
        (["schema"], "Name a table, or a codebook"),
        (["schema", "--from", "none.json"], "There is no codebook at none.json"),
        (["schema", "--from", "facts.csv", "-o", "facts.csv"], "write the schema to a file of"),
        (["schema", "people.csv", "--blank", "--ledger", "x"], "--ledger does not go with them"),
        (["schema", "--from", "facts.csv", "--codebook-format", "x"], "no codebook format 'x'"),
    ],
)
def test_refused(folder: Path, arguments: list[str], cause: str) -> None:
    ran = run(*arguments, columns=1000)
    assert (ran.status, cause in ran.err) == (2, True), ran.err


def test_a_draft_may_be_completed_in_place(folder: Path) -> None:
    fine("schema", "people.csv", "--from", "package.json", "-o", "s.json")
    fine("schema", "people.csv", "--from", "s.json", "--from", "facts.csv", "-o", "s.json")
    assert len(Schema.load("s.json")) == 4


# --------------------------------------------------------------------------- columns never read


def _letters(folder: Path) -> None:
    """A table with two columns of words that a few rows share each, and one of two values."""
    rows = "".join(f"V{i % 400:05},{'yn'[i % 2]},letter {i % 300}\n" for i in range(2000))
    (folder / "letters.csv").write_text("visit,answered,remarks\n" + rows)


def test_a_stop_at_rare_words_names_the_options_that_help(folder: Path) -> None:
    _letters(folder)
    ran = run("synthesize", "letters.csv", "--epsilon", 30, "-o", "out.csv", columns=1000)
    assert (ran.status, Path("out.csv").exists()) == (2, False)
    # The noise decides whether both columns are seen at once, and what is paid for until then.
    assert "where a column holds free text or identifiers, say so (--text" in ran.err
    assert "or --identifier) and it is never read" in ran.err


def test_columns_named_as_unread_are_never_read(folder: Path) -> None:
    _letters(folder)
    unread = ["--identifier", "visit", "--text", "remarks"]
    release = ["--epsilon", 3, "--model", "m.json", "-o", "out.csv"]
    fine("synthesize", "letters.csv", *unread, *release)
    model = json.loads(Path("m.json").read_text())
    kinds = {name: entry["kind"] for name, entry in model["schema"]["attributes"].items()}
    assert (kinds["visit"], kinds["remarks"]) == ("identifier", "text")
    asked = [entry["question"] for entry in model["ledger"]["entries"]]
    assert not [question for question in asked if "visit" in question or "remarks" in question]
    rows = Path("out.csv").read_text().splitlines()
    assert rows[0] == "visit,answered,remarks"
    assert {row.split(",")[2] for row in rows[1:]} == {"[text]"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--text", "x"], "has no column 'x', which the command line describes"),
        (["--text", "age", "--identifier", "age"], "'age' is named as an identifier and as free"),
        (["--schema", "whole.json", "--text", "age"], "describes every column that is used"),
    ],
)
def test_columns_that_cannot_be_unread_are_refused(
    folder: Path, options: list[str], said: str
) -> None:
    (folder / "whole.json").write_text('{"attributes": {"age": {"kind": "text"}}}')
    ran = run("synthesize", "people.csv", *options, "-o", "out.csv", columns=1000)
    assert (ran.status, said in ran.err) == (2, True)


def test_a_form_with_gaps_takes_unread_columns_too(folder: Path) -> None:
    (folder / "s.json").write_text('{"attributes": {"age": {"kind": null}}}')
    release = ["--schema", "s.json", "--text", "score_1", "--epsilon", 100, "--model", "m.json"]
    fine("synthesize", "people.csv", *release, "-o", "out.csv")
    attributes = json.loads(Path("m.json").read_text())["schema"]["attributes"]
    assert attributes["score_1"]["kind"] == "text"
    assert attributes["age"]["kind"] == "integer"
