"""Public vocabularies: lists of values that a schema can name instead of spelling them out.

``{"kind": "categorical", "vocabulary": "iso-3166-1"}`` stands for the 249 two-letter codes of
countries. The name is looked up when the schema is read, so a model holds the values themselves.
Lists that bodies keep up to date come from packages made for them (pycountry, Babel); short ones
that do not change stand here.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from understudy.data.generalisation import Value
from understudy.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """A list of values with a name.

    Attributes
    ----------
    values
        Makes the list; of vocabularies with a part, such as ``months:de``, from that part.
    ordered
        Whether the values have an order.
    part
        What may follow the name after a colon, in words; empty where nothing can.
    package
        The package that the list comes from, where it is not ours.
    """

    title: str
    values: Callable[[str], tuple[Value, ...]]
    ordered: bool = False
    part: str = ""
    package: str = ""


def resolve_vocabulary(name: str) -> tuple[tuple[Value, ...], bool]:
    """The values of a vocabulary, and whether they have an order."""
    known, part = _find(name)
    values = tuple(dict.fromkeys(known.values(part)))
    if not values:
        raise InputError(
            f"the vocabulary {name!r} has no values; {known.part} may follow the colon"
        )
    return values, known.ordered


def list_vocabularies() -> dict[str, Vocabulary]:
    """All vocabularies by name."""
    return dict(_VOCABULARIES)


def _find(name: str) -> tuple[Vocabulary, str]:
    base, colon, part = name.strip().partition(":")
    found = _VOCABULARIES.get(base.lower())
    if found is None:
        close = [known for known in _VOCABULARIES if base and known.startswith(base.lower())]
        close += difflib.get_close_matches(base.lower(), _VOCABULARIES, n=1, cutoff=0.5)
        hint = "understudy schema --vocabularies lists them"
        if close:
            hint = f"did you mean {close[0]!r}"
        raise InputError(f"there is no vocabulary {name!r}; {hint}")
    if colon and not found.part:
        raise InputError(f"the vocabulary {base!r} has no parts; leave out {colon + part!r}")
    return found, part


# --------------------------------------------------------------------------- lists of our own


def _always(*values: Value) -> Callable[[str], tuple[Value, ...]]:
    return lambda part: values


_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_ROMAN = (
    *("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII", "XIII", "XIV"),
    *("XV", "XVI", "XVII", "XVIII", "XIX", "XX", "XXI", "XXII"),
)
_ICD_10_BLOCKS = (
    *("A00-B99", "C00-D48", "D50-D89", "E00-E90", "F00-F99", "G00-G99", "H00-H59", "H60-H95"),
    *("I00-I99", "J00-J99", "K00-K93", "L00-L99", "M00-M99", "N00-N99", "O00-O99", "P00-P96"),
    *("Q00-Q99", "R00-R99", "S00-T98", "V01-Y98", "Z00-Z99", "U00-U99"),
)


# --------------------------------------------------------------------------- from packages


def _package(name: str) -> ModuleType:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        raise InputError(
            f"this vocabulary needs the package {name.split('.')[0]}; "
            "pip install 'understudy[vocabularies]'"
        ) from error


def _countries(attribute: str) -> Callable[[str], tuple[str, ...]]:
    return lambda part: _sort_values(getattr(c, attribute) for c in _package("pycountry").countries)


def _languages(attribute: str) -> Callable[[str], tuple[str, ...]]:
    """The languages that have a two-letter code."""
    return lambda part: _sort_values(
        getattr(language, attribute)
        for language in _package("pycountry").languages
        if hasattr(language, "alpha_2")
    )


def _currencies(attribute: str) -> Callable[[str], tuple[str, ...]]:
    return lambda part: _sort_values(
        getattr(c, attribute) for c in _package("pycountry").currencies
    )


def _subdivisions(part: str) -> tuple[str, ...]:
    return _sort_values(one.code for one in _parts_of_country(part))


def _us_states(attribute: str) -> Callable[[str], tuple[str, ...]]:
    """The fifty states and the District of Columbia."""
    return lambda part: _sort_values(
        getattr(one, attribute).removeprefix("US-")
        for one in _parts_of_country("US")
        if one.type in ("State", "District")
    )


def _parts_of_country(code: str) -> Iterable[Any]:
    return _package("pycountry").subdivisions.get(country_code=code.upper()) or ()


def _sort_values(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(values))


def _in_language(
    english: tuple[str, ...], function: str, width: str
) -> Callable[[str], tuple[str, ...]]:
    """Names of months or days: in English our own, in other languages Babel's."""

    def values(language: str) -> tuple[str, ...]:
        if language in ("", "en"):
            return english
        names_of = getattr(_package("babel.dates"), function)
        try:
            names = names_of(width, "stand-alone", language)
        except (ValueError, _package("babel").UnknownLocaleError) as error:
            raise InputError(
                f"there is no language {language!r}; give a code such as 'de' or 'pt_BR'"
            ) from error
        return tuple(names[place] for place in sorted(names))

    return values


