"""Compressive privacy: what projections keep and lose, with and without noise.

    python studies/compression.py [--data DIR] [--repeats N] [--quick]

Table 9.3 of the book (F1 of DCA on five tables) against plain NumPy; table 9.2's times beside those
of encrypted sums; utility and privacy against dimensions on Adult, digits and Olivetti faces. Yale
faces are not here. Bounds are public: what a doctor or a banker would name, none read off the
tables.
"""

from __future__ import annotations

import csv
import sys
import time
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from study import Claim, Options, Part, Row, Settings, Study, curves, grid, means
from understudy import InputError, Schema
from understudy.compression import (
    ExactDCA,
    ExactMDR,
    ExactPCA,
    NotPrivateWarning,
    PrivateDCA,
    PrivateMDR,
    PrivatePCA,
)
from understudy.compression.attacks import attack_attribute, attack_reconstruction
from understudy.compression.dpdpca import (
    Protocol,
    add_encrypted_noise,
    decompose,
    encrypt_sums,
    fit_serial,
    read_scatter,
)
from understudy.compression.owners import Uploads, fit_owners
from understudy.compression.projections import project_pca
from understudy.data.columns import Table
from understudy.encrypted.learning import find_questions
from understudy.encrypted.paillier import PrivateKey
from understudy.encrypted.plans import EncryptionPlan
from understudy.encrypted.service import CryptoService, ServicePolicy
from understudy.encrypted.session import Store
from understudy.encrypted.uploads import make_upload
from understudy.federation import Federation, MemoryLink
from understudy.federation.curator import FederatedCurator
from understudy.federation.identity import Identity
from understudy.federation.in_process import make_holders
from understudy.learners.asking import nearest_psd
from understudy.learners.design import numbers_column
from understudy.release.sources import MemorySource

Rows = NDArray[np.float64]

DELTA = 1e-6

# --------------------------------------------------------------------------- tables

BOUNDS: dict[str, tuple[list[float], list[float]]] = {
    "diabetes": ([0, 0, 0, 0, 0, 0, 0, 20], [20, 200, 130, 100, 900, 70, 2.5, 90]),
    "breast-cancer": ([1] * 9, [10] * 9),
    "australian": (
        [0, 10, 0, 1, 1, 1, 0, 0, 0, 0, 0, 1, 0, 0],
        [1, 80, 30, 3, 14, 9, 30, 1, 1, 70, 1, 3, 2000, 10_000],
    ),
    "ionosphere": ([-1] * 34, [1] * 34),
}
GERMAN_BOUNDS = {
    "duration": (0, 72),
    "credit_amount": (0, 20_000),
    "installment_commitment": (1, 4),
    "residence_since": (1, 4),
    "age": (18, 80),
    "existing_credits": (1, 4),
    "num_dependents": (1, 2),
}
PUBLISHED = {
    "diabetes": (76.5, 76.4),
    "breast-cancer": (96.9, 96.8),
    "australian": (86.1, 85.5),
    "credit-g": (72.7, 73.8),
    "ionosphere": (84.3, 83.4),
}
"""Table 9.3: weighted F1 in per cent, the book's protocol and NumPy."""

TIMES = {
    "diabetes": (0.63, 0.67, 13.8),
    "breast-cancer": (0.93, 1.0, 20.7),
    "australian": (1.7, 1.8, 37.4),
    "credit-g": (5.0, 5.0, 196.8),
    "ionosphere": (9.8, 9.9, 386.4),
}
"""Table 9.2, PCA: seconds of an owner, of the service, and of the decomposition."""


@cache
def load(name: str, data: Path) -> tuple[Rows, NDArray[np.int64], tuple[Rows, Rows]]:
    """Features, two classes, and public bounds."""
    path = data / f"{name}.csv"
    if not path.exists():
        raise InputError(f"There is no {path}; name the folder of the real tables by --data.")
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    columns = list(lines[0])
    target = columns[-1]
    labels = np.unique([line[target] for line in lines], return_inverse=True)[1]
    if name == "credit-g":
        rows, bounds = _one_hot(lines, columns[:-1])
        return rows, labels, bounds
    used = [column for column in columns[:-1] if column != "id"]
    lower, upper = (np.array(bound, dtype=float) for bound in BOUNDS[name])
    numbers = [
        [float(line[one]) if line[one] not in ("", "?") else np.nan for one in used]
        for line in lines
    ]
    rows = np.array(numbers)
    middle = np.broadcast_to((lower + upper) / 2, rows.shape)
    return np.where(np.isnan(rows), middle, rows), labels, (lower, upper)


