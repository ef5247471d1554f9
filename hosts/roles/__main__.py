"""Runs one process of a role: ``python -m hosts.roles ROLE --config FILE``, as `touchpoint serve` starts it."""

import argparse
import socket
import sys
from pathlib import Path
from typing import get_args

from hosts.asgi_runner import run_on_uvloop
from hosts.logs import configure_redacted_json_logging
from hosts.roles.models import Role
from hosts.roles.process import ProcessOptions, run_role_until_stopped
from service_core.kernel.errors import StartupError
from service_core.kernel.private_files import set_private_umask
from service_core.kernel.settings import AsgiServer


def main() -> int:
    """Parses the command line and runs the role; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m hosts.roles", description=__doc__)
    parser.add_argument("role", type=Role, choices=(Role.API, Role.CONSUMER, Role.SCHEDULER))
    parser.add_argument("--config", type=Path, required=True, help="the settings file")
    parser.add_argument("--fd", type=int, help="a listening socket that was passed on")
    parser.add_argument(
        "--server", choices=get_args(AsgiServer), help="instead of the server in the settings"
    )
    parser.add_argument("--processes", type=int, default=1, help="how many of the role serve here")
    parser.add_argument("--with-parent", action="store_true", help="stop when standard input ends")
    given = parser.parse_args()
    configure_redacted_json_logging()
    set_private_umask()
    listener = None if given.fd is None else socket.socket(fileno=given.fd)
    options = ProcessOptions(given.config.absolute(), listener, given.server, given.processes)
    try:
        run_on_uvloop(run_role_until_stopped(given.role, options, stop_with_parent=given.with_parent))
    except StartupError as fault:
        sys.stderr.write(f"{fault}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
