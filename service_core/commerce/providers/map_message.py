"""Maps verified provider messages to received events. Pure functions."""

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from traceback import format_tb
from typing import Any, Final
from uuid import UUID

from service_core.commerce.providers.models import MappedMessage, WebhookDelivery
from service_core.commerce.providers.ports import RevenueProvider
from service_core.commerce.providers.visitor_id import find_visitor_id_at_any_depth
from service_core.ingestion.event_ids import is_placeholder_id
from service_core.ingestion.import_sources.models import ImportEntry
from service_core.ingestion.models import (
    PROVIDER_HEADER,
    STOREFRONT_HEADER,
    UNPARSED_HEADER,
    IngestEndpoint,
    ReceivedEvent,
)
from service_core.ingestion.sanitize_json import replace_nul_and_surrogates
from service_core.ingestion.track import Decode
from service_core.ingestion.validation import read_event_id_or_hash_of_long_one

IDENTITY_BOUND_EVENT: Final = "$provider_identity_bound"
"""Event of a message that has only ids."""

_PERSON_ID_FIELDS: Final = ("visitor_id", "user_id")
_MAX_REASON_LENGTH: Final = 200
_DELIVERY_HEADER_PREFIX: Final = "delivery."
"""Prefix of the stored headers of an unmapped message that its provider sent."""

_STORED_HEADER_ENDINGS: Final = (
    "-topic",
    "-event",
    "-type",
    "-kind",
    "-id",
    "-domain",
    "-version",
    "-triggered-at",
)
"""Endings of the names of delivery headers that are stored: they describe the message, and hold no credential."""

_log: Final = logging.getLogger("touchpoint.webhooks")


@dataclass(frozen=True, slots=True)
class UnmappedMessage:
    """A message that becomes no event: its id, and the reason."""

    message_id: str
    reason: str


def map_verified_delivery(
    provider: RevenueProvider,
    delivery: WebhookDelivery,
    account_id: str,
    decode: Decode,
    visitor_id_field: str | None = None,
) -> MappedMessage | UnmappedMessage:
    """Returns what a verified message is mapped to, or why it cannot be mapped.

    Never raises: a message that its plugin fails on is kept raw, like one that is not what the provider documents.

    Args:
        provider: whose message it is.
        delivery: as it came.
        account_id: whose it is at the provider.
        decode: reads JSON, strictly.
        visitor_id_field: configured name of the field with the visitor id; it takes precedence over the provider's own.
    """
    try:
        message = _require_object(decode(delivery.body))
        mapped = provider.map_message(message, delivery, account_id)
        if mapped.is_unknown_kind:
            return UnmappedMessage(
                mapped.message_id, f"{provider.id}: a kind of message that becomes no event"
            )
        visitor_id = find_visitor_id_at_any_depth(message, visitor_id_field) if visitor_id_field else None
        if visitor_id:
            mapped = replace(mapped, identity={**mapped.identity, "visitor_id": visitor_id})
        _require_storable(provider.id, mapped)
    except ValueError as fault:
        return unmapped_delivery(delivery, f"{provider.id}: {fault}")
    except Exception as fault:  # noqa: BLE001 - a plugin's mistake never loses a genuine message
        # Its text may repeat what was sent, so only its type and place are logged.
        frames = "".join(format_tb(fault.__traceback__))
        _log.error("the plugin of %s failed on a message: %s\n%s", provider.id, type(fault).__name__, frames)
        return unmapped_delivery(delivery, f"{provider.id}: the plugin failed with {type(fault).__name__}")
    return mapped


def unmapped_delivery(delivery: WebhookDelivery, reason: str) -> UnmappedMessage:
    """Returns the delivery as a message that becomes no event, under an id that follows from its body."""
    digest = hashlib.sha256(delivery.body).hexdigest()
    return UnmappedMessage(f"sha256:{digest}", replace_nul_and_surrogates(reason)[:_MAX_REASON_LENGTH])


def _require_storable(provider_id: str, mapped: MappedMessage) -> None:
    """Raises what storing the mapped message would raise: values that JSON or ids cannot hold."""
    json.dumps(_event_body_with_email_and_test_flag(provider_id, mapped))
    subscriber_ids_and_email(provider_id, mapped)
    if not isinstance(mapped.message_id, str):
        raise TypeError("the id of a message is a text")


def _require_object(message: object) -> Mapping[str, Any]:
    if not isinstance(message, dict):
        raise ValueError("the message is no JSON object")  # noqa: TRY004 - a ValueError like every other unreadable message
    return message