def _one_hot(lines: list[dict[str, str]], columns: list[str]) -> tuple[Rows, tuple[Rows, Rows]]:
    found: list[Rows] = []
    lower: list[float] = []
    upper: list[float] = []
    for column in columns:
        cells = [line[column] for line in lines]
        if column in GERMAN_BOUNDS:
            found.append(np.array(cells, dtype=float))
            low, high = GERMAN_BOUNDS[column]
            lower.append(low)
            upper.append(high)
            continue
        for value in sorted(set(cells)):  # the categories stand in the table's description
            found.append(np.array([cell == value for cell in cells], dtype=float))
            lower.append(0)
            upper.append(1)
    return np.column_stack(found), (np.array(lower, float), np.array(upper, float))


# --------------------------------------------------------------------------- table 9.3

WAYS = ("numpy", "exact", "sums without noise", "epsilon 1")


def dca_by_numpy(rows: Rows, labels: NDArray[np.int64], number: int) -> Rows:
    """The authors' formula, by itself: eig of (S_W + rho I)^-1 (S_B + S_W + (rho + rho') I)."""
    mean = rows.mean(axis=0)
    between = np.zeros((rows.shape[1],) * 2)
    within = np.zeros_like(between)
    for label in np.unique(labels):
        part = rows[labels == label]
        apart = part.mean(axis=0) - mean
        between += len(part) * np.outer(apart, apart)
        within += (part - part.mean(axis=0)).T @ (part - part.mean(axis=0))
    rho = 0.02 * np.linalg.eigvalsh(within)[-1]
    identity = np.eye(rows.shape[1])
    ratio = np.linalg.solve(within + rho * identity, between + within + 1.1 * rho * identity)
    values, vectors = np.linalg.eig(ratio)
    return np.real(vectors[:, np.argsort(-np.real(values))[:number]]).T


def f1_cells(options: Options) -> list[Settings]:
    tables = list(PUBLISHED)
    if options.quick:
        tables = tables[:2]
    return grid(table=tables, way=WAYS, repeat=range(options.repeats))


def run_f1(options: Options, settings: Settings) -> dict[str, float]:
    rows, labels, (lower, upper) = load(settings["table"], options.data)
    scaled = np.clip((rows - (lower + upper) / 2) / ((upper - lower) / 2), -1, 1)
    train, test, y, y_test = train_test_split(
        scaled, labels, test_size=0.2, stratify=labels, random_state=settings["repeat"]
    )
    noise = options.noise(settings)
    if settings["way"] == "numpy":
        found = dca_by_numpy(train, y, 1)
    elif settings["way"] == "exact":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotPrivateWarning)
            found = ExactDCA(1).fit(train, y).components_
    else:
        shared: Any = {"bounds": (-1, 1), "classes": [0, 1], "noise": noise}
        if settings["way"] == "epsilon 1":
            dca = PrivateDCA(1, epsilon=1.0, delta=DELTA, **shared)
        else:
            dca = PrivateDCA(1, epsilon=1e6, row_norm=100.0, **shared)
        found = dca.fit(train, y).components_
    model = make_pipeline(StandardScaler(), SVC())
    model.fit(train @ found.T, y)
    told = model.predict(test @ found.T)
    return {"F1": 100 * float(f1_score(y_test, told, average="weighted"))}


def conclude_f1(rows: list[Row]) -> list[Claim]:
    found = means(rows, "F1", "table", "way")
    tables = list(dict.fromkeys(row["table"] for row in rows))
    apart = {
        table: max(
            abs(found[table, way] - found[table, "numpy"])
            for way in ("exact", "sums without noise")
        )
        for table in tables
    }
    told = "; ".join(
        f"{table} "
        + ", ".join(f"{way} {found[table, way]:.1f}" for way in WAYS)
        + f" (book {PUBLISHED[table][0]}/{PUBLISHED[table][1]})"
        for table in tables
    )
    return [
        Claim("Without noise, F1 is within 1 point of NumPy's", max(apart.values()) <= 1, told),
        Claim(
            "At epsilon 1, F1 is within 5 points of NumPy's on every table",
            all(found[table, "numpy"] - found[table, "epsilon 1"] <= 5 for table in tables),
            ", ".join(
                f"{table} {found[table, 'epsilon 1'] - found[table, 'numpy']:+.1f}"
                for table in tables
            ),
        ),
    ]


