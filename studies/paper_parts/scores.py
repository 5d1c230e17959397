"""Section 6.2, figure 4: the scores I, F and R, by the information in the network and the error of
marginals.
"""

from __future__ import annotations

from paper_parts.fits import (
    EPSILONS,
    NoNoise,
    TwoNoises,
    fitted,
    information,
    marginal_errors,
    rows_from,
)
from paper_parts.tables import binary_names, general_names, whole
from study import Claim, Options, Part, Row, Settings, curves, grid, long, means, where

SMALL = (0.05, 0.1, 0.2)
NEAR = 0.02
"""Two means are called equal within this share of the larger one."""


def cells(options: Options) -> list[Settings]:
    epsilons = (0.1, 0.8) if options.quick else EPSILONS
    repeats = range(options.repeats)
    return grid(
        table=binary_names(options), score=("I", "R", "F", "best"), epsilon=epsilons, repeat=repeats
    ) + grid(
        table=general_names(options), score=("I", "R", "best"), epsilon=epsilons, repeat=repeats
    )


def run(options: Options, settings: Settings) -> dict[str, float]:
    """The networks of a given epsilon have the same degree, or the same bound on tables, whatever
    the score.
    """
    source = whole(options.data, settings["table"])
    noise = options.noise(settings)
    best = settings["score"] == "best"
    noise = TwoNoises(NoNoise(), noise) if best else noise
    score = "I" if best else settings["score"]
    model = fitted(source, settings["epsilon"], noise, score=score, encoding="vanilla")
    return {"information": information(source, model)} | marginal_errors(
        source, rows_from(model, source, settings)
    )


def conclude(rows: list[Row]) -> list[Claim]:
    return [
        _ahead(
            rows,
            ("F", "R"),
            "I",
            _binary(rows),
            "On binary tables F and R give better networks than I in all cases",
        ),
        _small(rows),
        _large(rows),
        _ahead(
            rows,
            ("R",),
            "I",
            _general(rows),
            "On general tables (vanilla) R gives better networks than I",
        ),
        _gap(rows),
        _errors(rows),
    ]


def _binary(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(row["table"] for row in where(rows, score="F")))


def _general(rows: list[Row]) -> list[str]:
    return [
        name for name in dict.fromkeys(row["table"] for row in rows) if name not in _binary(rows)
    ]


def _ahead(
    rows: list[Row], better: tuple[str, ...], worse: str, tables: list[str], text: str
) -> Claim:
    found = means(rows, "information", "table", "epsilon", "score")
    pairs = [(t, e, s) for t, e, s in found if t in tables and s in better]
    behind = [(t, e, s) for t, e, s in pairs if found[t, e, s] < found[t, e, worse]]
    listed = ", ".join(
        f"{s} {found[t, e, s]:.3f} against {found[t, e, worse]:.3f} on {t} at {e:g}"
        for t, e, s in behind
    )
    numbers = f"{len(pairs) - len(behind)} of {len(pairs)} cases" + (
        f"; behind: {listed}" if behind else ""
    )
    return Claim(text, not behind, numbers)


def _small(rows: list[Row]) -> Claim:
    """F above R above I, in the mean over small epsilons."""
    found = means([row for row in rows if row["epsilon"] in SMALL], "information", "table", "score")
    tables = _binary(rows)
    held = all(found[t, "F"] > found[t, "R"] > found[t, "I"] for t in tables)
    numbers = "; ".join(
        f"{t}: F {found[t, 'F']:.3f}, R {found[t, 'R']:.3f}, I {found[t, 'I']:.3f} bits"
        for t in tables
    )
    return Claim("At small epsilon (0.05 to 0.2) F beats R and R beats I", held, numbers)


def _large(rows: list[Row]) -> Claim:
    found = means(
        [row for row in rows if row["epsilon"] >= 0.4], "information", "table", "epsilon", "score"
    )
    pairs = [(t, e) for t, e, s in found if s == "F"]
    apart = {
        p: abs(found[*p, "F"] - found[*p, "R"]) / max(found[*p, "F"], found[*p, "R"]) for p in pairs
    }
    numbers = "; ".join(f"{t} at {e:g}: {share:.1%} apart" for (t, e), share in apart.items())
    return Claim(
        "F and R are almost identical at epsilon 0.4 and above (within 2 %)",
        max(apart.values()) <= NEAR,
        numbers,
    )


def _gap(rows: list[Row]) -> Claim:
    """What the best private network lacks against the noise-free one, first and last epsilon."""
    found = means(rows, "information", "table", "epsilon", "score")
    epsilons = sorted({row["epsilon"] for row in rows})
    gaps = {}
    for table in dict.fromkeys(row["table"] for row in rows):
        private = "F" if table in _binary(rows) else "R"
        known = [
            (found[table, e, private], found[table, e, "best"])
            for e in epsilons
            if found[table, e, "best"] > 0
        ]
        gaps[table] = [1 - mine / best for mine, best in (known[0], known[-1])]
    numbers = "; ".join(
        f"{table}: {first:.1%} to {last:.1%}" for table, (first, last) in gaps.items()
    )
    held = all(last < first for first, last in gaps.values())
    return Claim(
        "The gap between private networks and the noise-free one shrinks as epsilon grows",
        held,
        numbers,
    )


def _errors(rows: list[Row]) -> Claim:
    """Not the paper's own measure, but what the network is for."""
    found: dict[str, dict[str, float]] = {}
    for table in _binary(rows):
        inside = [row for row in where(rows, table=table) if row["epsilon"] in SMALL]
        found[table] = means(inside, "Q4", "score")
    held = all(errors["F"] < errors["R"] < errors["I"] for errors in found.values())
    numbers = "; ".join(
        f"{t}: F {e['F']:.4f}, R {e['R']:.4f}, I {e['I']:.4f}" for t, e in found.items()
    )
    return Claim(
        "The same order holds for the error of 4-way marginals at small epsilon", held, numbers
    )


PART = Part(
    "scores",
    "Score functions (section 6.2, figure 4)",
    cells,
    run,
    conclude,
    lambda rows: curves(
        long(rows, "information", "Q3", "Q4"),
        x="epsilon",
        y="value",
        line="score",
        panel=("table", "measure"),
    ),
)
