"""PrivBayes (Zhang, Cormode, Procopiuc, Srivastava, Xiao; TODS 2017): a private Bayesian network.

Three phases. *Structure*: grow a network attribute by attribute, each time choosing an
attribute-parent pair by a private choice with a score of how much the parents tell about the child
(algorithms 2 and 4). *Parameters*: measure one noisy table for each pair (algorithms 1 and 3).
*Sampling*: draw rows from the network, parents first; that is post-processing and belongs to the
model.

``PrivBayes(...)`` is the best that is known here at the same guarantee; ``PrivBayes.paper(...)`` is
the paper to the letter.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

from understudy.data.bits import Bits
from understudy.data.schema import Schema
from understudy.errors import InputError
from understudy.models.model import Model
from understudy.models.parameters import Repair
from understudy.privacy.budget import Budget
from understudy.privacy.curator import Curator, Measurement
from understudy.privacy.mechanisms import ChoiceRule
from understudy.release.callbacks import Progress
from understudy.synthesizers import AuditedGuarantee, Synthesizer
from understudy.synthesizers.given_network import (
    GivenNetwork,
    NetworkPairs,
    check_network,
    network_pairs,
    sort_network,
)
from understudy.synthesizers.independent import learn_rows_only
from understudy.synthesizers.parameters import (
    Choice,
    ColumnName,
    Flag,
    Optional,
    Proportion,
    RealNumber,
    WholeNumber,
    parameter,
    repair_parameter,
)
from understudy.synthesizers.parent_sets import MAX_FAMILY_CELLS, MAX_PARENT_SETS, too_many
from understudy.synthesizers.privbayes_paper import LETTER
from understudy.synthesizers.privbayes_search import Search
from understudy.synthesizers.privbayes_tables import measure_network
from understudy.synthesizers.registry import register, register_variant

ROWS_SHARE = 0.01
"""The share of the budget that goes to the number of rows where that is private."""


@register(
    "privbayes",
    summary="how columns depend on each other, as far as the budget allows",
    cost="a choice and a noisy table per column",
    curators=("central", "federated", "local", "encrypted"),
    presets={"paper": "PrivBayes as published, to the letter (neighbours: replace)."},
)
@dataclass(frozen=True, kw_only=True)
class PrivBayes(Synthesizer):
    """A private Bayesian network.

    Parameters
    ----------
    degree
        The number of parents an attribute has (algorithm 2); by default decided by
        theta-usefulness.
    beta
        The share of the budget that goes to the structure. Where no attribute can have a parent,
        all of it goes to the parameters.
    theta
        How many times larger than the noise the average count of a table must be for it to be
        considered. By default 3 for maximal parent sets and 1 where larger tables have a handicap
        anyway.
    score
        "R" (dependence), "I" (mutual information), "F" (attributes with two values only), or "auto"
        (the paper): F where all attributes have two values, R otherwise. On binary data F costs
        more time than R, and was not more accurate in this mode.
    encoding
        "vanilla" (attributes as they are), "hierarchical" (parents may be generalised by taxonomies
        and by trees over bins), "binary" or "gray" (attributes taken apart into bits), or "auto":
        hierarchical where some attribute can be generalised, otherwise vanilla.
    tables
        "fixed": every attribute has the same number of parents (algorithms 1 and 2); "bounded":
        tables have at most as many cells as theta-usefulness allows (algorithms 3 and 4); "auto":
        fixed where a degree is given and, in the paper's mode, where all attributes have two
        values; bounded otherwise.
    candidates
        Among bounded tables, "maximal": parent sets that cannot be made larger (the paper); "all":
        every parent set, those with larger tables at a handicap; "auto": maximal where all
        attributes have two values, otherwise all.
    penalty
        The handicap of a table among all: this times half of its expected noise. It is public, so
        it costs nothing.
    repair
        How noisy counts become counts that could be real: "project" or "clip" (the paper).
    consistent
        Whether tables that share attributes are made to agree on them; by default where some
        attribute has more than two values.
    rule
        How a choice is made: "permute_and_flip" or "exponential" (the paper).
    target
        An attribute that will be told from the others: it is a parent of every other one (as far as
        tables may be so large). With a degree of 1 that leaves nothing to choose, so the whole
        budget goes to the tables; the network is the one that the naive Bayes classifier assumes.
    network
        Each column with its parents, as somebody who knows the subject has drawn it:
        ``[("age", ()), ("education", ("age",)), ...]``, or what :func:`~understudy.chow_liu` and
        :func:`~understudy.greedy_bayes` find in a public table. Then nothing is chosen, and the
        whole budget goes to the tables. On the command line, a JSON file.

    See Also
    --------
    understudy.synthesizers.Synthesizer : the parameters that all methods share.

    Examples
    --------
    >>> model = PrivBayes(epsilon=1.0).fit("patients.csv", "schema.json")   # doctest: +SKIP
    """

    degree: int | None = parameter(
        None,
        Optional(WholeNumber(0)),
        "Parents of each attribute; as many as are useful when not given.",
    )
    beta: float = parameter(0.3, Proportion(), "Share of the budget for the network's structure.")
    theta: float | None = parameter(
        None, Optional(RealNumber(above=0)), "How useful a table must be to be considered."
    )
    score: Literal["auto", "I", "F", "R"] = parameter(
        "R",
        Choice("auto", "I", "F", "R"),
        "How candidates are compared; auto: F where all is binary, else R.",
    )
    encoding: Literal["auto", "vanilla", "hierarchical", "binary", "gray"] = parameter(
        "auto",
        Choice("auto", "vanilla", "hierarchical", "binary", "gray"),
        "How attributes are taken: vanilla (as they are), hierarchical (parents generalised), "
        "binary or gray (bits), or auto.",
        option="attribute-encoding",  # --encoding is that of the file
    )
    tables: Literal["auto", "fixed", "bounded"] = parameter(
        "auto",
        Choice("auto", "fixed", "bounded"),
        "The same number of parents for all, or as many as fit.",
        option=None,
    )
    candidates: Literal["auto", "all", "maximal"] = parameter(
        "auto",
        Choice("auto", "all", "maximal"),
        "Which parent sets are considered among bounded tables.",
        option=None,
    )
    penalty: float = parameter(
        0.15,
        RealNumber(low=0),
        "Handicap of a table, in halves of its expected noise.",
        option=None,
    )
    repair: Repair = repair_parameter()
    consistent: bool | None = parameter(
        None, Optional(Flag()), "Whether tables are made to agree on what they share.", option=None
    )
    rule: ChoiceRule = parameter(
        "permute_and_flip",
        Choice("permute_and_flip", "exponential"),
        "How a private choice is made.",
        option=None,
    )
    target: str | None = parameter(
        None, Optional(ColumnName()), "A column to be predicted: a parent of every other one."
    )
    network: GivenNetwork | None = parameter(
        None,
        Optional(NetworkPairs()),
        "A JSON file that says which columns each column depends on; nothing is chosen then.",
    )
    table_power: float = parameter(
        1 / 3,
        RealNumber(low=0, high=1),
        "A table's share of the budget is proportional to this power of its cells.",
        option=None,
    )
    to_the_letter: bool = parameter(False, Flag(), "The paper to the letter.", option=None)

    @classmethod
    def paper(cls, epsilon: float, **parameters: Any) -> PrivBayes:
        """The paper to the letter: replace, maximal parent sets, theta 4, clip-and-normalise, its
        sensitivities.
        """
        return cls(epsilon=epsilon, **{**LETTER, **parameters})

    @property
    def named(self) -> frozenset[str]:
        """The target, and the columns of a given network."""
        columns = [child for child, _ in self.network or ()]
        if self.target is not None:
            columns.append(self.target)
        return frozenset(columns)

    def check_parameters(self) -> None:
        """Refuse values that do not go together."""
        if self.network is not None:
            self._check_network_alone()
        if self.target is not None and self.encoding in ("binary", "gray"):
            raise InputError(
                "A target goes with attributes as they are, not with their bits; "
                "use another encoding."
            )
        if self.target is not None and self.degree == 0:
            raise InputError(
                "With a degree of 0 no attribute has the target as a parent; "
                "give a degree of at least 1."
            )
        if self.degree is not None and self.tables == "bounded":
            raise InputError(
                "A degree goes with fixed tables; bounded tables have as many parents as fit."
            )

    def _check_network_alone(self) -> None:
        """Refuse a network that is none, and what would choose another one."""
        assert self.network is not None
        sort_network(self.network)
        if self.degree is not None or self.target is not None:
            raise InputError(
                "A network says what depends on what; leave degree and target out beside it."
            )
        if self.encoding not in ("auto", "vanilla"):
            raise InputError(
                f"A network is over columns as they are, not over an encoding {self.encoding}; "
                "leave that out."
            )

    def check(self, schema: Schema) -> None:
        """Refuse parameters that do not go with the schema."""
        if self.network is not None:
            check_network(self.network, schema, MAX_FAMILY_CELLS)
            return
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
                f"A degree of {degree} needs {degree + 1} attributes with more than one value; "
                f"there are {len(sizes)}."
            )
        if math.comb(max(len(sizes) - 1, 0), degree) > MAX_PARENT_SETS:
            raise too_many()
        largest = math.prod(sorted(sizes)[-(degree + 1) :])
        if largest > MAX_FAMILY_CELLS:
            raise InputError(
                f"A degree of {degree} would need tables of up to {largest:,} cells; give a "
                "smaller one or fewer bins."
            )

    @classmethod
    def audit_settings(cls, audited: AuditedGuarantee) -> dict[str, Synthesizer]:
        """The default and the paper, with each score, encoding and relation at least once."""
        plain = cls(epsilon=audited.epsilon)
        one = replace(plain, degree=1)
        return {
            "privbayes": plain,
            "privbayes, degree 1": one,
            "privbayes, degree 2, replace": replace(plain, degree=2, neighbours="replace"),
            "privbayes, bits, score F": replace(one, encoding="binary", score="F"),
            "privbayes, score I, replace": replace(one, score="I", neighbours="replace"),
            "privbayes, the paper": cls.paper(audited.epsilon),
            "privbayes, the paper, degree 1": cls.paper(audited.epsilon, degree=1),
            f"privbayes, degree 1, {audited.delta_name}": replace(one, delta=audited.delta),
            f"privbayes, degree 1, {audited.person_name}": audited.for_persons(one),
        }

    # ---- the method

    def learn(self, curator: Curator, budget: Budget, progress: Progress) -> Model:
        """Structure, then parameters."""
        whole = curator.schema
        if all(attribute.size == 1 for attribute in whole.modelled):
            return learn_rows_only(self, curator, budget, progress)
        if self.network is not None:
            return self._learn_tables(curator, budget, progress)
        bits = None
        if self.encoding in ("binary", "gray"):
            bits = Bits(whole, self.encoding == "gray")
            curator = curator.in_bits(bits)
        attributes = [attribute.name for attribute in curator.schema.modelled if attribute.size > 1]
        rows, measured, budget = self._count_rows(curator, budget)
        search = Search(self, curator, attributes, rows, budget)
        with _pause_garbage_collection():
            pairs = search.greedy_bayes(progress)
        progress("measuring tables", 0, 1)
        network, rows = measure_network(
            self,
            curator,
            pairs,
            search.parameters,
            rows=rows,
            measured=measured,
            derive=search.derive,
        )
        progress("measuring tables", 1, 1)
        return Model(self.parameters(), whole, network, curator.ledger, round(rows), bits=bits)

    def _learn_tables(self, curator: Curator, budget: Budget, progress: Progress) -> Model:
        """The tables of a given network; the number of rows is read off them."""
        assert self.network is not None
        pairs = network_pairs(self.network, curator.schema)
        progress("measuring tables", 0, 1)
        rows = float(curator.rows or 0)
        network, rows = measure_network(self, curator, pairs, budget, rows=rows)
        progress("measuring tables", 1, 1)
        return Model(self.parameters(), curator.schema, network, curator.ledger, round(rows))

    def _count_rows(
        self, curator: Curator, budget: Budget
    ) -> tuple[float, list[Measurement], Budget]:
        """The number of rows: public under replace, measured otherwise."""
        if curator.rows is not None:
            return float(curator.rows), [], budget
        share, rest = budget.split(ROWS_SHARE, 1 - ROWS_SHARE)
        measured = curator.measure([()], share)
        return max(float(measured[0].counts), 1.0), measured, rest


@contextmanager
def _pause_garbage_collection() -> Iterator[None]:
    """Hundreds of thousands of small tuples and no cycles: the garbage collector would walk them
    again and again.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


register_variant(
    "correlated",
    PrivBayes,
    summary="how columns depend on each other; --degree says on how many",
    cost="a choice and a noisy table per column",
    degree=2,
)
