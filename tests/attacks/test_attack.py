"""All attacks together: what is run, what is said, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from people import SCHEMA, people

from examples import integers, words
from published import published
from understudy import Independent, PrivBayes
from understudy.attacks import Attacks, Promise, attack
from understudy.data.demo import demo_frame, demo_schema
from understudy.data.frames import as_table
from understudy.data.schema import Schema
from understudy.data.tables import Table
from understudy.errors import InputError
from understudy.privacy.mechanisms import SeededNoise

REAL, HOLDOUT, FRESH = (people(500, seed) for seed in (1, 2, 3))
NAMES = ["closest record", "exact copies", "attribute inference", "linkage"]
ANONYMITY = ["k-anonymity", "l-diversity", "t-closeness"]


def all_of_them(synthetic: Table, **options: object) -> Attacks:
    given = {"holdout": HOLDOUT, "quasi_identifiers": ["age", "town"], "secret": "ill"} | options
    return attack(REAL, synthetic, SCHEMA, **given)  # type: ignore[arg-type]


def test_every_attack_speaks() -> None:
    result = all_of_them(FRESH, promise=Promise(1.0))
    assert [found.name for found in result] == [*NAMES, *ANONYMITY]
    for found in result:
        assert found.found.endswith(".")
        assert found.promised.endswith(".")
        assert (found.allowed is not None) == (found.name in NAMES)
    assert result.verdict == "nothing seen"
    assert result.rows == {"real": 500, "synthetic": 500, "holdout": 500}


def test_copies_are_seen_by_all() -> None:
    result = all_of_them(REAL)
    assert [result[name].verdict for name in NAMES] == ["look at this"] * 4
    assert result.verdict == "look at this"


@pytest.mark.parametrize(
    "method", [PrivBayes(epsilon=1.0), Independent(epsilon=1.0)], ids=lambda method: method.name
)
def test_private_rows_stay_within_the_promise(method: PrivBayes | Independent) -> None:
    synthetic = method.fit(REAL, SCHEMA, noise=SeededNoise(1)).sample(seed=1)
    result = all_of_them(synthetic, promise=Promise(1.0))
    assert all(found.verdict != "look at this" for found in result)


def test_json_holds_all_and_nothing_else() -> None:
    for holdout in (HOLDOUT, None):
        result = all_of_them(FRESH, holdout=holdout, promise=Promise(1.0))
        document = json.loads(json.dumps(result.to_dict(), allow_nan=False))
        assert [found["name"] for found in document["attacks"]] == [*NAMES, *ANONYMITY]
        assert document["promise"] == {"epsilon": 1.0, "delta": 0.0, "neighbours": "add_remove"}
        assert "not for release" in document["for"]


def test_a_seed_makes_it_repeatable() -> None:
    assert all_of_them(FRESH, seed=4) == all_of_them(FRESH, seed=4)


def test_without_names_less_is_tried_and_said() -> None:
    result = attack(REAL, FRESH, SCHEMA, holdout=HOLDOUT)
    assert [found.name for found in result] == NAMES[:2]
    assert len(result.notes) == 2
    named = attack(REAL, FRESH, SCHEMA, holdout=HOLDOUT, secret="ill")
    assert [found.name for found in named] == NAMES[:3]
    assert named["attribute inference"].figures["known"] == ["age", "town", "grade", "weight"]
    with pytest.raises(InputError, match="no attack 'linkage'; there are closest record"):
        named["linkage"]


def test_files_without_a_schema(tmp_path: Path) -> None:
    for name, table in (("real", REAL), ("synthetic", FRESH), ("holdout", HOLDOUT)):
        table.write(tmp_path / f"{name}.csv")
    result = attack(
        tmp_path / "real.csv",
        tmp_path / "synthetic.csv",
        holdout=tmp_path / "holdout.csv",
        secret="ill",
        quasi_identifiers="town",
    )
    assert [found.name for found in result] == [*NAMES, *ANONYMITY]
    assert result.verdict == "nothing seen"


def test_identifiers_and_text_are_left_alone() -> None:
    schema = {"attributes": {"id": {"kind": "identifier"}, **SCHEMA.to_dict()["attributes"]}}

    def numbered(table: Table) -> Table:
        return Table({"id": integers(*range(table.rows)), **table.columns})

    parts = [numbered(table) for table in (REAL, FRESH, HOLDOUT)]
    result = attack(
        parts[0], parts[1], Schema.from_dict(schema), holdout=parts[2], promise=Promise(1.0)
    )
    assert result.verdict == "nothing seen"


def test_of_a_large_table_a_sample_is_looked_at() -> None:
    assert (
        attack(people(100, 1), people(5100, 2), SCHEMA)["closest record"].figures["synthetic_rows"]
        == 5000
    )


def test_one_row_tables() -> None:
    lone = people(1, 1)
    result = attack(
        lone,
        lone,
        SCHEMA,
        holdout=people(1, 2),
        quasi_identifiers=["age"],
        secret="ill",
        promise=Promise(1.0),
    )
    assert len(result.attacks) == 7
    json.dumps(result.to_dict(), allow_nan=False)
    json.dumps(
        attack(lone, lone, SCHEMA, quasi_identifiers=["age"], secret="ill").to_dict(),
        allow_nan=False,
    )


def first(table: Table, rows: int) -> Table:
    columns = {}
    for name, column in table.columns.items():
        missing = None if column.missing is None else column.missing[:rows]
        columns[name] = replace(column, values=column.values[:rows], missing=missing)
    return Table(columns, table.source)


def without(table: Table, name: str) -> Table:
    return Table(
        {other: column for other, column in table.columns.items() if other != name}, table.source
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"quasi_identifiers": ["agee"]},
            "no column 'agee' that could be a quasi-identifier; columns are age, town",
        ),
        ({"secret": "illl"}, "no column 'illl' that could be the secret"),
        ({"secret": "age"}, "'age' is named as the secret and as a quasi-identifier"),
        (
            {"holdout": without(HOLDOUT, "town")},
            "The holdout does not fit the real table: .* no column 'town'",
        ),
        (
            {"holdout": Table({**HOLDOUT.columns, "x": words(*["a"] * 500)})},
            "does not fit .* a column 'x'",
        ),
        (
            {"holdout": Table({name: integers() for name in SCHEMA.names})},
            "The holdout has no rows",
        ),
        ({"holdout": REAL}, "The holdout must hold other people than the table"),
        ({"holdout": first(REAL, 100)}, "The holdout must hold other people than the table"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_bad_options(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        all_of_them(FRESH, **options)


def test_bad_tables() -> None:
    with pytest.raises(InputError, match="The holdout must hold other people than the table"):
        attack(first(REAL, 100), FRESH, SCHEMA, holdout=REAL)
    with pytest.raises(InputError, match="no column 'town'"):
        attack(REAL, without(FRESH, "town"), SCHEMA)
    with pytest.raises(InputError, match="no column 'town'"):
        attack(REAL, without(FRESH, "town"))
    with pytest.raises(InputError, match="no rows"):
        attack(REAL, Table({name: integers() for name in SCHEMA.names}), SCHEMA)


@pytest.mark.thorough
def test_the_demo_survey_stays_within_the_promise() -> None:
    pytest.importorskip("statsmodels")
    frame = demo_frame().sample(frac=1, random_state=1)
    used, held = as_table(frame.iloc[:3000])[0], as_table(frame.iloc[3000:6000])[0]
    synthetic = PrivBayes(epsilon=1.0).fit(used, demo_schema(), noise=SeededNoise(2)).sample(seed=2)
    known = ["age", "yrs_married", "children", "educ"]
    result = attack(
        used,
        synthetic,
        demo_schema(),
        holdout=held,
        quasi_identifiers=known,
        secret="affairs",
        promise=Promise(1.0),
    )
    assert all(found.verdict != "look at this" for found in result)


@pytest.mark.thorough
@pytest.mark.data
def test_adult_against_itself(data: Path) -> None:
    table, schema = published("adult", data)
    some = Table(
        {
            name: replace(column, values=column.values[:500])
            for name, column in table.columns.items()
        }
    )
    result = attack(table, some, schema)
    assert result["closest record"].measured == 0.0
    assert result["closest record"].figures == {"synthetic_rows": 500, "real_rows": 45222}
    assert result["exact copies"].measured == 1.0
