"""``touchpoint serve``: the API, the ingest host, the consumer and the periodic tasks, as one command.

Two processes: the ingest host (`hosts.ingest`) and this one, which owns the event store.
"""

import asyncio
import socket
import sys
from pathlib import Path
from typing import Final

import structlog

from hosts.composition.compose import compose
from hosts.composition.load import load_settings
from hosts.http.app import api_app
from hosts.ingest.address import ClientAddress
from hosts.ingest.child import IngestChild
from hosts.logs import write_logs
from hosts.oauth.app import oauth
from hosts.ownership import consumer_of
from hosts.serving import address_of, bind, serve, stop_on_signals
from hosts.serving import run as run_loop
from hosts.web.pages import pages
from hosts.worker.consumer import consume, pipeline_of
from hosts.worker.exports import KEEP_SECONDS, exporter_of, keep
from hosts.worker.periodic import every
from service_core.kernel.errors import StartupError
from service_core.kernel.settings import Server, Settings

MAINTAIN_SECONDS: Final = 60

_log = structlog.get_logger("touchpoint.serve")


def run(
    config: Path, *, api: str | None = None, ingest: str | None = None, server: Server | None = None
) -> None:
    """Serve until SIGTERM or SIGINT, then finish what was begun.

    Args:
        config: the settings file.
        api, ingest: ``HOST:PORT`` instead of those in the settings; port 0 takes a free one.
        server: instead of the one in the settings.

    Raises:
        StartupError: the deployment cannot start; the message says what to change.
    """
    write_logs()
    file = config.absolute()
    settings = load_settings(file)
    with consumer_of(file.parent) as alone:
        if not alone:
            raise StartupError(f"Another process serves {file.parent}. Stop it, or choose another folder.")
        listener = bind(api or settings.http.api)
        http = settings.http.model_copy(update={"api": address_of(listener)})
        settings = settings.model_copy(update={"http": http})
        run_loop(_serve(settings, file, listener, ingest, server or settings.http.server))


async def _serve(
    settings: Settings, file: Path, listener: socket.socket, ingest: str | None, server: Server
) -> None:
    stop = asyncio.Event()
    stop_on_signals(stop)
    # The ingest host comes up while this process still loads what answers questions.
    starting = asyncio.create_task(IngestChild.start(file, listen=ingest, server=server))
    try:
        service = await asyncio.to_thread(compose, settings, file.parent)
    except BaseException:
        starting.cancel()  # the process ends with this one
        raise
    async with service:
        child = await starting
        _announce(listener, child)
        addresses = ClientAddress(service.settings.ingest.trusted_proxies)
        shown = [pages(service, addresses), oauth(service, addresses)]
        app = api_app(service.dispatch, addresses=addresses, pages=shown)
        exporter = exporter_of(service.ports, service.registry)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(_keep(child, file, server, stop))
            tasks.create_task(consume(pipeline_of(service.ports, service.settings.ingest), stop))
            tasks.create_task(every(MAINTAIN_SECONDS, service.ports.events.maintain, stop))
            tasks.create_task(every(KEEP_SECONDS, lambda: keep(exporter, service.ports), stop))
            tasks.create_task(service.ports.jobs.work_here(exporter.run_next, stop))
            tasks.create_task(serve(app, listener, server, stop))


async def _keep(child: IngestChild, file: Path, server: Server, stop: asyncio.Event) -> None:
    """Keep the ingest host running at its address until ``stop`` is set; then let it finish."""
    stopping = asyncio.create_task(stop.wait())
    try:
        while not stop.is_set():
            ended = asyncio.create_task(child.ended())
            await asyncio.wait([ended, stopping], return_when=asyncio.FIRST_COMPLETED)
            if ended.done() and not stop.is_set():
                _log.error("the ingest host ended and is started again", code=ended.result())
                child = await IngestChild.start(file, listen=child.address, server=server)
    finally:
        stopping.cancel()
        await child.stop()


def _announce(listener: socket.socket, child: IngestChild) -> None:
    """Say where the service listens; other programs read these two lines."""
    sys.stdout.write(f"api http://{address_of(listener)}\ningest http://{child.address}\n")
    sys.stdout.flush()
