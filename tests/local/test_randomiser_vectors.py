"""The test vectors that clients in other languages are held to."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from understudy.local.randomisers import Randomiser, Words
from understudy.machine import plain_first

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
randomiser_vectors = pytest.importorskip("randomiser_vectors")

VECTORS = json.loads((Path(__file__).parent / "randomiser_vectors.json").read_text())["vectors"]


def named(vector: dict[str, Any]) -> str:
    return f"{vector['randomiser']['kind']}-{vector['stream']}"


def test_the_file_is_what_the_tool_writes() -> None:
    assert json.loads(json.dumps(randomiser_vectors.vectors()["vectors"])) == VECTORS


@pytest.mark.parametrize("vector", VECTORS, ids=named)
def test_values_and_bytes_make_the_reports(vector: dict[str, Any]) -> None:
    randomiser = Randomiser.from_dict(vector["randomiser"])
    words = Words.of_bytes(bytes.fromhex(vector["bytes"]))
    assert randomiser.perturb(vector["values"], words).tolist() == vector["reports"]
    assert words.used * 16 == len(vector["bytes"])


def test_compiled_code_makes_the_same_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_first, "WORTH_SECONDS", 0.0)
    for vector in VECTORS:
        padded = bytes.fromhex(vector["bytes"]) + bytes(1 << 16)
        place = 0

        def read(count: int, stream: bytes = padded) -> bytes:
            nonlocal place
            place += count
            return stream[place - count : place]

        randomiser = Randomiser.from_dict(vector["randomiser"])
        assert randomiser.perturb(vector["values"], Words(read)).tolist() == vector["reports"]
