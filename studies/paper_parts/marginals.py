"""Section 6.5, figures 12 to 15: all marginals of an order, PrivBayes against five baselines."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.contingency import contingency
from baselines.fourier import fourier
from baselines.laplace import laplace
from baselines.mwem import mwem
from baselines.uniform import uniform
from baselines.walsh import Projections, histogram
from paper_parts.fits import EPSILONS, marginal_errors, routine, rows_from, synthetic
from paper_parts.tables import Source, binary_names, general_names, whole
from study import Claim, Options, Part, Row, Settings, curves, grid, long, means
from understudy.evaluation.marginals import marginals_of_order
from understudy.privacy.budget import Budget
from understudy.privacy.central import CentralCurator
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import Noise
from understudy.release.callbacks import no_progress
from understudy.synthesizers.privbayes import PrivBayes

EVERYWHERE = ("PrivBayes", "Laplace", "Fourier", "Uniform", "Understudy")
BINARY = ("Contingency", "MWEM")
"""Their cost grows with the domain: on the binary tables alone, as in the paper."""

BASELINES = ("Laplace", "Fourier", "MWEM", "Contingency", "Uniform")


def cells(options: Options) -> list[Settings]:
    binary, general = binary_names(options), general_names(options)
    epsilons = (0.1, 0.8) if options.quick else EPSILONS
    repeats = range(options.repeats)
    return [
        cell
        for table in binary + general
        for cell in grid(
            table=[table],
            method=EVERYWHERE + (BINARY if table in binary else ()),
            epsilon=epsilons,
            repeat=repeats,
        )
        if cell["method"] != "Uniform" or cell["repeat"] == 0  # it has no noise
    ]


def run(options: Options, settings: Settings) -> dict[str, float]:
    source = whole(options.data, settings["table"])
    if settings["method"] == "PrivBayes":
        return marginal_errors(source, synthetic(options, source, settings, **routine(source)))
    if settings["method"] == "Understudy":
        return marginal_errors(
            source, rows_from(_understudy(options, source, settings), source, settings)
        )
    noise = options.noise(settings)
    return {
        f"Q{order}": _error(options.data, source, order, settings, noise) for order in source.orders
    }


def _understudy(options: Options, source: Source, settings: Settings) -> Any:
    """PrivBayes as Understudy runs it by default, under the same neighbours."""
    method = PrivBayes(epsilon=settings["epsilon"], neighbours="replace")
    ledger = Ledger(settings["epsilon"], 0.0, "replace", "epsilon")
    curator = CentralCurator(source.rows, ledger, options.noise(settings))
    return method.learn(curator, Budget(settings["epsilon"]), no_progress)


def _error(data: Path, source: Source, order: int, settings: Settings, noise: Noise) -> float:
    marginals = marginals_of_order(source.rows.schema, order, None)
    exact = source.exact(marginals)
    rows, epsilon = source.rows.rows, settings["epsilon"]
    found: Sequence[NDArray[np.float64]] | NDArray[np.float64]
    if settings["method"] == "Laplace":
        found = laplace(exact, rows, epsilon, noise)
    elif settings["method"] == "Fourier":
        names = [tuple(axis.attribute for axis in axes) for axes in marginals]
        found = list(fourier(dict(zip(names, exact, strict=True)), rows, epsilon, noise).values())
    elif settings["method"] == "Uniform":
        found = uniform([table.shape for table in exact], rows)
    else:
        full, attributes, projections = _full_domain(data, source.name, order)
        if settings["method"] == "MWEM":
            found = mwem(full, attributes, projections, epsilon, noise)
        else:
            found = contingency(full, projections, epsilon, noise)
    return float(
        np.mean(
            [
                np.abs(t.ravel() - f.ravel()).sum() / (2 * rows)
                for t, f in zip(exact, found, strict=True)
            ]
        )
    )


@lru_cache(maxsize=2)
def _full_domain(
    data: Path, name: str, order: int
) -> tuple[NDArray[np.int64], list[tuple[int, ...]], Projections]:
    """The full contingency table of a binary table, and how its marginals are read off it."""
    source = whole(data, name)
    names = [attribute.name for attribute in source.rows.schema.modelled]
    marginals = marginals_of_order(source.rows.schema, order, None)
    attributes = [tuple(names.index(axis.attribute) for axis in axes) for axes in marginals]
    full = histogram([source.rows.codes[name] for name in names])
    return full, attributes, Projections(len(names), attributes)


def conclude(rows: list[Row]) -> list[Claim]:
    tall = long(rows, "Q2", "Q3", "Q4")
    errors = means(tall, "value", "table", "measure", "epsilon", "method")
    return [
        _ahead(errors),
        *_pronounced(errors),
        _contingency(errors),
        _mwem(errors),
        _sensitive(errors),
        _now(errors),
    ]


Errors = dict[tuple[str, str, float, str], float]


def _ahead(errors: Errors) -> Claim:
    cases = [key for key in errors if key[3] in BASELINES]
    behind = [key for key in cases if errors[key] <= errors[*key[:3], "PrivBayes"]]
    listed = "; ".join(
        f"{m} {errors[t, q, e, m]:.4f} against {errors[t, q, e, 'PrivBayes']:.4f} on {t} {q} at "
        f"{e:g}"
        for t, q, e, m in behind
    )
    numbers = f"ahead in {len(cases) - len(behind)} of {len(cases)} comparisons" + (
        f"; not: {listed}" if behind else ""
    )
    return Claim("PrivBayes is ahead of all baselines in all cases", not behind, numbers)


def _pronounced(errors: Errors) -> list[Claim]:
    """The ratio of the best baseline's error to PrivBayes', at the ends of epsilon and for the two
    orders.
    """
    ratio = {
        key[:3]: min(errors[*key[:3], m] for m in BASELINES if (*key[:3], m) in errors)
        / errors[key]
        for key in errors
        if key[3] == "PrivBayes"
    }
    epsilons = sorted({epsilon for _, _, epsilon in ratio})
    sets = list(dict.fromkeys((table, order) for table, order, _ in ratio))
    by_epsilon = {s: [ratio[*s, epsilons[0]], ratio[*s, epsilons[-1]]] for s in sets}
    tables = list(dict.fromkeys(table for table, _ in sets))
    by_order = {
        t: [
            float(np.mean([ratio[t, q, e] for e in epsilons]))
            for q in sorted(q for table, q in sets if table == t)
        ]
        for t in tables
    }
    first = "; ".join(
        f"{t} {q}: {a:.1f} x at {epsilons[0]:g}, {b:.1f} x at {epsilons[-1]:g}"
        for (t, q), (a, b) in by_epsilon.items()
    )
    second = "; ".join(f"{t}: {a:.1f} x, then {b:.1f} x" for t, (a, b) in by_order.items())
    return [
        Claim(
            "Its lead over the best baseline is larger at small epsilon",
            all(a > b for a, b in by_epsilon.values()),
            first,
        ),
        Claim(
            "Its lead over the best baseline is larger at larger alpha",
            all(b > a for a, b in by_order.values()),
            second,
        ),
    ]


def _contingency(errors: Errors) -> Claim:
    cases = {
        key: errors[*key[:3], "Uniform"]
        for key in errors
        if key[3] == "Contingency" and key[0] != "nltcs"
    }
    apart = {key: abs(errors[key] - other) for key, other in cases.items()}
    worst = max(apart, key=lambda key: apart[key])
    numbers = f"at most {apart[worst]:.3f} apart, at {worst[2]:g}"
    return Claim(
        "On ACS Contingency is almost the same as Uniform (within 0.02)",
        apart[worst] <= 0.02,
        numbers,
    )


def _mwem(errors: Errors) -> Claim:
    cases = [key for key in errors if key[3] == "MWEM" and key[2] < 0.2]
    gains = {key: 1 - errors[key] / errors[*key[:3], "Uniform"] for key in cases}
    numbers = "; ".join(
        f"{t} {q} at {e:g}: {gain:.0%} better" for (t, q, e, _), gain in gains.items()
    )
    return Claim(
        "MWEM does not much surpass Uniform below epsilon 0.2 (by a tenth)",
        max(gains.values()) <= 0.1,
        numbers,
    )


def _sensitive(errors: Errors) -> Claim:
    """How much the error falls from the smallest to the largest epsilon."""
    epsilons = sorted({key[2] for key in errors})
    falls: dict[str, list[float]] = {}
    for t, q, e, m in errors:
        if e == epsilons[0] and m in ("PrivBayes", "Laplace", "Fourier"):
            falls.setdefault(m, []).append(errors[t, q, e, m] - errors[t, q, epsilons[-1], m])
    mean = {method: float(np.mean(found)) for method, found in falls.items()}
    numbers = ", ".join(f"{method} {fall:.3f}" for method, fall in mean.items())
    held = mean["PrivBayes"] < min(mean["Laplace"], mean["Fourier"])
    return Claim(
        "Laplace and Fourier depend on epsilon more than PrivBayes (mean fall of the error)",
        held,
        numbers,
    )


def _now(errors: Errors) -> Claim:
    """Ours, not the paper's."""
    cases = [key for key in errors if key[3] == "Understudy"]
    ratio = {key: errors[key] / errors[*key[:3], "PrivBayes"] for key in cases}
    worst = max(ratio, key=lambda key: ratio[key])
    numbers = (
        f"error {float(np.mean(list(ratio.values()))):.2f} x of the paper's on average; "
        f"at worst {ratio[worst]:.2f} x, on {worst[0]} {worst[1]} at {worst[2]:g}"
    )
    return Claim(
        "Understudy's default is at least as accurate as the paper's PrivBayes in all cases",
        ratio[worst] <= 1,
        numbers,
    )


PART = Part(
    "marginals",
    "Marginals against baselines (section 6.5, figures 12 to 15)",
    cells,
    run,
    conclude,
    lambda rows: curves(
        long(rows, "Q2", "Q3", "Q4"),
        x="epsilon",
        y="value",
        line="method",
        panel=("table", "measure"),
        wide=2,
    ),
)
