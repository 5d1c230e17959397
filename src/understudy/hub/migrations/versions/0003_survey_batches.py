"""Which reports of a survey its maker has been told of."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Reports that are there were counted on the maker's page already."""
    shown: sa.Column[bool] = sa.Column(
        "shown", sa.Boolean(create_constraint=False), server_default=sa.false(), nullable=False
    )
    op.add_column("survey_reports", shown)
    reports = sa.table("survey_reports", sa.column("shown", sa.Boolean))
    op.execute(sa.update(reports).values(shown=True))
