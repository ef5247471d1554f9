"""Creation and revocation of API keys and workspaces. Secrets exist in clear text only in the values returned here."""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final
from uuid import UUID
from zoneinfo import ZoneInfo

from service_core.access.billing_plans import BILLING_PLANS, UNLIMITED_PLAN
from service_core.access.models import Credential, CredentialKind, Workspace
from service_core.access.ports import CredentialStore
from service_core.access.scopes import AGENT_SCOPES
from service_core.kernel.errors import BadRequest, NotFound
from service_core.kernel.ids import (
    key_hint,
    new_agent_token,
    new_id,
    new_public_id,
    new_write_key,
    sha256_hex,
)
from service_core.kernel.operations import Scope

DEFAULT_RATE_LIMIT: Final = 100
INGEST_RATE_LIMIT: Final = 1000
CURRENCY_CODE_LENGTH: Final = 3


@dataclass(frozen=True, slots=True)
class KeyWithSecret:
    """A new credential with its secret, which is shown once and never stored."""

    credential: Credential
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class CreatedWorkspace:
    """A new workspace with its two keys."""

    workspace: Workspace
    write_key: KeyWithSecret
    agent_key: KeyWithSecret


async def create_workspace_with_keys(
    credential_store: CredentialStore,
    now: datetime,
    *,
    name: str,
    timezone: str = "UTC",
    currency: str = "USD",
    domain: str | None = None,
    plan: str = UNLIMITED_PLAN.id,
) -> CreatedWorkspace:
    """Creates a workspace with its write key and its agent key.

    Args:
        credential_store: the store of workspaces and credentials.
        now: current time, aware UTC.
        name: display name.
        timezone: IANA time zone of the workspace's days.
        currency: ISO 4217 code of the currency of its figures.
        domain: the main site, if there is one.
        plan: id of a billing plan.

    Raises:
        BadRequest: the name is blank, or the time zone, currency or plan is invalid.
    """
    workspace = build_workspace(
        now, name=name, timezone=timezone, currency=currency, domain=domain, plan=plan
    )
    await credential_store.create_workspace(workspace)
    return CreatedWorkspace(
        workspace,
        write_key=await create_write_or_agent_key(credential_store, workspace, CredentialKind.WRITE, now),
        agent_key=await create_write_or_agent_key(credential_store, workspace, CredentialKind.AGENT, now),
    )


def build_workspace(
    now: datetime,
    *,
    name: str,
    timezone: str = "UTC",
    currency: str = "USD",
    domain: str | None = None,
    plan: str = UNLIMITED_PLAN.id,
) -> Workspace:
    """Returns a new workspace without storing it. The arguments are those of `create_workspace_with_keys`.

    Raises:
        BadRequest: the name is blank, or the time zone, currency or plan is invalid.
    """
    return Workspace(
        id=new_id(),
        public_id=new_public_id(),
        name=trim_and_require_name(name),
        domain=domain,
        timezone=validate_time_zone(timezone),
        currency=_uppercase_three_letter_currency(currency),
        plan=require_known_plan_id(plan),
        active=True,
        created_at=now,
        secret=secrets.token_bytes(32),
    )


async def create_named_key_clamping_rate_limit_to_plan(
    credential_store: CredentialStore,
    workspace: Workspace,
    now: datetime,
    *,
    name: str,
    scopes: Iterable[Scope] = (Scope.READ,),
    requested_rate_limit: int = DEFAULT_RATE_LIMIT,
    granted_by: UUID | None = None,
) -> KeyWithSecret:
    """Creates a named key.

    Args:
        credential_store: the store of keys.
        workspace: the workspace the key belongs to.
        now: current time, aware UTC.
        name: shown to people and in the audit log.
        scopes: permissions of the key; at least one.
        requested_rate_limit: requests per 60 seconds; raised to 1 or lowered to the maximum of the workspace's plan.
        granted_by: account whose membership the key depends on; None for a key that depends on nobody.

    Raises:
        BadRequest: the name is blank, or there is no scope.
    """
    key = build_named_key_clamping_rate_limit_to_plan(
        workspace,
        now,
        name=name,
        scopes=scopes,
        requested_rate_limit=requested_rate_limit,
        granted_by=granted_by,
    )
    await credential_store.save_credential(key.credential, sha256_hex(key.secret))
    return key


