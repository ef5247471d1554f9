"""Refuses operations and tasks of plugins that ask for credentials or other workspaces, unless declared and granted."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, get_type_hints

from hosts.composition.bindings import type_without_annotated_and_none
from service_core.access.models import AnonymousCaller, Caller, SignupCaller
from service_core.access.public_urls import PublicUrls
from service_core.analytics.attribution.models import AttributionModels
from service_core.analytics.connections.providers import InstalledProviders
from service_core.analytics.fx.ports import RateSource
from service_core.analytics.query.catalog import Catalog
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.changes.change_executor import ChangeExecutor
from service_core.commerce.ads.ports import AdPlatforms
from service_core.commerce.ads.spend_sync import AdSpendSync
from service_core.commerce.credentials.encrypted_secrets import EncryptedConnectionSecrets
from service_core.commerce.credentials.ports import ConnectionSecrets, SecretCipher
from service_core.commerce.providers.poll import ProviderSync
from service_core.extensions.discovery import PluginOrigin
from service_core.extensions.plugin_info import PluginData
from service_core.extensions.plugin_values import LoadedPlugin
from service_core.extensions.registry import Registry
from service_core.ingestion.import_sources.ports import ImportSources
from service_core.ingestion.ports import GeoLocator, PublicSuffixList, UserAgentParser
from service_core.kernel.clock import Clock
from service_core.kernel.errors import StartupError
from service_core.kernel.settings import PluginsSettings, Settings
from service_core.workspace.links.domains.ports import TxtRecords
from service_core.workspace.rules.postback_platforms import PostbackPlatforms

_CREDENTIAL_TYPES: Final = frozenset(
    {Settings, SecretCipher, ConnectionSecrets, EncryptedConnectionSecrets, AdSpendSync, ProviderSync}
)
_TYPES_WITHOUT_GRANT: Final = frozenset(
    {AnonymousCaller, Caller, SignupCaller, ChangeExecutor, MetricQueries, Clock, Catalog, PublicUrls}
    | {AttributionModels, InstalledProviders, ImportSources, AdPlatforms, PostbackPlatforms}
    | {GeoLocator, UserAgentParser, PublicSuffixList, TxtRecords, RateSource}
)
"""Types of the core that act for the caller, or know of no workspace. Every other one reaches all workspaces."""

_CORE: Final = "service_core."
_MEANING: Final[Mapping[PluginData, str]] = {
    PluginData.CREDENTIALS: "reaches credentials",
    PluginData.WORKSPACES: "reaches every workspace",
}


def require_granted_dependencies(registry: Registry, settings: PluginsSettings) -> None:
    """Checks what the operations, resources and background tasks of plugins of other packages ask for.

    Tasks run for every workspace; they need a grant for credentials only.

    Raises:
        StartupError: one asks for something that its plugin does not declare, or the operator has not granted; the message
            names every one.
    """
    models = [plugin.info.settings for plugin in registry.loaded_plugins if plugin.info.settings is not None]
    problems = [
        problem
        for plugin in registry.loaded_plugins
        if plugin.installed.origin is not PluginOrigin.BUILT_IN
        for requester, requested, needed in _requested_grants(plugin, models)
        if (problem := _describe_missing_grant(plugin, requester, requested, needed, settings)) is not None
    ]
    if problems:
        raise StartupError(" ".join(problems))


def _requested_grants(
    plugin: LoadedPlugin, settings_models: Collection[Any]
) -> Iterator[tuple[str, Any, PluginData]]:
    """Yields who asks, the type that is asked for, and the grant that it needs.

    Args:
        plugin: the plugin.
        settings_models: those of all plugins; the ones of others hold credentials.
    """
    credential_types = _CREDENTIAL_TYPES.union(settings_models) - {plugin.info.settings}
    for requester, annotation in _annotations_of_operations(plugin):
        requested = type_without_annotated_and_none(annotation)
        if requested in credential_types:
            yield requester, requested, PluginData.CREDENTIALS
        elif requested not in _TYPES_WITHOUT_GRANT and requested.__module__.startswith(_CORE):
            yield requester, requested, PluginData.WORKSPACES
    for requester, annotation in _annotations_of_tasks(plugin):
        if (requested := type_without_annotated_and_none(annotation)) in credential_types:
            yield requester, requested, PluginData.CREDENTIALS


def _annotations_of_operations(plugin: LoadedPlugin) -> Iterator[tuple[str, Any]]:
    """Yields which operation or resource asks, and the annotation of a parameter."""
    for operation in plugin.all_operations:
        for annotation in operation.dependencies.values():
            yield f"{operation.method} {operation.path}", annotation
    for resource in plugin.values.get("resources", ()):
        asked: list[Any] = []
        resource.resource_type.with_dependencies(
            lambda _requester, _name, annotation, asked=asked: asked.append(annotation)
        )
        yield from ((f"resource {resource.resource_type.model.resource_type}", kind) for kind in asked)


def _annotations_of_tasks(plugin: LoadedPlugin) -> Iterator[tuple[str, Any]]:
    """Yields which background task asks, and the annotation of a parameter."""
    reactions = ((task.id, task.react) for task in plugin.values.get("event_reactions", ()))
    jobs = ((task.id, task.run) for task in plugin.values.get("scheduled_jobs", ()))
    for id_, function in (*reactions, *jobs):
        yield from ((f"The task {id_!r}", annotation) for annotation in get_type_hints(function).values())


def _describe_missing_grant(
    plugin: LoadedPlugin, requester: str, requested: Any, needed: PluginData, settings: PluginsSettings
) -> str | None:
    subject = (
        f"{requester} of plugin {plugin.installed.described} asks for {requested.__name__}, which "
        f"{_MEANING[needed]}."
    )
    if needed not in plugin.info.reads:
        return f"{subject} Its declaration has to name PluginData.{needed.name}."
    name = plugin.installed.name
    if needed.value not in settings.granted.get(name, ()):
        return f'{subject} If you agree, set plugins.granted = {{ {name} = ["{needed.value}"] }}.'
    return None
