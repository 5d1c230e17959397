"""Roles: which columns name a person, which others may know, which nobody should learn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from understudy.data.attribute_reading import ROLES
from understudy.errors import InputError

if TYPE_CHECKING:
    from understudy.data.schema import Schema


@dataclass(frozen=True, kw_only=True)
class Roles:
    """What each column is to somebody who wants to know who a row is about.

    Attributes
    ----------
    quasi_identifiers
        Others may know these about a person: age, sex, postcode. They are generalised.
    sensitive
        Nobody should learn these. They stay as they are, and l-diversity and t-closeness are about
        them.
    identifiers
        These name a person. They are left out.
    insensitive
        Neither known to others nor worth learning. They stay as they are, so a mistake here
        publishes the column.

    A column without a role is left out.

    Examples
    --------
    >>> Roles(quasi_identifiers=("age", "zip"), sensitive=("illness",)).kept
    ('age', 'zip', 'illness')
    """

    quasi_identifiers: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()
    insensitive: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """A column has one role; a single name may be given as a text."""
        seen: dict[str, str] = {}
        for role, names in self.by_role().items():
            if isinstance(names, str):
                names = (names,)
            object.__setattr__(self, _FIELDS[role], tuple(dict.fromkeys(names)))
            for name in dict.fromkeys(names):
                if name in seen:
                    raise InputError(
                        f"The column {name!r} is named as {_article(seen[name])} and as "
                        f"{_article(role)}; it can only be one of them."
                    )
                seen[name] = role

    @classmethod
    def from_schema(cls, schema: Schema) -> Roles:
        """The roles that a schema gives; columns of kind identifier are identifiers."""
        found: dict[str, list[str]] = {role: [] for role in ROLES}
        for attribute in schema:
            role = attribute.role
            if role is None and attribute.kind == "identifier":
                role = "identifier"
            if role is not None:
                found[role].append(attribute.name)
        return cls(**{_FIELDS[role]: tuple(names) for role, names in found.items()})

    def by_role(self) -> Mapping[str, Sequence[str]]:
        """The columns of each role."""
        return {role: getattr(self, name) for role, name in _FIELDS.items()}

    @property
    def kept(self) -> tuple[str, ...]:
        """The columns that are published, in some form."""
        return (*self.quasi_identifiers, *self.sensitive, *self.insensitive)

    def override(self, given: Roles) -> Roles:
        """These roles, except for columns to which others are given."""
        taken = {name for names in given.by_role().values() for name in names}
        return Roles(
            **{
                _FIELDS[role]: (
                    *(name for name in names if name not in taken),
                    *given.by_role()[role],
                )
                for role, names in self.by_role().items()
            }
        )

    def check(self, names: Iterable[str], source: str = "The table") -> None:
        """Refuse roles of columns that are not there, and roles that leave nothing to protect."""
        known = tuple(names)
        for role, columns in self.by_role().items():
            for name in columns:
                if name not in known:
                    raise InputError(
                        f"{source} has no column {name!r}, which is named as {_article(role)}; "
                        f"its columns are {', '.join(known)}."
                    )
        if not self.quasi_identifiers:
            raise InputError(
                f"{source} has no quasi-identifier; name the columns that others may know about a "
                'person (--quasi, or "role": "quasi-identifier" in the schema).'
            )


_FIELDS = {
    "identifier": "identifiers",
    "quasi-identifier": "quasi_identifiers",
    "sensitive": "sensitive",
    "insensitive": "insensitive",
}


def _article(role: str) -> str:
    if role == "identifier":
        return "an identifier"
    if role == "quasi-identifier":
        return "a quasi-identifier"
    return role
