"""Fuzzing of all readers: whatever is in a file or on the command line, the answer is a result or
one clear sentence.

500 inputs for each reader, shared out over its tests, in an ordinary run; ``make fuzz`` sets
UNDERSTUDY_FUZZ=10000.
"""

from __future__ import annotations

import copy
import faulthandler
import gzip
import json
import os
import signal
import string
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from understudy import Model, Schema
from understudy.data.files import read_json
from understudy.data.marginals import Axis
from understudy.data.tables import read_table
from understudy.errors import UnderstudyError
from understudy.models.network import Network, Node
from understudy.models.query.conditions import parse_conditions
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger

EXAMPLES = int(os.environ.get("UNDERSTUDY_FUZZ", "500"))
PATIENCE = 5
"""Seconds of CPU that one input may take."""

WAITING = 60
"""Seconds by the clock: the machine may be busy, but nothing may wait for ever."""


def fuzzed(share: float) -> settings:
    """A reader's inputs are shared out over its tests."""
    return settings(
        max_examples=max(1, round(EXAMPLES * share)),
        deadline=None,
        database=None,
        phases=(Phase.explicit, Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )


class TooSlow(BaseException):
    """Not an Exception, so that nothing swallows it."""


@contextmanager
def refused_or_fine(folder: Path) -> Iterator[None]:
    """A result or a sentence of ours; no other error, no hang, and no file beside the given
    ones.
    """

    def ring(number: int, frame: FrameType | None) -> None:
        faulthandler.dump_traceback()
        raise TooSlow(f"one input took more than {PATIENCE} seconds of CPU, or {WAITING} in all")

    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    timers = {
        signal.SIGPROF: (signal.ITIMER_PROF, PATIENCE),
        signal.SIGALRM: (signal.ITIMER_REAL, WAITING),
    }
    old = {number: signal.signal(number, ring) for number in timers}
    for timer, seconds in timers.values():
        signal.setitimer(timer, seconds)
    try:
        yield
    except UnderstudyError as error:
        sentence = str(error)
        assert sentence.strip()
        assert "Traceback" not in sentence
    finally:
        for number, (timer, _) in timers.items():
            signal.setitimer(timer, 0)
            signal.signal(number, old[number])
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == before


# --------------------------------------- what is thrown at the readers

NASTY_NUMBERS = [
    0,
    -1,
    1,
    2**31,
    2**53,
    2**63,
    2**64,
    10**30,
    10**290,
    0.5,
    1e-320,
    1e308,
    -1e308,
    5e-324,
]
NASTY_WORDS = [
    "",
    " ",
    "\x00",
    "?",
    "NA",
    "null",
    "é",
    "🎭",
    "a" * 300,
    "[text]",
    "%Y-%m-%d",
    "####",
    "2020-01-01",
    "x\ny",
]

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(NASTY_NUMBERS),
    st.sampled_from(NASTY_WORDS),
    st.integers(-1000, 1000),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=12),
)
documents = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=5), st.dictionaries(st.text(max_size=8), inner, max_size=5)
    ),
    max_leaves=25,
)