# --------------------------------------------------------------------------- table 9.2

OWNERS = 10


def time_cells(options: Options) -> list[Settings]:
    tables = list(TIMES)
    if options.quick:
        tables = tables[:1]
    return grid(table=tables)


def run_times(options: Options, settings: Settings) -> dict[str, float]:
    """CPU seconds of ten owners' PCA: one owner, then hub, service and decomposition together."""
    rows, _, (lower, upper) = load(settings["table"], options.data)
    scaled = np.clip((rows - (lower + upper) / 2) / ((upper - lower) / 2), -1, 1)
    names = [f"x{place}" for place in range(scaled.shape[1])]
    schema = Schema.from_dict(
        {"attributes": {name: {"kind": "real", "min": -1, "max": 1} for name in names}}
    )
    learner = PrivatePCA(2, epsilon=1.0, delta=DELTA)
    key = PrivateKey.generate()
    owners = {f"o{place}": Identity.new(f"o{place}") for place in range(OWNERS)}
    plan = EncryptionPlan(
        schema=schema,
        key=key.public,
        owners=tuple(owners),
        epsilon=2.0,
        delta=1e-3,
        max_rows=100_000,
        sums=find_questions(learner, schema).sums,
    )
    start = time.process_time()
    uploads = []
    for place, (name, identity) in enumerate(owners.items()):
        part = scaled[place::OWNERS]
        columns = {one: numbers_column(part[:, i]) for i, one in enumerate(names)}
        coded, _ = MemorySource(Table(columns, "X"), "table", None, 1).code(schema)
        uploads.append(make_upload(plan, name, coded, identity))
    owner = (time.process_time() - start) / OWNERS
    certificates = {name: one.certificate for name, one in owners.items()}
    service = CryptoService("csp", plan, key, certificates, policy=ServicePolicy())
    start = time.process_time()
    store = Store(plan, uploads, certificates)
    fit_owners(Uploads(link=MemoryLink(service), store=store), learner)
    rest = time.process_time() - start
    return {"features": float(len(names)), "owner": owner, "rest": rest}


def conclude_times(rows: list[Row]) -> list[Claim]:
    told = "; ".join(
        f"{row['table']} ({row['features']:.0f} features) owner {row['owner']:.2f} s "
        f"(book {TIMES[row['table']][0]}), hub, service and decomposition {row['rest']:.2f} s "
        f"(book {sum(TIMES[row['table']][1:]):.1f})"
        for row in rows
    )
    faster = all(
        row["owner"] < TIMES[row["table"]][0] and row["rest"] < sum(TIMES[row["table"]][1:])
        for row in rows
    )
    return [Claim("Twice the key length, and faster than the book at every step", faster, told)]


# --------------------------------------------------------------------------- many owners

OWNERS_WAYS = ("secure sums", "DPDPCA", "PrivateLocalPCA")
COMPONENTS = 5


def owner_cells(options: Options) -> list[Settings]:
    epsilons = [1.0, 10.0]
    if options.quick:
        epsilons = epsilons[1:]
    return grid(table=["digits", "Adult"], way=list(OWNERS_WAYS), epsilon=epsilons)


def run_owners(options: Options, settings: Settings) -> dict[str, float]:
    """Of the variance that the best five components have, the share that those found have; rows
    are of length 1 at most, with ten owners.
    """
    found_rows, _ = digits() if settings["table"] == "digits" else adult(options.data)
    rows = found_rows / np.maximum(1, np.linalg.norm(found_rows, axis=1, keepdims=True))
    parts = [rows[place::OWNERS] for place in range(OWNERS)]
    way, epsilon = settings["way"], settings["epsilon"]
    key = PrivateKey.generate()
    protocol = Protocol(
        key=key.public, features=rows.shape[1], epsilon=epsilon, delta=DELTA, max_rows=100_000
    )
    if way == "DPDPCA":
        uploads = [encrypt_sums(protocol, part) for part in parts]
        sums = add_encrypted_noise(protocol, uploads)
        found = decompose(protocol, key, sums, COMPONENTS).components
    elif way == "PrivateLocalPCA":
        found = fit_serial(parts, protocol, COMPONENTS).components
    else:
        found = _fit_by_secure_sums(parts, protocol)
    scatter = np.cov(rows.T, bias=True)
    basis = np.linalg.qr(found.T)[0]
    best = np.linalg.eigvalsh(scatter)[::-1][:COMPONENTS].sum()
    return {"kept": float(np.trace(basis.T @ scatter @ basis) / best)}


