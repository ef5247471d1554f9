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

from hosts.composition.access import access_parts
from hosts.composition.ads import ad_reading_of
from hosts.composition.binding import bind, kinds_of
from hosts.composition.codec import CODEC
from hosts.composition.container import PORTS
from hosts.composition.ports import Ports, running
from hosts.composition.postbacks import platforms_of
from hosts.composition.revenue import provider_reading_of
from hosts.composition.sharing import sharing_parts
from service_core import builtin
from service_core.access.admission import Admission
from service_core.access.budgets import Budgets
from service_core.access.workspaces import Workspaces
from service_core.changes.write import Writes
from service_core.commerce.ads.credited import AdCredits
from service_core.commerce.ads.reading import AdReading
from service_core.commerce.ads.source import SpendSource
from service_core.commerce.costs.source import CostSource
from service_core.commerce.credentials import ConnectionSecrets
from service_core.commerce.providers.polling import ProviderReading
from service_core.commerce.reach import ProviderReach
from service_core.commerce.subscriptions.source import SubscriptionSource
from service_core.delivery.postbacks.source import DeliverySource
from service_core.extension.registry import Registry, load
from service_core.gateway.dispatch import Gateway
from service_core.gateway.exchange import Request, Response
from service_core.gateway.operations import Description
from service_core.gateway.readiness import (
    Probe,
    Readiness,
    cache_probe,
    limiter_probe,
    queue_probe,
    store_probe,
)
from service_core.handbook.book import Handbook
from service_core.insight.attribution.model import Models
from service_core.insight.catalog import Catalog
from service_core.insight.connections.absent import with_absent
from service_core.insight.fx.rated import Rated
from service_core.insight.lookups.resolve import Resolver
from service_core.insight.ports import Aggregates
from service_core.insight.query.questions import Questions
from service_core.insight.query.rated import RatedSource
from service_core.insight.query.sources import EventSource, Source
from service_core.kernel.clock import Clock, system_clock
from service_core.kernel.errors import StartupError
from service_core.kernel.settings import Settings
from service_core.workspace.cards import CardRuns
from service_core.workspace.deadline import Alarm
from service_core.workspace.reports.run import ReportRuns
from service_core.workspace.rules.platforms import Platforms

_Part = TypeVar("_Part")


@cache
def installed() -> Registry:
    """The core and every installed plugin, looked for once: what is installed stays so while a process runs.

    Raises:
        StartupError: a plugin that cannot be used; the message says which and what to do.
    """
    return served(load([("builtin", builtin)]))


def served(registry: Registry) -> Registry:
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
        gateway: Gateway,
        parts: Mapping[Any, Any],
    ) -> None:
        self.settings: Final = settings
        self.registry: Final = registry
        self.ports: Final = ports
        self._gateway = gateway
        self._parts = parts
        self._running = AsyncExitStack()

    def part(self, kind: type[_Part]) -> _Part:
        """The one value of a type that handlers may ask for, for pages of people."""
        found: _Part = self._parts[kind]
        return found

    async def dispatch(self, request: Request) -> Response:
        """Answer one request."""
        return await self._gateway.dispatch(request)

    def place(self, method: str, path: str) -> str | None:
        """The path template a request belongs to, as in ``/v1/exports/{export_id}``; None for no operation."""
        return self._gateway.place(method, path)

    async def __aenter__(self) -> Self:
        await self._running.enter_async_context(running(self.ports.all()))
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
    alarm: Alarm = asyncio.sleep,
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
    found = registry or installed()
    ports = Ports(settings, folder, found, clock)
    parts = access_parts(settings, ports)
    budgets = Budgets(ports.limits, clock, processes)
    offers = {**parts, Budgets: budgets, **_offers(settings, found, ports, alarm, probes)}
    gateway = Gateway(
        [bind(operation, offers) for operation in found.operations],
        admission=parts[Admission],
        budgets=budgets,
        clock=clock,
        codec=CODEC,
    )
    return Service(settings, found, ports, gateway, offers)


def _offers(
    settings: Settings, registry: Registry, ports: Ports, alarm: Alarm, probes: Sequence[Probe]
) -> Mapping[Any, object]:
    """Type -> the value a handler that asks for it gets."""
    models = replace(registry.models, floor=settings.attribution.floor)
    platforms = platforms_of(registry)
    credited = AdCredits(ports.ledger, ports.workspace)
    costs = CostSource(ports.events, ports.workspace, ports.queue, ports.exchange)
    questions = Questions(
        registry.catalog,
        with_absent(
            [
                EventSource(
                    credited,
                    credited,
                    ports.queue,
                    models,
                    ProviderReach(ports.workspace, ports.workspace),
                ),
                *_rated(
                    ports,
                    SpendSource(ports.workspace, ports.workspace),
                    SubscriptionSource(ports.workspace, ports.workspace, ports.workspace, ports.clock),
                ),
                costs,
                DeliverySource(ports.workspace, ports.workspace, registry.conversion_senders),
            ],
            ports.workspace,
        ),
    )
    reports = ReportRuns(questions, models, ports.events, ports.events, ports.queue)
    cards = CardRuns(reports, alarm)
    given = {
        **ports.by_type(),
        Aggregates: ports.ledger,
        Rated: ports.rated,
        Settings: settings,
        Platforms: platforms,
    }
    return {
        **given,
        **sharing_parts(ports, cards),
        Clock: ports.clock,
        CostSource: costs,
        ConnectionSecrets: ports.connection_secrets,
        AdReading: ad_reading_of(ports, registry, settings.ads),
        ProviderReading: provider_reading_of(ports, settings),
        Workspaces: Workspaces(ports.workspace),
        Registry: registry,
        Writes: Writes(ports.workspace, kinds_of(registry.resources, given)),
        Handbook: Handbook(settings.http.handbook_url),
        Catalog: registry.catalog,
        Models: models,
        Questions: questions,
        ReportRuns: reports,
        CardRuns: cards,
        Resolver: Resolver(
            ports.events,
            ports.events,
            ports.workspace,
            links=ports.workspace,
            clicks=ports.workspace,
            window=timedelta(minutes=settings.attribution.deferred_minutes),
        ),
        Readiness: Readiness([*_probes(ports), *probes], ports.clock),
        Description: Description(registry.operations, settings.http.public_url),
    }


def _rated(ports: Ports, *sources: Source) -> Sequence[Source]:
    """The sources, with rates where a deployment has any."""
    return sources if ports.fx is None else [RatedSource(source, ports.exchange) for source in sources]


def _probes(ports: Ports) -> tuple[Probe, ...]:
    return (
        store_probe(ports.events, ports.workspace),
        queue_probe(ports.queue, ports.workspace, ports.clock),
        limiter_probe(ports.limits),
        cache_probe(ports.workspace),
    )
