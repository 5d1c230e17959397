"""Constraints as factors of a model: its distribution, given that every row keeps them.

Each rule becomes a table of zeros and ones over the codes of its columns: 1 where the bins leave
room for values that keep it. Where several rules share a column with bins, bins that leave room for
each may leave none for all; such rules get one table together. Given these tables, the network is
another network (:func:`understudy.models.conditioning.condition_network`), so that rows are drawn
as fast as any others, and exactly. What would need a table of more than ``MAX_CONSTRAINED_CELLS``
cells on the way is left to rejection: rows that break it are drawn again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from understudy.data.atoms import Among, Rule, RuleAtom, Within
from understudy.data.bits import Bits
from understudy.data.room import place
from understudy.data.rules import Rules
from understudy.data.schema import Attribute, Quantity, Schema
from understudy.errors import InputError
from understudy.models.conditioning import condition_network
from understudy.models.factors import Domains, Factor, family
from understudy.models.inference import (
    ImpossibleError,
    TooLargeError,
    ancestors,
    elimination_order,
)
from understudy.models.network import Network, Node
from understudy.models.query.subsets import Subset
from understudy.models.rule_tables import RuleTable, factor_of, product_of, table_of
from understudy.models.sampling import CodesByName, ancestral

MAX_CONSTRAINED_CELLS = 1 << 22
"""Of a table that conditioning on constraints goes through."""

MAX_JOINT_CELLS = 1 << 18
"""Of the table of several rules that share columns."""

MAX_TRIES_PER_ROW = 1_000
MIN_CONSTRAINED_TRIES = 1 << 22
"""Rejection gives up after as many rows as the larger of these allows."""

TRIAL_ROWS = 1 << 16
"""Rows among which one must keep constraints that are too large for a table."""

CONSTRAINT_SMOOTHING = 1e-3
"""Rows added to every cell of a network that leaves the constraints no row."""

RowDraw = Callable[[int, np.random.Generator], CodesByName]


class Restriction:
    """Rules, made ready for a network.

    Parameters
    ----------
    rules
        What must hold in every row.

    Attributes
    ----------
    tables
        Rules as tables over codes.
    unlisted
        Rules whose tables would be too large: they are checked row by row.
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.tables: list[RuleTable] = []
        self.unlisted: list[Rules] = []
        for group in rules.groups:
            self._add_group(group)

    def _add_group(self, group: Rules) -> None:
        single = [table_of(group.only([rule])) for rule in group.rules]
        if len(group.rules) == 1:
            self._add(single, group)
            return
        if _cells(group) > MAX_JOINT_CELLS:
            self._add(single, group)
            self.unlisted.append(group)
            return
        joint = table_of(group)
        assert joint is not None
        # Rules that leave room for each other are better kept apart: tables of few columns.
        if None in single or not np.array_equal(product_of(single, joint), joint.allowed):
            self.tables.append(joint)
        else:
            self._add(single, group)

    def _add(self, tables: Sequence[RuleTable | None], group: Rules) -> None:
        self.tables += [table for table in tables if table is not None]
        if None in tables:
            self.unlisted.append(group)

    def constrain(
        self, network: Network, bits: Bits | None, evidence: Mapping[str, Factor] | None = None
    ) -> Constrained:
        """The network given the rules and evidence."""
        if bits is None:
            schema = self.rules.schema
        else:
            schema = bits.schema
        factors = {} if evidence is None else dict(evidence)
        tables = {
            f"{table.text} [{number}]": (table, factor_of(table, self.rules.schema, bits))
            for number, table in enumerate(self.tables)
        }
        every = factors | {name: factor for name, (_, factor) in tables.items() if factor}
        rejected = [table for table, factor in tables.values() if factor is None]
        if fits_in(network, schema, list(every.values())):
            factors = every
        else:
            for name, (table, factor) in tables.items():
                if factor and fits_in(network, schema, [*factors.values(), factor]):
                    factors[name] = factor
                elif factor:
                    rejected.append(table)
        found = network
        if factors:
            found = condition_network(network, schema, factors)
        return Constrained(
            found, factors, tuple(rejected), tuple(self.unlisted), tuple(self.tables)
        )