_LANGUAGE = "a language, such as months:de,"

_VOCABULARIES: dict[str, Vocabulary] = {
    "iso-3166-1": Vocabulary(
        title="countries, two letters", values=_countries("alpha_2"), package="pycountry"
    ),
    "iso-3166-1-alpha-3": Vocabulary(
        title="countries, three letters", values=_countries("alpha_3"), package="pycountry"
    ),
    "iso-3166-1-numeric": Vocabulary(
        title="countries, three digits", values=_countries("numeric"), package="pycountry"
    ),
    "countries": Vocabulary(
        title="countries, English names", values=_countries("name"), package="pycountry"
    ),
    "iso-3166-2": Vocabulary(
        title="parts of a country, such as iso-3166-2:DE",
        values=_subdivisions,
        part="a country's two letters, such as iso-3166-2:DE,",
        package="pycountry",
    ),
    "us-states": Vocabulary(
        title="US states and D.C., two letters", values=_us_states("code"), package="pycountry"
    ),
    "us-state-names": Vocabulary(
        title="US states and D.C., names", values=_us_states("name"), package="pycountry"
    ),
    "iso-639-1": Vocabulary(
        title="languages, two letters", values=_languages("alpha_2"), package="pycountry"
    ),
    "iso-639-3": Vocabulary(
        title="the same languages, three letters",
        values=_languages("alpha_3"),
        package="pycountry",
    ),
    "languages": Vocabulary(
        title="the same languages, English names", values=_languages("name"), package="pycountry"
    ),
    "iso-4217": Vocabulary(
        title="currencies, three letters", values=_currencies("alpha_3"), package="pycountry"
    ),
    "currencies": Vocabulary(
        title="currencies, English names", values=_currencies("name"), package="pycountry"
    ),
    "months": Vocabulary(
        title="January to December; other languages as months:de",
        values=_in_language(_MONTHS, "get_month_names", "wide"),
        ordered=True,
        part=_LANGUAGE,
    ),
    "months-short": Vocabulary(
        title="Jan to Dec; other languages as months-short:de",
        values=_in_language(tuple(name[:3] for name in _MONTHS), "get_month_names", "abbreviated"),
        ordered=True,
        part=_LANGUAGE,
    ),
    "weekdays": Vocabulary(
        title="Monday to Sunday; other languages as weekdays:de",
        values=_in_language(_WEEKDAYS, "get_day_names", "wide"),
        ordered=True,
        part=_LANGUAGE,
    ),
    "weekdays-short": Vocabulary(
        title="Mon to Sun; other languages as weekdays-short:de",
        values=_in_language(tuple(name[:3] for name in _WEEKDAYS), "get_day_names", "abbreviated"),
        ordered=True,
        part=_LANGUAGE,
    ),
    "sex": Vocabulary(title="female, male", values=_always("female", "male")),
    "sex-letters": Vocabulary(title="F, M", values=_always("F", "M")),
    "iso-5218": Vocabulary(
        title="sex: 0 not known, 1 male, 2 female, 9 not applicable",
        values=_always(0, 1, 2, 9),
    ),
    "administrative-gender": Vocabulary(
        title="HL7: female, male, other, unknown",
        values=_always("female", "male", "other", "unknown"),
    ),
    "blood-groups": Vocabulary(
        title="ABO and rhesus: A+ to O-",
        values=_always("A+", "A-", "AB+", "AB-", "B+", "B-", "O+", "O-"),
    ),
    "icd-10-chapters": Vocabulary(
        title="diseases, chapters I to XXII", values=_always(*_ROMAN), ordered=True
    ),
    "icd-10-blocks": Vocabulary(
        title="the same chapters as blocks of codes, A00-B99 to U00-U99",
        values=_always(*_ICD_10_BLOCKS),
        ordered=True,
    ),
    "isced-2011": Vocabulary(
        title="education, levels 0 to 8", values=_always(*range(9)), ordered=True
    ),
    "nace-2": Vocabulary(
        title="branches of industry, sections A to U", values=_always(*"ABCDEFGHIJKLMNOPQRSTU")
    ),
    "continents": Vocabulary(
        title="Africa to South America",
        values=_always(
            *("Africa", "Antarctica", "Asia", "Europe", "North America", "Oceania"),
            "South America",
        ),
    ),
    "letters": Vocabulary(title="A to Z", values=_always(*"ABCDEFGHIJKLMNOPQRSTUVWXYZ")),
}
