"""Conversions that rules send to ad platforms, and the queue of each account they go to."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

_INSTANT = sa.DateTime(timezone=True)
_WAITING = sa.text("next_attempt_at IS NOT NULL")


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "postbacks",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("workspace_id", sa.Uuid(), nullable=False),
        sa.Column("rule_id", sa.Uuid(), nullable=False),
        sa.Column("event_id", sa.Text(), nullable=False),
        sa.Column("event_at", _INSTANT, nullable=False),
        sa.Column("platform", sa.String(64), nullable=False),
        sa.Column("account_id", sa.Text(), nullable=False),
        sa.Column("asset_id", sa.Text(), nullable=False),
        sa.Column("platform_event", sa.Text(), nullable=False),
        sa.Column("is_custom", sa.Boolean(), nullable=False),
        sa.Column("platform_event_id", sa.Text(), nullable=False),
        sa.Column("is_test", sa.Boolean(), nullable=False),
        sa.Column("test_code", sa.Text()),
        sa.Column("value", sa.BigInteger()),
        sa.Column("currency", sa.String(3)),
        sa.Column("user_agent", sa.Text()),
        sa.Column("created_at", _INSTANT, nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("reason", sa.String(32)),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_attempt_at", _INSTANT),
        sa.Column("http_status", sa.Integer()),
        sa.Column("error_code", sa.String(64)),
        sa.Column("request_masked", sa.JSON()),
        sa.Column("sent_at", _INSTANT),
        sa.Column("done_at", _INSTANT),
        sa.PrimaryKeyConstraint("id", name="pk_postbacks"),
        sa.UniqueConstraint("rule_id", "event_id", name="uq_postbacks_rule_id"),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspaces.id"], name="fk_postbacks_workspace_id", ondelete="CASCADE"
        ),
    )
    op.create_index(
        "ix_postbacks_waiting",
        "postbacks",
        ["workspace_id", "platform", "account_id", "next_attempt_at"],
        sqlite_where=_WAITING,
        postgresql_where=_WAITING,
    )
    op.create_index("ix_postbacks_twin", "postbacks", ["rule_id", "platform_event_id"])
    op.create_index("ix_postbacks_event", "postbacks", ["workspace_id", "event_id"])
    op.create_index("ix_postbacks_done", "postbacks", ["workspace_id", "done_at"])
    op.create_table(
        "postback_queues",
        sa.Column("workspace_id", sa.Uuid(), nullable=False),
        sa.Column("platform", sa.String(64), nullable=False),
        sa.Column("account_id", sa.Text(), nullable=False),
        sa.Column("next_at", _INSTANT),
        sa.Column("holder", sa.Uuid()),
        sa.Column("held_until", _INSTANT),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("closed_until", _INSTANT),
        sa.Column("refused", sa.Boolean(), nullable=False),
        sa.Column("counted_from", _INSTANT),
        sa.Column("calls", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("workspace_id", "platform", "account_id", name="pk_postback_queues"),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspaces.id"], name="fk_postback_queues_workspace_id", ondelete="CASCADE"
        ),
    )
