"""What the aggregator or the service, in league with all owners but one, can find out."""

from __future__ import annotations

import numpy as np
import pytest
from encrypted_parties import gather

from understudy.auditing import audit
from understudy.auditing.blackbox import tell_apart
from understudy.auditing.collusion import gaussian_loss, laplace_loss, share_log_pmf
from understudy.auditing.collusion_runs import run_cells
from understudy.data.encoding import Coded
from understudy.data.marginals import marginal
from understudy.data.schema import Schema
from understudy.encrypted.curator import EncryptedCurator
from understudy.encrypted.session import EncryptedSession
from understudy.mechanisms.distributions import discrete_laplace_log_pmf
from understudy.privacy.budget import Budget

pytestmark = pytest.mark.usefixtures("small_keys")

CELLS = 4000
SURE = 1 - 1e-7


def test_the_audit_finds_that_one_party_measures_no_more_than_the_claim():
    result = audit("collusion", 1.0, runs=CELLS, confidence=SURE)
    assert result.verdict == "kept"
    exact = [finding for finding in result.details if finding.test == "exact"]
    assert [finding.measured for finding in exact] == pytest.approx([1.0] * 4, rel=1e-3)
    runs = {finding.subject: finding for finding in result.details if finding.test == "runs"}
    assert set(runs) == {f"{one} with all owners but one" for one in ("aggregator", "service")}
    # About 0.75 is measured, but one run in some hundred picks an event that tells nothing: that
    # more than the claim would be seen is shown below.
    assert all(finding.measured <= 1.0 for finding in runs.values())


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_one_share_is_all_the_noise_that_epsilon_needs(epsilon, relation):
    assert 0.999 * epsilon < laplace_loss(epsilon, relation, 1) <= epsilon * (1 + 1e-9)
    assert 0.98 * epsilon < gaussian_loss(epsilon, relation, 1) <= epsilon * (1 + 1e-6)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_half_a_share_is_not(relation):
    assert laplace_loss(1.0, relation, 0) > 1.2
    assert gaussian_loss(1.0, relation, 0) > 1.2


def test_the_law_of_a_whole_share_is_that_of_laplace_noise():
    law = share_log_pmf(3.0, 1)
    middle = len(law) // 2
    wanted = discrete_laplace_log_pmf(np.arange(-50, 51), 3.0)
    found = law[middle - 50 : middle + 51]
    assert found - found[50] == pytest.approx(wanted - wanted[50], abs=1e-9)


@pytest.mark.parametrize("party", ["aggregator", "service"])
def test_halves_of_the_noise_do_not_hold_against_who_knows_one(party):
    """A control, and the reason why colluders 0 has to be asked for: 1.33 is measured, give or take
    0.04, and 0 in one of 5,806 simulated tries, which had picked an event that tells nothing.
    """

    def is_seen() -> bool:
        here, there = (run_cells(party, 1.0, 0, CELLS, rows) for rows in (2, 3))
        return tell_apart(here, there, SURE).epsilon > 1.0

    assert any(is_seen() for _ in range(3))


WIDE = Schema.from_dict(
    {"attributes": {"a": {"kind": "categorical", "values": list(range(CELLS))}}}
)


def test_two_halves_are_the_whole_noise_for_everybody_else():
    parts = []
    for _ in range(2):
        codes = np.repeat(np.arange(CELLS, dtype=np.uint16), 1)
        parts.append(Coded(WIDE, {"a": codes}, len(codes), ()))
    two = gather(parts, WIDE, tables=(marginal("a"),))
    found = {}
    for colluders in (0, 1):
        with EncryptedSession(two.link, two.store, epsilon=1.0, colluders=colluders) as opened:
            table = EncryptedCurator(opened).measure([marginal("a")], Budget(1.0))[0]
        found[colluders] = float(np.var(table.counts - 2)), table.deviation**2
    # 4,000 cells: the variance is known to about 3.6 %, and six times that is allowed.
    for variance, said in found.values():
        assert abs(variance / said - 1) < 0.25
    assert abs(found[1][1] / found[0][1] - 2) < 1e-9
