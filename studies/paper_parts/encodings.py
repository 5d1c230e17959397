"""Section 6.3, figures 5 to 8: four encodings of general tables, by marginals and by
classifiers.
"""

from __future__ import annotations

from statistics import fmean

from paper_parts.fits import EPSILONS, marginal_errors, synthetic
from paper_parts.tables import TASKS, general_names, split, svm_errors, whole
from study import Claim, Options, Part, Row, Settings, curves, grid, long, means

ENCODINGS = {
    "Binary-F": {"encoding": "binary", "score": "F"},
    "Gray-F": {"encoding": "gray", "score": "F"},
    "Vanilla-R": {"encoding": "vanilla", "score": "R"},
    "Hierarchical-R": {"encoding": "hierarchical", "score": "R"},
}
CLASSIFIED = (0.1, 0.4, 1.6)
"""Classifiers are trained at half of the epsilons."""


def cells(options: Options) -> list[Settings]:
    shared = {"table": general_names(options), "encoding": ENCODINGS}
    marginals = grid(**shared, task=["marginals"], epsilon=(0.4,) if options.quick else EPSILONS)
    classifiers = grid(**shared, task=["svm"], epsilon=(0.4,) if options.quick else CLASSIFIED)
    return [
        cell | {"repeat": repeat}
        for cell in marginals + classifiers
        for repeat in range(options.repeats)
    ]


def run(options: Options, settings: Settings) -> dict[str, float]:
    parameters = ENCODINGS[settings["encoding"]]
    if settings["task"] == "marginals":
        source = whole(options.data, settings["table"])
        return marginal_errors(source, synthetic(options, source, settings, **parameters))
    source = split(options.data, settings["table"])
    return svm_errors(synthetic(options, source, settings, **parameters), source)


def conclude(rows: list[Row]) -> list[Claim]:
    return [_small_epsilon(rows), _two_general(rows), _classifiers(rows)]


def _tables(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(row["table"] for row in rows))


def _small_epsilon(rows: list[Row]) -> Claim:
    found = means(rows, "Q3", "table", "encoding", "epsilon")
    least, most = (bound({epsilon for _, _, epsilon in found}) for bound in (min, max))
    held = True
    numbers = []
    for table in _tables(rows):
        general, bits = (
            [min(found[table, name, e] for name in names) for e in (least, most)]
            for names in (("Vanilla-R", "Hierarchical-R"), ("Binary-F", "Gray-F"))
        )
        held = (
            held
            and general[0] < bits[0]
            and (least == most or bits[1] - general[1] < bits[0] - general[0])
        )
        numbers.append(
            f"{table}: bits worse by {bits[0] - general[0]:.3f} at {least:g}, "
            f"{bits[1] - general[1]:.3f} at {most:g}"
        )
    text = (
        "For marginals the non-binary encodings are superior at small epsilon, and the gap "
        "shrinks as it grows"
    )
    return Claim(text, held, "; ".join(numbers) + " (3-way)")


def _two_general(rows: list[Row]) -> Claim:
    found = means(rows, "Q3", "table", "encoding", "epsilon")
    apart = {
        (table, e): found[table, "Hierarchical-R", e] - found[table, "Vanilla-R", e]
        for table in _tables(rows)
        for e in sorted({epsilon for _, _, epsilon in found})
    }
    widest = max(apart, key=lambda key: abs(apart[key]))
    numbers = (
        f"largest difference, hierarchical minus vanilla: {apart[widest]:+.3f} on "
        f"{widest[0]} at {widest[1]:g}"
    )
    text = "Hierarchical-R and Vanilla-R are almost identical on marginals (within 0.02)"
    return Claim(text, abs(apart[widest]) <= 0.02, numbers)


def _classifiers(rows: list[Row]) -> Claim:
    """The mean misclassification rate over all tasks and epsilons."""
    overall = {}
    for table in _tables(rows):
        for encoding in ENCODINGS:
            inside = [row for row in rows if row["table"] == table and row["encoding"] == encoding]
            overall[table, encoding] = fmean(
                row[task] for row in inside for task in TASKS[table] if task in row
            )
    held = all(
        min(ENCODINGS, key=lambda encoding: overall[table, encoding]) == "Hierarchical-R"
        for table in _tables(rows)
    )
    numbers = "; ".join(
        f"{t}: " + ", ".join(f"{e} {overall[t, e]:.3f}" for e in ENCODINGS) for t in _tables(rows)
    )
    return Claim(
        "Hierarchical-R classifies best overall (mean rate over tasks and epsilons)", held, numbers
    )


def draw(rows: list[Row]) -> object:
    measures = [name for table in _tables(rows) for name in ("Q2", "Q3", *TASKS[table])]
    shown = long(rows, *dict.fromkeys(measures))
    return curves(shown, x="epsilon", y="value", line="encoding", panel=("table", "measure"))


PART = Part("encodings", "Encodings (section 6.3, figures 5 to 8)", cells, run, conclude, draw)
