"""A composed deployment: the one function that hosts and tests start from."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar

from hosts.composition.arrow_stream import encode_arrow_stream
from hosts.composition.bindings import Bindings, bind_operation
from hosts.composition.components import build_all_components
from hosts.composition.json_codec import CODEC
from hosts.composition.load_settings import load_settings_with_environment, settings_folder
from hosts.composition.past_operations import PastOperations
from hosts.composition.plugin_grants import require_granted_dependencies
from hosts.composition.plugin_selection import select_plugins
from hosts.composition.plugin_settings import validate_plugin_settings
from hosts.composition.ports import PORTS, Ports, start_adapters
from service_core import builtin
from service_core.access.rate_limits import RateLimits
from service_core.access.request_authentication import RequestAuthenticator
from service_core.api.dispatch import Dispatcher
from service_core.api.http_messages import ApiRequest, ApiResponse
from service_core.api.readiness import Probe
from service_core.api.routes import Routes
from service_core.api.write_finder import create_write_finder
from service_core.changes.batched_writes import WriteRoutes
from service_core.extensions.adapters import Adapter
from service_core.extensions.discovery import ALL_PLUGINS, PluginFault, PluginSelection
from service_core.extensions.registry import Registry, collect_plugins_into_registry
from service_core.kernel.clock import Clock, system_clock
from service_core.kernel.errors import StartupError
from service_core.kernel.settings import Settings
from service_core.workspace.approvals.filing import ApprovalFiling
from service_core.workspace.time_budget import Sleep

_Component = TypeVar("_Component")


def load_installed_registry_once(selection: PluginSelection = ALL_PLUGINS) -> Registry:
    """Returns the core and the installed plugins; they are loaded once per process and selection.

    Raises:
        StartupError: plugins that cannot be used; the message says which and what to do.
    """
    return _load_registry(selection)


def load_registry_of_deployment(
    settings: Settings, folder: Path, *, leave_out_faulty: bool = False
) -> Registry:
    """Returns the core and the plugins that a deployment uses.

    Args:
        settings: name disabled plugins and the plugin folder.
        folder: what relative paths in the settings are relative to.
        leave_out_faulty: whether faulty plugins are left out, instead of stopping the command.

    Raises:
        StartupError: the plugin folder does not exist, or plugins cannot be used.
    """
    return load_installed_registry_once(
        select_plugins(settings.plugins, folder, leave_out_faulty=leave_out_faulty)
    )


@cache
def _load_registry(selection: PluginSelection) -> Registry:
    registry = collect_plugins_into_registry([("builtin", builtin)], selection=selection)
    if not selection.leave_out_faulty:
        return require_known_ports(registry)
    return replace(registry, faults=(*registry.faults, *_find_unknown_ports(registry)))


def require_known_ports(registry: Registry) -> Registry:
    """Returns the registry when every adapter in it is for a port that exists.

    Raises:
        StartupError: some are not; the message says which and what to do.
    """
    problems = [_describe_unknown_port(adapter) for adapter in _adapters_of_unknown_ports(registry)]
    if problems:
        raise StartupError(" ".join(problems))
    return registry


def _find_unknown_ports(registry: Registry) -> list[PluginFault]:
    """Returns a fault for each adapter whose port does not exist."""
    return [
        PluginFault(plugin, f"Plugin {plugin.described}: {_describe_unknown_port(adapter)}")
        for adapter in _adapters_of_unknown_ports(registry)
        if (plugin := registry.plugin_of_adapter(adapter.port, adapter.scheme)) is not None
    ]


def _adapters_of_unknown_ports(registry: Registry) -> list[Adapter]:
    return [adapter for (port, _), adapter in registry.adapters.items() if port not in PORTS]


def _describe_unknown_port(adapter: Adapter) -> str:
    near = get_close_matches(adapter.port, PORTS, n=1)
    advice = f"Did you mean {near[0]!r}? " if near else ""
    return (
        f"{adapter.open.__module__} brings {adapter.scheme}:// for the port {adapter.port!r}, which does not exist. "
        f"{advice}Ports: {', '.join(PORTS)}."
    )


def load_ports(
    config: Path,
    *,
    leave_out_faulty: bool = False,
    instrument: Callable[[Registry], Registry] = lambda registry: registry,
) -> Ports:
    """Returns the ports of the deployment of a settings file, none of them opened.

    Args:
        config: the settings file.
        leave_out_faulty: whether faulty plugins are left out, as in commands that repair a deployment.
        instrument: returns the registry with its adapters instrumented, as in processes of the service.
    """
    settings, folder = load_settings_with_environment(config), settings_folder(config)
    registry = load_registry_of_deployment(settings, folder, leave_out_faulty=leave_out_faulty)
    return Ports(settings, folder, instrument(registry), system_clock)


class Service:
    """A composed deployment. As an async context it starts its adapters, and closes them again."""

    def __init__(
        self,
        settings: Settings,
        ports: Ports,
        dispatcher: Dispatcher,
        bindings: Bindings,
        past_operations: PastOperations,
    ) -> None:
        self.settings: Final = settings
        self.registry: Final = ports.registry
        self.ports: Final = ports
        self._dispatcher = dispatcher
        self._bindings = bindings
        self._past_operations = past_operations
        self._running = AsyncExitStack()

    def component(self, kind: type[_Component]) -> _Component:
        """Returns the component of a type, as handlers get it."""
        return self._bindings.get_or_build(kind)

    async def dispatch(self, request: ApiRequest) -> ApiResponse:
        """Returns the response to one request."""
        return await self._dispatcher.dispatch(request)

    def route_template(self, method: str, path: str) -> str | None:
        """Returns the route of a request, as in ``/v1/exports/{export_id}``; None for no operation."""
        return self._dispatcher.route_template(method, path)

    async def __aenter__(self) -> Self:
        await self._running.enter_async_context(
            start_adapters((*self.ports.adapters_opened_by(), self._past_operations))
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
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
    """Composes a deployment; nothing is started.

    Args:
        settings: which adapters, and where.
        folder: what relative paths in the settings are relative to.
        registry: what is installed; None reads the environment.
        clock: gives the present to everything that needs it.
        sleep: waits until the time budget of a report run is over.
        probes: further probes of readiness.
        processes: how many processes of this server answer requests; they share its standby budget.

    Raises:
        StartupError: an unknown scheme, or an operation that requests a type that nothing provides.
    """
    ports = Ports(settings, folder, registry or load_registry_of_deployment(settings, folder), clock)
    plugin_settings = validate_plugin_settings(ports.registry, settings.plugins)
    require_granted_dependencies(ports.registry, settings.plugins)
    bindings = build_all_components(ports, settings, sleep=sleep, probes=probes, processes=processes)
    for model, value in plugin_settings.items():
        bindings.bind(model, value)
    operations = [bind_operation(operation, bindings) for operation in ports.registry.operations]
    bindings.get_or_build(WriteRoutes).connect(create_write_finder(Routes(operations)))
    past_operations = PastOperations(ports, settings)
    dispatcher = Dispatcher(
        operations,
        authenticator=bindings.get_or_build(RequestAuthenticator),
        rate_limits=bindings.get_or_build(RateLimits),
        clock=clock,
        codec=CODEC,
        encode_arrow=encode_arrow_stream,
        store_write_for_approval=bindings.get_or_build(ApprovalFiling).store_write_for_approval,
        open_past=past_operations.open_operation_as_of,
    )
    return Service(settings, ports, dispatcher, bindings, past_operations)
