"""The Aalborg project on differential privacy and PrivBayes (Sørensen 2024): what power do tests
keep.

    python studies/aalborg.py [--repeats N] [--quick]

Four parts: Spearman's test on rows of a smoothed histogram (section 3.2); the sanity check of
networks (4.2.1); the power of Pearson's test against the mixture parameter (4.2.2) and against the
budget (4.2.3). The data are made up, so no file is needed. Beside every power stands the size: how
often the test rejects where there is nothing to find.

Two things in the project are not as they should be. Its text puts m = 1/100 into the smoothed
histogram where its own definition gives 100; that would be far from private. And its program adds
noise to *conditional* probabilities at the scale that joint ones need, which is far from private
too. Both are run here as they stand, marked as not private, beside the mechanisms put right, so
that it shows which of them the published curves come from.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from study import (
    Claim,
    Options,
    Part,
    Row,
    Settings,
    Study,
    curves,
    grid,
    long,
    means,
    seed_of,
    where,
)
from understudy import PrivBayes, Schema, Synthesizer, Table
from understudy.data.marginals import Marginal, marginal
from understudy.data.tables import Column
from understudy.models.model import Model
from understudy.models.network import Network, Node
from understudy.models.parameters import repair_counts
from understudy.privacy.budget import Budget
from understudy.privacy.curator import Curator
from understudy.privacy.mechanisms import Noise, draw_smoothing
from understudy.release.callbacks import Progress
from understudy.synthesizers.perturbed_histogram import PerturbedHistogram
from understudy.synthesizers.smoothed_histogram import SmoothedHistogram

Rows = NDArray[np.bool_]
LEVEL = 0.05
RUNS, QUICK_RUNS = 50, 5
"""Tables that are made, synthesized and tested in one cell of a study."""


def runs_of(options: Options) -> int:
    return QUICK_RUNS if options.quick else RUNS


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def rates(rows: list[Row], *, x: str, y: str, line: str, panel: Sequence[str], wide: int) -> Any:
    """Curves of how often a test rejects, all from 0 to 1."""
    placed = [row | {"log10 alpha": round(math.log10(row["alpha"]), 3)} for row in rows]
    figure = curves(placed, x=x, y=y, line=line, panel=panel, log_x=False, wide=wide)
    for axes in figure.axes:
        axes.set_ylim(-0.02, 1.02)
    return figure


# -------------------------------- the smoothed histogram (section 3.2)

SQUARE_ROWS, SQUARE_DRAWS, BINS, SPREAD = 10_000, 1_000, 10, 0.1
SQUARE_ALPHAS = tuple(10 ** (tenth / 2) for tenth in range(-12, 7))
QUICK_SQUARE_ALPHAS = (1e-5, 0.1, 1.0, 10.0)
RIGHT, MISPRINTED, PERTURBED = "m = 100", "m = 1/100 (not private)", "perturbed histogram"
SQUARE = Schema.from_dict(
    {
        "attributes": {
            name: {"kind": "real", "min": 0.0, "max": 1.0, "bins": BINS} for name in ("x1", "x2")
        }
    }
)


def square_cells(options: Options) -> list[Settings]:
    alphas = QUICK_SQUARE_ALPHAS if options.quick else SQUARE_ALPHAS
    return grid(
        data=("dependent", "independent"),
        mechanism=(RIGHT, MISPRINTED, PERTURBED),
        alpha=alphas,
        repeat=range(options.repeats),
    )


def square_run(options: Options, settings: Settings) -> Mapping[str, float]:
    from scipy.stats import spearmanr

    rng, noise = np.random.default_rng(seed_of(settings)), options.noise(settings)
    method: Synthesizer = SmoothedHistogram(
        epsilon=settings["alpha"], draws=SQUARE_DRAWS, neighbours="replace"
    )
    if settings["mechanism"] == PERTURBED:
        method = PerturbedHistogram(epsilon=settings["alpha"], neighbours="replace")
    elif settings["mechanism"] == MISPRINTED:
        noise = MisprintedNoise(noise)
    rejected = 0
    for _ in range(runs_of(options)):
        model = method.fit(square_table(rng, settings["data"] == "dependent"), SQUARE, noise=noise)
        # The rows of a smoothed histogram are drawn already; drawing from them once more would
        # spoil the test.
        spread: Any = "even" if model.draws else "independent"
        rows = model.sample(SQUARE_DRAWS, int(rng.integers(1 << 62)), spread=spread).columns
        rejected += spearmanr(rows["x1"].values, rows["x2"].values).pvalue < LEVEL
    return {"rejected": rejected / runs_of(options)}


def square_table(rng: np.random.Generator, dependent: bool) -> Table:
    """Pairs in the unit square: the second is the first with a little noise, or has nothing to do
    with it.
    """
    first, second = rng.random(SQUARE_ROWS), rng.random(SQUARE_ROWS)
    if dependent:
        second = first + rng.normal(0.0, SPREAD, SQUARE_ROWS)
        while (outside := (second < 0) | (second > 1)).any():
            again = int(outside.sum())
            first[outside] = rng.random(again)
            second[outside] = first[outside] + rng.normal(0.0, SPREAD, again)
    return Table({"x1": Column("real", first), "x2": Column("real", second)})


class MisprintedNoise:
    """Draws with m one over the number of cells in place of that number: too little smoothing. NOT
    PRIVATE.
    """

    private = False

    def __init__(self, inner: Noise) -> None:
        self.laplace, self.gaussian, self.choose = inner.laplace, inner.gaussian, inner.choose
        self.rounded_gaussian = inner.rounded_gaussian
        self.sample, self._draw = inner.sample, inner.draw

    def draw(self, counts: NDArray[np.int64], draws: int, smoothing: Fraction) -> NDArray[np.int64]:
        """How often each cell comes up."""
        return self._draw(counts, draws, smoothing / counts.size**2)


def square_claims(rows: list[Row]) -> list[Claim]:
    power = {
        m: means(where(rows, data="dependent", mechanism=m), "rejected", "alpha")
        for m in (RIGHT, MISPRINTED, PERTURBED)
    }
    null = {
        m: means(where(rows, data="independent", mechanism=m), "rejected", "alpha") for m in power
    }
    apart = {
        m: half_power({alpha: p - null[m][alpha] for alpha, p in power[m].items()}) for m in power
    }
    size = float(np.mean(list(null[RIGHT].values())))
    worst = max(null[PERTURBED], key=null[PERTURBED].__getitem__)
    high = min(p for alpha, p in power[RIGHT].items() if alpha >= math.sqrt(10))
    low = max(p for alpha, p in power[RIGHT].items() if alpha <= 0.1)
    middle = {m: half_power(found) for m, found in power.items()}
    smoothing = draw_smoothing(Budget(1.0), SQUARE_DRAWS, "replace")
    lost = SQUARE_DRAWS * math.log1p(1 / float(smoothing / BINS**4))
    return [
        Claim(
            "Power is about 100 % for alpha above 3.16",
            high >= 0.95,
            f"with m = 100 at least {percent(high)}",
        ),
        Claim(
            "Power levels off at about 0 % below alpha = 0.32",
            low <= 0.15,
            f"for alpha <= 0.1 at most {percent(low)}; a test at 5 % cannot do less",
        ),
        Claim(
            "The drop between alpha = 3.16 and 0.32 is that of m = 100, as the definition has it",
            10**-0.5 <= middle[RIGHT] <= 10**0.5,
            f"power is one half at alpha = {middle[RIGHT]:.2g}",
        ),
        Claim(
            "The published curve was made with the m = 1/100 of the text",
            10**-0.5 <= middle[MISPRINTED] <= 10**0.5,
            f"with it power would be one half at alpha = {middle[MISPRINTED]:.2g}",
        ),
        Claim(
            "Rows drawn with m = 1/100 are 1-differentially private",
            lost <= 1,
            f"the exact loss is epsilon = {lost:,.0f}",
        ),
        Claim(
            "On rows of the smoothed histogram the test keeps its size of 5 %",
            abs(size - LEVEL) < 0.015,
            f"{100 * size:.1f} % over all alpha",
        ),
        Claim(
            "The perturbed histogram tells dependence from none at a smaller alpha",
            apart[PERTURBED] < apart[RIGHT],
            f"power less size is one half at alpha = {apart[PERTURBED]:.2g} against "
            f"{apart[RIGHT]:.2g}",
        ),
        Claim(
            "On rows of the perturbed histogram the test keeps its size of 5 %",
            null[PERTURBED][worst] < 0.15,
            f"it rejects in up to {percent(null[PERTURBED][worst])} of runs, at alpha = "
            f"{worst:.2g}: where noise is as "
            f"large as the counts the test takes it for dependence",
        ),
    ]


def half_power(power: Mapping[float, float]) -> float:
    """Where the curve crosses one half, going down from the right; straight between points of the
    logarithm.
    """
    points = sorted(power.items(), reverse=True)
    for (right, above), (left, below) in itertools.pairwise(points):
        if above >= 0.5 > below:
            share = (above - 0.5) / (above - below)
            return float(right * (left / right) ** share)
    return points[-1][0] if points[-1][1] >= 0.5 else points[0][0]


def square_figure(rows: list[Row]) -> Any:
    return rates(rows, x="log10 alpha", y="rejected", line="mechanism", panel=("data",), wide=2)


# ------------------------------------ the copula's data (equation 4.6)

COPULA = np.array(
    [
        [1.0, 0.6, 0.5, 0.4, 0.3],
        [0.6, 1.0, 0.6, 0.5, 0.4],
        [0.5, 0.6, 1.0, 0.6, 0.5],
        [0.4, 0.5, 0.6, 1.0, 0.6],
        [0.3, 0.4, 0.5, 0.6, 1.0],
    ]
)
COPULA_ROWS, DEGREE = 1_000, 3
NAMES = ("x1", "x2", "x3", "x4", "x5")
BITS = Schema.from_dict({"attributes": {name: {"kind": "boolean"} for name in NAMES}})
Parents = tuple[int, ...]


def copula_rows(rng: np.random.Generator, dependent: bool = True) -> Rows:
    """Normal vectors with the covariance of (4.6), or with none, cut at their medians."""
    normal = rng.standard_normal((COPULA_ROWS, len(NAMES)))
    return (normal @ np.linalg.cholesky(COPULA).T if dependent else normal) >= 0


def table_of(rows: Rows) -> Table:
    return Table({name: Column("boolean", rows[:, i]) for i, name in enumerate(NAMES)})


def parent_sets(child: int) -> list[Parents]:
    """Up to three of the attributes before; at least one."""
    return [
        s
        for size in range(1, min(DEGREE, child) + 1)
        for s in itertools.combinations(range(child), size)
    ]


def configurations(rows: Rows, attributes: Sequence[int]) -> NDArray[np.int64]:
    """The values of some attributes of each row as one number."""
    return rows[:, list(attributes)] @ (1 << np.arange(len(attributes))[::-1])


def information(rows: Rows, child: int, parents: Parents) -> float:
    """Mutual information in nats, as the project's program has it."""

    def entropy(attributes: Sequence[int]) -> float:
        shares = np.bincount(configurations(rows, attributes)) / len(rows)
        return float(-(shares[shares > 0] * np.log(shares[shares > 0])).sum())

    return entropy((child,)) + entropy(parents) - entropy((child, *parents))


