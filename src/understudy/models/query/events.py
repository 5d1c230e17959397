"""Rows that fit a condition: their share by the network, exactly, and the variances of that."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.marginals import Axis
from understudy.data.schema import Attribute, Quantity
from understudy.errors import InputError
from understudy.models.factors import Factor, Variable, function_of
from understudy.models.inference import Elimination, noise_variance
from understudy.models.query.grammar import Atom, Condition
from understudy.models.query.intervals import COUNTING_VARIANCE, Parts
from understudy.models.query.subsets import Subset

if TYPE_CHECKING:
    from understudy.models.model import Model


class Event:
    """Rows that fit a condition, each possibly weighed by a value of one attribute.

    For each attribute in the condition only this matters of its value: which of the conditions on
    it hold. That is an auxiliary variable with few values, tied to the attribute's code; a bin that
    conditions cut has several of them, by share. So any mixture of and, or and not is an exact sum
    over a small table.
    """

    def __init__(
        self,
        model: Model,
        condition: Condition | None,
        weighed: Attribute | None = None,
        values: Any = None,
    ) -> None:
        atoms: dict[str, list[Atom]] = {}
        for atom in condition.atoms if condition is not None else ():
            atoms.setdefault(atom.subset.attribute.name, []).append(atom)
        self._model = model
        self.names = tuple(atoms)
        self._weights: list[NDArray[np.float64]] = []
        functions: list[Factor] = []
        keep: list[Variable] = []
        truths: dict[Atom, NDArray[np.bool_]] = {}
        for place, (name, own) in enumerate(atoms.items()):
            attribute = model.schema[name]
            shares, holds = cut_sides(attribute, own, values if attribute is weighed else None)
            self._weights.append(shares)
            side: Variable = ("sides", name)
            functions.append(function_of(attribute, shares, (side,), model.bits))
            keep.append(side)
            shape = [-1 if i == place else 1 for i in range(len(atoms))]
            truths.update({atom: holds[:, i].reshape(shape) for i, atom in enumerate(own)})
        self._elimination, self._total = eliminate(model, functions, keep)
        self._weighed = weighed is not None
        truth: NDArray[Any] = np.ones(())
        if condition is not None:
            truth = condition.truth(truths)
        self._truth = np.broadcast_to(truth, self._elimination.shape).astype(np.float64)

    @property
    def probability(self) -> float:
        """The expected value."""
        return float((self._elimination.table * self._truth).sum()) / self._total

    def parts(self, about: float = 0.0) -> Parts:
        """The variances of the probability, by cause.

        Parameters
        ----------
        about
            0 for a count, which has the error of the number of rows in it; the probability itself
            for a share, which has not.
        """
        share = self.probability
        drawing = drawing_variance(self._model, share)
        rows = self._model.rows
        if not rows or not self.names:
            return Parts(noise=self.variance(1.0) + drawing + self._rows_variance(about))
        cut = self._cut() / rows**2
        told = self._by_effects(about)
        if told is None:
            noise = self.variance(1.0) + drawing + self._rows_variance(about)
            found = Parts(noise=noise, misfit=self._misfit() / rows)
        else:
            found = told.times(1 / rows)
        is_unsure = found.noise + found.known + found.misfit + found.larger + cut > 0
        rounding = 0.0
        if is_unsure:
            rounding = COUNTING_VARIANCE / rows**2
        return replace(found, rounding=rounding, cut=cut)

    def find_centred_parts(self, mass: float) -> Parts | None:
        """The variances of a mean of values that have the mean 0 among the rows that fit, which are
        this share of all; None where the measured tables do not tell.
        """
        rows, told = self._model.rows, self._by_effects(0.0)
        if not rows or told is None:
            return None
        return told.times(1 / (rows * mass))

    def _by_effects(self, about: float) -> Parts | None:
        if self._model.draws is not None:
            return None
        return self._model.errors.by_effects(self._truth, self._weights, self.names, about)

    def _rows_variance(self, about: float) -> float:
        """Of a count: what the number of rows, where it was measured, adds."""
        if about or not self._model.rows:
            return 0.0
        return (self.probability * rows_deviation(self._model) / self._model.rows) ** 2

    @cached_property
    def _joint(self) -> NDArray[np.float64]:
        """The probabilities of the sides."""
        return self._elimination.table / self._total

    def _side_shares(self) -> list[NDArray[np.float64]]:
        places = range(self._joint.ndim)
        return [self._joint.sum(axis=tuple(j for j in places if j != i)) for i in places]

    def _misfit(self) -> float:
        return self._model.errors.misfit(self._truth, self._side_shares(), self.names)

    def _cut(self) -> float:
        """The variance of a count from bins that conditions cut."""
        found, places = 0.0, range(self._joint.ndim)
        for i, (name, shares) in enumerate(zip(self.names, self._side_shares(), strict=True)):
            fitting = (self._joint * self._truth).sum(axis=tuple(j for j in places if j != i))
            expected = np.divide(fitting, shares, out=np.zeros_like(fitting), where=shares > 0)
            found += self._model.errors.cut(name, self._weights[i], expected)
        return found

    def variance(self, scale: float) -> float:
        """The variance of ``scale`` times that, from the noise; values that weigh rows must have
        the mean 0.
        """
        weights = self._truth
        if self._total != 1.0:  # the slope of a ratio; where the numerator is 0, of it alone
            if not self._weighed:
                weights = weights - self.probability
            weights = weights / self._total
        return float(noise_variance(self._elimination, (scale * weights)[None])[0])


def eliminate(
    model: Model, functions: Sequence[Factor], keep: Sequence[Variable]
) -> tuple[Elimination, float]:
    """Sums over the rows that keep the model's constraints, and the probability of such rows: 1
    where there are none.
    """
    network, factors = model.constraint_factors()
    elimination = Elimination(network, model.network_schema, [*functions, *factors], keep)
    if not factors:
        return elimination, 1.0
    return elimination, float(Elimination(network, model.network_schema, factors, ()).table)


def cut_sides(
    attribute: Attribute, atoms: Sequence[Atom], values: Any
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Cut an attribute into classes of values that its conditions do not tell apart.

    Returns
    -------
    shares
        For each code and class, the share of the code that is in the class (times its mean value,
        if asked for).
    holds
        For each class and condition, whether the condition holds there.
    """
    pieces = list(_pieces(attribute, atoms))
    codes = np.array([code for code, _, _ in pieces])
    low, high = (np.array([piece[i] for piece in pieces], dtype=np.float64) for i in (1, 2))
    weights = _piece_shares(attribute, codes, low, high)
    if values is not None:
        present = codes < attribute.values_size
        weights = weights * np.where(
            present, values(np.where(present, low, 0), np.where(present, high, 0)), 0.0
        )
    table = np.array(
        [[_within(attribute, atom.subset, piece) for atom in atoms] for piece in pieces], dtype=bool
    )
    holds, sides = np.unique(table, axis=0, return_inverse=True)
    shares = np.zeros((attribute.size, len(holds)))
    np.add.at(shares, (codes, sides.reshape(-1)), weights)
    return shares, holds


