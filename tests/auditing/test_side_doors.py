"""No side doors: what does not go through a door cannot differ between neighbouring tables.

Every synthesizer runs on two neighbouring tables with the doors replaced by ones that give the same
answers to the same questions, whatever the rows say. All that anybody but the owner gets to see
must then be the same to the byte: the model file, the report, the rows drawn, progress, warnings,
the ledger, the exit status and the questions themselves.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import importlib
import io
import json
import pkgutil
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import understudy.privacy.curator
import understudy.privacy.discovery
import understudy.privacy.refinement
import understudy.release.pipeline
import understudy.synthesizers
from running import run
from understudy import Independent, PrivBayes, Random, Schema
from understudy.counting.partition import VOCABULARIES, Tally, ends_of
from understudy.data.formats import CANDIDATES, Format
from understudy.data.forms import Form
from understudy.data.schema import Category
from understudy.data.tables import read_table
from understudy.errors import InputError
from understudy.privacy.central import CentralCurator
from understudy.privacy.discovery import Discovery
from understudy.privacy.discovery_scores import KINDS as CHOICES
from understudy.privacy.discovery_scores import Kind, count_grids, count_kinds
from understudy.privacy.discovery_values import ValueFinder
from understudy.release.callbacks import OwnerWarning
from understudy.release.sources import open_source
from understudy.reports.release import report
from understudy.synthesizers import Synthesizer
from understudy.synthesizers.adaptive import Adaptive
from understudy.synthesizers.marginals import Marginals
from understudy.synthesizers.mst import MST
from understudy.synthesizers.perturbed_histogram import PerturbedHistogram
from understudy.synthesizers.smoothed_histogram import SmoothedHistogram

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

    def choose(self, scores: Any, scale: float, rule: str) -> int:
        return int(self._stream("choose", len(scores), scale, rule).integers(len(scores)))

    def draw(self, counts: Any, draws: int, smoothing: Any) -> Any:
        cells = int(np.prod(np.shape(counts)))
        stream = self._stream("draw", np.shape(counts), draws, smoothing)
        return stream.multinomial(draws, np.full(cells, 1 / cells)).reshape(np.shape(counts))

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
        self.heard.append((type(question).__name__, *map(_as_public, vars(question).values())))
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
    return value


@dataclass(frozen=True)
class Seen:
    """All that anybody but the owner sees of a run."""

    model: bytes
    report: str
    rows: bytes
    frame: tuple[Any, ...]
    ledger: str
    progress: tuple[Any, ...]
    warnings: tuple[str, ...]
    questions: tuple[Any, ...]
    at_the_noise: tuple[Any, ...]


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


def seen(method: Synthesizer, table: Any, schema: Schema | Form | None, folder: Path) -> Seen:
    heard: list[tuple[Any, ...]] = []
    noise = SameAnswers()
    progress: list[Any] = []
    curator = type("Curator", (RecordingCurator,), {"heard": heard})
    with (
        warnings.catch_warnings(record=True) as warned,
        mock.patch.object(understudy.release.pipeline, "CentralCurator", curator),
    ):
        warnings.simplefilter("always")
        model = method.fit(
            read_table(table) if isinstance(table, Path) else table,
            schema,
            noise=noise,
            progress=lambda *step: progress.append(step),
            ledger=_fresh_ledger(folder, method),
        )
        model.save(folder / "model.json")
        model.write(folder / "rows.csv", 40, seed=3)
        frame = (repr(model), model.library, *looks_of(model.sample(40, seed=3)))
    told = json.loads((folder / "t.ledger").read_text())
    [release] = told["releases"]
    return Seen(
        (folder / "model.json").read_bytes(),
        report(model),
        (folder / "rows.csv").read_bytes(),
        frame,
        json.dumps(
            {name: value for name, value in release.items() if name not in ("number", "at")}
        ),
        tuple(progress),
        # What is for the owner's eyes is marked as such; nothing else may tell the tables apart.
        tuple(str(w.message) for w in warned if not issubclass(w.category, OwnerWarning)),
        tuple(heard),
        tuple(noise.asked),
    )


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


METHODS: dict[str, Synthesizer] = {
    "adaptive": Adaptive(epsilon=2.0),
    "adaptive, delta": Adaptive(epsilon=2.0, delta=1e-6),
    "adaptive, replace": Adaptive(epsilon=2.0, delta=1e-6, neighbours="replace", target="sex"),
    "adaptive, two rows per person": Adaptive(epsilon=9.0, person="who", max_rows_per_person=2),
    "mst": MST(epsilon=2.0),
    "mst, delta, replace": MST(epsilon=2.0, delta=1e-6, neighbours="replace"),
    "random": Random(),
    "independent": Independent(epsilon=1.0),
    "independent, delta": Independent(epsilon=1.0, delta=1e-6),
    "independent, replace": Independent(epsilon=1.0, neighbours="replace"),
    "independent, clip": Independent(epsilon=1.0, repair="clip"),
    "privbayes": PrivBayes(epsilon=2.0),
    "privbayes, delta": PrivBayes(epsilon=2.0, delta=1e-6),
    "privbayes, replace": PrivBayes(epsilon=2.0, neighbours="replace"),
    "privbayes, paper": PrivBayes.paper(4.0),
    "privbayes, binary": PrivBayes(epsilon=2.0, encoding="binary"),
    "privbayes, gray, F, replace": PrivBayes.paper(4.0, encoding="gray", score="F"),
    "privbayes, degree": PrivBayes(epsilon=2.0, degree=1),
    "privbayes, degree, I": PrivBayes(epsilon=2.0, degree=2, score="I"),
    "privbayes, consistent": PrivBayes(epsilon=2.0, consistent=True, degree=1),
    "privbayes, two rows per person": PrivBayes(epsilon=2.0, person="who", max_rows_per_person=2),
    "independent, one row per person": Independent(epsilon=2.0, person="who"),
    "marginals": Marginals(epsilon=1.0, marginals=[("age", "sex"), ("sex", "town")]),
    "marginals, delta": Marginals(epsilon=1.0, delta=1e-6, marginals=[("age", "sex")]),
    "marginals, replace": Marginals(
        epsilon=1.0, neighbours="replace", marginals=[("seen", "rare")]
    ),
    "perturbed histogram": PerturbedHistogram(epsilon=1.0),
    "perturbed histogram, replace": PerturbedHistogram(
        epsilon=1.0, neighbours="replace", repair="clip"
    ),
    "smoothed histogram": SmoothedHistogram(epsilon=1.0),
    "smoothed histogram, draws": SmoothedHistogram(epsilon=1.0, draws=7),
    "smoothed histogram, replace": SmoothedHistogram(epsilon=1.0, neighbours="replace"),
}
JOINT = (PerturbedHistogram, SmoothedHistogram)
"""They count all attributes together, so they get few of them."""


def schema_for(method: Synthesizer) -> Schema:
    if not isinstance(method, JOINT):
        return SCHEMA
    left_out = {"age", "height", "seen"}
    whole = SCHEMA.to_dict()["attributes"]
    return Schema.from_dict(
        {"attributes": {n: {"kind": "text"} if n in left_out else a for n, a in whole.items()}}
    )


def test_no_synthesizer_is_forgotten() -> None:
    def classes(of: type[Synthesizer]) -> set[type[Synthesizer]]:
        return {kind for one in of.__subclasses__() for kind in (one, *classes(one))}

    for module in pkgutil.iter_modules(
        understudy.synthesizers.__path__, "understudy.synthesizers."
    ):
        importlib.import_module(module.name)
    known = {kind for kind in classes(Synthesizer) if kind.__module__.startswith("understudy.")}
    assert known == {type(method) for method in METHODS.values()}


@pytest.fixture(scope="module")
def seen_without(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Seen]:
    """What is seen of a method's run without any odd row: the same beside all of them."""

    @cache
    def look(name: str) -> Seen:
        folder = tmp_path_factory.mktemp("without")
        table = written(folder / "t.csv", plain_rows())
        return seen(METHODS[name], table, schema_for(METHODS[name]), folder)

    return look


