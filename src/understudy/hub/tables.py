"""The hub's tables.

Amounts of privacy are exact decimals in text, times are UTC, ids are random text. What must not be
changed once written (the trail, the journal of debits) is guarded by triggers as well: see
:mod:`understudy.hub.triggers`.
"""

from __future__ import annotations

import sqlalchemy as sa

from understudy.hub.column_kinds import (
    amount_column,
    count_column,
    flag_column,
    id_column,
    json_column,
    link_column,
    number_column,
    text_column,
    time_column,
)

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

settings = sa.Table(
    "settings",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    json_column("value"),
)

# --------------------------------------------------------------------------- accounts

users = sa.Table(
    "users",
    metadata,
    id_column(),
    sa.Column("name", sa.Text, nullable=False, unique=True),  # what one signs in with
    text_column("display_name"),
    text_column("email"),
    text_column("password_hash", null=True),
    text_column("oidc_subject", null=True),
    flag_column("is_admin"),
    text_column("state", "active"),  # active, waiting, disabled
    json_column("attributes"),  # what the administrator vouches for: {"institution": "..."}
    count_column("failed_logins"),
    time_column("locked_until", null=True),
    time_column("created_at"),
    sa.UniqueConstraint("oidc_subject"),
)

sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("hash", sa.Text, primary_key=True),  # of the cookie's token
    link_column("users", "user", index=True),
    time_column("created_at"),
    time_column("seen_at"),
    time_column("expires_at"),
    json_column("data"),
)

tokens = sa.Table(
    "tokens",
    metadata,
    id_column(),
    link_column("users", "user", index=True),
    text_column("name"),
    sa.Column("hash", sa.Text, nullable=False, unique=True),
    time_column("created_at"),
    time_column("expires_at", null=True),
    time_column("used_at", null=True),
    time_column("revoked_at", null=True),
)

links = sa.Table(
    "links",
    metadata,
    sa.Column("hash", sa.Text, primary_key=True),
    text_column("purpose"),  # first_run, invitation, password
    link_column("users", "user", null=True),
    time_column("expires_at"),
    time_column("used_at", null=True),
)

attempts = sa.Table(
    "attempts",
    metadata,
    number_column(),
    text_column("key"),  # what is limited: a name, an address
    time_column("at"),
    flag_column("succeeded"),
    sa.Index("ix_attempts_key_at", "key", "at"),
)

# --------------------------------------------------------------------------- data sets

agents = sa.Table(
    "agents",
    metadata,
    id_column(),
    link_column("users", "owner", index=True),
    text_column("name"),
    sa.Column("hash", sa.Text, nullable=False, unique=True),  # of its token
    time_column("created_at"),
    time_column("seen_at", null=True),
    time_column("revoked_at", null=True),
)

datasets = sa.Table(
    "datasets",
    metadata,
    id_column(),
    link_column("users", "owner", index=True),
    text_column("name"),
    text_column("description"),
    json_column("schema"),
    count_column("columns"),  # of the schema, for the catalogue
    sa.Column("about_rows", sa.BigInteger, nullable=True),  # what the owner says in public
    text_column("purpose"),
    text_column("conditions"),
    text_column("contact"),
    text_column("mode", "agent"),
    text_column("state", "open"),
    flag_column("listed", default=True),
    text_column("neighbours", "add_remove"),
    json_column("unit", '"row"'),
    amount_column("total_epsilon"),
    amount_column("total_delta"),
    amount_column("user_epsilon", null=True),  # none: a user may spend the total
    amount_column("user_delta", null=True),
    amount_column("spent_epsilon"),
    amount_column("spent_delta"),
    count_column("releases"),  # how many there are, for the catalogue
    link_column("agents", "agent", null=True),
    text_column("source", null=True),  # a name that the worker's own settings explain
    text_column("rows_object", null=True),  # the rows, where the vault has them
    time_column("created_at"),
    time_column("changed_at"),
    time_column("closed_at", null=True),
    sa.Index("ix_datasets_listed_name", "listed", "name", "id"),
)

holders = sa.Table(  # who holds the parts of a federated data set
    "holders",
    metadata,
    sa.Column("dataset", sa.Text, sa.ForeignKey("datasets.id"), primary_key=True),
    sa.Column("agent", sa.Text, sa.ForeignKey("agents.id"), primary_key=True),
    time_column("agreed_at", null=True),
)

