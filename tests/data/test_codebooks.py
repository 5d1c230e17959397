"""Codebooks of all formats say the same of the same table; hostile ones are refused."""

from __future__ import annotations

import gzip
import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy import InputError, Schema
from understudy.data.attribute_reading import OPTIONS
from understudy.data.codebooks import MAX_CODEBOOK, Codebook, read_codebook
from understudy.data.codebooks.facts import read_range
from understudy.data.forms import NEEDED, describe_open
from understudy.data.interview.questions import FACTS, KIND_CHOICES

FRICTIONLESS = {
    "name": "people",
    "resources": [
        {"name": "people", "path": "people.arff"},
        {
            "name": "people",
            "path": "people.csv",
            "encoding": "ISO-8859-1",
            "dialect": {"delimiter": ";", "quoteChar": "'"},
            "schema": {
                "fields": [
                    {"name": "id", "type": "integer"},
                    {
                        "name": "age",
                        "type": "integer",
                        "constraints": {"minimum": 0, "maximum": 120, "required": True},
                    },
                    {
                        "name": "sex",
                        "type": "string",
                        "constraints": {"enum": ["F", "M"], "required": True},
                    },
                    {
                        "name": "weight",
                        "type": "number",
                        "constraints": {"minimum": 0, "maximum": 300},
                    },
                    {
                        "name": "born",
                        "type": "date",
                        "constraints": {"minimum": "1900-01-01", "maximum": "2029-12-31"},
                    },
                    {"name": "income", "type": "number"},
                    {"name": "job", "type": "string"},
                ],
                "primaryKey": "id",
                "missingValues": [""],
            },
        },
    ],
}

CSVW = {
    "@context": "http://www.w3.org/ns/csvw",
    "url": "people.csv",
    "dialect": {"delimiter": ";", "quoteChar": "'", "encoding": "ISO-8859-1"},
    "tableSchema": {
        "primaryKey": "number",
        "columns": [
            {"name": "number", "titles": "id", "datatype": "integer"},
            {
                "titles": {"en": ["age"]},
                "datatype": {"base": "integer", "minimum": 0, "maxExclusive": 121},
                "required": True,
            },
            {
                "name": "sex",
                "datatype": {"base": "string", "format": "^(F|M)$"},
                "required": True,
            },
            {"name": "weight", "datatype": {"base": "number", "minimum": "0", "maximum": "300"}},
            {
                "name": "born",
                "datatype": {"base": "date", "minimum": "1900-01-01", "maximum": "2029-12-31"},
            },
            {"name": "income", "datatype": "number"},
            {"name": "job", "datatype": "string"},
            {"name": "made", "virtual": True},
        ],
    },
}

JSON_SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "array",
    "items": {"$ref": "#/$defs/person"},
    "$defs": {
        "sex": {"enum": ["F", "M"]},
        "person": {
            "type": "object",
            "required": ["id", "age", "sex"],
            "properties": {
                "id": {"type": "string", "format": "uuid"},
                "age": {"type": "integer", "minimum": 0, "exclusiveMaximum": 121},
                "sex": {"$ref": "#/$defs/sex"},
                "weight": {"type": ["number", "null"], "minimum": 0, "maximum": 300},
                "born": {"type": "string", "format": "date"},
                "income": {"type": "number"},
                "job": {"type": "string"},
            },
        },
    },
}

DDI = """<?xml version="1.0" encoding="UTF-8"?>
<codeBook xmlns="ddi:codebook:2_5" version="2.5">
  <fileDscr ID="F1"><fileTxt><fileName>people.csv</fileName></fileTxt></fileDscr>
  <dataDscr>
    <var ID="V1" name="age" files="F1" intrvl="contin" dcml="0">
      <valrng><range min="0" max="120"/></valrng>
      <sumStat type="min">17</sumStat><sumStat type="max">93</sumStat>
      <varFormat type="numeric"/>
    </var>
    <var ID="V2" name="sex" files="F1" intrvl="discrete" nature="nominal">
      <catgry><catValu>1</catValu><labl>male</labl><catStat type="freq">12</catStat></catgry>
      <catgry><catValu>2</catValu><labl>female</labl></catgry>
      <catgry missing="Y"><catValu>9</catValu><labl>no answer</labl></catgry>
      <varFormat type="numeric"/>
    </var>
    <var ID="V3" name="health" files="F1" nature="ordinal">
      <catgry><catValu>bad</catValu></catgry><catgry><catValu>good</catValu></catgry>
      <varFormat type="character"/>
    </var>
    <var ID="V4" name="weight" files="F1" intrvl="contin" dcml="1"><varFormat type="numeric"/></var>
  </dataDscr>
</codeBook>
"""