@pytest.mark.filterwarnings("ignore::understudy.OwnerWarning")
@pytest.mark.parametrize("odd", ODD_ROWS.values(), ids=ODD_ROWS.keys())
@pytest.mark.parametrize("name", METHODS)
def test_what_does_not_go_through_a_door_does_not_differ(
    name: str, odd: Row, tmp_path: Path, seen_without: Callable[[str], Seen]
) -> None:
    method = METHODS[name]
    _, there = neighbours_of(method.neighbours, odd, tmp_path)
    assert seen_without(name) == seen(method, there, schema_for(method), there.parent)


def test_the_answers_are_used_and_the_questions_are_asked(tmp_path: Path) -> None:
    """The test above would hold for a synthesizer that asks nothing."""
    here, _ = neighbours_of("add_remove", ODD_ROWS["all missing"], tmp_path)
    asked = seen(replace(METHODS["privbayes, degree"]), here, SCHEMA, here.parent)
    kinds = [question[0] for question in asked.questions]
    assert kinds == ["Measure", "toss", *["Choose"] * 6, "Measure"]
    assert len(asked.at_the_noise) > len(kinds)
    with mock.patch.object(SameAnswers, "_table", lambda *_: np.full(np.shape(_[2]), 7)):
        assert seen(METHODS["privbayes, degree"], here, SCHEMA, here.parent).model != asked.model


def test_a_side_door_would_be_seen(tmp_path: Path) -> None:
    """A synthesizer that peeps at the rows is caught, so the test above can fail."""

    class Peeping(Independent):
        def learn(self, curator: Any, budget: Any, progress: Any) -> Any:
            model = super().learn(curator, budget, progress)
            return replace(model, rows=curator._rows.counter.rows)

    here, there = neighbours_of("add_remove", ODD_ROWS["one more like the others"], tmp_path)
    method = Peeping(epsilon=1.0)
    assert seen(method, here, SCHEMA, here.parent) != seen(method, there, SCHEMA, there.parent)


