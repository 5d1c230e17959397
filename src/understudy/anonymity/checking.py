"""Check only: is this table k-anonymous, l-diverse and t-close, and if not, why not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.anonymity.classes import EquivalenceClasses, find_classes
from understudy.anonymity.measures import (
    basic_likeness,
    count_distinct,
    delta_disclosure,
    entropy_diversity,
    largest_share,
    recursive_ratio,
)
from understudy.anonymity.microdata import ColumnValues, Microdata, read_microdata
from understudy.anonymity.requirement import Judge, Requirement
from understudy.anonymity.roles import Roles
from understudy.data.frames import Frame, as_table
from understudy.data.schema import Schema
from understudy.errors import InputError

MAX_SHOWN_GROUPS = 5


@dataclass(frozen=True, kw_only=True)
class SensitiveFigures:
    """What was measured of one sensitive column; each figure is that of the worst group.

    Attributes
    ----------
    distinct
        The fewest distinct values (l of distinct l-diversity).
    entropy
        The least that the values are worth by entropy (l of entropy l-diversity).
    recursive
        The largest ratio of the most frequent value to the l-th most frequent and all rarer ones:
        recursive (c, l)-diversity holds for every c above it. l is the required one, else 2.
    largest_share
        The largest share of one value (alpha of (alpha, k)-anonymity).
    distance
        The largest distance from the whole table (t of t-closeness).
    distance_name
        How it was measured.
    likeness
        The largest relative gain of a value's share (beta of basic beta-likeness).
    disclosure
        The largest change of the logarithm of a value's share (delta of delta-disclosure).
    """

    column: str
    distinct: int
    entropy: float
    recursive: float
    largest_share: float
    distance: float
    distance_name: str
    likeness: float
    disclosure: float


@dataclass(frozen=True, kw_only=True)
class SmallGroup:
    """One of the groups that break the requirement."""

    values: Mapping[str, str]
    rows: int
    reason: str


@dataclass(frozen=True, kw_only=True)
class Blame:
    """What would change if one quasi-identifier were taken out of the table."""

    column: str
    k: int
    broken_rows: int


@dataclass(frozen=True, kw_only=True)
class Check:
    """What a table is, and why it is not more. For the owner's eyes: it shows rows of the table.

    Attributes
    ----------
    k
        The size of the smallest group.
    groups
        How many groups there are.
    sensitive
        What was measured of each sensitive column.
    requirement
        What was asked for.
    holds
        Whether every group fulfils it.
    broken_rows
        How many rows are in groups that do not.
    smallest
        The worst of these groups.
    blame
        Quasi-identifiers, the one whose removal helps most first.
    """

    rows: int
    k: int
    groups: int
    sensitive: tuple[SensitiveFigures, ...]
    requirement: Requirement
    holds: bool
    broken_rows: int
    smallest: tuple[SmallGroup, ...]
    blame: tuple[Blame, ...]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain JSON values; a ratio without a bound is null."""
        document = asdict(self)
        for figures in document["sensitive"]:
            if math.isinf(figures["recursive"]):
                figures["recursive"] = None
        return document

    @property
    def verdict(self) -> str:
        """The answer in a sentence."""
        if self.holds:
            return f"Every group fulfils {self.requirement}."
        share = self.broken_rows / self.rows
        return (
            f"The requirement {self.requirement} does not hold: {self.broken_rows:,} rows "
            f"({share:.1%}) are in groups that break it."
        )

    def explain(self) -> list[str]:
        """Why it does not hold, and what would help, in sentences."""
        if self.holds:
            return []
        sentences = []
        for group in self.smallest:
            where = ", ".join(f"{name} = {value}" for name, value in group.values.items())
            sentences.append(f"{where}: {group.reason}.")
        useful = [blame for blame in self.blame if blame.broken_rows < self.broken_rows]
        if useful:
            best = useful[0]
            sentences.append(
                f"Most is gained by generalising {best.column}: without it {best.broken_rows:,} "
                f"rows would be in such groups, and the smallest group would have {best.k:,}."
            )
        else:
            sentences.append("No single column is to blame: several must be generalised.")
        return sentences


def check_table(
    table: Frame,
    roles: Roles | None = None,
    requirement: Requirement | None = None,
    *,
    schema: Schema | str | Path | None = None,
) -> Check:
    """Measure the groups of a table and compare them with a requirement.

    Parameters
    ----------
    table
        A table, a frame or the path of a file. It may be anonymised already: cells are compared as
        they are written.
    roles
        Which columns are what; without them those of the schema.
    requirement
        What every group must fulfil; k = 5 when not given.
    schema
        Roles, orders and taxonomies of the columns, where they matter.

    Examples
    --------
    >>> from understudy.data.csv_files import MARKS                        # doctest: +SKIP
    >>> check_table("release.csv", Roles(quasi_identifiers=("age", "zip"))).k  # doctest: +SKIP
    1
    """
    if isinstance(schema, str | Path):
        schema = Schema.load(schema)
    read, _ = as_table(table)
    roles = settle_roles(roles, schema)
    roles.check(read.names, read.source)
    microdata = read_microdata(read, (*roles.quasi_identifiers, *roles.sensitive), schema)
    judge = Judge(requirement or Requirement(), microdata, roles.sensitive)
    return examine(microdata, roles.quasi_identifiers, judge)


