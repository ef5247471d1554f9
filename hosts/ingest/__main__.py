"""Runs the ingest host alone: ``python -m hosts.ingest --config FILE``, as `touchpoint serve` starts it."""

import argparse
import socket
import sys
from pathlib import Path
from typing import get_args

from hosts.asgi_runner import run_on_uvloop
from hosts.ingest.run import run_ingest_host_until_stopped
from hosts.logs import configure_redacted_json_logging
from service_core.kernel.errors import StartupError
from service_core.kernel.private_files import set_private_umask
from service_core.kernel.settings import AsgiServer


def main() -> int:
    """Parses the command line and serves; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m hosts.ingest", description=__doc__)
    parser.add_argument("--config", type=Path, required=True, help="the settings file")
    parser.add_argument("--listen", metavar="HOST:PORT", help="instead of the address in the settings")
    parser.add_argument(
        "--server", choices=get_args(AsgiServer), help="instead of the server in the settings"
    )
    parser.add_argument("--fd", type=int, help="a listening socket that was passed on, instead of an address")
    parser.add_argument("--with-parent", action="store_true", help="stop when standard input ends")
    given = parser.parse_args()
    configure_redacted_json_logging()
    set_private_umask()
    door = given.listen if given.fd is None else socket.socket(fileno=given.fd)
    code = 0
    try:
        run_on_uvloop(
            run_ingest_host_until_stopped(
                given.config.absolute(), door, given.server, stop_with_parent=given.with_parent
            )
        )
    except* StartupError as faults:
        sys.stderr.write("".join(f"{fault}\n" for fault in faults.exceptions))
        code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())
