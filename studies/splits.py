"""Ways to spread the rows of one table over holders, for studies: as the thesis has them."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from understudy.data.encoding import Coded
from understudy.errors import InputError

How = Literal["equal", "random", "class", "attribute", "central"]


def split(
    coded: Coded, how: How = "equal", holders: int = 5, *, target: str | None = None, seed: int = 0
) -> list[Coded]:
    """The rows of a table as those of several holders.

    Parameters
    ----------
    coded
        The rows.
    how
        "equal": shares of the same size, at random; "random": shares of random sizes, at random;
        "class": each value of ``target`` is another holder's; "attribute": each value of an
        attribute that is drawn at random is; "central": one holder has all.
    holders
        How many, where the values of an attribute do not decide that.
    target
        The attribute that "class" goes by.
    seed
        Which rows, sizes and attribute.

    Examples
    --------
    >>> from understudy.data.encoding import Coded
    >>> from understudy.data.schema import Schema
    >>> schema = Schema.from_dict({"attributes": {"a": {"kind": "boolean"}}})
    >>> rows = Coded(schema, {"a": np.array([0, 1, 1, 1, 0], dtype=np.uint8)}, 5, ())
    >>> [part.rows for part in split(rows, "class", target="a")]
    [2, 3]
    """
    rng = np.random.default_rng(seed)
    if how not in get_args(How):
        raise InputError(f"Rows are split as {', '.join(get_args(How))}, not as {how!r}.")
    if how == "central":
        return [coded]
    if how in ("class", "attribute"):
        if how == "attribute":
            name = _attribute(coded, rng)
        else:
            name = target
        if name is None or name not in coded.codes:
            raise InputError(
                f"To split rows by class, name a modelled attribute as the target, not {target!r}."
            )
        values = coded.codes[name]
        # A value that no row has makes no holder.
        return [_part(coded, np.flatnonzero(values == value)) for value in np.unique(values)]
    if not 1 <= holders <= max(coded.rows, 1):
        raise InputError(f"{coded.rows:,} rows cannot be spread over {holders} holders.")
    order = rng.permutation(coded.rows)
    if how == "equal":
        return [_part(coded, np.sort(rows)) for rows in np.array_split(order, holders)]
    # Sizes uniform among all ways to cut the rows into pieces of one row at least.
    cuts = np.sort(rng.choice(np.arange(1, coded.rows), holders - 1, replace=False))
    return [_part(coded, np.sort(rows)) for rows in np.split(order, cuts)]


def _attribute(coded: Coded, rng: np.random.Generator) -> str | None:
    several = [name for name, codes in coded.codes.items() if len(np.unique(codes)) > 1]
    if several:
        return str(rng.choice(several))
    return None


def _part(coded: Coded, rows: NDArray[np.int64]) -> Coded:
    return Coded(
        coded.schema, {name: codes[rows] for name, codes in coded.codes.items()}, len(rows), ()
    )
