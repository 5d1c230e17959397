"""JSON files that may be hostile, and files that are written whole or not at all."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from understudy import InputError
from understudy.data import files
from understudy.data.files import (
    existing_file,
    read_json,
    writable_file,
    write_json,
    write_text,
    write_whole,
)

HOSTILE: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "not valid JSON"),
    "deep nesting of lists": (b"[" * 200_000, "nested too deeply"),
    "deep nesting of objects": (b'{"a":' * 200_000, "nested too deeply"),
    "deep nesting, closed": (b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
    "NaN": (b'{"a": NaN}', "NaN"),
    "infinity": (b'{"a": Infinity}', "Infinity"),
    "minus infinity": (b'{"a": -Infinity}', "-Infinity"),
    "infinity in disguise": (b'{"a": 1e999}', "1e999"),
    "a number of very many digits": (b'{"a": ' + b"9" * 10_000 + b"}", "digits"),
    "a key twice": (b'{"a": 1, "b": {"c": 1, "c": 2}}', "'c' appears twice"),
    "half a character": (b'{"a": "\\ud800"}', "half a character"),
    "half a character in a name": (b'{"\\udfff": 1}', "half a character"),
    "not UTF-8": (b'{"a": "\xff"}', "not UTF-8"),
    "UTF-16": ('{"a": 1}'.encode("utf-16"), "not UTF-8"),
    "cut short": (b'{"a": [1, 2', "not valid JSON at line 1"),
    "two documents": (b"{} {}", "not valid JSON"),
    "Python": (b"__import__('os').system('true')", "not valid JSON"),
    "single quotes": (b"{'a': 1}", "not valid JSON"),
    "gzip cut short": (
        gzip.compress(b'{"a": "' + b"x" * 5000 + b'"}')[:-12],
        "damaged or cut short",
    ),
    "gzip with a broken middle": (
        gzip.compress(bytes(range(256)) * 9)[:40] + b"\x00" * 40,
        "cannot be read",
    ),
    "gzip with a wrong check sum": (gzip.compress(b"{}")[:-8] + b"\x00" * 8, "cannot be read"),
    "gzip of something else": (gzip.compress(b"\xff\xfe"), "not UTF-8"),
    "only the beginning of a gzip": (b"\x1f\x8b", "damaged or cut short"),
}


@pytest.mark.parametrize(("content", "cause"), HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_document_is_refused_in_a_sentence_that_names_it(
    tmp_path: Path, content: bytes, cause: str
) -> None:
    path = tmp_path / "m.json"
    path.write_bytes(content)
    with pytest.raises(InputError) as refusal:
        read_json(path, "model")
    assert str(refusal.value).startswith(f"The model {path} ")
    assert cause in str(refusal.value)


@pytest.mark.parametrize("packed", [False, True])
def test_no_more_than_the_limit_is_ever_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bool
) -> None:
    monkeypatch.setattr(files, "MAX_DOCUMENT_BYTES", 1 << 20)
    bomb = b" " * (1 << 24) + b"{}"
    path = tmp_path / "m.json"
    path.write_bytes(gzip.compress(bomb) if packed else bomb)
    read: list[int] = []
    genuine = gzip.GzipFile.read

    def counted(self: Any, size: int | None = -1) -> bytes:
        data = genuine(self, size)
        read.append(len(data))
        return data

    monkeypatch.setattr(gzip.GzipFile, "read", counted)
    with pytest.raises(InputError, match="larger than 1 MB"):
        read_json(path, "model")
    assert sum(read) <= (1 << 20) + 1


@pytest.mark.parametrize(
    "document",
    [{}, {"a": [1, 2.5, None, True, "ü ☃ 😀", {"b": {}}]}, [], "text", 10**20, {"\u2028": "\x00"}],
)
@pytest.mark.parametrize("name", ["m.json", "m.json.gz"])
def test_a_document_survives_being_written_and_read(
    tmp_path: Path, document: Any, name: str
) -> None:
    write_json(tmp_path / name, document, "model")
    assert read_json(tmp_path / name, "model") == document
    assert (tmp_path / name).read_bytes().startswith(b"\x1f\x8b") == name.endswith(".gz")
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_large_document_is_packed_and_the_same_bytes_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "GZIP_ABOVE", 100)
    for name in ("a.json", "b.json"):
        write_json(tmp_path / name, list(range(100)), "model")
    assert (tmp_path / "a.json").read_bytes()[:2] == b"\x1f\x8b"
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert read_json(tmp_path / "a.json", "model") == list(range(100))


def test_a_document_with_numbers_that_are_none_is_never_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "m.json", {"a": float("nan")}, "model")
    assert list(tmp_path.iterdir()) == []


# --------------------------------------------------------------------------- whole or not at all


def test_a_writer_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text("before")

    def fail() -> None:
        with write_whole(path) as beside:
            beside.write_text("aft")
            assert path.read_text() == "before"
            raise RuntimeError("half-way")

    with pytest.raises(RuntimeError, match="half-way"):
        fail()
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {"m.json": "before"}


def test_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    with (
        pytest.raises(InputError, match=r"No space left on device\); nothing was left there"),
        write_whole(path),
    ):
        raise OSError(28, "No space left on device")
    assert list(tmp_path.iterdir()) == []


def test_the_name_beside_keeps_the_suffixes_and_the_folder(tmp_path: Path) -> None:
    with write_whole(tmp_path / "t.csv.gz") as beside:
        assert beside.name.endswith(".csv.gz")
        assert beside.parent == tmp_path
        beside.touch()
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv.gz"]


def test_text_is_written_as_utf8(tmp_path: Path) -> None:
    write_text(tmp_path / "r.html", "ü ☃", "report")
    assert (tmp_path / "r.html").read_bytes() == "ü ☃".encode()


@pytest.mark.parametrize("where", ["", "missing/m.json", "x" * 300])
def test_a_place_where_no_file_can_be_is_refused_and_left_alone(tmp_path: Path, where: str) -> None:
    with pytest.raises(InputError, match="The model cannot be written to"):
        writable_file(tmp_path / where, "model")
    assert list(tmp_path.iterdir()) == []


def test_trying_a_place_out_leaves_nothing_there(tmp_path: Path) -> None:
    assert writable_file(tmp_path / "m.json", "model") == tmp_path / "m.json"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("where", "cause"),
    [("", "is a folder"), ("missing.json", "There is no model at"), ("x" * 300, "too long")],
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, where: str, cause: str) -> None:
    with pytest.raises(InputError, match=cause):
        existing_file(tmp_path / where, "model")
    with pytest.raises(InputError, match=cause):
        read_json(tmp_path / where, "model")


def test_json_of_a_schema_can_be_read_by_people(tmp_path: Path) -> None:
    write_json(
        tmp_path / "s.json", {"attributes": {"größe": {"kind": "boolean"}}}, "schema", indent=2
    )
    text = (tmp_path / "s.json").read_text()
    assert '    "größe": {' in text
    assert json.loads(text)
