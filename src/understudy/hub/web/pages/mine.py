"""The owner's pages: one's own data sets, who asks, who may what, and what was done."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from understudy.data.schema import Schema
from understudy.errors import InputError, UnderstudyError
from understudy.hub import accounts, agents, datasets, federated, jobs, roles
from understudy.hub import requests as asking
from understudy.hub.access import check, read_object
from understudy.hub.accounts import User
from understudy.hub.database import Transaction
from understudy.hub.datasets import DatasetSpec
from understudy.hub.encrypted import collecting
from understudy.hub.names import ENCRYPTED, MANAGE, USES
from understudy.hub.pages import PageOf
from understudy.hub.policy import Operation, Role
from understudy.hub.records import Dataset, read_dataset
from understudy.hub.roles import RoleSpec, RuleSpec
from understudy.hub.web import lists
from understudy.hub.web.documents import Id
from understudy.hub.web.forms import SentForm, WebForm
from understudy.hub.web.pages.requests import list_lines
from understudy.hub.web.problems import status_of, status_on_page
from understudy.hub.web.rendering import go_to, render
from understudy.hub.web.specs import LABELS
from understudy.hub.web.state import Site
from understudy.hub.web.viewer import TheHub, Viewer

router = APIRouter()

OPERATION_LABELS = {
    "synthesise": "ask for synthetic tables",
    "ask": "ask for numbers",
    "learn": "ask for trained models",
    "download": "download what was released",
    "query": "query what was released",
    "survey": "make surveys",
}
MODE_LABELS = (
    ("agent", "With me: my agent computes, the hub never sees a row"),
    ("stored", "In the hub, encrypted: the hub's worker computes"),
    ("federated", "With several owners: their agents compute together"),
    ("encrypted", "With several owners, who encrypt tables once and go offline"),
)


@router.get("/mine")
def show_mine(request: Request, hub: TheHub, viewer: Viewer, page: int = 1) -> Response:
    """One's own data sets, and the requests that wait for a decision."""
    return _mine_page(request, hub, viewer, PageOf(number=page))


def _mine_page(
    request: Request, hub: TheHub, viewer: Viewer, page: PageOf, **values: Any
) -> Response:
    with hub.db.reading() as c:
        owned = datasets.list_owned(c, viewer.id)
        waiting = list_lines(c, asking.for_owner(c, viewer.id, "waiting", page))
        mine = agents.list_agents(c, viewer.id)
    shown: dict[str, Any] = {"owned": owned, "page": waiting, "labels": LABELS, "agents": mine}
    return render(request, "mine.html", title="My data", **shown, **{"secret": "", **values})


@router.get("/datasets/new")
def show_new(request: Request, hub: TheHub, viewer: Viewer) -> Response:
    """The form that registers a data set."""
    return _new_page(request, hub, viewer, {})


@router.post("/datasets/new")
def register(request: Request, hub: TheHub, viewer: Viewer, form: SentForm) -> Response:
    """Register a data set."""
    try:
        spec = read_dataset_form(form, None)
        with hub.db.transaction() as c:
            made = datasets.register(c, viewer.id, spec)
    except UnderstudyError as error:
        return _new_page(
            request, hub, viewer, form.list_typed(), status_of(error), problem=str(error)
        )
    return go_to(f"/mine/{made.id}", said="registered")


@router.get("/mine/{dataset}")
def show_managed(
    request: Request, hub: TheHub, viewer: Viewer, dataset: Id, page: int = 1
) -> Response:
    """All that an owner decides about one data set."""
    return _page(request, hub, viewer, dataset, page=page)


@router.post("/mine/{dataset}")
def change(request: Request, hub: TheHub, viewer: Viewer, dataset: Id, form: SentForm) -> Response:
    """Change texts and budgets."""
    try:
        with hub.db.transaction() as c:
            check(c, viewer.id, Operation(name=MANAGE), dataset)
            before = read_dataset(c, dataset)
            datasets.change(c, viewer.id, dataset, read_dataset_form(form, before))
    except UnderstudyError as error:
        return _page(request, hub, viewer, dataset, status_on_page(error), problem=str(error))
    return go_to(f"/mine/{dataset}", said="changed")


