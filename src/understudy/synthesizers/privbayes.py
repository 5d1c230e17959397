"""PrivBayes (Zhang, Cormode, Procopiuc, Srivastava, Xiao; TODS 2017): a private Bayesian network.

Three phases. *Structure*: grow a network attribute by attribute, each time choosing an attribute-parent pair by a
private choice with a score of how much the parents tell about the child (algorithms 2 and 4). *Parameters*: measure
one noisy table for each pair (algorithms 1 and 3). *Sampling*: draw rows from the network, parents first; that is
post-processing and belongs to the model.

``PrivBayes(...)`` is the best that is known here at the same guarantee; ``PrivBayes.paper(...)`` is the paper to the
letter.
"""

from __future__ import annotations

import gc
import itertools
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from understudy.curator import Curator, Measurement
from understudy.curator.budget import Budget
from understudy.curator.mechanisms import Rule, mean_noise
from understudy.curator.scores import Information
from understudy.errors import InputError
from understudy.marginals import Axis, Marginal
from understudy.model import Model
from understudy.networks.bits import Bits
from understudy.networks.consistency import agreed
from understudy.networks.network import Network, Node
from understudy.networks.parameters import Repair, estimated_rows, repaired
from understudy.networks.parent_sets import (
    MOST_SETS,
    AllParentSets,
    MaximalParentSets,
    Sizes,
    affordable_degree,
    subsets,
    surely_too_many,
    too_many,
)
from understudy.schema import Category, Quantity, Schema
from understudy.synthesizers import Progress, Synthesizer
from understudy.synthesizers.independent import Independent

Pair = tuple[str, Marginal]
"""An attribute and its parents."""