def greedy_parents(rows: Rows) -> list[Parents]:
    """The parents that tell most, exactly: private to nobody, to compare with."""
    best: list[Parents] = [()]
    for child in range(1, len(NAMES)):
        told = {parents: information(rows, child, parents) for parents in parent_sets(child)}
        best.append(max(told, key=told.__getitem__))
    return best


@dataclass(frozen=True, kw_only=True)
class FixedOrder(Synthesizer):
    """The project's PrivBayes with its mechanisms put right: attributes in order, noise in joint
    counts.

    Parents are chosen by the exponential mechanism with mutual information; of the budget ``beta``
    goes there.
    """

    name: ClassVar[str] = "the project's order"
    beta: float = 0.5

    def learn(self, curator: Curator, budget: Budget, progress: Progress) -> Model:
        """A network, then tables."""
        structure, parameters = budget.split(self.beta, 1 - self.beta)
        parents = self.parents(curator, structure)
        families: list[Marginal] = [
            marginal(*(NAMES[p] for p in (*of, i))) for i, of in enumerate(parents)
        ]
        measured = curator.measure(families, parameters)
        nodes = [
            Node(
                NAMES[i], m.marginal[:-1], repair_counts(m.counts, COPULA_ROWS, "clip"), m.deviation
            )
            for i, m in enumerate(measured)
        ]
        return Model(
            self.parameters(), curator.schema, Network(tuple(nodes)), curator.ledger, curator.rows
        )

    def parents(self, curator: Curator, budget: Budget) -> list[Parents]:
        """The first attribute has none; each other one gets the parents that are chosen."""
        found: list[Parents] = [()]
        for child, share in zip(range(1, len(NAMES)), budget.equally(len(NAMES) - 1), strict=True):
            sets = parent_sets(child)
            candidates = [marginal(NAMES[child], *(NAMES[p] for p in parents)) for parents in sets]
            found.append(sets[curator.choose(candidates, "I", share, rule="exponential")])
        return found


