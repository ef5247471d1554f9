"""People and what they decide: accounts, members, invitations, key requests, signups, grants."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "accounts",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("email", sa.String(254), nullable=False),
        sa.Column("name", sa.Text()),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("password", sa.Text()),
        sa.PrimaryKeyConstraint("id", name="pk_accounts"),
        sa.UniqueConstraint("email", name="uq_accounts_email"),
    )
    op.create_table(
        "account_links",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("purpose", sa.String(16), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name="fk_account_links_account_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("digest", name="pk_account_links"),
    )
    op.create_index("ix_account_links_account_id", "account_links", ["account_id"], unique=False)
    op.create_table(
        "invitations",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("workspace_id", sa.Uuid(), nullable=False),
        sa.Column("email", sa.String(254), nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("invited_by", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("accepted_at", sa.DateTime(timezone=True)),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspaces.id"], name="fk_invitations_workspace_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_invitations"),
        sa.UniqueConstraint("digest", name="uq_invitations_digest"),
    )
    op.create_index("ix_invitations_workspace_id", "invitations", ["workspace_id"], unique=False)
    op.create_table(
        "key_requests",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("filer", sa.Uuid(), nullable=False),
        sa.Column("requester", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("reason", sa.Text()),
        sa.Column("client_name", sa.Text()),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("workspace_id", sa.Uuid()),
        sa.Column("rate_limit", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("decided_at", sa.DateTime(timezone=True)),
        sa.Column("decided_by", sa.Uuid()),
        sa.Column("key_id", sa.Uuid()),
        sa.Column("link", sa.String(64)),
        sa.Column("once", sa.String(64)),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspaces.id"], name="fk_key_requests_workspace_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_key_requests"),
        sa.UniqueConstraint("link", name="uq_key_requests_link"),
        sa.UniqueConstraint("once", name="uq_key_requests_once"),
    )
    op.create_index("ix_key_requests_workspace_id", "key_requests", ["workspace_id"], unique=False)
    op.create_table(
        "members",
        sa.Column("workspace_id", sa.Uuid(), nullable=False),
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name="fk_members_account_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspaces.id"], name="fk_members_workspace_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("workspace_id", "account_id", name="pk_members"),
    )
    op.create_index("ix_members_account_id", "members", ["account_id"], unique=False)
    op.create_table(
        "oauth_grants",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("client_id", sa.Text(), nullable=False),
        sa.Column("client_name", sa.Text(), nullable=False),
        sa.Column("workspace_id", sa.Uuid(), nullable=False),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True)),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name="fk_oauth_grants_account_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspaces.id"], name="fk_oauth_grants_workspace_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_oauth_grants"),
    )
    op.create_index("ix_oauth_grants_account_id", "oauth_grants", ["account_id"], unique=False)
    op.create_index("ix_oauth_grants_workspace_id", "oauth_grants", ["workspace_id"], unique=False)
    op.create_table(
        "sessions",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name="fk_sessions_account_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_sessions"),
        sa.UniqueConstraint("digest", name="uq_sessions_digest"),
    )
    op.create_index("ix_sessions_account_id", "sessions", ["account_id"], unique=False)
    op.create_table(
        "signups",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("email", sa.String(254), nullable=False),
        sa.Column("name", sa.Text()),
        sa.Column("company", sa.Text()),
        sa.Column("workspace_name", sa.Text(), nullable=False),
        sa.Column("domain", sa.Text()),
        sa.Column("timezone", sa.String(64), nullable=False),
        sa.Column("plan", sa.String(32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("order", sa.String(255)),
        sa.Column("paid_at", sa.DateTime(timezone=True)),
        sa.Column("workspace_id", sa.Uuid()),
        sa.Column("key_request_id", sa.Uuid()),
        sa.Column("secret", sa.String(64)),
        sa.Column("welcome", sa.String(64)),
        sa.Column("verification", sa.String(64)),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspaces.id"], name="fk_signups_workspace_id", ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_signups"),
        sa.UniqueConstraint("secret", name="uq_signups_secret"),
        sa.UniqueConstraint("verification", name="uq_signups_verification"),
        sa.UniqueConstraint("welcome", name="uq_signups_welcome"),
    )
    op.create_index("ix_signups_workspace_id", "signups", ["workspace_id"], unique=False)
    op.create_table(
        "oauth_access_tokens",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("grant_id", sa.Uuid(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["grant_id"], ["oauth_grants.id"], name="fk_oauth_access_tokens_grant_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("digest", name="pk_oauth_access_tokens"),
    )
    op.create_index("ix_oauth_access_tokens_grant_id", "oauth_access_tokens", ["grant_id"], unique=False)