# --------------------------------------------------------------------------- types of frames

# One row can change the type of a column: its values, with one more row, and what makes a column of
# them.
AGES = [20 + 7 * i % 60 for i in range(24)]
TOWNS = [("Oslo", "Rome", "Ulm")[i % 3] for i in range(24)]
DAYS = [dt.datetime(2020, 1 + i % 9, 11) for i in range(24)]
MOMENTS = [day.replace(hour=i % 3, microsecond=1000 * i) for i, day in enumerate(DAYS)]
KNOWN = ["Oslo", "Rome", "Ulm"]

Typed = tuple[str, Any, Any]
"""A column, as it is in the one table and, with a row more, in the other."""

PANDAS: dict[str, Typed] = {
    "integers, floats": ("age", pd.Series(AGES), pd.Series([*AGES, None])),
    "integers, nullable ones": ("age", pd.Series(AGES), pd.Series([*AGES, None], dtype="Int64")),
    "integers, objects": ("age", pd.Series(AGES), pd.Series([*AGES, "?"], dtype=object)),
    "integers, unsigned ones": ("age", pd.Series(AGES), pd.Series([*AGES, 2**63], dtype="uint64")),
    "narrow integers, wide ones": (
        "age",
        pd.Series(AGES, dtype="uint8"),
        pd.Series([*AGES, 300]),
    ),
    "integers, categories": (
        "age",
        pd.Series(AGES, dtype="category"),
        pd.Series([*AGES, 20], dtype=pd.CategoricalDtype([*sorted(set(AGES)), "?"])),
    ),
    "texts, categories": ("town", pd.Series(TOWNS), pd.Series([*TOWNS, "Ulm"], dtype="category")),
    "an unused category": (
        "town",
        pd.Series(TOWNS, dtype="category"),
        pd.Series([*TOWNS, "Ulm"], dtype=pd.CategoricalDtype([*KNOWN, "Atlantis"], ordered=True)),
    ),
    "one more category": (
        "town",
        pd.Series(TOWNS, dtype="category"),
        pd.Series([*TOWNS, "Atlantis"], dtype="category"),
    ),
    "dates, objects": ("seen", pd.Series(DAYS), pd.Series([*DAYS, "?"], dtype=object)),
    "dates, far dates": (
        "seen",
        pd.Series(DAYS, dtype="datetime64[ns]"),
        pd.Series([*DAYS, dt.datetime(9999, 12, 31)], dtype=object),
    ),
    "dates, dates in a zone": (
        "seen",
        pd.Series(DAYS),
        pd.Series([*DAYS, None]).dt.tz_localize("Asia/Tokyo"),
    ),
    "nothing, integers": ("rare", pd.Series([None] * 24), pd.Series([None] * 24 + [5])),
    "nothing, texts": (
        "rare",
        pd.Series([np.nan] * 24),
        pd.Series([None] * 24 + ["5"], dtype=object),
    ),
    "texts, integers": ("constant", pd.Series(["0"] * 24), pd.Series([0] * 25)),
    "integers, truth values": (
        "constant",
        pd.Series([0] * 24),
        pd.Series([0] * 24 + [True], dtype=object),
    ),
    "floats, short floats": (
        "height",
        pd.Series([1.5] * 24),
        pd.Series([1.5] * 24 + [None], dtype="float32"),
    ),
    "whole floats, objects": (
        "age",
        pd.Series(AGES, dtype="float64"),
        pd.Series([*map(float, AGES), "?"], dtype=object),
    ),
    "whole categories, real ones": (
        "age",
        pd.Series(AGES, dtype="category"),
        pd.Series([*AGES, 20.5], dtype="category"),
    ),
    "infinite floats, objects": (
        "height",
        pd.Series([1.5, np.inf, -np.inf] * 8),
        pd.Series([1.5, np.inf, -np.inf] * 8 + ["?"], dtype=object),
    ),
    "moments, objects": (
        "seen",
        pd.Series(MOMENTS),
        pd.Series([*MOMENTS, "?"], dtype=object),
    ),
    "dates, moments beyond the calendar": (
        "seen",
        pd.Series(DAYS),
        pd.Series(np.array([*DAYS, "12020-01-01"], dtype="datetime64[s]")),
    ),
}
POLARS: dict[str, Typed] = {
    "integers, floats": ("age", pl.Series(AGES), pl.Series([*map(float, AGES), None])),
    "integers, a null": ("age", pl.Series(AGES), pl.Series([*AGES, None])),
    "narrow integers, wide ones": ("age", pl.Series(AGES, dtype=pl.UInt8), pl.Series([*AGES, 300])),
    "integers, unsigned ones": (
        "age",
        pl.Series(AGES),
        pl.Series([*AGES, 2**63], dtype=pl.UInt64),
    ),
    "integers, texts": ("age", pl.Series(AGES), pl.Series([*map(str, AGES), "?"])),
    "texts, categories": (
        "town",
        pl.Series(TOWNS),
        pl.Series([*TOWNS, "Ulm"], dtype=pl.Categorical),
    ),
    "one more category": (
        "town",
        pl.Series(TOWNS, dtype=pl.Categorical),
        pl.Series([*TOWNS, "Atlantis"], dtype=pl.Categorical),
    ),
    "one more in an enumeration": (
        "town",
        pl.Series(TOWNS, dtype=pl.Enum(KNOWN)),
        pl.Series([*TOWNS, "Ulm"], dtype=pl.Enum([*KNOWN, "Atlantis"])),
    ),
    "dates, texts": (
        "seen",
        pl.Series(DAYS, dtype=pl.Date),
        pl.Series([*(str(day.date()) for day in DAYS), "?"]),
    ),
    "dates, moments": (
        "seen",
        pl.Series(DAYS, dtype=pl.Date),
        pl.Series([*DAYS, None], dtype=pl.Datetime("ns")),
    ),
    "nothing, integers": (
        "rare",
        pl.Series([None] * 24, dtype=pl.Null),
        pl.Series([None] * 24 + [5]),
    ),
    "floats, short floats": (
        "height",
        pl.Series([1.5] * 24),
        pl.Series([1.5] * 24 + [None], dtype=pl.Float32),
    ),
}
ARROW: dict[str, Typed] = {
    "integers, floats": ("age", pa.array(AGES), pa.array([*map(float, AGES), None])),
    "integers, a null": ("age", pa.array(AGES), pa.array([*AGES, None])),
    "narrow integers, wide ones": ("age", pa.array(AGES, pa.uint8()), pa.array([*AGES, 300])),
    "integers, unsigned ones": ("age", pa.array(AGES), pa.array([*AGES, 2**63], pa.uint64())),
    "integers, texts": ("age", pa.array(AGES), pa.array([*map(str, AGES), "?"])),
    "texts, a dictionary": (
        "town",
        pa.array(TOWNS),
        pa.array([*TOWNS, "Ulm"]).dictionary_encode(),
    ),
    "one more in a dictionary": (
        "town",
        pa.array(TOWNS).dictionary_encode(),
        pa.array([*TOWNS, "Atlantis"]).dictionary_encode(),
    ),
    "dates, texts": (
        "seen",
        pa.array(DAYS, pa.date32()),
        pa.array([*(str(day.date()) for day in DAYS), "?"]),
    ),
    "dates, moments": (
        "seen",
        pa.array(DAYS, pa.date32()),
        pa.array([*DAYS, None], pa.timestamp("us", "Asia/Tokyo")),
    ),
    "nothing, integers": ("rare", pa.nulls(24), pa.array([None] * 24 + [5])),
    "floats, short floats": (
        "height",
        pa.array([1.5] * 24, pa.float64()),
        pa.array([1.5] * 24 + [None], pa.float32()),
    ),
}
MAKERS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "arrow": pa.table,
    "lazy": lambda columns: pl.DataFrame(columns).lazy(),
}
TYPED = {
    f"{library}: {name}": (library, typed)
    for library, pairs in (
        ("pandas", PANDAS),
        ("polars", POLARS),
        ("lazy", POLARS),
        ("arrow", ARROW),
        ("parquet", ARROW),
    )
    for name, typed in pairs.items()
    if (library, name) != ("lazy", "integers, unsigned ones")  # refused inside DuckDB
}


