"""Matching events with rules, and sending what they fire, put together once."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hosts.composition.ports import Ports
from service_core.access.workspace_cache import WorkspaceCache
from service_core.delivery.postbacks.ports import ConversionSender, RelocatableSender
from service_core.delivery.postbacks.rule_trigger import RuleTrigger
from service_core.extensions.registry import Registry
from service_core.kernel.errors import StartupError
from service_core.kernel.settings import PostbacksSettings
from service_core.workspace.rules.postback_platforms import PostbackPlatforms

if TYPE_CHECKING:
    from service_core.delivery.postbacks.delivery_worker import DeliveryWorker


def build_postback_matching(ports: Ports) -> RuleTrigger | None:
    """What matches stored events; None where nothing could send what it finds."""
    store, senders = ports.workspace, ports.conversion_senders
    return RuleTrigger(senders, store, store, store, ports.clock) if senders else None


def build_postback_delivery(ports: Ports, settings: PostbacksSettings) -> "DeliveryWorker | None":
    """What sends conversions over the ports of a deployment; None without a sender.

    Raises:
        StartupError: the settings name a platform without a sender, or one whose sender knows no other address.
    """
    from service_core.delivery.postbacks.delivery_worker import DeliveryWorker  # noqa: PLC0415 - one role sends

    senders = _senders_at_configured_urls(ports.conversion_senders, settings)
    store, events = ports.workspace, ports.events
    if not senders:
        return None
    return DeliveryWorker(
        senders,
        settings.calls,
        outbox=store,
        connections=store,
        secrets=ports.connection_secrets,
        units=store,
        workspaces=WorkspaceCache(store),
        events=events,
        people=events,
        clock=ports.clock,
    )


def build_postback_platforms(registry: Registry) -> PostbackPlatforms:
    """What rules may name: the platforms conversions can be sent to."""
    return PostbackPlatforms.of(sender.platform for sender in registry.conversion_senders.values())


def _senders_at_configured_urls(
    known: Mapping[str, ConversionSender], settings: PostbacksSettings
) -> Mapping[str, ConversionSender]:
    """The senders, each calling the address the settings name for it."""
    for name in {*settings.apis, *settings.calls} - known.keys():
        raise StartupError(f"postbacks names {name}, which no plugin sends conversions to.")
    return dict(known) | {
        name: _with_base_url(known[name], address) for name, address in settings.apis.items()
    }


def _with_base_url(sender: ConversionSender, address: str) -> ConversionSender:
    if not isinstance(sender, RelocatableSender):
        raise StartupError(f"postbacks.apis names {sender.id}, whose plugin knows no other address.")
    return sender.with_base_url(address.rstrip("/"))
