"""Collects the values of plugins, one plugin after the other, so that a fault is known by its plugin."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, Final, get_args

import pluggy

from service_core.analytics.attribution.ports import AttributionModel
from service_core.analytics.connections.declaration import ConnectionDeclaration
from service_core.analytics.query.catalog import Dimension, Metric
from service_core.changes.resource_definition import ResourceDefinition
from service_core.commerce.ads.ports import AdPlatform
from service_core.commerce.providers.ports import RevenueProvider, WebhookSource
from service_core.delivery.plugin_tasks.models import EventReaction, ScheduledJob
from service_core.delivery.postbacks.ports import ConversionSender
from service_core.extensions.adapters import Adapter
from service_core.extensions.command_groups import CommandGroup
from service_core.extensions.discovery import InstalledPlugin, PluginFault, PluginOrigin
from service_core.extensions.hooks import ENTRY_POINT_GROUP, Hooks
from service_core.extensions.pages import WebPage
from service_core.extensions.plugin_info import (
    PluginInfo,
    describe_unsupported_api_version,
    describe_wrong_field_type,
)
from service_core.ingestion.import_sources.ports import ImportSource
from service_core.ingestion.protocols.ports import IngestProtocol
from service_core.ingestion.transforms.models import Transform
from service_core.kernel.errors import StartupError
from service_core.kernel.operations import Operation


@dataclass(frozen=True)
class _ValueKind:
    """What one hook returns.

    Attributes:
        type: the type of its values.
        id_of: returns the id of a value; ids are unique among all plugins.
        describe: returns the text for a value in messages.
    """

    type: Any
    id_of: Callable[[Any], str]
    describe: Callable[[Any], str]


def _kind(type_: Any, noun: str) -> _ValueKind:
    return _ValueKind(type_, lambda value: str(value.id), lambda value: f"the {noun} {value.id!r}")


VALUE_KINDS: Final[Mapping[str, _ValueKind]] = {
    "adapters": _ValueKind(
        Adapter,
        lambda adapter: f"{adapter.port} {adapter.scheme}://",
        lambda adapter: f"an adapter for {adapter.port!r} that serves {adapter.scheme}://",
    ),
    "operations": _ValueKind(
        Operation,
        lambda operation: f"{operation.prefix} {operation.method} {operation.path}",
        lambda operation: f"{operation.method} {operation.path}",
    ),
    "resources": _ValueKind(
        ResourceDefinition,
        lambda resource: str(resource.resource_type.model.resource_type),
        lambda resource: f"the resource {resource.resource_type.model.resource_type!r}",
    ),
    "metrics": _kind(Metric, "metric"),
    "dimensions": _kind(Dimension, "dimension"),
    "attribution_models": _kind(AttributionModel, "attribution model"),
    "ad_platforms": _kind(AdPlatform, "ad platform"),
    "revenue_providers": _kind(RevenueProvider, "revenue provider"),
    "webhook_sources": _kind(WebhookSource, "webhook source"),
    "conversion_senders": _kind(ConversionSender, "sender of conversions"),
    "ingest_protocols": _ValueKind(
        IngestProtocol,
        lambda protocol: str(protocol.info.id),
        lambda protocol: f"the ingest protocol {protocol.info.id!r}",
    ),
    "import_sources": _ValueKind(
        ImportSource,
        lambda source: str(source.info.id),
        lambda source: f"the import source {source.info.id!r}",
    ),
    "transforms": _kind(Transform, "transform"),
    "event_reactions": _kind(EventReaction, "event reaction"),
    "scheduled_jobs": _kind(ScheduledJob, "scheduled job"),
    "pages": _kind(WebPage, "page"),
    "command_groups": _ValueKind(
        CommandGroup, lambda group: str(group.name), lambda group: f"the command {group.name!r}"
    ),
}
"""Hook -> what its values are, in the order they are listed."""

CATALOG_HOOKS: Final = frozenset({"metrics", "dimensions"})
_INFO_HOOK: Final = "plugin_info"
_PROVIDER_KIND_BY_HOOK: Final = {
    "ad_platforms": "an ad platform",
    "conversion_senders": "an ad platform",
    "revenue_providers": "a revenue provider",
    "webhook_sources": "a webhook source",
}


@dataclass(frozen=True)
class LoadedPlugin:
    """A plugin with the values of its hooks.

    Attributes:
        installed: where it comes from.
        info: its declaration.
        values: hook -> its values.
    """

    installed: InstalledPlugin
    info: PluginInfo
    values: Mapping[str, Sequence[Any]]

    @property
    def version(self) -> str:
        """Version of its package, or the one it declares."""
        return self.installed.version or self.info.version

    @property
    def homepage(self) -> str:
        """The URL it declares, or that of its package."""
        return self.info.homepage or self.installed.homepage

    @property
    def label(self) -> str:
        """The label it declares, or its name."""
        return self.info.label or self.installed.name

    @property
    def all_operations(self) -> Sequence[Operation]:
        """Its operations, and those of its resources."""
        resources = self.values.get("resources", ())
        return [
            *self.values.get("operations", ()),
            *(op for resource in resources for op in resource.operations),
        ]

    @property
    def connections(self) -> Mapping[str, ConnectionDeclaration]:
        """Id of each provider that a workspace can connect -> how it is connected; providers that declare nothing are left out."""
        declared = {
            **{sender.id: sender.platform.connection for sender in self.values.get("conversion_senders", ())},
            **{
                provider.id: provider.info.connection
                for hook in ("ad_platforms", "revenue_providers", "webhook_sources")
                for provider in self.values.get(hook, ())
            },
        }
        return {id_: connection for id_, connection in declared.items() if connection is not None}

    @cached_property
    def provided_ids_by_hook(self) -> Mapping[str, tuple[str, ...]]:
        """Hook -> ids of the values it provides; hooks without values are left out."""
        return {
            hook: tuple(map(VALUE_KINDS[hook].id_of, values))
            for hook, values in self.values.items()
            if values
        }


def load_plugin(plugin: InstalledPlugin, hooks: Iterable[str]) -> LoadedPlugin:
    """Imports a plugin and collects the values of its hooks.

    Args:
        plugin: the plugin.
        hooks: the hooks to call.

    Raises:
        StartupError: it cannot be imported, or a hook is misspelt, fails or returns a wrong type.
    """
    manager = pluggy.PluginManager(ENTRY_POINT_GROUP)
    manager.add_hookspecs(Hooks)
    _register_plugin(manager, _import_or_startup_error(plugin), plugin)
    _refuse_unknown_hooks(manager, plugin)
    info = _info_of_plugin(manager, plugin)
    values = {hook: _values_of_hook(manager, plugin, hook) for hook in hooks}
    loaded = LoadedPlugin(plugin, info, MappingProxyType(values))
    _require_readable_ids(loaded)
    return loaded


def find_clashes(plugins: Sequence[LoadedPlugin]) -> list[PluginFault]:
    """Returns a fault for each value whose id an earlier plugin has; it names both packages."""
    owner_by_id: dict[tuple[str, str], LoadedPlugin] = {}
    faults = []
    for plugin in plugins:
        for hook, id_, description in _ids_of_plugin(plugin):
            if (first := owner_by_id.get((hook, id_))) is not None:
                faults.append(PluginFault(plugin.installed, _describe_clash(first, plugin, description)))
            else:
                owner_by_id[hook, id_] = plugin
    return [*faults, *_find_ids_of_two_provider_kinds(plugins)]


def describe_plugin_exception(error: BaseException) -> str:
    """Returns the type and text of an exception of a plugin."""
    return f"{type(error).__name__}: {error}"


def _find_ids_of_two_provider_kinds(plugins: Iterable[LoadedPlugin]) -> list[PluginFault]:
    """Returns a fault for each revenue provider with the id of an ad platform, and the reverse."""
    first_by_id: dict[str, tuple[LoadedPlugin, str]] = {}
    faults = []
    for plugin in plugins:
        for hook, kind in _PROVIDER_KIND_BY_HOOK.items():
            for id_ in plugin.provided_ids_by_hook.get(hook, ()):
                first, first_kind = first_by_id.setdefault(id_, (plugin, kind))
                if first_kind != kind:
                    description = f"{id_!r}, as {first_kind} and as {kind}"
                    faults.append(PluginFault(plugin.installed, _describe_clash(first, plugin, description)))
    return faults


def _require_readable_ids(plugin: LoadedPlugin) -> None:
    """Reads the ids of all values once.

    Raises:
        StartupError: one cannot be read, as of a provider whose `info` fails.
    """
    try:
        for _ in _ids_of_plugin(plugin):
            pass
    except Exception as error:
        raise StartupError(
            f"Plugin {plugin.installed.described}: the id of a value cannot be read. "
            f"{describe_plugin_exception(error)}.{_advice(plugin.installed)}"
        ) from error


def _ids_of_plugin(plugin: LoadedPlugin) -> Iterator[tuple[str, str, str]]:
    """Yields hook, id and description of each value; routes of resources and of protocols, too."""
    for hook, values in plugin.values.items():
        kind = VALUE_KINDS[hook]
        yield from ((hook, kind.id_of(value), kind.describe(value)) for value in values)
    operations = VALUE_KINDS["operations"]
    for resource in plugin.values.get("resources", ()):
        for operation in resource.operations:
            yield "operations", operations.id_of(operation), operations.describe(operation)
    for protocol in plugin.values.get("ingest_protocols", ()):
        for route in protocol.info.routes:
            yield "ingest_routes", route.path, f"the route {route.path!r} of the ingest host"


def _describe_clash(first: LoadedPlugin, second: LoadedPlugin, description: str) -> str:
    if first is second:
        return f"Plugin {first.installed.described} provides {description} twice. Remove one of them."
    return (
        f"Plugins {first.installed.described} and {second.installed.described} both provide {description}. "
        "Uninstall one of them, or rename it in one of them."
    )


def _import_or_startup_error(plugin: InstalledPlugin) -> object:
    try:
        return plugin.load()
    except (Exception, SystemExit) as fault:
        raise StartupError(
            f"Plugin {plugin.described} cannot be imported. {describe_plugin_exception(fault)}.{_advice(plugin)}"
        ) from fault


def _register_plugin(manager: pluggy.PluginManager, module: object, plugin: InstalledPlugin) -> None:
    try:
        manager.register(module, plugin.name)
    except pluggy.PluginValidationError as fault:
        raise StartupError(
            f"Plugin {plugin.described} implements a hook with wrong parameters: {fault}{_advice(plugin)}"
        ) from fault


def _refuse_unknown_hooks(manager: pluggy.PluginManager, plugin: InstalledPlugin) -> None:
    """Raises an error for a hook implementation without a specification."""
    try:
        manager.check_pending()
    except pluggy.PluginValidationError as fault:
        known = [name for name in vars(Hooks) if not name.startswith("_")]
        misspelt = str(fault).split("'")[1]
        near = get_close_matches(misspelt, known, n=1, cutoff=0)
        raise StartupError(
            f"Plugin {plugin.described} implements the hook {misspelt!r}, which does not exist. "
            f"Did you mean {near[0]!r}? Hooks: {', '.join(known)}.{_advice(plugin)}"
        ) from fault


def _info_of_plugin(manager: pluggy.PluginManager, plugin: InstalledPlugin) -> PluginInfo:
    """Returns the declaration of the plugin, or an empty one.

    Raises:
        StartupError: it is no declaration, or the plugin needs another version of the API.
    """
    declared = [
        _call_hook(plugin, _INFO_HOOK, implementation.function)
        for implementation in getattr(manager.hook, _INFO_HOOK).get_hookimpls()
    ]
    if not declared:
        return PluginInfo()
    (info,) = declared
    if not isinstance(info, PluginInfo):
        raise StartupError(f"{_subject(plugin, _INFO_HOOK)} returns {info!r}, which is not a PluginInfo.")
    if (wrong := describe_wrong_field_type(info)) is not None:
        raise StartupError(f"{_subject(plugin, _INFO_HOOK)} is invalid: {wrong}.{_advice(plugin)}")
    problem = describe_unsupported_api_version(info.api_version)
    if problem is not None:
        raise StartupError(f"Plugin {plugin.described} cannot run: {problem}.{_advice(plugin)}")
    return info


def _values_of_hook(manager: pluggy.PluginManager, plugin: InstalledPlugin, hook: str) -> list[Any]:
    values: list[Any] = []
    for implementation in getattr(manager.hook, hook).get_hookimpls():
        returned = _call_hook(plugin, hook, partial(_list_values, implementation.function))
        for value in returned:
            if not _call_hook(plugin, hook, partial(isinstance, value, VALUE_KINDS[hook].type)):
                raise StartupError(
                    f"{_subject(plugin, hook)} returns {value!r}, which is not a {_type_name(VALUE_KINDS[hook].type)}."
                )
        values += returned
    return values


def _list_values(function: Callable[..., Any]) -> list[Any]:
    return list(function())


def _call_hook(plugin: InstalledPlugin, hook: str, function: Callable[[], Any]) -> Any:
    try:
        return function()
    except (Exception, SystemExit) as error:
        raise StartupError(
            f"{_subject(plugin, hook)} failed. {describe_plugin_exception(error)}.{_advice(plugin)}"
        ) from error


def _subject(plugin: InstalledPlugin, hook: str) -> str:
    return f"Plugin {plugin.described}: its hook {hook!r}"


def _type_name(kind: Any) -> str:
    """Returns the name of a class, or the names of a union."""
    return " or ".join(type_.__name__ for type_ in get_args(kind) or (kind,))


def _advice(plugin: InstalledPlugin) -> str:
    """Returns the advice how to start without the plugin; empty for a built-in one."""
    if plugin.origin is PluginOrigin.BUILT_IN:
        return ""
    return f" Start without it: --without-plugin {plugin.name}, or plugins.disabled in the settings."
