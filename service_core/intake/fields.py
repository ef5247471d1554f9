"""The fields of an event, read by the rules of contract 10.2. Reading never fails on an accepted body."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from service_core.access.model import Workspace
from service_core.intake.accept import event_name, identifier, scalar
from service_core.intake.addresses import MAX_ADDRESS, redacted
from service_core.intake.event_time import event_time
from service_core.intake.identity import Ids, generated_session, is_placeholder, read_ids
from service_core.intake.model import SIDES, Arrival, Channel
from service_core.intake.poison import clean
from service_core.intake.ports import SessionKey

_ADDRESSES: Final = (
    "url",
    "referrer",
    *(f"{side}_touch_{name}" for side in SIDES for name in ("url", "referrer", "landing_page")),
)

_TELLING: Final = {
    "$stripe_checkout_session": (
        "stripe_checkout_session",
        ("session_id", "sessionId", "checkout_session_id"),
    ),
}
"""Events that tell under which id a provider will speak of what their visitor did (semantics 11.3)."""


@dataclass(frozen=True, slots=True)
class Fields:
    """What an accepted event says, before anything is looked up.

    Attributes:
        ids: who it is about.
        time_adjusted: ``none``, ``clamped`` or ``replaced``.
        session_origin: ``client`` or ``generated``.
        properties: as sent and harmless, secrets in page addresses redacted.
        context: as sent and harmless.
        external_ids: by namespace, placeholders gone.
        ip: as sent.
    """

    workspace_id: UUID
    name: str
    ids: Ids
    timestamp: datetime
    time_adjusted: str
    session_id: str
    session_origin: str
    properties: Mapping[str, Any]
    context: Mapping[str, Any]
    external_ids: Mapping[str, str] | None
    ip: object

    @property
    def session_key(self) -> SessionKey:
        """Workspace, visitor and session: what a session is known by (semantics 6.2)."""
        return self.workspace_id, self.ids.visitor, self.session_id


def read(arrival: Arrival, body: Mapping[str, Any], workspace: Workspace) -> Fields:
    """Read the body of an arrival.

    Args:
        arrival: how it came; only the browser batch may use flat forms (contract 11.2).
        body: the decoded body, as `accept` accepted it.
        workspace: whose secret keys a generated session id.

    Raises:
        ValueError: the body is none that `accept` accepts.
    """
    flat = arrival.channel is Channel.BATCH
    properties = _object(body, "properties") or (_object(body, "event_data") if flat else {})
    context = _object(body, "context")
    name = event_name(body)
    if name is None:
        raise ValueError("an accepted event has a name")
    ids = read_ids(name, body, properties)
    timestamp, adjusted = event_time(body.get("timestamp"), arrival.received_at)
    sent = identifier(context.get("session_id")) or (identifier(body.get("session_id")) if flat else None)
    for field in _ADDRESSES:
        if isinstance(address := properties.get(field), str):
            properties[field] = redacted(address[:MAX_ADDRESS])
    return Fields(
        workspace_id=arrival.workspace_id,
        name=name,
        ids=ids,
        timestamp=timestamp,
        time_adjusted=adjusted,
        session_id=sent or generated_session(workspace.secret, ids.visitor, timestamp),
        session_origin="client" if sent else "generated",
        properties=properties,
        context=context,
        external_ids=_external_ids(_object(body, "external_ids") | _told_id(name, properties)),
        ip=body.get("ip"),
    )


def _object(body: Mapping[str, Any], field: str) -> dict[str, Any]:
    """An object of the body, made harmless; empty when the field holds anything else."""
    value = body.get(field)
    return clean(value) if isinstance(value, dict) else {}


def _told_id(name: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """The id of another system that an event of this name tells, by its namespace."""
    if name not in _TELLING:
        return {}
    namespace, keys = _TELLING[name]
    return next(({namespace: told} for key in keys if (told := scalar(properties.get(key)))), {})


def _external_ids(sent: Mapping[str, Any]) -> dict[str, str] | None:
    texts = {key.strip(): value for key, raw in sent.items() if (value := scalar(raw)) and key.strip()}
    return {key: value for key, value in texts.items() if not is_placeholder(value)} or None
