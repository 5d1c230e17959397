"""Holders in one process: a rehearsal of a federation, for notebooks, tests and studies.

Every holder has an identity and a budget of its own, and they exchange the very messages that a
network would carry. Only the network is missing, so the tables are all in one place.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from understudy.data.frames import Frame
from understudy.data.schema import Schema
from understudy.federation.holder import Holder, HolderPolicy
from understudy.federation.identity import Identity
from understudy.federation.opening import open_rows
from understudy.federation.terms import COLLUDERS
from understudy.release.callbacks import warn_owner


def make_holders(
    tables: Mapping[str, Frame],
    schema: Schema | str | Path,
    *,
    allowance: float,
    delta: float = 0.0,
    colluders: int = COLLUDERS,
) -> list[Holder]:
    """Make a holder for each table, all of whom know each other, for :func:`federate`.

    Parameters
    ----------
    tables
        The tables by the names of their holders: frames, or the paths of files.
    schema
        The schema that all holders agreed on.
    allowance, delta
        What all releases together may cost each holder.
    colluders
        How many of the others each holder suspects of pooling what they know with the analyst.

    Examples
    --------
    >>> tables = {"north": "n.csv", "south": "s.csv"}
    >>> holders = make_holders(tables, "schema.json", allowance=1)  # doctest: +SKIP
    >>> model = federate(holders, "schema.json", PrivBayes(epsilon=1.0))  # doctest: +SKIP
    """
    if isinstance(schema, str | Path):
        schema = Schema.load(schema)
    identities = {name: Identity.new(name) for name in tables}
    peers = {name: identity.certificate for name, identity in identities.items()}
    holders = []
    for name, frame in tables.items():
        coded, _ = open_rows(frame, schema, notify=warn_owner)
        holder = Holder(
            name,
            coded,
            HolderPolicy(allowance=allowance, delta=delta, colluders=colluders),
            identity=identities[name],
            peers=peers,
        )
        holders.append(holder)
    return holders