@dataclass(frozen=True, kw_only=True)
class PrivBayes(Synthesizer):
    """A private Bayesian network.

    Parameters
    ----------
    degree
        The number of parents an attribute has (algorithm 2); by default decided by theta-usefulness.
    beta
        The share of the budget that goes to the structure. Where no attribute can have a parent, all of it goes to the
        parameters.
    theta
        How many times larger than the noise the average count of a table must be for it to be considered. By default 3
        for maximal parent sets and 1 where larger tables have a handicap anyway.
    score
        "R" (dependence), "I" (mutual information), "F" (attributes with two values only), or "auto" (the paper): F
        where all attributes have two values, R otherwise. On binary data F costs more time than R, and was not more
        accurate in this mode.
    encoding
        "vanilla" (attributes as they are), "hierarchical" (parents may be generalised by taxonomies and by trees over
        bins), "binary" or "gray" (attributes taken apart into bits), or "auto": hierarchical where some attribute can
        be generalised, otherwise vanilla.
    tables
        "fixed": every attribute has the same number of parents (algorithms 1 and 2); "bounded": tables have at most
        as many cells as theta-usefulness allows (algorithms 3 and 4); "auto": fixed where a degree is given and, in
        the paper's mode, where all attributes have two values; bounded otherwise.
    candidates
        Among bounded tables, "maximal": parent sets that cannot be made larger (the paper); "all": every parent set,
        those with larger tables at a handicap; "auto": maximal where all attributes have two values, otherwise all.
    penalty
        The handicap of a table among all: this times half of its expected noise. It is public, so it costs nothing.
    repair
        How noisy counts become counts that could be real: "project" or "clip" (the paper).
    consistent
        Whether tables that share attributes are made to agree on them; by default where some attribute has more than
        two values.
    rule
        How a choice is made: "permute_and_flip" or "exponential" (the paper).
    target
        An attribute that will be told from the others: it is a parent of every other one (as far as tables may be so
        large). With a degree of 1 that leaves nothing to choose, so the whole budget goes to the tables; the network
        is the one that the naive Bayes classifier assumes.

    See Also
    --------
    understudy.synthesizers.Synthesizer : the parameters that all methods share.

    Examples
    --------
    >>> model = PrivBayes(epsilon=1.0).fit("patients.csv", "schema.json")   # doctest: +SKIP
    """

    degree: int | None = None
    beta: float = 0.3
    theta: float | None = None
    score: Literal["auto", "I", "F", "R"] = "R"
    encoding: Literal["auto", "vanilla", "hierarchical", "binary", "gray"] = "auto"
    tables: Literal["auto", "fixed", "bounded"] = "auto"
    candidates: Literal["auto", "all", "maximal"] = "auto"
    penalty: float = 0.15
    repair: Repair = "project"
    consistent: bool | None = None
    rule: Rule = "permute_and_flip"
    target: str | None = None
    table_power: float = 1 / 3
    """A table's share of the parameters' budget is proportional to this power of its cells."""
    to_the_letter: bool = False

    @classmethod
    def paper(cls, epsilon: float, **parameters: Any) -> PrivBayes:
        """The paper to the letter: replace, maximal parent sets, theta 4, clip-and-normalise, its sensitivities."""
        letter: dict[str, Any] = {
            "neighbours": "replace",
            "theta": 4.0,
            "score": "auto",
            "candidates": "maximal",
            "repair": "clip",
            "consistent": False,
            "rule": "exponential",
            "table_power": 0.0,
            "to_the_letter": True,
        }
        return cls(epsilon=epsilon, **(letter | parameters))

    @property
    def name(self) -> str:
        """On the command line: ``--method privbayes``."""
        return "privbayes"

    @property
    def named(self) -> frozenset[str]:
        """The target."""
        return frozenset(() if self.target is None else (self.target,))

    def check(self, schema: Schema | None) -> None:
        """Refuse parameters that make no sense, or not with this schema."""
        _check_range("beta", self.beta, 0, 1, open_ended=True)
        if self.theta is not None:
            _check_range("theta", self.theta, 0, math.inf, open_ended=True)
        _check_range("penalty", self.penalty, 0, math.inf)
        _check_range("table_power", self.table_power, 0, 1)
        _check_choice("score", self.score, ("auto", "I", "F", "R"))
        _check_choice(
            "encoding", self.encoding, ("auto", "vanilla", "hierarchical", "binary", "gray")
        )
        _check_choice("tables", self.tables, ("auto", "fixed", "bounded"))
        _check_choice("candidates", self.candidates, ("auto", "all", "maximal"))
        _check_choice("repair", self.repair, ("project", "clip"))
        _check_choice("rule", self.rule, ("permute_and_flip", "exponential"))
        if self.consistent not in (None, True, False):
            raise InputError(f"consistent must be True or False, not {self.consistent!r}.")
        if self.degree is not None and (
            isinstance(self.degree, bool) or not isinstance(self.degree, int) or self.degree < 0
        ):
            raise InputError(f"degree must be a whole number at or above 0, not {self.degree!r}.")
        if self.target is not None and not isinstance(self.target, str):
            raise InputError(f"target must be the name of a column, not {self.target!r}.")
        if self.target is not None and self.encoding in ("binary", "gray"):
            raise InputError(
                "A target goes with attributes as they are, not with their bits; use another encoding."
            )
        if self.target is not None and self.degree == 0:
            raise InputError(
                "With a degree of 0 no attribute has the target as a parent; give a degree of at least 1."
            )
        if self.degree is not None and self.tables == "bounded":
            raise InputError(
                "A degree goes with fixed tables; bounded tables have as many parents as fit."
            )
        if schema is not None:
            self._check_schema(schema)

    def _check_schema(self, schema: Schema) -> None:
        if self.target is not None and self.target not in {
            attribute.name for attribute in schema.modelled
        }:
            raise InputError(
                f"There is no column {self.target!r} that is modelled; give another target."
            )
        sizes = [attribute.size for attribute in schema.modelled if attribute.size > 1]
        if self.encoding in ("binary", "gray"):
            Bits(schema, self.encoding == "gray").check()
            sizes = [2] * sum((size - 1).bit_length() for size in sizes)
        if self.score == "F" and max(sizes, default=2) > 2:
            raise InputError(
                "Score F is for attributes with two values; use R, or a binary or Gray encoding."
            )
        if self.degree is not None:
            self._check_degree(sizes)

    def _check_degree(self, sizes: list[int]) -> None:
        degree = self.degree
        assert degree is not None
        if degree and degree >= len(sizes):
            raise InputError(
                f"A degree of {degree} needs {degree + 1} attributes with more than one value; there are {len(sizes)}."
            )
        if math.comb(max(len(sizes) - 1, 0), degree) > MOST_SETS:
            raise too_many()
        largest = math.prod(sorted(sizes)[-(degree + 1) :])
        if largest > LARGEST_TABLE:
            raise InputError(
                f"A degree of {degree} would need tables of up to {largest:,} cells; give a smaller one or fewer bins."
            )

    # ---- the method

    def learn(self, curator: Curator, budget: Budget, progress: Progress) -> Model:
        """Structure, then parameters."""
        whole = curator.schema
        if all(
            attribute.size == 1 for attribute in whole.modelled
        ):  # only the number of rows can be learned
            return replace(
                Independent(epsilon=self.epsilon).learn(curator, budget, progress),
                method=self.parameters(),
            )
        bits = Bits(whole, self.encoding == "gray") if self.encoding in ("binary", "gray") else None
        if bits is not None:
            curator = curator.in_bits(bits)
        attributes = [attribute.name for attribute in curator.schema.modelled if attribute.size > 1]
        rows, measured, budget = self._rows(curator, budget)
        search = _Search(self, curator, attributes, rows, budget)
        with _collector_at_rest():
            pairs = search.greedy_bayes(progress)
        progress("measuring tables", 0, 1)
        network, rows = self._noisy_conditionals(
            curator, pairs, search.parameters, measured, rows, search.derive
        )
        progress("measuring tables", 1, 1)
        return Model(self.parameters(), whole, network, curator.ledger, round(rows), bits=bits)

    def _rows(self, curator: Curator, budget: Budget) -> tuple[float, list[Measurement], Budget]:
        """The number of rows: public under replace, measured otherwise."""
        if curator.rows is not None:
            return float(curator.rows), [], budget
        share, rest = budget.split(ROWS_SHARE, 1 - ROWS_SHARE)
        measured = curator.measure([()], share)
        return max(float(measured[0].counts), 1.0), measured, rest

    def _noisy_conditionals(
        self,
        curator: Curator,
        pairs: Sequence[Pair],
        budget: Budget,
        measured: list[Measurement],
        rows: float,
        derive: bool,
    ) -> tuple[Network, float]:
        """Algorithms 1 and 3: a noisy table for each pair, made into one that could be real.

        A table whose attributes all stand in another one is not measured but derived from it. In algorithm 1 those are
        the tables of the first k attributes.
        """
        families = [(*parents, Axis(child)) for child, parents in pairs]
        sizes = {a.name: a.sizes_by_level() for a in curator.schema.modelled}
        cells = [
            math.prod(sizes[axis.attribute][axis.level] for axis in family) for family in families
        ]
        homes = _homes(families, cells) if derive else list(range(len(families)))
        asked = sorted(set(homes))
        if asked:
            weights = [cells[i] ** self.table_power for i in asked]
            tables = curator.measure([families[i] for i in asked], budget, weights)
            rows = estimated_rows([*measured, *tables]) if curator.rows is None else rows
            binary = all(attribute.size <= 2 for attribute in curator.schema.modelled)
            if self.consistent or (
                self.consistent is None and (self.target is not None or not binary)
            ):
                counts = agreed(tables, curator.schema, rows, self.repair, self.target)
            else:
                counts = [repaired(table.counts, rows, self.repair) for table in tables]
            at = {home: (counts[place], tables[place]) for place, home in enumerate(asked)}
        nodes = []
        for place, (child, parents) in enumerate(pairs):
            table, measurement = at[homes[place]]
            spare = tuple(
                i for i, axis in enumerate(measurement.marginal) if axis not in families[place]
            )
            summed = math.prod(table.shape[i] for i in spare)
            kept = [axis for axis in measurement.marginal if axis in families[place]]
            table = table.sum(axis=spare).transpose([kept.index(axis) for axis in families[place]])
            nodes.append(Node(child, parents, table, measurement.deviation * math.sqrt(summed)))
        known = {child for child, _ in pairs}
        constant = [a.name for a in curator.schema.modelled if a.name not in known]
        nodes += [Node(name, (), np.array([rows])) for name in constant]
        return Network(tuple(nodes)), rows


