"""DDI-Codebook, the XML of data archives (versions 1.2 to 2.6)."""

from __future__ import annotations

from xml.parsers import expat

from understudy.data.codebooks.facts import CodebookRequest, Facts, Found, as_number, next_value
from understudy.data.codebooks.xml_tree import Element, UnsafeXMLError, parse_xml

_DATES = {"date": "date", "time": "time", "dateTime": "datetime"}


def read_ddi(data: bytes, asked: CodebookRequest) -> Found:
    """What a DDI-Codebook document says of its variables.

    Summary statistics (``sumStat``, ``catStat``) are left aside: they were counted on the rows.
    """
    try:
        root = parse_xml(data)
    except UnsafeXMLError as error:
        raise asked.bad(str(error)) from error
    except (expat.ExpatError, ValueError) as error:
        raise asked.bad(f"is not valid XML ({error}); is it damaged?") from error
    if root.name in ("DDIInstance", "FragmentInstance"):
        raise asked.bad("is DDI-Lifecycle; export it as DDI-Codebook")
    if root.name != "codeBook":
        raise asked.bad(f"is XML with the root {root.name[:40]!r}, not a DDI codeBook")
    variables = [_variable for part in root.walk("dataDscr") for _variable in part.walk("var")]
    asked.check_count(len(variables))
    files = {var.attributes.get("files") for var in variables}
    if len(files) > 1:
        variables = asked.pick(_by_file(root, variables), "name the table's file too")
    notes = []
    if any(var.first("sumStat") for var in variables):
        notes.append(
            "The codebook's summary statistics were not used: smallest and largest values that "
            "were read off the rows are no public bounds."
        )
    return Found(facts=[_facts(var, asked) for var in variables], notes=tuple(notes))


def _by_file(root: Element, variables: list[Element]) -> list[tuple[str, list[Element]]]:
    """The variables of each file, by the name of the file where it has one."""
    names = {}
    for described in root.walk("fileDscr"):
        for found in described.walk("fileName"):
            names[described.attributes.get("ID", "")] = found.text
    groups: dict[str, list[Element]] = {}
    for var in variables:
        file = var.attributes.get("files", "")
        groups.setdefault(names.get(file, file), []).append(var)
    return list(groups.items())


def _facts(var: Element, asked: CodebookRequest) -> Facts:
    name = var.attributes.get("name")
    if not name:
        raise asked.bad("has a variable without a name")
    kind = _kind(var)
    low, high = _range(var, kind)
    categories = [(c, _text(c, "catValu")) for c in var.all("catgry")]
    categories = [(category, value) for category, value in categories if value]
    marks = [value for c, value in categories if c.attributes.get("missing") in ("Y", "y")]
    marks += _invalid(var)
    values = [value for _, value in categories]
    labels = [_text(category, "labl") or value for category, value in categories]
    missing: str | None = None
    if len(set(marks)) == 1:
        missing = marks[0]
        kept = [(v, label) for v, label in zip(values, labels, strict=True) if v != missing]
        values, labels = [v for v, _ in kept], [label for _, label in kept]
    continuous = var.attributes.get("intrvl") == "contin" or low is not None
    if continuous and kind in ("integer", "real"):
        values, labels = [], []  # categories of such a variable name its special codes only
    numbers = [as_number(value) for value in values]
    if values and None not in numbers and kind != "categorical":
        return _describe_values(var, name, tuple(numbers), tuple(labels), missing)
    if values:
        return _describe_values(var, name, tuple(values), tuple(labels), missing)
    return Facts(
        name=name, kind=kind, low=low, high=high, missing=missing, decimals=_decimals(var, kind)
    )


def _describe_values(
    var: Element,
    name: str,
    values: tuple[object, ...],
    labels: tuple[str, ...],
    missing: str | None,
) -> Facts:
    return Facts(
        name=name,
        kind="categorical",
        values=values,
        labels=labels,
        ordered=var.attributes.get("nature") == "ordinal",
        missing=missing,
    )


def _kind(var: Element) -> str | None:
    written = var.first("varFormat")
    if written is None:
        if var.attributes.get("intrvl") == "contin":
            return "real"
        return None
    category = _DATES.get(written.attributes.get("category", ""))
    if category:
        return category
    if written.attributes.get("type", "numeric") == "character":
        return "categorical"
    if _decimals(var, "real") == 0:
        return "integer"
    if _decimals(var, "real") is None and var.attributes.get("intrvl") != "contin":
        return "integer"
    return "real"


def _decimals(var: Element, kind: str | None) -> int | None:
    given = var.attributes.get("dcml", "")
    if kind == "real" and given.isdecimal() and len(given) < 3:
        return min(int(given), 12)
    return None


def _range(var: Element, kind: str | None) -> tuple[str | None, str | None]:
    low = high = None
    for valid in var.all("valrng"):
        for found in valid.all("range"):
            given = found.attributes
            low = given.get("min", low)
            high = given.get("max", high)
            if "minExclusive" in given:
                low = next_value(kind, given["minExclusive"], upper=False)
            if "maxExclusive" in given:
                high = next_value(kind, given["maxExclusive"], upper=True)
    return low, high


def _invalid(var: Element) -> list[str]:
    """Codes that stand for "missing"."""
    return [
        item.attributes["VALUE"]
        for invalid in var.all("invalrng")
        for item in invalid.all("item")
        if item.attributes.get("VALUE")
    ]


def _text(element: Element, name: str) -> str:
    found = element.first(name)
    if found is None:
        return ""
    return found.text
