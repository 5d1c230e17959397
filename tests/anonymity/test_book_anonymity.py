"""The tables and figures of "Privacy-Preserving Machine Learning" (Chang et al. 2023) on anonymity.

Of tables 6.5, 6.6 and figure 7.14 only what our notes say of them is known; the rows here have
those properties.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from book_mondrian import partition_as_printed, publish_as_printed

from anonymity.tables import cells, make_table
from understudy.anonymity import Requirement, Roles, anonymise, check_table, suppress_rows
from understudy.anonymity.microdata import read_microdata
from understudy.anonymity.requirement import Judge
from understudy.data.tables import read_table

pytestmark = pytest.mark.thorough  # guards no privacy, and takes its time

QUASI = ("age", "education_num")
ZIP_AGE = Roles(quasi_identifiers=("zip", "age"))


@pytest.mark.parametrize(
    ("requirement", "groups", "lines"),
    [
        (
            Requirement(k=3),
            500,
            [
                ((17.0, 7.200599), "<=50K", 334),
                ((18.227876, 7.283186), "<=50K", 451),
                ((18.227876, 7.283186), ">50K", 1),
                ((21.0, 10.0), "<=50K", 568),
                ((21.0, 10.0), ">50K", 2),
            ],
        ),
        (
            Requirement(k=3, l=2),
            309,
            [
                ((17.706107, 7.248092), "<=50K", 785),
                ((17.706107, 7.248092), ">50K", 1),
                ((20.080607, 9.0), "<=50K", 1707),
                ((20.080607, 9.0), ">50K", 5),
                ((19.320276, 10.0), "<=50K", 1301),
            ],
        ),
        (
            Requirement(k=3, t=0.2, distance="difference"),
            114,
            [
                ((26.697666, 8.124394), "<=50K", 10248),
                ((26.697666, 8.124394), ">50K", 677),
                ((25.747108, 10.0), "<=50K", 5617),
                ((25.747108, 10.0), ">50K", 520),
                ((29.434809, 13.299485), "<=50K", 3385),
            ],
        ),
    ],
)
def test_figures_8_10_to_8_12(
    data: Path, requirement: Requirement, groups: int, lines: list[tuple[object, str, int]]
) -> None:
    table = read_microdata(read_table(data / "adult.csv"), (*QUASI, "income"))
    found = partition_as_printed(table, QUASI, Judge(requirement, table, ["income"]))
    published = publish_as_printed(table, QUASI, "income", found)
    assert len(found) == groups
    first = [
        (tuple(round(float(mean), 6) for mean in line.summary), line.value, line.count)
        for line in published[:5]
    ]
    assert first == lines


def test_a_book_group_need_not_be_close() -> None:
    """The printed distance ignores values that are absent: a group without any cancer passes."""
    table = make_table(age=[1] * 50 + [2] * 50, illness=["flu"] * 50 + ["flu", "cancer"] * 25)
    roles = Roles(quasi_identifiers="age", sensitive="illness")
    book = check_table(table, roles, Requirement(k=2, t=0.26, distance="difference"))
    sound = check_table(table, roles, Requirement(k=2, t=0.2, distance="equal"))
    assert book.holds
    assert not sound.holds


def test_table_6_1_is_2_anonymous() -> None:
    table = make_table(zip=["33617"] * 2 + ["33620"] * 3, age=[24, 24, 35, 35, 35])
    found = check_table(table, ZIP_AGE, Requirement(k=2))
    assert (found.k, found.holds) == (2, True)


def test_table_6_2_becomes_table_6_3() -> None:
    table = make_table(zip=["33617", "23620", "23622", "33617"], age=[24, 41, 43, 29])
    assert check_table(table, ZIP_AGE, Requirement(k=2)).k == 1
    decades = {str(age): [f"{age // 10 * 10}-{age // 10 * 10 + 9}"] for age in (24, 29, 41, 43)}
    zips = {"33617": ["33617"], "23620": ["236**"], "23622": ["236**"]}
    release = anonymise(
        table,
        ZIP_AGE,
        Requirement(k=2),
        method="lattice",
        hierarchies={"age": decades, "zip": zips},
    )
    rows = sorted(zip(cells(release.table, "zip"), cells(release.table, "age"), strict=True))
    assert rows == [("236**", "40-49")] * 2 + [("33617", "20-29")] * 2


def test_mondrian_gives_table_6_3_with_prefixes() -> None:
    table = make_table(zip=["33617", "23620", "23622", "33617"], age=[24, 41, 43, 29])
    release = anonymise(table, ZIP_AGE, Requirement(k=2), hierarchies={"zip": "prefix"})
    rows = sorted(zip(cells(release.table, "zip"), cells(release.table, "age"), strict=True))
    assert rows == [("2362*", "41-43")] * 2 + [("33617", "24-29")] * 2


def test_table_6_4_the_outlier_is_suppressed() -> None:
    table = make_table(
        zip=["33617", "236**", "236**", "33617", "19352"],
        age=["20-29", "40-49", "40-49", "20-29", "12"],
    )
    left = suppress_rows(table, ["zip", "age"], 2)
    assert left.rows == 4
    assert "19352" not in cells(left, "zip")
    assert check_table(left, ZIP_AGE, Requirement(k=2)).holds


def test_table_6_5_is_2_anonymous_and_tells_all() -> None:
    table = make_table(
        zip=["33620", "33620", "33617", "33617"],
        age=["40-49", "40-49", "20-29", "20-29"],
        illness=["Heart disease", "Heart disease", "Flu", "Cancer"],
    )
    roles = Roles(quasi_identifiers=("zip", "age"), sensitive=("illness",))
    assert check_table(table, roles, Requirement(k=2)).holds
    diverse = check_table(table, roles, Requirement(k=2, l=2))
    assert not diverse.holds
    assert diverse.explain()[0].endswith("all 2 rows have illness = Heart disease.")


def test_table_6_6_is_not_2_diverse() -> None:
    """It is called 2-diverse, but of the people in their forties all have heart disease."""
    table = make_table(
        zip=["33***"] * 4,
        age=["40-49", "40-49", "20-29", "20-29"],
        illness=["Heart disease", "Heart disease", "Flu", "Cancer"],
    )
    roles = Roles(quasi_identifiers=("zip", "age"), sensitive=("illness",))
    assert not check_table(table, roles, Requirement(k=2, l=2)).holds
    without_age = Roles(quasi_identifiers=("zip",), sensitive=("illness",))
    assert check_table(table, without_age, Requirement(k=2, l=2)).holds


def test_figure_7_14_is_not_2_anonymous() -> None:
    """It is called 2-anonymous and has three groups of one row."""
    table = make_table(
        zip=["337**", "337**", "336**", "335**", "334**"], age=[">35", ">35", "<30", "30-35", "<30"]
    )
    found = check_table(table, ZIP_AGE, Requirement(k=2))
    assert (found.k, found.holds, found.broken_rows) == (1, False, 3)
    assert len(found.smallest) == 3


def test_attacks_of_chapter_7() -> None:
    """Homogeneity: 337**, over 35, all cancer. Background: 336**, under 30, two illnesses."""
    from understudy.anonymity.checking import group_rows
    from understudy.anonymity.disclosure import attack_groups

    table = make_table(
        zip=["337**"] * 4 + ["336**"] * 4,
        age=[">35"] * 4 + ["<30"] * 4,
        illness=["Cancer"] * 4 + ["Heart disease", "Heart disease", "Viral", "Viral"],
    )
    microdata = read_microdata(table, ("zip", "age", "illness"))
    groups = group_rows(microdata, ("zip", "age")).of_row
    found = {one.attack: one.learned for one in attack_groups(microdata, groups, "illness")}
    assert found["homogeneity"] == 0.5
    assert found["background knowledge"] == 1.0
    assert found["linkage"] == 0.25


def test_listings_7_1_and_7_2_leave_people_as_unique_as_they_were(data: Path) -> None:
    """Ages and races drawn again from their own distribution, eleven columns untouched: called
    private, but the untouched columns single people out.
    """
    real = read_table(data / "adult.csv")
    rng = np.random.default_rng(0)
    untouched = ("workclass", "education", "marital_status", "occupation", "native_country")
    columns = dict(real.columns)
    for name in ("age", "race"):
        drawn = rng.integers(0, real.rows, real.rows)
        column = columns[name]
        columns[name] = type(column)(column.kind, column.values[drawn], column.words)
    listing = type(real)(columns)
    roles = Roles(quasi_identifiers=(*untouched, "hours_per_week"))
    found = check_table(listing, roles, Requirement(k=2))
    assert (found.k, found.holds) == (1, False)
    assert found.broken_rows == check_table(real, roles, Requirement(k=2)).broken_rows
