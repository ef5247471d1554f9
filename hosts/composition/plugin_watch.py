"""Watches the calls of plugins: faults, durations, and steps that block the event loop."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from hosts.composition.adapter_wrappers import WrappedAdapter
from hosts.composition.ports import PORTS
from hosts.composition.watched_calls import Observe, watch_method
from service_core.analytics.attribution.models import AttributionModels
from service_core.analytics.attribution.ports import AttributionModel, DataDrivenModel
from service_core.commerce.ads.ports import SupportsBaseUrl
from service_core.commerce.providers.ports import PollableProvider, WebhookSource
from service_core.delivery.postbacks.ports import RelocatableSender
from service_core.extensions.adapters import Adapter
from service_core.extensions.discovery import InstalledPlugin, PluginOrigin
from service_core.extensions.registry import Registry
from service_core.ingestion.import_sources.ports import ImportSource
from service_core.ingestion.protocols.ports import IngestProtocol
from service_core.ingestion.protocols.routes import ProtocolRoutes
from service_core.kernel.operations import Operation

_PORTS_OF_EACH_EVENT_OR_REQUEST: Final = frozenset(
    {"workspace", "limits", "queue", "redirect_cache", "geo", "devices", "domains"}
)
"""Built-in adapters of these ports are not watched: they are called for each event or request, whose metrics show them."""

_PROTOCOLS_BY_HOOK: Final[Mapping[str, type]] = {
    "revenue_providers": PollableProvider,
    "ad_platforms": SupportsBaseUrl,
    "webhook_sources": WebhookSource,
    "conversion_senders": RelocatableSender,
    "import_sources": ImportSource,
    "ingest_protocols": IngestProtocol,
}
"""Hook -> the largest protocol of its values. Ingest protocols that are built in are not watched, as above."""

_MOVED_BY: Final = "with_base_url"


def watch_plugins(registry: Registry, observe: Observe) -> Registry:
    """Returns the registry in which calls of plugins are watched.

    Args:
        registry: the registry.
        observe: gets each finished call.
    """
    adapters = {
        key: _with_watched_open(adapter, plugin, observe)
        if (plugin := registry.plugin_of_adapter(*key)) is not None
        and not _is_built_in_and_called_often(plugin, adapter.port)
        else adapter
        for key, adapter in registry.adapters.items()
    }
    watched: dict[str, Any] = {
        hook: MappingProxyType(_watch_values(registry, hook, observe))
        for hook in _PROTOCOLS_BY_HOOK
        if hook != "ingest_protocols"
    }
    return replace(
        registry,
        adapters=MappingProxyType(adapters),
        ingest_protocols=_watch_ingest_protocols(registry, observe),
        models=_watch_models(registry, observe),
        operations=_watch_operations_of_other_packages(registry, observe),
        event_reactions=_watch_functions(registry, "event_reactions", "react", observe),
        scheduled_jobs=_watch_functions(registry, "scheduled_jobs", "run", observe),
        pages=_watch_functions(registry, "pages", "load", observe),
        **watched,
    )


def watch_value(plugin: InstalledPlugin, value: Any, protocol: type, observe: Observe) -> WrappedAdapter:
    """Returns a value of a plugin with the methods of its protocol watched.

    Args:
        plugin: whose value it is.
        value: implements the protocol.
        protocol: its methods are watched; attributes and properties keep their values.
        observe: gets each finished call.
    """
    members: dict[str, Any] = {}
    for name in _public_names(protocol):
        member = getattr(value, name, None)
        if name == _MOVED_BY and member is not None:
            members[name] = _watch_moved(plugin, member, protocol, observe)
        elif callable(member) and inspect.isroutine(getattr(protocol, name, None)):
            members[name] = watch_method(plugin, name, member, observe)
        elif member is not None:
            members[name] = member
    return WrappedAdapter(value, members)


def _watch_moved(
    plugin: InstalledPlugin, move: Callable[[str], Any], protocol: type, observe: Observe
) -> Callable[[str], Any]:
    return lambda base_url: watch_value(plugin, move(base_url), protocol, observe)


def _public_names(protocol: type) -> Iterable[str]:
    bases = [base for base in protocol.__mro__ if getattr(base, "_is_protocol", False)]
    return dict.fromkeys(name for base in bases for name in vars(base) if not name.startswith("_"))


def _watch_values(registry: Registry, hook: str, observe: Observe) -> dict[str, Any]:
    """Returns the values of a hook by id, watched."""
    values: Mapping[str, Any] = getattr(registry, hook)
    return {
        id_: watch_value(plugin, value, _PROTOCOLS_BY_HOOK[hook], observe)
        if (plugin := registry.plugin_of_value(hook, id_)) is not None
        else value
        for id_, value in values.items()
    }


def _watch_functions(
    registry: Registry, hook: str, function_name: str, observe: Observe
) -> Mapping[str, Any]:
    """Returns the tasks of a hook by id, with their functions watched."""
    tasks: Mapping[str, Any] = getattr(registry, hook)
    watched = {}
    for id_, task in tasks.items():
        plugin = registry.plugin_of_value(hook, id_)
        function = getattr(task, function_name)
        if plugin is not None:
            function = watch_method(plugin, function_name, function, observe)
        watched[id_] = replace(task, **{function_name: function})
    return MappingProxyType(watched)


def _watch_ingest_protocols(registry: Registry, observe: Observe) -> ProtocolRoutes:
    protocols = registry.ingest_protocols.protocols
    return ProtocolRoutes.index_by_unique_path(
        watch_value(plugin, protocol, IngestProtocol, observe)
        if (plugin := registry.plugin_of_value("ingest_protocols", id_)) is not None
        and not _is_built_in(plugin)
        else protocol
        for id_, protocol in protocols.items()
    )


def _watch_models(registry: Registry, observe: Observe) -> AttributionModels:
    watched = {
        id_: _watch_model(plugin, model, observe)
        if (plugin := registry.plugin_of_value("attribution_models", id_)) is not None
        else model
        for id_, model in registry.models.by_id.items()
    }
    return replace(registry.models, by_id=watched)


def _watch_model(plugin: InstalledPlugin, model: AttributionModel, observe: Observe) -> AttributionModel:
    if not isinstance(model, DataDrivenModel):
        return model
    split = model.split_amounts
    return replace(
        model,
        fit=watch_method(plugin, "fit", model.fit, observe),
        split_amounts=None if split is None else watch_method(plugin, "split_amounts", split, observe),
    )


def _watch_operations_of_other_packages(registry: Registry, observe: Observe) -> tuple[Operation, ...]:
    owner_by_route = {
        (operation.prefix, operation.method, operation.path): plugin.installed
        for plugin in registry.loaded_plugins
        if not _is_built_in(plugin.installed)
        for operation in plugin.all_operations
    }
    return tuple(
        replace(operation, handler=watch_method(owner, operation.id, operation.handler, observe))
        if (owner := owner_by_route.get((operation.prefix, operation.method, operation.path))) is not None
        else operation
        for operation in registry.operations
    )


def _is_built_in(plugin: InstalledPlugin) -> bool:
    return plugin.origin is PluginOrigin.BUILT_IN


def _is_built_in_and_called_often(plugin: InstalledPlugin, port: str) -> bool:
    return _is_built_in(plugin) and port in _PORTS_OF_EACH_EVENT_OR_REQUEST


def _with_watched_open(adapter: Adapter, plugin: InstalledPlugin, observe: Observe) -> Adapter:
    """Returns an adapter whose opened value is watched, with the parts of it that serve ports of their own."""

    def open_watched(settings: Any) -> Any:
        opened = adapter.open(settings)
        members = _watch_public_methods(plugin, opened, observe)
        for part in _parts_of_port(adapter.port):
            if (served := getattr(opened, part, None)) is not None:
                members[part] = WrappedAdapter(served, _watch_public_methods(plugin, served, observe))
        return WrappedAdapter(opened, members)

    return replace(adapter, open=open_watched)


def _parts_of_port(port: str) -> list[str]:
    """Returns the attributes of an adapter that serve ports of their own; none for a port that does not exist."""
    if port not in PORTS:
        return []
    return [part for part in PORTS[port].adapter_attribute_by_protocol.values() if part is not None]


def _watch_public_methods(plugin: InstalledPlugin, value: Any, observe: Observe) -> dict[str, Any]:
    return {
        name: watch_method(plugin, name, getattr(value, name), observe)
        for name in dir(type(value))
        if not name.startswith("_") and inspect.isroutine(getattr(type(value), name))
    }
