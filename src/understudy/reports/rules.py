"""The part of the owner's report on rules that real rows keep."""

from __future__ import annotations

from understudy.evaluation.result import Evaluation
from understudy.evaluation.rules import REMEDY, broken_rules, write_constraints
from understudy.reports.page import Section, behind, escape_html, percent, table


def rules(found: Evaluation) -> Section | None:
    """In how many synthetic rows each of them is broken."""
    if not found.rules:
        return None
    lead = (
        "What (nearly) all real rows keep, and independent columns would not: an order, a sum, a "
        "column that follows from another one. Rows in which a value is missing keep every rule."
    )
    listed = table(
        ("Rule", "#Synthetic rows that break it", "#Real rows"),
        [
            (escape_html(rule.text), percent(rule.synthetic), percent(rule.real))
            for rule in found.rules
        ],
    )
    broken = broken_rules(found.rules)
    remedy = ""
    if broken:
        line = escape_html(write_constraints(broken))
        remedy = f"<p>{escape_html(REMEDY)}</p><pre>{line}</pre>"
    if len(found.rules) > 20:
        listed = behind(f"All {len(found.rules)} rules", listed)
    return Section("rules", "Rules between columns", lead, listed + remedy)
