"""Making and ending credentials: secrets exist in clear only in the values returned here (contract 2.11)."""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final
from uuid import UUID
from zoneinfo import ZoneInfo

from service_core.access.model import Credential, CredentialKind, Workspace
from service_core.access.plans import PLANS, UNLIMITED
from service_core.access.ports import Directory
from service_core.access.scopes import AGENT_SCOPES
from service_core.kernel.errors import BadRequest, NotFound
from service_core.kernel.ids import digest, hint, new_agent_token, new_id, new_public_id, new_write_key
from service_core.kernel.operations import Scope

DEFAULT_RATE: Final = 100
INGEST_RATE: Final = 1000
CURRENCY_LETTERS: Final = 3


@dataclass(frozen=True, slots=True)
class Minted:
    """A new credential and its secret, which is shown once and never kept."""

    credential: Credential
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Founded:
    """A new workspace with its two keys."""

    workspace: Workspace
    write_key: Minted
    agent_key: Minted


async def found_workspace(
    directory: Directory,
    now: datetime,
    *,
    name: str,
    timezone: str = "UTC",
    currency: str = "USD",
    domain: str | None = None,
    plan: str = UNLIMITED.id,
) -> Founded:
    """Create a workspace with its write key and its Agent key.

    Args:
        directory: where it is kept.
        now: the present, aware UTC.
        name: shown to people.
        timezone: IANA zone whose days the workspace counts in.
        currency: ISO 4217 code its money is told in.
        domain: the main site, if there is one.
        plan: id of a plan.

    Raises:
        BadRequest: a blank name, an unknown zone, currency form or plan.
    """
    workspace = prepare_workspace(
        now, name=name, timezone=timezone, currency=currency, domain=domain, plan=plan
    )
    await directory.create_workspace(workspace)
    return Founded(
        workspace,
        write_key=await issue(directory, workspace, CredentialKind.WRITE, now),
        agent_key=await issue(directory, workspace, CredentialKind.AGENT, now),
    )


def prepare_workspace(
    now: datetime,
    *,
    name: str,
    timezone: str = "UTC",
    currency: str = "USD",
    domain: str | None = None,
    plan: str = UNLIMITED.id,
) -> Workspace:
    """A workspace that is not kept yet; the arguments are those of `found_workspace`.

    Raises:
        BadRequest: a blank name, an unknown zone, currency form or plan.
    """
    return Workspace(
        id=new_id(),
        public_id=new_public_id(),
        name=checked_name(name),
        domain=domain,
        timezone=checked_zone(timezone),
        currency=_checked_currency(currency),
        plan=checked_plan(plan),
        active=True,
        created_at=now,
        secret=secrets.token_bytes(32),
    )


async def mint_key(
    directory: Directory,
    workspace: Workspace,
    now: datetime,
    *,
    name: str,
    scopes: Iterable[Scope] = (Scope.READ,),
    rate_limit: int = DEFAULT_RATE,
) -> Minted:
    """Create a named key.

    Args:
        directory: where it is kept.
        workspace: the one it opens.
        now: the present, aware UTC.
        name: shown to people and in the audit.
        scopes: what it may do; at least one.
        rate_limit: requests per 60 seconds, clamped to the cap of the workspace's plan.

    Raises:
        BadRequest: a blank name, or no scope.
    """
    minted = prepare_key(workspace, now, name=name, scopes=scopes, rate_limit=rate_limit)
    await directory.save_key(minted.credential, digest(minted.secret))
    return minted


def prepare_key(
    workspace: Workspace,
    now: datetime,
    *,
    name: str,
    scopes: Iterable[Scope] = (Scope.READ,),
    rate_limit: int = DEFAULT_RATE,
) -> Minted:
    """A named key that is not kept yet; the arguments are those of `mint_key`.

    Raises:
        BadRequest: a blank name, or no scope.
    """
    allowed = frozenset(scopes)
    if not allowed:
        raise BadRequest("A key needs at least one scope", "missing_field", field="scopes")
    limit = PLANS.get(workspace.plan, UNLIMITED).clamp(rate_limit)
    kind = CredentialKind.NAMED
    return _minted(
        workspace,
        new_agent_token(),
        now,
        kind=kind,
        name=checked_name(name),
        scopes=allowed,
        rate_limit=limit,
    )


