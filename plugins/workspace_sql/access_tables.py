"""Tables of workspaces, credentials, accounts, signups and OAuth."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

import sqlalchemy as sa

from plugins.workspace_sql.column_types import EnumText, Instant, JsonValue
from plugins.workspace_sql.records import (
    METADATA,
    annotations_of,
    execute_when_created,
    record_table,
    recorded_at_column,
)
from service_core.plugin import (
    Account,
    AnalyticsSettings,
    Challenge,
    Credential,
    CustomChannel,
    FeeRate,
    Invitation,
    KeyRequest,
    Member,
    OAuthClient,
    OAuthGrant,
    OneTimeTokenKind,
    Passkey,
    PasswordLink,
    Session,
    Signup,
    SignupDigests,
    Workspace,
    WritePolicy,
)


def _dump_non_default_settings(settings: AnalyticsSettings) -> dict[str, Any]:
    """Returns the settings that differ from the defaults, as JSON values. A later version may change the defaults."""
    values = {
        "conversions": None if settings.conversions is None else sorted(settings.conversions),
        "any_revenue": None if settings.any_revenue else False,
        "revenue_events": sorted(settings.revenue_events) or None,
        "channels": [{"id": channel.id, **channel.conditions_by_field} for channel in settings.channels]
        or None,
        "model": settings.model,
        "window_days": settings.window_days,
        "event_retention_days": settings.event_retention_days,
        "fees": [asdict(rate) for rate in settings.fees] or None,
    }
    return {name: value for name, value in values.items() if value is not None}


def _load_settings(stored: Mapping[str, Any]) -> AnalyticsSettings:
    conversions = stored.get("conversions")
    return AnalyticsSettings(
        conversions=None if conversions is None else frozenset(conversions),
        any_revenue=stored.get("any_revenue", True),
        revenue_events=frozenset(stored.get("revenue_events", ())),
        channels=tuple(CustomChannel(**channel) for channel in stored.get("channels", ())),
        model=stored.get("model"),
        window_days=stored.get("window_days"),
        event_retention_days=stored.get("event_retention_days"),
        fees=tuple(FeeRate(**rate) for rate in stored.get("fees", ())),
    )


WORKSPACES: Final = record_table(
    "workspaces",
    Workspace,
    sa.Column("rules", JsonValue(_dump_non_default_settings, _load_settings), nullable=False),
    sa.Column("write_policy", JsonValue(WritePolicy.to_json, WritePolicy.from_json), nullable=False),
    recorded_at_column(),
    unique=["public_id"],
)

CREDENTIALS: Final = record_table(
    "credentials",
    Credential,
    sa.Column("digest", sa.Text, nullable=False, unique=True),
    indexed=["workspace_id"],
)

CHANGE_COUNTER: Final = sa.Table(
    "change_counter",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("value", sa.BigInteger, nullable=False),
)
"""One row. Its value grows with each transaction that changes a workspace or a credential."""
execute_when_created(CHANGE_COUNTER, "INSERT INTO change_counter VALUES (1, 1)")

# accounts

ACCOUNTS: Final = record_table("accounts", Account, unique=["email"])

PASSWORD_LINKS: Final = record_table(
    "password_links",
    PasswordLink,
    sa.Column("digest", sa.Text, nullable=False),
    key=["digest"],
    indexed=["account_id"],
)

SESSIONS: Final = record_table(
    "sessions",
    Session,
    sa.Column("digest", sa.Text, nullable=False, unique=True),
    indexed=["account_id"],
)

PASSKEYS: Final = record_table("passkeys", Passkey, indexed=["account_id"], unique=["credential_id"])

PASSKEY_CHALLENGES: Final = record_table(
    "passkey_challenges",
    Challenge,
    sa.Column("digest", sa.Text, nullable=False),
    key=["digest"],
    indexed=["account_id", "expires_at"],
)

MEMBERS: Final = record_table("members", Member, key=["workspace_id", "account_id"], indexed=["account_id"])

INVITATIONS: Final = record_table(
    "invitations",
    Invitation,
    sa.Column("digest", sa.Text, nullable=False, unique=True),
    indexed=["workspace_id"],
)

KEY_REQUESTS: Final = record_table(
    "key_requests",
    KeyRequest,
    sa.Column("link_digest", sa.Text, unique=True),
    sa.Column("retry_digest", sa.Text, unique=True),
    indexed=["workspace_id"],
)

SIGNUPS: Final = record_table(
    "signups",
    Signup,
    sa.Column("workspace_id", sa.ForeignKey("workspaces.id", ondelete="SET NULL"), index=True),
    *(sa.Column(name, sa.Text, unique=True) for name in annotations_of(SignupDigests)),
)

# OAuth

OAUTH_CLIENTS: Final = record_table("oauth_clients", OAuthClient)

OAUTH_GRANTS: Final = record_table("oauth_grants", OAuthGrant, indexed=["account_id", "workspace_id"])

OAUTH_ACCESS_TOKENS: Final = sa.Table(
    "oauth_access_tokens",
    METADATA,
    sa.Column("digest", sa.Text, primary_key=True),
    sa.Column("grant_id", sa.ForeignKey("oauth_grants.id", ondelete="CASCADE"), nullable=False, index=True),
    sa.Column("expires_at", Instant, nullable=False),
)

ONE_TIME_TOKENS: Final = sa.Table(
    "one_time_tokens",
    METADATA,
    sa.Column("digest", sa.Text, primary_key=True),
    sa.Column("grant_id", sa.ForeignKey("oauth_grants.id", ondelete="CASCADE"), nullable=False, index=True),
    sa.Column("kind", EnumText(OneTimeTokenKind), nullable=False),
    sa.Column("expires_at", Instant, nullable=False),
    sa.Column("redirect_uri", sa.Text),
    sa.Column("challenge", sa.Text),
    sa.Column("used_at", Instant),
)
"""Authorization codes and refresh tokens. A used one stays as long as its grant, so that a second use is noticed."""
