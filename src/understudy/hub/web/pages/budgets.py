"""The owner's page of what each user may spend, and has spent, on a data set."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from understudy.errors import UnderstudyError
from understudy.hub import accounts, budgets, roles
from understudy.hub.access import check
from understudy.hub.accounts import User
from understudy.hub.amounts import Price
from understudy.hub.names import MANAGE
from understudy.hub.pages import PageOf
from understudy.hub.policy import Operation
from understudy.hub.records import read_dataset
from understudy.hub.web import lists
from understudy.hub.web.documents import Id
from understudy.hub.web.forms import SentForm
from understudy.hub.web.problems import status_of
from understudy.hub.web.rendering import go_to, render
from understudy.hub.web.state import Site
from understudy.hub.web.viewer import TheHub, Viewer

router = APIRouter()


@router.get("/mine/{dataset}/budgets")
def show_budgets(
    request: Request, hub: TheHub, viewer: Viewer, dataset: Id, page: int = 1
) -> Response:
    """Who has spent what, and who has a budget of their own."""
    return _page(request, hub, viewer, dataset, page)


@router.post("/mine/{dataset}/budgets")
def set_budget(
    request: Request, hub: TheHub, viewer: Viewer, dataset: Id, form: SentForm
) -> Response:
    """Give a user a budget of their own; nothing typed: the same as everybody's."""
    try:
        name = form.text("name", "The name", most=100)
        epsilon = form.optional_number("epsilon", "Epsilon")
        delta = form.number("delta", "Delta", 0.0)
        total = None
        if epsilon is not None:
            total = Price.of(epsilon, delta)
        with hub.db.transaction() as c:
            check(c, viewer.id, Operation(name=MANAGE), dataset)
            user = accounts.find_by_name(c, name)
            roles.set_user_budget(c, viewer.id, dataset, user.id, total)
    except UnderstudyError as error:
        typed = form.list_typed()
        return _page(request, hub, viewer, dataset, 1, status_of(error), str(error), typed)
    return go_to(f"/mine/{dataset}/budgets", said="changed")


def _page(
    request: Request,
    hub: Site,
    viewer: User,
    dataset: str,
    number: int,
    status: int = 200,
    problem: str = "",
    typed: dict[str, Any] | None = None,
) -> Response:
    with hub.db.reading() as c:
        check(c, viewer.id, Operation(name=MANAGE), dataset)
        found = read_dataset(c, dataset)
        page = budgets.of_users(c, dataset, PageOf(number=number, size=20))
        people = [one.user for one in page.items]
        names = lists.user_names(c, people)
        logins = lists.sign_in_names(c, people)
    return render(
        request,
        "budgets.html",
        status,
        title=f"Budgets: {found.name}",
        dataset=found,
        page=page,
        names=names,
        logins=logins,
        typed=typed or {},
        problem=problem,
    )
