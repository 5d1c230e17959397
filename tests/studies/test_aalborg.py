"""The Aalborg study: its mechanisms are what it says, and its quick version runs from end to
end.
"""

from __future__ import annotations

import csv
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import aalborg
from study import seed_of
from understudy.privacy.mechanisms import SeededNoise

pytestmark = pytest.mark.thorough


def test_the_quick_study_runs_and_concludes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert aalborg.STUDY.main(["--quick", "--output", str(tmp_path)]) == 0
    told = json.loads((tmp_path / "conclusions.json").read_text())
    assert set(told) == {"smoothed", "networks", "mixture", "budget"}
    held = {claim["text"]: claim["held"] for part in told.values() for claim in part}
    # These do not depend on luck, however few the runs are.
    assert held["Power is about 100 % for alpha above 3.16"]
    assert not held["The published curve was made with the m = 1/100 of the text"]
    assert not held["Rows drawn with m = 1/100 are 1-differentially private"]
    assert not held["The published noise keeps alpha = 1"]
    for part in told:
        assert (tmp_path / f"{part}.svg").stat().st_size > 10_000
        assert list(csv.DictReader((tmp_path / f"{part}.csv").open()))
    assert "did not hold" in capsys.readouterr().out


def test_the_copula_has_the_correlations_of_its_equation() -> None:
    rows = np.concatenate([aalborg.copula_rows(np.random.default_rng(s)) for s in range(60)])
    assert rows.mean(axis=0) == pytest.approx(0.5, abs=0.01)
    # Two normal variables of correlation r have the same sign with probability 1/2 + asin(r) / pi.
    for i, j in ((0, 1), (0, 4), (2, 4)):
        same = 0.5 + math.asin(aalborg.COPULA[i, j]) / math.pi
        assert (rows[:, i] == rows[:, j]).mean() == pytest.approx(same, abs=0.01)
    free = np.concatenate(
        [aalborg.copula_rows(np.random.default_rng(s), dependent=False) for s in range(60)]
    )
    assert (free[:, 0] == free[:, 1]).mean() == pytest.approx(0.5, abs=0.01)


def test_pairs_in_the_square_have_the_published_correlation() -> None:
    from scipy.stats import spearmanr

    columns = aalborg.square_table(np.random.default_rng(1), dependent=True).columns
    assert spearmanr(columns["x1"].values, columns["x2"].values).statistic == pytest.approx(
        0.94, abs=0.01
    )
    assert min(columns["x2"].values.min(), columns["x1"].values.min()) >= 0
    assert max(columns["x2"].values.max(), columns["x1"].values.max()) <= 1


def test_pearson_s_test_is_r_s() -> None:
    from scipy.stats import chi2_contingency

    rng = np.random.default_rng(3)
    decided = []
    for _ in range(200):
        a = rng.random(120) < 0.4
        b = np.where(rng.random(120) < 0.2, a, rng.random(120) < 0.5)
        table = np.bincount(2 * a + b, minlength=4).reshape(2, 2)
        decided.append(chi2_contingency(table, correction=True).pvalue < 0.05)
        assert aalborg.rejects(a, b) == decided[-1]
    assert 20 < sum(decided) < 180
    assert not aalborg.rejects(np.zeros(50, dtype=bool), rng.random(50) < 0.5)


def test_mutual_information_is_in_nats_and_the_greedy_network_takes_all_it_may() -> None:
    rows = aalborg.copula_rows(np.random.default_rng(0))
    twice = np.column_stack([rows[:, 0], rows[:, 0]])
    share = rows[:, 0].mean()
    entropy = -share * math.log(share) - (1 - share) * math.log(1 - share)
    assert aalborg.information(twice, 1, (0,)) == pytest.approx(entropy)
    assert [len(of) for of in aalborg.greedy_parents(rows)] == [0, 1, 2, 3, 3]


def test_the_network_put_right_keeps_to_its_budget_and_is_greedy_when_privacy_is_given_up() -> None:
    rows = aalborg.copula_rows(np.random.default_rng(0))
    method = aalborg.FixedOrder(epsilon=1e6, beta=0.5, neighbours="replace")
    model = method.fit(aalborg.table_of(rows), aalborg.BITS, noise=SeededNoise(1))
    parents = [
        tuple(aalborg.NAMES.index(axis.attribute) for axis in node.parents)
        for node in model.network
    ]
    assert parents == aalborg.greedy_parents(rows)
    assert model.ledger.spent()[0] == pytest.approx(
        0.875e6
    )  # x2 has one possible parent: no choice, no price
    pair = model.network["x2"].table
    assert pair[1, 1] == (rows[:, 0] & rows[:, 1]).sum()
    modest = aalborg.FixedOrder(epsilon=1.0, beta=0.2, neighbours="replace")
    entries = modest.fit(aalborg.table_of(rows), aalborg.BITS, noise=SeededNoise(1)).ledger.entries
    assert sum(
        entry.amount for entry in entries if entry.question.startswith("table")
    ) == pytest.approx(0.8)
    # As in the project: noise of scale 2 d / alpha_2 in counts, but in joint ones.
    scale = 2 * len(aalborg.NAMES) / 0.8
    assert {entry.mechanism for entry in entries if entry.question.startswith("table")} == {
        f"discrete Laplace, scale {scale:.6g}"
    }


def test_the_published_program_gives_rows_like_the_original_where_noise_is_small() -> None:
    rng = np.random.default_rng(0)
    rows = aalborg.copula_rows(rng)
    drawn = np.concatenate([aalborg.published_rows(rows, 1e5, 0.5, rng) for _ in range(20)])
    for i, j in ((0, 1), (0, 4)):
        assert (drawn[:, i] == drawn[:, j]).mean() == pytest.approx(
            (rows[:, i] == rows[:, j]).mean(), abs=0.03
        )


def test_the_exact_loss_of_the_published_noise() -> None:
    # One row decides two conditional distributions of the chain alone, and moves others by about
    # 1/n.
    d, n, alpha_2 = 5, 1000, 0.5
    assert aalborg.published_loss(1.0, 0.5) > 2 * 2 / (2 * d / (n * alpha_2)) - 1
    assert aalborg.published_loss(0.1, 0.5) == pytest.approx(aalborg.published_loss(1.0, 0.5) / 10)


def test_noise_with_the_misprint_protects_nobody_and_says_so() -> None:
    noise = aalborg.MisprintedNoise(SeededNoise(1))
    assert not noise.private
    drawn = noise.draw(np.array([0] * 99 + [10]), 1000, Fraction(100))
    assert drawn[99] == pytest.approx(1000 * 10.01 / 11, abs=60)


def test_where_the_curve_crosses_one_half() -> None:
    assert aalborg.half_power({0.1: 0.0, 1.0: 0.25, 10.0: 0.75, 100.0: 1.0}) == pytest.approx(
        10**0.5
    )
    assert aalborg.half_power({0.1: 0.9, 1.0: 1.0}) == 0.1


def test_rows_of_the_smoothed_histogram_are_tested_as_they_were_drawn() -> None:
    """Drawing once more from what was drawn would double the variance, and the test would reject
    one time in six.
    """
    options = aalborg.Options(Path(), Path(), 1, False, False)
    settings = {"data": "independent", "mechanism": aalborg.RIGHT, "alpha": 0.01, "repeat": 0}
    assert seed_of(settings) != seed_of(settings | {"repeat": 1})
    found = [aalborg.square_run(options, settings | {"repeat": r})["rejected"] for r in range(4)]
    assert (
        np.mean(found) < 0.105
    )  # 200 runs: more than 21 rejections have a probability below 0.001
