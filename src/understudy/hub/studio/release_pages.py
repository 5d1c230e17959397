"""The pages of a release: budget, price, progress, a stop with its remedies, the result."""

from __future__ import annotations

import json
from collections.abc import Mapping

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, PlainTextResponse, Response

from understudy.errors import UnderstudyError
from understudy.hub.studio.pages import Pages, first_of, go_to
from understudy.hub.studio.remedies import find_remedies
from understudy.hub.studio.session import DOWNLOADS, Studio
from understudy.synthesizers.registry import methods_for

FILE_NAMES = {
    "rows": ("synthetic.csv", "text/csv; charset=utf-8"),
    "model": ("model.json", "application/json"),
    "report": ("report.html", "text/html; charset=utf-8"),
    "account": ("ledger.json", "application/json"),
    "schema": ("schema.json", "application/json"),
}
STUDIO_REPORT_POLICY = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "frame-ancestors 'self'; sandbox"
}


def add_release_pages(app: FastAPI, studio: Studio, pages: Pages) -> None:
    """Add these pages to the application."""

    @app.get("/budget")
    def budget(request: Request) -> Response:
        if not studio.described:
            return go_to("/columns")
        tried = {
            name: request.query_params[name]
            for name in ("epsilon", "delta", "about_rows", "method")
            if name in request.query_params
        }
        return _show_budget(studio, pages, tried)

    @app.post("/budget")
    async def choose(request: Request) -> Response:
        form = await pages.form(request)
        try:
            if first_of(form, "do") == "ledger":
                studio.start_ledger(first_of(form, "allowance"), first_of(form, "allowed_delta"))
                return go_to("/budget")
            studio.choose({name: values[0] for name, values in form.items()})
        except UnderstudyError as error:
            return _show_budget(studio, pages, {}, str(error))
        return go_to("/release")

    @app.get("/release")
    def release() -> Response:
        if not studio.described:
            return go_to("/columns")
        if studio.running:
            return pages.show("running.html", step="release", task=studio.step)
        step = studio.step
        if step is not None and step.state in ("stopped", "failed"):
            return pages.show(
                "stop.html",
                step="release",
                message=step.message,
                failed=step.state == "failed",
                asked=step.asked,
                ledger=studio.places.ledger,
                remedies=find_remedies(step.message),
            )
        if studio.released:
            return go_to("/result")
        return _show_price(studio, pages)

    @app.get("/price")
    def price() -> Response:
        if not studio.described:
            return go_to("/columns")
        if studio.running:
            return go_to("/release")
        return _show_price(studio, pages)

    @app.post("/release")
    async def spend(request: Request) -> Response:
        form = await pages.form(request)
        studio.take_offer(first_of(form, "offer"))
        return go_to("/release")

    @app.post("/remedy")
    async def remedy(request: Request) -> Response:
        form = await pages.form(request)
        what = first_of(form, "do")
        if what == "keep_going":
            studio.keep_going()
        elif what in ("same_table", "new_rows"):
            studio.accept_table(what)
        return go_to("/price")


def _show_budget(
    studio: Studio, pages: Pages, tried: Mapping[str, str], problem: str = ""
) -> Response:
    try:
        expected = studio.expect(tried)
    except UnderstudyError as error:
        expected, problem = studio.expect(), str(error)
    return pages.show(
        "budget.html",
        step="budget",
        choices=studio.choices,
        tried={**_as_texts(studio), **tried},
        expected=expected,
        left=_read_left(studio),
        ledger=studio.places.ledger,
        methods=[(method.name, method.summary) for method in methods_for("central")],
        open_columns=studio.open_columns(),
        problem=problem,
    )


def _as_texts(studio: Studio) -> dict[str, str]:
    choices = studio.choices
    return {
        "epsilon": f"{choices.epsilon:g}",
        "delta": f"{choices.delta:g}",
        "about_rows": str(choices.about_rows),
        "method": choices.method,
    }


def _read_left(studio: Studio) -> tuple[float, float] | None:
    try:
        return studio.read_left()
    except UnderstudyError:
        return None


def _show_price(studio: Studio, pages: Pages) -> Response:
    epsilon, delta = studio.price()
    return pages.show(
        "price.html",
        step="release",
        offer=studio.make_offer(),
        epsilon=epsilon,
        delta=delta,
        expected=studio.expect(),
        choices=studio.choices,
        left=_read_left(studio),
        ledger=studio.places.ledger,
        unit=studio.interview.unit,
        folder=studio.places.folder,
        open_columns=studio.open_columns(),
        columns=len(studio.interview.declared),
        again=studio.released,
    )


def add_result_pages(app: FastAPI, studio: Studio, pages: Pages) -> None:
    """Add these pages to the application."""

    @app.get("/result")
    def result() -> Response:
        if not studio.released:
            return go_to("/release")
        assert studio.release is not None
        model = studio.release.result
        epsilon, delta = model.ledger.promise()
        return pages.show(
            "result.html",
            step="result",
            statement=model.ledger.statement(),
            epsilon=epsilon,
            delta=delta,
            entries=len(model.ledger.entries),
            rows=studio.choices.rows or model.draws or model.rows,
            columns=len(model.schema),
            notes=studio.release.notes,
            ledger=studio.places.ledger,
            left=_read_left(studio),
            command=studio.command(),
            folder=studio.places.folder,
            comparison=studio.comparison.step if studio.comparison else None,
        )

    @app.get("/download/{what}")
    def download(what: str) -> Response:
        if not studio.released or what not in DOWNLOADS:
            return PlainTextResponse("There is no such download.", 404)
        name, kind = FILE_NAMES[what]
        content = getattr(studio.places, what).read_bytes()
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(content, media_type=kind, headers=headers)

    @app.get("/report")
    def report() -> Response:
        if not studio.released:
            return go_to("/release")
        return HTMLResponse(studio.places.report.read_bytes(), headers=STUDIO_REPORT_POLICY)

    @app.post("/compare")
    async def compare(request: Request) -> Response:
        await pages.form(request)
        studio.compare()
        return go_to("/comparison")

    @app.get("/comparison")
    def comparison() -> Response:
        if studio.comparison is None:
            return go_to("/result")
        return pages.show("comparison.html", step="result", task=studio.comparison.step)

    @app.get("/owner-report")
    def owner() -> Response:
        if studio.comparison is None or studio.comparison.step.state != "done":
            return go_to("/comparison")
        return HTMLResponse(studio.comparison.result, headers=STUDIO_REPORT_POLICY)

    @app.get("/state")
    def state() -> Response:
        step = studio.step
        told = {"state": "none", "stage": ""}
        if step:
            told = {"state": step.state, "stage": step.stage}
        return Response(json.dumps(told), media_type="application/json")