def places(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where in a document something could be changed."""
    inside: Any = ()
    if isinstance(document, dict):
        inside = document.items()
    elif isinstance(document, list):
        inside = enumerate(document)
    for name, value in inside:
        yield (*path, name)
        yield from places(value, (*path, name))


def mutated(data: st.DataObject, document: Any) -> Any:
    """A valid document with a few places changed, removed, doubled or exchanged."""
    document = copy.deepcopy(document)
    for _ in range(data.draw(st.integers(1, 3))):
        all_places = list(places(document))
        if not all_places:
            break
        *above, last = data.draw(st.sampled_from(all_places))
        holder = document
        for name in above:
            holder = holder[name]
        change = data.draw(
            st.sampled_from(["set", "set", "set", "delete", "double", "copy", "wrap"])
        )
        if change == "delete":
            del holder[last]
        elif change == "double" and isinstance(holder, list):
            holder.append(copy.deepcopy(holder[last]))
        elif change == "copy":
            value = document
            for name in data.draw(st.sampled_from(all_places)):
                try:
                    value = value[name]
                except (KeyError, IndexError, TypeError):
                    break
            holder[last] = copy.deepcopy(value)
        elif change == "wrap":
            holder[last] = [holder[last]]
        else:
            holder[last] = data.draw(documents)
    return document


def mutated_bytes(data: st.DataObject, content: bytes) -> bytes:
    """A valid file with bytes changed, cut, repeated or put in."""
    changed = bytearray(content)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, max(len(changed) - 1, 0)))
        change = data.draw(st.sampled_from(["flip", "cut", "insert", "remove", "repeat"]))
        length = data.draw(st.integers(1, 12))
        if change == "flip" and changed:
            changed[place] ^= data.draw(st.integers(1, 255))
        elif change == "cut":
            del changed[place:]
        elif change == "insert":
            signs = st.sampled_from(
                [
                    b",",
                    b'"',
                    b"\n",
                    b"\r",
                    b"\x00",
                    b"\xff",
                    b";",
                    b"\\",
                    b"1e999",
                    b"'",
                    b"\xef\xbb\xbf",
                ]
            )
            changed[place:place] = data.draw(st.one_of(signs, st.binary(max_size=8)))
        elif change == "remove":
            del changed[place : place + length]
        else:
            changed[place:place] = changed[place : place + length] * data.draw(st.integers(1, 20))
    return bytes(changed)


SCHEMA_DOCUMENT: dict[str, Any] = {
    "attributes": {
        "id": {"kind": "identifier", "pattern": "P-####"},
        "note": {"kind": "text", "replacement": "[text]"},
        "age": {"kind": "integer", "min": 0, "max": 99, "bins": 5, "missing": "?"},
        "dose": {"kind": "real", "edges": [0.0, 0.5, 2.0, 10.0]},
        "born": {"kind": "date", "min": "1900-01-01", "max": "2020-12-31", "bins": 4},
        "seen": {
            "kind": "datetime",
            "min": "2020-01-01",
            "max": "2021-01-01",
            "bins": 3,
            "format": "%Y-%m-%d %H:%M",
        },
        "sex": {"kind": "categorical", "values": ["f", "m"], "other": "x", "missing": ""},
        "grade": {"kind": "categorical", "values": [1, 2, 3], "ordered": True},
        "city": {
            "kind": "categorical",
            "values": ["Rome", "Oslo", "Ulm"],
            "taxonomy": {"south": ["Rome"], "north": ["Oslo", "Ulm"]},
        },
        "smoker": {"kind": "boolean"},
    }
}


def small_model() -> Model:
    """Built by hand: a chain with a parent at a coarser level, and an attribute by itself."""
    schema = Schema.from_dict(
        {
            "attributes": {
                "id": {"kind": "identifier"},
                "age": {"kind": "integer", "min": 0, "max": 39, "bins": 4, "missing": ""},
                "sex": {"kind": "categorical", "values": ["f", "m"]},
                "born": {"kind": "date", "min": "2000-01-01", "max": "2000-12-31", "bins": 2},
                "smoker": {"kind": "boolean"},
            }
        }
    )
    sizes = {a.name: a.sizes_by_level() for a in schema.modelled}
    rng = np.random.default_rng(4)
    nodes = [Node("age", (), rng.uniform(1, 9, sizes["age"][0]), 1.5)]
    for child, parent, level in (
        ("sex", "age", min(1, len(sizes["age"]) - 1)),
        ("smoker", "sex", 0),
        ("born", "sex", 0),
    ):
        table = rng.uniform(0, 9, (sizes[parent][level], sizes[child][0]))
        nodes.append(Node(child, (Axis(parent, level),), table, 1.5))
    ledger = Ledger(1.0)
    ledger.debit("table of age", Budget(0.5), "discrete Laplace, scale 2")
    return Model({"name": "privbayes"}, schema, Network(tuple(nodes)), ledger, 100)


MODEL = small_model()
MODEL_DOCUMENT: dict[str, Any] = json.loads(json.dumps(MODEL.to_dict()))
QUERIES = [
    "count",
    "share where sex = 'f'",
    "mean age where smoker = true and not (sex = 'm' or age < 10)",
    "count where age >= 10 and age < 25.5",
    "count where born >= 2000-03-01",
    "share where age is missing",
    "count where sex in ('f', 'm')",
    "count where age between 3 and 7",
]
CSV = (
    b"id,age,dose,born,sex,smoker\n1,20,0.5,1999-01-01,f,true\n2,?,1.5,2001-02-03,m,false\n"
    b'3,41,,2010-12-31,"f, or ""m""",true\n4,-7,1e3,1970-01-01,x,false\n'
)


