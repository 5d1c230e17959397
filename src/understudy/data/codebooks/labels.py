"""Value labels of Stata (``label define``) and SPSS (``VALUE LABELS``), from their text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from understudy.data.codebooks.facts import CodebookRequest, Facts, Found, as_number

_TOKEN = re.compile(r"\"((?:[^\"]|\"\")*)\"|'((?:[^']|'')*)'|([^\s\"',()/]+)|([(),/])")
_LEVELS = {"nominal": "categorical", "ordinal": "categorical", "scale": "real"}


@dataclass
class _Variable:
    labels: dict[str, str] = field(default_factory=dict)
    """By value."""
    quoted: bool = False
    kind: str | None = None
    ordered: bool = False
    missing: list[str] = field(default_factory=list)

    def add(self, value: str, label: str, quoted: bool) -> None:
        self.labels[value] = label
        self.quoted = self.quoted or quoted


def is_stata(text: str) -> bool:
    """Whether a text has Stata's commands for labels."""
    return re.search(r"^\s*la(b|be|bel)?\s+(de|val|var)\w*\s", text, re.MULTILINE) is not None


def is_spss(text: str) -> bool:
    """Whether a text has SPSS's commands for labels."""
    return re.search(r"^\s*(ADD\s+)?VALUE\s+LABELS?\b", text, re.M | re.I) is not None


def read_stata(text: str, asked: CodebookRequest) -> Found:
    """What the label commands of a do-file say."""
    sets: dict[str, _Variable] = {}
    used: dict[str, str] = {}
    named: list[str] = []
    for command in _stata_commands(text):
        words = [_word(match) for match in _TOKEN.finditer(command)]
        if (",", False) in words:
            words = words[: words.index((",", False))]  # options follow
        if len(words) < 3 or not "label".startswith(words[0][0].lower()):
            continue
        what, rest = words[1][0].lower(), words[2:]
        if what.startswith("de"):
            labels = sets.setdefault(rest[0][0], _Variable())
            for (value, _), (label, _) in zip(rest[1::2], rest[2::2], strict=False):
                labels.add(value, label, quoted=False)
        elif what.startswith("val"):
            used.update({name: rest[-1][0] for name, _ in rest[:-1]})
        elif what.startswith("var"):
            named.append(rest[0][0])
    names = list(dict.fromkeys([*named, *used]))
    asked.check_count(len(names))
    return Found(facts=[_facts(name, sets.get(used.get(name, ""), _Variable())) for name in names])


def _stata_commands(text: str) -> list[str]:
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
    text = re.sub(r"///[^\n]*\n", " ", text)
    if re.search(r"^\s*#delimit\s*;", text, re.MULTILINE):
        text = re.sub(r"^\s*#delimit.*$", "", text, flags=re.MULTILINE)
        commands = _split_outside_quotes(text, ";")
    else:
        commands = text.splitlines()
    return [command.strip() for command in commands if not command.strip().startswith("*")]


def read_spss(text: str, asked: CodebookRequest) -> Found:
    """What the label, missing-value and level commands of a syntax file say."""
    variables: dict[str, _Variable] = {}
    for command in _split_outside_quotes(re.sub(r"^\s*\*.*$", "", text, flags=re.M), "."):
        heading = re.match(
            r"\s*(?:ADD\s+)?(VALUE\s+LABELS?|MISSING\s+VALUES?|VARIABLE\s+LABELS?|VARIABLE\s+LEVEL)"
            r"\b",
            command,
            re.IGNORECASE,
        )
        if heading is None:
            continue
        tokens = [_word(match) for match in _TOKEN.finditer(command[heading.end() :])]
        what = " ".join(heading[1].upper().split())
        if what.startswith("VALUE"):
            _read_value_labels(tokens, variables)
        elif what.startswith("MISSING"):
            _read_missing(tokens, variables)
        elif what.startswith("VARIABLE LABEL"):
            for name, quoted in tokens[::2]:
                if not quoted and name != "/":
                    variables.setdefault(name, _Variable())
        else:
            _read_levels(tokens, variables)
    asked.check_count(len(variables))
    return Found(facts=[_facts(name, variable) for name, variable in variables.items()])


