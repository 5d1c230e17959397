"""Collecting: any order, any files; what is no report of the plan is counted by its reason."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from surveys import KINDS_OF_ANSWERS, codes_of, plan_of_all_kinds, small_plan

from understudy import InputError
from understudy.local import collecting
from understudy.local.answering import answer_for_all
from understudy.local.collected import Collected, ReportTally
from understudy.local.collecting import Collector, collect_reports
from understudy.local.plans import CollectionPlan
from understudy.local.report_files import report_files
from understudy.local.reports import REASONS, Batch, write_reports
from understudy.local.spool import Spool
from understudy.local.tokens import Tokens, make_tokens

PLAN = plan_of_all_kinds((2.0, 0.5))


@pytest.fixture(scope="module")
def batches() -> list[Batch]:
    return answer_for_all(PLAN, codes_of(3_000), levels=np.arange(3_000) % 2)


@pytest.fixture(scope="module")
def lines(batches: list[Batch]) -> list[str]:
    return [line for batch in batches for line in batch.lines()]


@pytest.fixture(scope="module")
def counted(batches: list[Batch]) -> Collected:
    """What must come out, straight from the arrays."""
    tallies = {
        (batch.question, batch.level): ReportTally.of(
            PLAN.questions[batch.question].randomisers[batch.level], batch.answers
        )
        for batch in batches
    }
    return Collected(plan=PLAN, tallies=tallies)


def collect(
    *lines: str | bytes, plan: CollectionPlan = PLAN, tokens: Tokens | None = None
) -> Collected:
    whole = b"\n".join(line.encode() if isinstance(line, str) else line for line in lines)
    with Collector(plan, tokens) as collector:
        collector.read_lines(io.BytesIO(whole))
        return collector.finish()


def test_every_kind_of_report_is_counted(lines: list[str], counted: Collected) -> None:
    collected = collect(*lines)
    assert collected.rejected == {}
    assert collected.to_dict() == counted.to_dict()
    kinds = {one.kind for q in PLAN.questions for one in q.randomisers}
    assert kinds == set(KINDS_OF_ANSWERS)


def test_order_files_and_formats_make_no_difference(
    batches: list[Batch], lines: list[str], counted: Collected, tmp_path: Path
) -> None:
    shuffled = random.Random(0).sample(lines, len(lines))
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "a.jsonl").write_text("\n".join(shuffled[:1000]))
    (tmp_path / "in" / "b.ndjson").write_text("\r\n".join(shuffled[1000:1500]) + "\r\n\r\n")
    with gzip.open(tmp_path / "in" / "deep" / "c.jsonl.gz", "wt") as packed:
        packed.write("\n".join(json.dumps(json.loads(line)) for line in shuffled[1500:]))
    (tmp_path / "notes.txt").write_text("not reports")
    (tmp_path / ".hidden.jsonl").write_text("not reports")
    assert collect_reports(PLAN, [tmp_path]).to_dict() == counted.to_dict()
    parquet = tmp_path / "all.parquet"
    assert write_reports(parquet, batches) == 3_000
    assert collect_reports(PLAN, [parquet, parquet]).to_dict() == counted.to_dict()


def test_collections_add_up_exactly(lines: list[str], counted: Collected, tmp_path: Path) -> None:
    parts = [collect(*lines[start::3], "junk") for start in range(3)]
    parts[0].save(tmp_path / "tables.json")
    whole = Collected.load(tmp_path / "tables.json") + (parts[2] + parts[1])
    assert whole.to_dict()["tables"] == counted.to_dict()["tables"]
    assert whole.rejected == {"junk": 3}


def changed(line: str, **fields: Any) -> str:
    document = {**json.loads(line), **fields}
    return json.dumps({name: value for name, value in document.items() if value is not ...})


@pytest.mark.parametrize(
    ("reason", "fields"),
    [
        ("other version", {"v": 2}),
        ("other version", {"v": "1"}),
        ("other version", {"v": True}),
        ("junk", {"v": ...}),
        ("other plan", {"p": "0" * 16}),
        ("junk", {"p": 7}),
        ("other plan", {"p": "é" * 16}),
        ("no such question", {"q": len(PLAN.questions)}),
        ("no such question", {"q": -1}),
        ("no such question", {"q": 1e9}),
        ("no such question", {"q": "0"}),
        ("no such question", {"q": 10**30}),
        ("no level", {"e": ...}),
        ("no such level", {"e": 2}),
        ("no such level", {"e": None}),
        ("impossible answer", {"r": "2"}),
        ("impossible answer", {"r": "01"}),
        ("impossible answer", {"r": "-1"}),
        ("impossible answer", {"r": "0.0"}),
        ("impossible answer", {"r": ""}),
        ("impossible answer", {"r": "é"}),
        ("impossible answer", {"r": "f" * 500}),
        ("junk", {"r": 1}),
        ("truncated", {"n": "abc"}),
        ("truncated", {"n": 5}),
        ("junk", {"n": "g" * 32}),
        ("junk", {"n": "ab" * 17}),
        ("junk", {"surprise": 1}),
    ],
)
def test_a_report_that_cannot_be_is_counted_by_its_reason(
    reason: str, fields: dict[str, Any]
) -> None:
    plan = small_plan(questions=(small_plan().questions[0],), epsilons=(2.0,))
    if "q" in fields or "e" in fields:
        plan = PLAN
    number = f"{7:032x}"
    good = f'{{"v":1,"p":"{plan.id}","q":0,"e":0,"r":"1","n":"{number}"}}'
    if plan is PLAN:
        place = next(i for i, q in enumerate(PLAN.questions) if q.size == 2)
        good = good.replace('"q":0', f'"q":{place}')
    assert collect(good, plan=plan).reports == 1
    collected = collect(changed(good, **fields), plan=plan)
    assert (collected.reports, collected.rejected) == (0, {reason: 1})
    assert reason in REASONS


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"junk", "junk"),
        (b"[1, 2]", "junk"),
        (b"null", "junk"),
        (b"\xff\xfe\x00", "junk"),
        (b'{"v":1', "truncated"),
        (b"[" * 100_000, "junk"),
        (b'{"a":' * 100_000, "truncated"),
        (b'{"v": NaN}', "other version"),
        (b'{"v": ' + b"9" * 5_000 + b"}", "junk"),
    ],
)
def test_junk_is_counted(line: bytes, reason: str) -> None:
    assert collect(line).rejected == {reason: 1}


def test_a_line_without_end_takes_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collecting, "CHUNK_BYTES", 1_000)
    monkeypatch.setattr(collecting, "MAX_LINE_BYTES", 500)
    plan = small_plan()
    good = [f'{{"v":1,"p":"{plan.id}","q":0,"e":0,"r":"1","n":"{n:032x}"}}' for n in range(40)]
    collected = collect(*good[:20], b"x" * 5_000, *good[20:], b"y" * 2_500, plan=plan)
    assert collected.reports == 40
    assert collected.rejected == {"too long": 2}


def test_every_cut_of_a_report_is_counted(lines: list[str]) -> None:
    line = lines[0]
    for end in range(1, len(line)):
        assert collect(line[:end]).rejected == {"truncated": 1}


def test_what_comes_twice_counts_once(lines: list[str], counted: Collected) -> None:
    twice = random.Random(1).sample([*lines, *lines[:100], *lines[:50]], len(lines) + 150)
    collected = collect(*twice)
    assert collected.to_dict()["tables"] == counted.to_dict()["tables"]
    assert collected.rejected == {"duplicated": 150}


def test_reports_that_share_a_number_and_differ_do_not_count() -> None:
    plan = small_plan()
    line = '{{"v":1,"p":"{}","q":{},"e":0,"r":"{}","n":"{:032x}"}}'
    kept = [line.format(plan.id, 0, 1, number) for number in (1, 2)]
    clash = [line.format(plan.id, 0, r, 3) for r in (0, 1, 1)] + [line.format(plan.id, 2, 1, 3)]
    for order in (0, 1, 2):
        mixed = random.Random(order).sample([*kept, *clash, kept[0]], 7)
        collected = collect(*mixed, plan=plan)
        assert collected.reports == 2
        assert collected.rejected == {"conflicting": 4, "duplicated": 1}


def test_spilling_to_disk_makes_no_difference(
    lines: list[str], counted: Collected, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(collecting, "CHUNK_BYTES", 20_000)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with Collector(PLAN) as collector:
        collector._spool = Spool(collector._spool.type["answer"].shape[0], max_waiting=300)
        collector.read_lines(io.BytesIO("\n".join([*lines, *lines[:40]]).encode()))
        assert any(tmp_path.iterdir())
        collected = collector.finish()
    assert collected.to_dict()["tables"] == counted.to_dict()["tables"]
    assert collected.rejected == {"duplicated": 40}
    assert not any(tmp_path.iterdir())


@given(st.data())
def test_no_line_stops_a_collection(data: st.DataObject) -> None:
    """However a line was made, it counts or is told by its reason."""
    plan = small_plan()
    line = f'{{"v":1,"p":"{plan.id}","q":0,"e":0,"r":"1","n":"{"0" * 32}"}}'
    made = []
    for _ in range(data.draw(st.integers(1, 6))):
        text = bytearray(line.encode())
        for _ in range(data.draw(st.integers(0, 4))):
            place = data.draw(st.integers(0, len(text) - 1))
            text[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
        made.append(bytes(text))
    whole = b"\n".join(made)
    with Collector(plan) as collector:
        collector.read_lines(io.BytesIO(whole))
        collected = collector.finish()
    there = sum(bool(one.strip()) for one in whole.split(b"\n"))
    assert collected.reports + sum(collected.rejected.values()) == there


def test_files_that_cannot_be_read_are_counted(lines: list[str], tmp_path: Path) -> None:
    (tmp_path / "good.jsonl").write_text("\n".join(lines))
    (tmp_path / "a.parquet").write_bytes(b"PAR1 not really")
    packed = gzip.compress(("\n".join(lines[:50])).encode())
    (tmp_path / "b.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    (tmp_path / "c.jsonl.gz").write_bytes(b"no gzip")
    collected = collect_reports(PLAN, [tmp_path])
    assert collected.reports == 3_000
    assert collected.rejected["unreadable file"] == 3


def test_parquet_rows_are_believed_no_more_than_lines(tmp_path: Path) -> None:
    import duckdb

    plan = small_plan()
    path = tmp_path / "odd.parquet"
    good = f"1, '{plan.id}', 0, 0, '1'"
    rows = [
        f"({good}, '{1:032x}', '')",
        f"({good}, '{1:032x}', NULL)",
        f"(1, '{plan.id}', 0, NULL, '1', '{2:032x}', '')",
        f"(2, '{plan.id}', 0, 0, '1', '{3:032x}', '')",
        f"(1, '{plan.id}', 0, 0, NULL, '{4:032x}', '')",
        f"(1, '{plan.id}', -5, 0, '1', '{5:032x}', '')",
        f"({good}, 'x\"}}\n{{', '')",
        f"(1, NULL, 0, 0, '1', '{6:032x}', '')",
        f"({good}, '{7:032x}', 'x')",
    ]
    names = "version, plan, question, level, report, number, token"
    duckdb.sql(f"COPY (FROM (VALUES {', '.join(rows)}) AS t({names})) TO '{path}'")
    collected = collect_reports(plan, [path])
    assert collected.reports == 1
    assert collected.rejected == {
        **{"duplicated": 1, "no level": 1, "other version": 1, "truncated": 2, "junk": 2},
        "no such question": 1,
    }
    other = tmp_path / "other.parquet"
    duckdb.sql(f"COPY (SELECT 1 AS a) TO '{other}'")
    assert collect_reports(plan, [other]).rejected == {"unreadable file": 1}


def test_a_place_without_reports_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no reports"):
        report_files([tmp_path])
    with pytest.raises(InputError, match="no reports at"):
        report_files([tmp_path / "nothing"])


def test_tokens_count_once_and_only_those_given_out(tmp_path: Path) -> None:
    plan = small_plan()
    given_out = make_tokens(3)
    Tokens.of(given_out).save(tmp_path / "tokens.json")
    assert given_out[0] not in (tmp_path / "tokens.json").read_text()
    line = '{{"v":1,"p":"{}","q":0,"e":0,"r":"1","n":"{}"}}'
    sent = [line.format(plan.id, token) for token in (*given_out[:2], given_out[0], "f" * 32)]
    collected = collect(*sent, plan=plan, tokens=Tokens.load(tmp_path / "tokens.json"))
    assert (collected.reports, collected.rejected) == (2, {"duplicated": 1, "no token": 1})


def test_reports_of_an_earlier_wave_count_for_its_questions_only() -> None:
    first = small_plan()
    second = first.next_wave([small_plan().questions[0]])
    line = '{{"v":1,"p":"{}","q":{},"e":0,"r":"1","n":"{:032x}"}}'
    sent = [
        line.format(plan, question, number)
        for number, (plan, question) in enumerate(
            [(first.id, 0), (first.id, 3), (second.id, 3), (second.id, 0)]
        )
    ]
    collected = collect(*sent, plan=second)
    assert sorted(collected.tallies) == [(0, 0), (3, 0)]
    assert collected.rejected == {"no such question": 2}
    alone = collect(sent[0], plan=first)
    assert (alone + collect(sent[2], plan=second)).to_dict()["tables"] == (
        collected.to_dict()["tables"]
    )


@pytest.mark.thorough
def test_a_million_reports_and_a_million_junk_lines(tmp_path: Path) -> None:
    """That they are counted; how long it takes, a benchmark says."""
    plan = small_plan()
    batches = answer_for_all(plan, codes_of(1_000_000))
    write_reports(tmp_path / "good.jsonl", batches)
    with (tmp_path / "junk.jsonl").open("wb") as file:
        for _ in range(10):
            noise = os.urandom(2_000_000).replace(b"\n", b" ").replace(b"\r", b" ")
            file.write(b"".join(b"x" + noise[i : i + 20] + b"\n" for i in range(0, 2_000_000, 20)))
    collected = collect_reports(plan, [tmp_path])
    assert collected.reports == 1_000_000
    assert collected.rejected == {"junk": 1_000_000}


@pytest.mark.parametrize("pattern", ["first", "second", "both", "cancelling"])
def test_nobody_can_choose_numbers_that_fill_one_part(pattern: str) -> None:
    """Whatever relation numbers have, a secret hash spreads them: of 64 parts none gets a quarter.
    For the test to fail by chance, 16 secrets would have to be unlucky at once. Nothing waits when
    the parts are asked for: the last records were written, too.
    """
    counted = np.arange(4_096, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    numbers = np.zeros((len(counted), 2), dtype=np.uint64)
    numbers[:, 0] = counted * np.uint64(3 if pattern == "cancelling" else pattern != "second")
    numbers[:, 1] = counted * np.uint64(pattern != "first")
    largest = []
    for _ in range(16):
        with Spool(1, max_waiting=0) as spool:
            records = np.zeros(len(numbers), dtype=spool.type)
            records["number"] = numbers
            spool.add(records)
            largest.append(max(map(len, spool.parts())))
    assert min(largest) < len(numbers) // 4