def settle_roles(roles: Roles | None, schema: Schema | None) -> Roles:
    """The roles that are given, over those of the schema."""
    if schema is None and roles is None:
        raise InputError(
            "Nothing says which columns others may know; give roles, or a schema that has them."
        )
    found = Roles()
    if schema is not None:
        found = Roles.from_schema(schema)
    if roles is not None:
        found = found.override(roles)
    return found


def examine(table: Microdata, names: Sequence[str], judge: Judge) -> Check:
    """What the groups of a table are, measured."""
    classes = group_rows(table, names)
    good = judge.find_fulfilled(classes)
    broken = int(classes.sizes[~good].sum())
    figures = tuple(_measure(classes, values, judge) for values in judge.sensitive)
    return Check(
        rows=table.rows,
        k=int(classes.sizes.min()),
        groups=classes.count,
        sensitive=figures,
        requirement=judge.requirement,
        holds=bool(good.all()),
        broken_rows=broken,
        smallest=_list_smallest(table, names, classes, good, judge),
        blame=_find_blame(table, names, judge) if broken else (),
    )


def group_rows(table: Microdata, names: Sequence[str]) -> EquivalenceClasses:
    """The groups of rows that agree on some columns."""
    return find_classes([table[name].codes for name in names], [table[name].size for name in names])


def _measure(classes: EquivalenceClasses, values: ColumnValues, judge: Judge) -> SensitiveFigures:
    least = int(judge.requirement.l or 2)
    distance = judge.distance(values)
    worst: dict[str, list[float]] = {}

    def note(name: str, found: NDArray[Any]) -> None:
        worst.setdefault(name, []).append(float(found.max()))

    for counts in classes.tabulate(values.codes, values.size):
        note("distinct", -count_distinct(counts))
        note("entropy", -entropy_diversity(counts))
        note("recursive", recursive_ratio(counts, least))
        note("largest_share", largest_share(counts))
        note("distance", distance.measure(counts, values.shares))
        note("likeness", basic_likeness(counts, values.shares))
        note("disclosure", delta_disclosure(counts, values.shares))
    found = {name: max(numbers) for name, numbers in worst.items()}
    return SensitiveFigures(
        column=values.name,
        distinct=int(-found["distinct"]),
        entropy=-found["entropy"],
        recursive=found["recursive"],
        largest_share=found["largest_share"],
        distance=found["distance"],
        distance_name=distance.name,
        likeness=found["likeness"],
        disclosure=found["disclosure"],
    )


def _list_smallest(
    table: Microdata,
    names: Sequence[str],
    classes: EquivalenceClasses,
    good: NDArray[np.bool_],
    judge: Judge,
) -> tuple[SmallGroup, ...]:
    broken = np.flatnonzero(~good)
    order = broken[np.argsort(classes.sizes[broken], kind="stable")][:MAX_SHOWN_GROUPS]
    groups = []
    for place in order.tolist():
        row = int(classes.order[classes.starts[place]])
        size = int(classes.sizes[place])
        members = classes.order[classes.starts[place] : classes.starts[place] + size]
        groups.append(
            SmallGroup(
                values={name: table[name].names[table[name].codes[row]] for name in names},
                rows=size,
                reason=_say_reason(size, members, judge),
            )
        )
    return tuple(groups)


def _say_reason(size: int, members: NDArray[np.int64], judge: Judge) -> str:
    needed = judge.requirement
    if size < needed.k:
        return f"{size} row{'s' * (size != 1)} where k = {needed.k}"
    for values in judge.sensitive:
        counts = np.bincount(values.codes[members], minlength=values.size)[None, :]
        distinct = int(count_distinct(counts)[0])
        if distinct == 1:
            (only,) = np.flatnonzero(counts[0])
            return f"all {size} rows have {values.name} = {values.names[only]}"
        if needed.l is not None and distinct < needed.l:
            return f"{size} rows with {distinct} values of {values.name} where l = {needed.l:g}"
    found = [
        (
            float(
                judge.distance(values).measure(
                    np.bincount(values.codes[members], minlength=values.size)[None, :],
                    values.shares,
                )[0]
            ),
            values.name,
        )
        for values in judge.sensitive
    ]
    far, name = max(found)
    if needed.t is not None and far > needed.t:
        return f"{name} is {far:.2f} away from the whole table where t = {needed.t:g}"
    return f"{size} rows in which one value of {name} outweighs the others"


def _find_blame(table: Microdata, names: Sequence[str], judge: Judge) -> tuple[Blame, ...]:
    found = []
    for left_out in names:
        others = [name for name in names if name != left_out]
        if others:
            classes = group_rows(table, others)
        else:
            classes = EquivalenceClasses(np.zeros(table.rows, dtype=np.int64), 1)
        good = judge.find_fulfilled(classes)
        found.append(
            Blame(
                column=left_out,
                k=int(classes.sizes.min()),
                broken_rows=int(classes.sizes[~good].sum()),
            )
        )
    return tuple(sorted(found, key=lambda blame: (blame.broken_rows, blame.column)))
