"""The port of ingest protocols."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from service_core.ingestion.protocols.models import (
    ProtocolEvent,
    ProtocolInfo,
    ProtocolOutcome,
    ProtocolRequest,
    ProtocolResponse,
)


@runtime_checkable
class IngestProtocol(Protocol):
    """Translates the wire format of another product. Built once per process; stateless, without input or output."""

    @property
    def info(self) -> ProtocolInfo:
        """Returns id, name, routes and limits."""

    def find_key(self, request: ProtocolRequest) -> str | None:
        """Returns the key that the request names where the vendor's clients put theirs; None without one.

        It is a write key, the public id of a workspace, or a site id of the settings; the host looks it up.

        Raises:
            UnreadableRequest: the key would be in the body, and the body is not of the protocol.
        """

    def read_events(self, request: ProtocolRequest) -> Sequence[ProtocolEvent]:
        """Returns the events of a request whose key is known, in order.

        Raises:
            UnreadableRequest: the request is not of the protocol.
        """

    def respond(self, request: ProtocolRequest, outcome: ProtocolOutcome) -> ProtocolResponse:
        """Returns the response that the vendor's client takes for this outcome. It never raises."""
