"""A studio that runs, for tests: a made-up table, a server on loopback."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from understudy.hub.studio.choices import Places
from understudy.hub.studio.serving import StudioServer
from understudy.hub.studio.session import Studio

SECRET = "Zaphod-Beeblebrox"
"""Stands in a cell of the table: no page of the interview may show it."""


def write_patients(path: Path, rows: int = 600) -> Path:
    rng = random.Random(7)
    lines = ["patient_id,age,sex,smoker,score_1,score_2,note"]
    for number in range(rows):
        age, sick = rng.randint(20, 90), rng.random() < 0.3
        sex, smoker = rng.choice("MF"), "yes" if sick else "no"
        lines.append(
            f"{number},{age},{sex},{smoker},{rng.randint(0, 5)},{rng.randint(0, 5)},{SECRET}"
        )
    path.write_text("\n".join(lines) + "\n")
    return path


def write_wide(path: Path, columns: int = 100) -> Path:
    names = [f"item_{n}" for n in range(columns - 3)] + ["age", "birth_date", "country"]
    rows = [",".join(["3"] * (columns - 3) + ["44", "1980-02-03", "IE"]) for _ in range(50)]
    path.write_text("\n".join([",".join(names), *rows]) + "\n")
    return path


def make_studio(folder: Path, table: Path | None = None, **options: Any) -> Studio:
    table = table or write_patients(folder / "patients.csv")
    return Studio(Places(table=str(table), folder=folder / "out", **options))


@contextmanager
def serve(studio: Studio) -> Iterator[StudioServer]:
    server = StudioServer(studio)
    thread = server.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join(10)