SQL = """
-- people, as the registry keeps them
CREATE TYPE mood AS ENUM ('sad', 'it''s ok', 'happy');
CREATE TABLE IF NOT EXISTS registry.people (
  id BIGSERIAL PRIMARY KEY,
  "age" INT NOT NULL CHECK (age BETWEEN 0 AND 120),
  sex CHAR(1) NOT NULL CHECK (sex IN ('F','M')),
  mood mood,
  weight NUMERIC(5,2) CHECK (weight >= 0 AND weight <= 300),
  size ENUM('s','m','l') NOT NULL,
  born DATE,
  smoker BOOLEAN NOT NULL,
  income DOUBLE PRECISION,
  kind VARCHAR(10) CHECK (kind = 'a' OR kind = 'b'),
  cents NUMERIC(9) CHECK (0 < cents),
  CONSTRAINT lived CHECK (born >= '1900-01-01'),
  CHECK (born < DATE '2030-01-01')
);
"""

STATA = """* labels of the survey
label define sexlbl 1 "Male" 2 "Female" .a "refused"
label define agree 1 "not at all" ///
    2 "somewhat, or so" 3 "very"
label define agree 4 "entirely", add
label variable income "Income, in euros"
label values sex sexlbl
lab val q1 q2 agree
"""

SPSS = """* labels of the survey.
VARIABLE LABELS income 'Income, in euros' / age 'Age'.
VALUE LABELS sex 1 'Male' 2 'Female. Really'
  / q1 q2 1 'not at all' 2 "it's so" 9 'no answer'
  / region 'N' 'North' 'S' 'South'.
MISSING VALUES q1 q2 (9).
VARIABLE LEVEL sex (NOMINAL) / q1 q2 (ORDINAL) / age income (SCALE).
"""

TWO_COLUMNS = """column,values,missing
id,identifier,
age,0..120,
sex,F|M,
weight,real 0..300,yes
born,1900-01-01 to 2029-12-31,?
region,"1=North; 2=South",
code,007|008,
country,vocabulary iso-3166-1,
smoker,boolean no|yes,
income,real,
"""


def book(folder: Path, name: str, content: Any, **options: Any) -> Codebook:
    path = folder / name
    if isinstance(content, str):
        path.write_text(content, encoding="utf-8")
    elif isinstance(content, bytes):
        path.write_bytes(content)
    elif callable(content):
        path.write_bytes(content())
    else:
        path.write_text(json.dumps(content))
    return read_codebook(path, **options)


AGE = {"kind": "integer", "min": 0, "max": 120}
SEX = {"kind": "categorical", "values": ["F", "M"]}
WEIGHT = {"kind": "real", "min": 0, "max": 300, "missing": True}
BORN = {"kind": "date", "min": "1900-01-01", "max": "2029-12-31", "missing": True}
OPEN = {"born": ("min", "max"), "income": ("min", "max"), "job": ("values",)}


