"""What anybody but the owner sees of a release: between neighbouring tables it may differ only by
what goes through a door.

Every synthesizer runs on two neighbouring tables with the doors replaced by ones that give the same
answers to the same questions, whatever the rows say. All that anybody but the owner gets to see
must then be the same to the byte: the model file, the report, the rows drawn, progress, warnings,
the ledger, the exit status and the questions themselves.
"""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, is_dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

import understudy.release.pipeline
from understudy import Schema
from understudy.counting.row_functions import DenseGradient, RandomFeatures, RowInputs
from understudy.data.forms import Form
from understudy.data.tables import read_table
from understudy.privacy.central import CentralCurator
from understudy.privacy.domain import Domain
from understudy.privacy.questions import Question
from understudy.release.callbacks import OwnerWarning
from understudy.reports.release import report
from understudy.synthesizers import Synthesizer

# ---------------------------------------------- doors that know nothing


class SameAnswers:
    """Answers that depend on the question and its place in the conversation, never on counts or
    scores.
    """

    private = True  # so that the model is the one that a real run would write

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    def laplace(self, counts: Any, scale: float) -> Any:
        return self._table("laplace", counts, scale)

    def gaussian(self, counts: Any, scale: float) -> Any:
        return self._table("gaussian", counts, scale)

    def rounded_gaussian(self, counts: Any, scale: float) -> Any:
        return self._table("rounded gaussian", counts, scale)

    def choose(self, scores: Any, scale: float, rule: str) -> int:
        return int(self._stream("choose", len(scores), scale, rule).integers(len(scores)))

    def draw(self, counts: Any, draws: int, smoothing: Any) -> Any:
        cells = int(np.prod(np.shape(counts)))
        stream = self._stream("draw", np.shape(counts), draws, smoothing)
        return stream.multinomial(draws, np.full(cells, 1 / cells)).reshape(np.shape(counts))

    def sample(self, rows: int, rate: Any) -> Any:
        """All rows: which are in a sample is nobody's to see."""
        return np.arange(rows)

    def _table(self, kind: str, counts: Any, scale: float) -> Any:
        return self._stream(kind, np.shape(counts), scale).integers(-3, 60, np.shape(counts))

    def _stream(self, *question: Any) -> np.random.Generator:
        self.asked.append(question)
        seed = hashlib.sha256(repr((len(self.asked), question)).encode()).digest()
        return np.random.default_rng(list(seed))


class RecordingCurator(CentralCurator):
    """Writes down what the synthesizer asks, word for word."""

    heard: list[tuple[Any, ...]]

    def answer(self, question: Any) -> Any:
        self.heard.append(_as_public(question))
        return super().answer(question)

    def toss(self, places: int) -> int:
        self.heard.append(("toss", places))
        return super().toss(places)


def _as_public(value: Any) -> Any:
    """What a question holds, so that it can be compared word for word."""
    if isinstance(value, np.ndarray):
        return value.shape, value.tobytes()
    if isinstance(value, list | tuple):
        return tuple(map(_as_public, value))
    if isinstance(value, Question | DenseGradient | RandomFeatures | RowInputs):
        return (type(value).__name__, *map(_as_public, vars(value).values()))
    if isinstance(value, Domain):
        return tuple(value.sizes.items())
    return value


@dataclass(frozen=True)
class Seen:
    """All that anybody but the owner sees of a run; and the model as it lay in memory."""

    model: bytes
    report: str
    rows: bytes
    frame: tuple[Any, ...]
    ledger: str
    progress: tuple[Any, ...]
    warnings: tuple[str, ...]
    questions: tuple[Any, ...]
    at_the_noise: tuple[Any, ...]
    in_memory: bytes = field(default=b"", compare=False, repr=False)


def looks_of(frame: Any) -> tuple[Any, ...]:
    """A frame from outside: its library, its types, what else it carries, and the file that it
    would become.
    """
    if isinstance(frame, pd.DataFrame):
        types = [(name, repr(dtype)) for name, dtype in frame.dtypes.items()]
        return "pandas", types, frame.attrs, repr(frame.index), frame.to_csv()
    if isinstance(frame, pl.DataFrame):
        return "polars", list(frame.schema.items()), frame.write_csv()
    if isinstance(frame, pa.Table):
        file = io.BytesIO()
        pyarrow.csv.write_csv(frame, file)
        return "arrow", str(frame.schema), frame.schema.metadata, file.getvalue()
    return "table", [(name, column.kind) for name, column in frame.columns.items()]


def seen(
    method: Synthesizer,
    table: Any,
    schema: Schema | Form | None,
    folder: Path,
    answers: type[SameAnswers] = SameAnswers,
    beside: Seen | None = None,
) -> Seen:
    """Run a method and look at all that comes of it.

    Files, reports and rows are made from the model, which takes longer than to fit it. Where it is
    the same to the last bit as that of another run, given as ``beside``, so are they.
    """
    heard: list[tuple[Any, ...]] = []
    noise = answers()
    progress: list[Any] = []
    curator = type("Curator", (RecordingCurator,), {"heard": heard})
    with (
        warnings.catch_warnings(record=True) as warned,
        mock.patch.object(understudy.release.pipeline, "CentralCurator", curator),
    ):
        warnings.simplefilter("always")
        # What earlier tests left open is told whenever garbage happens to be collected.
        warnings.simplefilter("ignore", ResourceWarning)
        model = method.fit(
            read_table(table) if isinstance(table, Path) else table,
            schema,
            noise=noise,
            progress=lambda *step: progress.append(step),
            ledger=_fresh_ledger(folder, method),
        )
        in_memory = copy_state(model)
        if beside is None or in_memory != beside.in_memory:
            model.save(folder / "model.json")
            model.write(folder / "rows.csv", 40, seed=3)
            frame = (repr(model), model.library, *looks_of(model.sample(40, seed=3)))
            rows = (folder / "rows.csv").read_bytes()
            made = (folder / "model.json").read_bytes(), report(model), rows, frame
        else:
            made = beside.model, beside.report, beside.rows, beside.frame
    told = json.loads((folder / "t.ledger").read_text())
    [release] = told["releases"]
    return Seen(
        *made,
        json.dumps(
            {name: value for name, value in release.items() if name not in ("number", "at")}
        ),
        tuple(progress),
        # What is for the owner's eyes is marked as such; nothing else may tell the tables apart.
        tuple(str(w.message) for w in warned if not issubclass(w.category, OwnerWarning)),
        tuple(heard),
        tuple(noise.asked),
        in_memory,
    )


