"""The audit of gradients: exact losses, canaries, and broken trainings that it must flag."""

import numpy as np
import pytest

from understudy.auditing.controls import controls
from understudy.auditing.gradients import (
    TrainingRun,
    bound_guesses,
    find_canaries,
    gradient_controls,
    gradient_findings,
    sound_gradient_controls,
)
from understudy.privacy import vectors
from understudy.privacy.mechanisms import SeededNoise


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_sums_of_clipped_vectors_lose_what_they_claim(epsilon):
    found = list(gradient_findings(epsilon))
    assert len(found) == 3
    for finding in found:
        assert finding.verdict == "kept", finding
        assert finding.measured > 0.99 * finding.claimed, finding


def test_an_accountant_that_forgets_the_sampling_order_would_be_seen(monkeypatch):
    original = vectors.find_multiplier
    monkeypatch.setattr(
        vectors, "find_multiplier", lambda order, rate, rho: original(order, rate / 2, rho)
    )
    assert any(finding.verdict == "broken" for finding in gradient_findings(1.0))


def test_a_clip_that_lets_more_through_would_be_seen(monkeypatch):
    original = vectors.put_on_grid
    monkeypatch.setattr(vectors, "put_on_grid", lambda vector, clip: 1.5 * original(vector, clip))
    assert all(finding.verdict == "broken" for finding in gradient_findings(1.0))


@pytest.mark.parametrize("control", gradient_controls(), ids=lambda control: control.name)
def test_broken_trainings_are_flagged(control):
    assert control.finding(2000, seed=1).verdict == "broken"


def test_the_sound_training_is_not():
    [control] = sound_gradient_controls(1.0)
    assert control.finding(2000, seed=1).verdict == "kept"


# --------------------------------------------------------------------------- canaries


@pytest.mark.parametrize("rate", [1.0, 0.25])
def test_canaries_of_a_whole_run_stay_below_the_claim(rate):
    training = TrainingRun(epsilon=1.0, rate=rate, steps=20)
    assert find_canaries(training, seed=2, confidence=1 - 1e-7) <= 1.0


def test_canaries_tell_much_of_what_is_claimed_where_that_is_much():
    training = TrainingRun(epsilon=8.0, rate=1.0, steps=20)
    found = find_canaries(training, seed=2, noise=SeededNoise(1), confidence=0.95)
    assert 1.0 < found <= 8.0


class LittleNoise(SeededNoise):
    """A fifth of what is needed."""

    def gaussian(self, counts, scale):
        return super().gaussian(counts, scale / 5)


def test_too_little_noise_is_found_by_one_run():
    training = TrainingRun(epsilon=1.0, rate=1.0, steps=20)
    assert find_canaries(training, seed=2, noise=LittleNoise(1)) > 1.0


def test_a_run_without_clipping_is_found_by_one_run(monkeypatch):
    monkeypatch.setattr(
        vectors, "put_on_grid", lambda vector, clip: vectors.VECTOR_STEPS * vector / clip
    )
    training = TrainingRun(epsilon=1.0, rate=1.0, steps=20, length=10.0)
    assert find_canaries(training, seed=2, noise=SeededNoise(1)) > 1.0


def test_every_mistake_that_was_made_elsewhere_is_a_control():
    names = {control.name for control in controls()}
    assert names >= {
        "DP-SGD without clipping",
        "noise on a network's loss, not on what is released",
        "noise in a layer, gradients not clipped",
        "shuffled batches accounted as Poisson samples",
        "two backward passes on one batch, paid once",
        "synthetic images labelled by a network trained on real ones",
    }


def test_a_larger_delta_lets_guesses_refute_less():
    coins = np.arange(400) % 2 == 0
    scores = coins.astype(float)
    assert bound_guesses(scores, coins, 0.95, 1e-3) < bound_guesses(scores, coins, 0.95, 1e-9)


def test_guesses_bound_nothing_where_they_are_coins():
    rng = np.random.default_rng(1)
    assert bound_guesses(rng.random(400), rng.random(400) < 0.5, 1 - 1e-7) == 0.0


def test_right_guesses_bound_much():
    coins = np.arange(400) % 2 == 0
    assert bound_guesses(coins.astype(float), coins, 0.95) > 3