relay = sa.Table(  # messages of a secure federation on their way to agents, and their answers
    "relay",
    metadata,
    id_column(),
    link_column("jobs", "job", index=True),
    link_column("datasets", "dataset"),
    link_column("agents", "agent"),
    sa.Column("number", sa.BigInteger, nullable=False),
    sa.Column("question", sa.LargeBinary, nullable=False),
    sa.Column("answer", sa.LargeBinary, nullable=True),
    time_column("created_at"),
    sa.UniqueConstraint("job", "agent", "number"),
)

collections = sa.Table(  # what the owners of encrypted uploads agreed on
    "collections",
    metadata,
    sa.Column("dataset", sa.Text, sa.ForeignKey("datasets.id"), primary_key=True),
    json_column("plan"),
    json_column("owners"),  # their certificates, by name
    text_column("service"),  # a name that the worker's own settings explain
    time_column("created_at"),
)

deliveries = sa.Table(  # the upload of each of them
    "deliveries",
    metadata,
    sa.Column("dataset", sa.Text, sa.ForeignKey("datasets.id"), primary_key=True),
    sa.Column("owner", sa.Text, primary_key=True),
    text_column("digest"),  # of what its owner signed
    text_column("object"),  # where the vault has it
    link_column("users", "user"),  # who brought it
    time_column("created_at"),
)

roles = sa.Table(
    "roles",
    metadata,
    id_column(),
    link_column("datasets", "dataset"),
    text_column("name"),
    json_column("attributes"),  # who is in it without being named: {"institution": ["..."]}
    time_column("created_at"),
    sa.UniqueConstraint("dataset", "name"),
)

members = sa.Table(
    "members",
    metadata,
    sa.Column("role", sa.Text, sa.ForeignKey("roles.id"), primary_key=True),
    sa.Column("user", sa.Text, sa.ForeignKey("users.id"), primary_key=True, index=True),
    time_column("granted_at"),
)

rules = sa.Table(
    "rules",
    metadata,
    id_column(),
    link_column("roles", "role", index=True),
    text_column("operation"),
    amount_column("max_epsilon", null=True),  # per request; none: what the budget has
    amount_column("max_delta", null=True),
    sa.Column("algorithms", sa.JSON, nullable=True),  # names; none: every one that is built in
    flag_column("standing"),  # whether it decides by itself
    time_column("created_at"),
)

user_budgets = sa.Table(
    "user_budgets",
    metadata,
    sa.Column("dataset", sa.Text, sa.ForeignKey("datasets.id"), primary_key=True),
    sa.Column("user", sa.Text, sa.ForeignKey("users.id"), primary_key=True),
    amount_column("total_epsilon", null=True),  # a budget of her own; none: the data set's
    amount_column("total_delta", null=True),
    amount_column("spent_epsilon"),
    amount_column("spent_delta"),
)

# --------------------------------------------------------------------------- requests and jobs

requests = sa.Table(
    "requests",
    metadata,
    id_column(),
    link_column("users", "user", index=True),
    link_column("datasets", "dataset"),
    text_column("operation"),
    json_column("spec"),
    text_column("reason"),
    amount_column("epsilon"),
    amount_column("delta"),
    text_column("state", "waiting"),
    text_column("key"),
    text_column("digest"),  # of what was asked, so that one key cannot mean two things
    link_column("users", "decided_by", null=True),
    link_column("rules", "rule", null=True),  # the standing rule that decided
    link_column("roles", "role", null=True),  # the role that an access request was granted
    text_column("decision_reason"),
    time_column("created_at"),
    time_column("decided_at", null=True),
    sa.UniqueConstraint("user", "key"),
    sa.Index("ix_requests_dataset_state", "dataset", "state"),
)

jobs = sa.Table(
    "jobs",
    metadata,
    id_column(),
    sa.Column("request", sa.Text, sa.ForeignKey("requests.id"), nullable=False, unique=True),
    link_column("datasets", "dataset", index=True),
    link_column("users", "user", index=True),
    text_column("operation"),
    json_column("spec"),
    amount_column("epsilon"),
    amount_column("delta"),
    text_column("state", "queued"),
    sa.Column("place", sa.BigInteger, nullable=False),  # in the queue: its entry in the trail
    text_column("worker", null=True),
    time_column("lease_until", null=True),
    text_column("step"),
    count_column("done"),
    count_column("steps"),
    text_column("why"),
    flag_column("refunded"),
    time_column("created_at"),
    time_column("started_at", null=True),
    time_column("ended_at", null=True),
    sa.Index("ix_jobs_state_place", "state", "place"),
)

debits = sa.Table(  # the journal: never changed, a refund is an entry below zero
    "debits",
    metadata,
    number_column(),
    link_column("datasets", "dataset"),
    link_column("users", "user"),
    link_column("requests", "request", index=True),
    amount_column("epsilon"),
    amount_column("delta"),
    text_column("why"),
    time_column("at"),
    sa.Index("ix_debits_dataset_user", "dataset", "user"),
)

