"""The report for the owner of the table: how close the synthetic table came, in pictures.

It is computed from the real rows, without noise. It says so at the top, and it is not for release.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from understudy.attacks import Attacks
from understudy.data.files import write_text
from understudy.evaluation.result import Evaluation
from understudy.models.model import Model
from understudy.reports.attacks import attacks as attacks_section
from understudy.reports.likeness import columns, marginals, pairs
from understudy.reports.page import (
    HtmlPage,
    Section,
    behind,
    count_noun,
    escape_html,
    key_figures,
    page,
    percent,
    sentence,
    table,
)
from understudy.reports.rules import rules
from understudy.reports.usefulness import inference, learning, network, propensity

MAX_NOTES = 4
"""Notes at the top of the page."""


def write_owner_report(
    found: Evaluation,
    path: str | Path,
    *,
    model: Model | None = None,
    attacks: Attacks | None = None,
) -> None:
    """Write the owner's report to an HTML file. It is computed from the real rows: not for release.

    Parameters
    ----------
    found
        What :func:`understudy.evaluation.evaluate` returned.
    path
        Where to.
    model
        The model that the synthetic rows were drawn from, if there is one: the report then tells
        its guarantee.
    attacks
        What :func:`understudy.attacks.attack` returned, if it was run.
    """
    write_text(path, owner_report(found, model=model, attacks=attacks), "report")


def owner_report(
    found: Evaluation, *, model: Model | None = None, attacks: Attacks | None = None
) -> HtmlPage:
    """The owner's report as HTML; see :func:`write_owner_report`."""
    header = f"""<p class="alarm banner"><b>For the owner only. Not for release.</b>
This page was computed from the real rows, without noise: no guarantee covers it. Whoever may not
see the real table must not see this page.</p>
<p class="over">Owner's report</p>
<h1>How close is the synthetic table to the real one?</h1>
{_verdict(found)}
{_guarantee(model)}
{_key_figures(found)}
{_note_unfitting(found)}
{_findings(found)}"""
    sections = [
        columns(found),
        marginals(found),
        pairs(found),
        rules(found),
        learning(found),
        inference(found),
        propensity(found),
        network(found),
        None if attacks is None else attacks_section(attacks),
        _notes(found),
    ]
    body = "\n".join(section.html(found.findings) for section in sections if section is not None)
    footer = "Made by Understudy from the real rows. For the owner only: not for release."
    return page("Owner's report: not for release", header, body, footer)


def _verdict(found: Evaluation) -> str:
    """What the table is fit for, on top; the rules, and what spoke against a use, for who looks."""
    verdict = found.verdict
    if not verdict.uses:
        return ""
    lines = (
        ("Fit for", verdict.fit_for or ("nothing",), "good" if verdict.fit_for else "poor"),
        ("Too few rows to tell", verdict.undecided, "unknown"),
        ("Not for", verdict.not_for, "poor"),
    )
    shown = "".join(
        f'<li class="{grade}"><b>{start}</b><span>{escape_html(", ".join(uses))}</span></li>'
        for start, uses, grade in lines
        if uses
    )
    rules = table(
        ("Use", "Fit", "What it takes", "What speaks against it"),
        [
            (
                f"<b>{escape_html(use.name)}</b>",
                {True: "yes", False: "no", None: "open"}[use.fit],
                sentence(use.rule),
                sentence(use.because),
            )
            for use in verdict.uses
        ],
    )
    return f'<ul class="findings uses">{shown}</ul>{behind("The rules of the verdict", rules)}'


def _guarantee(model: Model | None) -> str:
    if model is None:
        return ""
    statement = escape_html(model.ledger.statement())
    return (
        f"<p>The guarantee of the synthetic table, which this page does not share: {statement}</p>"
    )


def _key_figures(found: Evaluation) -> str:
    figures = [
        ("Real rows", f"{found.shape.real_rows:,}"),
        ("Synthetic rows", f"{found.shape.synthetic_rows:,}"),
        ("Columns compared", str(len(found.columns))),
        *(
            (f"Distance, {count_noun(errors.order, 'column')}", percent(errors.mean))
            for errors in found.marginals[-2:]
        ),
        ("Told apart (0.5: not)", f"{found.propensity.auc_values:.2f}"),
    ]
    return key_figures(figures)


def _note_unfitting(found: Evaluation) -> str:
    """The first notes on values outside the domain, where nobody misses them; all of them are in
    the last section.
    """
    notes = _fewer_notes(found)
    more = len(notes) - MAX_NOTES
    lines = [escape_html(note) for note in notes[:MAX_NOTES]]
    if more > 0:
        lines.append(f'<a href="#notes">{count_noun(more, "more note")}</a>')
    return "".join(f"<p><b>Note.</b> {line}</p>" for line in lines)


def _fewer_notes(found: Evaluation) -> list[str]:
    """Many notes on values outside the domain would push the findings off the page: they are in
    the last section.
    """
    outside = [note for note in found.shape.notes if hasattr(note, "outside")]
    if len(outside) <= MAX_NOTES:
        return list(found.shape.notes)
    return [note for note in found.shape.notes if not hasattr(note, "outside")]


def _findings(found: Evaluation) -> str:
    lines = "".join(
        f'<li class="{finding.grade}"><a '
        f'href="#{escape_html(finding.subject)}"><b>{finding.grade}</b></a>'
        f"<span>{sentence(finding.sentence)}</span></li>"
        for finding in found.findings
    )
    return f'<ul class="findings">{lines}</ul>'


def _notes(found: Evaluation) -> Section:
    shape = found.shape
    outside = [note for note in shape.notes if hasattr(note, "outside")]
    notes = [f"Real: {shape.real}. Synthetic: {shape.synthetic}."]
    if len(outside) <= MAX_NOTES:
        outside = []
    notes += [note for note in shape.notes if note not in outside]
    if shape.left_out:
        notes.append(f"Identifiers and text are not compared: {', '.join(shape.left_out)}.")
    notes.append(f"Samples, splits and learners were drawn with the seed {found.seed}.")
    listed = "".join(f"<li>{escape_html(note)}</li>" for note in notes)
    return Section(
        "notes",
        "Notes",
        "What was compared, and what did not fit.",
        f"<ul>{listed}</ul>{_outside(outside)}",
    )


def _outside(notes: list[Any]) -> str:
    """Values outside the domain, the most first."""
    if not notes:
        return ""
    lines = [
        (
            escape_html(note.source),
            f"<b>{escape_html(note.outside.column)}</b>",
            f"{note.outside.count:,}",
            escape_html(note.outside.counted_as),
            escape_html(note.outside.remedy),
        )
        for note in sorted(notes, key=lambda note: -note.outside.count)
    ]
    return table(("Table", "Column", "#Values outside", "Counted as", "What to do"), lines)