ROWS_SHARE = 0.01
"""The share of the budget that goes to the number of rows where that is private."""

LARGEST_TABLE = 1 << 24
"""Tables of more cells than this are not considered."""


class _Search:
    """The first phase: which attribute-parent pairs, under which bound, with which part of the budget."""

    def __init__(
        self,
        method: PrivBayes,
        curator: Curator,
        attributes: Sequence[str],
        rows: float,
        budget: Budget,
    ) -> None:
        self.method = method
        self.curator = curator
        self.attributes = list(attributes)
        self.sizes = self._sizes()
        self.rows = rows
        self.binary = all(sizes[0] == 2 for sizes in self.sizes.values())
        structure, self.parameters = budget.split(method.beta, 1 - method.beta)
        self.fixed = method.tables == "fixed" or (
            method.tables == "auto"
            and (method.degree is not None or (self.binary and method.to_the_letter))
        )
        # Algorithm 1 derives the tables of the first k attributes, algorithm 3 measures all tables.
        self.derive = self.fixed or not method.to_the_letter
        self.handicapped = not self.fixed and (
            method.candidates == "all" or (method.candidates == "auto" and not self.binary)
        )
        self.theta = (
            method.theta if method.theta is not None else (1.0 if self.handicapped else 3.0)
        )
        self.degree = (
            self._useful_degree() if self.fixed and method.degree is None else method.degree
        )
        self.bound = math.inf if self.fixed else min(self._useful_cells(), LARGEST_TABLE)
        if self.binary and not self.fixed and not method.to_the_letter:
            most = affordable_degree(self.sizes, self.bound, MOST_FAMILIES, cumulative=False)
            self.bound = min(self.bound, 2.0 ** (most + 1))
        if self._no_choice():
            structure, self.parameters = budget.split(0.0, 1.0)
        elif self._too_many_sets():
            raise too_many()
        self.structure = structure

    def _sizes(self) -> Sizes:
        """The sizes at each level that a parent may have: one level only without hierarchical encoding."""
        schema = self.curator.schema
        encoding = self.method.encoding
        if encoding == "auto":
            natural = any(
                isinstance(a, Quantity) or (isinstance(a, Category) and a.taxonomy)
                for a in schema.modelled
            )
            encoding = "hierarchical" if natural else "vanilla"
        deep = encoding == "hierarchical"
        return {
            name: schema[name].sizes_by_level() if deep else (schema[name].size,)
            for name in self.attributes
        }

    # ---- theta-usefulness

    def _useful_degree(self) -> int:
        """The largest k for which tables of k + 1 attributes, even the largest, are theta-useful (lemma 4.8), or 0."""
        d = len(self.attributes)
        largest = sorted((levels[0] for levels in self.sizes.values()), reverse=True)
        for k in range(d - 1, 0, -1):
            cells = math.prod(largest[: k + 1])
            if cells <= LARGEST_TABLE and self.rows / cells >= self.theta * self._noise(d - k):
                return k
        return 0

    def _useful_cells(self) -> float:
        """The largest number of cells for which a table is theta-useful (section 5.2)."""
        return self.rows / (self.theta * self._noise(len(self.attributes)))

    def _noise(self, tables: int) -> float:
        """The average size of the noise in a cell when the parameters' budget is split over so many tables."""
        cost = self.parameters.equally(max(tables, 1))[0]
        return mean_noise(cost, self.curator.neighbours, self.curator.ledger.rows_per_person)

    def _no_parents(self) -> bool:
        if len(self.attributes) < 2 or self.degree == 0:
            return True
        pairs = itertools.permutations(self.sizes.values(), 2)
        return min(child[0] * min(parent) for child, parent in pairs) > self.bound

    @property
    def target(self) -> str | None:
        """What every other attribute has as a parent; one with a single value tells nothing and needs none."""
        return self.method.target if self.method.target in self.sizes else None

    def _no_choice(self) -> bool:
        """Whether the network is known beforehand."""
        return self._no_parents() or (self.target is not None and self.fixed and self.degree == 1)

    def _too_many_sets(self) -> bool:
        """Told before the first choice; the default search has a smaller bound or degree instead."""
        if self.fixed:
            assert self.degree is not None
            return math.comb(len(self.attributes) - 1, self.degree) > MOST_SETS
        return not self.handicapped and surely_too_many(self.sizes, self.bound)

    # ---- algorithms 2 and 4

    def greedy_bayes(self, progress: Progress) -> list[Pair]:
        """Grow the network: the first attribute is the target or drawn, each other one is chosen with its parents."""
        if self._no_parents():
            return [(name, ()) for name in self.attributes]
        left = list(self.attributes)
        first = self.target or left[self.curator.toss(len(left))]
        left.remove(first)
        pairs: list[Pair] = [(first, ())]
        if self._no_choice():
            return pairs + [(name, (Axis(first),)) for name in left]
        steps = self.structure.equally(len(left))
        pool = _Pool(self)
        for step, budget in enumerate(steps):
            progress("learning the network", step, len(steps))
            candidates = pool.candidates([child for child, _ in pairs], left)
            if len(candidates) == 1 and not self.method.to_the_letter:
                self.parameters = self.parameters.plus(
                    budget
                )  # no choice, no cost: the tables get it
            place = self.curator.choose(
                candidates, self._score(), budget, pool.offsets(left), self.method.rule
            )
            chosen = candidates[place]
            pairs.append((chosen[0].attribute, chosen[1:]))
            left.remove(chosen[0].attribute)
        return pairs

    def _score(self) -> str:
        score = self.method.score
        if score == "auto":
            score = "F" if self.binary else "R"
        return "R of the paper" if score == "R" and self.method.to_the_letter else score

    @property
    def handicap_unit(self) -> float:
        """What each cell of a candidate's table takes off its score: half of its noise, times the penalty."""
        unit = self.method.penalty * self._noise(len(self.attributes)) / 2
        # Under add_remove score I is in other units, which go by the number of rows; about is good enough here.
        scaled = self._score() == "I" and self.curator.neighbours == "add_remove"
        return unit / Information.unit(self.rows) if scaled else unit