releases = sa.Table(
    "releases",
    metadata,
    id_column(),
    link_column("datasets", "dataset", index=True),
    sa.Column("job", sa.Text, sa.ForeignKey("jobs.id"), nullable=True, unique=True),
    link_column("users", "user", null=True, index=True),
    text_column("operation"),
    text_column("title"),
    json_column("use"),  # purpose, conditions, contact
    json_column("ledger"),
    json_column("summary"),
    text_column("digest"),  # of what was uploaded, so that sending it twice is sending it once
    amount_column("epsilon"),
    amount_column("delta"),
    json_column("trail"),  # the head when it was released: number, digest, mac
    time_column("created_at"),
    time_column("withdrawn_at", null=True),
)

release_files = sa.Table(
    "release_files",
    metadata,
    sa.Column("release", sa.Text, sa.ForeignKey("releases.id"), primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    text_column("media_type", "application/octet-stream"),
    count_column("size"),
    text_column("sha256"),
    text_column("object"),  # where the vault has it
)

# --------------------------------------------------------------------------- the trail, the vault

trail = sa.Table(
    "trail",
    metadata,
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    text_column("at"),  # text as it was signed
    text_column("actor"),
    text_column("action"),
    text_column("object"),
    text_column("details", "{}"),  # canonical JSON, as it was signed
    text_column("salt"),  # so that nobody guesses an entry from its digest
    text_column("content"),  # SHA-256 over all of the above
    text_column("digest"),  # SHA-256 over the digest before and the content: anybody can check it
    text_column("mac"),  # HMAC-SHA256 over the digest: who has the key can
    sa.Index("ix_trail_object", "object"),
)

trail_head = sa.Table(
    "trail_head",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),  # always 1
    sa.Column("number", sa.BigInteger, nullable=False),
    text_column("digest"),
    text_column("mac"),
)

vault_keys = sa.Table(
    "vault_keys",
    metadata,
    sa.Column("dataset", sa.Text, sa.ForeignKey("datasets.id"), primary_key=True),
    text_column("master"),  # which master key wraps it
    text_column("wrapped"),
    time_column("created_at"),
)

vault_objects = sa.Table(
    "vault_objects",
    metadata,
    id_column(),
    link_column("datasets", "dataset", index=True),
    text_column("kind"),  # rows, release, package, upload
    count_column("size"),  # of the plain bytes
    text_column("mac"),  # HMAC-SHA256 over the encrypted file
    time_column("created_at"),
)

# --------------------------------------------------------------------------- algorithms, surveys

algorithms = sa.Table(
    "algorithms",
    metadata,
    id_column(),
    link_column("users", "provider", index=True),
    text_column("name"),
    text_column("version"),
    text_column("summary"),
    text_column("digest"),
    text_column("public_key"),
    text_column("signature"),
    sa.Column("package", sa.LargeBinary, nullable=False),
    text_column("state", "offered"),  # offered, withdrawn
    time_column("created_at"),
    sa.UniqueConstraint("name", "version"),
)

surveys = sa.Table(
    "surveys",
    metadata,
    id_column(),
    link_column("users", "maker", index=True),
    link_column(
        "datasets", "dataset", null=True
    ),  # under which its synthetic table is in the catalogue
    text_column("title"),
    json_column("document"),  # words for the person, the metadata of use, whether tokens are needed
    json_column("plan"),  # who is asked what, and how: public
    text_column("state", "draft"),  # draft, open, closed
    time_column("created_at"),
    time_column("opened_at", null=True),
    time_column("closed_at", null=True),
)

survey_reports = sa.Table(  # no time, no address and no order: a report is found by its number
    "survey_reports",
    metadata,
    sa.Column("survey", sa.Text, sa.ForeignKey("surveys.id"), primary_key=True),
    sa.Column("number", sa.Text, primary_key=True),
    sa.Column("question", sa.Integer, nullable=False),
    sa.Column("level", sa.Integer, nullable=False),
    text_column("answer"),
    flag_column("shown"),  # whether its maker has been told of it, in a batch
    sqlite_with_rowid=False,
)

survey_invitations = sa.Table(
    "survey_invitations",
    metadata,
    sa.Column("survey", sa.Text, sa.ForeignKey("surveys.id"), primary_key=True),
    sa.Column("hash", sa.Text, primary_key=True),  # of the code in the link
    text_column("request", null=True),  # the hash of the blinded request that was answered
    sqlite_with_rowid=False,
)
