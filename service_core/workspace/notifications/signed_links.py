"""Signed links in e-mails: to confirm an address, and to unsubscribe it."""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import urlencode
from uuid import UUID

from service_core.access.models import Workspace
from service_core.kernel.ids import encode_base64url

LinkAction = Literal["confirm", "unsubscribe"]
LINK_PATHS: Final[Mapping[LinkAction, str]] = {
    "confirm": "/email/confirm",
    "unsubscribe": "/email/unsubscribe",
}
"""Action -> path of its page below the address of the web application."""


@dataclass(frozen=True, slots=True)
class EmailLink:
    """What a link stands for.

    Attributes:
        source_type: resource type of the source of the e-mails.
        source_id: id of the source.
        email: whose address.
    """

    action: LinkAction
    source_type: str
    source_id: UUID
    email: str


def build_signed_url(workspace: Workspace, link: EmailLink, web_url: str) -> str:
    """Returns the address of the page of a link.

    Args:
        workspace: whose secret signs it.
        link: what it stands for.
        web_url: URL of the web application, without a trailing slash.
    """
    parameters = {
        "w": workspace.public_id,
        "type": link.source_type,
        "id": str(link.source_id),
        "email": link.email,
        "s": _signature(workspace, link),
    }
    return f"{web_url}{LINK_PATHS[link.action]}?{urlencode(parameters)}"


def is_signed_by(workspace: Workspace, link: EmailLink, signature: str) -> bool:
    """Returns whether a signature belongs to a link of the workspace."""
    return hmac.compare_digest(_signature(workspace, link).encode(), signature.encode("utf-8", "replace"))


def _signature(workspace: Workspace, link: EmailLink) -> str:
    text = "\n".join(("email link", link.action, link.source_type, str(link.source_id), link.email))
    return encode_base64url(hmac.digest(workspace.secret, text.encode(), "sha256"))
