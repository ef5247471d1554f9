"""The conformance kit of the ingest queue: the tests that every adapter of the port ``queue`` passes.

Override the fixture ``open_queue`` with the adapter and inherit the tests; pytest needs ``asyncio_mode = "auto"``::

    class TestMyQueue(IngestQueueConformance):
        @pytest.fixture
        def open_queue(self, tmp_path):
            @asynccontextmanager
            async def opened():
                queue = open_my_queue(tmp_path)
                await queue.start()
                yield queue
                await queue.aclose()

            return opened

Each call of the returned function opens the same queue again, as another process does. A test starts with an empty
queue.
"""

from service_core.testing.queue.deduplication import Deduplication
from service_core.testing.queue.delivery_order import DeliveryOrder
from service_core.testing.queue.kit import OpenQueue
from service_core.testing.queue.ledger import LedgerCounts

__all__ = ("IngestQueueConformance", "OpenQueue")


class IngestQueueConformance(Deduplication, DeliveryOrder, LedgerCounts):
    """All tests of the kit; override the fixture ``open_queue``."""
