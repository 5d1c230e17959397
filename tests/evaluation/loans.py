"""A table of loans like those that evaluations go wrong on: jobs, skewed counts, missing cells that
go together, amounts in multiples of 100, an order between two columns.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

JOBS = ("Mgr", "Office", "Other", "ProfExe", "Sales", "Self")
COLUMNS = "bad,loan,mortgage,value,reason,job,years,derogatory,delinquent,lines,ratio"


def write_loans(path: Path, rows: int, seed: int) -> Path:
    """A sample of loans."""
    rng = np.random.default_rng(seed)
    value = rng.lognormal(11.3, 0.5, rows)
    mortgage = value * rng.beta(5, 2, rows)
    loan = 100 * np.rint(rng.lognormal(5.0, 0.5, rows))
    derogatory = rng.poisson(0.25, rows)
    delinquent = rng.poisson(0.45, rows)
    bad = rng.random(rows) < 1 / (1 + np.exp(2 - 1.2 * derogatory - 0.9 * delinquent))
    reason = np.where(rng.random(rows) < 0.7, "DebtCon", "HomeImp")
    job = rng.choice(JOBS, rows, p=[0.13, 0.16, 0.41, 0.22, 0.02, 0.06])
    years = np.round(rng.gamma(1.4, 6.5, rows), 1)
    lines = rng.poisson(21, rows)
    ratio = np.round(rng.normal(34, 8, rows), 4)
    cells = [
        [str(int(x)) for x in bad],
        [str(int(x)) for x in loan],
        [str(round(x)) for x in mortgage],
        [str(round(x)) for x in value],
        list(reason),
        list(job),
        [f"{x:g}" for x in years],
        [str(x) for x in derogatory],
        [str(x) for x in delinquent],
        [str(x) for x in lines],
        [f"{x:.4f}" for x in ratio],
    ]
    sparse = rng.random(rows) < 0.05  # people of whom little is known
    for column in cells[4:]:
        for row in np.flatnonzero((rng.random(rows) < 0.06) | sparse & (rng.random(rows) < 0.9)):
            column[row] = ""
    return _write(path, cells)


def write_junk(path: Path, rows: int, seed: int) -> Path:
    """What comes out where discovery failed: ``[text]``, counts of 0, nothing missing."""
    rng = np.random.default_rng(seed)
    flat = rng.uniform(0, 131072, (4, rows))
    cells = [
        [str(int(x)) for x in rng.integers(0, 2, rows)],
        [str(int(x)) for x in flat[0]],
        [str(int(x)) for x in flat[1]],
        [str(int(x)) for x in flat[2]],
        ["[text]"] * rows,
        ["[text]"] * rows,
        [f"{x:.3f}" for x in rng.uniform(0, 64, rows)],
        ["0"] * rows,
        ["0"] * rows,
        [str(int(x)) for x in rng.integers(0, 64, rows)],
        [f"{x:.4f}" for x in rng.uniform(0, 128, rows)],
    ]
    return _write(path, cells)


def _write(path: Path, cells: list[list[str]]) -> Path:
    lines = [",".join(row) for row in zip(*cells, strict=True)]
    path.write_text("\n".join([COLUMNS, *lines]) + "\n")
    return path
