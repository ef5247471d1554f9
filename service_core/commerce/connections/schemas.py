"""Request and response models of connections."""

from uuid import UUID

from pydantic import Field

from service_core.analytics.connections.models import ConnectionStatus, ProviderKind
from service_core.changes.resource import MillisecondDatetime
from service_core.commerce.connections.models import ProviderAccount
from service_core.kernel.schemas import BodyModel, ResponseModel


class NewConnection(BodyModel):
    """A provider to connect."""

    provider: str = Field(description="Id of an installed provider.")
    credentials: dict[str, str] = Field(
        default_factory=dict, description="By name, as `list_providers` shows; stored encrypted, never shown."
    )
    accounts: list[ProviderAccount] = Field(
        default_factory=list, description="Those to read; without any, all that the credentials open."
    )


class ConnectionPatch(BodyModel):
    """Fields to change."""

    credentials: dict[str, str] | None = Field(
        None, description="They replace all that are stored; the connection is then read again."
    )
    accounts: list[ProviderAccount] | None = None
    paused: bool | None = Field(
        None, description="Nothing is read, sent or received for a paused connection."
    )


class ConnectionAnswer(ResponseModel):
    """A connected provider."""

    id: UUID
    workspace_id: UUID
    created_at: MillisecondDatetime | None = Field(description="Null in the dry run of a creation.")
    provider: str = Field(description="Id of the provider.")
    kind: ProviderKind
    status: ConnectionStatus
    error: str | None = Field(description="The problem, for people; null if there is none.")
    accounts: list[ProviderAccount] = Field(description="Those that are read, with assets for conversions.")
    credentials_id: str | None = Field(
        description="Fingerprint of the stored credentials; another one after they were replaced, null without any."
    )
    last_synced_at: MillisecondDatetime | None
    label: str = Field(description="Name of the provider.")
    webhook_path: str | None = Field(
        description="Path of its webhooks on the ingest host; the id of the workspace follows. Null if it sends none."
    )


class ProviderCredential(ResponseModel):
    """A value that connects a provider."""

    name: str
    label: str
    help: str
    required: bool
    secret: bool


class ProviderAnswer(ResponseModel):
    """An installed provider, and what connects it."""

    id: str
    label: str
    kind: ProviderKind
    homepage: str | None = Field(description="Where its credentials are made.")
    credentials: list[ProviderCredential] | None = Field(description="Null if its plugin declares nothing.")
    accepts_webhooks: bool
    connected: bool


class ProviderList(ResponseModel):
    """Installed providers."""

    providers: list[ProviderAnswer]


class ConnectionTestResult(ResponseModel):
    """Whether a provider accepts the credentials of a connection now."""

    dry_run: bool = Field(description="Whether the provider was not asked.")
    ok: bool | None = Field(description="Null if the provider was not or cannot be asked.")
    message: str
    accounts: list[ProviderAccount] = Field(description="Ad accounts that the credentials open.")
