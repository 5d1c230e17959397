"""Which columns tell rows or persons apart: by their names, which are public."""

from __future__ import annotations

import re

from understudy.data.attributes import Identifier

_PHONE = r"(tele|mobile[_\- ]?)?phone([_\- ]?(no|nr|number))?|mobile|fax"
CONTACTS = {
    r"e[_\- ]?mail([_\- ]?addr(ess)?)?|mail[_\- ]?addr(ess)?": "user######@example.com",
    _PHONE: "555-######",
    r"iban": "XX00-######",
    r"isbn([_\- ]?1[03])?": "978-0-######",
}
"""Names of columns that reach one person, or one thing, and no other, and what synthetic rows have
in them.
"""

_PREFIX = r"(?i)(.*[_\- ])?"
_WHOSE = (
    "account|case|client|customer|emp|employee|member|participant|patient|person|pupil|record|"
    "resp|respondent|student|subj|subject|user|usubj"
)
"""Before "id" without anything between them, or before a number."""

_WHAT = (
    "booking|claim|contract|file|invoice|order|policy|receipt|reference|serial|shipment|ticket|"
    "transaction|visit"
)
_NUMBERED = rf"({_WHOSE}|{_WHAT})[_\- ]?(number|num|no|nr)"
"""Things that are given a number each: ``order_no``, ``PatientNr``."""

_NUMMER = r".*[^\W\d_](nummer|[_\- ]nr|(?-i:Nr))\.?"
"""The same in German and its neighbours: ``Vertragsnummer``, ``Kunden-Nr.``, ``SchuelerNr``."""

_CAMEL = r"(?-i:.*[a-z](ID|Id))"
_BEFORE = r"id[_\- ].+"
"""``EmpID`` and ``orderId``, and ``id_client``."""

_NO_NUMBER = rf"index|identifier|{_PHONE}"
"""In ``body_mass_index`` and ``own_telephone`` stands something else."""

_GROUP = "|".join(
    (
        rf"({_WHOSE}|{_WHAT})?id|id[_\- ]?(num|number|no|nr|code)",
        *(_NUMBERED, _NUMMER, _CAMEL, _NO_NUMBER),
    )
)
_GROUP_NAME = re.compile(rf"{_PREFIX}({_GROUP})|(?i:{_BEFORE})")

_ROW_NAME = re.compile(rf"{_PREFIX}(uuid|guid|ssn|rownames|row_?number|{'|'.join(CONTACTS)})")

_ROW_NUMBER_NAME = re.compile(
    rf"(?i)(id|row_?id|.*(uuid|guid|rownames|row_?number|index)|(.*[_\- ])?({_WHAT})"
    r"[_\- ]?(id|number|num|no|nr))"
)
"""Identifiers that tell rows apart, hardly persons."""


def is_identifier(name: str, person: str | None = None) -> bool:
    """Whether a column is taken for one that tells rows or persons apart: by its name."""
    return name == person or may_tell_groups(name) or _ROW_NAME.fullmatch(name) is not None


def make_identifier(name: str) -> Identifier:
    """An identifier that looks like what its name says: ``email`` has an address."""
    for names, pattern in CONTACTS.items():
        if re.fullmatch(f"{_PREFIX}({names})", name):
            return Identifier(name, "identifier", pattern=pattern)
    return Identifier(name, "identifier")


def may_tell_groups(name: str) -> bool:
    """Whether many rows may share an identifier, as ``school_id`` or the ``id`` of a person who has
    several rows: by its name.
    """
    return _GROUP_NAME.fullmatch(name) is not None


def is_owner(name: str) -> bool:
    """Whether an identifier may say whose row it is, as ``patient_id`` does: by its name."""
    return is_identifier(name) and _ROW_NUMBER_NAME.fullmatch(name) is None
