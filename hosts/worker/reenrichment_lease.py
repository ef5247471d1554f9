"""The lease of a re-enrichment: one process at a time enriches the stored events of a workspace again."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID, uuid4

from service_core.analytics.ports import StoreUnavailable
from service_core.commerce.sync.ports import SyncLeases
from service_core.kernel.errors import StartupError

LEASE_KIND: Final = "reenrichment"
LEASE_DURATION: Final = timedelta(minutes=1)
"""How long the lease of a process that died lasts."""

_RENEWALS_PER_LEASE: Final = 4


class ReenrichmentRunning(StartupError):
    """Another run holds the lease.

    Args:
        holder: the process that runs, as `name_this_process` returns it; empty if it is not known here.
    """

    def __init__(self, holder: str) -> None:
        named = holder or "a process with another data folder"
        super().__init__(
            f"The stored events of this workspace are enriched again by {named} at the moment. Wait until it is done, "
            f"or stop it; its lease ends {LEASE_DURATION.seconds} seconds after a crash."
        )


class ReenrichmentLease:
    """The lease of one run.

    Args:
        leases: the leases of the workspace store.
        workspace_id: whose events.
        clock: the current time.
        find_holder: returns the name of the process that holds the lease.
    """

    def __init__(
        self,
        leases: SyncLeases,
        workspace_id: UUID,
        clock: Callable[[], datetime],
        find_holder: Callable[[], str],
    ) -> None:
        self._leases = leases
        self._workspace_id = workspace_id
        self._clock = clock
        self._find_holder = find_holder
        self._holder_id = uuid4()

    async def acquire_or_renew(self) -> None:
        """Acquires the lease or renews it.

        Raises:
            ReenrichmentRunning: another run has it.
        """
        now = self._clock()
        if not await self._leases.acquire_or_renew_lease(
            self._workspace_id, LEASE_KIND, self._holder_id, now, now + LEASE_DURATION
        ):
            raise ReenrichmentRunning(self._find_holder())

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[None]:
        """Holds the lease while the block runs; it is renewed meanwhile, and released at the end.

        Raises:
            ReenrichmentRunning: another run has it.
        """
        await self.acquire_or_renew()
        renewal = asyncio.create_task(self._renew_until_lost())
        try:
            yield
        finally:
            renewal.cancel()
            await asyncio.gather(renewal, return_exceptions=True)
            await self._leases.release_lease(self._workspace_id, LEASE_KIND, self._holder_id)

    async def _renew_until_lost(self) -> None:
        while True:
            await asyncio.sleep(LEASE_DURATION.total_seconds() / _RENEWALS_PER_LEASE)
            with suppress(StoreUnavailable):  # the next renewal may succeed before the lease ends
                await self.acquire_or_renew()


def name_this_process() -> str:
    """Returns the number of this process and its machine."""
    return f"process {os.getpid()} on {socket.gethostname()}"
