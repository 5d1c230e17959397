"""The hub's tables.

Amounts of privacy are exact decimals in text, times are UTC, ids are random text. What must not be
changed once written (the trail, the journal of debits) is guarded by triggers as well: see
:mod:`understudy.hub.triggers`.
"""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import Any

import sqlalchemy as sa

from understudy.hub.amounts import read_amount, write_amount

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)


class Amount(sa.types.TypeDecorator[Fraction]):
    """An exact amount, as decimal digits."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Fraction | None, dialect: Any) -> str | None:
        """To digits."""
        return None if value is None else write_amount(value)

    def process_result_value(self, value: str | None, dialect: Any) -> Fraction | None:
        """From digits."""
        return None if value is None else read_amount(value)


class Time(sa.types.TypeDecorator[dt.datetime]):
    """A moment in UTC."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: dt.datetime | None, dialect: Any) -> dt.datetime | None:
        """To UTC; a moment without a zone is a mistake of ours."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a moment without a time zone")
        value = value.astimezone(dt.UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: dt.datetime | None, dialect: Any) -> dt.datetime | None:
        """From UTC, to UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=dt.UTC) if value.tzinfo is None else value.astimezone(dt.UTC)


def _id() -> sa.Column[str]:
    return sa.Column("id", sa.Text, primary_key=True)


def _to(table: str, name: str, *, null: bool = False, index: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text, sa.ForeignKey(f"{table}.id"), nullable=null, index=index)


def _text(name: str, default: str | None = "", *, null: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=null, server_default=None if null else default)


def _amount(name: str, *, null: bool = False) -> sa.Column[Fraction]:
    return sa.Column(name, Amount, nullable=null, server_default=None if null else "0")


def _time(name: str, *, null: bool = False) -> sa.Column[dt.datetime]:
    return sa.Column(name, Time, nullable=null)


def _json(name: str, default: str = "{}") -> sa.Column[Any]:
    return sa.Column(name, sa.JSON, nullable=False, server_default=default)


def _flag(name: str, *, default: bool = False) -> sa.Column[bool]:
    return sa.Column(
        name,
        sa.Boolean(create_constraint=False),
        nullable=False,
        server_default=sa.true() if default else sa.false(),
    )


def _count(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=False, server_default="0")


def _number() -> sa.Column[int]:
    # SQLite counts up only in a column of its own type INTEGER.
    kind = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    return sa.Column("number", kind, primary_key=True, autoincrement=True)


settings = sa.Table(
    "settings",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    _json("value"),
)

# --------------------------------------------------------------------------- accounts

users = sa.Table(
    "users",
    metadata,
    _id(),
    sa.Column("name", sa.Text, nullable=False, unique=True),  # what one signs in with
    _text("display_name"),
    _text("email"),
    _text("password_hash", null=True),
    _text("oidc_subject", null=True),
    _flag("is_admin"),
    _text("state", "active"),  # active, waiting, disabled
    _json("attributes"),  # what the administrator vouches for: {"institution": "..."}
    _count("failed_logins"),
    _time("locked_until", null=True),
    _time("created_at"),
    sa.UniqueConstraint("oidc_subject"),
)

sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("hash", sa.Text, primary_key=True),  # of the cookie's token
    _to("users", "user", index=True),
    _time("created_at"),
    _time("seen_at"),
    _time("expires_at"),
    _json("data"),
)

tokens = sa.Table(
    "tokens",
    metadata,
    _id(),
    _to("users", "user", index=True),
    _text("name"),
    sa.Column("hash", sa.Text, nullable=False, unique=True),
    _time("created_at"),
    _time("expires_at", null=True),
    _time("used_at", null=True),
    _time("revoked_at", null=True),
)

links = sa.Table(
    "links",
    metadata,
    sa.Column("hash", sa.Text, primary_key=True),
    _text("purpose"),  # first_run, invitation, password
    _to("users", "user", null=True),
    _time("expires_at"),
    _time("used_at", null=True),
)

attempts = sa.Table(
    "attempts",
    metadata,
    _number(),
    _text("key"),  # what is limited: a name, an address
    _time("at"),
    _flag("succeeded"),
    sa.Index("ix_attempts_key_at", "key", "at"),
)

# --------------------------------------------------------------------------- data sets

agents = sa.Table(
    "agents",
    metadata,
    _id(),
    _to("users", "owner", index=True),
    _text("name"),
    sa.Column("hash", sa.Text, nullable=False, unique=True),  # of its token
    _time("created_at"),
    _time("seen_at", null=True),
    _time("revoked_at", null=True),
)