def build_named_key_clamping_rate_limit_to_plan(
    workspace: Workspace,
    now: datetime,
    *,
    name: str,
    scopes: Iterable[Scope] = (Scope.READ,),
    requested_rate_limit: int = DEFAULT_RATE_LIMIT,
    granted_by: UUID | None = None,
) -> KeyWithSecret:
    """Returns a new named key without storing it. The arguments are those of `create_named_key_clamping_rate_limit_to_plan`.

    Raises:
        BadRequest: the name is blank, or there is no scope.
    """
    scope_set = frozenset(scopes)
    if not scope_set:
        raise BadRequest("A key needs at least one scope", "missing_field", field="scopes")
    limit = BILLING_PLANS.get(workspace.plan, UNLIMITED_PLAN).clamp_rate_limit_to_1_and_plan_maximum(
        requested_rate_limit
    )
    key = _build_key_with_secret(
        workspace,
        new_agent_token(),
        now,
        kind=CredentialKind.NAMED,
        name=trim_and_require_name(name),
        scopes=scope_set,
        rate_limit=limit,
    )
    return replace(key, credential=replace(key.credential, granted_by=granted_by))


async def create_write_or_agent_key(
    credential_store: CredentialStore, workspace: Workspace, kind: CredentialKind, now: datetime
) -> KeyWithSecret:
    """Creates and stores a write key without scopes, or for any other kind an agent key that can read."""
    key = build_write_or_agent_key(workspace, kind, now)
    await credential_store.save_credential(key.credential, sha256_hex(key.secret))
    return key


def build_write_or_agent_key(workspace: Workspace, kind: CredentialKind, now: datetime) -> KeyWithSecret:
    """Returns a new write key, or for any other kind an agent key, without storing it."""
    if kind is CredentialKind.WRITE:
        secret, name, scopes, limit = new_write_key(), "Write key", frozenset[Scope](), INGEST_RATE_LIMIT
    else:
        secret, name, scopes, limit = new_agent_token(), "Agent key", AGENT_SCOPES, DEFAULT_RATE_LIMIT
    return _build_key_with_secret(
        workspace, secret, now, kind=kind, name=name, scopes=scopes, rate_limit=limit
    )


async def revoke_and_reissue_workspace_key(
    credential_store: CredentialStore, workspace: Workspace, kind: CredentialKind, now: datetime
) -> KeyWithSecret:
    """Revokes all active keys of a kind, then creates one, so old and new are never valid together."""
    for credential in await credential_store.list_keys(workspace.id):
        if credential.kind is kind and credential.revoked_at is None:
            await credential_store.save_credential(replace(credential, revoked_at=now))
    return await create_write_or_agent_key(credential_store, workspace, kind, now)


async def revoke_key_if_active(
    credential_store: CredentialStore, workspace: Workspace, key_id: UUID, now: datetime
) -> Credential:
    """Revokes a key at once in every process. Revoking it again changes nothing.

    Raises:
        NotFound: the workspace has no such key.
    """
    for credential in await credential_store.list_keys(workspace.id):
        if credential.id == key_id:
            if credential.revoked_at is not None:
                return credential
            revoked = replace(credential, revoked_at=now)
            await credential_store.save_credential(revoked)
            return revoked
    raise NotFound


def _build_key_with_secret(
    workspace: Workspace,
    secret: str,
    now: datetime,
    *,
    kind: CredentialKind,
    name: str,
    scopes: frozenset[Scope],
    rate_limit: int,
) -> KeyWithSecret:
    credential = Credential(
        id=new_id(),
        workspace_id=workspace.id,
        kind=kind,
        name=name,
        scopes=scopes,
        rate_limit=rate_limit,
        hint=key_hint(secret),
        created_at=now,
    )
    return KeyWithSecret(credential, secret)


def trim_and_require_name(name: str) -> str:
    """Returns the name without surrounding space.

    Raises:
        BadRequest: the name is blank.
    """
    trimmed = name.strip()
    if not trimmed:
        raise BadRequest("A name may not be blank", "invalid_parameter", field="name")
    return trimmed


def validate_time_zone(iana_name: str) -> str:
    """Returns the name of the time zone if it exists.

    Raises:
        BadRequest: it is unknown.
    """
    try:
        ZoneInfo(iana_name)
    except (ValueError, OSError, KeyError):
        raise BadRequest(
            f"Unknown time zone {iana_name}",
            "invalid_parameter",
            field="timezone",
            hint="Use an IANA name such as Europe/Berlin.",
        ) from None
    return iana_name


def _uppercase_three_letter_currency(code: str) -> str:
    """Returns the code in upper case. Only its form is checked: three ASCII letters."""
    upper = code.upper()
    if len(upper) != CURRENCY_CODE_LENGTH or not (upper.isascii() and upper.isalpha()):
        raise BadRequest(
            f"Unknown currency {code}",
            "invalid_parameter",
            field="currency",
            hint="Use a three-letter code such as EUR.",
        )
    return upper


def require_known_plan_id(plan_id: str) -> str:
    """Returns the plan id if the plan exists.

    Raises:
        BadRequest: it is unknown.
    """
    if plan_id not in BILLING_PLANS:
        raise BadRequest(
            f"Unknown plan {plan_id}",
            "invalid_parameter",
            field="plan",
            hint=f"Plans: {', '.join(BILLING_PLANS)}.",
        )
    return plan_id
