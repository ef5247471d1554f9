"""Metric queries and queue states for a request that runs several reads: every source is read once."""

from asyncio import Lock
from collections.abc import Sequence
from dataclasses import dataclass, field

from service_core.access.models import Caller
from service_core.analytics.freshness import QueueStateReader
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.snapshot import SourceSnapshot
from service_core.ingestion.ports import QueueState


@dataclass(frozen=True)
class SharedSnapshotQueries(MetricQueries):
    """The metric queries of one request; all its reads use the same source states.

    A read that comes while another one reads a state waits for it.
    """

    _lock: Lock = field(init=False, repr=False, default_factory=Lock)
    _latest: list[SourceSnapshot] = field(init=False, repr=False, default_factory=list)

    async def read_source_states_once(
        self, caller: Caller, metric_ids: Sequence[str], earlier_snapshot: SourceSnapshot | None = None
    ) -> SourceSnapshot:
        """Returns the states of the sources of the metrics; those that the request has read are not read again."""
        async with self._lock:
            earlier_snapshot = self._latest[0] if self._latest else earlier_snapshot
            self._latest[:] = [await super().read_source_states_once(caller, metric_ids, earlier_snapshot)]
            return self._latest[0]


class SharedQueueState:
    """The state of the ingest queue in one request; implements `QueueStateReader`.

    Args:
        queue: is read when the first read of the request needs its state.
    """

    def __init__(self, queue: QueueStateReader) -> None:
        self._queue = queue
        self._lock = Lock()
        self._state: QueueState | None = None

    async def state(self) -> QueueState:
        """Returns the state at the first read of the request."""
        async with self._lock:
            if self._state is None:
                self._state = await self._queue.state()
            return self._state
