"""Golden rows: small made-up models, each with the rows that a seed gives, for this and every later
version.

``python tests/golden/golden.py`` writes the files of kinds that have none yet. A file that is there
is never written again: where its rows change, people who published a seed can no longer give the
rows that they published.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from understudy import (
    MERF,
    MST,
    Adaptive,
    Gaussian,
    Independent,
    Marginals,
    Model,
    PerturbedHistogram,
    PrivBayes,
    Random,
    Schema,
    SmoothedHistogram,
    Table,
)
from understudy.data.encoding import decode
from understudy.federation.merged_models import MergedModels
from understudy.privacy.mechanisms import SeededNoise

FOLDER = Path(__file__).parent

ENTRIES: dict[str, dict[str, Any]] = {
    "id": {"kind": "identifier", "pattern": "P-####"},
    "age": {"kind": "integer", "min": 0, "max": 95, "bins": 7},
    "height": {"kind": "real", "min": 1.0, "max": 2.2, "bins": 5, "decimals": 2},
    "smoker": {"kind": "boolean", "missing": True},
    "ward": {"kind": "categorical", "values": ["north", "south", "west"], "missing": "?"},
    "born": {"kind": "date", "min": "1920-01-01", "max": "2019-12-31", "bins": 4, "missing": True},
    "seen": {"kind": "datetime", "min": "1969-12-30", "max": "1970-01-02", "bins": 3},
}
SEVERAL_CHUNKS = 300_000
GIVEN = {"age": [(20, 30), 44], "ward": ["north", None]}


def rows_of(model: Any) -> dict[str, Any]:
    """What a file holds: some rows of seed 1, and a digest of several chunks of them."""
    return {"rows": few_rows_of(model), "many": digest_of_many(model)}


def few_rows_of(model: Any) -> dict[str, Any]:
    """Rows drawn in every way."""
    rows = {"even": columns_of(model.sample(12, seed=1))}
    if isinstance(model, Model):
        rows["independent"] = columns_of(model.sample(12, seed=1, spread="independent"))
        for how in ("exact", "rejection", "weighting"):
            drawn = model.sample(12, seed=1, given=GIVEN, method=how)  # type: ignore[arg-type]
            rows[how] = columns_of(drawn)
    return rows


def digest_of_many(model: Any) -> str:
    """Of several chunks of rows."""
    return digest(model.sample(SEVERAL_CHUNKS, seed=1))


def columns_of(table: Any) -> dict[str, list[Any]]:
    found = {}
    for name, column in table.columns.items():
        values = column.values.tolist()
        if column.kind == "text":
            values = [column.words[place] for place in values]
        if column.missing is not None:
            values = [
                None if absent else value
                for value, absent in zip(values, column.missing, strict=True)
            ]
        found[name] = values
    return found


def digest(table: Any) -> str:
    hashed = hashlib.sha256()
    for name, column in table.columns.items():
        hashed.update(name.encode())
        hashed.update(column.values.astype("<f8").tobytes())
        if column.missing is not None and column.missing.any():
            hashed.update(column.missing.astype("u1").tobytes())
    return hashed.hexdigest()


def _models() -> dict[str, Any]:
    noise, names = SeededNoise(0), list(ENTRIES)[1:]
    schema = Schema.from_dict({"attributes": ENTRIES})
    rng = np.random.default_rng(0)
    codes = {a.name: rng.binomial(a.size - 1, 0.4, 500) for a in schema.modelled}
    codes["ward"] = np.minimum(codes["age"] // 2, schema["ward"].size - 1)
    table = decode(codes, schema, rng, 500)
    few = Schema(tuple(schema[name] for name in ("age", "smoker", "ward")))
    narrow = Table({name: table.columns[name] for name in few.names})
    methods = {
        "random": Random(),
        "independent": Independent(epsilon=1.0),
        "marginals": Marginals(epsilon=1.0, marginals=[names[:2], ["smoker", "ward"]]),
        "mst": MST(epsilon=1.0, delta=1e-6),
        "adaptive": Adaptive.fast(epsilon=3.0),
        "adaptive-even-tables": Adaptive.fast(epsilon=3.0),
        "privbayes": PrivBayes(epsilon=3.0, neighbours="replace"),
        "privbayes-hierarchical": PrivBayes(epsilon=3.0, encoding="hierarchical"),
        "privbayes-gray": PrivBayes(epsilon=3.0, encoding="gray"),
        "privbayes-paper": PrivBayes.paper(3.0, degree=2, encoding="binary"),
        "gaussian": Gaussian(epsilon=3.0, delta=1e-6, label="ward"),
        "merf": MERF(epsilon=3.0, delta=1e-6, features=50, training_steps=20, hidden=8),
    }
    found: dict[str, Any] = {
        name: method.fit(table, schema, noise=noise, notify=lambda _: None)
        for name, method in methods.items()
    }
    for method in (PerturbedHistogram(epsilon=1.0), SmoothedHistogram(epsilon=5.0, draws=40)):
        found[method.name] = method.fit(narrow, few, noise=noise, notify=lambda _: None)
    parts = (found["independent"], found["mst"])
    found["merged"] = MergedModels({"name": "independent"}, schema, parts, parts[0].ledger)
    return found


if __name__ == "__main__":
    for name, model in _models().items():
        path = FOLDER / f"{name}.json"
        if not path.exists():
            document = {"model": model.to_dict(), **rows_of(model)}
            path.write_text(json.dumps(document, ensure_ascii=False) + "\n", encoding="utf-8")
