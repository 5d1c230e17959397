"""``understudy synthesize`` into folders and databases' worth of rows: as ``understudy sample``
does from the model.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from running import run

SCHEMA = """{"attributes": {
    "age": {"kind": "integer", "min": 0, "max": 99},
    "sex": {"kind": "categorical", "values": ["F", "M"]}
}}"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{i % 90},{'FM'[i % 2]}\n" for i in range(500))
    (tmp_path / "t.csv").write_text(f"age,sex\n{rows}")
    (tmp_path / "s.json").write_text(SCHEMA)
    return tmp_path


SYNTHESIZE = (
    "synthesize",
    "t.csv",
    "--schema",
    "s.json",
    "--method",
    "independent",
    "--seed",
    1,
    "--model",
    "m.json",
)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("options", "files"),
    [
        (("--partitions", 3, "-o", "out"), 3),
        (("--partitions", 2, "-o", "out/"), 2),
        (("-o", "out/"), 1),
    ],
)
def test_a_folder_of_parquet_files(options: tuple[object, ...], files: int, folder: Path) -> None:
    ran = run(*SYNTHESIZE, "--rows", "1e6", *options)
    assert ran.status == 0, ran.err
    assert "Synthetic table: out/" in ran.err
    assert len(list((folder / "out").iterdir())) == files
    assert run("sample", "m.json", "--rows", "1e6", "--seed", 1, "-o", "again.parquet").status == 0
    made, again = (
        duckdb.execute(f"SELECT count(*), sum(hash(age, sex)) FROM '{name}'").fetchall()[0]
        for name in ("out/*.parquet", "again.parquet")
    )
    assert made == again
    assert made is not None
    assert made[0] == 10**6


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--partitions", 3), "Partitions are files in a folder; name one, like -o rows/."),
        (
            ("--partitions", 3, "--to", "postgresql://h/d?table=t"),
            "The rows go to one place: give -o or --to, not both.",
        ),
        (
            ("--partitions", 3, "-o", "full"),
            "The folder full is not empty; empty it, or name another.",
        ),
        (("--rows", "1e99", "-o", "out/"), "'1e99' is not a whole number"),
    ],
)
def test_mistakes_are_found_before_anything_is_spent(
    options: tuple[object, ...], sentence: str, folder: Path
) -> None:
    (folder / "full").mkdir()
    (folder / "full" / "part").touch()
    ran = run(*SYNTHESIZE, *options)
    assert ran.status == 2
    assert sentence in ran.err
    assert not (folder / "m.json").exists()


def test_a_thousand_million_rows_are_not_too_many(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are drawn when they are written, one piece after another; here they are only asked
    for.
    """
    asked: list[tuple[object, ...]] = []
    monkeypatch.setattr(
        "understudy.models.model.Model.write",
        lambda self, *arguments, **_: asked.append(arguments[:2]),
    )
    ran = run(*SYNTHESIZE, "--rows", "1e9", "-o", "out/")
    assert ran.status == 0, ran.err
    assert asked == [("out/", 10**9)]
