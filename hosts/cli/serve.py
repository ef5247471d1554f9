"""``touchpoint serve``: the API, the ingest host and everything behind them; ``touchpoint worker``: one role of it."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from hosts.cli.options import DEFAULT_CONFIG, ConfigFile

if TYPE_CHECKING:
    from service_core.kernel.settings import AsgiServer


class ServerName(StrEnum):
    """ASGI servers the service runs on."""

    HYPERCORN = "hypercorn"
    UVICORN = "uvicorn"
    GRANIAN = "granian"


class RoleName(StrEnum):
    """Roles that one command may run alone."""

    API = "api"
    INGEST = "ingest"
    CONSUMER = "consumer"
    WORKER = "worker"
    SCHEDULER = "scheduler"


Processes = Annotated[
    int,
    typer.Option(
        "--workers", metavar="N", min=1, max=256, help="Processes per role, where the role allows several."
    ),
]


def serve_all_roles_or_one(
    config: ConfigFile = DEFAULT_CONFIG,
    role: Annotated[
        RoleName | None,
        typer.Option(help="Run only this role; needs stores that processes can share."),
    ] = None,
    processes_per_role: Processes = 1,
    api: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Address of the API. [default: from the settings]")
    ] = None,
    ingest: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Address of the ingest host. [default: from the settings]"),
    ] = None,
    server: Annotated[
        ServerName | None,
        typer.Option(help="ASGI server of the API and of the ingest host. [default: from the settings]"),
    ] = None,
    single_process: Annotated[
        bool,
        typer.Option(
            "--single-process",
            help="Consume in the process of the API: less memory, slower answers while events come in.",
        ),
    ] = False,
) -> None:
    """Run the service with all its parts.

    Roles: api answers questions, ingest takes events, consumer moves them into the event store, worker
    writes export files, scheduler runs periodic tasks. SIGTERM drains: requests under way are
    answered and everything acknowledged is kept.
    """
    chosen: AsgiServer | None = None if server is None else server.value
    if role is RoleName.WORKER:
        from hosts.roles.worker import run_worker_processes

        run_worker_processes(config, processes_per_role)
    elif role is not None or processes_per_role > 1:
        from hosts.roles.models import Role
        from hosts.roles.supervise import run_supervised_processes

        alone = None if role is None else Role(role.value)
        run_supervised_processes(
            config, alone, processes_per_role, api_address=api, ingest_address=ingest, server=chosen
        )
    else:
        from hosts.single_process import run_serving_process_and_ingest_child

        run_serving_process_and_ingest_child(
            config,
            api_address=api,
            ingest_address=ingest,
            server=chosen,
            consume_in_this_process=single_process,
        )


def run_export_workers(config: ConfigFile = DEFAULT_CONFIG, workers: Processes = 1) -> None:
    """Run export workers, on any machine.

    Short for `touchpoint serve --role worker`.
    """
    serve_all_roles_or_one(config, RoleName.WORKER, workers)
