"""Runs the consumer: ``python -m hosts.consumer --config FILE --event-store-fd N``, as `touchpoint serve` starts it."""

import argparse
import socket
import sys
from pathlib import Path

from hosts.asgi_runner import run_on_uvloop
from hosts.consumer.run import run_consumer_until_stopped
from hosts.logs import configure_redacted_json_logging
from service_core.kernel.errors import StartupError
from service_core.kernel.private_files import set_private_umask


def main() -> int:
    """Parses the command line and consumes; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m hosts.consumer", description=__doc__)
    parser.add_argument("--config", type=Path, required=True, help="the settings file")
    parser.add_argument(
        "--event-store-fd", type=int, required=True, help="a socket connected to the owner of the event store"
    )
    parser.add_argument("--with-parent", action="store_true", help="stop when standard input ends")
    given = parser.parse_args()
    configure_redacted_json_logging()
    set_private_umask()
    connection = socket.socket(fileno=given.event_store_fd)
    try:
        run_on_uvloop(
            run_consumer_until_stopped(
                given.config.absolute(), connection, stop_with_parent=given.with_parent
            )
        )
    except StartupError as fault:
        sys.stderr.write(f"{fault}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
