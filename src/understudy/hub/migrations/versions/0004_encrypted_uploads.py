"""Plans and deliveries of owners who encrypt once and go offline."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Two tables; nothing that was there changes."""
    op.create_table(
        "collections",
        sa.Column("dataset", sa.Text(), nullable=False),
        sa.Column("plan", sa.JSON(), server_default="{}", nullable=False),
        sa.Column("owners", sa.JSON(), server_default="{}", nullable=False),
        sa.Column("service", sa.Text(), server_default="", nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["dataset"], ["datasets.id"], name="fk_collections_dataset"),
        sa.PrimaryKeyConstraint("dataset", name="pk_collections"),
    )
    op.create_table(
        "deliveries",
        sa.Column("dataset", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), server_default="", nullable=False),
        sa.Column("object", sa.Text(), server_default="", nullable=False),
        sa.Column("user", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["dataset"], ["datasets.id"], name="fk_deliveries_dataset"),
        sa.ForeignKeyConstraint(["user"], ["users.id"], name="fk_deliveries_user"),
        sa.PrimaryKeyConstraint("dataset", "owner", name="pk_deliveries"),
    )
