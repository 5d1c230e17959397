"""Transcripts: which noise was added to what, at which price, and what came of it.

A job is run with repeatable noise that keeps a line of every draw: its distribution, its scale, and
a checksum of the exact numbers to which it was added. With the debits before it and the result it
is compared with a file of tests/golden/transcripts. A wrong scale, price, split, sensitivity or
order of questions shows there, wherever in the code it comes from. Where a change is meant,
``UNDERSTUDY_WRITE_TRANSCRIPTS=1`` writes the files again, and the difference is what to look at.
"""

from __future__ import annotations

import importlib
import inspect
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import SeededNoise

FOLDER = Path(__file__).parent / "golden" / "transcripts"


class RecordedNoise(SeededNoise):
    """Repeatable noise, with a line of each draw."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.lines: list[str] = []

    def laplace(self, counts: Any, scale: float) -> Any:
        self._note("laplace", scale, counts)
        return super().laplace(counts, scale)

    def gaussian(self, counts: Any, scale: float) -> Any:
        self._note("gaussian", scale, counts)
        return super().gaussian(counts, scale)

    def choose(self, scores: Any, scale: float, rule: Any) -> int:
        place = super().choose(scores, scale, rule)
        low, high = show(float(np.min(scores))), show(float(np.max(scores)))
        self.lines.append(
            f"{rule} choice of {len(scores)}, scale {show(scale)}, {low} to {high}: {place}"
        )
        return place

    def draw(self, counts: Any, draws: int, smoothing: Fraction) -> Any:
        self._note(f"{draws} draws", float(smoothing), counts)
        return super().draw(counts, draws, smoothing)

    def sample(self, rows: int, rate: Fraction) -> Any:
        self.lines.append(f"sample of {rows} rows, rate {rate}")
        return super().sample(rows, rate)

    def _note(self, kind: str, scale: float, counts: Any) -> None:
        exact = zlib.crc32(np.ascontiguousarray(counts, dtype="<i8").tobytes())
        self.lines.append(f"{kind}, scale {show(scale)}, added to {counts.shape} {exact:08x}")


def show(value: Any) -> str:
    """A value, with as many digits as every machine agrees on."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {show(value[key])}" for key in value) + "}"
    if isinstance(value, np.ndarray):
        return show(value.tolist())
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(show, value)) + "]"
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    return str(value)


def digest(value: Any) -> str:
    """Of what is too long to show."""
    return f"{zlib.crc32(show(value).encode()):08x}"


def list_defaults(*modules: str) -> list[str]:
    """What whoever says nothing gets: the parameters with defaults of the classes and functions of
    modules, and of the methods of these classes.
    """
    lines = []
    for module in map(importlib.import_module, modules):
        public = getattr(module, "__all__", ())
        for name, thing in sorted(vars(module).items()):
            own = name in public or getattr(thing, "__module__", "") == module.__name__
            if not own or not callable(thing):
                continue
            lines += _defaults_of(name, thing)
            for method, inner in sorted(vars(thing).items()) if isinstance(thing, type) else ():
                inner = getattr(inner, "__func__", inner)
                if not method.startswith("_") and inspect.isfunction(inner):
                    lines += _defaults_of(f"{name}.{method}", inner)
    return list(dict.fromkeys(lines))


def _defaults_of(name: str, thing: Any) -> list[str]:
    try:
        parameters = inspect.signature(thing).parameters.values()
    except ValueError:
        return []
    told = []
    for each in parameters:
        if isinstance(each.default, bool | int | float | str | tuple | None):
            told.append(f"{each.name}={show(each.default)}")
    return [f"{name}: {', '.join(told)}"] if told else []


@contextmanager
def record(seed: int = 0) -> Iterator[RecordedNoise]:
    """Noise to run a job with; what any ledger is asked to pay is written between its draws."""
    noise, debit_all = RecordedNoise(seed), Ledger.debit_all

    def debit(self: Ledger, questions: Any, delta: float = 0.0) -> None:
        asked = list(questions)
        for question, cost, mechanism in asked:
            price = f"{show(cost.amount)} {cost.currency}, delta {show(delta)}"
            noise.lines.append(f"debit {price}: {question}; {mechanism}")
        debit_all(self, asked, delta)

    with mock.patch.object(Ledger, "debit_all", debit):
        yield noise


def compare(name: str, lines: Iterable[str]) -> None:
    """Compare a transcript with its file, or write it."""
    text = "".join(f"{line}\n" for line in lines)
    path = FOLDER / f"{name}.txt"
    if os.environ.get("UNDERSTUDY_WRITE_TRANSCRIPTS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text.splitlines() == path.read_text(encoding="utf-8").splitlines()
