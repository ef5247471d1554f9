"""The ingest host as a child process."""

import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from hosts.subprocesses import Subprocess
from service_core.kernel.settings import AsgiServer


class IngestProcess(Subprocess):
    """A running ingest process; it ends when this process ends for any reason."""

    @classmethod
    async def start_and_wait_until_listening(
        cls,
        config: Path,
        *,
        listen: str | None = None,
        server: AsgiServer | None = None,
        listener: socket.socket | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Self:
        """Starts the process and waits until it accepts connections.

        Args:
            config: the settings file.
            listen: ``HOST:PORT`` instead of the one in the settings; port 0 takes a free one.
            server: instead of the one in the settings.
            listener: a listening socket it is given instead of an address.
            environment: variables besides those of this process.

        Raises:
            StartupError: it ended, or was not ready in a minute; its own words stand on standard error.
        """
        options = ["--config", str(config)]
        options += [*(("--listen", listen) if listen else ()), *(("--server", server) if server else ())]
        return await cls.launch_and_wait_until_ready(
            "The ingest host", "hosts.ingest", options, listener=listener, environment=environment
        )
