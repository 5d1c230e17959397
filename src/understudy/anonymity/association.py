"""Association rules, and hiding the ones that must not be found.

A rule ``bread -> butter`` says that rows with bread often have butter too: its *support* is the
share of rows with both, its *confidence* the share of rows with bread that have butter. Sensitive
rules are hidden by taking items out of rows until support or confidence falls below a threshold.
That costs other rules, which are counted. It is no differential privacy: who knows the thresholds
knows where to look.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError

Items = frozenset[str]
Flags = NDArray[np.bool_]

MAX_RULE_SIZE = 6


@dataclass(frozen=True, order=True)
class AssociationRule:
    """If a row has the first items, it often has the others too."""

    antecedent: tuple[str, ...]
    consequent: tuple[str, ...]

    @property
    def items(self) -> Items:
        """All items of the rule."""
        return frozenset(self.antecedent) | frozenset(self.consequent)

    def __str__(self) -> str:
        """``bread, jam -> butter``."""
        return f"{', '.join(self.antecedent)} -> {', '.join(self.consequent)}"


@dataclass(frozen=True)
class Strength:
    """How often a rule holds."""

    support: float
    confidence: float


class Baskets:
    """Rows as sets of items.

    Examples
    --------
    >>> baskets = Baskets([{"bread", "butter"}, {"bread", "butter"}, {"bread"}, {"milk"}])
    >>> baskets.measure(AssociationRule(("bread",), ("butter",)))
    Strength(support=0.5, confidence=0.6666666666666666)
    >>> [str(rule) for rule in baskets.find_rules(min_support=0.5, min_confidence=0.6)]
    ['bread -> butter', 'butter -> bread']
    """

    def __init__(self, rows: Iterable[Iterable[str]]) -> None:
        held = [frozenset(row) for row in rows]
        self.items = tuple(sorted(frozenset().union(*held))) if held else ()
        self._place = {item: place for place, item in enumerate(self.items)}
        self.table = np.zeros((len(held), len(self.items)), dtype=bool)
        for row, items in enumerate(held):
            self.table[row, [self._place[item] for item in items]] = True

    def to_sets(self) -> list[set[str]]:
        """The rows as sets."""
        return [{self.items[place] for place in np.flatnonzero(row)} for row in self.table]

    def copy(self) -> Baskets:
        """The same rows, to be changed."""
        other = Baskets(())
        other.items, other._place, other.table = self.items, self._place, self.table.copy()
        return other

    def have(self, items: Iterable[str]) -> Flags:
        """Which rows have all of some items."""
        wanted = list(items)
        for item in wanted:
            if item not in self._place:
                raise InputError(f"There is no item {item!r} in any row.")
        places = [self._place[item] for item in wanted]
        return np.asarray(self.table[:, places].all(axis=1))

    def support(self, items: Iterable[str]) -> float:
        """The share of rows with all of some items."""
        if len(self.table) == 0:
            return 0.0
        return float(self.have(items).mean())

    def measure(self, rule: AssociationRule) -> Strength:
        """Support and confidence of a rule."""
        both, before = self.support(rule.items), self.support(rule.antecedent)
        if before == 0:
            return Strength(both, 0.0)
        return Strength(both, both / before)

    def remove(self, item: str, rows: NDArray[np.int64]) -> None:
        """Take an item out of some rows."""
        self.table[rows, self._place[item]] = False

    def find_rules(
        self, *, min_support: float, min_confidence: float, max_size: int = 4
    ) -> dict[AssociationRule, Strength]:
        """All rules that are frequent and confident enough (Apriori: a set is frequent only if all
        its parts are).

        Parameters
        ----------
        min_support, min_confidence
            Thresholds, above 0 and up to 1.
        max_size
            The most items of a rule, up to 6.
        """
        for name, share in (("support", min_support), ("confidence", min_confidence)):
            if not 0 < share <= 1:
                raise InputError(f"The least {name} must be above 0 and up to 1, not {share!r}.")
        if not 2 <= max_size <= MAX_RULE_SIZE:
            raise InputError(f"A rule has from 2 to {MAX_RULE_SIZE} items, not {max_size!r}.")
        supports = self._find_frequent(min_support, max_size)
        rules = {}
        for items, support in supports.items():
            for size in range(1, len(items)):
                for antecedent in itertools.combinations(sorted(items), size):
                    confidence = support / supports[frozenset(antecedent)]
                    if confidence >= min_confidence:
                        consequent = tuple(sorted(items - set(antecedent)))
                        rules[AssociationRule(antecedent, consequent)] = Strength(
                            support, confidence
                        )
        return dict(sorted(rules.items()))

    def _find_frequent(self, min_support: float, max_size: int) -> dict[Items, float]:
        level = {
            frozenset([item]): self.support([item])
            for item in self.items
            if self.support([item]) >= min_support
        }
        found = dict(level)
        for size in range(2, max_size + 1):
            candidates = {
                one | other
                for one, other in itertools.combinations(level, 2)
                if len(one | other) == size
                and all(
                    frozenset(part) in level
                    for part in itertools.combinations(one | other, size - 1)
                )
            }
            level = {}
            for items in candidates:
                support = self.support(items)
                if support >= min_support:
                    level[items] = support
            found |= level
        return found


@dataclass(frozen=True)
class Hiding:
    """Rows in which some rules can no longer be found, and what else changed.

    Attributes
    ----------
    baskets
        The changed rows.
    removed
        How many items were taken out of rows, or put in as noise.
    hidden
        Sensitive rules that are gone.
    failed
        Sensitive rules that are still there.
    lost
        Other rules that were found before and are gone: the side effect.
    ghosts
        Rules that were not there before.
    """

    baskets: Baskets
    removed: int
    hidden: tuple[AssociationRule, ...]
    failed: tuple[AssociationRule, ...]
    lost: tuple[AssociationRule, ...]
    ghosts: tuple[AssociationRule, ...]


def hide_rules(
    baskets: Baskets,
    sensitive: Sequence[AssociationRule],
    *,
    min_support: float,
    min_confidence: float,
    how: Literal["support", "confidence", "noise"] = "confidence",
    seed: int = 0,
) -> Hiding:
    """Change rows until sensitive rules fall below a threshold.

    Parameters
    ----------
    baskets
        The rows.
    sensitive
        The rules to hide.
    min_support, min_confidence
        The thresholds by which rules are found.
    how
        "support": take an item of the rule out of rows that have all, the shortest rows first, so
        that few other rules suffer; "confidence": the same, but only items of the consequent, and
        no more than needed for either threshold; "noise": put the antecedent into rows without the
        consequent, so that the confidence falls, and nothing is taken away.
    seed
        For noise.
    """
    if how not in ("support", "confidence", "noise"):
        raise InputError(f"{how!r} is no way to hide a rule; use support, confidence or noise.")
    before = baskets.find_rules(min_support=min_support, min_confidence=min_confidence)
    changed, rng = baskets.copy(), np.random.default_rng(seed)
    for rule in sensitive:
        changed.have(rule.items)
        if how == "noise":
            _add_noise(changed, rule, min_confidence, rng)
        else:
            _take_out(changed, rule, min_support, min_confidence, how)
    after = changed.find_rules(min_support=min_support, min_confidence=min_confidence)
    secret = set(sensitive)
    return Hiding(
        baskets=changed,
        removed=int((changed.table != baskets.table).sum()),
        hidden=tuple(rule for rule in sensitive if rule not in after),
        failed=tuple(rule for rule in sensitive if rule in after),
        lost=tuple(rule for rule in before if rule not in after and rule not in secret),
        ghosts=tuple(rule for rule in after if rule not in before),
    )


def _take_out(
    baskets: Baskets, rule: AssociationRule, min_support: float, min_confidence: float, how: str
) -> None:
    rows = np.flatnonzero(baskets.have(rule.items))
    rows = rows[np.argsort(baskets.table[rows].sum(axis=1), kind="stable")]
    total, before = len(baskets.table), int(baskets.have(rule.antecedent).sum())
    # The item that most rows have is missed least.
    choice = rule.consequent
    if how == "support":
        choice = tuple(sorted(rule.items))
    item = max(choice, key=lambda one: (baskets.support([one]), one))
    for taken in range(len(rows) + 1):
        left = len(rows) - taken
        shrinks = taken if item in rule.antecedent else 0
        confidence = left / max(before - shrinks, 1)
        low = left / total < min_support
        if how == "confidence":
            low = low or confidence < min_confidence
        if low:
            baskets.remove(item, rows[:taken])
            return


def _add_noise(
    baskets: Baskets, rule: AssociationRule, min_confidence: float, rng: np.random.Generator
) -> None:
    both = int(baskets.have(rule.items).sum())
    before = int(baskets.have(rule.antecedent).sum())
    needed = max(0, int(np.floor(both / min_confidence)) + 1 - before)
    without = np.flatnonzero(~baskets.have(rule.consequent) & ~baskets.have(rule.antecedent))
    rows = rng.permutation(without)[:needed]
    for item in rule.antecedent:
        baskets.table[rows, baskets._place[item]] = True
