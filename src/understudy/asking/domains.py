"""What is public about the columns that a question names: by a schema, or by the question itself.

Without a schema the question tells what a column holds: a number beside 44, a date beside
'2020-01-31', else a text. Nothing of the rows is looked at for that.
"""

from __future__ import annotations

import datetime as dt
import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from understudy.data.attributes import BOOLEAN_VALUES
from understudy.data.forms import Form
from understudy.data.schema import (
    Attribute,
    Category,
    Identifier,
    Quantity,
    Schema,
    Text,
)
from understudy.errors import InputError
from understudy.models.query.grammar import Parser, check_length
from understudy.models.query.raw import (
    RawQuantity,
    raw_attribute,
    raw_category,
    raw_quantity,
    with_bounds,
)
from understudy.models.query.subsets import Subset
from understudy.models.query.syntax import Query, QueryGroup
from understudy.models.query.tokens import QueryToken
from understudy.models.query.written_values import read_bounds

QUANTITY_KINDS = ("integer", "real", "date", "time", "datetime")

PublicBounds = Mapping[str, tuple[Any, Any]]
"""Public bounds of columns, as a person gives them."""


def read_question(text: str, schema: Schema) -> Query:
    """A question about raw attributes, in full; refuses what cannot be answered of rows."""
    check_length(text)
    return Parser(text, schema).query()


def raw_schema(schema: Schema, bounds: PublicBounds | None = None) -> Schema:
    """The attributes of a schema as they stand in the rows."""
    attributes = tuple(raw_attribute(attribute) for attribute in schema)
    return _apply_bounds(Schema(attributes), bounds or {})


def raw_form(form: Form, texts: Iterable[str], bounds: PublicBounds | None = None) -> Schema:
    """What a form says of the columns as they stand in the rows.

    Of a column that it leaves open the kind is taken from it, where it says one, else from the
    questions; what is missing may be given as bounds, or discovered.
    """
    known = Form(form.entries, form.source).read_known_part()
    named = {use.name: use for use in _uses(texts, bounds)}
    attributes = []
    for name, entry in form.entries.items():
        if name in known:
            attributes.append(raw_attribute(known[name]))
        elif entry.get("kind") in QUANTITY_KINDS:
            attributes.append(raw_quantity(name, entry["kind"], format=entry.get("format")))
        elif name in named:
            attributes.append(named[name].attribute())
    return _apply_bounds(Schema(tuple(attributes)), bounds or {})


def check_mapping(bounds: PublicBounds | None) -> None:
    """Refuse bounds that do not say of which columns they are."""
    if bounds is not None and not isinstance(bounds, Mapping):
        raise InputError(
            f'Bounds are given by the name of the column, such as {{"age": (0, 100)}}, not '
            f"{bounds!r}."
        )


def infer_schema(texts: Iterable[str], bounds: PublicBounds | None = None) -> Schema:
    """What questions, and bounds beside them, say of the columns that they name."""
    attributes = tuple(use.attribute() for use in _uses(texts, bounds))
    return _apply_bounds(Schema(attributes), bounds or {})


def _uses(texts: Iterable[str], bounds: PublicBounds | None) -> list[_Use]:
    """What questions, and bounds beside them, do with each column that they name."""
    uses: dict[str, _Use] = {name: _Use(name, numeric=True) for name in bounds or {}}
    for text in texts:
        check_length(text)
        collector = _Collector(text, Schema(()))
        collector.query()
        for name, use in collector.uses.items():
            uses.setdefault(name, _Use(name)).join(use)
    return list(uses.values())


def _apply_bounds(schema: Schema, bounds: PublicBounds) -> Schema:
    """The schema with public bounds that were given beside the question."""
    attributes = []
    for name, ends in bounds.items():
        if not isinstance(ends, Sequence) or isinstance(ends, str) or len(ends) != 2:
            raise InputError(
                f"The bounds of {name!r} are a pair of numbers or dates, such as (0, 100), not "
                f"{ends!r}."
            )
        if not isinstance(schema[name], RawQuantity):
            raise InputError(f"Bounds are of numbers and dates; {name!r} is {schema[name].kind}.")
    for attribute in schema:
        if attribute.name in bounds:
            assert isinstance(attribute, RawQuantity)
            low, high = bounds[attribute.name]
            try:
                public = read_bounds(attribute, low, high)
            except InputError as error:
                raise InputError(f"The bounds of {attribute.name!r}: {error}") from None
            attribute = with_bounds(attribute, public)
        attributes.append(attribute)
    return Schema(tuple(attributes))