@router.post("/mine/{dataset}/state")
def set_state(hub: TheHub, viewer: Viewer, dataset: Id, form: SentForm) -> Response:
    """Close a data set at once, or open it again."""
    state = form.choice("state", "The state", ("open", "closed"))
    with hub.db.transaction() as c:
        if state == "closed":
            datasets.close(c, viewer.id, dataset)
            return go_to(f"/datasets/{dataset}", said="closed")
        datasets.reopen(c, viewer.id, dataset)
    return go_to(f"/mine/{dataset}", said="opened")


@router.post("/mine/{dataset}/roles")
def set_role(
    request: Request, hub: TheHub, viewer: Viewer, dataset: Id, form: SentForm
) -> Response:
    """Make a role, or replace the one of that name."""
    try:
        with hub.db.transaction() as c:
            check(c, viewer.id, Operation(name=MANAGE), dataset)
            roles.set_role(c, viewer.id, dataset, read_role_form(c, form))
    except UnderstudyError as error:
        return _page(request, hub, viewer, dataset, status_on_page(error), problem=str(error))
    return go_to(f"/mine/{dataset}", said="role")


@router.post("/mine/{dataset}/roles/{role}/drop")
def drop_role(hub: TheHub, viewer: Viewer, dataset: Id, role: str, form: SentForm) -> Response:
    """Take a role away."""
    with hub.db.transaction() as c:
        roles.drop_role(c, viewer.id, dataset, role)
    return go_to(f"/mine/{dataset}", said="removed")


@router.post("/mine/{dataset}/holders")
def invite_holder(
    request: Request, hub: TheHub, viewer: Viewer, dataset: Id, form: SentForm
) -> Response:
    """Ask another owner's agent to hold a part of a federated data set."""
    try:
        agent = form.text("agent", "The id of the agent", most=100)
        with hub.db.transaction() as c:
            federated.invite(c, viewer.id, dataset, agent)
    except InputError as error:
        return _page(request, hub, viewer, dataset, status_on_page(error), problem=str(error))
    return go_to(f"/mine/{dataset}", said="changed")


@router.post("/agents")
def add_agent(request: Request, hub: TheHub, viewer: Viewer, form: SentForm) -> Response:
    """A new agent of one's own; its secret is shown this once."""
    name = form.text("name", "The name of the agent", most=100)
    with hub.db.transaction() as c:
        made, secret = agents.create(c, viewer.id, name)
    return _mine_page(
        request, hub, viewer, PageOf(), secret=secret, agent=made, address=hub.address
    )


@router.post("/agents/{agent}/revoke")
def revoke_agent(hub: TheHub, viewer: Viewer, agent: Id, form: SentForm) -> Response:
    """Shut an agent out."""
    with hub.db.transaction() as c:
        agents.revoke(c, viewer.id, agent)
    return go_to("/mine", said="removed")


def read_dataset_form(form: WebForm, before: Dataset | None) -> DatasetSpec:
    """A data set as its form describes it; what cannot change stays as it was."""
    schema: Any
    if before is None:
        document = form.json_file("schema", "The schema")
        schema = Schema.from_dict(document, "The schema").to_dict()
        mode = form.choice("mode", "Where the rows are", [key for key, _ in MODE_LABELS])
        neighbours, unit = "add_remove", _read_unit(form)
    else:
        schema, mode = before.schema, before.mode
        neighbours, unit = before.neighbours, before.unit
    about_rows = None
    if form.text("about_rows", "The number of rows", required=False):
        about_rows = form.whole("about_rows", "The number of rows")
    agent = form.text("agent", "The agent", required=False, most=100) or None
    return DatasetSpec(
        name=form.text("name", "The name", most=200),
        description=form.text("description", "The description", required=False),
        schema=schema,
        purpose=form.text("purpose", "The purpose"),
        conditions=form.text("conditions", "The conditions", required=False),
        contact=form.text("contact", "The contact", required=False, most=300),
        epsilon=form.number("epsilon", "The total epsilon"),
        delta=form.number("delta", "The total delta", 0.0),
        user_epsilon=form.optional_number("user_epsilon", "Epsilon per user"),
        user_delta=form.optional_number("user_delta", "Delta per user"),
        mode=mode,
        listed=form.is_checked("listed"),
        neighbours=neighbours,
        unit=unit,
        agent=agent,
        source=None if before is None else before.source,
        about_rows=about_rows,
    )


