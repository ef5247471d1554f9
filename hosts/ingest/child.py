"""The ingest host seen from the process that starts it."""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path
from typing import Final, Self

from service_core.kernel.errors import StartupError
from service_core.kernel.settings import Server

READY_WITHIN_SECONDS: Final = 20.0


class IngestChild:
    """A running ingest process; it ends with this one, however this one ends.

    Attributes:
        address: ``HOST:PORT`` it listens on.
        process: the process itself.
    """

    def __init__(self, process: Process, address: str) -> None:
        self.process: Final = process
        self.address: Final = address

    @classmethod
    async def start(cls, config: Path, *, listen: str | None = None, server: Server | None = None) -> Self:
        """Start it and wait until it accepts connections.

        Args:
            config: the settings file.
            listen: ``HOST:PORT`` instead of the one in the settings; port 0 takes a free one.
            server: instead of the one in the settings.

        Raises:
            StartupError: it ended, or was not ready in 20 seconds; its own words stand on standard error.
        """
        options = [*(("--listen", listen) if listen else ()), *(("--server", server) if server else ())]
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "hosts.ingest", "--config", str(config), "--with-parent", *options,
            stdin=PIPE, stdout=PIPE,
        )  # fmt: skip
        assert process.stdout is not None
        try:
            async with asyncio.timeout(READY_WITHIN_SECONDS):
                line = (await process.stdout.readline()).decode()
        except TimeoutError:
            line = ""
        if not line.startswith("ready "):
            child = cls(process, "")
            await child.stop()
            raise StartupError("The ingest host did not start; its reason stands above.")
        return cls(process, line.split()[1])

    async def ended(self) -> int:
        """Wait for its end; returns the exit code, negative for a signal."""
        code = await self.process.wait()
        if self.process.stdin is not None:
            self.process.stdin.close()
        return code

    async def stop(self) -> int:
        """Let it finish what it has begun, and wait for its end."""
        if self.process.returncode is None:
            self.process.terminate()
        return await self.ended()
