"""A deployment put together: the one function hosts and tests start from."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import timedelta
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from hosts.composition.access import build_access_components
from hosts.composition.ads import build_ad_sync
from hosts.composition.binding import bind_operation, build_resource_kinds
from hosts.composition.container import PORTS
from hosts.composition.json_codec import CODEC
from hosts.composition.ports import Ports, start_adapters
from hosts.composition.postbacks import build_postback_platforms
from hosts.composition.revenue import build_provider_sync
from hosts.composition.share_links import build_share_link_components
from service_core import builtin
from service_core.access.rate_limits import RateLimits
from service_core.access.request_authentication import RequestAuthenticator
from service_core.access.workspace_cache import WorkspaceCache
from service_core.analytics.attribution.models import AttributionModels
from service_core.analytics.connections.unconnected_source import add_unconnected_source
from service_core.analytics.fx.convert import CurrencyConverter
from service_core.analytics.install_attribution.match import InstallMatcher
from service_core.analytics.ports import AggregateReader
from service_core.analytics.query.catalog import Catalog
from service_core.analytics.query.currency import CurrencyConvertingSource
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.sources import EventSource, Source
from service_core.api.dispatch import Dispatcher
from service_core.api.http_messages import ApiRequest, ApiResponse
from service_core.api.operations import OpenApiDocument
from service_core.api.readiness import (
    Probe,
    ReadinessChecker,
    cache_probe,
    limiter_probe,
    queue_probe,
    store_probe,
)
from service_core.changes.change_executor import ChangeExecutor
from service_core.commerce.ads.ad_credits import AdCredits
from service_core.commerce.ads.source import SpendSource
from service_core.commerce.ads.spend_sync import AdSpendSync
from service_core.commerce.costs.source import CostSource
from service_core.commerce.credentials.ports import ConnectionSecrets
from service_core.commerce.providers.poll import ProviderSync
from service_core.commerce.subscriptions.source import SubscriptionSource
from service_core.commerce.sync.freshness import ProviderFreshness
from service_core.delivery.postbacks.metrics_source import PostbackSource
from service_core.documentation.site import Documentation
from service_core.extensions.registry import Registry, load_plugins
from service_core.kernel.clock import Clock, system_clock
from service_core.kernel.errors import StartupError
from service_core.kernel.settings import Settings
from service_core.workspace.reports.run_batch import ReportBatchRunner
from service_core.workspace.reports.run_report import ReportRunner
from service_core.workspace.rules.postback_platforms import PostbackPlatforms
from service_core.workspace.time_budget import Sleep

_Component = TypeVar("_Component")


@cache
def load_installed_registry() -> Registry:
    """The core and every installed plugin, looked for once: what is installed stays so while a process runs.

    Raises:
        StartupError: a plugin that cannot be used; the message says which and what to do.
    """
    return require_known_ports(load_plugins([("builtin", builtin)]))


def require_known_ports(registry: Registry) -> Registry:
    """The registry, once every adapter in it is for a port there is.

    Raises:
        StartupError: one is not; the message says which and what to do.
    """
    for (port, scheme), adapter in registry.adapters.items():
        if port not in PORTS:
            near = get_close_matches(port, PORTS, n=1)
            advice = f"Did you mean {near[0]!r}? " if near else ""
            raise StartupError(
                f"{adapter.open.__module__} brings {scheme}:// for the port {port!r}, which does not exist. "
                f"{advice}Ports: {', '.join(PORTS)}."
            )
    return registry


class Service:
    """A composed deployment. As an async context it starts its ports, and closes them again."""

    def __init__(
        self,
        settings: Settings,
        registry: Registry,
        ports: Ports,
        gateway: Dispatcher,
        components: Mapping[Any, Any],
    ) -> None:
        self.settings: Final = settings
        self.registry: Final = registry
        self.ports: Final = ports
        self._gateway = gateway
        self._parts = components
        self._running = AsyncExitStack()

    def component(self, kind: type[_Component]) -> _Component:
        """The one value of a type that handlers may ask for, for pages of people."""
        found: _Component = self._parts[kind]
        return found

    async def dispatch(self, request: ApiRequest) -> ApiResponse:
        """Answer one request."""
        return await self._gateway.dispatch(request)

    def route_template(self, method: str, path: str) -> str | None:
        """The path template a request belongs to, as in ``/v1/exports/{export_id}``; None for no operation."""
        return self._gateway.route_template(method, path)

    async def __aenter__(self) -> Self:
        await self._running.enter_async_context(start_adapters(self.ports.all_adapters()))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._running.aclose()


def compose(
    settings: Settings,
    folder: Path,
    *,
    registry: Registry | None = None,
    clock: Clock = system_clock,
    sleep: Sleep = asyncio.sleep,
    probes: Sequence[Probe] = (),
    processes: int = 1,
) -> Service:
    """Put a deployment together.

    Args:
        settings: which adapters, and where.
        folder: what relative paths in the settings are relative to.
        registry: what is installed; None reads the environment.
        clock: gives the present to everything that asks.
        alarm: waits until the budget of a run is over.
        probes: further things readiness depends on.
        processes: how many processes of this server answer requests; they share its standby budget.

    Raises:
        StartupError: an unknown scheme, or an operation that asks for what nobody provides.
    """
    found = registry or load_installed_registry()
    ports = Ports(settings, folder, found, clock)
    parts = build_access_components(settings, ports)
    budgets = RateLimits(ports.limits, clock, processes)
    offers = {**parts, RateLimits: budgets, **_build_bindings(settings, found, ports, sleep, probes)}
    gateway = Dispatcher(
        [bind_operation(operation, offers) for operation in found.operations],
        admission=parts[RequestAuthenticator],
        budgets=budgets,
        clock=clock,
        codec=CODEC,
    )
    return Service(settings, found, ports, gateway, offers)


def _build_bindings(
    settings: Settings, registry: Registry, ports: Ports, sleep: Sleep, probes: Sequence[Probe]
) -> Mapping[Any, object]:
    """Type -> the value a handler that asks for it gets."""
    models = replace(registry.models, min_conversions=settings.attribution.floor)
    platforms = build_postback_platforms(registry)
    credited = AdCredits(ports.ledger, ports.workspace)
    costs = CostSource(ports.events, ports.workspace, ports.queue, ports.exchange)
    questions = MetricQueries(
        registry.catalog,
        add_unconnected_source(
            [
                EventSource(
                    credited,
                    credited,
                    ports.queue,
                    models,
                    ProviderFreshness(ports.workspace, ports.workspace),
                ),
                *_with_exchange_rates(
                    ports,
                    SpendSource(ports.workspace, ports.workspace),
                    SubscriptionSource(ports.workspace, ports.workspace, ports.workspace, ports.clock),
                ),
                costs,
                PostbackSource(ports.workspace, ports.workspace, registry.conversion_senders),
            ],
            ports.workspace,
        ),
    )
    reports = ReportRunner(questions, models, ports.events, ports.events, ports.queue)
    cards = ReportBatchRunner(reports, sleep)
    given = {
        **ports.adapters_by_type(),
        AggregateReader: ports.ledger,
        CurrencyConverter: ports.rated,
        Settings: settings,
        PostbackPlatforms: platforms,
    }
    return {
        **given,
        **build_share_link_components(ports, cards),
        Clock: ports.clock,
        CostSource: costs,
        ConnectionSecrets: ports.connection_secrets,
        AdSpendSync: build_ad_sync(ports, registry, settings.ads),
        ProviderSync: build_provider_sync(ports, settings),
        WorkspaceCache: WorkspaceCache(ports.workspace),
        Registry: registry,
        ChangeExecutor: ChangeExecutor(ports.workspace, build_resource_kinds(registry.resources, given)),
        Documentation: Documentation(settings.http.effective_docs_url),
        Catalog: registry.catalog,
        AttributionModels: models,
        MetricQueries: questions,
        ReportRunner: reports,
        ReportBatchRunner: cards,
        InstallMatcher: InstallMatcher(
            ports.events,
            ports.events,
            ports.workspace,
            links=ports.workspace,
            clicks=ports.workspace,
            window=timedelta(minutes=settings.attribution.deferred_minutes),
        ),
        ReadinessChecker: ReadinessChecker([*_build_probes(ports), *probes], ports.clock),
        OpenApiDocument: OpenApiDocument(registry.operations, settings.http.effective_api_url),
    }


def _with_exchange_rates(ports: Ports, *sources: Source) -> Sequence[Source]:
    """The sources, with rates where a deployment has any."""
    return (
        sources
        if ports.fx is None
        else [CurrencyConvertingSource(source, ports.exchange) for source in sources]
    )


def _build_probes(ports: Ports) -> tuple[Probe, ...]:
    return (
        store_probe(ports.events, ports.workspace),
        queue_probe(ports.queue, ports.workspace, ports.clock),
        limiter_probe(ports.limits),
        cache_probe(ports.workspace),
    )
