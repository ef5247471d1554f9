"""The read-only caller of work without a credential: a public page, an export, a store comparison."""

from datetime import datetime
from uuid import UUID

from service_core.access.models import Caller, Credential, CredentialKind, Workspace
from service_core.access.scopes import AGENT_SCOPES


def read_only_caller(
    workspace: Workspace, now: datetime, name: str, *, credential_id: UUID | None = None
) -> Caller:
    """Returns a caller that can read one workspace. It has no rate limit.

    Args:
        workspace: the only workspace it can read.
        now: current time.
        name: what it reads for.
        credential_id: id of the key on whose behalf it reads, if there is one.
    """
    credential = Credential(
        id=credential_id or workspace.id,
        workspace_id=workspace.id,
        kind=CredentialKind.AGENT,
        name=name,
        scopes=AGENT_SCOPES,
        rate_limit=0,
        hint="",
        created_at=workspace.created_at,
    )
    return Caller(workspace, credential, now)