@dataclass(frozen=True)
class Constrained:
    """A network given constraints, and what its rows must be checked for.

    Attributes
    ----------
    network
        Given those tables that fit.
    factors
        These tables, as factors of the network.
    tables, unlisted
        What is left to rejection.
    every_table
        All tables, those that the network was given included.
    """

    network: Network
    factors: Mapping[str, Factor] = field(default_factory=dict)
    tables: tuple[RuleTable, ...] = ()
    unlisted: tuple[Rules, ...] = ()
    every_table: tuple[RuleTable, ...] = ()

    def draw(self, draw: RowDraw, rows: int, rng: np.random.Generator) -> CodesByName:
        """Rows that keep the constraints, from whatever draws rows of the network."""
        codes = draw(rows, rng)
        if not self.tables and not self.unlisted:
            return codes
        kept = [self.keep(codes)]
        found, tried = _rows(kept[0]), rows
        while found < rows:
            if tried > max(MIN_CONSTRAINED_TRIES, MAX_TRIES_PER_ROW * rows):
                raise InputError(
                    f"Only {found:,} of {tried:,} rows drawn keep the constraints "
                    f"{self.list_rules()}, which are too large for an exact model; use fewer bins "
                    "in their columns, or loosen them."
                )
            wanted = min(max(2 * (rows - found) * tried // max(found, 1), 1 << 10), 1 << 18)
            kept.append(self.keep(draw(wanted, rng)))
            found += _rows(kept[-1])
            tried += wanted
        return {name: np.concatenate([part[name] for part in kept])[:rows] for name in codes}

    def undo(self, before: CodesByName, after: CodesByName) -> CodesByName:
        """Rows that were changed after they had been drawn, as they were where they would break a
        constraint.
        """
        broken = ~self._fits(self.every_table, after)
        if not broken.any():
            return after
        return {name: np.where(broken, before[name], codes) for name, codes in after.items()}

    def keep(self, codes: CodesByName) -> CodesByName:
        """Those of some rows that keep what is left to rejection."""
        fits = self._fits(self.tables, codes)
        return {name: column[fits] for name, column in codes.items()}

    def _fits(self, tables: Sequence[RuleTable], codes: CodesByName) -> NDArray[np.bool_]:
        fits = np.ones(_rows(codes), dtype=bool)
        for table in tables:
            fits &= table.fits(codes)
        for rules in self.unlisted:
            left = np.flatnonzero(fits)
            own = {name: codes[name][left] for name in rules.names}
            fits[left] = place(rules, own)[0]
        return fits

    def list_rules(self) -> str:
        """The rules that are left to rejection."""
        texts = [table.text for table in self.tables]
        texts += [rule.text for rules in self.unlisted for rule in rules.rules]
        return ", ".join(dict.fromkeys(texts))


def _cells(rules: Rules) -> int:
    return math.prod(rules.schema[name].size for name in rules.names)


def fits_in(network: Network, schema: Schema, factors: Sequence[Factor]) -> bool:
    """Whether a network can be conditioned on factors within ``MAX_CONSTRAINED_CELLS``."""
    named = {str(variable) for factor in factors for variable in factor.scope}
    scopes = [family(node).scope for node in ancestors(network, named)]
    scopes += [factor.scope for factor in factors]
    try:
        elimination_order(scopes, set(), Domains(schema, {}), MAX_CONSTRAINED_CELLS)
    except TooLargeError:
        return False
    return True


# ------------------------------------------------------------- networks and schemas


class ModelRules:
    """The constraints of a model: what its rows keep, and its network given them.

    Parameters
    ----------
    network
        The released network.
    schema
        What the columns are, with the constraints.
    bits
        How attributes were taken apart, for a network over bits.

    Attributes
    ----------
    network
        The network; where it leaves the constraints no row at all, one with a little of everything
        in it.
    constrained
        That network given the constraints.
    """

    def __init__(self, network: Network, schema: Schema, bits: Bits | None) -> None:
        self._schema, self._bits = schema, bits
        self.rules = Rules(schema.constraints.rules if schema.constraints else (), schema)
        restriction = Restriction(self.rules)
        try:
            self.network = network
            self.constrained = restriction.constrain(network, bits)
        except ImpossibleError:
            nodes = (replace(node, table=node.table + CONSTRAINT_SMOOTHING) for node in network)
            self.network = Network(tuple(nodes))
            self.constrained = restriction.constrain(self.network, bits)

    def apply_conditions(
        self, subsets: Mapping[str, Subset], evidence: Mapping[str, Factor], *, exact: bool
    ) -> tuple[Rules, Constrained]:
        """The rules that rows with some conditions must keep, and the network given them.

        Parameters
        ----------
        subsets
            The conditions. Those on columns that the constraints name become rules as well.
        evidence
            The same as factors of the network.
        exact
            Whether the network is to be given the evidence too.
        """
        if not subsets:
            return self.rules, self.constrained
        own = [make_rule(name, one) for name, one in subsets.items() if name in self.rules.names]
        rules = Rules((*self.rules.rules, *own), self._schema)
        restriction = Restriction(rules)
        if exact:
            return rules, restriction.constrain(self.network, self._bits, evidence)
        rejecting = Constrained(
            self.constrained.network,
            tables=tuple(restriction.tables),
            unlisted=tuple(restriction.unlisted),
        )
        return rules, rejecting

    def factors(self) -> tuple[Network, list[Factor]]:
        """The network before the constraints, and these as factors over it."""
        if self.constrained.tables:
            raise InputError(
                "The constraints of this model are too large for an exact answer; draw rows and "
                "count those."
            )
        return self.network, list(self.constrained.factors.values())


def check_constraints(schema: Schema) -> None:
    """Refuse constraints that no row can keep; reads no row."""
    if schema.constraints is None or not schema.constraints.rules:
        return
    rules = Rules(schema.constraints.rules, schema)
    network = Network(tuple(Node(a.name, (), np.ones(a.size)) for a in schema.modelled))
    try:
        found = Restriction(rules).constrain(network, None)
    except ImpossibleError:
        listed = "; ".join(dict.fromkeys(rule.text for rule in rules.rules))
        raise InputError(
            f"{schema.constraints.source}: no row can keep all constraints ({listed}): they "
            "contradict each other or the domains of the columns; loosen one."
        ) from None
    if found.tables or found.unlisted:
        rng = np.random.Generator(np.random.PCG64(0))
        if not _rows(found.keep(ancestral(found.network, schema, TRIAL_ROWS, rng))):
            raise InputError(
                f"{schema.constraints.source}: none of {TRIAL_ROWS:,} rows that were tried keeps "
                f"the constraints {found.list_rules()}, which are too large for an exact model; "
                "use fewer bins or values in their columns, or loosen them."
            )


def make_rule(name: str, subset: Subset) -> Rule:
    """A condition on rows to be drawn, as a rule: values must keep both."""
    attribute: Attribute = subset.attribute
    atoms: list[RuleAtom] = []
    if isinstance(attribute, Quantity):
        atoms += [Within(name, low, _last(attribute, high)) for low, high in subset.intervals]
        codes = set()
    else:
        codes = set(subset.codes)
    if subset.missing:
        codes.add(attribute.values_size)
    if codes:
        atoms.append(Among(name, frozenset(codes)))
    return Rule(f"the condition on {name}", tuple((atom,) for atom in atoms))


def _last(attribute: Quantity, end: float) -> float:
    """The last value before the end of a half-open interval."""
    if attribute.whole and math.isfinite(end):
        return float(math.ceil(end) - 1)
    return math.nextafter(end, -math.inf)


def _rows(codes: CodesByName) -> int:
    return len(next(iter(codes.values())))