@dataclass(frozen=True, kw_only=True)
class NetworkOnly(FixedOrder):
    """All of the budget for the network; the tables are left flat."""

    def learn(self, curator: Curator, budget: Budget, progress: Progress) -> Model:
        """A network."""
        parents = self.parents(curator, budget)
        nodes = [
            Node(NAMES[i], marginal(*(NAMES[p] for p in of)), np.ones((2,) * (len(of) + 1)))
            for i, of in enumerate(parents)
        ]
        return Model(
            self.parameters(), curator.schema, Network(tuple(nodes)), curator.ledger, curator.rows
        )


def published_parents(rows: Rows, alpha: float, rng: np.random.Generator) -> list[Parents]:
    """The project's choice of parents: scores in nats over a sensitivity in bits. Safe, though it
    wastes budget.
    """
    n, d = rows.shape
    sensitivity = math.log2(n) / n + (n - 1) / n * math.log2(n / (n - 1))
    found: list[Parents] = [()]
    for child in range(1, d):
        sets = parent_sets(child)
        scores = np.array([information(rows, child, parents) for parents in sets])
        logits = scores * alpha / (2 * (d - 1) * sensitivity)
        found.append(sets[int(np.argmax(logits + rng.gumbel(size=len(sets))))])
    return found


def published_conditionals(rows: Rows, parents: Sequence[Parents]) -> list[NDArray[np.float64]]:
    """Exact conditional probabilities: for each attribute a table of configurations by the
    attribute's two values.
    """
    tables = []
    for child, of in enumerate(parents):
        counts = np.bincount(configurations(rows, (*of, child)), minlength=2 << len(of)).reshape(
            -1, 2
        )
        tables.append(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))
    return tables


