"""The report on an anonymised table: what it fulfils, what it cost, what it does not protect."""

from __future__ import annotations

from pathlib import Path

from understudy.anonymity.checking import Check
from understudy.anonymity.comparison import GuaranteeComparison
from understudy.anonymity.reviewing import Review
from understudy.data.files import write_text
from understudy.reports.charts import Dot, dots, key, lengths
from understudy.reports.page import (
    HtmlPage,
    Section,
    escape_html,
    key_figures,
    page,
    percent,
    sentence,
    table,
)


def write_anonymity_report(path: str | Path, review: Review) -> None:
    """Write the report to an HTML file. It is computed from the real rows: not for release."""
    write_text(path, anonymity_report(review), "report")


def anonymity_report(review: Review) -> HtmlPage:
    """The report as HTML; see :func:`write_anonymity_report`."""
    release = review.release
    header = f"""<p class="alarm banner"><b>This is not differential privacy.</b>
What a group of rows shares can be learned about everybody in it, and two such tables together can
tell more than either. This page was computed from the real rows and is for their owner only.</p>
<p class="over">Anonymisation report</p>
<h1>{sentence(release.after.verdict)}</h1>
{_key_figures(review)}"""
    sections = [_requirement(review), _loss(review)]
    if review.attacks:
        sections.append(_attacks(review))
    if review.comparison is not None:
        sections.append(_comparison(review.comparison))
    if not release.before.holds:
        sections.append(_reasons(release.before))
    sections.append(_notes(review))
    body = "\n".join(section.html() for section in sections)
    footer = "Made by Understudy. One file, no scripts, nothing from outside."
    return page("Anonymisation report", header, body, footer)


def _key_figures(review: Review) -> str:
    release = review.release
    return key_figures(
        [
            ("rows published", f"{release.after.rows:,}"),
            ("rows left out", f"{release.suppressed:,}"),
            ("groups", f"{release.after.groups:,}"),
            ("smallest group", f"{release.after.k:,}"),
            ("information lost", percent(release.loss.generalisation)),
        ]
    )


def _requirement(review: Review) -> Section:
    before, after = review.release.before, review.release.after
    lines = [("smallest group (k)", f"{before.k:,}", f"{after.k:,}")]
    for old, new in zip(before.sensitive, after.sensitive, strict=True):
        name = f"<b>{escape_html(old.column)}</b>"
        lines += [
            (f"{name}: fewest values (l)", str(old.distinct), str(new.distinct)),
            (f"{name}: the same by entropy", f"{old.entropy:.2f}", f"{new.entropy:.2f}"),
            (
                f"{name}: largest share of one value",
                percent(old.largest_share),
                percent(new.largest_share),
            ),
            (
                f"{name}: {escape_html(old.distance_name)} (t)",
                f"{old.distance:.3f}",
                f"{new.distance:.3f}",
            ),
        ]
    content = table(("Of the worst group", "#As it is", "#Anonymised"), lines)
    lead = f"Asked for: {escape_html(str(after.requirement))}. Each figure is the worst group's."
    return Section("requirement", "What the table fulfils", lead, content)


def _loss(review: Review) -> Section:
    loss = review.release.loss
    rows = [(name, share, None) for name, share in loss.by_column.items()]
    rows.sort(key=lambda row: -row[1])
    lead = (
        "For each quasi-identifier the mean share of its range, or of its values, that a published "
        f"cell could stand for. A group has {loss.class_size:.1f} rows on average."
    )
    return Section("loss", "What it cost", lead, lengths(rows, long_names=True))


def _attacks(review: Review) -> Section:
    lead = (
        "Somebody knows a person's quasi-identifiers and wants to know the sensitive value. The "
        "share of people on whom each attack works, on the table as it is and on the anonymised "
        "one."
    )
    rows = [
        (
            after.attack,
            [
                Dot("plain", "as it is", before.learned),
                Dot("synthetic", "anonymised", after.learned),
            ],
            percent(after.learned),
        )
        for before, after in review.attacks
    ]
    picture = key(("synthetic", "anonymised"), ("plain", "as it is")) + dots(
        rows, "{:.0%}".format, low=0.0, high=1.0, long_names=True
    )
    told = [after for _, after in review.attacks] + list(review.together)
    listed = "".join(
        f"<li><b>{escape_html(found.attack)}</b>: {sentence(found.sentence)}</li>" for found in told
    )
    return Section("attacks", "What it does not protect", lead, f"{picture}<ul>{listed}</ul>")


def _comparison(found: GuaranteeComparison) -> Section:
    lead = (
        f"The same columns released as synthetic rows with differential privacy, epsilon "
        f"{found.epsilon:g} and delta {found.delta:g}. What is guessed there is what the table "
        "tells about everybody; epsilon bounds how much one person's own row adds to it, whatever "
        "else is known or published."
    )
    lines = []
    if found.baseline is not None:
        lines.append(
            (
                f"sensitive value guessed right (without a release: {percent(found.baseline)})",
                _share(found.anonymised.guessed),
                _share(found.private.guessed),
            )
        )
        lines.append(
            ("sensitive value certain", _share(found.anonymised.sure), "nothing is certain")
        )
    lines.append(
        (
            "distance of pairs of columns from the real table",
            f"{found.anonymised.pair_error:.3f}",
            f"{found.private.pair_error:.3f}",
        )
    )
    lines.append(("holds against people who know more", "no", "yes"))
    lines.append(("adds up over several releases", "no", "yes, in the ledger"))
    content = table(("", "#Anonymised", "#Differential privacy"), lines)
    return Section("comparison", "Beside differential privacy", lead, content)


def _share(share: float | None) -> str:
    if share is None:
        return ""
    return percent(share)


def _reasons(check: Check) -> Section:
    listed = "".join(f"<li>{escape_html(line)}</li>" for line in check.explain())
    lead = f"The table as it is: {sentence(check.verdict)}"
    return Section("reasons", "Why it had to change", lead, f"<ul>{listed}</ul>")


def _notes(review: Review) -> Section:
    release = review.release
    notes = [*release.notes]
    if release.levels:
        levels = ", ".join(f"{name} {level}" for name, level in release.levels.items())
        notes.append(f"Levels of the hierarchies, 0 being the values themselves: {levels}.")
    listed = "".join(f"<li>{escape_html(note)}</li>" for note in notes)
    return Section("notes", "Notes", f"Method: {release.method}.", f"<ul>{listed}</ul>")
