"""Matching events with rules, and sending what they fire, put together once."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hosts.composition.ports import Ports
from service_core.access.workspaces import Workspaces
from service_core.delivery.postbacks.matching import Matching
from service_core.delivery.postbacks.ports import ConversionSender, MovableSender
from service_core.extension.registry import Registry
from service_core.kernel.errors import StartupError
from service_core.kernel.settings import PostbacksSettings
from service_core.workspace.rules.platforms import Platforms

if TYPE_CHECKING:
    from service_core.delivery.postbacks.delivering import PostbackDelivery


def matching_of(ports: Ports) -> Matching | None:
    """What matches stored events; None where nothing could send what it finds."""
    store, senders = ports.workspace, ports.conversion_senders
    return Matching(senders, store, store, store, ports.clock) if senders else None


def delivery_of(ports: Ports, settings: PostbacksSettings) -> "PostbackDelivery | None":
    """What sends conversions over the ports of a deployment; None without a sender.

    Raises:
        StartupError: the settings name a platform without a sender, or one whose sender knows no other address.
    """
    from service_core.delivery.postbacks.delivering import PostbackDelivery  # noqa: PLC0415 - one role sends

    senders = _senders(ports.conversion_senders, settings)
    store, events = ports.workspace, ports.events
    if not senders:
        return None
    return PostbackDelivery(
        senders,
        settings.calls,
        outbox=store,
        connections=store,
        secrets=ports.connection_secrets,
        units=store,
        workspaces=Workspaces(store),
        events=events,
        people=events,
        clock=ports.clock,
    )


def platforms_of(registry: Registry) -> Platforms:
    """What rules may name: the platforms conversions can be sent to."""
    return Platforms.of(sender.platform for sender in registry.conversion_senders.values())


def _senders(
    known: Mapping[str, ConversionSender], settings: PostbacksSettings
) -> Mapping[str, ConversionSender]:
    """The senders, each calling the address the settings name for it."""
    for name in {*settings.apis, *settings.calls} - known.keys():
        raise StartupError(f"postbacks names {name}, which no plugin sends conversions to.")
    return dict(known) | {name: _at(known[name], address) for name, address in settings.apis.items()}


def _at(sender: ConversionSender, address: str) -> ConversionSender:
    if not isinstance(sender, MovableSender):
        raise StartupError(f"postbacks.apis names {sender.id}, whose plugin knows no other address.")
    return sender.at(address.rstrip("/"))