def _fit_by_secure_sums(parts: list[Rows], protocol: Protocol) -> Rows:
    """The same sums of the same rows, added up under masks by owners who are online."""
    schema = protocol.plan.schema
    tables = {
        f"o{place}": {f"x{i}": part[:, i] for i in range(part.shape[1])}
        for place, part in enumerate(parts)
    }
    frames = {name: pandas.DataFrame(table) for name, table in tables.items()}
    holders = make_holders(frames, schema, allowance=100.0, delta=1e-3)
    with Federation([MemoryLink(one) for one in holders]) as federation:
        opened = federation.open(
            schema, "secure", epsilon=protocol.epsilon, delta=protocol.delta, method={}
        )
        answer = FederatedCurator(opened, schema).answer(protocol.question)
        opened.close()
    return project_pca(nearest_psd(read_scatter(answer)), COMPONENTS).components


def conclude_owners(rows: list[Row]) -> list[Claim]:
    kept = means(rows, "kept", "table", "epsilon", "way")
    told = "; ".join(
        f"{table}, epsilon {epsilon:g}: {way} {100 * value:.1f} %"
        for (table, epsilon, way), value in kept.items()
    )
    level = all(
        abs(value - kept[table, epsilon, "secure sums"]) < 0.05
        for (table, epsilon, way), value in kept.items()
        if way == "DPDPCA"
    )
    return [Claim("DPDPCA is as accurate as secure sums", level, told)]


def draw_owners(rows: list[Row]) -> Any:
    return curves(rows, x="epsilon", y="kept", line="way", panel=("table",))


# --------------------------------------------------------------------------- dimensions

METHODS = ("PCA", "DCA", "MDR")
ADULT_COLUMNS = ("age", "education_num", "capital_gain", "capital_loss", "hours_per_week")
ADULT_WORDS = ("workclass", "marital_status", "occupation", "race")
ADULT_BOUNDS = ([0, 1, 0, 0, 0], [96, 17, 20_000, 5_000, 100])


@cache
def adult(data: Path) -> tuple[Rows, NDArray[np.int64]]:
    """Numbers and words (without relationship, which tells the sex), income and sex."""
    path = data / "adult.csv"
    if not path.exists():
        raise InputError(f"There is no {path}; name the folder of the real tables by --data.")
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    lower, upper = (np.array(bound, float) for bound in ADULT_BOUNDS)
    numbers = np.array([[float(line[one]) for one in ADULT_COLUMNS] for line in lines])
    parts = [np.clip((numbers - (lower + upper) / 2) / ((upper - lower) / 2), -1, 1)]
    for column in ADULT_WORDS:
        cells = np.array([line[column] for line in lines])
        parts += [(cells == value).astype(float)[:, None] for value in sorted(set(cells))]
    income = [int(">50" in line["income"]) for line in lines]
    sex = [int(line["sex"].strip().lower().startswith("m")) for line in lines]
    return np.column_stack(parts), np.column_stack([income, sex])


@cache
def digits() -> tuple[Rows, NDArray[np.int64]]:
    """Averages of 2 x 2 pixels; whether a digit is odd, and whether it is 5 or more."""
    images = load_digits()
    small = images.images.reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4)).reshape(-1, 16) / 8 - 1
    return small, np.column_stack([images.target % 2, (images.target >= 5).astype(int)])


def dimension_cells(options: Options) -> list[Settings]:
    dimensions: tuple[int, ...] = (1, 2, 5, 10)
    if options.quick:
        dimensions = (1, 5)
    return grid(
        table=("Adult", "digits"),
        method=METHODS,
        epsilon=(0.0, 1.0),
        dimensions=dimensions,
        repeat=range(min(options.repeats, 5)),
    )


