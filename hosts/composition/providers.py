"""Syncs, messages and postbacks of connected providers, at the addresses that the settings name."""

from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import orjson

from hosts.composition.ports import Ports
from service_core.commerce.ads.spend_sync import AdSpendSync
from service_core.commerce.providers.message_store import MessageStore
from service_core.commerce.providers.poll import ProviderSync
from service_core.commerce.providers.ports import PollableProvider
from service_core.delivery.postbacks.rule_trigger import RuleTrigger
from service_core.kernel.errors import StartupError
from service_core.kernel.settings import PostbacksSettings, Settings

if TYPE_CHECKING:
    from service_core.delivery.postbacks.delivery_worker import DeliveryWorker

_Provider = TypeVar("_Provider")


def build_ad_sync(ports: Ports, settings: Settings) -> AdSpendSync:
    """Returns what reads ad platforms.

    Raises:
        StartupError: the settings name a platform that is not installed, or one that has no other address.
    """
    return ports.build_from_adapters(
        AdSpendSync,
        platforms=_providers_at_configured_urls(
            "ads.api_urls", settings.ads.api_urls, ports.registry.ad_platforms
        ),
        first_days=settings.ads.initial_sync_days,
    )


def build_pollable_provider_sync(ports: Ports, settings: Settings) -> ProviderSync:
    """Returns what polls the revenue providers that can be polled.

    Raises:
        StartupError: the settings name a provider that is not installed, or one that cannot be polled.
    """
    providers = _providers_at_configured_urls(
        "revenue.api_urls", settings.revenue.api_urls, ports.registry.revenue_providers
    )
    return ports.build_from_adapters(
        ProviderSync,
        providers={name: p for name, p in providers.items() if isinstance(p, PollableProvider)},
        message_store=build_message_store(ports, settings),
        excluded_kinds=settings.revenue.ignored_event_types,
    )


def build_message_store(ports: Ports, settings: Settings) -> MessageStore:
    """Returns what stores the messages of revenue providers, received or polled."""
    return ports.build_from_adapters(
        MessageStore, decode=orjson.loads, visitor_id_fields=settings.revenue.visitor_id_fields
    )


def build_rule_trigger(ports: Ports, settings: PostbacksSettings) -> RuleTrigger | None:
    """Returns what matches stored events with rules; None where no plugin sends conversions."""
    senders = ports.registry.conversion_senders
    settle_time = timedelta(seconds=settings.settle_seconds)
    return (
        ports.build_from_adapters(RuleTrigger, senders=senders, settle_time=settle_time) if senders else None
    )


def build_delivery_worker_if_any_sender(ports: Ports, settings: PostbacksSettings) -> "DeliveryWorker | None":
    """Returns what sends conversions; None where no plugin sends any.

    Raises:
        StartupError: the settings name a platform without a sender, or one whose sender has no other address.
    """
    from service_core.delivery.postbacks.delivery_worker import DeliveryWorker  # noqa: PLC0415 - one role sends

    known = ports.registry.conversion_senders
    _require_known("postbacks.rate_limits", settings.rate_limits, known)
    senders = _providers_at_configured_urls("postbacks.api_urls", settings.api_urls, known)
    return (
        ports.build_from_adapters(
            DeliveryWorker,
            senders=senders,
            call_limits=settings.rate_limits,
            settle_time=timedelta(seconds=settings.settle_seconds),
        )
        if senders
        else None
    )


def _providers_at_configured_urls(
    setting_name: str, url_by_provider: Mapping[str, str], installed: Mapping[str, _Provider]
) -> Mapping[str, _Provider]:
    """Returns the installed providers by id, each at the address that the setting names for it."""
    _require_known(setting_name, url_by_provider, installed)
    return dict(installed) | {
        name: _with_base_url(setting_name, name, installed[name], url)
        for name, url in url_by_provider.items()
    }


def _with_base_url(setting: str, name: str, provider: Any, url: str) -> Any:
    if not hasattr(provider, "with_base_url"):
        raise StartupError(f"{setting} names {name}, whose plugin knows no other address.")
    return provider.with_base_url(url.rstrip("/"))


def _require_known(setting: str, named: Collection[str], known: Collection[str]) -> None:
    for name in named:
        if name not in known:
            raise StartupError(f"{setting} names {name}, which no plugin brings.")