# --------------------------------------------------------------------------- schema


@fuzzed(1 / 4)
@given(document=documents)
def test_any_document_as_a_schema(folder_of: Path, document: Any) -> None:
    with refused_or_fine(folder_of):
        Schema.from_dict(document)
    with refused_or_fine(folder_of):
        Schema.from_dict({"attributes": document})
    with refused_or_fine(folder_of):
        Schema.from_dict({"attributes": {"a": document}})


@pytest.mark.thorough
@fuzzed(3 / 4)
@given(data=st.data())
def test_a_mutated_schema(folder_of: Path, data: st.DataObject) -> None:
    document = mutated(data, SCHEMA_DOCUMENT)
    with refused_or_fine(folder_of):
        schema = Schema.from_dict(document)
        # What was accepted can be used: written, read again, and asked for its sizes.
        again = Schema.from_dict(json.loads(json.dumps(schema.to_dict())))
        assert again == schema
        for attribute in schema.modelled:
            assert attribute.size >= 1
            attribute.label(0)
            if attribute.size < 10_000:
                attribute.sizes_by_level()


# --------------------------------------------------------------------------- tables


@fuzzed(1 / 5)
@given(
    content=st.binary(max_size=400), suffix=st.sampled_from([".csv", ".tsv", ".csv.gz", ".parquet"])
)
@pytest.mark.thorough
def test_any_bytes_as_a_table(folder_of: Path, content: bytes, suffix: str) -> None:
    _read(folder_of / f"t{suffix}", content, read_table)


@fuzzed(1 / 5)
@given(
    content=st.text(
        string.ascii_letters[:4] + string.digits[:3] + ",;|\t\n\r\"'-.\x00é ", max_size=200
    )
)
@pytest.mark.thorough
def test_any_text_as_a_table(folder_of: Path, content: str) -> None:
    _read(folder_of / "t.csv", content.encode(), read_table)


@fuzzed(2 / 5)
@given(data=st.data(), packed=st.booleans())
@pytest.mark.thorough
def test_a_mutated_csv_file(folder_of: Path, data: st.DataObject, packed: bool) -> None:
    if packed:
        content = mutated_bytes(data, gzip.compress(CSV, mtime=0))
        if data.draw(st.booleans()):
            content = gzip.compress(mutated_bytes(data, CSV), mtime=0)
        _read(folder_of / "t.csv.gz", content, read_table)
    else:
        _read(folder_of / "t.csv", mutated_bytes(data, CSV), read_table)


@fuzzed(1 / 5)
@given(data=st.data())
@pytest.mark.thorough
def test_a_mutated_parquet_file(folder_of: Path, parquet: bytes, data: st.DataObject) -> None:
    _read(folder_of / "t.parquet", mutated_bytes(data, parquet), read_table)


def _read(path: Path, content: bytes, reader: Callable[[Path], Any]) -> None:
    path.write_bytes(content)
    with refused_or_fine(path.parent):
        reader(path)


# --------------------------------------------------------------------------- models


def used(document: Any) -> None:
    """A model that is accepted can be sampled, asked and written down again."""
    model = Model.from_dict(document)
    json.dumps(model.to_dict())
    model.ledger.statement()
    if sum(node.table.size for node in model.network) < 10_000:
        model.sample(3, seed=1)
        model.query("count")


@pytest.mark.thorough
@fuzzed(1 / 2)
@given(data=st.data())
def test_a_mutated_model(folder_of: Path, data: st.DataObject) -> None:
    document = mutated(data, MODEL_DOCUMENT)
    with refused_or_fine(folder_of):
        used(document)


@fuzzed(1 / 4)
@given(document=documents)
def test_any_document_as_a_model(folder_of: Path, document: Any) -> None:
    with refused_or_fine(folder_of):
        used(document)
    with refused_or_fine(folder_of):
        used({**MODEL_DOCUMENT, "network": document})