def _read_unit(form: WebForm) -> Any:
    person = form.text("person", "The column of the person", required=False, most=300)
    if not person:
        return "row"
    most = form.whole("max_rows_per_person", "The rows per person", 1)
    return {"person": person, "max_rows_per_person": most}


def read_role_form(c: Transaction, form: WebForm) -> RoleSpec:
    """A role as its form describes it."""
    rules = []
    for operation in USES:
        if not form.is_checked(f"may_{operation}"):
            continue
        limit = form.optional_number(f"limit_{operation}", "The largest epsilon")
        foreign = form.text(f"algorithms_{operation}", "Methods", required=False, most=2000)
        names = [name.strip() for name in foreign.split(",") if name.strip()] or None
        rules.append(
            RuleSpec(
                operation=operation,
                max_epsilon=limit,
                max_delta=form.number(f"delta_{operation}", "The largest delta", 0.0),
                algorithms=names,
                standing=form.is_checked(f"standing_{operation}"),
            )
        )
    if not rules:
        raise InputError("A role needs at least one thing that it allows; tick one.")
    typed = form.text("members", "The members", required=False)
    named = [name for name in typed.replace(",", "\n").splitlines() if name.strip()]
    members = [accounts.find_by_name(c, name).id for name in named]
    return RoleSpec(
        name=form.text("role_name", "The name of the role", most=200),
        members=members,
        attributes=_read_attributes(form),
        rules=rules,
    )


def _read_attributes(form: WebForm) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in form.text("attributes", "The attributes", required=False).splitlines():
        name, colon, values = line.partition(":")
        if not colon:
            raise InputError("Write an attribute as in: institution: Uni A, Uni B.")
        found[name.strip()] = [value.strip() for value in values.split(",") if value.strip()]
    return found


def _new_page(
    request: Request,
    hub: Site,
    viewer: User,
    typed: dict[str, str],
    status: int = 200,
    **values: Any,
) -> Response:
    with hub.db.reading() as c:
        mine = [(agent.id, agent.name) for agent in agents.list_agents(c, viewer.id)]
    return render(
        request,
        "dataset_new.html",
        status,
        title="Register a data set",
        typed=typed,
        modes=MODE_LABELS,
        agents=mine,
        **values,
    )


def _page(
    request: Request,
    hub: Site,
    viewer: User,
    dataset: Id,
    status: int = 200,
    page: int = 1,
    **values: Any,
) -> Response:
    with hub.db.reading() as c:
        check(c, viewer.id, Operation(name=MANAGE), dataset)
        found = read_dataset(c, dataset)
        asked = list_lines(c, asking.for_dataset(c, viewer.id, dataset, PageOf(size=10)))
        done = jobs.of_dataset(c, viewer.id, dataset, PageOf(number=page, size=10))
        thing = read_object(c, dataset)
        people = {user for role in thing.roles for user in role.members}
        people |= {job.user for job in done.items}
        names = lists.user_names(c, people)
        logins = lists.sign_in_names(c, people)
        mine = [(agent.id, agent.name) for agent in agents.list_agents(c, viewer.id)]
        holders = lists.holders_of(c, viewer.id, dataset)
        uploads = _count_uploads(c, viewer, found)
    return render(
        request,
        "managed.html",
        status,
        title=found.name,
        address=hub.address,
        holders=holders,
        uploads=uploads,
        dataset=found,
        asked=asked,
        page=done,
        roles=[_show_role(role, names, logins) for role in thing.roles],
        names=names,
        labels=LABELS,
        operations=OPERATION_LABELS,
        agents=mine,
        **values,
    )


def _count_uploads(c: Transaction, viewer: User, dataset: Dataset) -> dict[str, Any] | None:
    """How many owners of encrypted tables have delivered; ``None`` for other data sets."""
    if dataset.mode != ENCRYPTED:
        return None
    agreed, delivered = collecting.show_collection(c, viewer.id, dataset.id)
    if agreed is None:
        return {"agreed": False}
    return {"agreed": True, "owners": len(agreed.owners), "delivered": len(delivered)}


def _show_role(role: Role, names: dict[str, str], logins: dict[str, str]) -> dict[str, Any]:
    return {
        "id": role.id,
        "name": role.name,
        "members": sorted(names[user] for user in role.members),
        "logins": sorted(logins[user] for user in role.members),
        "attributes": {name: ", ".join(values) for name, values in role.attributes.items()},
        "rules": {rule.operation: rule for rule in role.rules},
    }