def published_scale(alpha: float, beta: float) -> float:
    """The scale of the noise that the project's program adds to each conditional probability."""
    return 2 * len(NAMES) / (COPULA_ROWS * (1 - beta) * alpha)


def published_rows(rows: Rows, alpha: float, beta: float, rng: np.random.Generator) -> Rows:
    """Rows by the project's program as it stands. NOT PRIVATE: see :func:`published_loss`."""
    parents = published_parents(rows, beta * alpha, rng)
    drawn = np.zeros_like(rows)
    for child, (of, exact) in enumerate(
        zip(parents, published_conditionals(rows, parents), strict=True)
    ):
        noisy = np.maximum(exact + rng.laplace(0.0, published_scale(alpha, beta), exact.shape), 0.0)
        total = noisy.sum(axis=1)
        ones = np.divide(noisy[:, 1], total, out=np.zeros_like(total), where=total > 0)
        drawn[:, child] = rng.random(len(rows)) < ones[configurations(drawn, of)]
    return drawn


def published_loss(alpha: float, beta: float) -> float:
    """The exact loss of that noise on two tables that differ in one row: all rows alike but one,
    and that one changes.

    The network is the chain. A parent value that only one row has gets a conditional probability
    that the row decides alone, so that it moves by 1 where a joint probability would move by 1/n.
    """
    here = np.zeros((COPULA_ROWS, len(NAMES)), dtype=bool)
    there = here.copy()
    here[0] = (True, False, True, False, True)
    there[0] = (True, True, True, True, True)
    chain: list[Parents] = [(), *((child - 1,) for child in range(1, len(NAMES)))]
    gaps = [
        np.abs(a - b).sum()
        for a, b in zip(
            published_conditionals(here, chain), published_conditionals(there, chain), strict=True
        )
    ]
    return float(sum(gaps)) / published_scale(alpha, beta)


# ------------------------------------ the sanity check (section 4.2.1)

NETWORK_EPSILONS = (0.05, 0.5, 5.0, 50.0)
PRIVATE, PUBLISHED, DEFAULT = "put right", "as published (not private)", "understudy's default"


def network_cells(options: Options) -> list[Settings]:
    return grid(
        mechanism=("in bits", "in nats, as published"),
        epsilon=NETWORK_EPSILONS,
        repeat=range(options.repeats),
    )


