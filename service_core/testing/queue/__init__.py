"""The conformance kit of the ingest queue: what every adapter of the port ``queue`` must do.

Name the adapter in a fixture and inherit the rest; pytest needs ``asyncio_mode = "auto"``::

    class TestMyQueue(IngestQueueConformance):
        @pytest.fixture
        def queues(self, tmp_path):
            @asynccontextmanager
            async def opened():
                queue = open_my_queue(tmp_path)
                await queue.start()
                yield queue
                await queue.aclose()

            return opened

Each call opens the same queue once more, as another process would; a test starts with an empty one.
"""

from service_core.testing.queue.deduplication import Deduplication
from service_core.testing.queue.delivery_order import DeliveryOrder
from service_core.testing.queue.kit import OpenQueue
from service_core.testing.queue.ledger import LedgerCounts

__all__ = ("IngestQueueConformance", "OpenQueue")


class IngestQueueConformance(Deduplication, DeliveryOrder, LedgerCounts):
    """Every scenario of the kit; override the fixture ``open_queue``."""
