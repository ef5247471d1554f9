"""Parses the fields of a validated event body. Parsing a validated body never fails."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, NamedTuple
from uuid import UUID

from service_core.access.models import Workspace
from service_core.ingestion.browser_ids import first_sent_browser_ids_by_column
from service_core.ingestion.consent import is_consent_denied
from service_core.ingestion.event_ids import (
    EventIds,
    generate_hourly_session_id,
    is_placeholder_id,
    parse_event_ids,
)
from service_core.ingestion.event_time import replace_or_clamp_event_time
from service_core.ingestion.models import (
    IMPORT_HEADER,
    IMPORT_PROPERTY,
    TOUCH_POSITIONS,
    IngestEndpoint,
    ReceivedEvent,
)
from service_core.ingestion.page_urls import MAX_URL_LENGTH, redact_secret_query_values
from service_core.ingestion.ports import SessionKey
from service_core.ingestion.sanitize_json import sanitize_json_value
from service_core.ingestion.validation import (
    read_first_event_name,
    text_of_string_or_number,
    trimmed_identifier_or_none,
)

_URL_PROPERTIES: Final = frozenset(
    {"url", "referrer"}
    | {f"{side}_touch_{name}" for side in TOUCH_POSITIONS for name in ("url", "referrer", "landing_page")}
)


@dataclass(frozen=True, slots=True)
class ExternalIdEvent:
    """An event of a site that carries an id under which a provider later reports the same visitor.

    Attributes:
        namespace: namespace of the external id.
        properties: names of the property with the id; the first that is set counts.
    """

    namespace: str
    properties: tuple[str, ...]


NO_EXTERNAL_ID_EVENTS: Final[Mapping[str, ExternalIdEvent]] = MappingProxyType({})


class ParsedEvent(NamedTuple):
    """The fields of an event before enrichment; a named tuple, because it is created faster than a dataclass.

    Attributes:
        ids: the identifiers of the visitor.
        time_adjusted: ``none``, ``clamped`` or ``replaced``.
        session_origin: ``client`` or ``generated``.
        properties: as sent, sanitized, with secrets in page URLs redacted.
        context: as sent, sanitized.
        external_ids: by namespace, without placeholders.
        ip: as sent.
        browser_ids: ids of ad platforms' cookies, by column.
        consent_denied: whether any part of the body denies consent.
        sdk: name and version of the library, as sent.
    """

    workspace_id: UUID
    name: str
    ids: EventIds
    timestamp: datetime
    time_adjusted: str
    session_id: str
    session_origin: str
    properties: Mapping[str, Any]
    context: Mapping[str, Any]
    external_ids: Mapping[str, str] | None
    ip: object
    browser_ids: Mapping[str, str]
    consent_denied: bool
    sdk: tuple[object, object]

    @property
    def session_key(self) -> SessionKey:
        """Returns workspace, visitor id and session id, which identify a session."""
        return self.workspace_id, self.ids.visitor_id, self.session_id


def parse_event(
    arrival: ReceivedEvent,
    body: Mapping[str, Any],
    workspace: Workspace,
    external_id_events: Mapping[str, ExternalIdEvent] = NO_EXTERNAL_ID_EVENTS,
    *,
    is_storable: bool = False,
) -> ParsedEvent:
    """Parses the body of a received event.

    Args:
        arrival: the received event. Only a browser batch may send ``event_data`` and a ``session_id`` outside ``context``.
        body: its decoded body, which `validate_name_and_identity` accepted.
        workspace: its secret keys generated session ids.
        external_id_events: events that carry an id of a provider, by event name.
        is_storable: `is_storable_json` holds for the body, so that its values need no sanitizing.

    Raises:
        ValueError: `validate_name_and_identity` would reject the body.
    """
    flat = arrival.channel is IngestEndpoint.BATCH
    read_object = _copied_object if is_storable else _sanitized_object
    properties = read_object(body, "properties") or (read_object(body, "event_data") if flat else {})
    context = read_object(body, "context")
    name = read_first_event_name(body)
    if name is None:
        raise ValueError("an accepted event has a name")
    ids = parse_event_ids(name, body, properties)
    timestamp, adjusted = replace_or_clamp_event_time(body.get("timestamp"), arrival.received_at)
    sent = trimmed_identifier_or_none(context.get("session_id")) or (
        trimmed_identifier_or_none(body.get("session_id")) if flat else None
    )
    for field in _URL_PROPERTIES & properties.keys():
        if isinstance(address := properties[field], str):
            properties[field] = redact_secret_query_values(address[:MAX_URL_LENGTH])
    _replace_import_property(properties, arrival)
    external_ids = read_object(body, "external_ids")
    if name in external_id_events:
        external_ids |= _first_external_id_keyed_by_namespace(external_id_events[name], properties)
    return ParsedEvent(  # positional: keywords take twice as long
        arrival.workspace_id,
        name,
        ids,
        timestamp,
        adjusted,
        sent or generate_hourly_session_id(workspace.secret, ids.visitor_id, timestamp),
        "client" if sent else "generated",
        properties,
        context,
        _trimmed_ids_without_placeholders(external_ids) if external_ids else None,
        body.get("ip"),
        first_sent_browser_ids_by_column(properties, context, *((body,) if flat else ())),
        is_consent_denied(properties, context, body),
        _parse_sdk(context, properties, body if flat else {}),
    )


def _replace_import_property(properties: dict[str, Any], arrival: ReceivedEvent) -> None:
    """Drops an `IMPORT_PROPERTY` that was sent; that of an imported event follows from its header."""
    properties.pop(IMPORT_PROPERTY, None)
    if import_id := arrival.headers.get(IMPORT_HEADER):
        properties[IMPORT_PROPERTY] = import_id


def _parse_sdk(*sources: Mapping[str, Any]) -> tuple[object, object]:
    """Returns name and version of the library: of the context, or else the first ``sdk_name`` and ``sdk_version``."""
    name, version = sources[0].get("library"), sources[0].get("version")
    if isinstance(name, dict):
        version = version or name.get("version")
        name = name.get("name")
    for source in sources:
        name = name or source.get("sdk_name")
        version = version or source.get("sdk_version")
    return name, version


def _sanitized_object(body: Mapping[str, Any], field: str) -> dict[str, Any]:
    """Returns a JSON object of the body with sanitized values; an empty one if the field is not an object."""
    value = body.get(field)
    return sanitize_json_value(value) if isinstance(value, dict) else {}


def _copied_object(body: Mapping[str, Any], field: str) -> dict[str, Any]:
    """Returns a copy of a JSON object of the body; an empty one if the field is not an object."""
    value = body.get(field)
    return dict(value) if isinstance(value, dict) else {}


def _first_external_id_keyed_by_namespace(
    external_id_event: ExternalIdEvent, properties: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns the first id of another system that the event carries, by namespace; empty without one."""
    ids = (text_of_string_or_number(properties.get(name)) for name in external_id_event.properties)
    return next(({external_id_event.namespace: id_} for id_ in ids if id_), {})


def _trimmed_ids_without_placeholders(id_by_namespace: Mapping[str, Any]) -> dict[str, str] | None:
    texts = {
        key.strip(): value
        for key, raw in id_by_namespace.items()
        if (value := text_of_string_or_number(raw)) and key.strip()
    }
    return {key: value for key, value in texts.items() if not is_placeholder_id(value)} or None
