"""A plan as a client in another language needs it: what to draw, to look up and to show.

All probabilities are whole numbers out of 2^64, written as text: a JavaScript number would round
them.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from understudy.data.cells import absent_code
from understudy.data.nearest import cut_between_values
from understudy.data.schema import Attribute, Category, Quantity
from understudy.local.plans import CollectionPlan
from understudy.local.questions import LocalQuestion
from understudy.local.reports import NUMBER_BYTES, REPORT_VERSION


def client_source() -> str:
    """The JavaScript client: one module that needs nothing else."""
    return read_resource("client.js")


def read_resource(name: str) -> str:
    """A file of this package, as text."""
    return files("understudy.local").joinpath(name).read_text(encoding="utf-8")


def client_form(plan: CollectionPlan) -> dict[str, Any]:
    """What the JavaScript client needs of a plan."""
    asked = {name for question in plan.questions for name in question.columns}
    return {
        "version": REPORT_VERSION,
        "plan": plan.id,
        "survey": plan.survey,
        "title": plan.title,
        "levels": list(plan.epsilons),
        "token_letters": 2 * NUMBER_BYTES * (1 + bool(plan.token_key)),
        "token_needed": bool(plan.token_key),
        "draw": [str(threshold) for threshold in plan.draw_thresholds],
        "questions": [_question_form(question) for question in plan.questions],
        "columns": [
            _column_form(attribute, plan.wording.get(attribute.name, ""))
            for attribute in plan.schema.modelled
            if attribute.name in asked
        ],
    }


def _question_form(question: LocalQuestion) -> dict[str, Any]:
    form = question.to_dict()
    form["sizes"] = list(question.sizes)
    return form


def _column_form(attribute: Attribute, wording: str) -> dict[str, Any]:
    form: dict[str, Any] = {
        "name": attribute.name,
        "wording": wording,
        "kind": attribute.kind,
        "missing": attribute.missing is not None,
        "absent": absent_code(attribute),
        "labels": [attribute.label(code) for code in range(attribute.size)],
    }
    if isinstance(attribute, Quantity):
        form["cuts"] = list(cut_between_values(attribute))
        form["whole"] = attribute.whole
        form["range"] = [attribute.write(attribute.edges[0]), attribute.write(_last(attribute))]
    else:
        assert isinstance(attribute, Category)
        form["values"] = [str(value) for value in attribute.domain]
        form["outside"] = attribute.outside
    return form


def _last(attribute: Quantity) -> float:
    """The largest value of a quantity."""
    if attribute.whole:
        return attribute.edges[-1] - 1
    return attribute.edges[-1]
