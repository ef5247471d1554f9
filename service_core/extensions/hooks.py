"""What a plugin may bring: one hook specification for each kind of value."""

from collections.abc import Iterable
from typing import Final

import pluggy

from service_core.analytics.attribution.ports import AttributionModel
from service_core.analytics.query.catalog import Dimension, Metric
from service_core.changes.resource import ResourceDefinition
from service_core.commerce.ads.ports import AdPlatform
from service_core.commerce.providers.ports import RevenueProvider
from service_core.delivery.postbacks.ports import ConversionSender
from service_core.extensions.adapters import Adapter
from service_core.kernel.operations import Operation

ENTRY_POINT_GROUP: Final = "touchpoint"
"""The group of entry points plugins are found in."""

hookspec = pluggy.HookspecMarker(ENTRY_POINT_GROUP)
hook = pluggy.HookimplMarker(ENTRY_POINT_GROUP)
"""Marks a hook implementation in a plugin module."""


class Hooks:
    """The hook specifications. Every hook is optional and returns a sequence of values."""

    @hookspec
    def adapters(self) -> Iterable[Adapter]:  # type: ignore[empty-body]
        """Adapters this plugin brings; two of one (port, scheme) stop the start."""

    @hookspec
    def operations(self) -> Iterable[Operation]:  # type: ignore[empty-body]
        """Endpoints this plugin brings; they get credentials, budgets and docs like any other."""

    @hookspec
    def resources(self) -> Iterable[ResourceDefinition]:  # type: ignore[empty-body]
        """Types of resource this plugin brings, with their endpoints; writes of them are audited and undone."""

    @hookspec
    def metrics(self) -> Iterable[Metric]:  # type: ignore[empty-body]
        """Metrics this plugin brings; each appears in the catalog and in ``POST /query``."""

    @hookspec
    def dimensions(self) -> Iterable[Dimension]:  # type: ignore[empty-body]
        """Dimensions this plugin brings."""

    @hookspec
    def attribution_models(self) -> Iterable[AttributionModel]:  # type: ignore[empty-body]
        """Attribution models this plugin brings; their ids are valid wherever a model is named."""

    @hookspec
    def ad_platforms(self) -> Iterable[AdPlatform]:  # type: ignore[empty-body]
        """Ad platforms this plugin brings; each is read where a workspace connects it by its id."""

    @hookspec
    def revenue_providers(self) -> Iterable[RevenueProvider]:  # type: ignore[empty-body]
        """Revenue providers this plugin brings; each takes webhooks under its id."""

    @hookspec
    def conversion_senders(self) -> Iterable[ConversionSender]:  # type: ignore[empty-body]
        """Senders of conversions this plugin brings; rules may name their platforms."""