def typed_frame(library: str, column: str, values: Any, folder: Path) -> Any:
    """A frame whose other columns are plain."""
    rows = len(values)
    columns: dict[str, Any] = {
        "who": [f"p{i}" for i in range(rows)],
        "age": [33] * rows,
        "height": [1.5] * rows,
        "sex": ["f"] * rows,
        "town": ["Oslo"] * rows,
        "constant": ["0"] * rows,
        "seen": [DAYS[0]] * rows,
        "rare": [3] * rows,
        column: values,
    }
    if library != "parquet":
        return MAKERS[library](columns)
    folder.mkdir(exist_ok=True)
    pyarrow.parquet.write_table(pa.table(columns), folder / "t.parquet")
    return folder / "t.parquet"


def seen_of_both(method: Synthesizer, library: str, typed: Typed, folder: Path) -> list[Seen]:
    found = []
    for side, values in zip(("here", "there"), typed[1:], strict=True):
        (folder / side).mkdir()
        frame = typed_frame(library, typed[0], values, folder / side)
        found.append(seen(method, frame, SCHEMA, folder / side))
    return found


@pytest.mark.filterwarnings("ignore::understudy.OwnerWarning")
@pytest.mark.parametrize(("library", "typed"), TYPED.values(), ids=TYPED.keys())
def test_types_of_a_private_frame_do_not_come_out(
    library: str, typed: Typed, tmp_path: Path
) -> None:
    here, there = seen_of_both(Independent(epsilon=0.001), library, typed, tmp_path)
    assert here == there
    assert here.frame[1] == {"lazy": "polars", "parquet": "table"}.get(library, library)


