"""The owner's report shows what was found, says whom it is for, and runs nothing."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from pathlib import Path

import numpy as np
import pytest
from evaluations import attacks, evaluation
from pages import HOSTILE, Tags, check_harmless

from examples import every_kind_schema, every_kind_table
from understudy import Independent
from understudy.data.encoding import Outside
from understudy.evaluation.fitness import Use, Verdict
from understudy.evaluation.result import Pairs
from understudy.release.callbacks import OutsideNote
from understudy.reports.charts import MAX_MAPPED_COLUMNS, heat_map, lengths, round_ticks
from understudy.reports.distributions import ShownValues, ValueShares, distribution
from understudy.reports.owner import owner_report, write_owner_report


def text_of(page: str) -> str:
    return " ".join(" ".join(Tags(page).text).split())


def test_it_says_first_of_all_that_it_is_not_for_release() -> None:
    page = owner_report(evaluation())
    body = page[page.index("<body>") : page.index("</html>")]
    assert text_of(body).startswith("For the owner only. Not for release.")
    assert "not for release" in page[: page.index("<body>")]


def test_every_part_of_an_evaluation_is_in_it() -> None:
    found = evaluation()
    page = owner_report(found, attacks=attacks())
    places = re.findall(r'<section id="(\w+)">', page)
    assert places == [
        "columns",
        "marginals",
        "pairs",
        "learning",
        "inference",
        "propensity",
        "network",
        "attacks",
        "notes",
    ]
    text = text_of(page)
    for finding in found.findings:
        assert text.count(finding.sentence) == 2  # in the summary, and where it belongs
    for column in found.columns:
        assert column.name in text
    for attack in attacks():
        assert attack.found in text
        assert attack.promised in text


def test_values_that_did_not_fit_are_told_at_the_top() -> None:
    found = evaluation()
    notes = tuple(f"column {number}: 3 values lie outside the domain." for number in range(9))
    page = owner_report(
        dataclasses.replace(found, shape=dataclasses.replace(found.shape, notes=notes))
    )
    header = page[page.index("<header>") : page.index("</header>")]
    assert notes[0] in header
    assert '<a href="#notes">5 more notes</a>' in header
    assert all(note in page[page.index('id="notes"') :] for note in notes)


def test_a_learner_that_failed_is_told_beside_its_picture() -> None:
    found = evaluation()
    failed = dataclasses.replace(found.learning[0].learners[0], synthetic_to_real={})
    task = dataclasses.replace(
        found.learning[0], learners=(failed,), notes=("It could not be trained.",)
    )
    page = owner_report(dataclasses.replace(found, learning=(task,)))
    card = re.search(r"<figure>(?:(?!</figure>).)*It could not be trained\.", page, re.DOTALL)
    assert card is not None
    assert "<em>–</em>" in card[0]


def test_percentages_are_spelled_one_way() -> None:
    found = evaluation()
    spaced = dataclasses.replace(
        found.findings[0], sentence="Tables differ by 7 %, or by 0.3 % (chance: 2 %)."
    )
    page = owner_report(dataclasses.replace(found, findings=(spaced,)), attacks=attacks())
    assert page.count("Tables differ by 7%, or by 0.3% (chance: 2%).") == 2
    assert not re.search(r"\d\s%", page[page.index("<body>") :])


def test_links_lead_to_places_on_the_page() -> None:
    page = owner_report(evaluation())
    targets = re.findall(r'href="#(\w+)"', page)
    assert {"marginals", "ranges", "clustering"} <= set(targets)
    for target in targets:
        assert f'id="{target}"' in page


def test_the_pictures_show_the_numbers() -> None:
    found = evaluation()
    page = owner_report(found)
    column = found.columns[0]
    label, real, synthetic = column.labels[7], column.real[7], column.synthetic[7]
    assert f"<title>{label}: real {real:.2%}, synthetic {synthetic:.2%}</title>" in page
    bar = found.columns[1]
    assert (
        f'title="missing: real {bar.real_missing:.2%}, synthetic {bar.synthetic_missing:.2%}"'
        in page
    )
    i, j = 2, 0
    names = found.pairs.names
    assert (
        f"<title>{names[i]} and {names[j]}: {found.pairs.information_real[i, j]:.3f}</title>"
        in page
    )


def test_nothing_runs_and_nothing_comes_from_outside() -> None:
    check_harmless(owner_report(evaluation(), attacks=attacks()))


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_and_values_are_shown_and_not_obeyed(name: str) -> None:
    page = owner_report(evaluation((name, name + "2", name + "3"), name), attacks=attacks(name))
    check_harmless(page)
    assert page.count("</style>") == 1
    assert "\x1b" not in page


def test_a_report_is_written_whole_and_tells_the_guarantee(tmp_path: Path) -> None:
    model = Independent(epsilon=1.5).fit(
        every_kind_table(), every_kind_schema(), notify=lambda _: None
    )
    write_owner_report(evaluation(), tmp_path / "r.html", model=model)
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]
    assert "epsilon = 1.5" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_what_is_undefined_leaves_no_nan() -> None:
    found = evaluation()
    undefined = np.full_like(found.pairs.correlation_real, math.nan)
    empty = dataclasses.replace(
        found,
        pairs=dataclasses.replace(found.pairs, correlation_real=undefined),
        learning=(),
        network=None,
        propensity=dataclasses.replace(found.propensity, expected=0.0),
    )
    page = owner_report(empty)
    assert "Correlations" not in page
    assert not re.search(r"\bnan\b|\binf\b", page)


def test_very_many_columns_leave_the_maps_legible_and_the_page_small() -> None:
    names = tuple(f"column {i}" for i in range(120))
    page = owner_report(evaluation(names))
    assert (
        f"The {MAX_MAPPED_COLUMNS} columns that tell most about others; {120 - MAX_MAPPED_COLUMNS} "
        "more are not shown." in page
    )
    assert len(page) < 3_000_000


def test_one_column_alone_has_no_pairs() -> None:
    found = evaluation()
    none = np.zeros((1, 1))
    single = dataclasses.replace(
        found,
        columns=found.columns[:1],
        pairs=Pairs(("age",), none, none, ("age",), none, none),
        inference=(),
    )
    page = owner_report(single)
    assert 'id="pairs"' not in page
    assert 'id="inference"' not in page


# --------------------------------------------------------------------------- pictures


@pytest.mark.parametrize(
    ("low", "high"),
    [(0, 1), (0.5, 1.0), (0, 1e-9), (-0.3, 0.2), (0, 0.45), (-1, -1), (0, 0), (3, 70)],
)
def test_scales_are_round_and_hold_what_they_should(low: float, high: float) -> None:
    ticks = round_ticks(low, high)
    steps = np.diff(ticks)
    assert ticks[0] <= low + 1e-9
    assert ticks[-1] >= high - 1e-9
    assert 1 <= len(steps) <= 7
    assert steps == pytest.approx(steps[0])
    assert f"{steps[0]:.6e}"[:3] in ("1.0", "2.0", "2.5", "5.0")


def test_joined_bins_keep_the_shares_and_the_noise() -> None:
    shares = ValueShares(
        "synthetic", np.array([0.1, 0.2, 0.3, 0.1, 0.2, 0.1]), 0.01
    ).join_neighbours(5, 2)
    assert shares.shares == pytest.approx([0.3, 0.4, 0.2, 0.1])
    assert shares.spread == pytest.approx(0.01 * math.sqrt(2))


def test_a_histogram_reaches_as_high_as_the_higher_table() -> None:
    values = ShownValues("n", tuple(map(str, range(20))), True, False)
    low, high = np.full(20, 0.02), np.array([0.62, *[0.02] * 19])
    for tables in ((low, high), (high, low)):
        drawn = distribution(
            values, [ValueShares("real", tables[0]), ValueShares("synthetic", tables[1])]
        )
        assert ">80%<" in drawn
        heights = [float(y) for y in re.findall(r"V([0-9.]+)h", drawn)]
        assert min(heights) >= 8


def test_lines_of_several_long_names_differ() -> None:
    names = [
        f"the number of visits to the clinic in the year {year}" for year in (2020, 2021, 2022)
    ]
    pairs = [f"{a} × {b}" for a, b in itertools.combinations(names, 2)]
    drawn = lengths(((pair, 0.5, None) for pair in pairs), long_names=True)
    shown = re.findall("<span>(.*?)</span>", drawn)
    assert len(set(shown)) == len(pairs)
    assert all(len(name) <= 16 for label in shown for name in label.split(" × "))
    assert all(f'title="{pair}: ' in drawn for pair in pairs)
    whole = "the share of synthetic rows that lie closer to the table"
    assert f"<span>{whole}</span>" in lengths([(whole, 0.5, None)], long_names=True)


def test_a_map_is_lighter_where_there_is_less() -> None:
    drawn = heat_map(
        ["a", "b", "c"], np.array([[0, 0.0, 1.0], [0.0, 0, 0.5], [1.0, 0.5, 0]]), 1.0, "a map"
    )
    shades = dict(re.findall(r'fill="#(\w{6})"><title>(.*?):', drawn))
    brightness = {pair: int(shade[:2], 16) for shade, pair in shades.items()}
    assert brightness["b and a"] > brightness["c and b"] > brightness["c and a"]


# --------------------------------------------------------------------------- the verdict


def test_the_verdict_stands_on_top_with_its_rules() -> None:
    uses = (
        Use("software tests", True, "no column is lost"),
        Use("exploring", None, "two-way tables", "There are <too> few rows."),
        Use("p-values", False, "never", "Noise."),
    )
    page = owner_report(dataclasses.replace(evaluation(), verdict=Verdict(uses)))
    text = " ".join(Tags(page).text)
    assert page.index("Fit for") < page.index('class="findings"')
    assert re.search(r"Fit for\s+software tests", text)
    assert re.search(r"Too few rows to tell\s+exploring", text)
    assert re.search(r"Not for\s+p-values", text)
    assert "There are &lt;too&gt; few rows." in page
    nothing = owner_report(dataclasses.replace(evaluation(), verdict=Verdict(uses[2:])))
    assert re.search(r"Fit for\s+nothing", " ".join(Tags(nothing).text))


def test_a_regression_without_a_fit_has_no_number() -> None:
    found = evaluation()
    task = found.learning[1]
    lost = dataclasses.replace(task.learners[0], synthetic_to_real={"r2": -1.0, "mse": 3.7e21})
    page = owner_report(
        dataclasses.replace(found, learning=(dataclasses.replace(task, learners=(lost,)),))
    )
    assert "no fit" in page
    assert "3.7e+21" not in page


def test_many_notes_on_values_outside_are_one_table_the_most_first() -> None:
    found = evaluation()
    notes = tuple(
        OutsideNote(Outside(f"c{place}", place, "9", "fix it"), "real.csv") for place in range(1, 9)
    )
    page = owner_report(
        dataclasses.replace(found, shape=dataclasses.replace(found.shape, notes=notes))
    )
    assert "<b>Note.</b>" not in page
    places = [page.index(f"<b>c{place}</b></td>") for place in range(8, 0, -1)]
    assert places == sorted(places)


def test_a_lost_column_is_called_lost() -> None:
    found = evaluation()
    lost = dataclasses.replace(found.columns[0], state="replaced")
    page = owner_report(dataclasses.replace(found, columns=(lost, *found.columns[1:])))
    assert "<b>lost (replaced)</b>" in page


def test_a_picture_that_would_be_empty_is_left_out() -> None:
    """Of codes 1, 2, 99, no row lies between 3 and 98."""
    edges = (1.0, 2.0, 3.0, 99.0, 100.0)
    values = ShownValues("n", ("1", "2", "3 to 98", "99"), True, False, edges, "integer")
    real = ValueShares("real", np.array([0.5, 0.4, 0.0, 0.1]), 0.0)
    made = ValueShares("synthetic", np.array([0.6, 0.4, 0.0, 0.0]), 0.0)
    drawn = distribution(values, [real, made])
    assert "area of a bar" not in drawn
    assert "99" in drawn
    some = ValueShares("synthetic", np.array([0.5, 0.3, 0.2, 0.0]), 0.0)
    assert "area of a bar" in distribution(values, [real, some])
