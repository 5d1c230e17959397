"""Data sets with a total budget, roles, requests, jobs, releases and the trail."""

from typing import Any

import sqlalchemy as sa
from alembic import op

from understudy.hub.triggers import create_triggers

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the first layout."""
    _make_accounts()
    _make_datasets()
    _make_requests()
    op.create_table(
        "trail",
        sa.Column("number", sa.BigInteger, autoincrement=False, nullable=False),
        _text("at"),
        _text("actor"),
        _text("action"),
        _text("object"),
        _text("details", "{}"),
        _text("salt"),
        _text("content"),
        _text("digest"),
        _text("mac"),
        sa.PrimaryKeyConstraint("number", name="pk_trail"),
    )
    op.create_index("ix_trail_object", "trail", ["object"])
    head = op.create_table(
        "trail_head",
        sa.Column("id", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("number", sa.BigInteger, nullable=False),
        _text("digest"),
        _text("mac"),
        sa.PrimaryKeyConstraint("id", name="pk_trail_head"),
    )
    op.bulk_insert(head, [{"id": 1, "number": 0, "digest": "", "mac": ""}])
    create_triggers(op.get_bind())


def _make_accounts() -> None:
    op.create_table(
        "users",
        _id(),
        sa.Column("name", sa.Text, nullable=False),
        _text("display_name"),
        _text("email"),
        _text("password_hash", None),
        _text("oidc_subject", None),
        _flag("is_admin"),
        _text("state", "active"),
        _json("attributes"),
        _time("created_at"),
        sa.PrimaryKeyConstraint("id", name="pk_users"),
        sa.UniqueConstraint("name", name="uq_users_name"),
        sa.UniqueConstraint("oidc_subject", name="uq_users_oidc_subject"),
    )
    op.create_table(
        "sessions",
        sa.Column("hash", sa.Text, nullable=False),
        _reference("sessions", "user", "users"),
        _time("created_at"),
        _time("seen_at"),
        _time("expires_at"),
        _json("data"),
        sa.PrimaryKeyConstraint("hash", name="pk_sessions"),
    )
    op.create_index("ix_sessions_user", "sessions", ["user"])
    op.create_table(
        "agents",
        _id(),
        _reference("agents", "owner", "users"),
        _text("name"),
        sa.Column("hash", sa.Text, nullable=False),
        _time("created_at"),
        _time("seen_at", null=True),
        _time("revoked_at", null=True),
        sa.PrimaryKeyConstraint("id", name="pk_agents"),
        sa.UniqueConstraint("hash", name="uq_agents_hash"),
    )
    op.create_index("ix_agents_owner", "agents", ["owner"])


def _make_datasets() -> None:
    op.create_table(
        "datasets",
        _id(),
        _reference("datasets", "owner", "users"),
        _text("name"),
        _text("description"),
        _json("schema"),
        _text("purpose"),
        _text("conditions"),
        _text("contact"),
        _text("mode", "agent"),
        _text("state", "open"),
        _text("neighbours", "add_remove"),
        _json("unit", '"row"'),
        _text("total_epsilon", "0"),
        _text("total_delta", "0"),
        _text("spent_epsilon", "0"),
        _text("spent_delta", "0"),
        _reference("datasets", "agent", "agents", null=True),
        _time("created_at"),
        _time("changed_at"),
        _time("closed_at", null=True),
        sa.PrimaryKeyConstraint("id", name="pk_datasets"),
    )
    op.create_index("ix_datasets_owner", "datasets", ["owner"])
    op.create_table(
        "roles",
        _id(),
        _reference("roles", "dataset", "datasets"),
        _text("name"),
        _json("attributes"),
        _time("created_at"),
        sa.PrimaryKeyConstraint("id", name="pk_roles"),
        sa.UniqueConstraint("dataset", "name", name="uq_roles_dataset_name"),
    )
    op.create_table(
        "members",
        _reference("members", "role", "roles"),
        _reference("members", "user", "users"),
        _time("granted_at"),
        sa.PrimaryKeyConstraint("role", "user", name="pk_members"),
    )
    op.create_index("ix_members_user", "members", ["user"])
    op.create_table(
        "rules",
        _id(),
        _reference("rules", "role", "roles"),
        _text("operation"),
        _text("max_epsilon", None),
        _text("max_delta", None),
        sa.Column("algorithms", sa.JSON, nullable=True),
        _flag("standing"),
        _time("created_at"),
        sa.PrimaryKeyConstraint("id", name="pk_rules"),
    )
    op.create_index("ix_rules_role", "rules", ["role"])


def _make_requests() -> None:
    op.create_table(
        "requests",
        _id(),
        _reference("requests", "user", "users"),
        _reference("requests", "dataset", "datasets"),
        _text("operation"),
        _json("spec"),
        _text("reason"),
        _text("epsilon", "0"),
        _text("delta", "0"),
        _text("state", "waiting"),
        _text("key"),
        _reference("requests", "decided_by", "users", null=True),
        _reference("requests", "rule", "rules", null=True),
        _reference("requests", "role", "roles", null=True),
        _text("decision_reason"),
        _time("created_at"),
        _time("decided_at", null=True),
        sa.PrimaryKeyConstraint("id", name="pk_requests"),
        sa.UniqueConstraint("user", "key", name="uq_requests_user_key"),
    )
    op.create_index("ix_requests_user", "requests", ["user"])
    op.create_index("ix_requests_dataset_state", "requests", ["dataset", "state"])
    op.create_table(
        "jobs",
        _id(),
        _reference("jobs", "request", "requests"),
        _reference("jobs", "dataset", "datasets"),
        _reference("jobs", "user", "users"),
        _text("operation"),
        _json("spec"),
        _text("epsilon", "0"),
        _text("delta", "0"),
        _text("state", "queued"),
        sa.Column("place", sa.BigInteger, nullable=False),
        _text("worker", None),
        _time("lease_until", null=True),
        _text("why"),
        _flag("refunded"),
        _time("created_at"),
        _time("started_at", null=True),
        _time("ended_at", null=True),
        sa.PrimaryKeyConstraint("id", name="pk_jobs"),
        sa.UniqueConstraint("request", name="uq_jobs_request"),
    )
    op.create_index("ix_jobs_dataset", "jobs", ["dataset"])
    op.create_index("ix_jobs_user", "jobs", ["user"])
    op.create_index("ix_jobs_state_place", "jobs", ["state", "place"])
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "debits",
        sa.Column("number", number, autoincrement=True, nullable=False),
        _reference("debits", "dataset", "datasets"),
        _reference("debits", "user", "users"),
        _reference("debits", "request", "requests"),
        _text("epsilon", "0"),
        _text("delta", "0"),
        _text("why"),
        _time("at"),
        sa.PrimaryKeyConstraint("number", name="pk_debits"),
    )
    op.create_index("ix_debits_request", "debits", ["request"])
    op.create_index("ix_debits_dataset_user", "debits", ["dataset", "user"])
    op.create_table(
        "releases",
        _id(),
        _reference("releases", "dataset", "datasets"),
        _reference("releases", "job", "jobs", null=True),
        _reference("releases", "user", "users", null=True),
        _text("operation"),
        _text("title"),
        _json("use"),
        _json("ledger"),
        _json("summary"),
        _text("epsilon", "0"),
        _text("delta", "0"),
        _json("trail"),
        _time("created_at"),
        sa.PrimaryKeyConstraint("id", name="pk_releases"),
        sa.UniqueConstraint("job", name="uq_releases_job"),
    )
    op.create_index("ix_releases_dataset", "releases", ["dataset"])
    op.create_index("ix_releases_user", "releases", ["user"])


def _id() -> sa.Column[Any]:
    return sa.Column("id", sa.Text, nullable=False)


def _text(name: str, default: str | None = "") -> sa.Column[Any]:
    return sa.Column(name, sa.Text, nullable=default is None, server_default=default)


def _json(name: str, default: str = "{}") -> sa.Column[Any]:
    return sa.Column(name, sa.JSON, nullable=False, server_default=default)


def _flag(name: str) -> sa.Column[Any]:
    kind = sa.Boolean(create_constraint=False)
    return sa.Column(name, kind, nullable=False, server_default=sa.false())


def _time(name: str, *, null: bool = False) -> sa.Column[Any]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=null)


def _reference(table: str, name: str, to: str, *, null: bool = False) -> sa.Column[Any]:
    target = sa.ForeignKey(f"{to}.id", name=f"fk_{table}_{name}")
    return sa.Column(name, sa.Text, target, nullable=null)
