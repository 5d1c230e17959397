"""Rows drawn from a network, ancestors first.

Three ways, named as in the literature: ancestral (also called prior or forward) sampling; rejection
sampling, which drops rows that do not fit the evidence as soon as that shows; likelihood weighting,
which forces the evidence and gives each row a weight. Exact sampling given evidence is ancestral
sampling from another network: see :func:`understudy.models.conditioning.condition_network`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from understudy.data.schema import Schema
from understudy.data.streams import draw_key, draw_uniforms
from understudy.errors import InputError
from understudy.machine.plain_first import PlainFirst
from understudy.models import plain_sampling
from understudy.models.balancing import Recent, share_out
from understudy.models.factors import Factor
from understudy.models.network import Network, Node

CodesByName = dict[str, NDArray[np.unsignedinteger[Any]]]
Spread = Literal["even", "independent"]
FixedFactors = Mapping[str, Factor]
"""Functions of attributes, from 0 (does not fit) to 1, at level 0; the names are for messages."""

BATCH, MAX_BATCH = 1 << 16, 1 << 20
"""Rows that rejection sampling draws at a time: at least, and at most."""

Uniforms = Callable[[int], NDArray[np.float64]]
"""Gives this many numbers in [0, 1)."""

MIN_TRIES, TRIES_PER_ROW = 10**7, 1000
"""Rejection sampling gives up once it has drawn more rows than either of these allows."""


def ancestral(
    network: Network, schema: Schema, rows: int, rng: np.random.Generator, spread: Spread = "even"
) -> CodesByName:
    """Codes of ``rows`` rows, one column a modelled attribute; see :meth:`Sampler.draw`."""
    return Sampler(network, schema).draw(rows, rng, spread)


class Sampler:
    """A network made ready for drawing.

    Parameters
    ----------
    network
        Attributes with parents and tables.
    schema
        The schema whose attributes the network names.
    evidence
        For :meth:`rejected` and :meth:`weighted`: which codes of which attributes fit.

    Examples
    --------
    >>> Sampler(network, schema).draw(1000, np.random.default_rng(1))["age"]   # doctest: +SKIP
    """

    def __init__(
        self, network: Network, schema: Schema, evidence: FixedFactors | None = None
    ) -> None:
        if evidence is None:
            factors = []
        else:
            factors = list(evidence.values())
        self._draws = [_Draw.of(node, schema) for node in network]
        # Evidence on one attribute can be forced; on several (the bits of one, say) it shows once
        # the last is drawn.
        order = {node.attribute: place for place, node in enumerate(network)}
        self._evident: dict[str, list[Factor]] = {}
        for factor in factors:
            last = max((str(name) for name in factor.scope), key=order.__getitem__)
            self._evident.setdefault(last, []).append(factor)
        self._forced = {
            node.attribute: _Draw.of(node, schema, np.prod([f.table for f in single], axis=0))
            for node in network
            if (single := [f for f in self._evident.get(node.attribute, []) if len(f.axes) == 1])
        }

    def draw(
        self,
        rows: int,
        rng: np.random.Generator,
        spread: Spread = "even",
        *,
        balanced: bool = False,
    ) -> CodesByName:
        """Draw rows, each with exactly the network's distribution; evidence is ignored.

        Parameters
        ----------
        rows
            How many.
        rng
            Where the randomness comes from.
        spread
            ``"independent"``: each row by itself. ``"even"``: the m rows that share a parent
            configuration share out the m-quantiles of the child's distribution in random order
            (stratified sampling), so that the counts of the table are as near to the network's as
            whole numbers allow, give or take one.
        balanced
            Whether even rows are so in more tables than the network's: see
            :mod:`understudy.models.balancing`.

        Notes
        -----
        With ``"even"`` a single row still has exactly the network's distribution: its quantile is a
        uniform number, drawn afresh for each attribute. Rows are exchangeable but no longer
        independent: they share out what is there. Given the parents, a count over the node's family
        never varies more than with independent rows (the mean of p (1 - p) over the strata is at
        most p (1 - p) of the mean), and mostly by about one where that varies by the root of the
        number of rows. Any other count varies, in variance, at most m / (m - 1) times as much, the
        factor of drawing without replacement, and mostly less too.

        One random offset for all m rows (systematic sampling) would save a little more, but it
        resonates: m rows over 2 m equally likely values would all get odd ones or all even ones.
        """
        if balanced and spread == "even":
            return self._draw_balanced(rows, rng)
        codes: CodesByName = {}
        for step in self._draws:
            places = step.places(codes, rows)
            column = np.empty(rows, dtype=step.dtype)
            if spread == "even":
                steps = _drawing_steps(rows, step.cumulative)
                steps.spread_evenly(places, step.cumulative, draw_key(rng), column)
            else:
                _invert(step, places, draw_uniforms(rng, rows), column)
            codes[step.attribute] = column
        return codes

    def _draw_balanced(self, rows: int, rng: np.random.Generator) -> CodesByName:
        codes: CodesByName = {}
        recent = Recent(rows)
        for step in self._draws:
            parents = [name for name, _ in step.parents]
            places = step.places(codes, rows)
            column = share_out(places, step.cumulative, recent, parents, rng).astype(step.dtype)
            recent.add(step.attribute, column, step.cumulative.shape[1])
            codes[step.attribute] = column
        return codes

    def draw_by_rejection(self, rows: int, rng: np.random.Generator) -> CodesByName:
        """Draw independent rows by rejection sampling: those that do not fit the evidence are
        dropped.

        A row that fits by a share (a bin that a condition cuts) is kept with that probability.
        """
        uniforms = _uniforms(rng)
        kept = [self.draw_fitting(min(rows, BATCH), uniforms)]
        tried, found = min(rows, BATCH), _rows(kept[0])
        while found < rows:
            if tried >= max(MIN_TRIES, TRIES_PER_ROW * rows):
                raise InputError(
                    f"Only {found:,} of {tried:,} rows drawn fit the condition; use the method "
                    "'exact' instead."
                )
            # As many as should give the rest, going by the share so far.
            wanted = int(min(max(1.1 * (rows - found) * tried / max(found, 1), BATCH), MAX_BATCH))
            kept.append(self.draw_fitting(wanted, uniforms))
            found += _rows(kept[-1])
            tried += wanted
        return {name: np.concatenate([batch[name] for batch in kept])[:rows] for name in kept[0]}

    def draw_fitting(self, rows: int, uniforms: Uniforms) -> CodesByName:
        """Draw rows and keep those that fit: one pass of rejection sampling.

        ``uniforms`` is asked for as many numbers as rows are left, for each attribute in turn, and
        once more after an attribute whose evidence holds shares other than 0 and 1.
        """
        codes: CodesByName = {}
        for step in self._draws:
            column = np.empty(rows, dtype=step.dtype)
            _invert(step, step.places(codes, rows), uniforms(rows), column)
            codes[step.attribute] = column
            for factor in self._evident.get(step.attribute, []):
                certain = bool(np.isin(factor.table, (0.0, 1.0)).all())
                fits = _shares(factor, codes) > (0.5 if certain else uniforms(rows))
                codes = {name: values[fits] for name, values in codes.items()}
                rows = int(fits.sum())
        return codes

    def draw_weighted(
        self, rows: int, rng: np.random.Generator
    ) -> tuple[CodesByName, NDArray[np.float64]]:
        """Draw rows by likelihood weighting: all fit the evidence, and each has a weight.

        An attribute with evidence is drawn among the codes that fit; the row's weight is multiplied
        by the probability that it would have fitted. A weighted mean over the rows estimates the
        mean given the evidence.
        """
        return self.draw_forced(rows, _uniforms(rng))

    def draw_forced(self, rows: int, uniforms: Uniforms) -> tuple[CodesByName, NDArray[np.float64]]:
        """Likelihood weighting from given uniform numbers, asked for as many as rows, for each
        attribute in turn.

        An attribute of which only one code fits takes no numbers.
        """
        codes: CodesByName = {}
        weights = np.ones(rows)
        for step in self._draws:
            forced = self._forced.get(step.attribute)
            places = step.places(codes, rows)
            column = np.empty(rows, dtype=step.dtype)
            if forced is None:
                _invert(step, places, uniforms(rows), column)
            else:
                weights *= forced.mass[places]
                if forced.certain:
                    numbers = np.zeros(rows)
                else:
                    numbers = uniforms(rows)
                _invert(forced, places, numbers, column)
            codes[step.attribute] = column
            for factor in self._evident.get(step.attribute, []):
                if len(factor.axes) > 1:
                    weights *= _shares(factor, codes)
        return codes, weights

    def draw_by_weight(self, rows: int, rng: np.random.Generator, pool: int = 8) -> CodesByName:
        """Draw ``pool`` times as many rows by likelihood weighting, and of those ``rows`` by
        weight.

        The result is close to a sample given the evidence where the weights are not too unequal;
        heavy rows appear more than once.
        """
        codes, weights = self.draw_weighted(max(rows * pool, BATCH), rng)
        if not weights.any():
            raise InputError(
                "No row drawn by likelihood weighting fits the whole condition; use the method "
                "'exact' instead."
            )
        # Systematic resampling: each row is taken its expected number of times, rounded up or down.
        ends = np.cumsum(weights)
        points = (np.arange(rows) + draw_uniforms(rng, 1)) * (ends[-1] / max(rows, 1))
        last = int(np.flatnonzero(weights)[-1])
        taken = np.minimum(np.searchsorted(ends, points, side="right"), last)
        taken = taken[np.argsort(draw_uniforms(rng, rows), kind="stable")]
        return {name: column[taken] for name, column in codes.items()}


@dataclass(frozen=True)
class _Draw:
    """A node made ready: how to find a row's configuration, and the distributions there."""

    attribute: str
    parents: tuple[tuple[str, NDArray[np.int32]], ...]
    cumulative: NDArray[np.float64]
    mass: NDArray[np.float64]
    """The probability, at each configuration, of the codes that fit."""
    dtype: np.dtype[np.unsignedinteger[Any]]
    certain: bool = False
    """Whether there is nothing to draw: one code fits, no other."""

    @classmethod
    def of(cls, node: Node, schema: Schema, weights: NDArray[Any] | None = None) -> _Draw:
        counts = node.counts
        mass, certain = np.ones(len(counts)), False
        if weights is not None:
            fitting = np.asarray(weights, dtype=np.float64)
            certain = np.count_nonzero(fitting) == 1
            mass = _totals(counts * fitting) / _totals(counts)
            # Where nothing that fits is possible the row has weight 0; any code that fits will do.
            counts = np.where(mass[:, None] > 0, counts * fitting, fitting)
        dtype = np.min_scalar_type(counts.shape[1] - 1)
        return cls(
            node.attribute, _lookups(node, schema), _cumulative(counts), mass, dtype, certain
        )

    def places(self, codes: CodesByName, rows: int) -> NDArray[np.int32]:
        places = np.zeros(rows, dtype=np.int32)
        for name, lookup in self.parents:
            placing_steps(rows).add_places(codes[name], lookup, places)
        return places