@pytest.mark.parametrize(
    ("name", "content", "format"),
    [
        ("people.datapackage.json", FRICTIONLESS, "frictionless"),
        ("people.json", FRICTIONLESS["resources"][1]["schema"], "frictionless"),  # type: ignore[index]
        ("people.csv-metadata.json", CSVW, "csvw"),
        ("people.schema.json", JSON_SCHEMA, "json-schema"),
    ],
)
def test_json_codebooks_agree(tmp_path: Path, name: str, content: Any, format: str) -> None:
    found = book(tmp_path, name, content)
    assert found.format == format
    entries = found.form.entries
    assert entries["id"] == {"kind": "identifier"}
    assert entries["age"] == {**AGE, "missing": False}
    assert entries["sex"] == {**SEX, "missing": False}
    assert entries["weight"] == WEIGHT
    lacking = found.form.open_facts()
    if format != "json-schema":  # which has no bounds for dates
        assert entries["born"] == BORN
        lacking["born"] = ("min", "max")
    assert lacking == OPEN


@pytest.mark.parametrize("content", [FRICTIONLESS, CSVW], ids=["frictionless", "csvw"])
def test_a_dialect_is_taken_over(tmp_path: Path, content: Any) -> None:
    dialect = book(tmp_path, "people.json", content).dialect
    assert (dialect.delimiter, dialect.quote, dialect.encoding) == (";", "'", "ISO-8859-1")


def test_ddi(tmp_path: Path) -> None:
    found = book(tmp_path, "people.xml", DDI)
    assert found.form.entries == {
        "age": AGE,  # not 17 to 93, which was read off the rows
        "sex": {"kind": "categorical", "values": [1, 2], "missing": "9"},
        "health": {"kind": "categorical", "values": ["bad", "good"], "ordered": True},
        "weight": {"kind": "real", "min": None, "max": None, "decimals": 1},
    }
    assert "summary statistics" in found.notes[0]


def test_labels_instead_of_codes(tmp_path: Path) -> None:
    entries = book(tmp_path, "people.xml", DDI, labels=True).form.entries
    assert entries["sex"]["values"] == ["male", "female"]
    assert book(tmp_path, "p.do", STATA, labels=True).form.entries["q2"]["values"] == [
        *("not at all", "somewhat, or so", "very", "entirely")
    ]


def test_sql(tmp_path: Path) -> None:
    entries = book(tmp_path, "people.sql", SQL).form.entries
    assert entries == {
        "id": {"kind": "identifier"},
        "age": {**AGE, "missing": False},
        "sex": {**SEX, "missing": False},
        "mood": {"kind": "categorical", "values": ["sad", "it's ok", "happy"], "missing": True},
        "weight": {**WEIGHT, "decimals": 2},
        "size": {"kind": "categorical", "values": ["s", "m", "l"], "missing": False},
        "born": BORN,
        "smoker": {"kind": "boolean", "missing": False},
        "income": {"kind": "real", "min": None, "max": None, "missing": True},
        "kind": {"kind": "categorical", "values": ["a", "b"], "missing": True},
        "cents": {"kind": "integer", "min": 1, "max": None, "missing": True},
    }


def test_sql_of_mysql(tmp_path: Path) -> None:
    text = (
        "CREATE TABLE `t` (`n` int(11) unsigned NOT NULL AUTO_INCREMENT, "
        "`k` enum('a','b') DEFAULT 'a', PRIMARY KEY (`n`)) ENGINE=InnoDB;"
    )
    entries = book(tmp_path, "t.txt", text).form.entries
    assert entries == {
        "n": {"kind": "identifier"},
        "k": {"kind": "categorical", "values": ["a", "b"], "missing": True},
    }


def test_stata(tmp_path: Path) -> None:
    entries = book(tmp_path, "labels.do", STATA).form.entries
    agree = {"kind": "categorical", "values": [1, 2, 3, 4]}
    assert entries == {
        "income": {"kind": None},
        "sex": {"kind": "categorical", "values": [1, 2], "missing": True},
        "q1": agree,
        "q2": agree,
    }


def test_spss(tmp_path: Path) -> None:
    entries = book(tmp_path, "labels.sps", SPSS).form.entries
    answers = {"kind": "categorical", "values": [1, 2], "ordered": True, "missing": "9"}
    scale = {"kind": "real", "min": None, "max": None}
    assert entries == {
        "income": scale,
        "age": scale,
        "sex": {"kind": "categorical", "values": [1, 2]},
        "q1": answers,
        "q2": answers,
        "region": {"kind": "categorical", "values": ["N", "S"]},
    }


