"""Hook specifications: one for each kind of value a plugin can provide."""

from collections.abc import Iterable
from typing import Final

import pluggy

from service_core.analytics.attribution.ports import AttributionModel
from service_core.analytics.query.catalog import Dimension, Metric
from service_core.changes.resource_definition import ResourceDefinition
from service_core.commerce.ads.ports import AdPlatform
from service_core.commerce.providers.ports import RevenueProvider, WebhookSource
from service_core.delivery.plugin_tasks.models import EventReaction, ScheduledJob
from service_core.delivery.postbacks.ports import ConversionSender
from service_core.extensions.adapters import Adapter
from service_core.extensions.command_groups import CommandGroup
from service_core.extensions.pages import WebPage
from service_core.extensions.plugin_info import PluginInfo
from service_core.ingestion.import_sources.ports import ImportSource
from service_core.ingestion.protocols.ports import IngestProtocol
from service_core.ingestion.transforms.models import Transform
from service_core.kernel.operations import Operation

ENTRY_POINT_GROUP: Final = "touchpoint"
"""The entry point group in which plugins are found."""

hookspec = pluggy.HookspecMarker(ENTRY_POINT_GROUP)
hook = pluggy.HookimplMarker(ENTRY_POINT_GROUP)
"""Marks a hook implementation in a plugin module."""


class Hooks:
    """The hook specifications. Every hook is optional and returns a sequence of values, except ``plugin_info``."""

    @hookspec
    def plugin_info(self) -> PluginInfo:  # type: ignore[empty-body]
        """Returns the declaration of the plugin: its label, the hosts it calls, the data it reads, its settings."""

    @hookspec
    def adapters(self) -> Iterable[Adapter]:  # type: ignore[empty-body]
        """Returns adapters of ports. Two adapters with the same port and scheme stop the startup."""

    @hookspec
    def operations(self) -> Iterable[Operation]:  # type: ignore[empty-body]
        """Returns endpoints. They get authentication, rate limits and documentation like built-in ones."""

    @hookspec
    def resources(self) -> Iterable[ResourceDefinition]:  # type: ignore[empty-body]
        """Returns writable resource types with their endpoints. Their changes are audited and can be undone."""

    @hookspec
    def metrics(self) -> Iterable[Metric]:  # type: ignore[empty-body]
        """Returns metrics; each appears in the catalog and in ``POST /query``."""

    @hookspec
    def dimensions(self) -> Iterable[Dimension]:  # type: ignore[empty-body]
        """Returns dimensions."""

    @hookspec
    def attribution_models(self) -> Iterable[AttributionModel]:  # type: ignore[empty-body]
        """Returns attribution models; requests can name their ids wherever a model is allowed."""

    @hookspec
    def ad_platforms(self) -> Iterable[AdPlatform]:  # type: ignore[empty-body]
        """Returns ad platforms; a workspace connects one by its id."""

    @hookspec
    def revenue_providers(self) -> Iterable[RevenueProvider]:  # type: ignore[empty-body]
        """Returns revenue providers; each receives webhooks under its id."""

    @hookspec
    def webhook_sources(self) -> Iterable[WebhookSource]:  # type: ignore[empty-body]
        """Returns products whose webhooks become events without money; each receives them under its id."""

    @hookspec
    def conversion_senders(self) -> Iterable[ConversionSender]:  # type: ignore[empty-body]
        """Returns senders of conversions; conversion rules can name their platforms."""

    @hookspec
    def ingest_protocols(self) -> Iterable[IngestProtocol]:  # type: ignore[empty-body]
        """Returns ingest protocols; the ingest host serves their routes. Two with one id or one path stop the startup."""

    @hookspec
    def import_sources(self) -> Iterable[ImportSource]:  # type: ignore[empty-body]
        """Returns import sources; ``touchpoint import ID FILE`` and the web page read files by them."""

    @hookspec
    def transforms(self) -> Iterable[Transform]:  # type: ignore[empty-body]
        """Returns transforms; they drop and change events before these are stored."""

    @hookspec
    def event_reactions(self) -> Iterable[EventReaction]:  # type: ignore[empty-body]
        """Returns functions that are called with stored events of some names."""

    @hookspec
    def scheduled_jobs(self) -> Iterable[ScheduledJob]:  # type: ignore[empty-body]
        """Returns functions that are called at an interval, for each workspace."""

    @hookspec
    def pages(self) -> Iterable[WebPage]:  # type: ignore[empty-body]
        """Returns pages of the web application, each with a menu entry; they read what their viewer may read."""

    @hookspec
    def command_groups(self) -> Iterable[CommandGroup]:  # type: ignore[empty-body]
        """Returns commands under ``touchpoint NAME``. They are opened when somebody enters the name."""
