"""Constraints of a schema: public claims that hold in every synthetic row.

    {"inequality": "mortgage <= value"}
    {"when": {"smoker": "no"}, "then": {"cigarettes": 0}}
    {"when": {"school": ["none", "primary"]}, "then": "years <= 6"}
    {"forbidden": {"age": {"max": 15}, "married": "yes"}}
    {"combinations": ["state", "region"], "only": [["NY", "East"], ["CA", "West"]]}
    {"dependency": "education -> education_num", "mapping": {"HS-grad": 9, "Masters": 14}}
    {"formula": "total = price * amount"}

A condition on a column is a value, a list of values, a range ``{"min": 0, "max": 15}`` with both
ends included, or null for missing. A rule holds in a row where a value that it needs is missing:
to rule that out, forbid null.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from understudy.data.atoms import Among, Below, Rule, RuleAtom
from understudy.data.conditions import MAX_ALTERNATIVES, ConditionReader, if_missing
from understudy.data.expressions import Expression, ExpressionParser, Inequality
from understudy.data.schema import Attribute, Category, Computed, Quantity
from understudy.errors import InputError

MAX_CONSTRAINTS = 1_000
_ENTRIES: dict[str, frozenset[str]] = {
    "inequality": frozenset(),
    "when": frozenset({"then"}),
    "forbidden": frozenset(),
    "combinations": frozenset({"only"}),
    "dependency": frozenset({"mapping"}),
    "formula": frozenset(),
}
"""By the entry that names a constraint's kind, the entries that go with it."""


@dataclass(frozen=True)
class Formula:
    """A column that follows from others."""

    name: str
    expression: Expression
    inputs: frozenset[str]


@dataclass(frozen=True)
class Dependency:
    """A column whose value follows from another one's, by a mapping that is to be learned."""

    number: int
    determinant: str
    dependent: str


@dataclass(frozen=True)
class Constraints:
    """The constraints of a schema, checked.

    Attributes
    ----------
    entries
        As they stand in the schema.
    rules
        What must hold in every row.
    formulas
        Columns that are computed, in an order in which they can be.
    unlearned
        Dependencies without a mapping; a model fills it in.
    source
        What to call the schema in messages.
    """

    entries: tuple[Mapping[str, Any], ...] = field(default=(), hash=False)
    rules: tuple[Rule, ...] = field(default=(), compare=False)
    formulas: tuple[Formula, ...] = field(default=(), compare=False)
    unlearned: tuple[Dependency, ...] = field(default=(), compare=False)
    source: str = field(default="The schema", compare=False)

    def __bool__(self) -> bool:
        return bool(self.entries)

    def texts(self) -> list[str]:
        """Each constraint in a few words."""
        return [_text_of(entry) for entry in self.entries]

    def to_list(self) -> list[dict[str, Any]]:
        """The constraints as they stand in a schema file."""
        copied: list[dict[str, Any]] = json.loads(json.dumps(list(self.entries)))
        return copied


def formula_columns(entries: Any) -> set[str]:
    """The names before the equals signs of formulas, before anything is checked."""
    texts = [entry.get("formula") for entry in entries if isinstance(entry, Mapping)]
    names = {text.partition("=")[0].strip() for text in texts if isinstance(text, str)}
    return {name.strip('"') for name in names}