datasets = sa.Table(
    "datasets",
    metadata,
    _id(),
    _to("users", "owner", index=True),
    _text("name"),
    _text("description"),
    _json("schema"),
    _count("columns"),  # of the schema, for the catalogue
    sa.Column("about_rows", sa.BigInteger, nullable=True),  # what the owner says in public
    _text("purpose"),
    _text("conditions"),
    _text("contact"),
    _text("mode", "agent"),
    _text("state", "open"),
    _flag("listed", default=True),
    _text("neighbours", "add_remove"),
    _json("unit", '"row"'),
    _amount("total_epsilon"),
    _amount("total_delta"),
    _amount("user_epsilon", null=True),  # none: a user may spend the total
    _amount("user_delta", null=True),
    _amount("spent_epsilon"),
    _amount("spent_delta"),
    _count("releases"),  # how many there are, for the catalogue
    _to("agents", "agent", null=True),
    _text("source", null=True),  # a name that the worker's own settings explain
    _text("rows_object", null=True),  # the rows, where the vault has them
    _time("created_at"),
    _time("changed_at"),
    _time("closed_at", null=True),
    sa.Index("ix_datasets_listed_name", "listed", "name", "id"),
)

holders = sa.Table(  # who holds the parts of a federated data set
    "holders",
    metadata,
    sa.Column("dataset", sa.Text, sa.ForeignKey("datasets.id"), primary_key=True),
    sa.Column("agent", sa.Text, sa.ForeignKey("agents.id"), primary_key=True),
    _time("agreed_at", null=True),
)

relay = sa.Table(  # messages of a secure federation on their way to agents, and their answers
    "relay",
    metadata,
    _id(),
    _to("jobs", "job", index=True),
    _to("datasets", "dataset"),
    _to("agents", "agent"),
    sa.Column("number", sa.BigInteger, nullable=False),
    sa.Column("question", sa.LargeBinary, nullable=False),
    sa.Column("answer", sa.LargeBinary, nullable=True),
    _time("created_at"),
    sa.UniqueConstraint("job", "agent", "number"),
)

collections = sa.Table(  # what the owners of encrypted uploads agreed on
    "collections",
    metadata,
    sa.Column("dataset", sa.Text, sa.ForeignKey("datasets.id"), primary_key=True),
    _json("plan"),
    _json("owners"),  # their certificates, by name
    _text("service"),  # a name that the worker's own settings explain
    _time("created_at"),
)

deliveries = sa.Table(  # the upload of each of them
    "deliveries",
    metadata,
    sa.Column("dataset", sa.Text, sa.ForeignKey("datasets.id"), primary_key=True),
    sa.Column("owner", sa.Text, primary_key=True),
    _text("digest"),  # of what its owner signed
    _text("object"),  # where the vault has it
    _to("users", "user"),  # who brought it
    _time("created_at"),
)

roles = sa.Table(
    "roles",
    metadata,
    _id(),
    _to("datasets", "dataset"),
    _text("name"),
    _json("attributes"),  # who is in it without being named: {"institution": ["..."]}
    _time("created_at"),
    sa.UniqueConstraint("dataset", "name"),
)

members = sa.Table(
    "members",
    metadata,
    sa.Column("role", sa.Text, sa.ForeignKey("roles.id"), primary_key=True),
    sa.Column("user", sa.Text, sa.ForeignKey("users.id"), primary_key=True, index=True),
    _time("granted_at"),
)

rules = sa.Table(
    "rules",
    metadata,
    _id(),
    _to("roles", "role", index=True),
    _text("operation"),
    _amount("max_epsilon", null=True),  # per request; none: what the budget has
    _amount("max_delta", null=True),
    sa.Column("algorithms", sa.JSON, nullable=True),  # names; none: every one that is built in
    _flag("standing"),  # whether it decides by itself
    _time("created_at"),
)

user_budgets = sa.Table(
    "user_budgets",
    metadata,
    sa.Column("dataset", sa.Text, sa.ForeignKey("datasets.id"), primary_key=True),
    sa.Column("user", sa.Text, sa.ForeignKey("users.id"), primary_key=True),
    _amount("total_epsilon", null=True),  # a budget of her own; none: the data set's
    _amount("total_delta", null=True),
    _amount("spent_epsilon"),
    _amount("spent_delta"),
)

# --------------------------------------------------------------------------- requests and jobs

requests = sa.Table(
    "requests",
    metadata,
    _id(),
    _to("users", "user", index=True),
    _to("datasets", "dataset"),
    _text("operation"),
    _json("spec"),
    _text("reason"),
    _amount("epsilon"),
    _amount("delta"),
    _text("state", "waiting"),
    _text("key"),
    _text("digest"),  # of what was asked, so that one key cannot mean two things
    _to("users", "decided_by", null=True),
    _to("rules", "rule", null=True),  # the standing rule that decided
    _to("roles", "role", null=True),  # the role that an access request was granted
    _text("decision_reason"),
    _time("created_at"),
    _time("decided_at", null=True),
    sa.UniqueConstraint("user", "key"),
    sa.Index("ix_requests_dataset_state", "dataset", "state"),
)

jobs = sa.Table(
    "jobs",
    metadata,
    _id(),
    sa.Column("request", sa.Text, sa.ForeignKey("requests.id"), nullable=False, unique=True),
    _to("datasets", "dataset", index=True),
    _to("users", "user", index=True),
    _text("operation"),
    _json("spec"),
    _amount("epsilon"),
    _amount("delta"),
    _text("state", "queued"),
    sa.Column("place", sa.BigInteger, nullable=False),  # in the queue: its entry in the trail
    _text("worker", null=True),
    _time("lease_until", null=True),
    _text("step"),
    _count("done"),
    _count("steps"),
    _text("why"),
    _flag("refunded"),
    _time("created_at"),
    _time("started_at", null=True),
    _time("ended_at", null=True),
    sa.Index("ix_jobs_state_place", "state", "place"),
)