def _piece_shares(
    attribute: Attribute,
    codes: NDArray[Any],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
) -> NDArray[np.float64]:
    """For each piece the share of its code that it is."""
    if isinstance(attribute, Quantity) and attribute.refined:
        present = codes < attribute.values_size
        shares = attribute.inside.below(high) - attribute.inside.below(low)
        return np.where(present, np.clip(shares, 0, 1), 1.0)
    whole = np.zeros(attribute.size)
    np.add.at(whole, codes, high - low)
    shares = (high - low) / whole[codes]
    return shares


def _pieces(attribute: Attribute, atoms: Sequence[Atom]) -> Iterator[tuple[int, float, float]]:
    """The domain in pieces that no condition cuts: code, start and end."""
    if isinstance(attribute, Quantity):
        ends = {end for atom in atoms for interval in atom.subset.intervals for end in interval}
        cuts = sorted(
            {*attribute.edges, *(e for e in ends if attribute.edges[0] < e < attribute.edges[-1])}
        )
        starts = np.searchsorted(np.array(attribute.edges), np.array(cuts[:-1]), side="right") - 1
        for code, (low, high) in zip(starts, itertools.pairwise(cuts), strict=True):
            yield int(code), low, high
    else:
        yield from ((code, float(code), float(code + 1)) for code in range(attribute.values_size))
    if attribute.missing is not None:
        yield attribute.values_size, 0.0, 1.0


def _within(attribute: Attribute, subset: Subset, piece: tuple[int, float, float]) -> bool:
    code, low, high = piece
    if code == attribute.values_size:
        return subset.missing
    if isinstance(attribute, Quantity):
        return any(start <= low and high <= end for start, end in subset.intervals)
    return code in subset.codes


def drawing_variance(model: Model, share: Any) -> Any:
    """The variance of a share in the rows that the private method drew, where it drew rows."""
    if model.draws is None:
        return 0.0
    return np.clip(share * (1 - share), 0.0, None) / model.draws


def require_rows(model: Model) -> int:
    """How many rows the original has, where the model knows it."""
    if model.rows is None:
        raise InputError(
            "This model does not know how many rows the original has; ask for a share instead of a "
            "count."
        )
    return model.rows


def rows_deviation(model: Model) -> float:
    """The standard deviation of the number of rows: 0 where it is public, else from the totals of
    the tables.
    """
    if model.ledger.neighbours == "replace":
        return 0.0
    families = [{*node.parents, Axis(node.attribute)} for node in model.network]
    information = 0.0
    for node, own in zip(model.network, families, strict=True):
        derived = any(own < other for other in families)
        if node.deviation > 0 and not derived:
            information += 1 / (node.table.size * node.deviation**2)
    if information:
        return information**-0.5
    return 0.0
