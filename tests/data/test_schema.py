"""What a schema says about domains, and how it refuses what makes no sense."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import EVERY_KIND, attribute, every_kind_schema, schema_of
from understudy import InputError, Schema
from understudy.data.schema import Category, Identifier, Quantity, Text

# --------------------------------------------------------------------------- kinds and sizes


def test_every_kind_has_the_class_and_size_it_should() -> None:
    schema = every_kind_schema()
    expected = {
        "id": (Identifier, None),
        "age": (Quantity, 16),
        "height": (Quantity, 12),
        "smoker": (Category, 3),
        "ward": (Category, 5),
        "grade": (Category, 3),
        "born": (Quantity, 11),
        "seen": (Quantity, 12),
        "notes": (Text, None),
    }
    assert schema.names == tuple(expected)
    for name, (kind, size) in expected.items():
        assert type(schema[name]) is kind
        if size is not None:
            assert schema[name].size == size
    assert [a.name for a in schema.modelled] == [
        name for name, (_, size) in expected.items() if size
    ]


@pytest.mark.parametrize("name", ["id", "notes"])
def test_attributes_that_are_never_read_have_no_codes(name: str) -> None:
    with pytest.raises(TypeError, match=name):
        _ = every_kind_schema()[name].size


@pytest.mark.parametrize(
    ("entry", "code", "label"),
    [
        ({"kind": "integer", "min": 0, "max": 95, "bins": 16}, 0, "0 to 5"),
        ({"kind": "integer", "min": 3, "max": 5}, 2, "5"),
        ({"kind": "real", "min": 0, "max": 1, "bins": 4}, 0, "[0, 0.25)"),
        ({"kind": "real", "min": 0, "max": 1, "bins": 4}, 3, "[0.75, 1]"),
        (
            {"kind": "date", "min": "2020-01-01", "max": "2020-12-31", "bins": 1},
            0,
            "2020-01-01 to 2020-12-31",
        ),
        (
            {"kind": "date", "min": "2020-02-29", "max": "2020-02-29", "format": "%d/%m/%y"},
            0,
            "29/02/20",
        ),
        (
            {"kind": "datetime", "edges": ["2020-01-01", "2020-01-01 01:00"]},
            0,
            "2020-01-01 00:00:00 to 2020-01-01 00:59:59",
        ),
        ({"kind": "boolean"}, 1, "true"),
        ({"kind": "boolean", "missing": "?"}, 2, "missing"),
        ({"kind": "categorical", "values": [1, 2.5]}, 1, "2.5"),
        ({"kind": "categorical", "values": ["a"], "other": "b"}, 1, "b"),
    ],
)
def test_codes_have_labels_for_people(entry: dict[str, Any], code: int, label: str) -> None:
    assert attribute(**entry).label(code) == label


def test_other_may_be_one_of_the_values_and_then_adds_no_code() -> None:
    ward = attribute(kind="categorical", values=["north", "rest", "south"], other="rest")
    assert isinstance(ward, Category)
    assert (ward.size, ward.outside) == (3, 1)


def test_values_outside_count_as_the_last_one_where_there_is_no_other() -> None:
    ward = attribute(kind="categorical", values=["north", "south"])
    assert isinstance(ward, Category)
    assert ward.outside == 1


# --------------------------------------------------------------------------- bins


@given(
    low=st.integers(-(10**6), 10**6),
    span=st.integers(1, 3000),
    share=st.floats(0, 1),
    step=st.integers(0, 2999),
)
def test_an_integer_lies_in_bin_floor_of_its_share_of_the_span(
    low: int, span: int, share: float, step: int
) -> None:
    bins = max(1, round(share * span))
    age = attribute(kind="integer", min=low, max=low + span - 1, bins=bins)
    assert isinstance(age, Quantity)
    value = low + step % span
    found = int(np.searchsorted(age.edges, value, side="right")) - 1
    assert found == (value - low) * bins // span
    assert len(age.edges) == bins + 1
    assert (age.edges[0], age.edges[-1]) == (low, low + span)
    assert all(b > a for a, b in zip(age.edges, age.edges[1:], strict=False))


def test_capital_loss_of_adult_has_the_published_bins() -> None:
    loss = attribute(kind="integer", min=0, max=4999, bins=16)
    assert isinstance(loss, Quantity)
    assert loss.edges[:4] == (
        0,
        313,
        625,
        938,
    )  # 5000 / 16 = 312.5, and a bin starts at the next whole number
    assert loss.edges[-2:] == (4688, 5000)


@pytest.mark.parametrize(
    ("span", "bins"), [(1, 1), (2, 2), (15, 15), (16, 16), (17, 16), (1000, 16)]
)
def test_integers_get_a_bin_each_up_to_sixteen(span: int, bins: int) -> None:
    assert attribute(kind="integer", min=5, max=5 + span - 1).size == bins


def test_bounds_of_dates_are_days_and_both_belong_to_the_domain() -> None:
    day = attribute(kind="date", min="1970-01-01", max="1970-01-10", bins=5)
    assert isinstance(day, Quantity)
    assert day.edges == (0, 2, 4, 6, 8, 10)


def test_bounds_of_datetimes_are_seconds() -> None:
    moment = attribute(kind="datetime", min="1970-01-01", max="1970-01-01T00:00:59", bins=2)
    assert isinstance(moment, Quantity)
    assert moment.edges == (0, 30, 60)


def test_edges_of_times_reach_to_the_end_of_the_day() -> None:
    """As discovery finds them where the whole day occurs."""
    entry = {"kind": "time", "edges": ["00:00:00", "12:00:00", "24:00:00"]}
    schema = schema_of(clock=entry)
    clock = schema["clock"]
    assert isinstance(clock, Quantity)
    assert clock.edges == (0, 43_200, 86_400)
    assert schema.to_dict()["attributes"]["clock"] == entry
    assert Schema.from_dict(schema.to_dict()) == schema
    with pytest.raises(InputError, match="a time such as"):
        schema_of(clock={"kind": "time", "min": "06:00", "max": "24:00:00"})


def test_edges_can_be_given_one_by_one() -> None:
    affairs = attribute(kind="real", edges=[0, 0.1, 1, 60])
    assert isinstance(affairs, Quantity)
    assert affairs.edges == (0.0, 0.1, 1.0, 60.0)
    assert affairs.to_dict() == {"kind": "real", "edges": [0.0, 0.1, 1.0, 60.0]}


@pytest.mark.parametrize(
    ("entry", "places"),
    [
        ({"min": 0, "max": 16, "bins": 16}, 3),
        ({"min": 0, "max": 1, "bins": 50}, 5),
        ({"min": 0, "max": 1e6, "bins": 10}, 0),
        ({"min": 0, "max": 1e-12, "bins": 10}, 12),
        ({"min": 0, "max": 1, "decimals": 1}, 1),
    ],
)
def test_reals_keep_enough_places_to_tell_a_thousand_values_in_a_bin_apart(
    entry: dict[str, Any], places: int
) -> None:
    height = attribute(kind="real", **entry)
    assert isinstance(height, Quantity)
    assert height.places == places


# ----------------------------------------------- generalisation levels


@pytest.mark.data
def test_taxonomies_of_adult_give_the_known_level_sizes(data: Path) -> None:
    trees = json.loads((data / "adult-taxonomy.json").read_text())
    values = sorted(_leaves(trees["education"]))
    education = attribute(kind="categorical", values=values, taxonomy=trees["education"])
    assert education.sizes_by_level() == (16, 10, 3)
    for name, tree in trees.items():
        cut = attribute(kind="categorical", values=sorted(_leaves(tree)), taxonomy=tree)
        assert cut.sizes_by_level()[0] == len(_leaves(tree)), name
        _check_levels(cut)


EDUCATION = [
    [["5th", "7th"], ["9th", "10th"], "HS"],
    ["Some-college"],
    [["Masters", "Doctorate"], "Bachelors"],
]


def test_a_taxonomy_is_cut_at_each_height() -> None:
    values = [
        "5th",
        "7th",
        "9th",
        "10th",
        "HS",
        "Some-college",
        "Masters",
        "Doctorate",
        "Bachelors",
    ]
    education = attribute(kind="categorical", values=values, taxonomy=EDUCATION)
    first, second = education.generalisations
    assert first.tolist() == [0, 0, 1, 1, 2, 3, 4, 4, 5]
    assert second.tolist() == [0, 0, 0, 0, 0, 1, 2, 2, 2]


def test_other_and_missing_hang_from_the_root_of_a_taxonomy() -> None:
    ward = attribute(
        kind="categorical",
        values=["a", "b", "c"],
        taxonomy=[["a", "b"], "c"],
        other="z",
        missing=True,
    )
    assert ward.sizes_by_level() == (5, 4)
    assert ward.generalisations[0].tolist() == [0, 0, 1, 2, 3]


def test_leaves_that_are_no_values_are_pruned_with_their_empty_branches() -> None:
    ward = attribute(kind="categorical", values=["a", "b"], taxonomy=[["a", "x"], [["y"]], "b"])
    assert isinstance(ward, Category)
    assert ward.taxonomy == (("a",), "b")


def test_a_flat_taxonomy_has_no_level_above_the_values() -> None:
    assert attribute(
        kind="categorical", values=["a", "b"], taxonomy=["a", "b"]
    ).sizes_by_level() == (2,)


@pytest.mark.parametrize(
    ("bins", "missing", "sizes"),
    [
        (16, False, (16, 8, 4, 2)),
        (16, True, (17, 9, 5, 3)),
        (5, False, (5, 3, 2)),
        (2, True, (3,)),
        (1, False, (1,)),
    ],
)
def test_bins_generalise_by_a_binary_tree_and_missing_stays_by_itself(
    bins: int, missing: bool, sizes: tuple[int, ...]
) -> None:
    age = attribute(kind="integer", min=0, max=bins - 1, bins=bins, missing=missing)
    assert age.sizes_by_level() == sizes
    _check_levels(age)
    for level in age.generalisations:
        if missing:
            assert (level[:bins] < level[bins]).all()


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("bins", range(1, 40))
def test_each_level_of_a_binary_tree_joins_neighbours_two_by_two(bins: int, missing: bool) -> None:
    age = attribute(kind="integer", min=0, max=bins - 1, bins=bins, missing=missing)
    wanted = []
    groups = [1] * bins  # how many bins each of them holds
    while len(groups) > 2:
        groups = [sum(groups[place : place + 2]) for place in range(0, len(groups), 2)]
        level = np.repeat(np.arange(len(groups)), groups).tolist()
        wanted.append(level + [len(groups)] * missing)  # what is missing is a group of its own
    assert [level.tolist() for level in age.generalisations] == wanted


def test_ordered_values_generalise_by_a_binary_tree_and_unordered_ones_do_not() -> None:
    assert attribute(
        kind="categorical", values=["a", "b", "c", "d"], ordered=True
    ).sizes_by_level() == (4, 2)
    assert attribute(kind="categorical", values=["a", "b", "c", "d"]).sizes_by_level() == (4,)


def _leaves(tree: Any) -> list[Any]:
    return [leaf for node in tree for leaf in (_leaves(node) if isinstance(node, list) else [node])]


def _check_levels(described: Any) -> None:
    """Levels get coarser and never split what a finer one joined; codes have no holes."""
    finer = np.arange(described.size)
    for level in described.generalisations:
        assert sorted(set(level.tolist())) == list(range(level.max() + 1))
        assert level.max() < finer.max()
        pairs = set(zip(finer.tolist(), level.tolist(), strict=True))
        assert len(pairs) == finer.max() + 1
        finer = level


# --------------------------------------------------------------------------- round trips

names = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=8)
marks = st.one_of(st.booleans(), st.sampled_from(["?", "NA", "n/a"]))


@st.composite
def integer_entries(draw: st.DrawFn) -> dict[str, Any]:
    low = draw(st.integers(-(10**9), 10**9))
    span = draw(st.integers(1, 10**6))
    bins = draw(st.integers(1, min(span, 300)))
    return {
        "kind": "integer",
        "min": low,
        "max": low + span - 1,
        "bins": bins,
        "missing": draw(marks),
    }


@st.composite
def real_entries(draw: st.DrawFn) -> dict[str, Any]:
    edges = draw(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=6, unique=True).map(sorted))
    entry: dict[str, Any] = {"kind": "real", "edges": edges, "missing": draw(marks)}
    if draw(st.booleans()):
        entry = {
            "kind": "real",
            "min": 0.0,
            "max": draw(st.floats(0.001, 1e9)),
            "bins": draw(st.integers(1, 50)),
        }
    if draw(st.booleans()):
        entry["decimals"] = draw(st.integers(0, 12))
    return entry


@st.composite
def time_entries(draw: st.DrawFn) -> dict[str, Any]:
    first, last = sorted(draw(st.lists(st.dates(), min_size=2, max_size=2)))
    entry = {
        "kind": draw(st.sampled_from(["date", "datetime"])),
        "min": str(first),
        "max": str(last),
        "bins": 1,
    }
    if draw(st.booleans()):
        entry["format"] = draw(st.sampled_from(["%d/%m/%Y", "%Y.%m.%d %H:%M:%S"]))
    return {**entry, "missing": draw(marks)}


@st.composite
def category_entries(draw: st.DrawFn) -> dict[str, Any]:
    texts = st.lists(names, min_size=1, max_size=6, unique=True)
    numbers = st.lists(
        st.integers(-999, 999) | st.floats(-999, 999), min_size=1, max_size=6, unique=True
    )
    entry: dict[str, Any] = {
        "kind": "categorical",
        "values": draw(texts | numbers),
        "ordered": draw(st.booleans()),
    }
    if draw(st.booleans()):
        halves = [entry["values"][::2], entry["values"][1::2]]
        entry["taxonomy"] = [half for half in halves if half]
    if isinstance(entry["values"][0], str) and draw(st.booleans()):
        entry["other"] = draw(names)
    mark = draw(marks)
    return (
        entry
        if mark in entry["values"] or mark == entry.get("other")
        else {**entry, "missing": mark}
    )


unread_entries = st.sampled_from(
    [
        {"kind": "identifier"},
        {"kind": "identifier", "pattern": "##-x"},
        {"kind": "text"},
        {"kind": "text", "replacement": None},
        {"kind": "boolean"},
        {"kind": "boolean", "values": ["n", "y"]},
    ]
)
schemas = st.dictionaries(
    names,
    st.one_of(
        integer_entries(), real_entries(), time_entries(), category_entries(), unread_entries
    ),
    min_size=1,
    max_size=4,
)


@given(attributes=schemas)
def test_a_schema_survives_being_written_as_json_and_read_back(attributes: dict[str, Any]) -> None:
    schema = Schema.from_dict({"attributes": attributes})
    again = Schema.from_dict(json.loads(json.dumps(schema.to_dict())))
    assert again == schema
    assert again.to_dict() == schema.to_dict()
    for described in schema.modelled:
        _check_levels(described)


def test_a_schema_survives_a_file(tmp_path: Path) -> None:
    every_kind_schema().save(tmp_path / "schema.json")
    assert Schema.load(tmp_path / "schema.json") == every_kind_schema()
    assert (
        json.loads((tmp_path / "schema.json").read_text())["attributes"]["age"] == EVERY_KIND["age"]
    )


# --------------------------------------------------------------------------- errors

WHOLE = [
    ([], "attributes"),
    ("schema", "attributes"),
    ({}, "attributes"),
    ({"attributes": {}}, "at least one column"),
    ({"attributes": []}, "at least one column"),
    ({"attributes": {"x": {"kind": "boolean"}}, "version": 2}, "unknown entry 'version'"),
    ({"attributes": {"": {"kind": "boolean"}}}, "no name"),
]

COLUMNS = [
    ("integer", "must be an object"),
    ({}, "kind None is unknown"),
    ({"kind": "int"}, "kind 'int' is unknown"),
    ({"kind": ["integer"]}, "is unknown"),
    (
        {"kind": "integer", "minimum": 0, "max": 9},
        "'minimum' does not go with kind integer; did you mean 'min'",
    ),
    ({"kind": "integer", "max": 9}, 'needs "min"'),
    ({"kind": "integer", "min": 0}, 'needs "max"'),
    ({"kind": "integer", "min": 0.5, "max": 9}, "whole number, not 0.5"),
    ({"kind": "integer", "min": "0", "max": 9}, "whole number, not '0'"),
    ({"kind": "integer", "min": True, "max": 9}, "whole number, not True"),
    ({"kind": "integer", "min": 9, "max": 0}, '"max" 0 is below "min" 9'),
    ({"kind": "integer", "min": 0, "max": 9, "bins": 0}, '"bins" must be a whole number'),
    ({"kind": "integer", "min": 0, "max": 9, "bins": 2.5}, '"bins" must be a whole number'),
    ({"kind": "integer", "min": 0, "max": 9, "bins": True}, '"bins" must be a whole number'),
    ({"kind": "integer", "min": 0, "max": 9, "bins": 11}, "11 bins are more than the 10 values"),
    (
        {"kind": "integer", "min": 0, "max": 10**6, "bins": 10**5},
        '"bins" must be a whole number from 1 to 65536',
    ),
    ({"kind": "integer", "min": 0, "max": 2**60}, "beyond 2^53"),
    ({"kind": "integer", "min": 0, "max": 10**400}, ""),
    ({"kind": "integer", "min": 0, "max": float("inf")}, "whole number, not inf"),
    (
        {"kind": "integer", "min": 0, "max": 9, "decimals": 1},
        "'decimals' does not go with kind integer",
    ),
    ({"kind": "integer", "edges": [0, 5], "bins": 1}, 'either "edges"'),
    ({"kind": "integer", "edges": [0]}, "at least two"),
    ({"kind": "integer", "edges": 7}, "at least two"),
    ({"kind": "integer", "edges": [0, 5, 5]}, "must rise"),
    ({"kind": "real", "min": 1, "max": 1}, '"max" must be above "min"'),
    ({"kind": "real", "min": float("nan"), "max": 1}, "finite number, not nan"),
    (
        {"kind": "real", "min": 0, "max": 1, "decimals": 13},
        '"decimals" must be a whole number from 0 to 12',
    ),
    ({"kind": "real", "min": 1, "max": 1.0000000000000004, "bins": 16}, "no room for 16 bins"),
    ({"kind": "real", "min": 0, "max": 1e300}, "beyond 2^53"),
    ({"kind": "date", "min": "yesterday", "max": "2020-01-01"}, "ISO date"),
    ({"kind": "date", "min": 0, "max": "2020-01-01"}, "ISO date"),
    ({"kind": "date", "min": "2021-01-01", "max": "2020-01-01"}, "is below"),
    (
        {"kind": "date", "min": "2020-01-01", "max": "2020-02-01", "format": "iso"},
        "as for strftime",
    ),
    ({"kind": "date", "min": "2020-01-01", "max": "2020-02-01", "format": 5}, "must be text"),
    ({"kind": "date", "min": "2020-01-01", "max": "2020-02-01", "format": "%d/%m"}, "a year"),
    ({"kind": "date", "min": "2020-01-01", "max": "2020-02-01", "format": "%Y-%q-%d"}, "'%q'"),
    ({"kind": "time", "format": "%M:%S"}, "needs an hour"),
    ({"kind": "time", "format": "%I:%M"}, "needs %p"),
    ({"kind": "time", "min": "25:00"}, "a time such as"),
    ({"kind": "integer", "min": 0, "max": 9, "format": "1,234.50"}, "shows decimals"),
    ({"kind": "real", "min": 0, "max": 9, "format": "1,234,50"}, "the same sign"),
    ({"kind": "real", "min": 0, "max": 9, "format": "%d"}, "must show how a number is written"),
    ({"kind": "datetime", "min": "2020-13-01", "max": "2020-02-01"}, "ISO date"),
    ({"kind": "boolean", "values": ["n", "y", "?"]}, "must be two"),
    ({"kind": "boolean", "values": ["No", "no"]}, "upper and lower case"),
    ({"kind": "boolean", "other": "?"}, "'other' does not go with kind boolean"),
    ({"kind": "categorical"}, 'needs "values"'),
    ({"kind": "categorical", "values": []}, 'needs "values"'),
    ({"kind": "categorical", "values": "abc"}, 'needs "values"'),
    ({"kind": "categorical", "values": ["a", 1]}, "all be texts or all be finite numbers"),
    ({"kind": "categorical", "values": [["a"]]}, "all be texts or all be finite numbers"),
    ({"kind": "categorical", "values": [1, 10**400]}, "finite numbers"),
    ({"kind": "categorical", "values": [1, 2**60]}, "2^53"),
    ({"kind": "categorical", "values": [1, 1.0]}, "listed twice"),
    ({"kind": "categorical", "values": ["a", "b", "a"]}, "'a' is listed twice"),
    ({"kind": "categorical", "values": [str(i) for i in range(65537)]}, "65537 values"),
    ({"kind": "categorical", "values": ["a", "?"], "missing": "?"}, "both a value and the"),
    ({"kind": "categorical", "values": ["a"], "missing": 9}, '"missing" must be true, false'),
    ({"kind": "categorical", "values": ["a"], "other": 5}, '"other" must be the text'),
    ({"kind": "categorical", "values": [1], "other": "x"}, "these are numbers"),
    ({"kind": "categorical", "values": ["a"], "other": "?", "missing": "?"}, 'both "other" and'),
    ({"kind": "categorical", "values": ["a"], "ordered": "yes"}, '"ordered" must be true or false'),
    ({"kind": "categorical", "values": ["a"], "taxonomy": {"a": []}}, "nested lists"),
    (
        {"kind": "categorical", "values": ["a", "b"], "taxonomy": [["a"]]},
        "does not cover the value 'b'",
    ),
    (
        {"kind": "categorical", "values": ["a"], "taxonomy": [["a"], "a"]},
        "names the value 'a' twice",
    ),
    ({"kind": "categorical", "values": ["a"], "taxonomy": ["a", None]}, "leaf None"),
    ({"kind": "categorical", "values": ["a"], "taxonomy": ["a", {}]}, "cannot be a value"),
    ({"kind": "identifier", "pattern": "no number"}, "runs of #"),
    ({"kind": "identifier", "pattern": "#" * 201}, "runs of #"),
    ({"kind": "identifier", "missing": True}, "'missing' does not go with kind identifier"),
    ({"kind": "text", "replacement": 5}, "must be text, or null"),
]


@pytest.mark.parametrize(("document", "cause"), WHOLE)
def test_a_broken_schema_is_refused_by_name_and_cause(document: Any, cause: str) -> None:
    with pytest.raises(InputError) as refusal:
        Schema.from_dict(document, "The schema s.json")
    assert str(refusal.value).startswith("The schema s.json")
    assert cause in str(refusal.value)


@pytest.mark.parametrize(("entry", "cause"), COLUMNS, ids=range(len(COLUMNS)))
def test_a_broken_column_is_refused_by_name_and_cause(entry: Any, cause: str) -> None:
    document = {"attributes": {"fine": {"kind": "boolean"}, "the column": entry}}
    with pytest.raises(InputError) as refusal:
        Schema.from_dict(document, "The schema s.json")
    message = str(refusal.value)
    assert message.startswith("The schema s.json, column 'the column': ")
    assert cause in message
    assert message.endswith(".")


def test_a_taxonomy_that_is_too_deep_is_refused() -> None:
    tree: list[Any] = ["a"]
    for _ in range(40):
        tree = [tree]
    with pytest.raises(InputError, match="32 levels deep"):
        schema_of(x={"kind": "categorical", "values": ["a"], "taxonomy": tree})


def test_an_unknown_attribute_is_answered_with_the_nearest_name() -> None:
    with pytest.raises(InputError, match=r"'agee'; did you mean 'age'"):
        every_kind_schema()["agee"]


def test_the_largest_domain_with_a_taxonomy_is_read_in_reasonable_time() -> None:
    values = [f"v{i}" for i in range(1 << 16)]
    wide = attribute(kind="categorical", values=values, taxonomy=[values[:30000], values[30000:]])
    assert wide.sizes_by_level() == (1 << 16, 2)