class _Pool:
    """The candidates of each step, grown as the network grows."""

    def __init__(self, search: _Search) -> None:
        self.search = search
        self.maximal = MaximalParentSets(search.sizes)
        self.of_child: dict[str, list[Marginal]] = {}
        self.handicaps: dict[str, list[float]] = {}
        if search.handicapped:
            finest = {name: levels[:1] for name, levels in search.sizes.items()}
            smallest = min(levels[0] for levels in finest.values())
            self.every = AllParentSets(
                search.sizes,
                search.bound / smallest,
                affordable_degree(finest, search.bound, MOST_FINE_FAMILIES),
                affordable_degree(search.sizes, search.bound, MOST_COARSE_FAMILIES),
            )

    def candidates(self, placed: list[str], left: list[str]) -> list[Marginal]:
        """Attribute-parent pairs, the attribute's axis first."""
        search = self.search
        if search.fixed:
            assert search.degree is not None
            if search.target is None:
                sets = subsets(placed, search.degree)
            else:
                sets = [
                    (Axis(search.target), *more) for more in subsets(placed[1:], search.degree - 1)
                ]
            return [(axis, *parents) for axis in map(Axis, left) for parents in sets]
        if search.handicapped:
            return self._all(placed, left)
        pairs: list[Marginal] = []
        for child in left:
            pairs += self._maximal(child, placed)
            if len(pairs) > MOST_SETS:
                raise too_many()
        return pairs

    def _must(self, child: str) -> Axis | None:
        """The parent that an attribute must have: the target, unless a table with it would be too large."""
        search = self.search
        if (
            search.target is None
            or search.sizes[child][0] * search.sizes[search.target][0] > search.bound
        ):
            return None
        return Axis(search.target)

    def _maximal(self, child: str, placed: list[str]) -> list[Marginal]:
        must = self._must(child)
        found = self.maximal(placed, self.search.bound / self.search.sizes[child][0])
        sets = [parents for parents in found if not must or must in parents]
        axis = Axis(child)
        return [(axis, *parents) for parents in sets] or [(axis,)]

    def _all(self, placed: list[str], left: list[str]) -> list[Marginal]:
        search = self.search
        unit = search.handicap_unit
        if not self.of_child:
            alone = {child for child in left if self._must(child) is None}
            self.of_child = {child: [(Axis(child),)] if child in alone else [] for child in left}
            self.handicaps = {
                child: [unit * search.sizes[child][0]] if child in alone else [] for child in left
            }
        grown = self.every.grown_by(placed[-1])
        for child in left:
            size, axis = search.sizes[child][0], Axis(child)
            room = search.bound / size
            must = self._must(child)
            mine = [
                (parents, cells)
                for parents, cells in grown
                if cells <= room and (not must or must in parents)
            ]
            self.of_child[child] += [(axis, *parents) for parents, _ in mine]
            self.handicaps[child] += [unit * size * cells for _, cells in mine]
        if sum(len(self.of_child[child]) for child in left) > MOST_SETS:
            raise too_many()
        return [pair for child in left for pair in self.of_child[child]]

    def offsets(self, left: list[str]) -> NDArray[np.float64] | None:
        """What is taken off the candidates' scores, in the same order: public, so it costs nothing."""
        if not self.search.handicapped:
            return None
        return -np.array([handicap for child in left for handicap in self.handicaps[child]])