@fuzzed(1 / 4)
@given(data=st.data(), packed=st.booleans(), anything=st.booleans())
def test_bytes_as_a_model_file(
    folder_of: Path, data: st.DataObject, packed: bool, anything: bool
) -> None:
    whole = json.dumps(MODEL_DOCUMENT).encode()
    content = data.draw(st.binary(max_size=300)) if anything else mutated_bytes(data, whole)
    if packed:
        content = mutated_bytes(data, gzip.compress(content, mtime=0))
    _read(folder_of / "m.json", content, Model.load)
    _read(folder_of / "m.json", content, lambda path: read_json(path, "schema"))


# ---------------------------------------------- queries and conditions

TOKENS = [
    "count",
    "share",
    "mean",
    "where",
    "and",
    "or",
    "not",
    "in",
    "between",
    "is",
    "missing",
    "(",
    ")",
    ",",
    "=",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "age",
    "sex",
    "born",
    "smoker",
    "id",
    "'f'",
    "'",
    '"',
    "true",
    "1",
    "-3",
    "1e999",
    "2000-03-01",
    "9999999999999999999999",
    "..",
    "|",
    "é",
    "\x00",
    ";",
    "--",
    "nan",
    "inf",
]

queries = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from(TOKENS), max_size=14).map(" ".join),
    st.tuples(st.sampled_from(QUERIES), st.integers(0, 60), st.sampled_from(TOKENS)).map(
        lambda parts: parts[0][: parts[1]] + " " + parts[2] + " " + parts[0][parts[1] :]
    ),
    st.integers(1, 3000).map(lambda depth: "count where " + "(" * depth + "age < 3" + ")" * depth),
    st.integers(1, 3000).map(lambda depth: "count where " + "not " * depth + "age < 3"),
    st.integers(1, 300).map(lambda times: "count where " + " or ".join(["age < 3"] * times)),
)


@fuzzed(1)
@given(query=queries)
@pytest.mark.thorough
def test_any_text_as_a_query(folder_of: Path, query: str) -> None:
    with refused_or_fine(folder_of):
        MODEL.query(query)


@pytest.mark.parametrize("query", QUERIES)
def test_the_queries_that_are_mutated_are_valid_or_refused(folder_of: Path, query: str) -> None:
    with refused_or_fine(folder_of):
        MODEL.query(query)


names = st.one_of(
    st.sampled_from(["age", "sex", "born", "smoker", "id", "nobody", ""]), st.text(max_size=5)
)
endpoints = st.one_of(
    scalars, st.floats(), st.dates(), st.sampled_from(["f", "m", "2000-03-01", "10", "true"])
)
wanted = st.one_of(
    endpoints,
    st.tuples(endpoints, endpoints),
    st.lists(endpoints, max_size=4),
    st.tuples(endpoints),
    st.dictionaries(st.text(max_size=3), endpoints, max_size=2),
)


@fuzzed(1 / 2)
@given(
    conditions=st.dictionaries(names, wanted, max_size=3),
    how=st.sampled_from(["exact", "weighting", "other"]),
)
@pytest.mark.thorough
def test_any_conditions(folder_of: Path, conditions: dict[str, Any], how: Any) -> None:
    with refused_or_fine(folder_of):
        MODEL.sample(2, seed=1, given=conditions, method=how)


texts = st.one_of(
    st.text(max_size=20),
    st.tuples(
        names,
        st.sampled_from(["=", "==", "", "!"]),
        st.lists(st.sampled_from([*TOKENS, *NASTY_WORDS]), max_size=4),
    ).map(lambda parts: parts[0] + parts[1] + "".join(parts[2])),
)


@fuzzed(1 / 2)
@given(conditions=st.lists(texts, max_size=3))
@pytest.mark.thorough
def test_any_conditions_on_the_command_line(folder_of: Path, conditions: list[str]) -> None:
    with refused_or_fine(folder_of):
        MODEL.sample(2, seed=1, given=parse_conditions(conditions, MODEL.schema))


# ------------------------------------ fixtures that outlive an example


@pytest.fixture(scope="module")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A working directory of its own, so that a file written by a relative name would be seen."""
    place = tmp_path_factory.mktemp("fuzz")
    home = Path.cwd()
    os.chdir(place)
    yield place
    os.chdir(home)


@pytest.fixture(scope="module")
def parquet(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    place = tmp_path_factory.mktemp("parquet")
    (place / "t.csv").write_bytes(CSV)
    read_table(place / "t.csv").write(place / "t.parquet")
    return (place / "t.parquet").read_bytes()