def network_run(options: Options, settings: Settings) -> Mapping[str, float]:
    rng, noise = np.random.default_rng(seed_of(settings)), options.noise(settings)
    found = []
    for _ in range(runs_of(options)):
        rows = copula_rows(rng)
        if settings["mechanism"] == "in bits":
            model = NetworkOnly(epsilon=settings["epsilon"], neighbours="replace").fit(
                table_of(rows), BITS, noise=noise
            )
            parents = [
                tuple(NAMES.index(axis.attribute) for axis in node.parents)
                for node in model.network
            ]
        else:
            parents = published_parents(rows, settings["epsilon"], rng)
        best = greedy_parents(rows)
        told, most = (
            sum(information(rows, i, of) for i, of in enumerate(p) if of) for p in (parents, best)
        )
        alike = np.mean(
            [mine == theirs for mine, theirs in zip(parents[1:], best[1:], strict=True)]
        )
        found.append(
            [float(parents == best), alike, told / most, np.mean([len(of) for of in parents[1:]])]
        )
    names = ("identical", "sets_alike", "information", "parents")
    return dict(zip(names, np.mean(np.array(found), axis=0), strict=True))


def network_claims(rows: list[Row]) -> list[Claim]:
    own = where(rows, mechanism="in bits")
    alike, identical, parents = (
        means(own, name, "epsilon") for name in ("sets_alike", "identical", "parents")
    )
    nats = means(where(rows, mechanism="in nats, as published"), "information", "epsilon")
    bits = means(own, "information", "epsilon")
    falling = [alike[epsilon] for epsilon in NETWORK_EPSILONS]
    told = ", ".join(
        f"{percent(alike[epsilon])} at {epsilon:g}" for epsilon in reversed(NETWORK_EPSILONS)
    )
    return [
        Claim(
            "At epsilon 50 the network is the greedy one",
            identical[50.0] > 0.5,
            f"in {percent(identical[50.0])} of runs",
        ),
        Claim(
            "The smaller epsilon, the less the network is like the greedy one",
            falling == sorted(falling),
            f"parent sets alike: {told}",
        ),
        Claim(
            "Parent sets shrink as epsilon falls",
            parents[0.05] < parents[50.0],
            f"{parents[50.0]:.2f} parents on average at 50, {parents[0.05]:.2f} at 0.05",
        ),
        Claim(
            "Nats over a sensitivity in bits waste budget",
            sum(bits.values()) > sum(nats.values()),
            "mutual information kept, of the greedy network's: "
            + ", ".join(
                f"{percent(bits[e])} against {percent(nats[e])} at {e:g}"
                for e in reversed(NETWORK_EPSILONS)
            ),
        ),
    ]


def network_figure(rows: list[Row]) -> Any:
    measures = ("identical", "sets_alike", "information", "parents")
    return curves(
        long(rows, *measures), x="epsilon", y="value", line="mechanism", panel=("measure",)
    )


# --------------------------- Pearson's test (sections 4.2.2 and 4.2.3)

MIXTURE_ALPHAS, MIXTURE_BETAS = (0.1, 1.0, 10.0, 100.0), (0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9)
BUDGET_ALPHAS, BUDGET_BETAS = tuple(10 ** (half / 2) for half in range(-4, 5)), (0.2, 0.5, 0.8)
PAIRS = ("x1_x2", "x1_x3", "x1_x4", "x1_x5")
CRITICAL = 3.841458820694124
"""What chi-squared with one degree of freedom exceeds with a probability of 5 %."""


def mixture_cells(options: Options) -> list[Settings]:
    return grid(
        data=("dependent", "independent"),
        mechanism=(PRIVATE, PUBLISHED),
        alpha=(0.1, 10.0) if options.quick else MIXTURE_ALPHAS,
        beta=(0.1, 0.5, 0.9) if options.quick else MIXTURE_BETAS,
        repeat=range(options.repeats),
    )


def budget_cells(options: Options) -> list[Settings]:
    return grid(
        data=("dependent", "independent"),
        mechanism=(PRIVATE, PUBLISHED, DEFAULT),
        alpha=(0.01, 0.1, 1.0, 100.0) if options.quick else BUDGET_ALPHAS,
        beta=(0.5,) if options.quick else BUDGET_BETAS,
        repeat=range(options.repeats),
    )


