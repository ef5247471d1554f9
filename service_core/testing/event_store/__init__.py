"""The conformance kit of the event store: the tests that every adapter passes.

Override the fixture ``store`` with the adapter and inherit the tests; pytest needs ``asyncio_mode = "auto"``::

    class TestMyStore(EventStoreConformance):
        @pytest.fixture
        async def store(self, tmp_path):
            store = open_my_store(tmp_path)
            await store.start()
            yield store
            await store.aclose()

        @pytest.fixture
        def open_store(self, tmp_path):
            @asynccontextmanager
            async def opened():
                store = open_my_store(tmp_path)
                await store.start()
                yield store
                await store.aclose()

            return opened
"""

from service_core.testing.event_store.append_events import AppendEvents
from service_core.testing.event_store.attribution import Attribution
from service_core.testing.event_store.breakdown_values import BreakdownValues
from service_core.testing.event_store.currencies import CurrencyConversion
from service_core.testing.event_store.differential import ReferenceComparison
from service_core.testing.event_store.durability import Durability, OpenStore
from service_core.testing.event_store.email_matches import EmailMatches
from service_core.testing.event_store.event_history import EventHistoryKit
from service_core.testing.event_store.event_reads import EventReads
from service_core.testing.event_store.experiments import Experiments
from service_core.testing.event_store.funnels_and_cohorts import FunnelsAndCohorts
from service_core.testing.event_store.golden_numbers import GoldenNumbers
from service_core.testing.event_store.identity_resolution import IdentityResolution
from service_core.testing.event_store.imported_events import ImportedEvents
from service_core.testing.event_store.invariants import Invariants
from service_core.testing.event_store.kit import Store
from service_core.testing.event_store.large_numbers import LargeNumbers
from service_core.testing.event_store.line_items import LineItems
from service_core.testing.event_store.linked_order_ids import LinkedOrderIds
from service_core.testing.event_store.lone_distinct_ids import LoneDistinctIds
from service_core.testing.event_store.order_counts import OrderCounts
from service_core.testing.event_store.order_deduplication import OrderDeduplication
from service_core.testing.event_store.paid_amounts import PaidAmounts
from service_core.testing.event_store.payment_origins import PaymentOrigins
from service_core.testing.event_store.people_list import PeopleList
from service_core.testing.event_store.person_activity import PersonActivityKit
from service_core.testing.event_store.personal_data import PersonalData
from service_core.testing.event_store.reenrichment import Reenrichment
from service_core.testing.event_store.refund_amounts import RefundAmounts
from service_core.testing.event_store.sessions_and_payments import SessionsAndPayments
from service_core.testing.event_store.superseded_events import SupersededEvents
from service_core.testing.event_store.touch_paths import TouchPaths
from service_core.testing.event_store.visits import Visits

__all__ = ("EventStoreConformance", "OpenStore", "Store")


class EventStoreConformance(
    AppendEvents,
    Durability,
    SupersededEvents,
    ImportedEvents,
    PersonalData,
    Reenrichment,
    EventHistoryKit,
    SessionsAndPayments,
    Visits,
    PaidAmounts,
    PaymentOrigins,
    LargeNumbers,
    OrderDeduplication,
    LinkedOrderIds,
    OrderCounts,
    RefundAmounts,
    CurrencyConversion,
    LineItems,
    IdentityResolution,
    LoneDistinctIds,
    PeopleList,
    EmailMatches,
    PersonActivityKit,
    Attribution,
    TouchPaths,
    FunnelsAndCohorts,
    BreakdownValues,
    Experiments,
    EventReads,
    GoldenNumbers,
    Invariants,
    ReferenceComparison,
):
    """All tests of the kit; override the fixtures ``store`` and ``open_store``."""
