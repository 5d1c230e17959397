"""The rounded Gaussian has its distribution: by bounds, by forced words, and at large."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from test_exact_noise import DRAWS, FALSE_ALARM, Words, misfit

from understudy.privacy import rounded_noise
from understudy.privacy.exact_noise import WORD, gaussian
from understudy.privacy.normal import _pi, normal_tail, root_of_two_pi
from understudy.privacy.rounded_noise import rounded_gaussian


@pytest.mark.parametrize("x", [-3.0, 0.0, 0.25, 1.0, 6.0, 37.0])
def test_bounds_of_the_normal_tail_enclose_it(x: float) -> None:
    narrow = normal_tail(Fraction(x), 1200)
    assert narrow[1] - narrow[0] <= 2
    assert narrow[0] / (1 << 1200) == pytest.approx(stats.norm.sf(x), rel=1e-12)
    for bits in (8, 64, 300):
        low, high = normal_tail(Fraction(x), bits)
        assert low << (1200 - bits) <= narrow[0]
        assert narrow[1] <= high << (1200 - bits)


def test_bounds_of_the_root_of_two_pi_enclose_it() -> None:
    low, high = root_of_two_pi(100)
    assert high - low <= 3
    assert low / (1 << 100) == pytest.approx(math.sqrt(2 * math.pi), rel=1e-15)
    two_pi = 2 * Fraction("3.14159265358979323846264338327950288419716939937510")
    assert low**2 < two_pi * (1 << 200) < high**2


@pytest.mark.parametrize("scale", [0.05, 0.4, 3.0, 15.5, 16.0, 40.25, 1e6])
def test_draws_have_the_distribution(scale: float) -> None:
    drawn = rounded_gaussian(DRAWS, scale)
    edges = np.unique(np.rint(np.linspace(-5, 5, 101) * scale)) + 0.5
    observed = np.histogram(drawn, [-np.inf, *edges, np.inf])[0]
    chances = np.diff(stats.norm.cdf(edges / scale), prepend=0.0, append=1.0)
    assert not misfit(observed, chances)
    assert (
        stats.binomtest(int((drawn > 0).sum()), int((drawn != 0).sum()) or 1).pvalue > FALSE_ALARM
    )


def test_a_size_is_the_stretch_that_holds_the_word() -> None:
    scale = Fraction(2)
    edges = [2 * stats.norm.cdf((size + 0.5) / 2) - 1 for size in range(40)]
    for word in (0, 1 << 20, 1 << 31, (1 << 32) - 9, (1 << 32) - 1):
        middle = Words(word, *[1 << 31] * 30)
        [size] = rounded_noise._draw_sizes(1, scale, middle)
        uniform = (word + 0.5) / (1 << WORD)
        assert edges[size] > uniform * (1 - 1e-15)
        assert size == 0 or edges[size - 1] <= uniform * (1 + 1e-15)


def test_the_table_says_what_is_found_without_it() -> None:
    scale = Fraction(3, 2)
    words = np.random.default_rng(0).integers(0, 1 << WORD, 200, dtype=np.uint32).tolist()
    table = rounded_noise._draw_sizes(200, scale, Words(*words)).tolist()
    assert table == [rounded_noise._settle_size(word, scale, Words()) for word in words]


@pytest.mark.parametrize("scale", [16.0, 33.3, 5000.0])
def test_thinned_gaussians_have_the_distribution(scale: float) -> None:
    exact = Fraction(scale)
    square = exact * exact
    variance = square * 12 * square / (12 * square - 1)
    quick = 1 - 1 / (rounded_noise.QUICK_DIVISOR * scale**2)
    for size in (0, 1, round(scale), round(4 * scale), math.floor(8 * scale), round(11 * scale)):
        low, high = rounded_noise._bound_kept(size, exact, variance, 80)
        assert high - low <= 2
        kept = low / (1 << 80)
        chance = stats.norm.sf((size - 0.5) / scale) - stats.norm.sf((size + 0.5) / scale)
        proposed = math.exp(-(size**2) / (2 * float(variance)))
        assert kept * proposed == pytest.approx(scale * math.sqrt(2 * math.pi) * chance, rel=1e-8)
        assert high <= 1 << 80  # a probability
        if size <= 8 * scale:
            assert kept >= quick  # what is kept without a look


def test_bounds_of_what_is_kept_enclose_it_at_any_precision() -> None:
    scale, variance = Fraction(33, 2), _thinned(Fraction(33, 2))
    for size in (0, 20, 150):
        narrow = rounded_noise._bound_kept(size, scale, variance, 400)
        for bits in (8, 33, 64, 200):
            low, high = rounded_noise._bound_kept(size, scale, variance, bits)
            assert 0 < low < high <= low + 2
            assert low << (400 - bits) <= narrow[0] <= narrow[1] <= high << (400 - bits)


@pytest.mark.parametrize("scale", [Fraction(16), Fraction(201, 2)])
def test_only_what_is_surely_kept_is_kept_without_a_look(
    monkeypatch: pytest.MonkeyPatch, scale: Fraction
) -> None:
    square = scale * scale
    surely = (1 << WORD) - math.ceil((1 << WORD) / (14 * square))
    far = math.floor(8 * scale)
    drawn = [3, -3, far, -far, far + 1, -far - 1]
    words = [surely - 1, surely, surely - 1, surely - 1, 0, 0]
    looked_at = []

    def propose(size: int, variance: Fraction, source: object) -> np.ndarray:
        assert variance == _thinned(scale)
        return np.array(drawn)

    def look(size: int, word: int, scale: Fraction, variance: Fraction, source: object) -> bool:
        looked_at.append((size, word))
        assert variance == _thinned(scale)
        return False

    monkeypatch.setattr(rounded_noise, "gaussian_trials", propose)
    monkeypatch.setattr(rounded_noise, "_is_kept", look)
    kept = rounded_noise._keep_trials(6, scale, Words(*words))
    assert kept.tolist() == [3, far, -far]
    assert looked_at == [(3, surely), (far + 1, 0), (far + 1, 0)]


def _thinned(scale: Fraction) -> Fraction:
    """The variance v with 1 / v = 1 / s^2 - 1 / (12 s^4)."""
    return 1 / (1 / scale**2 - 1 / (12 * scale**4))


def test_what_is_not_kept_for_sure_is_looked_at() -> None:
    scale, square = Fraction(16), Fraction(256)
    variance = square * 12 * square / (12 * square - 1)
    kept = rounded_noise._bound_kept(5, scale, variance, 96)[0]
    below, above = ((kept >> 64) - 1, (kept >> 64) + 1)
    assert rounded_noise._is_kept(5, below, scale, variance, Words(0, 0))
    assert not rounded_noise._is_kept(5, above, scale, variance, Words(0, 0))


def test_a_scale_that_is_none_or_too_large_is_refused() -> None:
    for scale in (0.0, -1.0, math.nan):
        with pytest.raises(ValueError, match="positive"):
            rounded_gaussian(1, scale)
    for draw in (rounded_gaussian, gaussian):
        assert abs(int(draw(1, 2.0**50)[0])) < 2**57  # beyond 100 deviations: never
        with pytest.raises(OverflowError):
            draw(1, math.nextafter(2.0**50, math.inf))


def test_bounds_of_pi_hold_it_at_every_precision() -> None:
    """Against eighty digits, and so do those of the root of two pi, a step or two apart."""
    digits = "3141592653589793238462643383279502884197169399375105820974944592307816406286208998"
    pi = Fraction(int(digits), 10 ** (len(digits) - 1))
    for bits in range(4, 240):
        low, high = _pi(bits)
        assert low <= pi * 2**bits <= high
        assert high - low <= 2
    for bits in range(4, 120):
        low, high = root_of_two_pi(bits)
        assert low**2 <= 2 * pi * 4**bits <= high**2
        assert high - low <= 2