def pearson_run(options: Options, settings: Settings) -> Mapping[str, float]:
    """How often Pearson's test rejects, for each pair; as published, runs with a constant column
    are left out.
    """
    rng, noise = np.random.default_rng(seed_of(settings)), options.noise(settings)
    alpha, beta, mechanism = settings["alpha"], settings["beta"], settings["mechanism"]
    rejected, constant = [], 0
    for _ in range(runs_of(options)):
        rows = copula_rows(rng, settings["data"] == "dependent")
        if mechanism == PUBLISHED:
            drawn = published_rows(rows, alpha, beta, rng)
        else:
            method: Synthesizer = FixedOrder(epsilon=alpha, beta=beta, neighbours="replace")
            if mechanism == DEFAULT:
                method = replace(PrivBayes(epsilon=alpha, neighbours="replace"), beta=beta)
            model = method.fit(table_of(rows), BITS, noise=noise)
            sample = model.sample(
                COPULA_ROWS, int(rng.integers(1 << 62)), spread="independent"
            ).columns
            drawn = np.column_stack([sample[name].values for name in NAMES]).astype(bool)
        spoilt = bool((drawn.all(axis=0) | ~drawn.any(axis=0)).any())
        constant += spoilt
        # R's chisq.test fails on a table of one cell, which the project's loop comes to: the run is
        # dropped.
        if not (spoilt and mechanism == PUBLISHED):
            rejected.append(
                [rejects(drawn[:, 0], drawn[:, other]) for other in range(1, len(NAMES))]
            )
    shares = np.mean(rejected, axis=0) if rejected else np.zeros(len(PAIRS))
    return {
        **dict(zip(PAIRS, shares, strict=True)),
        "power": float(shares.mean()),
        "constant": constant / runs_of(options),
    }


def rejects(a: Rows, b: Rows) -> bool:
    """Pearson's test with Yates' correction at 5 %, as R does it; a column that does not vary gives
    no evidence.
    """
    table = np.bincount(2 * a.astype(int) + b, minlength=4).reshape(2, 2)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    if not expected.all():
        return False
    gap = np.abs(table - expected)
    return bool((((gap - np.minimum(0.5, gap)) ** 2) / expected).sum() > CRITICAL)


