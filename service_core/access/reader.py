"""A caller who may read one workspace and sent no credential: a public page, an export, a comparison of stores."""

from datetime import datetime
from uuid import UUID

from service_core.access.models import Caller, Credential, CredentialKind, Workspace
from service_core.access.scopes import AGENT_SCOPES


def read_only_caller(
    workspace: Workspace, now: datetime, name: str, *, credential_id: UUID | None = None
) -> Caller:
    """Whoever reads a workspace without a request of its own; no budget stands behind it.

    Args:
        workspace: the one it may read, and no other.
        now: the present of its questions.
        name: what it reads for.
        credential_id: the key on whose behalf it reads, when there is one.
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
