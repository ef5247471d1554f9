"""A genuine message of a provider becomes an arrival of the queue. Pure."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from service_core.commerce.providers.carried import carried
from service_core.commerce.providers.model import Delivery, Mapped
from service_core.commerce.providers.ports import RevenueProvider
from service_core.intake.accept import event_id
from service_core.intake.identity import is_placeholder
from service_core.intake.model import PROVIDER, UNREAD, Arrival, Channel
from service_core.intake.poison import clean_text
from service_core.intake.track import Decode

BOUND: Final = "$provider_identity_bound"
"""Event of a message that tells ids alone (semantics 5.6)."""

_PERSONAL: Final = ("visitor_id", "user_id")
_REASON: Final = 200


@dataclass(frozen=True, slots=True)
class Unread:
    """A message that becomes no event: the id it is known by, and why."""

    message_id: str
    reason: str


def read_message(
    provider: RevenueProvider,
    delivery: Delivery,
    account_id: str,
    decode: Decode,
    visitor_name: str | None = None,
) -> Mapped | Unread:
    """What a genuine message says, or why nobody knows.

    Args:
        provider: whose message it is.
        delivery: as it came.
        account_id: whose it is at the provider.
        decode: reads JSON, strictly.
        visitor_name: what the visitor's id stands under, besides the provider's own name for it.
    """
    try:
        message = _object(decode(delivery.body))
        mapped = provider.mapped(message, delivery, account_id)
    except ValueError as fault:
        digest = hashlib.sha256(delivery.body).hexdigest()
        return Unread(f"sha256:{digest}", clean_text(f"{provider.id}: {fault}")[:_REASON])
    if mapped.says_nothing:
        return Unread(mapped.message_id, f"{provider.id}: a kind of message that becomes no event")
    visitor_id = carried(message, visitor_name) if visitor_name else None
    return replace(mapped, identity={**mapped.identity, "visitor_id": visitor_id}) if visitor_id else mapped


def _object(message: object) -> Mapping[str, Any]:
    if not isinstance(message, dict):
        raise ValueError("the message is no JSON object")  # noqa: TRY004 - told like all that cannot be read
    return message


def arrival_of(
    workspace_id: UUID, provider: RevenueProvider, delivery: Delivery, told: Mapped | Unread
) -> Arrival:
    """The arrival: an event as ``/track`` takes it, or the message as it came.

    The ledger counts it under the workspace's id: a webhook has no write key.
    """
    headers = {PROVIDER: provider.id}
    if isinstance(told, Unread):
        body = delivery.body
        headers[UNREAD] = told.reason
    else:
        body = json.dumps(_event(provider.id, told)).encode()
    known = event_id({"event_id": f"{provider.id}_{told.message_id}"})
    assert known is not None
    return Arrival(
        workspace_id=workspace_id,
        key_id=workspace_id,
        channel=Channel.WEBHOOK,
        event_id=known,
        claimed=True,
        received_at=delivery.received_at,
        body=body,
        user_agent=None,
        address=None,
        headers=headers,
    )


def identity_of(provider_id: str, mapped: Mapped) -> tuple[tuple[str, str], ...]:
    """The ids a subscription's person is known by: those of the event, and the e-mail."""
    email = mapped.identity.get("email")
    return tuple(sorted({**_ids(provider_id, mapped), **({"email": email} if email else {})}.items()))


def _event(provider_id: str, mapped: Mapped) -> Mapping[str, Any]:
    properties = dict(mapped.properties)
    if email := mapped.identity.get("email"):
        properties["email"] = email
    if mapped.test:
        properties["test"] = True
    return {
        "event": mapped.event_name or BOUND,
        **_ids(provider_id, mapped),
        "timestamp": mapped.at.isoformat(),
        "properties": properties,
        "external_ids": dict(mapped.external_ids),
        "context": {"library": provider_id},
    }


def _ids(provider_id: str, mapped: Mapped) -> Mapping[str, str]:
    """Who it is about; without any id of a person, a visitor of its own that nobody else can be.

    It joins a person by what else it carries, at query time (semantics 11.3).
    """
    told = {name: mapped.identity.get(name, "").strip() for name in _PERSONAL}
    known = {name: id_ for name, id_ in told.items() if id_ and not is_placeholder(id_)}
    own = next(iter(mapped.external_ids.values()), mapped.message_id)
    return known or {"visitor_id": f"{provider_id}:{mapped.external_ids.get(provider_id, own)}"}
