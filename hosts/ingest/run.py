"""Runs the ingest process; it opens the workspace store and the queue, and no event store."""

import asyncio
import socket
import sys
from collections.abc import Container
from functools import partial
from pathlib import Path
from typing import Final

import orjson

from hosts import monitoring
from hosts.asgi import App
from hosts.asgi_runner import (
    bind_listener,
    build_connection_limits,
    freeze_objects_and_raise_gc_threshold,
    listener_address,
    serve_until_shutdown,
    set_event_on_termination_signals,
)
from hosts.client_address import ClientAddressResolver
from hosts.composition.load_settings import load_settings_with_environment
from hosts.composition.plugin_selection import select_plugins
from hosts.composition.ports import Ports, start_adapters
from hosts.composition.providers import build_message_store
from hosts.compression import compress_responses
from hosts.disk_probe import build_disk_probes
from hosts.edge.app import RedirectDependencies, create_edge_app
from hosts.edge.redirect_dependencies import redirect_dependencies
from hosts.ingest.app import IngestDependencies, create_ingest_app
from hosts.ingest.browser_routes import PATHS, BrowserRouteDependencies, create_browser_routes_app
from hosts.ingest.container_cache import ContainerCache
from hosts.ingest.error_answers import QueueFailureLog
from hosts.ingest.protocol_routes import ProtocolRouteDependencies, create_protocol_app
from hosts.ingest.webhooks import ROUTE_TEMPLATE, create_webhook_app, is_webhook
from hosts.ingest.write_key_cache import WriteKeyCache
from hosts.subprocesses import print_ready_line, stop_when_parent_ends
from service_core.access.key_authentication import KeyAuthenticator
from service_core.access.workspace_cache import WorkspaceCache
from service_core.api.readiness import (
    ReadinessChecker,
    build_change_version_probe,
    build_queue_answers_probe,
    build_stored_version_probe,
)
from service_core.commerce.providers.unverified_messages import UnverifiedMessages
from service_core.commerce.providers.webhooks import WebhookHandler
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.ingestion.batch import BatchEndpoint
from service_core.ingestion.protocols.endpoint import ProtocolEndpoint
from service_core.ingestion.track import SenderRateLimit
from service_core.kernel.clock import system_clock
from service_core.kernel.settings import AsgiServer, Settings
from service_core.workspace.links.models import PATH_LINK_PREFIX

_SWITCH_SECONDS: Final = 0.0005
"""How long the event loop may keep the interpreter while the committing thread wants it back.

With the default of 5 ms a finished commit would wait that long under load before it can say so.
"""


