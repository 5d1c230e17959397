"""The first command on a table that nobody wrote a schema for.

    python benchmarks/first_command.py --data ../shared/data [--only adult codes small codebooks
    demo values learning] [--repeats 5]

Runs ``understudy synthesize FILE --epsilon 1 --delta 1e-9`` as a newcomer would, in a process of
its own and with real noise, so figures vary from run to run. What comes out is compared with what
went in as the two CSV files stand: this benchmark shares no code with Understudy's own evaluation.

Columns of words are compared word by word, columns of numbers with more than 20 values by the
quantiles of the real ones. A value that holds more than 5 % of the rows is a cell by itself, as are
missing cells, and cells that are no number where the real ones are. The error is the mean total
variation distance of all pairs of columns.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.preprocessing import OrdinalEncoder

import understudy
from understudy.data.demo import demo_frame, demo_schema

EPSILON, DELTA = 1.0, 1e-9
CODE_TABLES = ("poker", "nltcs", "br2000", "acs")
SMALL_TABLES = ("diabetes", "heart", "australian")
PACKAGES = ("credit-g", "mushroom", "kr-vs-kp", "ionosphere")
SMALL_RUNS = 20
MISSING = {"", "?", "NA", "NaN", "nan"}
KOLMOGOROV_MEAN = math.sqrt(math.pi / 2) * math.log(2)
"""Mean of Kolmogorov's distribution: times sqrt(2 / n), how far apart two samples of n rows are."""

