"""Constraints as a schema writes them: what is read, what is refused and how, and arithmetic."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy import InputError, Schema
from understudy.data.encoding import encode
from understudy.data.expressions import ExpressionParser
from understudy.data.rules import Rules
from understudy.data.satisfying import satisfy
from understudy.data.schema import Computed
from understudy.data.tables import Column, Table
from understudy.data.violations import find_violations

ATTRIBUTES = {
    "a": {"kind": "integer", "min": 0, "max": 9, "bins": 3, "missing": True},
    "b": {"kind": "real", "min": 0, "max": 9, "bins": 3},
    "hours-per-week": {"kind": "integer", "min": 0, "max": 99},
    "per": {"kind": "integer", "min": 0, "max": 9},
    "2nd": {"kind": "integer", "min": 0, "max": 9},
    "from": {"kind": "date", "min": "2020-01-01", "max": "2020-12-31", "missing": True},
    "to": {"kind": "date", "min": "2020-01-01", "max": "2021-12-31"},
    "seen": {"kind": "datetime", "min": "2020-01-01", "max": "2020-12-31"},
    "sex": {"kind": "categorical", "values": ["m", "f"], "missing": "?"},
    "size": {"kind": "categorical", "values": [1, 2, 3]},
    "smoker": {"kind": "boolean", "values": ["no", "yes"]},
    "id": {"kind": "identifier"},
    "total": {"kind": "integer", "min": 0, "max": 9},
}


def read(*constraints, **attributes):
    used = {name: entry for name, entry in ATTRIBUTES.items() if name != "total"} | attributes
    return Schema.from_dict({"attributes": used, "constraints": list(constraints)}, "The schema S")


def total(*constraints):
    return read(*constraints, total=ATTRIBUTES["total"])


@pytest.mark.parametrize(
    ("constraint", "cause"),
    [
        ("a <= b", r"S, constraint 1: it must be an object such as"),
        ({}, "it must have one of the entries inequality, when"),
        ({"inequality": "a <= b", "forbidden": {}}, "it must have one of the entries"),
        ({"inequality": "a <= b", "note": 1}, "'note' does not go with 'inequality'; remove it"),
        ({"inequality": 3}, "the inequality must be a text, not 3"),
        ({"inequality": "a <= c"}, r"\(a <= c\): there is no column 'c'"),
        ({"inequality": "a <= smoke"}, "no column 'smoke'; did you mean 'smoker'"),
        ({"inequality": "a + b"}, "one of <, <=, > and >= was expected at character 6, where it"),
        ({"inequality": "a = b"}, 'write a column that follows from others as a "formula"'),
        ({"inequality": "a <= b b"}, "its end was expected at character 8, where there is 'b'"),
        ({"inequality": "a <= (b"}, r"\) was expected at character 8, where it ends"),
        ({"inequality": "a * b <= 3"}, "sums of columns, each times a number"),
        ({"inequality": "max(a, b) <= 3"}, "sums of columns, each times a number"),
        ({"inequality": "max(a) <= 3"}, "max takes 2 to 16 values, not 1"),
        ({"inequality": "a - a <= 3"}, "no column is left in it"),
        ({"inequality": "sex <= 3"}, "'sex' is categorical without numbers"),
        ({"inequality": "from <= seen"}, "describe both columns as datetime"),
        ({"inequality": "from <= '31/12/2020'"}, "'31/12/2020' is not an ISO date"),
        ({"inequality": "id <= 3"}, "'id' is identifier and not modelled"),
        ({"inequality": "a <= 3; b"}, "'; b' at character 7 is odd"),
        ({"inequality": "(" * 70 + "a" + ")" * 70 + " < 3"}, "nested more than 64 levels deep"),
        ({"inequality": "a <= " + "1 + " * 900 + "1"}, "longer than 2,000 characters"),
        ({"when": {"sex": "m"}}, '"when" needs "then"'),
        ({"when": [], "then": "a < 3"}, '"when" must be an object of conditions'),
        ({"when": {"sex": "M"}, "then": "a < 3"}, "'M' is no value of 'sex'"),
        ({"when": {"sex": {"min": 1}}, "then": "a < 3"}, "'sex' has no numbers; list the values"),
        ({"when": {"a": {"low": 1}}, "then": "a < 3"}, 'a range of .a. is written {"min": ...,'),
        ({"when": {"a": {"min": 3, "max": 1}}, "then": "a < 3"}, "ends before it begins"),
        ({"when": {"a": "x"}, "then": "a < 3"}, "'a' is a number; compare it with one"),
        ({"when": {"from": 3}, "then": "a < 3"}, "'from' is a date; compare it with one such as"),
        ({"when": {"sex": []}, "then": "a < 3"}, "the list for 'sex' is empty"),
        ({"when": {"b": None}, "then": "a < 3"}, "'b' is never missing; leave the null out"),
        ({"forbidden": {"sex": ["m", "f", None]}}, "no row can keep it"),
        ({"combinations": ["sex"], "only": []}, "two or more different columns"),
        ({"combinations": ["sex", "size"]}, 'it needs "only"'),
        ({"combinations": ["sex", "size"], "only": [["m"]]}, "must be a list of 2 conditions"),
        ({"dependency": "sex"}, "-> was expected at character 4"),
        ({"dependency": "sex -> sex"}, "a column cannot depend on itself"),
        ({"dependency": "sex -> size", "mapping": 3}, '"mapping" must be an object, or a list'),
        ({"dependency": "sex -> size", "mapping": {"m": 1}}, "does not say what goes with 'f'"),
        ({"dependency": "sex -> size", "mapping": {"m": [1, 2], "f": 1}}, "no single value but"),
        ({"formula": "total = a + nope"}, "there is no column 'nope'"),
        ({"formula": "total = total + a"}, "'total' cannot be computed from itself"),
        ({"formula": "total = sex + 1"}, "'sex' is categorical without numbers"),
        ({"formula": "total = 3"}, "it names no other column"),
        ({"formula": "total + a"}, "= was expected at character 7"),
        ({"formula": "sex = a + 1"}, "the kind of 'sex' must be integer, real, date or datetime"),
    ],
)
def test_refusals_name_the_schema_the_rule_and_the_remedy(constraint, cause):
    with pytest.raises(InputError, match=cause) as refused:
        total(constraint)
    assert str(refused.value).startswith("The schema S, constraint 1")
    assert str(refused.value).endswith(".")
    assert "\n" not in str(refused.value)


def test_refusals_of_whole_lists():
    with pytest.raises(InputError, match="must be a list of objects"):
        Schema.from_dict({"attributes": ATTRIBUTES, "constraints": {"a": 1}})
    for odd in ({"a"}, math.inf, object()):
        with pytest.raises(InputError, match="finite numbers, true, false, null"):
            read({"forbidden": {"a": odd}})
    with pytest.raises(InputError, match="1,001 constraints; at most 1,000"):
        read(*[{"inequality": "a < 3"}] * 1_001)
    wide = {"combinations": ["a", "b"], "only": [[list(range(400)), list(range(400))]]}
    with pytest.raises(InputError, match="more than 100,000 cases"):
        read(wide)
    with pytest.raises(InputError, match=r"constraint 2 .*'total' has a formula already"):
        total({"formula": "total = a"}, {"formula": "total = b"})
    with pytest.raises(InputError, match="write the rule on what it is computed from"):
        total({"formula": "total = a"}, {"inequality": "total < 3"})


def test_a_schema_with_constraints_is_read_back_as_it_was():
    entries = [
        {"inequality": "hours-per-week <= 90 - per"},
        {"inequality": '"2nd" <= a'},
        {"when": {"smoker": True, "from": {"min": "2020-06-01"}}, "then": {"size": [1, 2]}},
        {"forbidden": {"sex": None, "a": {"max": 3}}},
        {"combinations": ["sex", "size"], "only": [["m", 1], ["f", {"min": 2}], [None, 3]]},
        {"dependency": "sex -> size", "mapping": {"m": 1, "f": 3}},
        {"formula": "total = floor(a * per / 2)"},
    ]
    schema = total(*entries)
    again = Schema.from_dict(schema.to_dict())
    assert again == schema
    assert schema.to_dict()["constraints"] == entries
    assert again.order_as(tuple(reversed(again.names)), "T").constraints == schema.constraints
    assert isinstance(schema["total"], Computed)
    assert "total" not in [attribute.name for attribute in schema.modelled]
    assert hash(schema.constraints) == hash(again.constraints)
    assert "constraints" not in read().to_dict()
    assert read() == Schema.from_dict({"attributes": read().to_dict()["attributes"]})


def names_in(text):
    kinds = {name: entry["kind"] for name, entry in ATTRIBUTES.items()}
    return ExpressionParser(text, kinds, InputError).names


def test_columns_are_written_as_they_are_called():
    assert names_in("hours-per-week<=9") == {"hours-per-week"}
    assert names_in("per-a <= 9") == {"per", "a"}
    assert names_in('"2nd" - "hours-per-week" <= 9') == {"2nd", "hours-per-week"}
    assert names_in("max(a,b) <= per") == {"a", "b", "per"}


def rules_of(*constraints):
    schema = read(*constraints)
    return Rules(schema.constraints.rules, schema)


def holds(constraint, codes, **values):
    rules = rules_of(constraint)
    return bool(
        rules.holds(
            {name: np.array([float(value)]) for name, value in values.items()},
            {name: np.array([code]) for name, code in codes.items()},
        )[0]
    )


def test_what_rules_mean():
    days = {"from": 18_300, "to": 18_290}
    assert not holds({"inequality": "from <= to"}, {"from": 0, "to": 0}, **days)
    assert holds({"inequality": "from - 10 <= to"}, {"from": 0, "to": 0}, **days)
    assert holds({"inequality": "from <= to"}, {"from": 16, "to": 0}, **days)  # missing
    assert holds({"inequality": "to >= '2020-01-29'"}, {"to": 0}, to=18_290)
    assert not holds({"inequality": "to >= '2020-01-30'"}, {"to": 0}, to=18_290)
    rule = {"when": {"sex": "m"}, "then": "a < 5"}
    assert not holds(rule, {"sex": 0, "a": 2}, a=7, sex=math.nan)
    assert holds(rule, {"sex": 1, "a": 2}, a=7, sex=math.nan)
    assert holds(rule, {"sex": 2, "a": 2}, a=7, sex=math.nan)  # missing
    rule = {"when": {"smoker": "yes"}, "then": {"a": [3, {"min": 5, "max": 6}]}}
    assert [holds(rule, {"smoker": 1, "a": v // 4}, smoker=0, a=v) for v in range(8)] == [
        False, False, False, True, False, True, True, False,
    ]  # fmt: skip
    rule = {"forbidden": {"a": {"min": 2, "max": 4}, "size": 2}}
    assert [holds(rule, {"size": 1, "a": v // 4}, size=2, a=v) for v in range(6)] == [
        True, True, False, False, False, True,
    ]  # fmt: skip
    rule = {"forbidden": {"a": None}}
    assert not holds(rule, {"a": 3}, a=math.nan)


# ------------------------------------------------ arithmetic

LEAVES = st.one_of(st.integers(0, 50).map(str), st.sampled_from(["a", "b", "per"]))
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(" ".join),
        inner.map("({})".format),
        inner.map("-{}".format),
        inner.map("abs({})".format),
        st.tuples(inner, inner).map("min({0[0]}, {0[1]})".format),
    ),
    max_leaves=12,
)


@given(EXPRESSIONS, st.integers(-5, 5), st.floats(-5, 5), st.integers(0, 9))
def test_arithmetic_is_as_everywhere(text, a, b, per):
    kinds = {name: entry["kind"] for name, entry in ATTRIBUTES.items()}
    _, expression = ExpressionParser(f"total = {text}", kinds, InputError).formula()
    values = {"a": float(a), "b": float(b), "per": float(per)}
    found = expression.evaluate({name: np.array([v]) for name, v in values.items()})
    found = float(np.broadcast_to(found, (1,))[0])
    try:
        expected = eval(text, {"__builtins__": {}, "abs": abs, "min": min}, values)  # noqa: S307
    except ZeroDivisionError:
        return
    if math.isfinite(found):  # a division by zero may have been taken the minimum of
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)
    form = expression.linear()
    if form is not None and math.isfinite(found):
        summed = sum(weight * values[name] for name, weight in form.terms.items())
        assert summed + form.constant == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "a.real",
        "a ** 2",
        "a[0]",
        "lambda: 1",
        "a if b else a",
        "a // 2",
        "a % 2",
    ],
)
def test_nothing_but_arithmetic_is_read(text):
    with pytest.raises(InputError):
        total({"formula": f"total = {text}"})


def test_formulas_are_computed_and_written_as_their_columns():
    entries = {
        "price": {"kind": "real", "min": 0, "max": 10, "missing": True},
        "amount": {"kind": "integer", "min": 0, "max": 5},
        "due": {"kind": "date", "min": "2020-01-01", "max": "2020-12-31"},
        "total": {"kind": "real", "decimals": 1, "min": 0, "max": 50, "bins": 4},
        "each": {"kind": "integer"},
        "paid": {"kind": "date", "format": "%d.%m.%Y"},
    }
    formulas = ["total = price * amount", "each = total / amount", "paid = due + 14"]
    constraints = [{"formula": formula} for formula in formulas]
    schema = Schema.from_dict({"attributes": entries, "constraints": constraints})
    assert [attribute.name for attribute in schema.modelled] == ["price", "amount", "due"]
    table = Table(
        {
            "price": Column("real", np.array([1.26, 2.0, 3.0]), missing=np.array([0, 1, 0])),
            "amount": Column("integer", np.array([3, 1, 0])),
            "due": Column("date", np.array([18_262, 18_262, 18_262])),
        },
        "T",
    )
    codes = {name: np.zeros(3, dtype=int) for name in table.names}
    found = satisfy(table, codes, schema, Rules((), schema), np.random.default_rng(0))
    assert found.names == tuple(entries)
    np.testing.assert_array_equal(found.columns["total"].values, [3.8, 0.0, 0.0])
    np.testing.assert_array_equal(found.columns["total"].missing, [0, 1, 0])
    np.testing.assert_array_equal(found.columns["each"].values, [1, 0, 0])
    np.testing.assert_array_equal(found.columns["each"].missing, [0, 1, 1])  # 0 / 0
    np.testing.assert_array_equal(found.columns["paid"].values, [18_276] * 3)
    assert found.columns["paid"].format == "%d.%m.%Y"


def test_violations_are_counted_on_exact_values():
    entry = {"kind": "integer", "min": 0, "max": 9, "bins": 1, "missing": True}
    schema = Schema.from_dict(
        {
            "attributes": {"x": entry, "y": entry},
            "constraints": [{"inequality": "x < y"}, {"inequality": "x <= 7"}],
        }
    )
    table = Table(
        {
            "x": Column("integer", np.array([1, 2, 3, 8]), missing=np.array([0, 0, 0, 0])),
            "y": Column("integer", np.array([1, 3, 0, 0]), missing=np.array([0, 0, 1, 0])),
        },
        "T",
    )
    found = {one.constraint: one.count for one in find_violations(table, encode(table, schema))}
    assert found == {"x < y": 2, "x <= 7": 1}
