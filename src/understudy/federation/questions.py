"""What a holder may be asked in a round, by way, and what may stand in each question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from understudy.data.marginals import describe
from understudy.errors import InputError
from understudy.federation.messages import Message
from understudy.privacy.budget import Budget, Currency
from understudy.privacy.wire import read_marginals

QUESTIONS = {
    "secure": ("tables", "vote", "scores", "top", "size", "sums", "vectors"),
    "statistics": ("tables",),
    "voting": ("vote", "tables", "size", "sums"),
    "models": ("model",),
}
"""What may be asked, by way."""

MAX_NUMBERS = 1 << 24
"""The most cells that a holder counts for one table, and for all that it sends in one round."""

SMALLEST_AMOUNT = 1e-24
MAX_AMOUNT = 1e12
"""No allowance is as large; what is larger would overflow on its way to being refused."""

_Kind = type | tuple[type, ...]

_NUMBER, _NOTHING = (float, int), type(None)
_STEP: dict[str, _Kind] = {"session": str, "round": int}
_TABLES: dict[str, _Kind] = {
    **_STEP,
    "what": str,
    "names": list,
    "bits": (str, _NOTHING),
    "amount": _NUMBER,
}
_SCORED: dict[str, _Kind] = {**_TABLES, "score": str, "most_rows": (int, _NOTHING), "shares": dict}
_AXES = {"axes": "i8", "lengths": "i8"}
_FIELDS: dict[str, tuple[Mapping[str, _Kind], Mapping[str, str]]] = {
    "tables": (_TABLES, {**_AXES, "weights": "f8"}),
    "vote": ({**_SCORED, "rule": str}, {**_AXES, "offsets": "f8", "estimates": "f8"}),
    "scores": (_SCORED, {**_AXES, "estimates": "f8"}),
    "top": ({**_SCORED, "delegate": str}, {**_AXES, "offsets": "i8", "estimates": "f8"}),
    "sums": (
        {
            **_TABLES,
            "bits": _NOTHING,
            "features": list,
            "moments": str,
            "ball": (*_NUMBER, _NOTHING),
            "missing": str,
            "split": dict,
            "pooled": bool,
        },
        {**_AXES, "points": "f8", "centres": "f8", "directions": "f8"},
    ),
    "vectors": (
        {
            **_STEP,
            "what": str,
            "bits": _NOTHING,
            "amount": _NUMBER,
            "kind": str,
            "loss": str,
            "labels": int,
            "scaled": list,
            "coded": list,
            "clip": _NUMBER,
            "rate": _NUMBER,
        },
        {"sizes": "i8", "numbers": "f8"},
    ),
    "size": ({**_STEP, "what": str, "amount": _NUMBER}, {}),
    "model": ({**_STEP, "what": str}, {}),
}
"""What a question may hold: nothing that is not read, so that what the log says of it is all that
there is.
"""


def check_question(asked: Message, way: str) -> str:
    """What is asked for; refuses what nobody asks in that way, and fields that do not belong
    to it.
    """
    what: str = asked.get("what", str)
    if what not in QUESTIONS[way]:
        raise InputError(f"In the way {way!r} nobody asks for {what!r}.")
    content, arrays = _FIELDS[what]
    for name in (*(asked.content.keys() - content.keys()), *(asked.arrays.keys() - arrays.keys())):
        raise InputError(f"A question for {what} does not hold {name!r}.")
    for name in asked.content:
        asked.get(name, content[name])
    for name in asked.arrays:
        asked.array(name, arrays[name])
    return what


def budget_of(asked: Message, currency: Currency) -> Budget:
    """What a question may cost."""
    amount = float(asked.get("amount", _NUMBER))
    if 0 < amount < SMALLEST_AMOUNT:
        raise InputError(f"Nothing is told for less than {SMALLEST_AMOUNT:g}; raise epsilon.")
    if amount > MAX_AMOUNT:
        raise InputError(f"A question costs at most {MAX_AMOUNT:g}; ask for less.")
    return Budget(amount, currency)


def in_words(asked: Message) -> dict[str, Any]:
    """What an auditor wants to know of a question."""
    if asked.kind != "ask":
        return {}
    told = {
        name: asked.content.get(name)
        for name in ("round", "what", "amount", "score")
        if name in asked.content
    }
    if "names" in asked.content:
        tables = read_marginals(asked)
        told["tables"] = len(tables)
        if len(tables) <= 100:
            told["names"] = [describe(axes) for axes in tables]
    if asked.content.get("what") == "vectors":
        told |= {name: asked.content.get(name) for name in ("kind", "clip", "rate")}
    if isinstance(asked.content.get("features"), list):
        told["features"] = len(asked.content["features"])
    return told