async def run_ingest_host_until_stopped(
    config: Path, listen: socket.socket | str | None, server: AsgiServer | None, *, stop_with_parent: bool
) -> None:
    """Serves until SIGTERM, SIGINT or the end of the parent; then finishes the requests under way.

    Args:
        config: absolute path of the settings file; relative paths in it start at its folder.
        listen: a listening socket, or ``HOST:PORT`` instead of the one in the settings; port 0 takes a free one.
        server: instead of the one in the settings.
        stop_with_parent: standard input is a pipe of the parent; its end ends this process too.

    Raises:
        StartupError: the settings, an adapter or the address do not fit.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    settings = load_settings_with_environment(config)
    ports = Ports(
        settings,
        config.parent,
        monitoring.instrument_registry_if_enabled(
            collect_plugins_into_registry(
                with_catalog=False, selection=select_plugins(settings.plugins, config.parent)
            )
        ),
        system_clock,
    )
    shutdown = asyncio.Event()
    listener = listen if isinstance(listen, socket.socket) else bind_listener(listen or settings.http.ingest)
    own = _bind_link_listener(settings)
    async with (
        start_adapters([ports.workspace, ports.queue]),
        redirect_dependencies(settings, ports, _client_address(settings).resolve_nearest_untrusted) as links,
    ):
        set_event_on_termination_signals(shutdown)
        if stop_with_parent:
            await stop_when_parent_ends(shutdown)
        freeze_objects_and_raise_gc_threshold()
        print_ready_line(listener_address(listener))
        app = monitoring.instrument_app_if_enabled(
            create_ingest_host_app(settings, ports, links),
            "ingest",
            partial(_route_template, ports.registry.ingest_protocols.routes),
        )
        chosen, limits = server or settings.http.effective_ingest_server, build_connection_limits(settings)
        serve = partial(
            serve_until_shutdown,
            server=chosen,
            shutdown=shutdown,
            cleartext_http2=settings.http.cleartext_http2,
            limits=limits,
        )
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(
                monitoring.send_heartbeats_if_enabled(
                    "ingest", _build_queue_and_cache_readiness(ports), shutdown
                )
            )
            tasks.create_task(serve(app, listener))
            if own is not None:
                tasks.create_task(serve(create_edge_app(links), own))


def _route_template(protocol_paths: Container[str], _method: str, path: str) -> str | None:
    if is_webhook(path):
        return ROUTE_TEMPLATE
    if path.startswith(PATH_LINK_PREFIX):
        return f"{PATH_LINK_PREFIX}{{slug}}"
    return path if path == "/track" or path in PATHS or path in protocol_paths else None


def _build_queue_and_cache_readiness(ports: Ports) -> ReadinessChecker:
    probes = [
        build_queue_answers_probe(ports.queue, ports.clock),
        build_change_version_probe(ports.workspace.credentials),
        build_stored_version_probe((ports.queue,)),
        *build_disk_probes(ports.database_folders),
    ]
    return ReadinessChecker(probes, ports.clock)


def _bind_link_listener(settings: Settings) -> socket.socket | None:
    """Returns the listener for redirects alone, where the settings name one; ingest processes share its port."""
    return bind_listener(settings.http.redirects, reuse_port=True) if settings.http.redirects else None


def _client_address(settings: Settings) -> ClientAddressResolver:
    return ClientAddressResolver(settings.ingest.trusted_proxies)


def create_ingest_host_app(
    settings: Settings, ports: Ports, links: RedirectDependencies | None = None
) -> App:
    """Returns the ingest host over the ports of a deployment; it redirects links, too."""
    authenticator = KeyAuthenticator(ports.workspace.credentials, ports.clock)
    workspaces = WorkspaceCache(ports.workspace.credentials)
    addresses, queue_faults, rate_limit = _client_address(settings), QueueFailureLog(), SenderRateLimit()
    write_keys = WriteKeyCache(authenticator, ports.workspace.credentials)
    batches = BatchEndpoint(
        workspaces=workspaces,
        queue=ports.queue,
        consume_rate_limit=rate_limit.count_events_unless_second_is_full,
        clock=ports.clock,
        encode=orjson.dumps,
        on_failure=queue_faults.record_and_log_every_ten_seconds,
    )
    others = create_browser_routes_app(
        BrowserRouteDependencies(
            batches, ContainerCache(ports.workspace.transactions, ports.registry.pixel_platforms), addresses
        )
    )
    protocols = ProtocolEndpoint(
        workspaces=workspaces,
        find_write_key=write_keys.look_up,
        site_ids=settings.ingest.site_ids,
        queue=ports.queue,
        consume_rate_limit=rate_limit.count_events_unless_second_is_full,
        encode=orjson.dumps,
        on_failure=queue_faults.record_and_log_every_ten_seconds,
    )
    others = create_protocol_app(
        ProtocolRouteDependencies(ports.registry.ingest_protocols.routes, protocols, ports.clock, addresses),
        others,
    )
    others = compress_responses(
        create_webhook_app(_build_webhook_handler(settings, ports, workspaces), others)
    )
    return create_ingest_app(
        IngestDependencies(
            queue=ports.queue,
            write_keys=write_keys,
            spend_quota=rate_limit.count_events_unless_second_is_full,
            clock=ports.clock,
            addresses=addresses,
            queue_failures=queue_faults,
        ),
        create_edge_app(links, others) if links else others,
    )


def _build_webhook_handler(settings: Settings, ports: Ports, workspaces: WorkspaceCache) -> WebhookHandler:
    return WebhookHandler(
        providers=ports.registry.webhook_providers,
        workspaces=workspaces,
        connections=ports.workspace.connections,
        secrets=ports.connection_secrets,
        message_store=build_message_store(ports, settings),
        queue=ports.queue,
        clock=ports.clock,
        unverified=ports.build_from_adapters(UnverifiedMessages),
    )
