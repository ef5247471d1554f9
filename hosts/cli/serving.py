"""``touchpoint serve``: the API, the ingest host and everything behind them."""

from enum import StrEnum
from typing import Annotated

import typer

from hosts.cli.options import DEFAULT_CONFIG, ConfigFile


class ServerName(StrEnum):
    """ASGI servers the service runs on."""

    HYPERCORN = "hypercorn"
    UVICORN = "uvicorn"
    GRANIAN = "granian"


def serve(
    config: ConfigFile = DEFAULT_CONFIG,
    api: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Address of the API.")] = None,
    ingest: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Address of the ingest host.")
    ] = None,
    server: Annotated[ServerName | None, typer.Option(help="ASGI server to run on.")] = None,
) -> None:
    """Run the API and the ingest host.

    SIGTERM drains: requests under way are answered and everything acknowledged is kept.
    """
    from hosts.serve import run

    run(config, api=api, ingest=ingest, server=None if server is None else server.value)
