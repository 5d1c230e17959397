"""Many holders against one trusted curator: error, and the time of a round, each figure beside its
target.

    python benchmarks/federation.py --data ../shared/data [--only errors ways round] [--repeats 10]

Adult, split equally over five holders in one process, PrivBayes at epsilon 1. Noise, masks and
choices are the real ones, so figures vary from run to run.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import get_args

import numpy as np

from published import published
from understudy import Model, PrivBayes, Schema, Table
from understudy.data.encoding import Coded, encode
from understudy.data.marginals import marginal
from understudy.evaluation.marginals import marginals_of_order, total_variation
from understudy.federation import Federation, Holder, HolderPolicy, MemoryLink, federate
from understudy.federation.curator import FederatedCurator
from understudy.federation.identity import Identity
from understudy.federation.merged_models import MergedModels
from understudy.federation.ways import WayName
from understudy.privacy.budget import Budget
from understudy.privacy.central import CentralCurator
from understudy.privacy.ledger import Ledger
from understudy.release.callbacks import no_progress

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "studies"))

from splits import How, split

SECTIONS = ("errors", "ways", "round")
HOLDERS = 5
WITHIN = 1.03
FEARED = ((0, 0), (1, 0), (0, 1), (1, 1))
"""How many holders may drop out, and how many collude."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, default=Path("../shared/data"), help="where the published tables lie"
    )
    parser.add_argument(
        "--only", nargs="+", choices=SECTIONS, default=SECTIONS, help="parts to run, by default all"
    )
    parser.add_argument("--repeats", type=int, default=10, help="runs that errors are the mean of")
    arguments = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    for section in arguments.only:
        print(f"\n{section}", flush=True)
        {"errors": errors, "ways": ways, "round": rounds}[section](arguments)


def line(what: str, measured: str, target: str = "", reached: bool | None = None) -> None:
    verdict = {True: "reached", False: "MISSED", None: ""}[reached]
    print(f"  {what:<62} {measured:<44} {target:<16} {verdict}".rstrip(), flush=True)


def holders_of(parts: list[Coded]) -> list[Holder]:
    """Holders in this process, who have pinned each other."""
    identities = [Identity.new(f"holder-{place}") for place in range(len(parts))]
    peers = {identity.name: identity.certificate for identity in identities}
    return [
        Holder(
            identity.name,
            part,
            HolderPolicy(allowance=1e6, delta=0.5, colluders=0),
            identity=identity,
            peers=peers,
        )
        for identity, part in zip(identities, parts, strict=True)
    ]


# ---- errors


def errors(arguments: argparse.Namespace) -> None:
    """The secure way against a trusted curator: mean total variation distance of 3-way tables."""
    coded = _adult(arguments.data)
    for delta in (0.0, 1e-9):
        method = PrivBayes(epsilon=1.0, delta=delta)
        central, text = _mean_error(coded, arguments.repeats, partial(_central, coded, method))
        line(f"delta {delta:g}, one trusted curator", text)
        for dropouts, colluders in FEARED:
            mean, text = _mean_error(
                coded,
                arguments.repeats,
                partial(_federated, coded, method, dropouts=dropouts, colluders=colluders),
            )
            told = f"{dropouts} may drop out, {colluders} collude"
            target = (
                ("<= 1.03 x", mean / central <= WITHIN) if not dropouts + colluders else ("", None)
            )
            line(
                f"delta {delta:g}, {HOLDERS} holders, {told}",
                f"{text}, {mean / central:.3f} x",
                *target,
            )


def ways(arguments: argparse.Namespace) -> None:
    """All ways, over splits of every kind."""
    coded = _adult(arguments.data)
    method = PrivBayes(epsilon=1.0, degree=2)
    for how in get_args(How):
        for way in get_args(WayName):
            kind = replace(method, degree=1) if way == "statistics" else method
            learn = partial(_federated, coded, kind, way=way, how=how)
            _, text = _mean_error(coded, max(arguments.repeats // 3, 1), learn)
            line(f"split {how}, way {way}, degree {kind.degree}", text)


def _adult(data: Path) -> Coded:
    table, schema = published("adult", data)
    return encode(table, schema)


def _federated(
    coded: Coded,
    method: PrivBayes,
    seed: int,
    way: WayName = "secure",
    how: How = "equal",
    dropouts: int = 0,
    colluders: int = 0,
) -> Model | MergedModels:
    holders = holders_of(split(coded, how, HOLDERS, target="income", seed=seed))
    return federate(holders, coded.schema, method, way, dropouts=dropouts, colluders=colluders)


def _central(coded: Coded, method: PrivBayes, seed: int) -> Model:
    ledger = Ledger(
        method.epsilon, method.delta, method.neighbours, "rho" if method.delta else "epsilon"
    )
    return method.learn(CentralCurator(coded, ledger), ledger.left, no_progress)


def _mean_error(
    coded: Coded, repeats: int, learn: Callable[[int], Model | MergedModels]
) -> tuple[float, str]:
    found, seconds = [], []
    tables = marginals_of_order(coded.schema, 3, 600)
    for seed in range(repeats):
        started = time.perf_counter()
        model = learn(seed)
        seconds.append(time.perf_counter() - started)
        synthetic = model.sample(coded.rows)
        assert isinstance(synthetic, Table)
        found.append(
            statistics.mean(total_variation(coded, encode(synthetic, coded.schema), tables))
        )
    spread = f" +- {statistics.stdev(found) / repeats**0.5:.4f}" if repeats > 1 else ""
    return statistics.mean(
        found
    ), f"{statistics.mean(found):.4f}{spread} ({statistics.median(seconds):.1f} s)"


# ---- rounds


def rounds(arguments: argparse.Namespace) -> None:
    """A round of 100 tables of 1000 cells, without and with drop-outs in mind."""
    schema = Schema.from_dict(
        {
            "attributes": {
                name: {"kind": "categorical", "values": list(range(10))} for name in "abcdefg"
            }
        }
    )
    rng = np.random.default_rng(0)
    parts = [
        Coded(
            schema,
            {name: rng.integers(0, 10, 10_000).astype(np.uint8) for name in "abcdefg"},
            10_000,
            (),
        )
        for _ in range(HOLDERS)
    ]
    triples = [
        (a, b, c) for a in "abcdefg" for b in "abcdefg" for c in "abcdefg" if len({a, b, c}) == 3
    ]
    tables = [marginal(*triple) for triple in triples[:100]]
    for delta in (0.0, 1e-9):
        for dropouts in (0, 1):
            with Federation(map(MemoryLink, holders_of(parts))) as federation:
                session = federation.open(
                    schema, "secure", epsilon=10.0, delta=delta, dropouts=dropouts, colluders=0
                )
                curator = FederatedCurator(session, schema)
                cost = Budget(curator.ledger.budget.amount / 8, curator.ledger.currency)
                curator.measure(tables, cost)
                took = []
                for _ in range(5):
                    started = time.perf_counter()
                    curator.measure(tables, cost)
                    took.append(time.perf_counter() - started)
            best = min(took)
            noise = "Gaussian" if delta else "Laplace"
            what = f"100 tables of 1000 cells, {noise}, {dropouts} may drop out"
            line(
                what,
                f"{best:.2f} s (all {HOLDERS} holders on {os.cpu_count()} cores)",
                "< 1 s",
                best < 1,
            )


if __name__ == "__main__":
    main()
