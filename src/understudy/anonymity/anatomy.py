"""Anatomy: two tables instead of generalised values (Xiao and Tao 2006).

One table has the quasi-identifiers as they are and the number of a group, the other the group's
counts of each sensitive value. Within a group nothing tells whose value is whose; who is in the
table is told to everybody.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.anonymity.checking import settle_roles
from understudy.anonymity.microdata import read_microdata
from understudy.anonymity.publishing import pick_cells
from understudy.anonymity.roles import Roles
from understudy.data.columns import Column, Table
from understudy.data.frames import Frame, as_table
from understudy.errors import InputError

GROUP = "group"


@dataclass(frozen=True)
class Anatomised:
    """The two tables."""

    quasi_identifiers: Table
    sensitive: Table


def anatomise(
    table: Frame,
    roles: Roles,
    l: int,  # noqa: E741 (its name in the field)
    *,
    seed: int | None = None,
) -> Anatomised:
    """Split a table in two so that each group has l different sensitive values at least.

    Parameters
    ----------
    table
        A table, a frame or the path of a file.
    roles
        The quasi-identifiers and exactly one sensitive column.
    l
        How many different values a group has at least. No value may be more frequent than one row
        in l.
    seed
        To repeat it; not for data that is published.
    """
    read, _ = as_table(table)
    roles = settle_roles(roles, None)
    roles.check(read.names, read.source)
    if len(roles.sensitive) != 1:
        raise InputError("Anatomy splits off one sensitive column; name exactly one.")
    (secret,) = roles.sensitive
    if isinstance(l, bool) or not isinstance(l, int) or l < 2:
        raise InputError(f"l must be a whole number from 2 on, not {l!r}.")
    values = read_microdata(read, (secret,))[secret]
    groups = _make_groups(values.codes, values.size, l, np.random.default_rng(seed), secret)
    order = np.argsort(groups, kind="stable")
    names = {GROUP: Column("integer", groups[order] + 1)}
    for name in roles.quasi_identifiers:
        names[name] = pick_cells(read.columns[name], order)
    cells, counts = np.unique(groups * values.size + values.codes, return_counts=True)
    secrets = {
        GROUP: Column("integer", cells // values.size + 1),
        secret: Column("text", cells % values.size, values.names),
        "count": Column("integer", counts.astype(np.int64)),
    }
    return Anatomised(Table(names, "The release"), Table(secrets, "The release"))


def _make_groups(
    codes: NDArray[np.int64], size: int, least: int, rng: np.random.Generator, name: str
) -> NDArray[np.int64]:
    """Groups of one row each from the ``least`` most frequent values left; what remains, at most
    one row per value, joins groups that lack its value.
    """
    counts = np.bincount(codes, minlength=size)
    if counts.max(initial=0) * least > len(codes):
        raise InputError(
            f"One value of {name!r} has {counts.max() / len(codes):.0%} of the rows, so groups "
            f"with l = {least} different values do not exist; l can be at most "
            f"{len(codes) // counts.max()}."
        )
    buckets = [rng.permutation(np.flatnonzero(codes == code)).tolist() for code in range(size)]
    largest = [(-len(bucket), code) for code, bucket in enumerate(buckets) if bucket]
    heapq.heapify(largest)
    groups = np.empty(len(codes), dtype=np.int64)
    members: list[set[int]] = []
    while len(largest) >= least:
        taken = [heapq.heappop(largest)[1] for _ in range(least)]
        for code in taken:
            groups[buckets[code].pop()] = len(members)
            if buckets[code]:
                heapq.heappush(largest, (-len(buckets[code]), code))
        members.append(set(taken))
    for _, code in largest:
        open_groups = (place for place, held in enumerate(members) if code not in held)
        for row in buckets[code]:
            place = next(open_groups)
            groups[row] = place
            members[place].add(code)
    return groups
