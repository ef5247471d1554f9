"""Rows <-> the values of `access`, pure."""

from typing import Any

from sqlalchemy import RowMapping

from service_core.plugin import Credential, CredentialKind, Scope, Workspace


def workspace_row(workspace: Workspace) -> dict[str, Any]:
    """The columns of a workspace."""
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