async def issue(directory: Directory, workspace: Workspace, kind: CredentialKind, now: datetime) -> Minted:
    """Create the Agent key or the write key of a workspace."""
    minted = prepare_issue(workspace, kind, now)
    await directory.save_key(minted.credential, digest(minted.secret))
    return minted


def prepare_issue(workspace: Workspace, kind: CredentialKind, now: datetime) -> Minted:
    """An Agent key or write key that is not kept yet."""
    if kind is CredentialKind.WRITE:
        secret, name, scopes, limit = new_write_key(), "Write key", frozenset[Scope](), INGEST_RATE
    else:
        secret, name, scopes, limit = new_agent_token(), "Agent key", AGENT_SCOPES, DEFAULT_RATE
    return _minted(workspace, secret, now, kind=kind, name=name, scopes=scopes, rate_limit=limit)


async def regenerate(
    directory: Directory, workspace: Workspace, kind: CredentialKind, now: datetime
) -> Minted:
    """Replace the Agent key or the write key: the old value ends first, so there is no overlap."""
    for credential in await directory.keys(workspace.id):
        if credential.kind is kind and credential.revoked_at is None:
            await directory.save_key(replace(credential, revoked_at=now))
    return await issue(directory, workspace, kind, now)


async def revoke_key(directory: Directory, workspace: Workspace, key_id: UUID, now: datetime) -> Credential:
    """End a key at once, in every process; revoking twice changes nothing.

    Raises:
        NotFound: the workspace has no such key.
    """
    for credential in await directory.keys(workspace.id):
        if credential.id == key_id:
            if credential.revoked_at is not None:
                return credential
            ended = replace(credential, revoked_at=now)
            await directory.save_key(ended)
            return ended
    raise NotFound


def _minted(
    workspace: Workspace,
    secret: str,
    now: datetime,
    *,
    kind: CredentialKind,
    name: str,
    scopes: frozenset[Scope],
    rate_limit: int,
) -> Minted:
    credential = Credential(
        id=new_id(),
        workspace_id=workspace.id,
        kind=kind,
        name=name,
        scopes=scopes,
        rate_limit=rate_limit,
        hint=hint(secret),
        created_at=now,
    )
    return Minted(credential, secret)


def checked_name(name: str) -> str:
    """A name without space around it.

    Raises:
        BadRequest: nothing is left.
    """
    trimmed = name.strip()
    if not trimmed:
        raise BadRequest("A name may not be blank", "invalid_parameter", field="name")
    return trimmed


def checked_zone(name: str) -> str:
    """The name of a time zone.

    Raises:
        BadRequest: it is unknown.
    """
    try:
        ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        raise BadRequest(
            f"Unknown time zone {name}",
            "invalid_parameter",
            field="timezone",
            hint="Use an IANA name such as Europe/Berlin.",
        ) from None
    return name


def _checked_currency(code: str) -> str:
    upper = code.upper()
    if len(upper) != CURRENCY_LETTERS or not (upper.isascii() and upper.isalpha()):
        raise BadRequest(
            f"Unknown currency {code}",
            "invalid_parameter",
            field="currency",
            hint="Use a three-letter code such as EUR.",
        )
    return upper


def checked_plan(plan: str) -> str:
    """The id of a plan.

    Raises:
        BadRequest: it is unknown.
    """
    if plan not in PLANS:
        raise BadRequest(
            f"Unknown plan {plan}", "invalid_parameter", field="plan", hint=f"Plans: {', '.join(PLANS)}."
        )
    return plan
