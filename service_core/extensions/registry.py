"""Everything installed: the values of all plugins, collected once, checked and frozen."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, cast, get_args

import pluggy

from service_core.analytics.attribution.models import AttributionModels
from service_core.analytics.attribution.ports import AttributionModel
from service_core.analytics.query.catalog import Catalog, Dimension, Metric
from service_core.changes.resource import ResourceDefinition
from service_core.commerce.ads.ports import AdPlatform
from service_core.commerce.providers.ports import RevenueProvider
from service_core.delivery.postbacks.ports import ConversionSender
from service_core.extensions.adapters import Adapter, LocalDataKind, parse_adapter_settings
from service_core.extensions.hooks import ENTRY_POINT_GROUP, Hooks
from service_core.kernel.errors import StartupError
from service_core.kernel.operations import Operation
from service_core.kernel.unique_index import index_unique


@dataclass(frozen=True)
class Registry:
    """Everything installed, checked and frozen."""

    adapters: Mapping[tuple[str, str], Adapter]
    operations: tuple[Operation, ...]
    catalog: Catalog
    plugins: tuple[str, ...]
    models: AttributionModels = field(default_factory=AttributionModels)
    resources: tuple[ResourceDefinition, ...] = ()
    ad_platforms: Mapping[str, AdPlatform] = field(default_factory=dict)
    revenue_providers: Mapping[str, RevenueProvider] = field(default_factory=dict)
    conversion_senders: Mapping[str, ConversionSender] = field(default_factory=dict)

    def open_adapter(self, port: str, url: str, *, folder: Path) -> Any:
        """Build the adapter that ``url`` names.

        Args:
            port: name of the port.
            url: setting of the deployment; a relative path in it is relative to ``folder``.

        Raises:
            StartupError: unknown scheme (the installed ones are named) or a URL the adapter refuses.
        """
        adapter = self.adapter_for_url(port, url)
        return adapter.open(parse_adapter_settings(adapter, url, folder))

    def adapter_for_url(self, port: str, url: str) -> Adapter:
        """The adapter that serves ``url``.

        Raises:
            StartupError: unknown scheme; the installed ones are named.
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

    def local_data_of_url(self, port: str, url: str, *, folder: Path) -> tuple[LocalDataKind, Path] | None:
        """What the adapter of ``url`` keeps on this machine, and where; None when a server keeps it.

        Raises:
            StartupError: as `open`.
        """
        adapter = self.adapter_for_url(port, url)
        path = parse_adapter_settings(adapter, url, folder).path
        return None if adapter.local_data is None or path is None else (adapter.local_data, path)


def load_plugins(
    extra: Iterable[tuple[str, object]] = (), *, discover: bool = True, catalog: bool = True
) -> Registry:
    """Collect every installed plugin into a frozen registry.

    Args:
        extra: further plugins as (name, module or object): the core's own, or those of a test.
        discover: read the entry points of the group ``touchpoint``.
        catalog: collect metrics and dimensions. A process without the core leaves them empty: metrics of
            a plugin name dimensions of the core.

    Raises:
        StartupError: a plugin that cannot be imported, a misspelt hook, one that fails or returns something else
            than its values, or a clash of two plugins.
    """
    manager = pluggy.PluginManager(ENTRY_POINT_GROUP)
    manager.add_hookspecs(Hooks)
    for name, plugin in extra:
        _register_plugin(manager, plugin, name)
    for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda p: p.name) if discover else ():
        if not manager.has_plugin(point.name):
            _register_plugin(manager, _import_plugin(point), point.name)
    _check_hooks(manager)
    resources = tuple(_collect_hook(manager.hook.resources, ResourceDefinition))
    of_resources = [operation for resource in resources for operation in resource.operations]
    return Registry(
        adapters=index_unique(
            _collect_hook(manager.hook.adapters, Adapter),
            lambda a: (a.port, a.scheme),
            lambda a: f"an adapter for {a.port!r} that serves {a.scheme}://",
        ),
        operations=tuple(
            index_unique(
                [*_collect_hook(manager.hook.operations, Operation), *of_resources],
                lambda op: (op.prefix, op.method, op.path),
                lambda op: f"{op.method} {op.path}",
            ).values()
        ),
        catalog=Catalog.of(
            _collect_hook(manager.hook.metrics, Metric), _collect_hook(manager.hook.dimensions, Dimension)
        )
        if catalog
        else Catalog({}),
        plugins=tuple(name for name, _ in manager.list_name_plugin()),
        models=AttributionModels.of(_collect_hook(manager.hook.attribution_models, AttributionModel)),
        resources=resources,
        ad_platforms=index_unique(
            _collect_hook(manager.hook.ad_platforms, AdPlatform),
            lambda p: p.id,
            lambda p: f"the ad platform {p.id!r}",
        ),
        revenue_providers=index_unique(
            _collect_hook(manager.hook.revenue_providers, RevenueProvider),
            lambda p: p.id,
            lambda p: f"the revenue provider {p.id!r}",
        ),
        conversion_senders=index_unique(
            _collect_hook(manager.hook.conversion_senders, ConversionSender),
            lambda s: s.id,
            lambda s: f"the sender of conversions {s.id!r}",
        ),
    )


def _collect_hook(hook: pluggy.HookCaller, kind: Any) -> list[Any]:
    """What plugins bring by one hook, in order of registration, each asked for itself: one that fails is named."""
    values: list[Any] = []
    for plugin in hook.get_hookimpls():
        asked = f"Plugin {plugin.plugin_name!r}: its hook {hook.name!r}"
        try:
            brought = list(cast(Iterable[Any], plugin.function()))
        except Exception as fault:
            raise StartupError(f"{asked} failed. {_describe_exception(fault)}.") from fault
        for value in brought:
            if not isinstance(value, kind):
                raise StartupError(f"{asked} returns {value!r}, which is no {_type_name(kind)}.")
        values += brought
    return values


def _describe_exception(fault: Exception) -> str:
    return f"{type(fault).__name__}: {fault}"


def _type_name(kind: Any) -> str:
    """The name of a class, or those of a union."""
    return " or ".join(one.__name__ for one in get_args(kind) or (kind,))


def _import_plugin(point: Any) -> object:
    try:
        return point.load()
    except Exception as fault:
        raise StartupError(
            f"Plugin {point.name!r} ({point.value}) cannot be imported. {_describe_exception(fault)}."
        ) from fault


def _check_hooks(manager: pluggy.PluginManager) -> None:
    """Refuse a function marked as a hook that no specification knows."""
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
        raise StartupError(f"Plugin {name!r} implements a hook with other parameters: {fault}") from fault
