"""Records of what a workspace owns, their audit log, and answers kept for retries."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables."""
    instant = sa.DateTime(timezone=True)
    op.create_table(
        "resources",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("workspace_id", sa.Uuid(), nullable=False),
        sa.Column("type", sa.String(32), nullable=False),
        sa.Column("state", sa.JSON(), nullable=False),
        sa.Column("created_at", instant, nullable=False),
        sa.Column("updated_at", instant, nullable=False),
        sa.Column("deleted_at", instant),
        sa.PrimaryKeyConstraint("id", name="pk_resources"),
        _of_workspace("resources"),
    )
    op.create_index("ix_resources_listed", "resources", ["workspace_id", "type", "created_at"])
    op.create_table(
        "resource_keys",
        sa.Column("key", sa.String(255), nullable=False),
        sa.Column("resource_id", sa.Uuid(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_resource_keys"),
        sa.ForeignKeyConstraint(
            ["resource_id"], ["resources.id"], name="fk_resource_keys_resource_id", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_resource_keys_resource_id", "resource_keys", ["resource_id"])
    op.create_table(
        "audit",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("workspace_id", sa.Uuid(), nullable=False),
        sa.Column("type", sa.String(32), nullable=False),
        sa.Column("resource_id", sa.Uuid(), nullable=False),
        sa.Column("actor_id", sa.Uuid(), nullable=False),
        sa.Column("created_at", instant, nullable=False),
        sa.Column("entry", sa.JSON(), nullable=False),
        sa.Column("undone_by", sa.Uuid()),
        sa.Column("undone_at", instant),
        sa.PrimaryKeyConstraint("id", name="pk_audit"),
        _of_workspace("audit"),
    )
    op.create_index("ix_audit_newest", "audit", ["workspace_id", "created_at"])
    op.create_index("ix_audit_resource", "audit", ["workspace_id", "resource_id"])
    op.create_table(
        "replays",
        sa.Column("ticket", sa.String(64), nullable=False),
        sa.Column("workspace_id", sa.Uuid(), nullable=False),
        sa.Column("answer", sa.JSON(), nullable=False),
        sa.Column("expires_at", instant, nullable=False),
        sa.PrimaryKeyConstraint("ticket", name="pk_replays"),
        _of_workspace("replays"),
    )
    op.create_index("ix_replays_expires_at", "replays", ["expires_at"])


def _of_workspace(table: str) -> sa.ForeignKeyConstraint:
    name = f"fk_{table}_workspace_id"
    return sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=name, ondelete="CASCADE")
