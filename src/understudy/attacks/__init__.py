"""Attacks on outputs, for the owner of the table: what do these synthetic rows tell about a person
in it.

:func:`attack` takes a real and a synthetic table; :func:`membership` takes a synthesizer and plays
the membership game against it with shadow models. Each result stands beside what the same attack
reaches on people who are not in the table, and beside what epsilon promises. Passing attacks is no
guarantee: a better attack may come. The guarantee is epsilon, and whether it is kept is a matter
for :func:`understudy.auditing.audit`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from understudy.attacks.membership import Membership, membership
from understudy.attacks.membership_game import GameRules, Target
from understudy.attacks.promise import Promise
from understudy.attacks.verdicts import Attack, Attacks
from understudy.data.encoding import Coded, encode
from understudy.data.frames import Frame, as_table
from understudy.data.schema import Schema
from understudy.data.streams import check_seed
from understudy.data.tables import Table
from understudy.errors import InputError
from understudy.release.callbacks import Progress, no_progress

__all__ = [
    "Attack",
    "Attacks",
    "GameRules",
    "Membership",
    "Promise",
    "Target",
    "attack",
    "membership",
]


def attack(
    real: Frame,
    synthetic: Frame,
    schema: Schema | str | Path | None = None,
    *,
    holdout: Frame | None = None,
    quasi_identifiers: Sequence[str] | None = None,
    secret: str | None = None,
    promise: Promise | None = None,
    seed: int = 0,
    progress: Progress = no_progress,
) -> Attacks:
    """Attack a synthetic table. The result tells of private rows: it is for the owner's eyes only.

    Parameters
    ----------
    real
        The rows that the synthetic table was made from: a :class:`Table`, a frame, or the path of a
        file.
    synthetic
        The synthetic table.
    schema
        What the columns are. Without one a common schema is read off both tables, for this
        comparison alone.
    holdout
        Rows of people from the same population who were *not* used, set aside at random beforehand.
        Without it most attacks can be carried out, but not judged.
    quasi_identifiers
        Attributes that others may know about a person, for linkage and the three anonymities; for
        attribute inference all attributes but the secret are taken as known where this is not
        given.
    secret
        The attribute that nobody should learn, for attribute inference, l-diversity and
        t-closeness.
    promise
        The guarantee that the synthetic table was made with, if any: ``Promise(epsilon=1.0)``, or
        ``Promise.of(model.ledger)``.
    seed
        For the samples that are taken of large tables.
    progress
        Called while attacking.

    Examples
    --------
    >>> known = {"quasi_identifiers": ["age", "sex"], "secret": "illness"}
    >>> tables = "train.csv", "synthetic.csv", "schema.json"
    >>> promise = Promise(epsilon=1.0)
    >>> result = attack(  # doctest: +SKIP
    ...     *tables, holdout="holdout.csv", **known, promise=promise
    ... )
    >>> result["attribute inference"].verdict  # doctest: +SKIP
    'nothing seen'
    """
    # The evaluation loads slowly, and whoever attacks a synthesizer does not need it.
    from understudy.evaluation.comparison import compare_tables

    check_seed(seed)
    sides = compare_tables(
        real, synthetic, Schema.load(schema) if isinstance(schema, str | Path) else schema
    )
    known = _check_names(sides.schema, quasi_identifiers, secret)
    ours, theirs = sides.real.coded, sides.synthetic.coded
    outside, notes = None, list(sides.notes)
    if holdout is not None:
        outside = _encode_holdout(as_table(holdout)[0], sides.schema, sides.left_out)
        _check_others(ours, outside)
        notes += [f"The holdout: {values}." for values in outside.outside]
    attacks = tuple(_all(ours, theirs, outside, known, secret, promise, seed, progress))
    rows = {
        "real": ours.rows,
        "synthetic": theirs.rows,
        "holdout": 0 if outside is None else outside.rows,
    }
    return Attacks(attacks, promise, rows, (*notes, *_list_left_out(known, secret)))


def _all(
    real: Coded,
    synthetic: Coded,
    holdout: Coded | None,
    known: tuple[str, ...],
    secret: str | None,
    promise: Promise | None,
    seed: int,
    progress: Progress,
) -> Iterator[Attack]:
    from understudy.attacks.anonymity import k_anonymity, l_diversity, t_closeness
    from understudy.attacks.attribute import attribute_inference
    from understudy.attacks.closest import closest_record, exact_copies
    from understudy.attacks.linkage import linkage

    rng = np.random.default_rng(seed)
    yield closest_record(real, synthetic, holdout, promise, rng, progress)
    yield exact_copies(real, synthetic, holdout, promise, rng)
    if secret is not None:
        seen = known or tuple(a.name for a in real.schema.modelled if a.name != secret)
        if seen:
            yield attribute_inference(
                real, synthetic, holdout, seen, secret, promise, rng, progress
            )
    if known:
        progress("attacking: linkage", 0, 1)
        yield linkage(real, synthetic, holdout, known, secret, promise)
        yield k_anonymity(real, synthetic, known)
    if known and secret is not None:
        yield l_diversity(real, synthetic, known, secret)
        yield t_closeness(real, synthetic, known, secret)


def _check_names(
    schema: Schema, quasi_identifiers: Sequence[str] | None, secret: str | None
) -> tuple[str, ...]:
    """The quasi-identifiers, after everything that was named is known to be there."""
    if isinstance(quasi_identifiers, str):
        quasi_identifiers = [quasi_identifiers]
    known = tuple(dict.fromkeys(quasi_identifiers or ()))
    for name, role in (*((name, "a quasi-identifier") for name in known), (secret, "the secret")):
        if name is not None and name not in schema:
            raise InputError(
                f"There is no column {name!r} that could be {role}; columns are "
                f"{', '.join(schema.names)} (identifiers and text are not attacked)."
            )
    if secret in known:
        raise InputError(
            f"{secret!r} is named as the secret and as a quasi-identifier; it can only be one of "
            "them."
        )
    return known


def _encode_holdout(table: Table, schema: Schema, left_out: Sequence[str]) -> Coded:
    if table.rows == 0:
        raise InputError("The holdout has no rows; leave it out, or give rows that were not used.")
    kept = {name: column for name, column in table.columns.items() if name not in left_out}
    try:
        return encode(Table(kept, table.source), schema)
    except InputError as error:
        raise InputError(f"The holdout does not fit the real table: {error}") from error


def _check_others(real: Coded, holdout: Coded) -> None:
    """A holdout of people who are in the table makes every leak look like chance."""
    from understudy.attacks.rows import groups, look_copied

    (ours, theirs), _ = groups([real, holdout], real.schema.names)
    if look_copied(theirs, ours) or look_copied(ours, theirs):
        raise InputError(
            "The holdout must hold other people than the table, but nearly all rows of one are in "
            "the other too; give rows that were set aside beforehand."
        )


def _list_left_out(known: Sequence[str], secret: str | None) -> Iterator[str]:
    if not known:
        yield (
            "Linkage and k-anonymity were left out: name the attributes that others may know "
            "(quasi-identifiers)."
        )
    if secret is None:
        yield (
            "Attribute inference was left out: name the attribute that nobody should learn "
            "(the secret)."
        )
