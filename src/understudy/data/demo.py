"""The demo: a real survey on a delicate matter, synthesized from beginning to end.

The survey is Fair's (1978): 6,366 married women on their marriage and affairs. It comes inside
statsmodels, so nothing is downloaded. Codes are spelled out by the survey's code book, which is
public, and so is the schema below.
"""

from __future__ import annotations

from typing import Any

from understudy.data.schema import Schema
from understudy.errors import InputError

_JOBS = [
    "student",
    "farming or unskilled",
    "white-collar",
    "teacher, nurse, skilled",
    "managerial",
    "professional",
]
_CODE_BOOK: dict[str, dict[float, str]] = {
    "rate_marriage": dict(enumerate(["very poor", "poor", "fair", "good", "very good"], start=1)),
    "religious": dict(enumerate(["not", "mildly", "fairly", "strongly"], start=1)),
    "educ": {
        9: "grade school",
        12: "high school",
        14: "some college",
        16: "college",
        17: "some graduate",
        20: "advanced",
    },
    "occupation": dict(enumerate(_JOBS, start=1)),
    "occupation_husb": dict(enumerate(_JOBS, start=1)),
}


def demo_schema() -> Schema:
    """The public facts about the survey, from its code book."""

    def describe_ordered(name: str) -> dict[str, Any]:
        return {"kind": "categorical", "values": list(_CODE_BOOK[name].values()), "ordered": True}

    attributes: dict[str, Any] = {
        "rate_marriage": describe_ordered("rate_marriage"),
        "age": {
            "kind": "categorical",
            "values": [17.5, 22.0, 27.0, 32.0, 37.0, 42.0],
            "ordered": True,
        },
        "yrs_married": {
            "kind": "categorical",
            "values": [0.5, 2.5, 6.0, 9.0, 13.0, 16.5, 23.0],
            "ordered": True,
        },
        "children": {
            "kind": "categorical",
            "values": [0.0, 1.0, 2.0, 3.0, 4.0, 5.5],
            "ordered": True,
        },
        "religious": describe_ordered("religious"),
        "educ": describe_ordered("educ"),
        "occupation": {"kind": "categorical", "values": _JOBS},
        "occupation_husb": {"kind": "categorical", "values": _JOBS},
        "affairs": {"kind": "real", "edges": [0, 0.01, 0.1, 0.25, 0.5, 1, 2, 4, 8, 16, 60]},
    }
    return Schema.from_dict({"attributes": attributes})


def demo_frame() -> Any:
    """The survey as a pandas frame."""
    try:
        from statsmodels.datasets import fair
    except ImportError as error:
        raise InputError(
            "The demo's survey comes with statsmodels; install it by `pip install "
            "understudy[demo]`."
        ) from error
    frame = fair.load_pandas().data
    for name, words in _CODE_BOOK.items():
        frame[name] = frame[name].map(words)
    return frame
