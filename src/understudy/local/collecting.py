"""Collecting reports: in a stream, in any order, from many files; what is no report is counted.

A collector believes nothing. A line that is not a report of this plan is counted by its reason and
left out; no line, however made, stops a collection. What it cannot find out is whether a possible
report was randomised as the plan says: how far such forgeries can move an estimate is bounded in
:mod:`understudy.local.poisoning`.
"""

from __future__ import annotations

import gzip
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.data.sql import literal, new_engine
from understudy.errors import InputError
from understudy.local.blind_tokens import TokenIssuer
from understudy.local.collected import Collected, ReportTally
from understudy.local.plans import CollectionPlan
from understudy.local.report_files import report_files
from understudy.local.reports import (
    NUMBER_BYTES,
    REPORT_COLUMNS,
    REPORT_LINE,
    REPORT_VERSION,
    Rejection,
    read_line,
)
from understudy.local.spool import Spool
from understudy.local.tokens import Tokens

CHUNK_BYTES = 1 << 22
MAX_LINE_BYTES = 1 << 20
MAX_NUMBER = (1 << 63) - 1

ROWS_PER_PASS = 50_000

_LINE_OF_ROW = (
    """'{"v":1,"p":"' || plan || '","q":' || question || ',"e":' || level"""
    """ || ',"r":"' || report || '","n":"' || number || '"'"""
    """ || CASE WHEN token = '' THEN '' ELSE ',"t":"' || token || '"' END || '}'"""
)
_IN_FORM = (
    f"version = '{REPORT_VERSION}' AND regexp_full_match(plan, '[0-9a-f]{{16}}') "
    "AND regexp_full_match(question, '[0-9]{1,6}') AND regexp_full_match(level, '[0-9]{1,2}') "
    "AND regexp_full_match(report, '[0-9a-f.]+') AND regexp_full_match(number, '[0-9a-f]{32}') "
    "AND regexp_full_match(token, '([0-9a-f]{32})?')"
)


class ReportColumns(NamedTuple):
    """Reports side by side: the fields of each, as they were read."""

    plans: Sequence[Any]
    questions: Sequence[Any]
    levels: Sequence[Any]
    answers: Sequence[Any]
    numbers: Sequence[Any]
    tokens: Sequence[Any]


