"""The registry: the values of all plugins, collected once, validated and frozen."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, cast, get_args

import pluggy

from service_core.analytics.attribution.models import AttributionModels
from service_core.analytics.attribution.ports import AttributionModel
from service_core.analytics.connections.models import ProviderKind
from service_core.analytics.connections.providers import InstalledProvider, InstalledProviders
from service_core.analytics.query.catalog import Catalog, Dimension, Metric
from service_core.changes.resource_definition import ResourceDefinition
from service_core.commerce.ads.ports import AdPlatform
from service_core.commerce.providers.ports import RevenueProvider
from service_core.delivery.postbacks.ports import ConversionSender
from service_core.extensions.adapters import Adapter, LocalDataKind, parse_adapter_settings
from service_core.extensions.hooks import ENTRY_POINT_GROUP, Hooks
from service_core.ingestion.protocols.ports import IngestProtocol
from service_core.ingestion.protocols.routes import ProtocolRoutes
from service_core.kernel.errors import StartupError
from service_core.kernel.installed_ids import restrict_or_document_installed_ids
from service_core.kernel.operations import Operation
from service_core.kernel.unique_index import index_unique_or_startup_error


@dataclass(frozen=True)
class Registry:
    """The values of all plugins, validated and frozen."""

    adapters: Mapping[tuple[str, str], Adapter]
    operations: tuple[Operation, ...]
    catalog: Catalog
    plugins: tuple[str, ...]
    models: AttributionModels = field(default_factory=AttributionModels)
    resources: tuple[ResourceDefinition, ...] = ()
    ad_platforms: Mapping[str, AdPlatform] = field(default_factory=dict)
    revenue_providers: Mapping[str, RevenueProvider] = field(default_factory=dict)
    conversion_senders: Mapping[str, ConversionSender] = field(default_factory=dict)
    ingest_protocols: ProtocolRoutes = field(default_factory=ProtocolRoutes)

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
            ]
        )

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
            raise StartupError(
                f"No adapter for {port!r} {serves}. Installed: {known}. "
                "Correct the URL in the settings, or install the plugin that brings it."
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
) -> Registry:
    """Returns the frozen registry of all installed plugins.

    Args:
        extra_plugins: additional plugins as (name, module or object): the core's own, or those of a test.
        discover_entry_points: whether to load the plugins of the entry point group ``touchpoint``.
        with_catalog: whether to collect metrics and dimensions. A process without the core skips them, because metrics of a
            plugin refer to dimensions of the core.

    Raises:
        StartupError: a plugin cannot be imported, a hook is misspelt, fails or returns a wrong type, or two plugins
            conflict.
    """
    manager = pluggy.PluginManager(ENTRY_POINT_GROUP)
    manager.add_hookspecs(Hooks)
    for name, plugin in extra_plugins:
        _register_plugin(manager, plugin, name)
    for point in (
        sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda p: p.name) if discover_entry_points else ()
    ):
        if not manager.has_plugin(point.name):
            _register_plugin(manager, _import_plugin_or_startup_error(point), point.name)
    _refuse_unknown_hooks(manager)
    resources = tuple(_collect_hook_values_of_type(manager.hook.resources, ResourceDefinition))
    resource_operations = [operation for resource in resources for operation in resource.operations]
    ad_platforms = index_unique_or_startup_error(
        _collect_hook_values_of_type(manager.hook.ad_platforms, AdPlatform),
        lambda p: p.id,
        lambda p: f"the ad platform {p.id!r}",
    )
    revenue_providers = index_unique_or_startup_error(
        _collect_hook_values_of_type(manager.hook.revenue_providers, RevenueProvider),
        lambda p: p.id,
        lambda p: f"the revenue provider {p.id!r}",
    )
    installed_ids = {"ad_platforms": tuple(ad_platforms), "revenue_providers": tuple(revenue_providers)}
    operations = [*_collect_hook_values_of_type(manager.hook.operations, Operation), *resource_operations]
    return Registry(
        adapters=index_unique_or_startup_error(
            _collect_hook_values_of_type(manager.hook.adapters, Adapter),
            lambda a: (a.port, a.scheme),
            lambda a: f"an adapter for {a.port!r} that serves {a.scheme}://",
        ),
        operations=tuple(
            index_unique_or_startup_error(
                [_with_installed_ids(operation, installed_ids) for operation in operations],
                lambda op: (op.prefix, op.method, op.path),
                lambda op: f"{op.method} {op.path}",
            ).values()
        ),
        catalog=Catalog.from_validated_definitions(
            _collect_hook_values_of_type(manager.hook.metrics, Metric),
            _collect_hook_values_of_type(manager.hook.dimensions, Dimension),
        )
        if with_catalog
        else Catalog({}),
        plugins=tuple(name for name, _ in manager.list_name_plugin()),
        models=AttributionModels.index_by_unique_id(
            _collect_hook_values_of_type(manager.hook.attribution_models, AttributionModel)
        ),
        resources=resources,
        ad_platforms=ad_platforms,
        revenue_providers=revenue_providers,
        conversion_senders=index_unique_or_startup_error(
            _collect_hook_values_of_type(manager.hook.conversion_senders, ConversionSender),
            lambda s: s.id,
            lambda s: f"the sender of conversions {s.id!r}",
        ),
        ingest_protocols=ProtocolRoutes.index_by_unique_path(
            _collect_hook_values_of_type(manager.hook.ingest_protocols, IngestProtocol)
        ),
    )


def _with_installed_ids(operation: Operation, ids: Mapping[str, Sequence[str]]) -> Operation:
    """Returns the operation with the installed ids in its query parameters."""
    query = operation.query and restrict_or_document_installed_ids(operation.query, ids)
    return operation if query is operation.query else replace(operation, query=query)


def _collect_hook_values_of_type(hook: pluggy.HookCaller, expected_type: Any) -> list[Any]:
    """Returns the values of one hook from all plugins in registration order. Errors name the plugin."""
    values: list[Any] = []
    for plugin in hook.get_hookimpls():
        subject = f"Plugin {plugin.plugin_name!r}: its hook {hook.name!r}"
        try:
            returned = list(cast(Iterable[Any], plugin.function()))
        except Exception as error:
            raise StartupError(f"{subject} failed. {_describe_exception(error)}.") from error
        for value in returned:
            if not isinstance(value, expected_type):
                raise StartupError(
                    f"{subject} returns {value!r}, which is not a {_type_name(expected_type)}."
                )
        values += returned
    return values


def _describe_exception(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _type_name(kind: Any) -> str:
    """Returns the name of a class, or the names of a union."""
    return " or ".join(type_.__name__ for type_ in get_args(kind) or (kind,))


def _import_plugin_or_startup_error(entry_point: Any) -> object:
    try:
        return entry_point.load()
    except Exception as fault:
        raise StartupError(
            f"Plugin {entry_point.name!r} ({entry_point.value}) cannot be imported. {_describe_exception(fault)}."
        ) from fault


def _refuse_unknown_hooks(manager: pluggy.PluginManager) -> None:
    """Raises an error for a hook implementation without a specification."""
    try:
        manager.check_pending()
    except pluggy.PluginValidationError as fault:
        known = [name for name in vars(Hooks) if not name.startswith("_")]
        misspelt = str(fault).split("'")[1]
        near = get_close_matches(misspelt, known, n=1, cutoff=0)
        raise StartupError(
            f"Plugin {manager.get_name(fault.plugin)!r} implements the hook {misspelt!r}, which does not exist. "
            f"Did you mean {near[0]!r}? Hooks: {', '.join(known)}."
        ) from fault


def _register_plugin(manager: pluggy.PluginManager, plugin: object, name: str) -> None:
    try:
        manager.register(plugin, name)
    except pluggy.PluginValidationError as fault:
        raise StartupError(f"Plugin {name!r} implements a hook with wrong parameters: {fault}") from fault