def test_two_columns(tmp_path: Path) -> None:
    found = book(tmp_path, "facts.csv", TWO_COLUMNS)
    assert found.form.entries == {
        "id": {"kind": "identifier"},
        "age": {**AGE, "missing": False},
        "sex": {**SEX, "missing": False},
        "weight": WEIGHT,
        "born": {**BORN, "missing": "?"},
        "region": {"kind": "categorical", "values": [1, 2], "missing": False},
        "code": {"kind": "categorical", "values": ["007", "008"], "missing": False},
        "country": {"kind": "categorical", "vocabulary": "iso-3166-1", "missing": False},
        "smoker": {"kind": "boolean", "values": ["no", "yes"], "missing": False},
        "income": {"kind": "real", "min": None, "max": None, "missing": False},
    }


def test_times_of_day_have_bounds_of_their_own(tmp_path: Path) -> None:
    entries = book(tmp_path, "t.csv", "opens,08:00..12:00\ncloses,time\n").form.entries
    assert entries["opens"] == {"kind": "time", "min": "08:00:00", "max": "12:00:00"}
    assert entries["closes"] == {"kind": "time", "min": "00:00:00", "max": "23:59:59"}
    found = book(tmp_path, "t.sql", "CREATE TABLE t (opens TIME NOT NULL);").form
    assert len(found.to_schema()) == 1


def test_one_line_per_value(tmp_path: Path) -> None:
    lines = "variable;allowed\nsex;female\nsex;male\nage;0-120\n"
    assert book(tmp_path, "facts.csv", lines).form.entries == {
        "sex": {"kind": "categorical", "values": ["female", "male"]},
        "age": AGE,
    }


@pytest.mark.parametrize("suffix", [".dta", ".sav"])
def test_files_of_stata_and_spss(tmp_path: Path, suffix: str) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"sex": [1.0, 2.0], "job": ["smith", "baker"], "age": [33.5, 44.5]})
    path = tmp_path / f"people{suffix}"
    write = {".dta": pyreadstat.write_dta, ".sav": pyreadstat.write_sav}[suffix]
    write(frame, str(path), variable_value_labels={"sex": {1: "male", 2: "female"}})
    found = read_codebook(path)
    assert found.form.entries == {
        "sex": {"kind": "categorical", "values": [1, 2], "missing": True},
        "job": {"kind": "categorical", "values": None, "missing": True},
        "age": {"kind": "real", "min": None, "max": None, "missing": True},
    }
    assert "smith" not in json.dumps(found.form.to_dict())


# --------------------------------------------------------------------------- Python


def test_a_schema_from_a_codebook(tmp_path: Path) -> None:
    (tmp_path / "facts.csv").write_text("age,0..120\nsex,F|M\n")
    schema = Schema.from_codebook(tmp_path / "facts.csv")
    assert [attribute.size for attribute in schema] == [16, 2]


def test_what_is_open_is_listed(tmp_path: Path) -> None:
    (tmp_path / "people.json").write_text(json.dumps(FRICTIONLESS))
    with pytest.raises(InputError) as refusal:
        Schema.from_codebook(tmp_path / "people.json")
    assert str(refusal.value).endswith(
        "leaves open a smallest and a largest value of income; the values that can occur of job."
    )


def test_many_open_columns_take_one_phrase() -> None:
    lacking = {f"q{i}": ("values",) for i in range(100)}
    assert describe_open(lacking) == (
        "the values that can occur of q0, q1, q2, q3, q4, q5 and 94 more"
    )


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("0..120", ("0", "120")),
        ("-5..-1", ("-5", "-1")),
        (".5..1", (".5", "1")),
        ("[0, 1.5]", ("0", "1.5")),
        ("0-120", ("0", "120")),
        ("2020-01-01..2020-12-31", ("2020-01-01", "2020-12-31")),
        ("a..b", None),
        ("08:00..17:30", ("08:00", "17:30")),
        ("well-known", None),
        ("7", None),
    ],
)
def test_ranges(text: str, ends: tuple[str, str] | None) -> None:
    assert read_range(text) == ends


