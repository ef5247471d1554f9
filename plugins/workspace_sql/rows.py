"""Rows <-> the values of `access`, pure."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import RowMapping

from service_core.plugin import AnalyticsSettings, Credential, CredentialKind, CustomChannel, Scope, Workspace


def workspace_row(workspace: Workspace) -> dict[str, Any]:
    """The columns of a workspace, but for what follows from its records."""
    return {
        "id": workspace.id,
        "public_id": workspace.public_id,
        "name": workspace.name,
        "domain": workspace.domain,
        "timezone": workspace.timezone,
        "currency": workspace.currency,
        "plan": workspace.plan,
        "active": workspace.active,
        "created_at": workspace.created_at,
        "secret": workspace.secret,
        "allowed_origins": list(workspace.allowed_origins),
        "rules": _written(workspace.rules),
    }


def workspace_of(row: RowMapping, prefix: str = "") -> Workspace:
    """The workspace of a row whose columns may carry a prefix."""
    return Workspace(
        id=row[f"{prefix}id"],
        public_id=row[f"{prefix}public_id"],
        name=row[f"{prefix}name"],
        domain=row[f"{prefix}domain"],
        timezone=row[f"{prefix}timezone"],
        currency=row[f"{prefix}currency"],
        plan=row[f"{prefix}plan"],
        active=row[f"{prefix}active"],
        created_at=row[f"{prefix}created_at"],
        secret=row[f"{prefix}secret"],
        allowed_origins=tuple(row[f"{prefix}allowed_origins"]),
        rules=_read(row[f"{prefix}rules"]),
        triggers=frozenset(row[f"{prefix}triggers"]),
    )


def _written(rules: AnalyticsSettings) -> dict[str, Any]:
    """What is the workspace's own; rules of the house are not written down, so that they may change."""
    values = {
        "conversions": None if rules.conversions is None else sorted(rules.conversions),
        "any_revenue": None if rules.any_revenue else False,
        "channels": [{"id": channel.id, **channel.conditions} for channel in rules.channels] or None,
        "model": rules.model,
        "window_days": rules.window_days,
    }
    return {name: value for name, value in values.items() if value is not None}


def _read(stored: Mapping[str, Any]) -> AnalyticsSettings:
    conversions = stored.get("conversions")
    return AnalyticsSettings(
        conversions=None if conversions is None else frozenset(conversions),
        any_revenue=stored.get("any_revenue", True),
        channels=tuple(CustomChannel(**channel) for channel in stored.get("channels", ())),
        model=stored.get("model"),
        window_days=stored.get("window_days"),
    )


def credential_row(credential: Credential) -> dict[str, Any]:
    """The columns of a credential, its digest apart."""
    return {
        "id": credential.id,
        "workspace_id": credential.workspace_id,
        "kind": credential.kind.value,
        "name": credential.name,
        "scopes": sorted(scope.value for scope in credential.scopes),
        "rate_limit": credential.rate_limit,
        "hint": credential.hint,
        "created_at": credential.created_at,
        "revoked_at": credential.revoked_at,
    }


def credential_of(row: RowMapping) -> Credential:
    """The credential of a row."""
    return Credential(
        id=row["id"],
        workspace_id=row["workspace_id"],
        kind=CredentialKind(row["kind"]),
        name=row["name"],
        scopes=frozenset(Scope(name) for name in row["scopes"]),
        rate_limit=row["rate_limit"],
        hint=row["hint"],
        created_at=row["created_at"],
        revoked_at=row["revoked_at"],
    )