def make(settings: Settings, noise: Any) -> Any:
    """The projection; epsilon 0 stands for none."""
    number = settings["dimensions"]
    if not settings["epsilon"]:
        return {"PCA": ExactPCA, "DCA": ExactDCA, "MDR": ExactMDR}[settings["method"]](number)
    shared: Any = {"epsilon": settings["epsilon"], "delta": DELTA, "bounds": (-1, 1)}
    shared["noise"] = noise
    if settings["method"] == "PCA":
        return PrivatePCA(number, **shared)
    shared["classes"] = [0, 1]
    if settings["method"] == "DCA":
        return PrivateDCA(number, **shared)
    return PrivateMDR(number, privacy_classes=[0, 1], **shared)


def run_dimensions(options: Options, settings: Settings) -> dict[str, float]:
    if settings["table"] == "Adult":
        rows, labels = adult(options.data)
    else:
        rows, labels = digits()
    rng = np.random.default_rng(settings["repeat"])
    order = rng.permutation(len(rows))
    half = len(rows) // 2
    train, test = order[:half], order[half:][:8000]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner = make(settings, options.noise(settings))
        target = {"PCA": None, "DCA": labels[train, 0], "MDR": labels[train]}[settings["method"]]
        learner.fit(rows[train], target)
        known = train[:8000]
        utility, privacy = (
            attack_attribute(
                learner, rows[known], labels[known, i], rows[test], labels[test, i]
            ).from_coordinates
            for i in (0, 1)
        )
        near = attack_reconstruction(learner, rows[known], rows[test])
    return {
        "utility": utility,
        "privacy": privacy,
        "reconstruction": near.learned / near.baseline,
    }


def conclude_dimensions(rows: list[Row]) -> list[Claim]:
    utility = means(rows, "utility", "table", "method", "epsilon", "dimensions")
    privacy = means(rows, "privacy", "table", "method", "epsilon", "dimensions")
    claims = []
    for table in ("Adult", "digits"):
        few = min(row["dimensions"] for row in rows)
        told = ", ".join(
            f"{method} {utility[table, method, epsilon, few]:.3f}/"
            f"{privacy[table, method, epsilon, few]:.3f} at epsilon {epsilon or 'none'}"
            for method in METHODS
            for epsilon in (0.0, 1.0)
        )
        claims.append(
            Claim(
                f"{table}, {few} dimension: DCA tells the utility label better than PCA does",
                utility[table, "DCA", 0.0, few] > utility[table, "PCA", 0.0, few],
                f"utility/privacy: {told}",
            )
        )
        claims.append(
            Claim(
                f"{table}, {few} dimension: MDR tells the privacy label worse than DCA does",
                privacy[table, "MDR", 0.0, few] < privacy[table, "DCA", 0.0, few],
                told,
            )
        )
        claims.append(
            Claim(
                f"{table}: at epsilon 1 DCA's utility is within 5 points of that without noise",
                utility[table, "DCA", 0.0, few] - utility[table, "DCA", 1.0, few] <= 0.05,
                told,
            )
        )
    return claims


# --------------------------------------------------------------------------- faces

FACE_DIMENSIONS = (5, 14, 39, 100)


@cache
def faces(data: Path) -> tuple[Rows, NDArray[np.int64]]:
    """400 faces of 40 persons, averaged to 16 x 16 pixels from 0 to 1."""
    path = data / "olivettifaces.mat"
    if not path.exists():
        raise InputError(f"There is no {path}; name the folder of the real tables by --data.")
    from scipy.io import loadmat

    images = loadmat(path)["faces"].T.reshape(400, 64, 64).astype(float)
    images /= images.max()
    small = images.reshape(400, 16, 4, 16, 4).mean(axis=(2, 4)).reshape(400, 256)
    return small, np.repeat(np.arange(40), 10)


def face_cells(options: Options) -> list[Settings]:
    dimensions = FACE_DIMENSIONS[:2] if options.quick else FACE_DIMENSIONS
    return grid(
        method=("PCA", "DCA"),
        epsilon=(0.0, 1.0),
        dimensions=dimensions,
        repeat=range(min(options.repeats, 5)),
    )