SPIKE = 0.05
ADULT_BOUNDS = {
    "age": (0, 95),
    "fnlwgt": (0, 1_499_999),
    "education_num": (1, 16),
    "capital_gain": (0, 99_999),
    "capital_loss": (0, 4_999),
    "hours_per_week": (0, 99),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="the tables")
    parser.add_argument("--only", nargs="+", choices=tuple(PARTS), default=tuple(PARTS))
    parser.add_argument("--repeats", type=int, default=5, help="runs that figures are means of")
    arguments = parser.parse_args()
    load = os.getloadavg()[0]
    print(f"Understudy {understudy.__version__}; {os.cpu_count()} cores, load {load:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments.data.resolve(), Path(folder), arguments.repeats)
        for part in arguments.only:
            started = time.perf_counter()
            print(f"\n{part}", flush=True)
            PARTS[part](bench)
            print(f"  ({time.perf_counter() - started:.0f} s)", flush=True)


# ---- running the command


@dataclass(frozen=True)
class Bench:
    """Where tables lie, where results go, and how often everything is done."""

    data: Path
    folder: Path
    repeats: int

    def synthesize(self, table: Path, *options: str, pure: bool = False) -> pd.DataFrame | str:
        """The rows that the first command makes of a table, or what it says instead."""
        output = self.folder / "synthetic.csv"
        output.unlink(missing_ok=True)
        command = [sys.executable, "-m", "understudy", "synthesize", str(table)]
        command += ["--epsilon", f"{EPSILON:g}", "-o", str(output)]
        if not pure:
            command += ["--delta", f"{DELTA:g}"]
        done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return read_cells(output)
        return done.stderr.strip() or f"exit status {done.returncode}"

    def runs(self, table: Path, *options: str, pure: bool = False) -> Iterator[pd.DataFrame]:
        """Tables from some runs; those that stop are told and left out."""
        for _ in range(self.repeats):
            made = self.synthesize(table, *options, pure=pure)
            if isinstance(made, str):
                print(f"  stopped: {made.splitlines()[-1][:300]}")
            else:
                yield made

    def save_schema(self, name: str, attributes: dict[str, object]) -> Path:
        """Write a schema of these attributes."""
        path = self.folder / f"{name}.schema.json"
        path.write_text(json.dumps({"attributes": attributes}))
        return path


def read_cells(path: Path, quote: str = '"') -> pd.DataFrame:
    """The cells of a CSV file as they stand."""
    cells = pd.read_csv(path, dtype=str, keep_default_na=False, quotechar=quote)
    return cells.apply(lambda column: column.str.strip())


def report(what: str, found: str, goal: str, reached: bool) -> None:
    """Print one figure beside its goal."""
    verdict = "reached" if reached else "MISSED"
    print(f"  {what:<58} {found:<34} {goal:<14} {verdict}", flush=True)


def describe(figures: Sequence[float]) -> str:
    """Mean and range of some figures."""
    return f"{statistics.mean(figures):.3f} ({min(figures):.3f} to {max(figures):.3f})"


# ---- comparing cells


class Cells:
    """A way to put the cells of a column into classes, told from the real column."""

    LOST, ABSENT = -1, -2

    def __init__(self, real: pd.Series) -> None:
        present = real[~real.isin(MISSING)]
        numbers = pd.to_numeric(present, errors="coerce")
        self.numeric = bool(len(numbers)) and bool(numbers.notna().mean() > 0.95)
        self.many = self.numeric and numbers.nunique() > 20
        values = numbers.dropna().to_numpy()
        self.low, self.high = 0.0, 0.0
        self.known = set(present)
        if self.numeric:
            self.low, self.high = float(values.min()), float(values.max())
            self.known = set(values)
        if self.many:
            shares = pd.Series(values).value_counts(normalize=True)
            self.spikes = np.sort(shares.index[shares > SPIKE].to_numpy())
            rest = values[~np.isin(values, self.spikes)]
            self.edges = np.unique(np.quantile(rest, np.linspace(0, 1, 17)[1:-1]))

    def numbers(self, cells: pd.Series) -> NDArray[np.float64]:
        """The cells as numbers, NaN where they are none."""
        return pd.to_numeric(cells, errors="coerce").to_numpy(dtype=np.float64)

    def classes(self, cells: pd.Series) -> NDArray[np.object_]:
        """The class of each cell."""
        found: NDArray[np.object_]
        if self.many:
            numbers = self.numbers(cells)
            found = np.searchsorted(self.edges, numbers, side="right").astype(object)
            spikes = np.isin(numbers, self.spikes)
            found[spikes] = [f"={number:g}" for number in numbers[spikes]]
            found[np.isnan(numbers)] = self.LOST
        elif self.numeric:
            numbers = self.numbers(cells)
            found = numbers.astype(object)
            found[np.isnan(numbers)] = self.LOST
        else:
            found = cells.to_numpy(dtype=object, copy=True)
        found[cells.isin(MISSING).to_numpy()] = self.ABSENT
        return found

    def unseen(self, cells: pd.Series) -> NDArray[np.bool_]:
        """Where a cell holds a value that no real row has."""
        absent = cells.isin(MISSING).to_numpy()
        values = self.numbers(cells) if self.numeric else cells.to_numpy()
        return ~absent & ~np.isin(values, list(self.known))


def two_way_error(real: pd.DataFrame, made: pd.DataFrame) -> float:
    """The mean total variation distance of all pairs of columns; 1 where a column is not there."""
    real_codes, made_codes, sizes = {}, {}, {}
    for name in real.columns:
        if name not in made.columns:
            continue
        cells = Cells(real[name])
        both = np.concatenate([cells.classes(real[name]), cells.classes(made[name])])
        codes, found = pd.factorize(pd.Series(both).astype(str))
        real_codes[name], made_codes[name] = codes[: len(real)], codes[len(real) :]
        sizes[name] = len(found)
    distances = []
    for one, two in itertools.combinations(real.columns, 2):
        if one not in sizes or two not in sizes:
            distances.append(1.0)
            continue
        cells_of_pair = sizes[one] * sizes[two]
        tables = [
            np.bincount(codes[one] * sizes[two] + codes[two], minlength=cells_of_pair) / rows
            for codes, rows in ((real_codes, len(real)), (made_codes, len(made)))
        ]
        distances.append(0.5 * float(np.abs(tables[0] - tables[1]).sum()))
    return statistics.mean(distances)


def lost_columns(real: pd.DataFrame, made: pd.DataFrame) -> list[str]:
    """Columns that are not there, or hold no value of the real one in nine of ten cells."""
    lost = []
    for name in real.columns:
        if name not in made.columns:
            lost.append(name)
            continue
        cells = Cells(real[name])
        if cells.many:
            numbers = cells.numbers(made[name])
            outside = ~((numbers >= cells.low) & (numbers <= cells.high))
            outside &= ~made[name].isin(MISSING).to_numpy()
        else:
            outside = cells.unseen(made[name])
        if outside.mean() > 0.9:
            lost.append(name)
    return lost


def stated_bounds(schema: Path) -> dict[str, tuple[float, float]]:
    """The ranges of numbers that a schema states."""
    entries = json.loads(schema.read_text())["attributes"]
    return {
        name: (float(entry["min"]), float(entry["max"]))
        for name, entry in entries.items()
        if entry["kind"] in ("integer", "real") and "min" in entry
    }


def beyond_twice(
    real: pd.DataFrame, made: pd.DataFrame, bounds: dict[str, tuple[float, float]] | None = None
) -> list[str]:
    """Columns with values more than half the real range outside of it, or with lost numbers.

    A column with one value in all rows has no range: there the one that the schema states counts,
    since no private release can tell a constant from what is nearly one.
    """
    found = []
    for name in real.columns:
        cells = Cells(real[name])
        if not cells.numeric:
            continue
        if name not in made.columns:
            found.append(name)
            continue
        numbers = cells.numbers(made[name])
        numbers = numbers[~made[name].isin(MISSING).to_numpy()]
        low, high = cells.low, cells.high
        if low == high and bounds is not None:
            low, high = bounds.get(name, (low, high))
        slack = (high - low) / 2
        inside = (numbers >= low - slack) & (numbers <= high + slack)
        if not inside.all():
            found.append(name)
    return found


# ---- the parts


def adult_schema(real: pd.DataFrame) -> dict[str, object]:
    """The hand-written schema that Adult's figures are stated for."""
    attributes: dict[str, object] = {}
    for name in real.columns:
        if name in ADULT_BOUNDS:
            low, high = ADULT_BOUNDS[name]
            attributes[name] = {"kind": "integer", "min": low, "max": high, "bins": 16}
            continue
        values = sorted(set(real[name]) - {"?"})
        attributes[name] = {"kind": "categorical", "values": values}
        if (real[name] == "?").any():
            attributes[name] = {"kind": "categorical", "values": values, "missing": "?"}
    return attributes


def adult(bench: Bench) -> None:
    """Adult whole and a sample of it, against a hand-written schema."""
    whole = read_cells(bench.data / "adult.csv")
    for rows, goal, most_lost in ((len(whole), 1.25, 0), (6000, 1.6, 1)):
        real = whole
        if rows < len(whole):
            real = whole.sample(rows, random_state=1).reset_index(drop=True)
        table = bench.folder / "adult.csv"
        real.to_csv(table, index=False)
        schema = bench.save_schema("adult", adult_schema(real))
        given = [two_way_error(real, made) for made in bench.runs(table, "--schema", str(schema))]
        errors, lost = [], []
        for made in bench.runs(table):
            errors.append(two_way_error(real, made))
            lost.append(lost_columns(real, made))
        what = f"adult, {rows:,} rows"
        print(f"  {what}: error with the schema {describe(given)}")
        if not errors:
            report(f"{what}: error / with the schema", "stopped", f"<= {goal:g}", False)
            continue
        print(f"  {what}: error without {describe(errors)}")
        ratio = statistics.mean(errors) / statistics.mean(given)
        report(f"{what}: error / with the schema", f"{ratio:.2f}", f"<= {goal:g}", ratio <= goal)
        worst = max(lost, key=len)
        report(
            f"{what}: columns lost in the worst run",
            f"{len(worst)} {' '.join(worst)}",
            f"<= {most_lost}",
            len(worst) <= most_lost,
        )


def codes(bench: Bench) -> None:
    """Tables of codes: rows with a value that no real row has."""
    for name in CODE_TABLES:
        table = bench.data / f"{name}.csv"
        real = read_cells(table)
        shares = []
        for made in bench.runs(table):
            strange = np.zeros(len(made), dtype=bool)
            for column in real.columns:
                strange |= Cells(real[column]).unseen(made[column])
            shares.append(float(strange.mean()))
        if not shares:
            report(f"{name}: rows with a value that no real row has", "stopped", "<= 0.01", False)
            continue
        found = describe(shares)
        good = statistics.mean(shares) <= 0.01
        report(f"{name}: rows with a value that no real row has", found, "<= 0.01", good)


def small(bench: Bench) -> None:
    """Tables of some hundred rows: an honest stop, or bounds that hold."""
    for name in SMALL_TABLES:
        table = bench.data / f"{name}.csv"
        real = read_cells(table)
        stops, columns = 0, []
        for _ in range(SMALL_RUNS):
            made = bench.synthesize(table)
            if isinstance(made, str):
                stops += 1
            else:
                columns.extend(beyond_twice(real, made))
        found = f"{stops} stops, {len(columns)} columns"
        what = f"{name}: {SMALL_RUNS} runs, columns beyond twice the range"
        report(what, found, "<= 1", len(columns) <= 1)


def codebooks(bench: Bench) -> None:
    """The same with public facts: small codebooks, and the tables' own data packages."""
    ours = Path(__file__).parent / "codebooks"
    for name in (*SMALL_TABLES, *PACKAGES):
        table = bench.data / f"{name}.csv"
        codebook = bench.data / f"{name}.datapackage.json"
        quote = "'" if name in PACKAGES else '"'
        if name in SMALL_TABLES:
            codebook = next(ours.glob(f"{name}.*"))
        schema = bench.folder / f"{name}.schema.json"
        command = [sys.executable, "-m", "understudy", "schema", str(table), "-o", str(schema)]
        command += ["--from", str(codebook)]
        if name in PACKAGES:  # a package names columns and kinds, our codebook their bounds
            command += [
                option for path in ours.glob(f"{name}.*") for option in ("--from", str(path))
            ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if not schema.exists():
            report(f"{name}: with its codebook", done.stderr.strip()[-60:], "a schema", False)
            continue
        real = read_cells(table, quote)
        errors, columns = [], []
        for made in bench.runs(table, "--schema", str(schema)):
            errors.append(two_way_error(real, made))
            columns.extend(beyond_twice(real, made, stated_bounds(schema)))
        if errors:
            what = f"{name}: with its codebook, columns beyond their range"
            found = f"{len(columns)}; 2-way error {statistics.mean(errors):.3f}"
            report(what, found, "0", not columns)


def demo_tables(bench: Bench) -> tuple[Path, Path]:
    """The demo's survey and its schema."""
    table, schema = bench.folder / "survey.csv", bench.folder / "survey.schema.json"
    demo_frame().to_csv(table, index=False)
    demo_schema().save(schema)
    return table, schema


def demo(bench: Bench) -> None:
    """Whether a classifier that sees exact numbers tells real rows from synthetic ones: without a
    delta, as the command has it by default, and with one.
    """
    table, schema = demo_tables(bench)
    real = read_cells(table)
    for name, pure in (("pure", True), (f"delta {DELTA:g}", False)):
        told = [
            distinguish(real, made)
            for made in bench.runs(table, "--schema", str(schema), pure=pure)
        ]
        for place, what in enumerate(("share of rows told right", "area under the curve")):
            figures = [figure[place] for figure in told]
            good = statistics.mean(figures) <= 0.75
            report(f"demo, {name}: {what}", describe(figures), "<= 0.75", good)


def distinguish(real: pd.DataFrame, made: pd.DataFrame) -> tuple[float, float]:
    """The share of rows whose origin boosted trees tell, by cross-validation, and the area under
    the curve.
    """
    features = {}
    for name in real.columns:
        both = pd.concat([real[name], made[name]], ignore_index=True)
        if Cells(real[name]).numeric:
            features[name] = pd.to_numeric(both, errors="coerce")
        else:
            features[name] = pd.Series(pd.factorize(both)[0])
    origin = np.repeat([0, 1], [len(real), len(made)])
    rows = pd.DataFrame(features)
    shuffled = np.random.default_rng(1).permutation(len(rows))
    model = HistGradientBoostingClassifier(random_state=1)
    told = cross_val_predict(
        model, rows.iloc[shuffled], origin[shuffled], cv=5, method="predict_proba"
    )[:, 1]
    right = float(((told > 0.5) == origin[shuffled]).mean())
    return right, float(roc_auc_score(origin[shuffled], told))


def values(bench: Bench) -> None:
    """Kolmogorov-Smirnov distance by exact values beside that by the schema's bins; and what chance
    alone makes of it between two samples of as many rows.
    """
    survey, survey_schema = demo_tables(bench)
    adult_cells = read_cells(bench.data / "adult.csv")
    adult_file = bench.data / "adult.csv"
    given = bench.save_schema("adult", adult_schema(adult_cells))
    for name, table, schema in (("demo", survey, survey_schema), ("adult", adult_file, given)):
        real = read_cells(table)
        bounds = json.loads(schema.read_text())["attributes"]
        ratios: dict[str, list[tuple[float, float]]] = {}
        for made in bench.runs(table, "--schema", str(schema)):
            for column, entry in bounds.items():
                if entry["kind"] in ("integer", "real"):
                    pair = distances(real[column], made[column], bin_edges(entry))
                    ratios.setdefault(column, []).append(pair)
        for column, pairs in ratios.items():
            by_value = statistics.mean(value for value, _ in pairs)
            by_bin = statistics.mean(binned for _, binned in pairs)
            chance = KOLMOGOROV_MEAN * math.sqrt(2 / len(real))
            found = f"{by_value:.4f} / {by_bin:.4f} (chance {chance:.4f})"
            good = by_value <= 2 * by_bin
            report(f"{name}, {column}: KS by value / by bin", found, "<= 2 x", good)


def bin_edges(entry: dict[str, object]) -> NDArray[np.float64]:
    """The bins that a schema states, or 16 equal ones."""
    if "edges" in entry:
        return np.array(entry["edges"], dtype=float)
    whole = entry["kind"] == "integer"
    low, high = float(entry["min"]), float(entry["max"]) + whole  # type: ignore[arg-type]
    bins = int(entry.get("bins", min(16, high - low if whole else 16)))  # type: ignore[call-overload]
    return np.linspace(low, high, bins + 1)


def distances(real: pd.Series, made: pd.Series, edges: NDArray[np.float64]) -> tuple[float, float]:
    """Kolmogorov-Smirnov distance of two columns by value, and at the edges of bins alone."""
    one, two = (
        np.sort(pd.to_numeric(column, errors="coerce").dropna().to_numpy())
        for column in (real, made)
    )

    def furthest(points: NDArray[np.float64], side: str) -> float:
        gap = np.searchsorted(one, points, side) / len(one)  # type: ignore[call-overload]
        gap -= np.searchsorted(two, points, side) / len(two)  # type: ignore[call-overload]
        return float(np.abs(gap).max())

    return furthest(np.concatenate([one, two]), "right"), furthest(edges, "left")


def learning(bench: Bench) -> None:
    """Boosted trees trained on synthetic Adult, without any schema, tested on real rows."""
    whole = read_cells(bench.data / "adult.csv")
    test = whole.sample(frac=0.2, random_state=1)
    train = whole.drop(test.index).reset_index(drop=True)
    table = bench.folder / "train.csv"
    train.to_csv(table, index=False)
    of_real = accuracy(train, test)
    scores = [accuracy(made, test) for made in bench.runs(table)]
    if not scores:
        report("adult: points lost by training on synthetic rows", "stopped", "<= 2.5", False)
        return
    lost = 100 * (of_real - statistics.mean(scores))
    print(f"  trained on real rows {100 * of_real:.1f} %, on synthetic {describe(scores)}")
    goal = lost <= 2.5
    report("adult: points lost by training on synthetic rows", f"{lost:.1f}", "<= 2.5", goal)


def accuracy(train: pd.DataFrame, test: pd.DataFrame) -> float:
    """How often boosted trees trained on one table get the class of another right."""
    names = [name for name in train.columns if name != train.columns[-1]]
    numeric = [name for name in names if name in ADULT_BOUNDS]
    words = [name for name in names if name not in numeric]
    encoder = OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=-1, max_categories=250
    )
    encoder.fit(train[words])

    def features(rows: pd.DataFrame) -> NDArray[np.float64]:
        numbers = [pd.to_numeric(rows[name], errors="coerce").to_numpy() for name in numeric]
        return np.column_stack([*numbers, encoder.transform(rows[words])])

    model = HistGradientBoostingClassifier(random_state=1)
    model.fit(features(train), train.iloc[:, -1].to_numpy())
    guessed = model.predict(features(test))
    return float((guessed == test.iloc[:, -1].to_numpy()).mean())


PARTS: dict[str, Callable[[Bench], None]] = {
    "adult": adult,
    "codes": codes,
    "small": small,
    "codebooks": codebooks,
    "demo": demo,
    "values": values,
    "learning": learning,
}

if __name__ == "__main__":
    main()
