"""Subscriptions as their providers told them, and what follows: how they moved, and how they stood."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

_INSTANT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create the tables."""
    by_code_point = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    op.create_table(
        "subscription_states",
        *_place("subscription_states", "message_id"),
        *_message(),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("amount", sa.BigInteger()),
        sa.Column("currency", sa.String(3)),
        sa.Column("interval", sa.String(16)),
        sa.Column("started_at", _INSTANT),
        sa.Column("interval_count", sa.BigInteger(), nullable=False),
        sa.Column("quantity", sa.BigInteger(), nullable=False),
        sa.Column("plan", sa.Text()),
        sa.Column("product_id", sa.Text()),
        sa.Column("trial_ends_at", _INSTANT),
        sa.Column("current_period_end", _INSTANT),
        sa.Column("cancel_at_period_end", sa.Boolean(), nullable=False),
        sa.Column("canceled_at", _INSTANT),
        sa.Column("ended_at", _INSTANT),
        sa.Column("identity", sa.JSON(), nullable=False),
    )
    op.create_table(
        "subscription_deeds",
        *_place("subscription_deeds", "message_id"),
        *_message(),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("amount", sa.BigInteger()),
        sa.Column("currency", sa.String(3)),
    )
    op.create_table(
        "subscription_movements",
        sa.Column("workspace_id", sa.Uuid(), nullable=False),
        sa.Column("at", _INSTANT, nullable=False),
        sa.Column("subscription", sa.Uuid(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("provider", sa.String(64), nullable=False),
        sa.Column("product", sa.Text()),
        sa.Column("plan", sa.Text()),
        sa.Column("currency", sa.String(3)),
        sa.Column("worth", sa.BigInteger(), nullable=False),
        sa.Column("parts", sa.BigInteger(), nullable=False),
        sa.Column("live", sa.Integer(), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        *_keyed("subscription_movements", "at", "subscription", "position"),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "ix_subscription_movements_subscription", "subscription_movements", ["workspace_id", "subscription"]
    )
    op.create_table(
        "subscription_phases",
        *_place("subscription_phases", "since"),
        sa.Column("since", _INSTANT, nullable=False),
        sa.Column("until", _INSTANT),
        sa.Column("provider", sa.String(64), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("standing", sa.String(16), nullable=False),
        sa.Column("dead_since", _INSTANT),
        sa.Column("started_at", _INSTANT, nullable=False),
        sa.Column("subscription_id", by_code_point, nullable=False),
    )
    op.create_index(
        "ix_subscription_phases_started_at",
        "subscription_phases",
        ["workspace_id", "started_at", "subscription_id"],
    )


def _place(table: str, *further: str) -> tuple[sa.schema.SchemaItem, ...]:
    """Whose and of which subscription: what most tables begin with."""
    return (
        sa.Column("workspace_id", sa.Uuid(), nullable=False),
        sa.Column("subscription", sa.Uuid(), nullable=False),
        *_keyed(table, "subscription", *further),
    )


def _keyed(table: str, *further: str) -> tuple[sa.Constraint, ...]:
    """The key of a table, which begins with the workspace."""
    return (
        sa.PrimaryKeyConstraint("workspace_id", *further, name=f"pk_{table}"),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspaces.id"], name=f"fk_{table}_workspace_id", ondelete="CASCADE"
        ),
    )


def _message() -> tuple[sa.Column[object], ...]:
    """What every message of a provider says."""
    return (
        sa.Column("message_id", sa.Text(), nullable=False),
        sa.Column("provider", sa.String(64), nullable=False),
        sa.Column("account_id", sa.Text(), nullable=False),
        sa.Column("subscription_id", sa.Text(), nullable=False),
        sa.Column("at", _INSTANT, nullable=False),
        sa.Column("test", sa.Boolean(), nullable=False),
    )