MOST_FAMILIES = 250_000
MOST_FINE_FAMILIES = 50_000
MOST_COARSE_FAMILIES = 10_000
"""How many families of attributes the default search scores: of two values each, as they are, and generalised."""


def _homes(families: Sequence[Marginal], cells: Sequence[int]) -> list[int]:
    """For each family the table that it is read off: its own, or the smallest that holds all its axes and is measured.

    Measured are the families that lie in no other one (of equal ones, the first).
    """
    sets = [frozenset(family) for family in families]
    measured = [
        place
        for place, mine in enumerate(sets)
        if not any(mine < other or (mine == other and i < place) for i, other in enumerate(sets))
    ]
    return [
        min((m for m in measured if mine <= sets[m]), key=lambda m: (cells[m], m)) for mine in sets
    ]


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    """Hundreds of thousands of small tuples and no cycles: the garbage collector would walk them again and again."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def _check_range(
    name: str, value: Any, low: float, high: float, *, open_ended: bool = False
) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    inside = number and (low < value < high if open_ended else low <= value <= high)
    if not inside or not math.isfinite(value):
        raise InputError(
            f"{name} must be a number {'above' if open_ended else 'from'} {low:g} "
            f"{'and below' if open_ended else 'to'} {high:g}, not {value!r}."
        )


def _check_choice(name: str, value: Any, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InputError(f"{name} must be one of {', '.join(known)}, not {value!r}.")


def correlated(epsilon: float, degree: int = 2, **parameters: Any) -> PrivBayes:
    """DataSynthesizer's correlated attribute mode: PrivBayes with a given number of parents."""
    return replace(PrivBayes(epsilon=epsilon, **parameters), degree=degree)