def to_received_event(
    workspace_id: UUID,
    provider: RevenueProvider,
    delivery: WebhookDelivery,
    message: MappedMessage | UnmappedMessage,
) -> ReceivedEvent:
    """Returns the received event for the queue: a mapped event, or the original message.

    The ledger counts it under the workspace's id: a webhook has no write key.
    """
    if isinstance(message, UnmappedMessage):
        body = delivery.body
        headers = unmapped_delivery_headers(provider, delivery, message.reason)
    else:
        body = json.dumps(_event_body_with_email_and_test_flag(provider.id, message)).encode()
        headers = _provider_headers(provider)
    known = read_event_id_or_hash_of_long_one({"event_id": f"{provider.id}_{message.message_id}"})
    assert known is not None
    return ReceivedEvent(
        workspace_id=workspace_id,
        key_id=workspace_id,
        channel=IngestEndpoint.WEBHOOK,
        event_id=known,
        claimed=True,
        received_at=delivery.received_at,
        body=body,
        user_agent=None,
        address=None,
        headers=headers,
    )


def unmapped_delivery_headers(
    provider: RevenueProvider, delivery: WebhookDelivery, reason: str = ""
) -> dict[str, str]:
    """Returns the stored headers of a verified message that is kept raw."""
    return {
        **_provider_headers(provider),
        **_storable_delivery_headers(delivery),
        UNPARSED_HEADER: reason,
    }


def _provider_headers(provider: RevenueProvider) -> dict[str, str]:
    return {PROVIDER_HEADER: provider.id} | ({STOREFRONT_HEADER: "1"} if provider.info.is_storefront else {})


def to_import_entry_without_subscription_facts(
    provider: RevenueProvider, messages: Sequence[MappedMessage]
) -> ImportEntry:
    """Returns the entry of a row of a provider's history; its events are those of the messages, one at least.

    Facts of subscriptions are not part of it.
    """
    bodies = [
        {
            **_event_body_with_email_and_test_flag(provider.id, message),
            "event_id": f"{provider.id}_{message.message_id}",
        }
        for message in messages
    ]
    return ImportEntry(
        bodies[0],
        headers=_provider_headers(provider),
        further_bodies=tuple(bodies[1:]),
    )


def rebuild_delivery_from_stored_headers(arrival: ReceivedEvent) -> WebhookDelivery:
    """Returns the delivery of an unmapped message, with the headers that describe it."""
    headers = {
        name.removeprefix(_DELIVERY_HEADER_PREFIX): value
        for name, value in arrival.headers.items()
        if name.startswith(_DELIVERY_HEADER_PREFIX)
    }
    return WebhookDelivery(headers, arrival.body, arrival.received_at)


def _storable_delivery_headers(delivery: WebhookDelivery) -> dict[str, str]:
    return {
        f"{_DELIVERY_HEADER_PREFIX}{name}": replace_nul_and_surrogates(value)
        for name, value in delivery.headers.items()
        if name.startswith("x-") and name.endswith(_STORED_HEADER_ENDINGS)
    }


def subscriber_ids_and_email(provider_id: str, mapped: MappedMessage) -> tuple[tuple[str, str], ...]:
    """Returns the ids by which the person of a subscription is found: those of the event, and the e-mail."""
    email = mapped.identity.get("email")
    return tuple(
        sorted(
            {
                **_person_ids_or_provider_visitor_id(provider_id, mapped),
                **({"email": email} if email else {}),
            }.items()
        )
    )


def _event_body_with_email_and_test_flag(provider_id: str, mapped: MappedMessage) -> Mapping[str, Any]:
    properties = dict(mapped.properties)
    if email := mapped.identity.get("email"):
        properties["email"] = email
    if mapped.test:
        properties["test"] = True
    return {
        "event": mapped.event_name or IDENTITY_BOUND_EVENT,
        **_person_ids_or_provider_visitor_id(provider_id, mapped),
        "timestamp": mapped.occurred_at.isoformat(),
        "properties": properties,
        "external_ids": dict(mapped.external_ids),
        "context": {"library": provider_id},
    }


def _person_ids_or_provider_visitor_id(provider_id: str, mapped: MappedMessage) -> Mapping[str, str]:
    """Returns the ids of the person; without any, a visitor id that is unique to the customer of the provider.

    It joins a person by what else it carries, at query time.
    """
    sent = {name: mapped.identity.get(name, "").strip() for name in _PERSON_ID_FIELDS}
    known = {name: id_ for name, id_ in sent.items() if id_ and not is_placeholder_id(id_)}
    own = next(iter(mapped.external_ids.values()), mapped.message_id)
    return known or {"visitor_id": f"{provider_id}:{mapped.external_ids.get(provider_id, own)}"}
