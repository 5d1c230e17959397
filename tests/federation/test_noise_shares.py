from __future__ import annotations

import json
import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from understudy.auditing.bounds import renyi_rho
from understudy.errors import InputError
from understudy.federation.noise_shares import (
    SHARED_GRID,
    SMALLEST_SCALE,
    SMALLEST_SHARE,
    ShareNoise,
    _unlikeness,
    check_scale,
    delegate_scale,
    gaussian_share,
    round_to_shared_grid,
    score_sensitivity,
    scores_scale,
    sum_scale,
    top_scale,
)
from understudy.mechanisms.distributions import discrete_gaussian_log_pmf, discrete_laplace_log_pmf
from understudy.privacy.budget import Budget
from understudy.privacy.curator import Measurement
from understudy.privacy.mechanisms import SeededNoise, SystemNoise

ZEROS = np.zeros(40_000, dtype=np.int64)


def polya_pmf(share: float, scale: float, reach: int) -> np.ndarray:
    """P(k) for k up to reach, by the recursion P(k + 1) / P(k) = q (k + share) / (k + 1)."""
    q = math.exp(-1 / scale)
    ratios = q * (np.arange(reach) + share) / (np.arange(reach) + 1)
    return (1 - q) ** share * np.cumprod(np.concatenate([[1.0], ratios]))


def added(pmf: np.ndarray, times: int) -> np.ndarray:
    found = np.array([1.0])
    for _ in range(times):
        found = np.convolve(found, pmf)
    return found


def chi_square_fits(drawn: np.ndarray, pmf: np.ndarray, first: int) -> bool:
    """Pearson's test at seven deviations of the statistic, cells with fewer than ten expected left
    out.
    """
    expected = pmf * len(drawn)
    counts = np.bincount(np.clip(drawn - first, 0, len(pmf) - 1), minlength=len(pmf))
    enough = expected > 10
    statistic = float((((counts - expected) ** 2) / np.maximum(expected, 1e-9))[enough].sum())
    freedom = int(enough.sum())
    return statistic < freedom + 7 * math.sqrt(2 * freedom) + 20


@pytest.mark.parametrize("enough", [1, 2, 5, 7])
@pytest.mark.parametrize("scale", [0.7, 3.0])
def test_polya_shares_add_up_to_a_geometric_variable(enough, scale):
    reach = 60
    whole = added(polya_pmf(1 / enough, scale, reach), enough)[: reach + 1]
    q = math.exp(-1 / scale)
    assert np.allclose(whole, (1 - q) * q ** np.arange(reach + 1), rtol=1e-9)


@pytest.mark.parametrize("enough", [1, 3, 5])
def test_drawn_shares_add_up_to_discrete_laplace_noise(enough):
    noise = ShareNoise(enough, SystemNoise())
    drawn = sum(noise.laplace(ZEROS, 2.5) for _ in range(enough))
    values = np.arange(-60, 61)
    assert chi_square_fits(drawn, np.exp(discrete_laplace_log_pmf(values, 2.5)), -60)


def test_one_share_too_few_is_seen_by_the_same_test():
    noise = ShareNoise(5, SystemNoise())
    drawn = sum(noise.laplace(ZEROS, 2.5) for _ in range(4))
    assert not chi_square_fits(
        drawn, np.exp(discrete_laplace_log_pmf(np.arange(-60, 61), 2.5)), -60
    )


def test_drawn_shares_add_up_to_geometric_noise():
    noise = ShareNoise(4, SystemNoise())
    drawn = sum(noise.geometric(ZEROS, 6.0) for _ in range(4))
    q = math.exp(-1 / 6)
    assert chi_square_fits(drawn, (1 - q) * q ** np.arange(150), 0)


@pytest.mark.parametrize(("enough", "scale"), [(2, 9.0), (5, 1.0), (5, 12.0)])
def test_drawn_gaussian_shares(enough, scale):
    noise = ShareNoise(enough, SystemNoise())
    drawn = sum(noise.gaussian(ZEROS, scale) for _ in range(enough))
    whole = max(scale, SMALLEST_SHARE * math.sqrt(enough))
    reach = int(12 * whole)
    assert chi_square_fits(
        drawn, np.exp(discrete_gaussian_log_pmf(np.arange(-reach, reach + 1), whole)), -reach
    )


@pytest.mark.parametrize("share", [0.84, 1.0, 1.3])
@pytest.mark.parametrize("enough", [2, 3, 6])
def test_the_sum_of_discrete_gaussians_is_as_near_to_one_as_proved(share, enough):
    """Shares far smaller than are ever used, so that the difference can be seen in floating point
    at all.
    """
    reach = 14
    pmf = np.exp(discrete_gaussian_log_pmf(np.arange(-reach, reach + 1), share))
    summed = added(pmf, enough)
    middle = slice(
        enough * reach - 5, enough * reach + 6
    )  # beyond, what was cut off at the reach would be seen
    ratio = np.log(summed[middle]) - discrete_gaussian_log_pmf(
        np.arange(-5, 6), share * math.sqrt(enough)
    )
    assert np.abs(ratio).max() < _unlikeness(share, enough)
    if enough == 2:
        assert np.abs(ratio).max() > 0.2 * _unlikeness(share, enough)


