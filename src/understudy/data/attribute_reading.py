"""Reading the entries of a schema file: one attribute each, checked."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from understudy.data.attributes import (
    BOOLEAN_VALUES,
    Attribute,
    Category,
    Computed,
    Identifier,
    Quantity,
    Text,
)
from understudy.data.fake_kinds import FAKES, LOCALES
from understudy.data.generalisation import Taxonomy, Value
from understudy.data.inside_files import INSIDE_OPTIONS
from understudy.data.quantity_reading import MAX_DOMAIN_SIZE, is_number, is_whole, read_quantity
from understudy.errors import InputError

MAX_CODES = 1 << 22
"""Bins and values of all attributes together. A short file can ask for billions."""

MAX_MADE_UP_LENGTH = 1_000
MAX_TAXONOMY_DEPTH = 32
MAX_TEXT_LENGTH = 10_000
"""Of any text of a schema but a name, in characters."""

OPTIONS = {
    "integer": {"min", "max", "bins", "edges", "format", "missing", *INSIDE_OPTIONS},
    "real": {"min", "max", "bins", "edges", "decimals", "format", "missing", *INSIDE_OPTIONS},
    "date": {"min", "max", "bins", "edges", "format", "missing", *INSIDE_OPTIONS},
    "time": {"min", "max", "bins", "edges", "format", "missing", *INSIDE_OPTIONS},
    "datetime": {"min", "max", "bins", "edges", "format", "missing", *INSIDE_OPTIONS},
    "boolean": {"values", "missing"},
    "categorical": {"values", "vocabulary", "ordered", "taxonomy", "other", "missing"},
    "identifier": {"pattern"},
    "text": {"replacement", "pattern", "length", "fake", "locale"},
}
"""What may be said of an attribute, by its kind."""

ROLES = ("identifier", "quasi-identifier", "sensitive", "insensitive")
"""What any attribute may be to an anonymiser."""


class AttributeReader:
    """Reads and checks the entries of one schema; every complaint names the schema, the column, the
    cause and a remedy.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.column: str | None = None
        self.codes = 0

    def attribute(self, name: Any, entry: Any) -> Attribute:
        """One column of the schema."""
        if isinstance(entry, Mapping) and "role" in entry:
            self.column = str(name)
            role = entry["role"]
            if role not in ROLES:
                raise self.bad(f"the role {role!r} is unknown; use one of {', '.join(ROLES)}")
            without = {option: given for option, given in entry.items() if option != "role"}
            return replace(self.attribute(name, without), role=role)
        if not isinstance(name, str) or not name:
            raise self.bad("a column has no name; give it one")
        self.column = name
        if not isinstance(entry, Mapping):
            raise self.bad('it must be an object such as {"kind": "integer", "min": 0, "max": 99}')
        for option, given in entry.items():
            for text in (option, given, *(given if isinstance(given, list) else ())):
                self._check_length(text)
        kind = entry.get("kind")
        if not isinstance(kind, str) or kind not in OPTIONS:
            raise self.bad(f"the kind {kind!r} is unknown; use one of {', '.join(OPTIONS)}")
        for option, given in entry.items():
            if given is None and option in ("min", "max", "values"):
                raise self.bad(
                    f'"{option}" is still open (null); give a public fact, not one read off the '
                    "data, or answer the questions of understudy schema --interactive"
                )
            if option != "kind" and option not in OPTIONS[kind]:
                hint = did_you_mean(str(option), OPTIONS[kind])
                raise self.bad(f"{option!r} does not go with kind {kind}{hint}")
        self._count_codes(entry)
        if kind == "identifier":
            return self._identifier(name, entry)
        if kind == "text":
            return self._text(name, entry)
        if kind in ("boolean", "categorical"):
            return self._category(name, kind, entry)
        return self._quantity(name, kind, entry)

    def read_computed(self, name: str, entry: Any) -> Attribute:
        """A column with a formula: it needs no bounds, and bins that are given mean nothing."""
        self.column = name
        kind = entry.get("kind") if isinstance(entry, Mapping) else None
        if kind not in ("integer", "real", "date", "datetime"):
            return self.attribute(name, entry)
        unused = {"min", "max", "bins", "edges"}
        kept = {option: given for option, given in entry.items() if option not in unused}
        if kind in ("date", "datetime"):
            kept |= {"min": "2000-01-01", "max": "2000-01-02"}
        else:
            kept |= {"min": 0, "max": 1}
        checked = self.attribute(name, kept)
        assert isinstance(checked, Quantity)
        return Computed(name, kind, checked.missing, checked.format, checked.decimals)

    def _check_length(self, text: Any) -> None:
        if isinstance(text, str) and len(text) > MAX_TEXT_LENGTH:
            raise self.bad(
                f"it holds a text of {len(text):,} characters, {text[:20]!r}...; at most "
                f"{MAX_TEXT_LENGTH:,} are allowed"
            )

    def _count_codes(self, entry: Mapping[str, Any]) -> None:
        """Add up what is asked for before any of it is made."""
        bins: Any = entry.get("bins")
        lists = [entry.get(option) for option in ("values", "edges")]
        if is_whole(bins):
            self.codes += bins
        self.codes += sum(len(given) for given in lists if isinstance(given, list))
        if self.codes > MAX_CODES:
            raise self.bad(
                f"with it, the columns have {self.codes:,} bins and values together; at most "
                f"{MAX_CODES:,} can be modelled. Use fewer bins"
            )

    def _identifier(self, name: str, entry: Mapping[str, Any]) -> Identifier:
        pattern = entry.get("pattern")
        if pattern is not None and (
            not isinstance(pattern, str) or "#" not in pattern or len(pattern) > 200
        ):
            raise self.bad(
                f'the pattern {pattern!r} must be text with runs of #, such as "P-######"'
            )
        return Identifier(name, "identifier", None, pattern)

    def _text(self, name: str, entry: Mapping[str, Any]) -> Text:
        given = {"replacement", "pattern", "length", "fake"} & set(entry)
        if len(given) > 1:
            raise self.bad(f"give one of {', '.join(sorted(given))}, not several")
        if "locale" in entry and "fake" not in entry:
            raise self.bad('"locale" goes with "fake"')
        if "pattern" in entry:
            return Text(name, "text", pattern=self._text_pattern(entry["pattern"]))
        if "length" in entry:
            return Text(name, "text", length=self._text_length(entry["length"]))
        if "fake" in entry:
            locale = str(entry.get("locale", "en")).lower().replace("_", "-")
            for value, known in ((entry["fake"], FAKES), (locale, LOCALES)):
                if not isinstance(value, str) or value not in known:
                    hint = did_you_mean(str(value), set(known))
                    raise self.bad(f"nothing is known of {value!r}{hint}")
            return Text(name, "text", fake=entry["fake"], locale=locale)
        replacement = entry.get("replacement", "[text]")
        if replacement is not None and not isinstance(replacement, str):
            raise self.bad(
                f"the replacement {replacement!r} must be text, or null to leave the column out"
            )
        return Text(name, "text", None, replacement)

    def _text_pattern(self, given: Any) -> str:
        usable = isinstance(given, str) and 0 < len(given) <= 200 and not given.endswith("\\")
        if not usable:
            raise self.bad(
                f"the pattern {given!r} must be text with # for digits, ? and ^ for small and "
                f'capital letters, such as "###-##-####"'
            )
        return str(given)

    def _text_length(self, given: Any) -> tuple[int, int]:
        ends = [given, given] if is_whole(given) else given
        whole = isinstance(ends, list) and len(ends) == 2 and all(is_whole(end) for end in ends)
        if not whole or not 1 <= ends[0] <= ends[1] <= MAX_MADE_UP_LENGTH:
            raise self.bad(
                f'"length" must be a whole number, or two such as [5, 20], from 1 to '
                f"{MAX_MADE_UP_LENGTH}, not {given!r}"
            )
        return ends[0], ends[1]

    def _category(self, name: str, kind: str, entry: Mapping[str, Any]) -> Category:
        missing = self._missing(entry)
        if "vocabulary" in entry:
            entry = self._look_up(entry)
        values = entry.get("values", BOOLEAN_VALUES if kind == "boolean" else None)
        self._check_values(values, kind)
        if missing is not None and missing in values:
            raise self.bad(
                f'{missing!r} is both a value and the "missing" mark; make it one of them'
            )
        other = entry.get("other")
        if other is not None:
            self._check_other(other, values, missing)
        taxonomy = entry.get("taxonomy")
        if taxonomy is not None:
            taxonomy = self._taxonomy(taxonomy, values)
        return Category(
            name, kind, missing, tuple(values), self._flag(entry, "ordered"), taxonomy, other
        )

    def _check_values(self, values: Any, kind: str) -> None:
        """Values are a list of different texts or of different numbers; those of a boolean two."""
        if not isinstance(values, list | tuple) or not values:
            raise self.bad('it needs "values", a list of all values that may occur')
        if kind == "boolean" and len(values) != 2:
            raise self.bad('"values" of a boolean must be two, the one for false first')
        if len(values) > MAX_DOMAIN_SIZE:
            raise self.bad(
                f"it has {len(values)} values; more than {MAX_DOMAIN_SIZE} cannot be modelled"
            )
        if not (all(isinstance(v, str) for v in values) or all(is_number(v) for v in values)):
            raise self.bad('"values" must all be texts or all be finite numbers')
        if any(not isinstance(v, str) and abs(v) > 2**53 for v in values):
            raise self.bad(
                "a value lies beyond 2^53, where numbers are no longer exact; write the values as "
                "texts"
            )
        if kind == "boolean" and len({str(v).casefold() for v in values}) < 2:
            raise self.bad(
                "upper and lower case do not tell the values of a boolean apart; use a categorical"
            )
        if len(set(values)) < len(values):
            twice = next(v for v, times in Counter(values).items() if times > 1)
            raise self.bad(f"the value {twice!r} is listed twice")

    def _check_other(self, other: Any, values: Sequence[Any], missing: str | None) -> None:
        if not isinstance(other, str):
            raise self.bad('"other" must be the text that stands for values not listed')
        if not isinstance(values[0], str):
            raise self.bad('"other" goes with values that are texts; these are numbers')
        if other == missing:
            raise self.bad(f'{other!r} is both "other" and the "missing" mark; choose another')

    def _look_up(self, entry: Mapping[str, Any]) -> Mapping[str, Any]:
        """The entry with the values of its vocabulary."""
        from understudy.data.vocabularies import resolve_vocabulary

        if "values" in entry:
            raise self.bad('give either "values" or a "vocabulary"')
        if not isinstance(entry["vocabulary"], str):
            raise self.bad('"vocabulary" must be a name, such as "months"')
        try:
            values, ordered = resolve_vocabulary(entry["vocabulary"])
        except InputError as error:
            raise self.bad(str(error)) from error
        found = {"values": values, "ordered": ordered}
        return {**found, **{key: given for key, given in entry.items() if key != "vocabulary"}}

    def _taxonomy(self, tree: Any, values: Sequence[Value]) -> Taxonomy:
        if not isinstance(tree, list):
            raise self.bad('"taxonomy" must be nested lists whose leaves are values')
        seen: set[Value] = set()
        pruned = self._prune(tree, set(values), seen, 1)
        lacking = [value for value in values if value not in seen]
        if lacking:
            raise self.bad(
                f"the taxonomy does not cover the value {lacking[0]!r}; add it as a leaf"
            )
        return pruned

    def _prune(self, tree: list[Any], values: set[Value], seen: set[Value], depth: int) -> Taxonomy:
        """The tree without leaves that are no values of this attribute: one taxonomy may serve many
        tables.
        """
        if depth > MAX_TAXONOMY_DEPTH:
            raise self.bad(f"the taxonomy is more than {MAX_TAXONOMY_DEPTH} levels deep")
        kept: list[Any] = []
        for node in tree:
            self._check_length(node)
            if isinstance(node, list):
                branch = self._prune(node, values, seen, depth + 1)
                if branch:
                    kept.append(branch)
            elif not isinstance(node, str) and not is_number(node):
                raise self.bad(f"the taxonomy has a leaf {node!r} that cannot be a value")
            elif node in seen:
                raise self.bad(f"the taxonomy names the value {node!r} twice")
            elif node in values:
                seen.add(node)
                kept.append(node)
        return tuple(kept)

    def _quantity(self, name: str, kind: str, entry: Mapping[str, Any]) -> Quantity:
        missing = self._missing(entry)
        try:
            return read_quantity(name, kind, missing, entry)
        except ValueError as error:
            raise self.bad(str(error)) from None

    def _missing(self, entry: Mapping[str, Any]) -> str | None:
        given = entry.get("missing", False)
        if given is True:
            return ""
        if given is False:
            return None
        if isinstance(given, str):
            return given
        raise self.bad(
            f'"missing" must be true, false or the mark that stands for it, not {given!r}'
        )

    def _flag(self, entry: Mapping[str, Any], name: str) -> bool:
        given = entry.get(name, False)
        if not isinstance(given, bool):
            raise self.bad(f'"{name}" must be true or false, not {given!r}')
        return given

    def bad(self, cause: str) -> InputError:
        """What to raise: where the fault is, and the cause."""
        if self.column:
            where = f"{self.source}, column {self.column!r}"
        else:
            where = self.source
        return InputError(f"{where}: {cause}.")


def did_you_mean(name: str, known: Sequence[str] | Mapping[str, Any] | set[str]) -> str:
    """The name that may have been meant; else all that are known."""
    close = difflib.get_close_matches(name, list(known), n=1)
    if close:
        return f"; did you mean {close[0]!r}"
    return f"; known are {', '.join(sorted(known))}"