SyntaxTokens = list[tuple[str, bool]]


def _read_value_labels(tokens: SyntaxTokens, variables: dict[str, _Variable]) -> None:
    """``VALUE LABELS sex 1 'Male' 2 'Female' / region smoker 0 'no' 1 'yes'``."""
    for group in _groups(tokens):
        names: list[str] = []
        rest = [token for token in group if token[0] != ","]
        while rest and not rest[0][1] and as_number(rest[0][0]) is None:
            names.append(rest.pop(0)[0])
        for (value, quoted), (label, _) in zip(rest[::2], rest[1::2], strict=False):
            for name in names:
                variables.setdefault(name, _Variable()).add(value, label, quoted)


def _read_missing(tokens: SyntaxTokens, variables: dict[str, _Variable]) -> None:
    """``MISSING VALUES age (99) income (-1, -2)``."""
    for names, inside in _split_parentheses(tokens):
        for name in names:
            marks = [word for word, _ in inside if word.lower() != "thru" and word != ","]
            variables.setdefault(name, _Variable()).missing = marks


def _read_levels(tokens: SyntaxTokens, variables: dict[str, _Variable]) -> None:
    """``VARIABLE LEVEL sex region (NOMINAL) / age (SCALE)``."""
    for names, inside in _split_parentheses(tokens):
        level = "".join(word for word, _ in inside).lower()
        for name in names:
            variable = variables.setdefault(name, _Variable())
            variable.kind = _LEVELS.get(level)
            variable.ordered = level == "ordinal"


def _groups(tokens: SyntaxTokens) -> list[SyntaxTokens]:
    groups: list[SyntaxTokens] = [[]]
    for token in tokens:
        if token == ("/", False):
            groups.append([])
        else:
            groups[-1].append(token)
    return groups


def _split_parentheses(tokens: SyntaxTokens) -> list[tuple[list[str], SyntaxTokens]]:
    """Names, and what stands in the parentheses after them."""
    found: list[tuple[list[str], SyntaxTokens]] = []
    names: list[str] = []
    inside: SyntaxTokens | None = None
    for word, quoted in tokens:
        if word == "(" and not quoted:
            inside = []
        elif word == ")" and not quoted and inside is not None:
            found.append((names, inside))
            names, inside = [], None
        elif inside is not None:
            inside.append((word, quoted))
        elif word not in (",", "/"):
            names.append(word)
    return found


def _word(match: re.Match[str]) -> tuple[str, bool]:
    """A word, and whether it stood in quotes."""
    for group, quote in ((1, '"'), (2, "'")):
        if match[group] is not None:
            return match[group].replace(quote * 2, quote), True
    return match[3] or match[4], False


def _split_outside_quotes(text: str, end: str) -> list[str]:
    """Commands, each of which ends in a mark at the end of a line, or before a space."""
    parts: list[str] = []
    begin = 0
    quote = ""
    for place, character in enumerate(text):
        if quote:
            if character == quote:
                quote = ""
        elif character in "\"'":
            quote = character
        elif character == end and text[place + 1 : place + 2].strip() == "":
            parts.append(text[begin:place])
            begin = place + 1
    return [*parts, text[begin:]]


def _facts(name: str, variable: _Variable) -> Facts:
    missing: bool | str | None = None
    pairs = list(variable.labels.items())
    if len(variable.missing) == 1:
        missing = variable.missing[0]
        pairs = [pair for pair in pairs if pair[0] != missing]
    # Stata writes its missing values as a point and a letter: empty cells once exported.
    if any(value.startswith(".") for value, _ in pairs):
        pairs = [pair for pair in pairs if not pair[0].startswith(".")]
        missing = missing or True
    if variable.kind == "real":
        pairs = []
    values: list[object] = [value for value, _ in pairs]
    numbers = [as_number(value) for value, _ in pairs]
    if not variable.quoted and None not in numbers:
        values = list(numbers)
    return Facts(
        name=name,
        kind="categorical" if pairs else variable.kind,
        values=tuple(values),
        labels=tuple(label for _, label in pairs),
        ordered=variable.ordered,
        missing=missing,
    )