def mixture_claims(rows: list[Row]) -> list[Claim]:
    claims = []
    for mechanism in (PRIVATE, PUBLISHED):
        power = means(where(rows, data="dependent", mechanism=mechanism), "power", "alpha", "beta")
        alphas, betas = sorted({alpha for alpha, _ in power}), sorted({beta for _, beta in power})
        overall = [float(np.mean([power[alpha, beta] for beta in betas])) for alpha in alphas]
        middle = betas[len(betas) // 2]
        claims.append(
            Claim(
                f"{mechanism}: power rises with alpha",
                overall == sorted(overall),
                told_by(alphas, overall),
            )
        )
        for alpha, low_end in ((1.0, False), (10.0, True), (100.0, True)):
            if alpha not in alphas:
                continue
            end = betas[0] if low_end else betas[-1]
            claims.append(
                Claim(
                    f"{mechanism}: at alpha {alpha:g} power is low for a "
                    f"{'small' if low_end else 'large'} beta",
                    power[alpha, end] < power[alpha, middle] - 0.02,
                    f"{percent(power[alpha, end])} at beta {end:g}, "
                    f"{percent(power[alpha, middle])} at {middle:g}",
                )
            )
        ends = min(power[0.1, betas[0]], power[0.1, betas[-1]])
        claims.append(
            Claim(
                f"{mechanism}: at alpha 0.1 power is U-shaped in beta",
                ends > power[0.1, middle] + 0.02,
                f"{percent(power[0.1, betas[0]])}, {percent(power[0.1, middle])}, "
                f"{percent(power[0.1, betas[-1]])} "
                f"at beta {betas[0]:g}, {middle:g}, {betas[-1]:g}",
            )
        )
        size = means(where(rows, data="independent", mechanism=mechanism), "power", "alpha")
        claims.append(
            Claim(
                f"{mechanism}: where nothing depends on anything the test rejects in 5 % of runs",
                max(size.values()) < 0.08,
                told_by(*zip(*sorted(size.items()), strict=True)),
            )
        )
    return claims


def budget_claims(rows: list[Row]) -> list[Claim]:
    claims = []
    mechanisms = (PRIVATE, PUBLISHED, DEFAULT)
    power = {
        m: means(where(rows, data="dependent", mechanism=m), "power", "alpha") for m in mechanisms
    }
    size = {
        m: means(where(rows, data="independent", mechanism=m), "power", "alpha") for m in mechanisms
    }
    constant = means(where(rows, data="dependent", mechanism=PUBLISHED), "constant", "alpha")
    for mechanism in mechanisms:
        found, null = power[mechanism], size[mechanism]
        steps = [found[alpha] for alpha in (0.1, 1.0, 100.0)]
        claims += [
            Claim(
                f"{mechanism}: power falls as alpha goes from 100 to 0.1",
                steps == sorted(steps),
                told_by((0.1, 1.0, 100.0), steps),
            ),
            Claim(
                f"{mechanism}: power rises again below alpha = 0.1",
                found[0.01] > found[0.1] + 0.02,
                f"{percent(found[0.1])} at 0.1, {percent(found[0.01])} at 0.01",
            ),
            Claim(
                f"{mechanism}: what is rejected at alpha = 0.01 is signal",
                found[0.01] > null[0.01] + 0.1,
                f"{percent(found[0.01])} with dependence, {percent(null[0.01])} without any",
            ),
        ]
    gain = {alpha: power[DEFAULT][alpha] - size[DEFAULT][alpha] for alpha in power[DEFAULT]}
    theirs = {alpha: power[PRIVATE][alpha] - size[PRIVATE][alpha] for alpha in power[PRIVATE]}
    largest = {m: max(size[m].values()) for m in mechanisms}
    loss = published_loss(1.0, 0.5)
    return [
        *claims,
        Claim(
            "As published, runs whose synthetic columns are constant are dropped",
            max(constant.values()) > 0,
            "dropped: " + told_by(*zip(*sorted(constant.items()), strict=True)),
        ),
        Claim(
            "The published noise keeps alpha = 1",
            loss <= 1,
            f"the exact loss of the tables alone is epsilon = {loss:,.0f} on two tables that "
            "differ in one row",
        ),
        Claim(
            "Understudy's default finds dependence where there is none less often than the "
            "project's network put right",
            largest[DEFAULT] < largest[PRIVATE],
            f"at the worst alpha {percent(largest[DEFAULT])} against {percent(largest[PRIVATE])}; "
            "the test says 5 %",
        ),
        Claim(
            "Understudy's default tells dependence from none better than the project's network put "
            "right",
            sum(gain.values()) > sum(theirs.values()),
            "power less size, default against project's: "
            + ", ".join(
                f"{percent(gain[a])} against {percent(theirs[a])} at {a:.3g}" for a in sorted(gain)
            ),
        ),
    ]


def told_by(alphas: Sequence[float], shares: Sequence[float]) -> str:
    return ", ".join(
        f"{percent(share)} at alpha {alpha:.3g}"
        for alpha, share in zip(alphas, shares, strict=True)
    )


def mixture_figure(rows: list[Row]) -> Any:
    spread = long(rows, *PAIRS)
    return rates(
        spread, x="beta", y="value", line="measure", panel=("mechanism", "data", "alpha"), wide=4
    )


def budget_figure(rows: list[Row]) -> Any:
    spread = long(rows, *PAIRS)
    return rates(
        spread,
        x="log10 alpha",
        y="value",
        line="measure",
        panel=("mechanism", "data", "beta"),
        wide=3,
    )


# --------------------------------------------------------------------------- the study

STUDY = Study(
    "aalborg",
    "The Aalborg project: what power do tests keep on private synthetic rows?",
    (
        Part(
            "smoothed",
            "Smoothed histogram: the power of Spearman's test",
            square_cells,
            square_run,
            square_claims,
            square_figure,
        ),
        Part(
            "networks",
            "Networks at epsilon 50, 5, 0.5 and 0.05",
            network_cells,
            network_run,
            network_claims,
            network_figure,
        ),
        Part(
            "mixture",
            "Pearson's test against the mixture parameter",
            mixture_cells,
            pearson_run,
            mixture_claims,
            mixture_figure,
        ),
        Part(
            "budget",
            "Pearson's test against the budget",
            budget_cells,
            pearson_run,
            budget_claims,
            budget_figure,
        ),
    ),
    repeats=2,
    notes=(
        "Rows are drawn independently of each other, as the project does. Where it tests, a column "
        "that does not vary "
        "is no evidence of dependence; the project's program drops such a run instead.",
    ),
)

if __name__ == "__main__":
    sys.exit(STUDY.main())
