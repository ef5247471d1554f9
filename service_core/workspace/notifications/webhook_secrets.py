"""The secrets that sign webhooks. They are derived from that of the workspace, so that none is stored."""

import hmac
from base64 import b64encode
from uuid import UUID

from service_core.access.models import Workspace
from service_core.changes.resource import State
from service_core.kernel.errors import Conflict


def derive_webhook_secret(workspace: Workspace, resource_type: str, id_: UUID, version: int) -> str:
    """Returns the secret that signs the webhooks of a resource, in the form of Standard Webhooks.

    Args:
        workspace: whose secret it is derived from.
        resource_type, id_: the resource that sends the webhooks.
        version: number of the secret; each has another.
    """
    text = f"{resource_type} webhook\n{id_}\n{version}"
    return f"whsec_{b64encode(hmac.digest(workspace.secret, text.encode(), 'sha256')).decode()}"


def refuse_former_secret(prior: State | None, new: State | None, version_field: str) -> None:
    """Refuses an undo that would bring back a replaced signing secret.

    Args:
        prior, new: the resource before and after.
        version_field: its field with the number of the secret.

    Raises:
        Conflict: ``not_undoable``.
    """
    if prior is not None and new is not None and prior[version_field] > new[version_field]:
        raise Conflict(
            "A replaced signing secret does not come back", "not_undoable", hint="Create a new one instead."
        )