def _lookups(node: Node, schema: Schema) -> tuple[tuple[str, NDArray[np.int32]], ...]:
    """For each parent, what each of its codes adds to the number of the configuration."""
    lookups, stride = [], 1
    for axis, side in zip(reversed(node.parents), reversed(node.table.shape[:-1]), strict=True):
        attribute = schema[axis.attribute]
        coarse: NDArray[Any] = np.arange(attribute.size)
        if axis.level:
            coarse = attribute.generalisations[axis.level - 1]
        lookups.append((axis.attribute, (coarse * stride).astype(np.int32)))
        stride *= side
    return tuple(lookups)


def _cumulative(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cumulative distributions, 2 from the last possible value on (see
    :mod:`understudy.models.sampling_kernels`).

    Rows depend on these bounds to the bit. Unlike a sum, a cumulative one is always taken from left
    to right, and the division rounds once more: so the bounds are the same on any machine and with
    any numpy.
    """
    bounds = np.cumsum(counts, axis=1)
    bounds /= bounds[:, -1:].copy()
    size = counts.shape[1]
    last = size - 1 - np.argmax(counts[:, ::-1] > 0, axis=1)
    bounds[np.arange(size) >= last[:, None]] = 2.0
    return np.ascontiguousarray(bounds)


def _totals(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums from left to right."""
    return np.cumsum(counts, axis=1)[:, -1]


def _invert(step: _Draw, places: NDArray[np.int32], numbers: Any, column: NDArray[Any]) -> None:
    steps = _drawing_steps(len(column), step.cumulative)
    steps.invert(places, step.cumulative, np.asarray(numbers, dtype=np.float64), column)


def placing_steps(rows: int) -> Any:
    """The module that looks up the codes of this many rows: compiled where that pays, else "
    "plain.
    """
    return _KERNELS.kernels_for(plain_sampling.placing_seconds(rows)) or plain_sampling


def _drawing_steps(rows: int, cumulative: NDArray[np.float64]) -> Any:
    """The module that draws this many rows; both draw the same."""
    seconds = plain_sampling.drawing_seconds(rows, *cumulative.shape)
    return _KERNELS.kernels_for(seconds) or plain_sampling


def _load_kernels() -> Any:
    from understudy.models import sampling_kernels

    return sampling_kernels


_KERNELS = PlainFirst(_load_kernels, Path(__file__).with_name("sampling_kernels.py"), compiling=1.3)


def _rows(codes: CodesByName) -> int:
    return len(next(iter(codes.values())))


def _shares(factor: Factor, codes: CodesByName) -> NDArray[np.float64]:
    return factor.table[tuple(codes[str(name)] for name, _ in factor.axes)]


def _uniforms(rng: np.random.Generator) -> Uniforms:
    return lambda rows: draw_uniforms(rng, rows)
