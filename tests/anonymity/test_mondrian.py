"""Groups by Mondrian and by levels: every group fulfils what was asked for."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from anonymity.tables import cells, make_table, random_table
from understudy.anonymity import Requirement, Roles, anonymise, check_table
from understudy.anonymity.classes import EquivalenceClasses
from understudy.anonymity.lattice import search_levels
from understudy.anonymity.microdata import read_microdata
from understudy.anonymity.mondrian import partition_rows
from understudy.anonymity.publishing import MethodName
from understudy.anonymity.requirement import Judge
from understudy.errors import InputError

QUASI = ("age", "income", "job")
ROLES = Roles(quasi_identifiers=QUASI, sensitive=("illness",))
REQUIREMENTS = [
    Requirement(k=3),
    Requirement(k=2, l=2),
    Requirement(k=2, l=2, diversity="entropy"),
    Requirement(k=2, l=2, diversity="recursive", c=4.0),
    Requirement(k=3, t=0.4),
    Requirement(k=4, l=2, t=0.5),
]


@pytest.mark.parametrize("method", ["mondrian", "relaxed", "lattice"])
@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=str)
def test_what_is_published_fulfils_the_requirement(method: str, requirement: Requirement) -> None:
    for seed in range(12):
        table = random_table(np.random.default_rng(seed), 80)
        release = anonymise(table, ROLES, requirement, method=method)  # type: ignore[arg-type]
        assert release.after.holds
        assert check_table(release.table, ROLES, requirement).holds
        assert release.table.rows == 80
        assert sorted(cells(release.table, "illness")) == sorted(cells(table, "illness"))
        assert 0 <= release.loss.generalisation <= 1


def test_every_row_is_inside_what_its_group_is_written_as() -> None:
    table = random_table(np.random.default_rng(1), 200)
    microdata = read_microdata(table, (*QUASI, "illness"))
    classes = partition_rows(microdata, QUASI, Judge(Requirement(k=4), microdata, ()))
    from understudy.anonymity.recoding import recode_locally

    recoded = recode_locally(microdata, QUASI, classes)
    ages = cells(table, "age")
    for age, label in zip(ages, cells_of(recoded["age"]), strict=True):
        low, _, high = label.partition("-")
        assert int(low) <= int(age) <= int(high or low)
    for job, label in zip(cells(table, "job"), cells_of(recoded["job"]), strict=True):
        known = label.removesuffix(" or missing")
        if not job:
            assert label in ("", "*") or label.endswith(" or missing")
        else:
            assert label == "*" or job in known.split("|")


def cells_of(column: object) -> list[str]:
    from understudy.data.columns import Column, Table

    assert isinstance(column, Column)
    return cells(Table({"x": column}), "x")


def test_strict_groups_do_not_share_a_value_that_was_cut() -> None:
    """Along one column, groups follow each other; with ties, relaxed ones are smaller."""
    ages = [30] * 7 + [31] * 2 + [32] * 5 + [40] * 3
    microdata = read_microdata(make_table(age=ages), ("age",))
    judge = Judge(Requirement(k=2), microdata, ())
    strict = partition_rows(microdata, ("age",), judge)
    assert len({(group, age) for group, age in zip(strict.of_row, ages, strict=True)}) == 4
    assert sorted(strict.sizes.tolist()) == [2, 3, 5, 7]
    relaxed = partition_rows(microdata, ("age",), judge, relaxed=True)
    assert relaxed.count >= strict.count
    assert relaxed.sizes.min() >= 2


def test_a_median_that_is_the_largest_value_is_still_cut() -> None:
    """Most rows have the largest value: a cut above the median would leave nothing."""
    microdata = read_microdata(make_table(age=[1, 2, 3, 9, 9, 9, 9, 9, 9]), ("age",))
    found = partition_rows(microdata, ("age",), Judge(Requirement(k=3), microdata, ()))
    assert sorted(found.sizes.tolist()) == [3, 6]


def test_no_group_could_be_cut_again() -> None:
    """What Mondrian leaves cannot be cut strictly along any column by a median cut."""
    microdata = read_microdata(random_table(np.random.default_rng(5), 150), QUASI)
    judge = Judge(Requirement(k=3), microdata, ())
    classes = partition_rows(microdata, QUASI, judge)
    for group in range(classes.count):
        rows = np.flatnonzero(classes.of_row == group)
        for name in QUASI:
            codes = np.sort(microdata[name].codes[rows])
            median = codes[len(codes) // 2]
            for low in (int((codes < median).sum()), int((codes <= median).sum())):
                assert min(low, len(rows) - low) < 3


def test_rows_come_out_in_an_order_that_tells_nothing() -> None:
    table = random_table(np.random.default_rng(3), 60)
    shuffled = np.random.default_rng(4).permutation(60)
    from understudy.anonymity.publishing import pick_cells
    from understudy.data.columns import Table

    other = Table({name: pick_cells(column, shuffled) for name, column in table.columns.items()})
    one, two = (anonymise(t, ROLES, Requirement(k=3)).table for t in (table, other))
    for name in one.names:
        assert cells(one, name) == cells(two, name)


@pytest.mark.parametrize("method", ["mondrian", "lattice"])
def test_the_sign_of_a_zero_does_not_tell_the_order_either(
    method: MethodName, tmp_path: Path
) -> None:
    release = []
    for zeros in (("0.0", "-0.0"), ("-0.0", "0.0")):
        lines = [f"{zero},{place % 2},{zero}" for place in range(3) for zero in (*zeros, "1.5")]
        (tmp_path / "table.csv").write_text("age,zip,illness\n" + "\n".join(lines) + "\n")
        roles = Roles(quasi_identifiers=("age", "zip"), sensitive=("illness",))
        found = anonymise(tmp_path / "table.csv", roles, Requirement(k=2), method=method)
        found.write(tmp_path / "release.csv")
        release.append((tmp_path / "release.csv").read_text())
    assert release[0] == release[1]


@pytest.mark.parametrize("seed", range(6))
def test_the_lattice_finds_the_cheapest_levels(seed: int) -> None:
    """Against trying all."""
    microdata = read_microdata(
        random_table(np.random.default_rng(seed), 70), (*QUASI, "illness"), None, {"age": 2}
    )
    judge = Judge(Requirement(k=3, l=2), microdata, ("illness",))
    found = search_levels(microdata, QUASI, judge, 0.1)
    best = np.inf
    for node in itertools.product(*(range(len(microdata[name].hierarchy)) for name in QUASI)):
        codes = np.stack(
            [
                microdata[name].hierarchy.levels[level].places[microdata[name].codes]
                for name, level in zip(QUASI, node, strict=True)
            ]
        )
        groups = np.unique(codes, axis=1, return_inverse=True)[1].ravel()
        classes = EquivalenceClasses(groups, int(groups.max()) + 1)
        if classes.sizes[~judge.find_fulfilled(classes)].sum() <= 7:
            cost = sum(
                microdata[name].shares @ microdata[name].hierarchy.losses[level]
                for name, level in zip(QUASI, node, strict=True)
            )
            best = min(best, cost)
    cost = sum(
        microdata[name].shares @ microdata[name].hierarchy.losses[level]
        for name, level in found.levels.items()
    )
    assert found.exact
    assert cost == pytest.approx(best)
    assert found.suppressed <= 7


def test_twenty_quasi_identifiers() -> None:
    rng = np.random.default_rng(0)
    table = make_table(**{f"q{i}": rng.integers(0, 8, 500).tolist() for i in range(20)})
    roles = Roles(quasi_identifiers=table.names)
    for method in ("mondrian", "lattice"):
        release = anonymise(table, roles, Requirement(k=5), method=method)  # type: ignore[arg-type]
        assert release.after.holds
    assert any("too many combinations" in note for note in release.notes)


def test_bad_input_is_refused_in_a_sentence() -> None:
    table = random_table(np.random.default_rng(0), 30)
    for roles, requirement, words in (
        (ROLES, Requirement(k=31), "has 30 rows"),
        (ROLES, Requirement(k=2, l=9), "has 4 values"),
        (Roles(quasi_identifiers=("age",)), Requirement(k=2, l=2), "name one"),
        (Roles(quasi_identifiers=("height",)), Requirement(), "no column 'height'"),
        (Roles(sensitive=("illness",)), Requirement(), "no quasi-identifier"),
        (ROLES, Requirement(k=2, t=0.1, distance="hierarchical"), "no taxonomy"),
    ):
        with pytest.raises(InputError, match=words):
            anonymise(table, roles, requirement)
    with pytest.raises(InputError, match="a quasi-identifier and as sensitive"):
        Roles(quasi_identifiers=("age",), sensitive=("age",))
    with pytest.raises(InputError, match="does not cover"):
        anonymise(table, ROLES, method="lattice", hierarchies={"job": [["a", "b"]]})
    with pytest.raises(InputError, match="no quasi-identifier"):
        anonymise(table, ROLES, hierarchies={"illness": "prefix"})
    for bad in ({"k": 0}, {"k": True}, {"l": 0}, {"t": -1.0}, {"c": 0.0}, {"diversity": "x"}):
        with pytest.raises(InputError):
            Requirement(**bad)  # type: ignore[arg-type]
    lone = make_table(age=[1, 2, 3, 4], illness=["a", "a", "a", "b"])
    with pytest.raises(InputError, match="Not even the whole table"):
        anonymise(
            lone,
            Roles(quasi_identifiers="age", sensitive="illness"),
            Requirement(k=1, l=2, diversity="entropy"),
        )