# --------------------------------------------------------------------------- several tables


def test_the_table_is_told_by_its_file(tmp_path: Path) -> None:
    two = {
        "resources": [
            {"name": name, "schema": {"fields": [{"name": name, "type": "boolean"}]}}
            for name in ("visits", "people")
        ]
    }
    (tmp_path / "book.json").write_text(json.dumps(two))
    found = read_codebook(tmp_path / "book.json", table="data/People.csv.gz")
    assert list(found.form.entries) == ["people"]
    with pytest.raises(InputError, match=r"describes 2 tables \(visits, people\); name the table"):
        read_codebook(tmp_path / "book.json")


# --------------------------------------------------------------------------- hostile ones

BILLION_LAUGHS = """<?xml version="1.0"?>
<!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol2 "&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;">]>
<codeBook><dataDscr><var name="&lol2;"/></dataDscr></codeBook>"""
EXTERNAL = """<?xml version="1.0"?>
<!DOCTYPE codeBook SYSTEM "file:///etc/passwd">
<codeBook><dataDscr><var name="a"/></dataDscr></codeBook>"""
ENTITY = """<!DOCTYPE c [<!ENTITY x SYSTEM "file:///etc/passwd">]><codeBook>&x;</codeBook>"""
DEEP_XML = "<codeBook>" * 100_000 + "</codeBook>" * 100_000
DEEP_JSON = '{"properties":' * 50_000 + "1" + "}" * 50_000
DEEP_SQL = f"CREATE TABLE t (a INT CHECK ({'(' * 20_000}a > 0{')' * 20_000}));"
WIDE_JSON = {"fields": [{"name": f"c{i}"} for i in range(100_000)]}
WIDE_SQL = f"CREATE TABLE t ({', '.join(f'c{i} INT' for i in range(20_000))});"
MANY_LABELS = f"""label define x {" ".join(f'{i} "a"' for i in range(70_000))}
label values c x"""
WIDE_CSV = "\n".join(f"c{i},0..1" for i in range(100_000))


def pack_many_lines() -> bytes:
    """Few bytes that become 56 MB."""
    return gzip.compress(b"a,0..1\n" * (1 << 23), mtime=0)


CIRCLE = {"properties": {"a": {"$ref": "#/properties/a"}}}
OUTWARDS = {"properties": {"a": {"$ref": "https://example.org/a.json"}}}


@pytest.mark.parametrize(
    ("name", "content", "cause"),
    [
        ("a.xml", BILLION_LAUGHS, "document type or entities"),
        ("a.xml", EXTERNAL, "document type or entities"),
        ("a.xml", ENTITY, "document type or entities"),
        ("a.xml", DEEP_XML, "64 levels deep"),
        ("a.xml", "<codeBook><var", "not valid XML"),
        ("a.xml", "<html></html>", "not a DDI codeBook"),
        ("a.xml", "<DDIInstance/>", "DDI-Lifecycle"),
        ("a.xml", "<codeBook/>", "describes no column"),
        ("a.json", DEEP_JSON, "nested too deeply"),
        ("a.json", WIDE_JSON, "describes 100,000 columns; at most 10,000"),
        ("a.json", CIRCLE, "without an end"),
        ("a.json", OUTWARDS, "another document"),
        ("a.json", [1, 2], "is JSON, but"),
        ("a.json", {"fields": [{"type": "string"}]}, "a field without a name"),
        ("a.json", {"fields": [{"name": "a"}, {"name": "a"}]}, "the column 'a' twice"),
        ("a.sql", DEEP_SQL, "nested too deeply|no CREATE TABLE"),
        ("a.sql", "SELECT 1", "no CREATE TABLE"),
        ("a.sql", WIDE_SQL, "describes 20,000 columns"),
        ("a.sql", "-- dump\n" * 600_000, "larger than 4 MB; give its CREATE TABLE alone"),
        ("a.do", MANY_LABELS, "it has 70000 values"),
        ("a.csv", WIDE_CSV, "describes 100,000 columns"),
        ("a.csv", "a\nb", "has 1 cells"),
        ("a.csv", "age,120..0", "is below"),
        ("a.csv", b"\x00\x01\x02,\x00", "not a text file"),
        ("a.bin", "whatever", "format that is not known"),
        ("a.csv", "  \n", "is empty"),
        ("a.csv", pack_many_lines, "larger than 32 MB"),
        ("a.csv", gzip.compress(b"a,0..1\n", mtime=0)[:-4], "damaged"),
        ("a.sav", "not one", "cannot be read"),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)[:20].replace("\n", " ")),
)
def test_refused_in_one_sentence(tmp_path: Path, name: str, content: Any, cause: str) -> None:
    begin = time.process_time()
    with pytest.raises(InputError, match=cause) as refusal:
        book(tmp_path, name, content)
    assert str(tmp_path / name) in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert time.process_time() - begin < 10