def check_columns(schema: Schema, names: Sequence[str], source: str) -> None:
    """Refuse a question about a column that the table does not have."""
    for name in schema.names:
        if name not in names:
            close = difflib.get_close_matches(name, names, n=1)
            advice = f"it has {', '.join(names[:12])}"
            if close:
                advice = f"did you mean {close[0]!r}"
            raise InputError(f"{source} has no column {name!r}; {advice}.")


def join_found(raw: Schema, found: Schema) -> Schema:
    """Raw attributes, with what a discovery has found of some of them."""
    attributes = []
    for attribute in raw:
        known = attribute
        if attribute.name in found and found[attribute.name].modelled:
            known = _with_found(attribute, found[attribute.name])
        attributes.append(known)
    return Schema(tuple(attributes))


def _with_found(attribute: Attribute, found: Attribute) -> Attribute:
    """What was found, read as the question reads the column."""
    if isinstance(attribute, RawQuantity) and not isinstance(found, Quantity):
        return attribute
    if isinstance(attribute, RawQuantity) and attribute.bounds is not None:
        return attribute
    return raw_attribute(found)


# ------------------------------------------------------------------- columns without a schema


@dataclass
class _Use:
    """What a question does with a column."""

    name: str
    numeric: bool = False
    """Whether numbers are asked of it."""
    ordered: bool = False
    values: list[Any] = field(default_factory=list)

    def join(self, other: _Use) -> None:
        """Both uses together."""
        self.numeric |= other.numeric
        self.ordered |= other.ordered
        self.values += other.values

    def attribute(self) -> Attribute:
        """What the column must be for that."""
        texts = [value for value in self.values if isinstance(value, str)]
        truths = [value for value in self.values if isinstance(value, bool)]
        numbers = len(self.values) - len(texts) - len(truths)
        if (numbers or self.numeric) and not texts and not truths:
            return raw_quantity(self.name, "real")
        if texts and not numbers and not truths and (self.ordered or self.numeric):
            return self._moment(texts)
        if truths and not texts and not numbers and not self.numeric:
            return raw_category(Category(self.name, "boolean", "", BOOLEAN_VALUES), described=False)
        if numbers or truths or self.numeric or self.ordered:
            raise InputError(
                f"The question compares {self.name!r} with values of several kinds; compare it "
                "with numbers, with texts, or with true and false, or give a schema."
            )
        listed = tuple(dict.fromkeys(texts))
        return raw_category(Category(self.name, "categorical", "", listed), described=False)

    def _moment(self, texts: Sequence[str]) -> Attribute:
        kind = "date"
        for text in texts:
            try:
                moment = dt.datetime.fromisoformat(text)
            except ValueError:
                raise InputError(
                    f"Texts have no order, and {text!r} is no date such as '2020-01-31'; list the "
                    f"values of {self.name!r} that you mean, or give a schema."
                ) from None
            if len(text) > 10 or moment.time() != dt.time():
                kind = "datetime"
        return raw_quantity(self.name, kind)


class _Collector(Parser):
    """Reads a question of which no schema is known, and notes what it does with each column."""

    def __init__(self, text: str, schema: Schema) -> None:
        super().__init__(text, schema)
        self.uses: dict[str, _Use] = {}

    def attribute(self) -> Attribute:
        """Any name will do."""
        name = self.name()
        self.uses.setdefault(name, _Use(name))
        return Identifier(name, "unknown")

    def check_function(self, word: str, attribute: Attribute, place: QueryToken) -> None:
        """Numbers are asked of it."""
        self.uses[attribute.name].numeric = True

    def sense(self, attribute: Attribute, build: Any, *arguments: Any) -> Any:
        """Note the values."""
        use = self.uses[attribute.name]
        word = build.__name__
        flat = [value for given in arguments for value in _as_list(given)]
        if word == "compare_values":
            use.ordered |= flat[0] in ("<", "<=", ">", ">=")
            flat = flat[1:]
        elif word == "group_by_steps":
            use.numeric = True
            return QueryGroup(attribute, (), ())
        elif word in ("between", "read_bounds"):
            use.ordered = True
        use.values += flat
        if word == "group_by_values":
            return QueryGroup(attribute, (), ())
        if word == "read_bounds":
            return (0.0, 1.0)
        return Subset(attribute)

    def without(self, subset: Subset) -> Subset:
        """Nothing is known of the other values."""
        return subset

    def group_by_domain(self, attribute: Attribute) -> QueryGroup:
        """Nobody says which groups there are."""
        return QueryGroup(attribute, (), ())


def _as_list(given: Any) -> list[Any]:
    if isinstance(given, list):
        return given
    return [given]


def hide_other_columns(attributes: Iterable[Attribute], names: Sequence[str]) -> Schema:
    """A schema for all columns of a table, of which only these attributes are read."""
    known = {attribute.name: attribute for attribute in attributes}
    return Schema(tuple(known.get(name, Text(name, "text")) for name in names))