@pytest.mark.parametrize("enough", [2, 3, 5, 20])
@pytest.mark.parametrize("scale", [0.3, 1.0, 4.0, 5.0, 33.3, 1e6])
def test_gaussian_shares_cost_no_more_than_noise_in_one_piece(enough, scale):
    share = gaussian_share(scale, enough)
    assert share >= SMALLEST_SHARE
    assert 1 / (share * math.sqrt(enough)) + 2 * _unlikeness(share, enough) <= 1 / scale
    if scale > 2 * SMALLEST_SHARE * math.sqrt(enough):
        assert share * math.sqrt(enough) < scale * (1 + 1e-9)


@pytest.mark.parametrize("enough", [2, 4])
def test_the_price_of_gaussian_shares_by_the_law_of_their_sum(enough):
    """The zCDP loss of the sum, computed from its law, is what the price says; of one share too few
    it is more.
    """
    scale, reach = 5.0, 60
    pmf = np.exp(
        discrete_gaussian_log_pmf(np.arange(-reach, reach + 1), gaussian_share(scale, enough))
    )

    def rho(shares: int) -> float:
        law = added(pmf, shares)
        here, there = law[1:], law[:-1]
        likely = (here > 1e-30) & (there > 1e-30)
        return renyi_rho(np.log(here[likely]), np.log(there[likely]))

    price = 1 / (2 * scale**2)
    assert rho(enough) <= price * (1 + 1e-6)
    assert rho(enough) > 0.98 * price
    assert rho(enough + 1) < price
    assert rho(enough - 1) > price * 1.2


def test_one_share_is_all_where_one_is_enough():
    assert gaussian_share(0.5, 1) == 0.5
    assert sum_scale("laplace", 3.0, 1, 1) == 3.0


@pytest.mark.parametrize("distribution", ["laplace", "gaussian"])
@pytest.mark.parametrize(("enough", "shares"), [(3, 3), (3, 5), (1, 5)])
def test_the_scale_of_a_sum_is_that_of_its_deviation(distribution, enough, shares):
    noise = ShareNoise(enough, SystemNoise())
    add = noise.laplace if distribution == "laplace" else noise.gaussian
    drawn = sum(add(ZEROS, 7.0) for _ in range(shares))
    told = Measurement(
        (), ZEROS, distribution, sum_scale(distribution, 7.0, enough, shares)
    ).deviation
    assert drawn.std() == pytest.approx(told, rel=0.05)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 10.0, 20.0, 40.0, 1000.0])
@pytest.mark.parametrize(("enough", "shares"), [(3, 3), (3, 5), (1, 255)])
def test_the_scale_of_a_sum_of_little_noise(epsilon, enough, shares):
    """The variance of what is drawn, and that of the scale that is told, are one."""
    drawn = max(1 / epsilon, SMALLEST_SCALE)
    told = sum_scale("laplace", 1 / epsilon, enough, shares)
    q, p = math.exp(-1 / drawn), math.exp(-1 / told)
    assert 2 * p / (1 - p) ** 2 == pytest.approx(shares / enough * 2 * q / (1 - q) ** 2, rel=1e-9)
    assert drawn == (1 / 32 if epsilon > 32 else 1 / epsilon)


def test_what_can_be_drawn_can_be_asked_for():
    """The largest scales that are let through are drawn, in shares or not; the next ones are not
    let through.
    """
    share, own = ShareNoise(3, SystemNoise()), SystemNoise()
    for noise, currency, largest in (
        (share, "epsilon", 2.0**24),
        (share, "rho", 2.0**36),
        (own, "epsilon", 2.0**36),
        (own, "rho", 2.0**36),
    ):
        check_scale(noise, largest, currency)
        if largest > 2**24:  # the law of shares at the other takes seconds to be found, once
            add = noise.laplace if currency == "epsilon" else noise.gaussian
            assert np.abs(add(ZEROS[:10], largest)).max() > 2**20
        with pytest.raises(InputError, match="raise epsilon"):
            check_scale(noise, math.nextafter(largest, math.inf), currency)


def test_seeded_shares_repeat_and_say_so():
    one, other = (ShareNoise(3, SeededNoise(1)) for _ in range(2))
    assert not one.private
    assert (one.laplace(ZEROS, 5.0) == other.laplace(ZEROS, 5.0)).all()
    assert (one.gaussian(ZEROS, 5.0) == other.gaussian(ZEROS, 5.0)).all()
    total = sum(one.laplace(ZEROS, 5.0) for _ in range(3))
    assert total.std() == pytest.approx(Measurement((), ZEROS, "laplace", 5.0).deviation, rel=0.05)


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_seeded_shares_are_centred(kind):
    noise = getattr(ShareNoise(4, SeededNoise(5)), kind)(ZEROS, 10.0)
    assert abs(noise.mean()) < 6 * noise.std() / math.sqrt(ZEROS.size)


