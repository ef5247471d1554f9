"""Conformance tests of distinct ids that are sent alone."""

from datetime import timedelta
from typing import Final

from service_core.analytics.measures import touch_column
from service_core.analytics.ports import CreditRule, Weighting
from service_core.testing.event_builder import EventBuilder, campaign_columns, whole_utc_days
from service_core.testing.event_store.identity_resolution import event_times_by_person
from service_core.testing.event_store.kit import (
    CREDITED_MONEY,
    PERSONS,
    EventStoreKit,
    Store,
    measure_by_columns,
    measure_value_or_row,
)

LAST: Final = CreditRule(Weighting.LAST, timedelta(days=30))
SPAN: Final = whole_utc_days("2026-03-01", "2026-03-31")


class LoneDistinctIds(EventStoreKit):
    """Tests of a server's events that carry a distinct id and no other id."""

    async def test_distinct_id_sent_alone_is_the_strong_id_of_its_name_whichever_came_first(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A server's lone distinct id is the person whose strong id it is, and its purchase follows their touches.

        Without a strong id of that name, and for a bot, it stays a device.
        """
        came = campaign_columns("google", "cpc")
        builder.add_event("purchase", at="2026-03-02T09:00", visitor="D2", distinct_id="D2", revenue=700)
        builder.add_event("page_view", at="2026-03-02T09:30", visitor="D3", distinct_id="D3")
        await store.append(builder.events)
        assert await measure_value_or_row(store, builder.query_scope(SPAN), PERSONS) == 2
        first = len(builder.events)
        builder.add_event(
            "page_view", at="2026-03-02T10:00", visitor="A1", distinct_id="D1", strong_id="D1", **came
        )
        builder.add_event("purchase", at="2026-03-02T10:01", visitor="D1", distinct_id="D1", revenue=5000)
        builder.add_event("page_view", at="2026-03-02T08:00", visitor="A2", strong_id="D2", **came)
        builder.add_event("x", at="2026-03-02T11:00", visitor="D3", distinct_id="D3", is_bot=True)
        await store.append(builder.events[first:])
        assert await event_times_by_person(store, builder) == {
            "u:D1": ["10:00", "10:01"],
            "u:D2": ["08:00", "09:00"],
            "v:D3": ["09:30"],
        }
        by_source = await measure_by_columns(
            store, builder.query_scope(SPAN), CREDITED_MONEY, touch_column("attribution_source"), credit=LAST
        )
        assert by_source == {"google": 5700}
        await store.revoke_identity_link(builder.workspace_id, builder.events[0].event_id)
        assert (await event_times_by_person(store, builder))["u:D2"] == ["08:00"]
