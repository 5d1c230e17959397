"""Budgets per user, the vault, surveys, contributed algorithms, progress of jobs."""

import json
from fractions import Fraction

import sqlalchemy as sa
from alembic import op

from understudy.hub.amounts import read_amount, write_amount

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Bring a database of the first layout to this one, with what can be told from its rows."""
    _make_accounts()
    _make_datasets()
    _make_surveys()
    _add_columns()
    _fill_user_budgets(op.get_bind())
    _fill_counts(op.get_bind())


def _make_accounts() -> None:
    op.create_table(
        "attempts",
        sa.Column(
            "number",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("key", sa.Text(), server_default="", nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column(
            "succeeded",
            sa.Boolean(create_constraint=False),
            server_default=sa.false(),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("number", name="pk_attempts"),
    )
    op.create_index("ix_attempts_key_at", "attempts", ["key", "at"])
    op.create_table(
        "settings",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.JSON(), server_default="{}", nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_settings"),
    )
    op.create_table(
        "algorithms",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), server_default="", nullable=False),
        sa.Column("version", sa.Text(), server_default="", nullable=False),
        sa.Column("summary", sa.Text(), server_default="", nullable=False),
        sa.Column("digest", sa.Text(), server_default="", nullable=False),
        sa.Column("public_key", sa.Text(), server_default="", nullable=False),
        sa.Column("signature", sa.Text(), server_default="", nullable=False),
        sa.Column("package", sa.LargeBinary(), nullable=False),
        sa.Column("state", sa.Text(), server_default="offered", nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["provider"], ["users.id"], name="fk_algorithms_provider"),
        sa.PrimaryKeyConstraint("id", name="pk_algorithms"),
        sa.UniqueConstraint("name", "version", name="uq_algorithms_name_version"),
    )
    op.create_index("ix_algorithms_provider", "algorithms", ["provider"])
    op.create_table(
        "links",
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("purpose", sa.Text(), server_default="", nullable=False),
        sa.Column("user", sa.Text(), nullable=True),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["user"], ["users.id"], name="fk_links_user"),
        sa.PrimaryKeyConstraint("hash", name="pk_links"),
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("user", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), server_default="", nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["user"], ["users.id"], name="fk_tokens_user"),
        sa.PrimaryKeyConstraint("id", name="pk_tokens"),
        sa.UniqueConstraint("hash", name="uq_tokens_hash"),
    )
    op.create_index("ix_tokens_user", "tokens", ["user"])


def _make_datasets() -> None:
    op.create_table(
        "holders",
        sa.Column("dataset", sa.Text(), nullable=False),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("agreed_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["agent"], ["agents.id"], name="fk_holders_agent"),
        sa.ForeignKeyConstraint(["dataset"], ["datasets.id"], name="fk_holders_dataset"),
        sa.PrimaryKeyConstraint("dataset", "agent", name="pk_holders"),
    )
    op.create_table(
        "user_budgets",
        sa.Column("dataset", sa.Text(), nullable=False),
        sa.Column("user", sa.Text(), nullable=False),
        sa.Column("total_epsilon", sa.Text(), nullable=True),
        sa.Column("total_delta", sa.Text(), nullable=True),
        sa.Column("spent_epsilon", sa.Text(), server_default="0", nullable=False),
        sa.Column("spent_delta", sa.Text(), server_default="0", nullable=False),
        sa.ForeignKeyConstraint(["dataset"], ["datasets.id"], name="fk_user_budgets_dataset"),
        sa.ForeignKeyConstraint(["user"], ["users.id"], name="fk_user_budgets_user"),
        sa.PrimaryKeyConstraint("dataset", "user", name="pk_user_budgets"),
    )
    op.create_table(
        "vault_keys",
        sa.Column("dataset", sa.Text(), nullable=False),
        sa.Column("master", sa.Text(), server_default="", nullable=False),
        sa.Column("wrapped", sa.Text(), server_default="", nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["dataset"], ["datasets.id"], name="fk_vault_keys_dataset"),
        sa.PrimaryKeyConstraint("dataset", name="pk_vault_keys"),
    )
    op.create_table(
        "vault_objects",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("dataset", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), server_default="", nullable=False),
        sa.Column("size", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("mac", sa.Text(), server_default="", nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["dataset"], ["datasets.id"], name="fk_vault_objects_dataset"),
        sa.PrimaryKeyConstraint("id", name="pk_vault_objects"),
    )
    op.create_index("ix_vault_objects_dataset", "vault_objects", ["dataset"])
    op.create_table(
        "relay",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("job", sa.Text(), nullable=False),
        sa.Column("dataset", sa.Text(), nullable=False),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("question", sa.LargeBinary(), nullable=False),
        sa.Column("answer", sa.LargeBinary(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["agent"], ["agents.id"], name="fk_relay_agent"),
        sa.ForeignKeyConstraint(["dataset"], ["datasets.id"], name="fk_relay_dataset"),
        sa.ForeignKeyConstraint(["job"], ["jobs.id"], name="fk_relay_job"),
        sa.PrimaryKeyConstraint("id", name="pk_relay"),
        sa.UniqueConstraint("job", "agent", "number", name="uq_relay_job_agent_number"),
    )
    op.create_index("ix_relay_job", "relay", ["job"])
    op.create_table(
        "release_files",
        sa.Column("release", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column(
            "media_type", sa.Text(), server_default="application/octet-stream", nullable=False
        ),
        sa.Column("size", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("sha256", sa.Text(), server_default="", nullable=False),
        sa.Column("object", sa.Text(), server_default="", nullable=False),
        sa.ForeignKeyConstraint(["release"], ["releases.id"], name="fk_release_files_release"),
        sa.PrimaryKeyConstraint("release", "name", name="pk_release_files"),
    )


def _make_surveys() -> None:
    op.create_table(
        "surveys",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("maker", sa.Text(), nullable=False),
        sa.Column("dataset", sa.Text(), nullable=True),
        sa.Column("title", sa.Text(), server_default="", nullable=False),
        sa.Column("document", sa.JSON(), server_default="{}", nullable=False),
        sa.Column("plan", sa.JSON(), server_default="{}", nullable=False),
        sa.Column("state", sa.Text(), server_default="draft", nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("opened_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("closed_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["dataset"], ["datasets.id"], name="fk_surveys_dataset"),
        sa.ForeignKeyConstraint(["maker"], ["users.id"], name="fk_surveys_maker"),
        sa.PrimaryKeyConstraint("id", name="pk_surveys"),
    )
    op.create_index("ix_surveys_maker", "surveys", ["maker"])
    op.create_table(
        "survey_invitations",
        sa.Column("survey", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("request", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["survey"], ["surveys.id"], name="fk_survey_invitations_survey"),
        sa.PrimaryKeyConstraint("survey", "hash", name="pk_survey_invitations"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "survey_reports",
        sa.Column("survey", sa.Text(), nullable=False),
        sa.Column("number", sa.Text(), nullable=False),
        sa.Column("question", sa.Integer(), nullable=False),
        sa.Column("level", sa.Integer(), nullable=False),
        sa.Column("answer", sa.Text(), server_default="", nullable=False),
        sa.ForeignKeyConstraint(["survey"], ["surveys.id"], name="fk_survey_reports_survey"),
        sa.PrimaryKeyConstraint("survey", "number", name="pk_survey_reports"),
        sqlite_with_rowid=False,
    )


def _add_columns() -> None:
    op.add_column(
        "datasets", sa.Column("columns", sa.BigInteger(), server_default="0", nullable=False)
    )
    op.add_column("datasets", sa.Column("about_rows", sa.BigInteger(), nullable=True))
    op.add_column(
        "datasets",
        sa.Column(
            "listed", sa.Boolean(create_constraint=False), server_default=sa.true(), nullable=False
        ),
    )
    op.add_column("datasets", sa.Column("user_epsilon", sa.Text(), nullable=True))
    op.add_column("datasets", sa.Column("user_delta", sa.Text(), nullable=True))
    op.add_column(
        "datasets", sa.Column("releases", sa.BigInteger(), server_default="0", nullable=False)
    )
    op.add_column("datasets", sa.Column("source", sa.Text(), nullable=True))
    op.add_column("datasets", sa.Column("rows_object", sa.Text(), nullable=True))
    op.create_index("ix_datasets_listed_name", "datasets", ["listed", "name", "id"])
    op.add_column("jobs", sa.Column("step", sa.Text(), server_default="", nullable=False))
    op.add_column("jobs", sa.Column("done", sa.BigInteger(), server_default="0", nullable=False))
    op.add_column("jobs", sa.Column("steps", sa.BigInteger(), server_default="0", nullable=False))
    op.add_column("releases", sa.Column("digest", sa.Text(), server_default="", nullable=False))
    op.add_column("releases", sa.Column("withdrawn_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("requests", sa.Column("digest", sa.Text(), server_default="", nullable=False))
    op.add_column(
        "users", sa.Column("failed_logins", sa.BigInteger(), server_default="0", nullable=False)
    )
    op.add_column("users", sa.Column("locked_until", sa.DateTime(timezone=True), nullable=True))


def _fill_user_budgets(connection: sa.Connection) -> None:
    """What each user has spent, from the journal."""
    spent: dict[tuple[str, str], list[Fraction]] = {}
    query = sa.text('SELECT dataset, "user", epsilon, delta FROM debits')
    for dataset, user, epsilon, delta in connection.execute(query):
        sums = spent.setdefault((dataset, user), [Fraction(0), Fraction(0)])
        sums[0] += read_amount(epsilon)
        sums[1] += read_amount(delta)
    insert = sa.text(
        'INSERT INTO user_budgets (dataset, "user", spent_epsilon, spent_delta) '
        "VALUES (:dataset, :user, :epsilon, :delta)"
    )
    for (dataset, user), (epsilon, delta) in spent.items():
        values = {"epsilon": write_amount(epsilon), "delta": write_amount(delta)}
        connection.execute(insert, {"dataset": dataset, "user": user, **values})


def _fill_counts(connection: sa.Connection) -> None:
    """How many columns and releases a data set has."""
    update = sa.text(
        "UPDATE datasets SET columns = :columns, releases = "
        "(SELECT count(*) FROM releases WHERE releases.dataset = datasets.id) WHERE id = :id"
    )
    for dataset, schema in connection.execute(sa.text("SELECT id, schema FROM datasets")).all():
        document = json.loads(schema) if isinstance(schema, str) else schema
        connection.execute(update, {"id": dataset, "columns": len(document.get("attributes", ()))})