def read_constraints(entries: Any, attributes: Sequence[Attribute], source: str) -> Constraints:
    """Check the constraints of a schema document.

    Parameters
    ----------
    entries
        The list that stands under "constraints".
    attributes
        What the columns are.
    source
        What to call the schema in messages.
    """
    if not isinstance(entries, list):
        raise InputError(f'{source}: "constraints" must be a list of objects.')
    if len(entries) > MAX_CONSTRAINTS:
        raise InputError(
            f"{source} has {len(entries):,} constraints; at most {MAX_CONSTRAINTS:,} can be kept. "
            "Join some."
        )
    try:
        plain = json.loads(json.dumps(entries, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        raise InputError(
            f'{source}: "constraints" may hold texts, finite numbers, true, false, null, lists and '
            "objects only."
        ) from None
    reader = _Reader(attributes, source)
    for number, entry in enumerate(plain):
        reader.read(number, entry)
    return reader.constraints(plain)


class _Reader:
    """Checks constraints; every complaint names the schema, the constraint, the cause and a
    remedy.
    """

    def __init__(self, attributes: Sequence[Attribute], source: str) -> None:
        self._source = source
        self._attributes = {attribute.name: attribute for attribute in attributes}
        self._kinds = {attribute.name: attribute.kind for attribute in attributes}
        self._where = source
        self._rules: list[Rule] = []
        self._formulas: list[Formula] = []
        self._unlearned: list[Dependency] = []
        self._alternatives = 0
        self._read = ConditionReader(self._bad)

    def constraints(self, entries: Sequence[Mapping[str, Any]]) -> Constraints:
        """What was read."""
        return Constraints(
            tuple(entries),
            tuple(self._rules),
            tuple(self._formulas),
            tuple(self._unlearned),
            self._source,
        )

    def read(self, number: int, entry: Any) -> None:
        """Check one constraint."""
        self._where = f"{self._source}, constraint {number + 1}"
        if not isinstance(entry, Mapping):
            raise self._bad('it must be an object such as {"inequality": "start <= end"}')
        kinds = [kind for kind in _ENTRIES if kind in entry]
        if len(kinds) != 1:
            raise self._bad(f"it must have one of the entries {', '.join(_ENTRIES)}")
        kind = kinds[0]
        for other in entry:
            if other != kind and other not in _ENTRIES[kind]:
                raise self._bad(f"{other!r} does not go with {kind!r}; remove it")
        text = _text_of(entry)
        self._where = f"{self._where} ({text})"
        if kind == "formula":
            self._formula(entry["formula"])
        elif kind == "dependency":
            self._dependency(number, entry, text)
        else:
            reader = {
                "inequality": self._inequality,
                "when": self._when,
                "forbidden": self._forbidden,
                "combinations": self._combinations,
            }[kind]
            for alternatives in reader(entry):
                self._add(text, alternatives)

    def _add(self, text: str, alternatives: Sequence[Sequence[RuleAtom]]) -> None:
        if not alternatives:
            raise self._bad("no row can keep it: it leaves no value at all; loosen it")
        self._alternatives += len(alternatives)
        if self._alternatives > MAX_ALTERNATIVES:
            raise self._bad(
                f"with it, the constraints list more than {MAX_ALTERNATIVES:,} cases; list fewer"
            )
        self._rules.append(Rule(text, tuple(tuple(found) for found in alternatives)))

    # ---- kinds of constraints: each gives rules, as lists of alternatives

    def _inequality(self, entry: Mapping[str, Any]) -> list[list[list[RuleAtom]]]:
        return [[[atom]] for atom in self._below(entry["inequality"], "the inequality")]

    def _when(self, entry: Mapping[str, Any]) -> list[list[list[RuleAtom]]]:
        if "then" not in entry:
            raise self._bad('"when" needs "then": an inequality, or conditions on columns')
        otherwise = self._none_of(entry["when"], '"when"')
        then = entry["then"]
        if isinstance(then, str):
            return [[*otherwise, [atom]] for atom in self._below(then, '"then"')]
        rules = []
        for name, wanted in self._conditions(then, '"then"').items():
            attribute = self._find_modelled(name)
            kept = [[atom] for atom in self._read.condition(attribute, wanted)]
            rules.append([*otherwise, *kept, *if_missing(attribute)])
        return rules

    def _forbidden(self, entry: Mapping[str, Any]) -> list[list[list[RuleAtom]]]:
        return [self._none_of(entry["forbidden"], '"forbidden"')]

    def _combinations(self, entry: Mapping[str, Any]) -> list[list[list[RuleAtom]]]:
        names, lines = entry["combinations"], entry.get("only")
        if not isinstance(names, list) or len(names) < 2 or len(set(map(str, names))) < len(names):
            raise self._bad('"combinations" must be a list of two or more different columns')
        attributes = [self._find_modelled(name) for name in names]
        if not isinstance(lines, list) or not lines:
            raise self._bad('it needs "only", a list of the combinations that may occur')
        alternatives: list[list[RuleAtom]] = []
        for line in lines:
            if not isinstance(line, list) or len(line) != len(names):
                raise self._bad(
                    f'each line of "only" must be a list of {len(names)} conditions, not {line!r}'
                )
            alternatives += self._read.all_of(zip(attributes, line, strict=True))
        for attribute in attributes:
            alternatives += if_missing(attribute)
        return [alternatives]

    def _dependency(self, number: int, entry: Mapping[str, Any], text: str) -> None:
        given = self._string(entry["dependency"], "the dependency")
        determinant, dependent = self._parser(given).dependency()
        first, second = self._find_modelled(determinant), self._find_modelled(dependent)
        if first is second:
            raise self._bad("a column cannot depend on itself; name two")
        if "mapping" not in entry:
            self._unlearned.append(Dependency(number, determinant, dependent))
            return
        mapping = entry["mapping"]
        pairs = list(mapping.items()) if isinstance(mapping, Mapping) else mapping
        if not isinstance(pairs, list) or not pairs:
            raise self._bad('"mapping" must be an object, or a list of pairs')
        alternatives: list[list[RuleAtom]] = []
        covered: set[int] = set()
        for pair in pairs:
            if not isinstance(pair, list | tuple) or len(pair) != 2:
                raise self._bad(f'a pair of "mapping" is not one: {pair!r}')
            if isinstance(pair[1], list | Mapping) or pair[1] is None:
                raise self._bad(f'"mapping" gives {pair[0]!r} no single value but {pair[1]!r}')
            found = self._read.all_of([(first, pair[0]), (second, pair[1])])
            named = [atom for atom in found[0] if isinstance(atom, Among)]
            covered.update(*(atom.codes for atom in named if atom.name == determinant))
            alternatives += found
        if isinstance(first, Category):
            lacking = [v for code, v in enumerate(first.domain) if code not in covered]
            if lacking:
                raise self._bad(
                    f'"mapping" does not say what goes with {lacking[0]!r} of {determinant!r}; '
                    'add it, or list what may occur as "combinations"'
                )
        alternatives += [*if_missing(first), *if_missing(second)]
        self._add(text, alternatives)

    def _formula(self, given: Any) -> None:
        text = self._string(given, "the formula")
        parser = self._parser(text)
        name, expression = parser.formula()
        inputs = parser.names - {name}
        if not isinstance(self._attributes[name], Computed):
            raise self._bad(f"the kind of {name!r} must be integer, real, date or datetime")
        if any(formula.name == name for formula in self._formulas):
            raise self._bad(f"{name!r} has a formula already; keep one")
        known = {formula.name for formula in self._formulas}
        for column in sorted(inputs):
            if isinstance(self._attributes[column], Computed) and column not in known:
                raise self._bad(
                    f"{column!r} is computed too, and later; move its formula before this one"
                )
            self._numeric(column)
        if name in _references(expression):
            raise self._bad(f"{name!r} cannot be computed from itself")
        if not inputs:
            raise self._bad("it names no other column; use a categorical with one value")
        self._formulas.append(Formula(name, expression, frozenset(inputs)))

    # ---- inequalities

    def _below(self, given: Any, what: str) -> list[Below]:
        parser = self._parser(self._string(given, what))
        comparisons = parser.comparisons()
        for name in sorted(parser.names):
            self._find_modelled(name)
            self._numeric(name)
        kinds = {self._attributes[name].kind for name in parser.names}
        if {"date", "datetime"} <= kinds:
            raise self._bad("it compares dates with datetimes; describe both columns as datetime")
        return [self._linear(comparison) for comparison in comparisons]

    def _linear(self, comparison: Inequality) -> Below:
        left, right = comparison.left.linear(), comparison.right.linear()
        if left is None or right is None:
            raise self._bad(
                "an inequality is between sums of columns, each times a number; columns cannot be "
                "multiplied with each other or stand in functions"
            )
        form = left.plus(right, -1.0)
        if not form.terms:
            raise self._bad("no column is left in it; remove it")
        return Below(comparison, form)

    def _numeric(self, name: str) -> None:
        attribute = self._attributes[name]
        if isinstance(attribute, Quantity | Computed):
            return
        if isinstance(attribute, Category) and not isinstance(attribute.domain[0], str):
            return
        raise self._bad(f"{name!r} is {attribute.kind} without numbers; one cannot compute with it")

    def _conditions(self, given: Any, what: str) -> Mapping[str, Any]:
        if not isinstance(given, Mapping) or not given:
            raise self._bad(f'{what} must be an object of conditions such as {{"sex": "Male"}}')
        return given

    def _none_of(self, given: Any, what: str) -> list[list[RuleAtom]]:
        """Alternatives under which not all of some conditions hold."""
        return [
            [atom]
            for name, wanted in self._conditions(given, what).items()
            for atom in self._read.otherwise(self._find_modelled(name), wanted)
        ]

    # ---- columns and texts

    def _find_modelled(self, name: Any) -> Attribute:
        attribute = self._attributes.get(name) if isinstance(name, str) else None
        if attribute is None:
            close = difflib.get_close_matches(str(name), list(self._attributes), n=1)
            hint = f"; did you mean {close[0]!r}" if close else "; describe it or drop the rule"
            raise self._bad(f"there is no column {name!r}{hint}")
        if isinstance(attribute, Computed):
            raise self._bad(
                f"{name!r} is computed by a formula; write the rule on what it is computed from"
            )
        if not attribute.modelled:
            raise self._bad(f"{name!r} is {attribute.kind} and not modelled; leave it out")
        return attribute

    def _string(self, given: Any, what: str) -> str:
        if not isinstance(given, str):
            raise self._bad(f"{what} must be a text, not {given!r}")
        return given

    def _parser(self, text: str) -> ExpressionParser:
        return ExpressionParser(text, self._kinds, self._bad)

    def _bad(self, cause: str) -> InputError:
        return InputError(f"{self._where}: {cause}.")


def _text_of(entry: Mapping[str, Any]) -> str:
    """A constraint in a few words."""
    for kind in ("inequality", "formula", "dependency"):
        if isinstance(entry.get(kind), str):
            text = entry[kind]
            break
    else:
        text = json.dumps({key: value for key, value in entry.items() if key != "only"})
    if len(text) <= 80:
        return text
    return text[:77] + "..."


def _references(expression: Expression) -> set[str]:
    """The columns in an expression."""
    found: set[str] = set()
    waiting: list[Any] = [expression]
    while waiting:
        part = waiting.pop()
        found |= {part.name} if hasattr(part, "name") else set()
        waiting += [getattr(part, side) for side in ("left", "right") if hasattr(part, side)]
        waiting += getattr(part, "arguments", ())
    return found