def test_what_a_delegate_sees_has_a_quarter_of_the_noise_of_its_choice():
    assert scores_scale(Budget(0.01, "rho"), 7, top=True) == delegate_scale(0.01) / 4


def test_what_cannot_be_shared_is_refused():
    noise = ShareNoise(3, SystemNoise())
    with pytest.raises(InputError, match="raise epsilon"):
        noise.laplace(ZEROS[:1], 1e12)
    with pytest.raises(InputError, match="cannot be drawn"):
        noise.draw(ZEROS, 3, Fraction(1))


def test_scores_on_the_grid():
    scores = np.array([0.0, 1.0, 2.5])
    assert round_to_shared_grid(scores, 2.0).tolist() == [
        0,
        SHARED_GRID // 2,
        SHARED_GRID + SHARED_GRID // 4,
    ]


@pytest.mark.parametrize(("top", "bound"), [(False, 1.0), (True, 0.75)])
def test_a_score_that_moves_unevenly_is_told_at_its_full_bound(top, bound):
    # F falls by up to 1 and rises by up to 1/2: only a choice gets away with half of that range.
    assert score_sensitivity("F", "add_remove", None, True, top) == bound
    assert score_sensitivity("R", "add_remove", None, True, top) == 2.0


def top_probabilities(
    scores: list[int], scale: float, extra: np.ndarray | None = None
) -> np.ndarray:
    """P(each place has the largest of score plus geometric noise (plus something independent), the
    first of equals).
    """
    reach = 4000
    q = math.exp(-1 / scale)
    pmf = (1 - q) * q ** np.arange(reach)
    if extra is not None:
        pmf = np.convolve(pmf, extra)[:reach]
    below = np.concatenate([[0.0], np.cumsum(pmf)])  # P(noise < k)
    found = []
    for place, score in enumerate(scores):
        others = np.ones(reach)
        for other, their in enumerate(scores):
            if other != place:
                # Noise k wins against lower places only if strictly larger.
                limit = np.arange(reach) + score - their + (1 if other > place else 0)
                others = others * below[np.clip(limit, 0, reach)]
        found.append(float((pmf * others).sum()))
    return np.array(found)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("others", [1, 3])
@pytest.mark.parametrize("gap", [-12, -1, 0, 1, 7])
def test_the_largest_of_noisy_sums_costs_what_is_said(epsilon, others, gap):
    """On a coarse grid of five steps, where all probabilities can be added up: one up, the others
    down.
    """
    step = 5
    scale = 2 * step / epsilon
    here = top_probabilities([gap, *[0] * others], scale)
    there = top_probabilities([gap + step, *[-step] * others], scale)
    assert here.sum() == pytest.approx(1)
    losses = np.abs(np.log(here / there))
    assert losses.max() <= epsilon + 1e-9
    if others == 1 and gap <= -2 * step:
        assert losses.max() > 0.9 * epsilon
    # Noise beyond one geometric variable, from holders that were not needed, takes nothing away
    # from it.
    more = polya_pmf(0.5, scale, 1000)
    here = top_probabilities([gap, *[0] * others], scale, more)
    there = top_probabilities([gap + step, *[-step] * others], scale, more)
    assert np.abs(np.log(here / there)).max() <= epsilon + 1e-9
    assert top_scale(epsilon) >= 2 * (SHARED_GRID + 2) / epsilon


FORKING = """
import json, os, sys
from fractions import Fraction
import numpy as np
from understudy.privacy.mechanisms import SystemNoise
from understudy.federation.noise_shares import ShareNoise

noise, shares, zeros = SystemNoise(), ShareNoise(3, SystemNoise()), np.zeros(64, dtype=np.int64)

def draw():
    return {
        "shares of Laplace noise": shares.laplace(zeros, 1000.0).tolist(),
        "shares of geometric noise": shares.geometric(zeros, 1000.0).tolist(),
        "shares of Gaussian noise": shares.gaussian(zeros, 1000.0).tolist(),
        "Laplace noise": noise.laplace(zeros, 1000.0).tolist(),
        "Gaussian noise": noise.gaussian(zeros, 1000.0).tolist(),
        "permute and flip": [noise.choose(zeros, 1.0, "permute_and_flip") for _ in range(64)],
        "exponential": [noise.choose(zeros, 1.0, "exponential") for _ in range(64)],
        "draws": noise.draw(zeros + 1, 64, Fraction(1)).tolist(),
    }

draw()  # fills whatever is kept for later
print(end="", flush=True)
for _ in range(2):
    child = os.fork()
    if not child:
        break
drawn = json.dumps(draw()) + "\\n"
if child:
    while True:
        try:
            os.wait()
        except ChildProcessError:
            break
os.write(1, drawn.encode())
os._exit(0)
"""


def test_a_parent_and_its_children_have_no_noise_in_common():
    """Noise that two answers share can be taken off one of them by the other."""
    ran = subprocess.run([sys.executable, "-c", FORKING], capture_output=True, check=True)
    first, second, parent = map(json.loads, ran.stdout.splitlines())
    for name, drawn in parent.items():
        assert drawn != first[name] != second[name] != drawn, name