debits = sa.Table(  # the journal: never changed, a refund is an entry below zero
    "debits",
    metadata,
    _number(),
    _to("datasets", "dataset"),
    _to("users", "user"),
    _to("requests", "request", index=True),
    _amount("epsilon"),
    _amount("delta"),
    _text("why"),
    _time("at"),
    sa.Index("ix_debits_dataset_user", "dataset", "user"),
)

releases = sa.Table(
    "releases",
    metadata,
    _id(),
    _to("datasets", "dataset", index=True),
    sa.Column("job", sa.Text, sa.ForeignKey("jobs.id"), nullable=True, unique=True),
    _to("users", "user", null=True, index=True),
    _text("operation"),
    _text("title"),
    _json("use"),  # purpose, conditions, contact
    _json("ledger"),
    _json("summary"),
    _text("digest"),  # of what was uploaded, so that sending it twice is sending it once
    _amount("epsilon"),
    _amount("delta"),
    _json("trail"),  # the head when it was released: number, digest, mac
    _time("created_at"),
    _time("withdrawn_at", null=True),
)

release_files = sa.Table(
    "release_files",
    metadata,
    sa.Column("release", sa.Text, sa.ForeignKey("releases.id"), primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    _text("media_type", "application/octet-stream"),
    _count("size"),
    _text("sha256"),
    _text("object"),  # where the vault has it
)

# --------------------------------------------------------------------------- the trail, the vault

trail = sa.Table(
    "trail",
    metadata,
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    _text("at"),  # text as it was signed
    _text("actor"),
    _text("action"),
    _text("object"),
    _text("details", "{}"),  # canonical JSON, as it was signed
    _text("salt"),  # so that nobody guesses an entry from its digest
    _text("content"),  # SHA-256 over all of the above
    _text("digest"),  # SHA-256 over the digest before and the content: anybody can check it
    _text("mac"),  # HMAC-SHA256 over the digest: who has the key can
    sa.Index("ix_trail_object", "object"),
)

trail_head = sa.Table(
    "trail_head",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),  # always 1
    sa.Column("number", sa.BigInteger, nullable=False),
    _text("digest"),
    _text("mac"),
)

vault_keys = sa.Table(
    "vault_keys",
    metadata,
    sa.Column("dataset", sa.Text, sa.ForeignKey("datasets.id"), primary_key=True),
    _text("master"),  # which master key wraps it
    _text("wrapped"),
    _time("created_at"),
)

vault_objects = sa.Table(
    "vault_objects",
    metadata,
    _id(),
    _to("datasets", "dataset", index=True),
    _text("kind"),  # rows, release, package, upload
    _count("size"),  # of the plain bytes
    _text("mac"),  # HMAC-SHA256 over the encrypted file
    _time("created_at"),
)

# --------------------------------------------------------------------------- algorithms, surveys

algorithms = sa.Table(
    "algorithms",
    metadata,
    _id(),
    _to("users", "provider", index=True),
    _text("name"),
    _text("version"),
    _text("summary"),
    _text("digest"),
    _text("public_key"),
    _text("signature"),
    sa.Column("package", sa.LargeBinary, nullable=False),
    _text("state", "offered"),  # offered, withdrawn
    _time("created_at"),
    sa.UniqueConstraint("name", "version"),
)

surveys = sa.Table(
    "surveys",
    metadata,
    _id(),
    _to("users", "maker", index=True),
    _to("datasets", "dataset", null=True),  # under which its synthetic table is in the catalogue
    _text("title"),
    _json("document"),  # words for the person, the metadata of use, whether tokens are needed
    _json("plan"),  # who is asked what, and how: public
    _text("state", "draft"),  # draft, open, closed
    _time("created_at"),
    _time("opened_at", null=True),
    _time("closed_at", null=True),
)

survey_reports = sa.Table(  # no time, no address and no order: a report is found by its number
    "survey_reports",
    metadata,
    sa.Column("survey", sa.Text, sa.ForeignKey("surveys.id"), primary_key=True),
    sa.Column("number", sa.Text, primary_key=True),
    sa.Column("question", sa.Integer, nullable=False),
    sa.Column("level", sa.Integer, nullable=False),
    _text("answer"),
    _flag("shown"),  # whether its maker has been told of it, in a batch
    sqlite_with_rowid=False,
)

survey_invitations = sa.Table(
    "survey_invitations",
    metadata,
    sa.Column("survey", sa.Text, sa.ForeignKey("surveys.id"), primary_key=True),
    sa.Column("hash", sa.Text, primary_key=True),  # of the code in the link
    _text("request", null=True),  # the hash of the blinded request that was answered
    sqlite_with_rowid=False,
)
