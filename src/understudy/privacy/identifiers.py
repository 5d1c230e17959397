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

_GAP = r"[_\-. ]{0,2}"
"""Between the words of a name: ``patient_nr``, ``patient.nr``, ``PatientNr``."""

_AFTER = r"(.*[_\-. ])?"
_PREFIX = f"(?i){_AFTER}"
_WHOSE = (
    "account|acct|applicant|borrower|case|client|cust|customer|donor|emp|employee|hh|household|"
    "medical|medical[_\\-. ]?record|member|membership|participant|pat|patient|person|pers|"
    "policy[_\\-. ]?holder|pupil|record|resp|respondent|stud|student|subj|subject|subscriber|user|"
    "usubj"
)
"""Before "id" without anything between them, or before a number."""

_PAPERS = (
    "(bank[_\\-. ]?|credit[_\\-. ]?)?card|(driv\\w+[_\\-. ]?)?licen[cs]e|insurance|matric\\w*|"
    "national[_\\-. ]?(id|insurance)|nhs|passport|plate|registration|roll|"
    "social[_\\-. ]?(security|insurance)|tax|vat"
)
"""What a person, or a car, has a number of by law: ``passport_no``, ``RollNo``."""

_WHAT = (
    "accession|asset|booking|claim|contract|document|file|invoice|loan|order|policy|receipt|"
    "reference|sample|serial|shipment|specimen|ticket|tracking|transaction|visit|voucher"
)
_SERIAL = r"(s|se|ser|sl|sr)[_\-. ]{0,2}no\.?|lfd[_\-. ]?nr\.?"
_NUMBER = r"(number|num|no|nr)\.?"
_NUMBERED = rf"({_WHOSE}|{_PAPERS}|{_WHAT}){_GAP}{_NUMBER}|{_SERIAL}"
"""Things that are given a number each: ``order_no``, ``PatientNr``, ``Sl. No.``"""

_NUMMER = r".*[^\W\d_](nummer|[_\- ]nr|(?-i:Nr))\.?|.*[^\W\d_]{3}nr"
_NUMERO = (
    r"(num[eé]ro|num|n°|nº)[_\-. ](d[eou]?[_\-. ])?(client|contrat|cuenta|compte|dossier|"
    r"factura|facture|pacient|patient|pedido|socio)\w*"
)
"""The same in German and its neighbours, and in French and its own: ``Vertragsnummer``,
``Kunden-Nr.``, ``SchuelerNr``, ``kundenr``, ``numero_cliente``.
"""

_NAMED = (
    rf"({_WHOSE}){_GAP}(code|key)|(primary|surrogate){_GAP}key|user{_GAP}name|login|"
    rf"(client[_\-. ]?)?ip({_GAP}addr(ess)?)?|mac{_GAP}addr(ess)?"
)
_LETTERS = (
    "barcode|cnpj|cpf|curp|ean|gtin|imei|imsi|mrn|nino|npi|orcid|pesel|pid|pmid|seqn|sku|uid|upc|"
    "vin|aadhaar|md5|sha256|hash"
)
"""Keys that go by their own name, or by a few letters; some are also other words."""

_CAMEL = r"(?-i:.*[a-z](ID|Id|MRN|UUID|GUID))"
_BEFORE = r"id[_\-. ].+"
"""``EmpID`` and ``orderId``, and ``id_client``."""

_NO_NUMBER = rf"({_WHOSE}|{_WHAT}|row){_GAP}index|identifier|{_PHONE}"
"""In ``own_telephone`` stands something else. A ``body_mass_index`` is measured, an ``index`` alone
counts rows."""

_GROUP = "|".join(
    (
        rf"({_WHOSE}|{_WHAT})?id|id{_GAP}(num|number|no|nr|code)",
        *(_NUMBERED, _NUMMER, _NUMERO, _NAMED, _LETTERS, _CAMEL, _NO_NUMBER),
    )
)
_GROUP_NAME = re.compile(rf"{_PREFIX}({_GROUP})|(?i:{_BEFORE}|index)")

_ROW = rf"row{_GAP}(names?|number|num|no|nr)|unnamed: ?\d+"
_ROW_NAME = re.compile(rf"{_PREFIX}(uuid|guid|ssn|{_ROW}|{'|'.join(CONTACTS)})")

_ROW_NUMBER_NAME = re.compile(
    rf"(?i)(id|row_?id|nr|.*(uuid|guid|index|hash|md5|sha256)|{_AFTER}({_ROW}|{_SERIAL}|"
    rf"barcode|ean|gtin|pmid|sku|upc|vin|({_WHAT}){_GAP}(id|{_NUMBER})))"
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
