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

from service_core.testing.queue.accounts import Accounts
from service_core.testing.queue.claims import Claims
from service_core.testing.queue.kit import Queues
from service_core.testing.queue.walking import Walking

__all__ = ("IngestQueueConformance", "Queues")


class IngestQueueConformance(Claims, Walking, Accounts):
    """Every scenario of the kit; override the fixture ``queues``."""
