"""The conformance kit of the event store: what every adapter must answer.

Name the adapter in a fixture and inherit the rest; pytest needs ``asyncio_mode = "auto"``::

    class TestMyStore(EventStoreConformance):
        @pytest.fixture
        async def store(self, tmp_path):
            store = open_my_store(tmp_path)
            await store.start()
            yield store
            await store.aclose()
"""

from service_core.testing.event_store.agreement import Agreement
from service_core.testing.event_store.attributions import Attributions
from service_core.testing.event_store.currencies import Currencies
from service_core.testing.event_store.facts import Facts
from service_core.testing.event_store.identities import Identities
from service_core.testing.event_store.invariants import Invariants
from service_core.testing.event_store.items import Sold
from service_core.testing.event_store.journeys import Journeys
from service_core.testing.event_store.kit import Store
from service_core.testing.event_store.log import Log
from service_core.testing.event_store.mails import Mails
from service_core.testing.event_store.orders import Orders
from service_core.testing.event_store.portraits import Portraits
from service_core.testing.event_store.standard import Standard
from service_core.testing.event_store.writing import Writing

__all__ = ("EventStoreConformance", "Store")


class EventStoreConformance(
    Writing,
    Facts,
    Orders,
    Currencies,
    Sold,
    Identities,
    Mails,
    Portraits,
    Attributions,
    Journeys,
    Log,
    Standard,
    Invariants,
    Agreement,
):
    """Every scenario of the kit; override the fixture ``store``."""