NUMBERS = [i // 2 for i in range(24)]
ABSENT = [*map(float, NUMBERS), None]
PERSONS: dict[str, tuple[str, Typed]] = {
    "pandas: whole ids, one missing": (
        "pandas",
        ("who", pd.Series(NUMBERS), pd.Series([*NUMBERS, None])),
    ),
    "pandas: whole ids, one missing in objects": (
        "pandas",
        ("who", pd.Series(NUMBERS), pd.Series([*NUMBERS, None], dtype=object)),
    ),
    "parquet: whole ids, one null": ("parquet", ("who", pa.array(NUMBERS), pa.array(ABSENT))),
    "parquet: whole ids, one NaN": (
        "parquet",
        ("who", pa.array(NUMBERS), pa.array([*ABSENT[:-1], np.nan])),
    ),
    "arrow: whole ids, one null": ("arrow", ("who", pa.array(NUMBERS), pa.array(ABSENT))),
    "polars: whole ids, one null": ("polars", ("who", pl.Series(NUMBERS), pl.Series(ABSENT))),
    "lazy: whole ids, one null": ("lazy", ("who", pl.Series(NUMBERS), pl.Series(ABSENT))),
    "lazy: whole ids, one NaN": (
        "lazy",
        ("who", pl.Series(NUMBERS), pl.Series([*ABSENT[:-1], np.nan])),
    ),
}


@pytest.mark.filterwarnings("ignore::understudy.OwnerWarning")
@pytest.mark.parametrize(("library", "typed"), PERSONS.values(), ids=PERSONS.keys())
def test_a_row_that_is_nobodys_does_not_decide_a_refusal(
    library: str, typed: Typed, tmp_path: Path
) -> None:
    """One missing number makes reals of whole ones, which once were refused as persons."""
    method = Independent(epsilon=0.001, person="who", max_rows_per_person=2)
    here, there = seen_of_both(method, library, typed, tmp_path)
    assert here == there


def test_each_pair_of_columns_differs_in_its_type() -> None:
    """The tests above would hold for tables that look the same to begin with."""
    alike = set()
    for name, (_, (_, here, there)) in {**TYPED, **PERSONS}.items():
        types = [
            column.type if isinstance(column, pa.Array) else column.dtype
            for column in (here, there)
        ]
        if types[0] == types[1]:
            alike.add(name.partition(": ")[2])
    # These differ in the number of nulls, and in words that polars and Arrow keep beside the type.
    assert alike == {"integers, a null", "one more category", "one more in a dictionary"}


CASTS: dict[str, Callable[[Any, Any], Any]] = {
    "pandas": lambda frame, private: frame.astype(dict(private.dtypes), errors="ignore"),
    "polars": lambda frame, private: frame.cast(dict(private.schema), strict=False),
    "arrow": lambda frame, private: frame.cast(private.schema),
}


@pytest.mark.filterwarnings("ignore::understudy.OwnerWarning")
@pytest.mark.parametrize("library", CASTS)
def test_a_cast_to_the_private_types_would_be_seen(
    library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it once was done: a missing value put a decimal point behind every released number."""
    fit = Synthesizer.fit

    def fit_and_cast(self: Synthesizer, table: Any, *given: Any, **options: Any) -> Any:
        model = fit(self, table, *given, **options)
        sample = model.sample
        object.__setattr__(
            model, "sample", lambda *args, **how: CASTS[library](sample(*args, **how), table)
        )
        return model

    monkeypatch.setattr(Synthesizer, "fit", fit_and_cast)
    _, typed = TYPED[f"{library}: integers, floats"]
    method = Independent(epsilon=0.001)
    here, there = seen_of_both(method, library, typed, tmp_path)
    assert here != there
    assert replace(here, frame=()) == replace(there, frame=())


@pytest.mark.filterwarnings("ignore::understudy.OwnerWarning")
def test_no_decimal_point_tells_of_a_missing_value(tmp_path: Path) -> None:
    """With real noise, as anybody would release: nothing in the file has the type of the private
    column.
    """
    schema = Schema.from_dict({"attributes": {"n": {"kind": "integer", "min": 0, "max": 99}}})
    for private in (AGES, [*AGES, None]):
        for _ in range(5):
            model = Independent(epsilon=0.001).fit(pd.DataFrame({"n": private}), schema)
            model.sample(50).to_csv(tmp_path / "released.csv", index=False)
            assert "." not in (tmp_path / "released.csv").read_text()


# --------------------------------------------------------------------------- without a schema


def _same_words(self: ValueFinder, name: str, cost: Any, delta: float) -> tuple[Category, bool]:
    """The question of which words there are, answered alike; its real answer is tested with
    discovery.
    """
    self.asker.ledger.debit(f"words of {name}", cost, "the same answer", delta)
    return Category(name, "categorical", "", ("Oslo", "Rome"), False, None, "other"), True


KINDS = ("integer", "real", "date")


class Follows(SameAnswers):
    """Chooses the kind that it was told to, and the same range and grid."""

    place = 0

    def choose(self, scores: Any, scale: float, rule: str) -> int:
        self._stream("choose", len(scores), scale, rule)
        return self.place % len(scores)


PLACES = [CHOICES.index(Kind(format=CANDIDATES.index(Format(kind)))) for kind in KINDS]
"""Where plain numbers and dates stand among the kinds."""

WITHOUT_SCHEMA = [
    Independent(epsilon=1.0, keep_going=True),
    PrivBayes(epsilon=1.0, delta=1e-6, keep_going=True),
    replace(PrivBayes.paper(1.0), keep_going=True),
    Random(epsilon=1.0, keep_going=True),
    Marginals(epsilon=1.0, marginals=[("sex", "town")], keep_going=True),
]


@pytest.mark.filterwarnings("ignore::understudy.OwnerWarning")
@pytest.mark.parametrize("odd", ODD_ROWS.values(), ids=ODD_ROWS.keys())
@pytest.mark.parametrize(
    "method", WITHOUT_SCHEMA, ids=lambda method: f"{method.name}, {method.neighbours}"
)
def test_nor_does_it_where_the_domain_is_discovered(
    method: Synthesizer, odd: Row, tmp_path: Path
) -> None:
    """Whatever the odd row makes of the kinds, formats and ranges of the columns."""
    here, there = neighbours_of(method.neighbours, odd, tmp_path)
    with (
        mock.patch.object(ValueFinder, "find_words", _same_words),
        mock.patch.object(Follows, "place", PLACES[len(str(odd)) % 3]),
        mock.patch(f"{__name__}.SameAnswers", Follows),
    ):
        assert seen(method, here, None, here.parent) == seen(method, there, None, there.parent)


@pytest.mark.filterwarnings("ignore::understudy.OwnerWarning")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("library", "typed"), TYPED.values(), ids=TYPED.keys())
def test_types_decide_nothing_where_the_domain_is_discovered(
    library: str, typed: Typed, place: int, tmp_path: Path
) -> None:
    """Neighbours whose kinds differ, from files, pandas, polars and Arrow."""
    method = Independent(epsilon=0.001, keep_going=True)
    found = []
    with (
        mock.patch.object(ValueFinder, "find_words", _same_words),
        mock.patch.object(Follows, "place", place),
        mock.patch(f"{__name__}.SameAnswers", Follows),
    ):
        for side, values in zip(("here", "there"), typed[1:], strict=True):
            (tmp_path / side).mkdir()
            frame = typed_frame(library, typed[0], values, tmp_path / side)
            found.append(seen(method, frame, None, tmp_path / side))
    assert found[0] == found[1]


def tally_of(frame: Any, column: str) -> Tally:
    tally = Tally(1)
    with open_source(frame, notify=lambda _: None) as source:
        source.columns.count({column: tally})
    return tally


def changes(here: Tally, there: Tally) -> dict[str, tuple[int, int]]:
    """By how many rows the counts of each question differ at most: in one cell, and in all."""
    words = {word: there.words[word] - here.words[word] for word in {*here.words, *there.words}}
    found = {
        "rows": [there.rows - here.rows],
        "missing": there.missing - here.missing,
        "words": list(words.values()),
        "kinds": count_kinds(there) - count_kinds(here),
    }
    for place in {*here.formats, *there.formats}:
        ends = ends_of(CANDIDATES[place].kind)
        cells = [
            tally.formats[place].cells if place in tally.formats else np.zeros(len(ends.edges) + 1)
            for tally in (here, there)
        ]
        found[f"cells {place}"] = cells[1] - cells[0]
        found[f"grids {place}"] = count_grids(there, place) - count_grids(here, place)
    return {
        name: (int(np.max(np.abs(change), initial=0)), int(np.abs(change).sum()))
        for name, change in found.items()
    }


@pytest.mark.filterwarnings("ignore::understudy.OwnerWarning")
@pytest.mark.parametrize(("library", "typed"), TYPED.values(), ids=TYPED.keys())
def test_one_row_changes_each_count_by_one_whatever_the_types(
    library: str, typed: Typed, tmp_path: Path
) -> None:
    """The same answers, as above, would hide scores and counts of which one row changes many."""
    tallies = []
    for side, values in zip(("here", "there"), typed[1:], strict=True):
        (tmp_path / side).mkdir()
        frame = typed_frame(library, typed[0], values, tmp_path / side)
        tallies.append(tally_of(frame, typed[0]))
    for name, (most, together) in changes(*tallies).items():
        assert most <= 1, name
        if name.startswith(("missing", "words", "cells")):  # a row is in one cell
            assert together <= 1, name


@pytest.mark.parametrize("odd", ODD_ROWS.values(), ids=ODD_ROWS.keys())
def test_one_row_of_a_file_changes_each_count_by_one(odd: Row, tmp_path: Path) -> None:
    here, there = neighbours_of("add_remove", odd, tmp_path)
    for column in NAMES[1:]:
        for name, (most, together) in changes(
            tally_of(here, column), tally_of(there, column)
        ).items():
            assert most <= 1, (column, name)
            if name.startswith(("missing", "words", "cells")):
                assert together <= 1, (column, name)


# ---- ways to write numbers, dates and answers; schemas that leave columns open

EXOTIC = ("when", "pay", "part", "answer", "code")
PINNED = (
    Kind(format=CANDIDATES.index(Format("date", "%d/%m/%Y"))),
    Kind(format=CANDIDATES.index(Format("integer", "$1,234"))),
    Kind(format=CANDIDATES.index(Format("real", "12.5%"))),
    Kind(vocabulary=VOCABULARIES.index(("No", "Yes"))),
    Kind(),
)
EXOTIC_ROWS = [
    (
        f"{1 + i % 28:02}/{1 + i % 12:02}/2020",
        f'"${1000 + 100 * i:,}"',
        f"{i}.5%",
        ("No", "Yes")[i % 2],
        ("ab", "cd")[i % 2],
    )
    for i in range(24)
]
ODD_EXOTIC: dict[str, Row] = {
    "one more": EXOTIC_ROWS[3],
    "written in other ways": ("2020-12-31", "€5", '"1,5"', "yes", "AB"),
    "other ways that could be meant": ("12/31/2020", "$1234", "12%", "Y", "cd "),
    "in words": ("5 Jan 2020", "many", "half", "maybe", "9"),
    "missing": ("", "", "", "", ""),
    "missing in other ways": ("unknown", "n/a", "-", "NA", "?"),
    "out of any range": ("31/12/9999", '"$999,999,999,999,999"', "1e300%", "No", "x" * 5000),
    "no day of the calendar": ("31/02/2020", "$-0", "-0.0%", " Yes", "\u00e9"),
}


class Pinned(SameAnswers):
    """Chooses a given kind for each column, and any range and grid."""

    def __init__(self) -> None:
        super().__init__()
        self.kinds = iter(PINNED)

    def choose(self, scores: Any, scale: float, rule: str) -> int:
        drawn = super().choose(scores, scale, rule)
        if len(scores) == len(CHOICES):
            return CHOICES.index(next(self.kinds))
        return drawn


KNOWN_PART: dict[str, Any] = {
    "when": {"kind": "date", "format": "%d/%m/%Y", "min": "2020-01-01", "max": "2020-12-31"},
    "pay": {"kind": "integer", "format": "$1,234", "min": 0, "max": 9999},
    "part": {"kind": "real", "format": "12.5%", "min": 0, "max": 100},
    "answer": {"kind": "categorical", "values": ["No", "Yes"]},
    "code": {"kind": "categorical", "values": None},
}
OPEN: dict[str, Form | None] = {
    "all": None,
    "words of one column": Form(KNOWN_PART),
    "kinds of two columns": Form({**KNOWN_PART, "when": {"kind": None}, "pay": {"kind": None}}),
}


def exotic(folder: Path, rows: Sequence[Row]) -> Path:
    folder.mkdir()
    lines = [",".join(EXOTIC), *(",".join(row) for row in rows)]
    (folder / "t.csv").write_text("\n".join(lines) + "\n")
    return folder / "t.csv"


@pytest.mark.filterwarnings("ignore::understudy.OwnerWarning")
@pytest.mark.parametrize("open_part", OPEN)
@pytest.mark.parametrize("odd", ODD_EXOTIC.values(), ids=ODD_EXOTIC.keys())
def test_nor_whatever_way_values_are_written_and_whatever_is_open(
    odd: Row, open_part: str, tmp_path: Path
) -> None:
    """Words are not stood in for here: those that occur once are not asked about."""
    found = []
    with mock.patch(f"{__name__}.SameAnswers", Pinned):
        for side, more in (("here", []), ("there", [odd])):
            table = exotic(tmp_path / side, [*EXOTIC_ROWS[:7], *more, *EXOTIC_ROWS[7:]])
            method = Independent(epsilon=1.0, delta=1e-6, keep_going=True)
            found.append(seen(method, table, OPEN[open_part], table.parent))
            kinds = [
                attribute.kind
                for attribute in Schema.from_dict(json.loads(found[-1].model)["schema"])
            ]
            assert kinds[:3] == ["date", "integer", "real"]
    assert found[0] == found[1]


@pytest.mark.parametrize("odd", ODD_EXOTIC.values(), ids=ODD_EXOTIC.keys())
def test_one_row_changes_each_count_by_one_whatever_way_it_is_written(
    odd: Row, tmp_path: Path
) -> None:
    here = exotic(tmp_path / "here", EXOTIC_ROWS)
    there = exotic(tmp_path / "there", [*EXOTIC_ROWS, odd])
    for column in EXOTIC:
        for name, (most, together) in changes(
            tally_of(here, column), tally_of(there, column)
        ).items():
            assert most <= 1, (column, name)
            if name.startswith(("missing", "words", "cells")):
                assert together <= 1, (column, name)


@pytest.mark.filterwarnings("ignore::understudy.OwnerWarning")
def test_a_kind_that_is_read_for_free_would_be_seen(tmp_path: Path) -> None:
    """As it once was: one text among numbers made the column one of words."""
    choose = Discovery._choose_kinds

    def look_at_all(self: Discovery) -> Any:
        kinds = choose(self)
        numbers = all(word.isdigit() for word in self._tallies["age"].words)
        return {**kinds, "age": Kind(format=0) if numbers else Kind()}

    here, there = tmp_path / "here", tmp_path / "there"
    plain = [str(20 + i % 12) for i in range(24)]
    method = Independent(epsilon=1.0, keep_going=True)
    found = []
    with (
        mock.patch.object(ValueFinder, "find_words", _same_words),
        mock.patch.object(Discovery, "_choose_kinds", look_at_all),
    ):
        for folder, ages in ((here, [*plain, "21"]), (there, [*plain, "x", "x"])):
            folder.mkdir()
            (folder / "t.csv").write_text("age\n" + "".join(f"{age}\n" for age in ages))
            found.append(seen(method, folder / "t.csv", None, folder))
    assert found[0] != found[1]


@pytest.mark.parametrize("odd", ODD_ROWS.values(), ids=ODD_ROWS.keys())
def test_nor_does_it_decide_whether_a_release_stops(odd: Row, tmp_path: Path) -> None:
    said = []
    for table in neighbours_of("add_remove", odd, tmp_path):
        with pytest.raises(InputError) as stop:
            Independent(epsilon=1.0).fit(table, noise=SameAnswers(), notify=lambda _: None)
        said.append(str(stop.value).replace(str(table), "t.csv"))
    assert said[0] == said[1]
    assert "too few rows" in said[0]


# --------------------------------------------------------------------------- the command line

JOBS = {
    "independent": ["--method", "independent"],
    "privbayes": ["--rows", "30"],
    "as many rows as there are": [],
    "marginals": ["--method", "marginals", "--marginal", "age,sex"],
    "perturbed histogram": ["--method", "perturbed-histogram", "--rows", "30"],
    "smoothed histogram": ["--method", "smoothed-histogram"],
    "correlated": ["--method", "correlated", "--degree", "1"],
    "paper": ["--paper", "--epsilon", "4"],
    "binary": ["--attribute-encoding", "binary"],
    "delta": ["--delta", "1e-6"],
    "random": ["--method", "random", "--rows", "9"],
    "person": ["--person", "who", "--rows-per-person", "2"],
    "too large a degree": ["--degree", "20"],
    "no such column": ["--person", "nobody"],
}


FILES = [
    "--schema",
    "s.json",
    "--model",
    "m.json",
    "--report",
    "r.html",
    "-o",
    "o.csv",
    "--seed",
    "1",
]


def outcome(options: Sequence[str], table: Path) -> tuple[Any, ...]:
    """All that anybody but the owner sees of a command."""
    with contextlib.chdir(table.parent):
        SCHEMA.save("s.json")
        with contextlib.ExitStack() as doors:
            for module in (understudy.privacy.curator, understudy.privacy.refinement):
                doors.enter_context(mock.patch.object(module, "SystemNoise", SameAnswers))
            ran = run("synthesize", "t.csv", *FILES, *options)
        files = [path for path in sorted(Path().iterdir()) if path.name != "t.csv"]
        left = {path.name: path.read_bytes() for path in files}
    private = ("note (for you, not for release)", "  ")  # a note may be a table, indented
    spoken = [line for line in ran.err.splitlines() if not line.startswith(private)]
    return ran.status, ran.out, spoken, left


@pytest.fixture(scope="module")
def outcome_without(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Any, ...]]:
    """What is seen of a command on the table without any odd row."""

    @cache
    def look(job: str) -> tuple[Any, ...]:
        table = tmp_path_factory.mktemp("without") / "t.csv"
        return outcome(JOBS[job], written(table, plain_rows()))

    return look


@pytest.mark.parametrize("odd", ODD_ROWS.values(), ids=ODD_ROWS.keys())
@pytest.mark.parametrize("job", JOBS)
def test_the_whole_command_looks_the_same_from_outside(
    job: str, odd: Row, tmp_path: Path, outcome_without: Callable[[str], tuple[Any, ...]]
) -> None:
    options = JOBS[job]
    relation = "replace" if "--paper" in options else "add_remove"
    _, there = neighbours_of(relation, odd, tmp_path)
    found = outcome(options, there)
    assert found == outcome_without(job)
    assert found[0] == (2 if {"20", "nobody"} & set(options) else 0)