def run_faces(options: Options, settings: Settings) -> dict[str, float]:
    rows, labels = faces(options.data)
    train, test, y, y_test = train_test_split(
        rows, labels, test_size=0.2, stratify=labels, random_state=settings["repeat"]
    )
    noise = options.noise(settings)
    number = settings["dimensions"]
    learner: Any
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not settings["epsilon"]:
            learner = {"PCA": ExactPCA(number), "DCA": ExactDCA(number)}[settings["method"]]
        else:
            shared: Any = {"epsilon": 1.0, "delta": DELTA, "bounds": (0, 1), "noise": noise}
            if settings["method"] == "PCA":
                learner = PrivatePCA(number, **shared)
            else:
                learner = PrivateDCA(number, classes=list(range(40)), **shared)
        learner.fit(train, y)
        near = attack_reconstruction(learner, train, test)
        model = make_pipeline(StandardScaler(), KNeighborsClassifier(1))
        score = model.fit(learner.transform(train), y).score(learner.transform(test), y_test)
    return {"accuracy": float(score), "reconstruction": near.least_squares / near.baseline}


def conclude_faces(rows: list[Row]) -> list[Claim]:
    accuracy = means(rows, "accuracy", "method", "epsilon", "dimensions")
    error = means(rows, "reconstruction", "method", "epsilon", "dimensions")
    dimensions = sorted({row["dimensions"] for row in rows})
    told = "; ".join(
        f"{method}, epsilon {epsilon or 'none'}: "
        + ", ".join(
            f"{number}: {accuracy[method, epsilon, number]:.2f}/"
            f"{error[method, epsilon, number]:.2f}"
            for number in dimensions
        )
        for method in ("PCA", "DCA")
        for epsilon in (0.0, 1.0)
    )
    return [
        Claim(
            f"{number} dimensions: DCA tells persons apart better than PCA, without noise",
            accuracy["DCA", 0.0, number] > accuracy["PCA", 0.0, number],
            f"accuracy/reconstruction error against the mean face: {told}",
        )
        for number in dimensions[:2]
    ] + [
        Claim(
            "Faces from DCA's coordinates are further from the original than from PCA's",
            all(error["DCA", 0.0, one] > error["PCA", 0.0, one] for one in dimensions),
            told,
        ),
        Claim(
            "At epsilon 1, 320 faces are too few: DCA loses more than 20 points in few dimensions",
            accuracy["DCA", 1.0, dimensions[0]] < accuracy["DCA", 0.0, dimensions[0]] - 0.2,
            told,
        ),
    ]


# --------------------------------------------------------------------------- the study


def draw_f1(rows: list[Row]) -> Any:
    """From left to right the ways, as WAYS has them."""
    shown = [row | {"place": WAYS.index(row["way"]), "measure": "F1"} for row in rows]
    return curves(shown, x="place", y="F1", line="measure", panel=("table",), log_x=False)


def draw_times(rows: list[Row]) -> Any:
    shown = [
        row | {"seconds": row[who], "who": who, "panel": "CPU seconds"}
        for row in rows
        for who in ("owner", "rest")
    ]
    return curves(shown, x="features", y="seconds", line="who", panel=("panel",))


def draw_dimensions(rows: list[Row]) -> Any:
    return curves(_name_noise(rows), x="dimensions", y="utility", line="method", panel=PANELS)


def draw_faces(rows: list[Row]) -> Any:
    shown = [row | {"table": "Olivetti"} for row in _name_noise(rows)]
    return curves(shown, x="dimensions", y="accuracy", line="method", panel=PANELS)


PANELS = ("table", "noise")


def _name_noise(rows: list[Row]) -> list[Row]:
    names = {0.0: "no noise", 1.0: "epsilon 1"}
    return [row | {"noise": names[row["epsilon"]]} for row in rows]


STUDY = Study(
    "compression",
    "Compressive privacy",
    (
        Part("f1", "Table 9.3: weighted F1 of DCA", f1_cells, run_f1, conclude_f1, draw_f1),
        Part("times", "Table 9.2: CPU seconds", time_cells, run_times, conclude_times, draw_times),
        Part(
            "owners", "PCA over ten owners", owner_cells, run_owners, conclude_owners, draw_owners
        ),
        Part(
            "dimensions",
            "Utility and privacy against dimensions",
            dimension_cells,
            run_dimensions,
            conclude_dimensions,
            draw_dimensions,
        ),
        Part("faces", "Olivetti faces", face_cells, run_faces, conclude_faces, draw_faces),
    ),
    repeats=10,
    notes=(
        "A support-vector machine with scikit-learn's defaults on one component; the book does not "
        "say how many it took, nor its grid.",
        "German credit has 61 columns here, one per category; the book's table has 24.",
    ),
)

if __name__ == "__main__":
    sys.exit(STUDY.main())
