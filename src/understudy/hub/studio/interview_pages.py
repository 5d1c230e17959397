"""The pages of the interview: who is protected, all columns, one question."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import FastAPI, Request
from fastapi.responses import Response

from understudy.errors import InputError
from understudy.hub.studio.columns import HINTS, WRITTEN, ColumnLine, list_kinds
from understudy.hub.studio.pages import Pages, PostedForm, first_of, go_to
from understudy.hub.studio.session import Studio
from understudy.reports.page import count_noun


def add_interview_pages(app: FastAPI, studio: Studio, pages: Pages) -> None:
    """Add these pages to the application."""

    @app.get("/")
    def begin() -> Response:
        if studio.release is not None:
            return go_to("/result" if studio.released else "/release")
        if not studio.unit_known:
            return go_to("/unit")
        return go_to("/budget" if studio.described else "/columns")

    @app.get("/unit")
    def unit(problem: str = "") -> Response:
        question = studio.interview.question
        if studio.unit_known:
            question = None
        return pages.show(
            "unit.html", step="unit", question=question, unit=studio.interview.unit, problem=problem
        )

    @app.get("/columns")
    def columns(show: str = "", find: str = "") -> Response:
        if not studio.unit_known:
            return go_to("/unit")
        return _show_columns(studio, pages, show=show, find=find)

    @app.get("/question")
    def question() -> Response:
        if studio.interview.question is None or not studio.interview.question.columns:
            return go_to("/columns")
        return _show_question(studio, pages)

    @app.post("/question")
    async def answer(request: Request) -> Response:
        form = await pages.form(request)
        try:
            _act(studio, first_of(form, "do"), first_of(form, "answer"), first_of(form, "like"))
        except InputError as error:
            asked = studio.interview.question
            if asked is not None and asked.columns:
                return _show_question(studio, pages, str(error))
            return pages.show(
                "unit.html",
                step="unit",
                question=asked,
                unit=studio.interview.unit,
                problem=str(error),
                status=400,
            )
        asked = studio.interview.question
        if not studio.unit_known:
            return go_to("/unit")
        going_on = asked is not None and asked.columns and first_of(form, "from") == "question"
        return go_to("/question" if going_on else "/columns")

    @app.post("/columns")
    async def change(request: Request) -> Response:
        form = await pages.form(request)
        return _change_columns(studio, pages, form)


def _act(studio: Studio, what: str, given: str, like: str) -> None:
    """What one question's buttons do."""
    if what == "back":
        studio.back()
    elif what == "skip":
        studio.skip()
    elif what == "accept":
        studio.accept_suggestions()
    elif what == "like":
        studio.same_as(like)
    else:
        studio.answer(given)


def _show_question(studio: Studio, pages: Pages, problem: str = "") -> Response:
    return pages.show(
        "question.html",
        step="columns",
        question=studio.interview.question,
        declared=studio.interview.declared,
        described=[line.name for line in studio.lines() if line.state == "described"],
        problem=problem,
        status=400 if problem else 200,
    )


def _show_columns(
    studio: Studio,
    pages: Pages,
    *,
    show: str = "",
    find: str = "",
    problems: Mapping[str, str] | None = None,
    given: Mapping[str, ColumnLine] | None = None,
    said: str = "",
    problem: str = "",
) -> Response:
    lines = studio.lines()
    shown = [
        line
        for line in lines
        if (not show or line.state == show) and find.casefold() in line.name.casefold()
    ]
    states = ("described", "open", "later", "left out")
    counts = {state: sum(line.state == state for line in lines) for state in states}
    return pages.show(
        "columns.html",
        step="columns",
        lines=[(given or {}).get(line.name, line) for line in shown],
        numbers={line.name: place for place, line in enumerate(lines)},
        counts=counts,
        total=len(lines),
        kinds=list_kinds(),
        hints=HINTS,
        written=WRITTEN,
        show=show,
        find=find,
        problems=problems or {},
        said=said,
        problem=problem,
        open_columns=studio.open_columns(),
        has_types=any(line.declared for line in lines),
        status=400 if problem or problems else 200,
    )


def _change_columns(studio: Studio, pages: Pages, form: PostedForm) -> Response:
    """What the page of all columns does: save lines, then whatever its button says."""
    names = [line.name for line in studio.lines()]
    given = _read_lines(form, names)
    chosen = [
        names[int(n)] for n in form.get("chosen", []) if n.isdecimal() and int(n) < len(names)
    ]
    what, show, find = first_of(form, "do"), first_of(form, "show"), first_of(form, "find")
    said, problem, problems = "", "", dict[str, str]()
    try:
        problems = studio.change_lines(given)
        if problems:
            what = ""
        said = _do_with_columns(studio, what, chosen, form)
    except InputError as error:
        problem = str(error)
    if problems:
        unread = count_noun(len(problems), "column")
        problem = f"{unread} could not be read; look at what is marked. All else is saved."
    if problem:
        wrong = {name: given[name] for name in problems}
        return _show_columns(
            studio, pages, show=show, find=find, problems=problems, given=wrong, problem=problem
        )
    if what == "ask":
        return go_to("/question")
    if what in ("write", "leave out", "draft"):
        return go_to("/budget")
    return _show_columns(studio, pages, show=show, find=find, said=said)


def _do_with_columns(studio: Studio, what: str, chosen: list[str], form: PostedForm) -> str:
    """Do what a button says; what to tell the person afterwards."""
    if what in ("write", "leave out", "draft"):
        studio.finish_columns(what)
        return ""
    if what == "suggest-all":
        chosen = [line.name for line in studio.lines() if line.state in ("open", "later")]
        what = "suggest"
    if what in ("suggest", "describe", "omit", "ask") and not chosen:
        raise InputError("Tick the columns first.")
    if what == "suggest":
        rest = studio.take_suggestions(chosen)
        if rest:
            return (
                f"Suggestions taken for {len(chosen) - len(rest)} columns. The names of "
                f"{len(rest)} say too little; describe these."
            )
        return f"Suggestions taken for {len(chosen)} columns."
    if what == "describe":
        line = ColumnLine(
            name="",
            kind=first_of(form, "all-kind"),
            facts=first_of(form, "all-facts").strip(),
            missing=first_of(form, "all-missing").strip(),
        )
        studio.describe(chosen, line)
        return f"{len(chosen)} columns are described alike."
    if what == "omit":
        studio.leave_out(chosen)
        return f"{len(chosen)} columns are left out."
    if what == "ask":
        studio.ask_about(chosen)
    if what == "back":
        studio.back()
        return "The last step was taken back."
    return "Saved."


def _read_lines(form: PostedForm, names: list[str]) -> dict[str, ColumnLine]:
    """The lines that a form brings; those that were filtered away are not in it."""
    lines = {}
    for place, name in enumerate(names):
        if f"kind-{place}" in form and first_of(form, f"kind-{place}"):
            lines[name] = ColumnLine(
                name=name,
                kind=first_of(form, f"kind-{place}"),
                facts=first_of(form, f"facts-{place}").strip(),
                missing=first_of(form, f"missing-{place}").strip(),
                format=first_of(form, f"format-{place}").strip(),
            )
    return lines