def test_a_huge_file_is_not_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate(50 * MAX_CODEBOOK)
    with pytest.raises(InputError, match="larger than 32 MB"):
        read_codebook(path)


def test_an_unknown_format(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no codebook format 'xls'; known are frictionless"):
        book(tmp_path, "a.csv", "a,0..1", format="xls")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("fields", "name", "type", "constraints", "enum", "minimum", "properties"),
                    *(
                        "resources",
                        "schema",
                        "tableSchema",
                        "columns",
                        "datatype",
                        "base",
                        "format",
                    ),
                    *("items", "$ref", "oneOf", "const", "missingValues", "primaryKey", "required"),
                    *("titles", "null", "dialect", "attributes", "kind", "tables", "categories"),
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@pytest.mark.thorough
@settings(max_examples=300, deadline=None)
@given(document=JSON, format=st.sampled_from(["frictionless", "csvw", "json-schema", None]))
def test_any_json_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, document: Any, format: str | None
) -> None:
    with suppress(InputError):
        book(tmp_path_factory.mktemp("any"), "a.json", json.dumps(document), format=format)


@pytest.mark.thorough
@settings(max_examples=200, deadline=None)
@given(
    pieces=st.lists(
        st.sampled_from(
            [
                *(
                    "label define ",
                    "label values ",
                    "VALUE LABELS ",
                    "MISSING VALUES ",
                    "sex ",
                    "1 ",
                ),
                *("'a' ", '"b" ', "/ ", "(", ") ", ".\n", "\n", ", ", "..", "0..1", "|", "'", '"'),
                *("CREATE TABLE t (a INT", " CHECK (a > 1)", ");", "ENUM('x')", "///\n", "=", "?"),
            ]
        ),
        max_size=20,
    ),
    format=st.sampled_from(["stata", "spss", "csv", "sql"]),
)
def test_any_text_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[str], format: str
) -> None:
    with suppress(InputError):
        book(tmp_path_factory.mktemp("any"), "a.txt", "".join(pieces), format=format)


@settings(max_examples=100, deadline=None)
@given(
    low=st.integers(-1000, 1000),
    width=st.integers(0, 1000),
    values=st.lists(st.text("abcxyz-_ 1<", min_size=1).map(str.strip), min_size=1, unique=True),
)
def test_what_the_table_says_is_what_the_schema_says(
    tmp_path_factory: pytest.TempPathFactory, low: int, width: int, values: list[str]
) -> None:
    listed = [value for value in dict.fromkeys(values) if value]
    lines = [f"n,{low}..{low + width}", *(f"k,{value}" for value in listed)]
    if len(listed) < 2:
        return
    entries = book(tmp_path_factory.mktemp("any"), "a.csv", "\n".join(lines)).form.entries
    assert entries["n"] == {"kind": "integer", "min": low, "max": low + width}
    assert [str(value) for value in entries["k"]["values"]] == listed or all(
        value.isdecimal() for value in listed
    )


def test_a_form_knows_every_kind_of_the_schema() -> None:
    assert set(NEEDED) == set(FACTS) == {kind for kind, _ in KIND_CHOICES} == set(OPTIONS)