class Collector:
    """Adds reports up.

    Parameters
    ----------
    plan
        What was asked; reports of its earlier waves count as well.
    tokens
        Where a survey has given out one-use tokens: which they are, or who has issued them.
    checked
        Whether tokens were checked when the reports arrived, as a hub does.
    """

    def __init__(
        self,
        plan: CollectionPlan,
        tokens: Tokens | TokenIssuer | None = None,
        *,
        checked: bool = False,
    ) -> None:
        if not checked:
            check_issuer(plan, tokens)
        self.plan = plan
        self.tokens = tokens
        self.rejected: Counter[str] = Counter()
        self._waves = {
            plan_id.encode(): wave for wave, plan_id in enumerate(plan.ids_by_wave, start=1)
        }
        self._wave_of = np.array([question.wave for question in plan.questions])
        self._widths = np.array(
            [[one.width for one in question.randomisers] for question in plan.questions]
        )
        self._spool = Spool(int(self._widths.max()))

    def __enter__(self) -> Collector:
        return self

    def __exit__(self, *exception: object) -> None:
        self._spool.__exit__(*exception)

    # ------------------------------------------------------------------- reading

    def read(self, path: Path) -> None:
        """Take the reports of a file; one that cannot be read, or not to its end, is counted."""
        try:
            if path.suffix == ".parquet":
                self._read_parquet(path)
            elif path.suffix == ".gz":
                with gzip.open(path, "rb") as unpacked:
                    self.read_lines(unpacked)  # type: ignore[arg-type]
            else:
                with path.open("rb") as file:
                    self.read_lines(file)
        except (OSError, EOFError, zlib.error):
            self.rejected["unreadable file"] += 1

    def read_lines(self, file: BinaryIO) -> None:
        """Take reports, one per line."""
        for chunk, too_long in _whole_lines(file):
            self.rejected["too long"] += too_long
            self.add_lines(chunk)

    def _read_parquet(self, path: Path) -> None:
        import duckdb

        names = ", ".join(f"CAST({name} AS VARCHAR) AS {name}" for name in REPORT_COLUMNS)
        rows = f"SELECT {names} FROM read_parquet({literal(str(path))})"
        try:
            with closing(new_engine()) as engine:
                left = engine.execute(f"SELECT count(*) FROM ({rows})").fetchone()[0]
                # Rows in good form go the way of lines, which is faster.
                engine.execute(f"SELECT {_LINE_OF_ROW} FROM ({rows}) WHERE {_IN_FORM}")
                while fetched := engine.fetchmany(ROWS_PER_PASS):
                    self.add_lines("\n".join(line for (line,) in fetched).encode())
                    left -= len(fetched)
                if left:
                    engine.execute(f"FROM ({rows}) WHERE ({_IN_FORM}) IS NOT TRUE")
                while fetched := engine.fetchmany(ROWS_PER_PASS):
                    self._add_rows(fetched)
        except duckdb.Error:
            self.rejected["unreadable file"] += 1

    # ------------------------------------------------------------------- lines and rows

    def add_lines(self, chunk: bytes) -> None:
        """Take reports from whole lines."""
        lines = chunk.count(b"\n") + (not chunk.endswith(b"\n") and bool(chunk))
        found = REPORT_LINE.findall(chunk)
        if found:
            self._add(ReportColumns(*zip(*found, strict=True)))
        if len(found) < lines:
            self._add_others(
                [line for line in chunk.split(b"\n") if not REPORT_LINE.fullmatch(line)]
            )

    def _add_others(self, lines: Iterable[bytes]) -> None:
        """Take lines that are not written as we write them."""
        read = []
        for line in lines:
            if not (bare := line.strip()):
                continue
            try:
                read.append(read_line(bare))
            except Rejection as reason:
                self.rejected[str(reason)] += 1
        self._add_checked(read)

    def _add_rows(self, rows: list[tuple[Any, ...]]) -> None:
        """Take rows of a Parquet file, in which everything is text, or missing."""
        read = []
        for version, plan, question, level, answer, number, token in rows:
            if version != str(REPORT_VERSION):
                self.rejected["junk" if version is None else "other version"] += 1
            elif level is None:
                self.rejected["no level"] += 1
            else:
                read.append((plan, _whole(question), _whole(level), answer, number, token or ""))
        self._add_checked(read)

    def _add_checked(self, read: list[tuple[Any, ...]]) -> None:
        """Take reports whose fields may be anything."""
        whole = []
        for plan, question, level, answer, number, token in read:
            if not isinstance(plan, str) or not isinstance(answer, str | None):
                self.rejected["junk"] += 1
            elif answer is None or not isinstance(number, str) or len(number) < 2 * NUMBER_BYTES:
                self.rejected["truncated"] += 1
            elif not _is_number(number) or not (token == "" or _is_number(token)):
                self.rejected["junk"] += 1
            elif not _is_small(question):
                self.rejected["no such question"] += 1
            elif not _is_small(level):
                self.rejected["no such level"] += 1
            else:
                fields = (plan, str(question), str(level), answer, number, token)
                whole.append(tuple(field.encode("ascii", "replace") for field in fields))
        if whole:
            self._add(ReportColumns(*zip(*whole, strict=True)))

    # ------------------------------------------------------------------- checks

    def _add(self, columns: ReportColumns) -> None:
        """Take reports whose fields have the right form."""
        waves = np.array([self._waves.get(plan, 0) for plan in columns.plans])
        questions = np.array(columns.questions).astype(np.int64)
        levels = np.array(columns.levels).astype(np.int64)
        known = self._reject(waves == 0, "other plan", np.ones(len(waves), dtype=bool))
        in_plan = questions < len(self.plan.questions)
        asked = np.where(in_plan, questions, 0)
        wrong = ~in_plan | (self._wave_of[asked] != waves)
        known = self._reject(wrong, "no such question", known)
        known = self._reject(levels >= len(self.plan.epsilons), "no such level", known)
        numbers = np.frombuffer(bytes.fromhex(b"".join(columns.numbers).decode()), dtype="<u8")
        numbers = numbers.reshape(-1, NUMBER_BYTES // 8)
        known = self._reject(~self._tokens_hold(columns, known), "no token", known)
        places = np.flatnonzero(known)
        for question, level, rows in _groups(asked[places], levels[places]):
            kept = places[rows]
            answers = [columns.answers[place] for place in kept.tolist()]
            self._add_group(question, level, answers, numbers[kept])

    def _tokens_hold(self, columns: ReportColumns, known: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """For each report that is known so far, whether it has the token that it needs."""
        if self.tokens is None:
            return known
        if isinstance(self.tokens, Tokens):
            return self.tokens.hold(columns.numbers)
        held = np.zeros(len(known), dtype=bool)
        places = np.flatnonzero(known)
        held[places] = self.tokens.own(
            [columns.numbers[place] for place in places.tolist()],
            [columns.tokens[place] for place in places.tolist()],
        )
        return held

    def _reject(
        self, wrong: NDArray[np.bool_], reason: str, known: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Count what is wrong among what is known to be right so far; what is left."""
        if count := int((wrong & known).sum()):
            self.rejected[reason] += count
        return known & ~wrong

    def _add_group(
        self, question: int, level: int, answers: list[bytes], numbers: NDArray[np.uint64]
    ) -> None:
        """Let reports to one question at one level wait, if their answers are possible."""
        randomiser = self.plan.questions[question].randomisers[level]
        read = read_answers(answers, randomiser.width)
        possible = (read[:, 0] >= 0) & randomiser.is_possible(np.maximum(read, 0))
        if rejected := int((~possible).sum()):
            self.rejected["impossible answer"] += rejected
        records = np.zeros(int(possible.sum()), dtype=self._spool.type)
        records["number"] = numbers[possible]
        records["question"] = question
        records["level"] = level
        records["answer"][:, : randomiser.width] = read[possible]
        self._spool.add(records)

    # ------------------------------------------------------------------- the end

    def finish(self) -> Collected:
        """Leave out what came twice, and count the rest."""
        tallies: dict[tuple[int, int], ReportTally] = {}
        for part in self._spool.parts():
            records = self._without_repeats(part)
            for question, level, rows in _groups(records["question"], records["level"]):
                randomiser = self.plan.questions[question].randomisers[level]
                answers = records["answer"][rows][:, : randomiser.width]
                tally = ReportTally.of(randomiser, answers)
                if (question, level) in tallies:
                    tally = tallies[question, level] + tally
                tallies[question, level] = tally
        rejected = {reason: count for reason, count in sorted(self.rejected.items()) if count}
        return Collected(plan=self.plan, tallies=tallies, rejected=rejected)

    def _without_repeats(self, records: NDArray[Any]) -> NDArray[Any]:
        """One of each report that came several times, and none of those that share a number but
        differ: to choose one by its answer would favour some answers, and by its place would depend
        on the order.
        """
        order = np.lexsort((records["number"][:, 1], records["number"][:, 0]))
        number = records["number"][order]
        same = (number[1:] == number[:-1]).all(axis=1)
        if not same.any():
            return records
        run = np.concatenate([[0], np.cumsum(~same)])
        first = np.concatenate([[True], ~same])
        leader = order[np.flatnonzero(first)[run]]
        differs = records[order] != records[leader]
        conflict = np.bincount(run, weights=differs) > 0
        in_conflict = conflict[run]
        self.rejected["conflicting"] += int(in_conflict.sum())
        self.rejected["duplicated"] += int((~first & ~in_conflict).sum())
        return records[order[first & ~in_conflict]]


def check_issuer(plan: CollectionPlan, tokens: Tokens | TokenIssuer | None) -> None:
    """Refuse to count reports without the issuer whose tokens the plan asks for."""
    if isinstance(tokens, TokenIssuer) and tokens.public_key != plan.token_key:
        raise InputError("The issuer's key is not the one that stands in the plan.")
    if plan.token_key and not isinstance(tokens, TokenIssuer):
        raise InputError("The plan asks for tokens; name the key of their issuer by --issuer.")


def collect_reports(
    plan: CollectionPlan, sources: Iterable[str | Path], tokens: Tokens | TokenIssuer | None = None
) -> Collected:
    """Add up the reports of files and folders.

    Parameters
    ----------
    plan
        What was asked; reports of its earlier waves count as well.
    sources
        Files of reports, or folders of them.
    tokens
        Where a survey has given out one-use tokens: which they are, or who has issued them.
    """
    with Collector(plan, tokens) as collector:
        for path in report_files(sources):
            collector.read(path)
        return collector.finish()


def _groups(
    questions: NDArray[Any], levels: NDArray[Any]
) -> Iterator[tuple[int, int, NDArray[np.int64]]]:
    """Which rows belong to each question and level."""
    if not len(questions):
        return
    keys = questions.astype(np.int64) << 8 | levels
    order = np.argsort(keys, kind="stable")
    present, starts = np.unique(keys[order], return_index=True)
    for key, rows in zip(present.tolist(), np.split(order, starts[1:]), strict=True):
        yield key >> 8, key & 255, rows


def read_answers(answers: list[bytes], width: int) -> NDArray[np.int64]:
    """The whole numbers of answers; -1 in front where there are none, or too few or too many."""
    if width == 1:
        return np.array([_hexadecimal(answer) for answer in answers], dtype=np.int64)[:, None]
    read = np.full((len(answers), width), -1, dtype=np.int64)
    for place, answer in enumerate(answers):
        parts = answer.split(b".")
        if len(parts) == width:
            numbers = [_hexadecimal(part) for part in parts]
            if min(numbers) >= 0:
                read[place] = numbers
    return read


_SMALL = {f"{number:x}".encode(): number for number in range(1 << 12)}


def _hexadecimal(text: bytes) -> int:
    """A whole number, written in the one way that we write it; -1 for anything else."""
    if text in _SMALL:
        return _SMALL[text]
    try:
        number = int(text, 16)
    except ValueError:
        return -1
    if number > MAX_NUMBER or b"%x" % number != text:
        return -1
    return number


def _whole(text: str | None) -> int | None:
    if text is None or not text.isascii() or not text.isdigit() or len(text) > 6:
        return None
    return int(text)


def _is_small(given: Any) -> bool:
    return isinstance(given, int) and not isinstance(given, bool) and 0 <= given < 1_000_000


def _is_number(text: str) -> bool:
    return len(text) == 2 * NUMBER_BYTES and set(text) <= set("0123456789abcdef")


def _whole_lines(file: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """Chunks that end where a line ends, and how many lines before were too long to be kept."""
    rest, skipping = b"", False
    while piece := file.read(CHUNK_BYTES):
        too_long = 0
        if skipping:
            _, end, piece = piece.partition(b"\n")
            if not end:
                continue
            skipping = False
        whole, end, rest_of_piece = (rest + piece).rpartition(b"\n")
        rest = rest_of_piece
        if len(rest) > MAX_LINE_BYTES:
            rest, skipping, too_long = b"", True, 1
        yield whole + end, too_long
    if rest:
        yield rest, 0
