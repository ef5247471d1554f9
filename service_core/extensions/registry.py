"""The registry: the values of all plugins, collected once, validated and frozen."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from service_core.analytics.attribution.models import AttributionModels
from service_core.analytics.connections.models import ProviderKind
from service_core.analytics.connections.providers import InstalledProvider, InstalledProviders
from service_core.analytics.query.catalog import Catalog
from service_core.changes.resource_definition import ResourceDefinition
from service_core.commerce.ads.ports import AdPlatform
from service_core.commerce.providers.ports import RevenueProvider
from service_core.commerce.providers.webhook_sources import index_webhook_sources_by_id
from service_core.delivery.plugin_tasks.models import EventReaction, ScheduledJob, index_tasks_by_id
from service_core.delivery.postbacks.ports import ConversionSender
from service_core.extensions.adapters import Adapter, LocalDataKind, parse_adapter_settings
from service_core.extensions.command_groups import CommandGroup
from service_core.extensions.discovery import (
    ALL_PLUGINS,
    InstalledPlugin,
    PluginFault,
    PluginSelection,
    find_plugins,
)
from service_core.extensions.pages import WebPage
from service_core.extensions.plugin_values import (
    CATALOG_HOOKS,
    VALUE_KINDS,
    LoadedPlugin,
    find_clashes,
    load_plugin,
)
from service_core.ingestion.import_sources.ports import ImportSource
from service_core.ingestion.import_sources.read_source import index_sources_by_id
from service_core.ingestion.protocols.routes import ProtocolRoutes
from service_core.ingestion.transforms.models import Transform, index_transforms_by_id
from service_core.kernel.errors import StartupError
from service_core.kernel.installed_ids import restrict_or_document_installed_ids
from service_core.kernel.operations import Operation


@dataclass(frozen=True)
class Registry:
    """The values of all plugins, validated and frozen.

    Attributes:
        adapters: (port, scheme) -> adapter.
        operations: endpoints.
        catalog: metrics and dimensions.
        plugins: names of the plugins, in the order they were loaded.
        models: attribution models.
        resources: writable resources.
        ad_platforms: id -> platform.
        revenue_providers: id -> provider.
        webhook_sources: id -> source of events, as a provider without money.
        conversion_senders: id -> sender.
        ingest_protocols: routes of the ingest host.
        import_sources: id -> source.
        transforms: id -> transform of events.
        event_reactions: id -> reaction to stored events.
        scheduled_jobs: id -> job that runs at an interval.
        pages: id -> page of the web application.
        command_groups: name -> commands under ``touchpoint NAME``.
        loaded_plugins: each plugin with its declaration and its values.
        faults: plugins that were left out, each with the reason.
        disabled: names of plugins that the operator left out.
    """

    adapters: Mapping[tuple[str, str], Adapter]
    operations: tuple[Operation, ...]
    catalog: Catalog
    plugins: tuple[str, ...]
    models: AttributionModels = field(default_factory=AttributionModels)
    resources: tuple[ResourceDefinition, ...] = ()
    ad_platforms: Mapping[str, AdPlatform] = field(default_factory=dict)
    revenue_providers: Mapping[str, RevenueProvider] = field(default_factory=dict)
    webhook_sources: Mapping[str, RevenueProvider] = field(default_factory=dict)
    conversion_senders: Mapping[str, ConversionSender] = field(default_factory=dict)
    ingest_protocols: ProtocolRoutes = field(default_factory=ProtocolRoutes)
    import_sources: Mapping[str, ImportSource] = field(default_factory=dict)
    transforms: Mapping[str, Transform] = field(default_factory=dict)
    event_reactions: Mapping[str, EventReaction] = field(default_factory=dict)
    scheduled_jobs: Mapping[str, ScheduledJob] = field(default_factory=dict)
    pages: Mapping[str, WebPage] = field(default_factory=dict)
    command_groups: Mapping[str, CommandGroup] = field(default_factory=dict)
    loaded_plugins: tuple[LoadedPlugin, ...] = ()
    faults: tuple[PluginFault, ...] = ()
    disabled: frozenset[str] = frozenset()

    def plugin_of_value(self, hook: str, id_: str) -> InstalledPlugin | None:
        """Returns the plugin that provides the value of a hook with an id; None if no installed one does."""
        for plugin in self.loaded_plugins:
            if id_ in plugin.provided_ids_by_hook.get(hook, ()):
                return plugin.installed
        return None

    def plugin_of_adapter(self, port: str, scheme: str) -> InstalledPlugin | None:
        """Returns the plugin that provides an adapter; None if no installed one does."""
        return self.plugin_of_value("adapters", f"{port} {scheme}://")

    @property
    def connectable_providers(self) -> InstalledProviders:
        """Returns the providers and platforms that a workspace can connect."""
        senders = self.conversion_senders.keys() - self.ad_platforms.keys()
        return InstalledProviders.index_by_id_requiring_one_kind(
            [
                *(
                    InstalledProvider(
                        id_, ProviderKind.ADS, reports_spend=True, declaration=platform.info.connection
                    )
                    for id_, platform in self.ad_platforms.items()
                ),
                *(
                    InstalledProvider(
                        id_, ProviderKind.ADS, declaration=self.conversion_senders[id_].platform.connection
                    )
                    for id_ in sorted(senders)
                ),
                *(
                    InstalledProvider(
                        id_,
                        ProviderKind.REVENUE,
                        event_names=provider.info.event_names,
                        accepts_webhooks=True,
                        declaration=provider.info.connection,
                    )
                    for id_, provider in self.revenue_providers.items()
                ),
                *(
                    InstalledProvider(
                        id_,
                        ProviderKind.EVENTS,
                        event_names=source.info.event_names,
                        accepts_webhooks=True,
                        declaration=source.info.connection,
                    )
                    for id_, source in self.webhook_sources.items()
                ),
            ]
        )

    @property
    def webhook_providers(self) -> Mapping[str, RevenueProvider]:
        """Revenue providers and webhook sources by id: whatever receives webhooks."""
        return {**self.revenue_providers, **self.webhook_sources}

    @property
    def pixel_platforms(self) -> frozenset[str]:
        """Ids of ad platforms whose pixel the browser script can load."""
        senders = self.conversion_senders.values()
        return frozenset(sender.id for sender in senders if sender.platform.has_browser_pixel)

    def open_adapter(self, port: str, url: str, *, base_folder: Path) -> Any:
        """Returns the adapter selected by a URL.

        Args:
            port: name of the port.
            url: the configured URL.
            base_folder: base of relative paths in the URL.

        Raises:
            StartupError: no installed adapter has the scheme, or the adapter rejects the URL.
        """
        adapter = self.adapter_for_url_scheme(port, url)
        return adapter.open(parse_adapter_settings(adapter, url, base_folder))

    def adapter_for_url_scheme(self, port: str, url: str) -> Adapter:
        """Returns the adapter declaration for the scheme of a URL.

        Raises:
            StartupError: no installed adapter has the scheme; the message names the installed ones.
        """
        scheme, colon, _ = url.partition("://")
        adapter = self.adapters.get((port, scheme.lower()))
        if adapter is None or not colon:
            known = ", ".join(f"{s}://" for p, s in sorted(self.adapters) if p == port) or "none"
            serves = f"serves {scheme}://" if colon else f"can be chosen, as {url!r} is no URL"
            left_out = "".join(f" Left out: {fault.message}" for fault in self.faults)
            raise StartupError(
                f"No adapter for {port!r} {serves}. Installed: {known}. "
                f"Correct the URL in the settings, or install the plugin that brings it.{left_out}"
            )
        return adapter

    def local_data_of_url(
        self, port: str, url: str, *, base_folder: Path
    ) -> tuple[LocalDataKind, Path] | None:
        """Returns the kind and path of the local data of a URL; None if a server stores it.

        Raises:
            StartupError: as `open_adapter`.
        """
        adapter = self.adapter_for_url_scheme(port, url)
        path = parse_adapter_settings(adapter, url, base_folder).path
        return None if adapter.local_data is None or path is None else (adapter.local_data, path)


def collect_plugins_into_registry(
    extra_plugins: Iterable[tuple[str, object]] = (),
    *,
    discover_entry_points: bool = True,
    with_catalog: bool = True,
    selection: PluginSelection = ALL_PLUGINS,
) -> Registry:
    """Returns the frozen registry of all installed plugins.

    Args:
        extra_plugins: additional plugins as (name, module or object): the core's own, or those of a test.
        discover_entry_points: whether to load the plugins of the entry point group ``touchpoint`` and of the plugin folder.
        with_catalog: whether to collect metrics and dimensions. A process without the core skips them, because metrics of a
            plugin refer to dimensions of the core.
        selection: which plugins are disabled, the plugin folder, and whether faulty plugins are left out.

    Raises:
        StartupError: a plugin cannot be imported, a hook is misspelt, fails or returns a wrong type, or two plugins
            conflict. The message names every fault. With ``selection.leave_out_faulty`` they are in `Registry.faults`.
    """
    hooks = [hook for hook in VALUE_KINDS if with_catalog or hook not in CATALOG_HOOKS]
    installed, faults = find_plugins(selection, extra_plugins, discover_entry_points=discover_entry_points)
    loaded, load_faults = _load_plugins(installed, hooks)
    faults += load_faults
    loaded = _without_faulty(loaded, faults, find_clashes(loaded))
    while with_catalog and (catalog_faults := _find_catalog_faults(loaded)):
        loaded = _without_faulty(loaded, faults, catalog_faults)  # others may need what these provided
    if faults and not selection.leave_out_faulty:
        raise StartupError(" ".join(fault.message for fault in faults))
    return _build_registry(loaded, tuple(faults), selection.disabled)


def _load_plugins(
    installed: Iterable[InstalledPlugin], hooks: Sequence[str]
) -> tuple[list[LoadedPlugin], list[PluginFault]]:
    """Returns the plugins that can be loaded, and the faults of the others."""
    loaded, faults = [], []
    for plugin in installed:
        try:
            candidate = load_plugin(plugin, hooks)
            ProtocolRoutes.index_by_unique_path(candidate.values.get("ingest_protocols", ()))
            index_sources_by_id(candidate.values.get("import_sources", ()))
            index_transforms_by_id(candidate.values.get("transforms", ()))
            index_tasks_by_id(candidate.values.get("event_reactions", ()), "event reaction")
            index_tasks_by_id(candidate.values.get("scheduled_jobs", ()), "scheduled job")
            loaded.append(candidate)
        except StartupError as fault:
            faults.append(PluginFault(plugin, str(fault)))
    return loaded, faults


def _without_faulty(
    loaded: Iterable[LoadedPlugin], known_faults: list[PluginFault], new_faults: list[PluginFault]
) -> list[LoadedPlugin]:
    """Appends the new faults to the known ones; returns the plugins that have none of the new ones."""
    known_faults += new_faults
    faulty = {id(fault.plugin) for fault in new_faults}
    return [plugin for plugin in loaded if id(plugin.installed) not in faulty]


def _find_catalog_faults(loaded: Sequence[LoadedPlugin]) -> list[PluginFault]:
    """Returns a fault for each plugin whose metrics or dimensions do not fit those of the plugins before it."""
    try:
        _build_catalog(loaded)
    except StartupError:
        pass
    else:
        return []
    dimensions = [value for plugin in loaded for value in plugin.values["dimensions"]]
    faults = []
    for plugin in loaded:
        try:
            Catalog.from_validated_definitions(plugin.values["metrics"], dimensions)
        except StartupError as fault:
            message = f"Plugin {plugin.installed.described}: {fault}"
            faults.append(PluginFault(plugin.installed, message))
    return faults


def _build_catalog(loaded: Iterable[LoadedPlugin]) -> Catalog:
    plugins = list(loaded)
    return Catalog.from_validated_definitions(
        [value for plugin in plugins for value in plugin.values.get("metrics", ())],
        [value for plugin in plugins for value in plugin.values.get("dimensions", ())],
    )


def _build_registry(
    loaded: Sequence[LoadedPlugin], faults: tuple[PluginFault, ...], disabled: frozenset[str]
) -> Registry:
    """Returns the registry of plugins that fit each other."""

    def values_of(hook: str) -> list[Any]:
        return [value for plugin in loaded for value in plugin.values.get(hook, ())]

    resources = tuple(values_of("resources"))
    ad_platforms = MappingProxyType({platform.id: platform for platform in values_of("ad_platforms")})
    providers = MappingProxyType({provider.id: provider for provider in values_of("revenue_providers")})
    installed_ids = {"ad_platforms": tuple(ad_platforms), "revenue_providers": tuple(providers)}
    operations = [*values_of("operations"), *(op for resource in resources for op in resource.operations)]
    return Registry(
        adapters=MappingProxyType(
            {(adapter.port, adapter.scheme): adapter for adapter in values_of("adapters")}
        ),
        operations=tuple(_with_installed_ids(operation, installed_ids) for operation in operations),
        catalog=_build_catalog(loaded),
        plugins=tuple(plugin.installed.name for plugin in loaded),
        models=AttributionModels.index_by_unique_id(values_of("attribution_models")),
        resources=resources,
        ad_platforms=ad_platforms,
        revenue_providers=providers,
        webhook_sources=index_webhook_sources_by_id(values_of("webhook_sources")),
        conversion_senders=MappingProxyType(
            {sender.id: sender for sender in values_of("conversion_senders")}
        ),
        ingest_protocols=ProtocolRoutes.index_by_unique_path(values_of("ingest_protocols")),
        import_sources=index_sources_by_id(values_of("import_sources")),
        transforms=index_transforms_by_id(values_of("transforms")),
        event_reactions=index_tasks_by_id(values_of("event_reactions"), "event reaction"),
        scheduled_jobs=index_tasks_by_id(values_of("scheduled_jobs"), "scheduled job"),
        pages=MappingProxyType({page.id: page for page in values_of("pages")}),
        command_groups=MappingProxyType({group.name: group for group in values_of("command_groups")}),
        loaded_plugins=tuple(loaded),
        faults=faults,
        disabled=disabled,
    )


def _with_installed_ids(operation: Operation, ids: Mapping[str, Sequence[str]]) -> Operation:
    """Returns the operation with the installed ids in its query parameters."""
    query = operation.query and restrict_or_document_installed_ids(operation.query, ids)
    return operation if query is operation.query else replace(operation, query=query)