class _StatePickler(pickle.Pickler):
    """Leaves out what objects have worked out from the rest of them, which some have sooner."""

    def reducer_override(self, value: Any) -> Any:
        if not is_dataclass(value) or isinstance(value, type):
            return NotImplemented
        kind = type(value)
        held = {
            name: part
            for name, part in vars(value).items()
            if not isinstance(getattr(kind, name, None), cached_property)
        }
        return object.__new__, (kind,), held


def copy_state(model: Any) -> bytes:
    """All that an object holds, however deep; parts that are equal need not be one and the same."""
    file = io.BytesIO()
    pickler = _StatePickler(file)
    pickler.fast = True
    pickler.dump(model)
    return file.getvalue()


def _fresh_ledger(folder: Path, method: Synthesizer) -> Any:
    from understudy import LedgerFile

    (folder / "t.ledger").unlink(missing_ok=True)
    unit: Any = "row" if method.person is None else "person"
    return LedgerFile.create(folder / "t.ledger", 99.0, 0.5, method.neighbours, unit)


# --------------------------------------------------------------------------- neighbours

NAMES = ("who", "age", "height", "sex", "town", "constant", "seen", "rare")

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "who": {"kind": "identifier"},
            "age": {"kind": "integer", "min": 0, "max": 99, "bins": 8},
            "height": {"kind": "real", "min": 0.5, "max": 2.5, "bins": 4, "missing": ""},
            "sex": {"kind": "categorical", "values": ["f", "m"]},
            "town": {
                "kind": "categorical",
                "values": ["Oslo", "Rome", "Ulm"],
                "missing": "",
                "other": "elsewhere",
            },
            "constant": {"kind": "categorical", "values": ["0", "1"]},
            "seen": {
                "kind": "date",
                "min": "2020-01-01",
                "max": "2020-12-31",
                "bins": 4,
                "missing": "",
            },
            "rare": {"kind": "integer", "min": 0, "max": 7, "bins": 8, "missing": ""},
        }
    }
)

Row = tuple[str, ...]


def plain_rows() -> list[Row]:
    return [
        (
            f"p{i}",
            str(20 + 7 * i % 60),
            f"{1.5 + i % 5 / 10:.2f}",
            "fm"[i % 2],
            ("Oslo", "Rome", "Ulm")[i % 3],
            "0",
            f"2020-0{1 + i % 9}-11",
            "",
        )
        for i in range(24)
    ]


ODD_ROWS: dict[str, Row] = {
    "one more like the others": ("p99", "33", "1.70", "f", "Oslo", "0", "2020-05-05", ""),
    "a constant column gains a value": ("p99", "33", "1.70", "f", "Oslo", "1", "2020-05-05", ""),
    "extreme values": ("p99", "-999999999999", "1e300", "m", "Rome", "0", "9999-12-31", ""),
    "values above": ("p99", "999999999999999999", "-4e30", "m", "Rome", "0", "0001-01-01", ""),
    "a number too long to be whole": (
        "p99",
        "12345678901234567890123",
        "1.70",
        "f",
        "Oslo",
        "0",
        "2020-05-05",
        "",
    ),
    "a category that the schema does not know": (
        "p99",
        "33",
        "1.70",
        "x",
        "Atlantis",
        "7",
        "2020-05-05",
        "",
    ),
    "all missing": ("", "", "", "", "", "", "", ""),
    "missing in other ways": ("p99", "?", "NaN", "f", "NA", "0", "null", "-"),
    "the only value of an empty column": ("p99", "33", "1.70", "f", "Oslo", "0", "2020-05-05", "5"),
    "signs that need quotes": (
        '"p,99"',
        "33",
        "1.70",
        '"a,""b"""',
        '"two\nlines"',
        "0",
        "2020-05-05",
        "",
    ),
    "a very long value": ("p99", "33", "1.70", "f", "x" * 5000, "0", "2020-05-05", ""),
}


def written(path: Path, rows: Sequence[Row]) -> Path:
    path.write_text("\n".join([",".join(NAMES), *(",".join(row) for row in rows)]) + "\n")
    return path


def neighbours_of(relation: str, odd: Row, folder: Path) -> tuple[Path, Path]:
    """Two tables of one name, so that messages that name the file are the same."""
    rows = plain_rows()
    here, there = folder / "here", folder / "there"
    here.mkdir()
    there.mkdir()
    with_odd = (
        [*rows[:5], odd, *rows[5:]] if relation == "add_remove" else [*rows[:5], odd, *rows[6:]]
    )
    return written(here / "t.csv", rows), written(there / "t.csv", with_odd)
