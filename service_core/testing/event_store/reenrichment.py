"""Conformance tests of the replacement of enriched columns."""

from dataclasses import replace
from typing import Any

from service_core.testing.event_builder import EventBuilder, campaign_columns, whole_utc_days
from service_core.testing.event_store.kit import (
    EVENTS,
    SESSION_STARTS,
    EventStoreKit,
    Store,
    measure_value_or_row,
)

SPAN = whole_utc_days("2026-03-01", "2026-03-31")


class Reenrichment(EventStoreKit):
    """Tests of `ReenrichableStore`."""

    async def test_updated_columns_are_read_back_and_everything_derived_follows(
        self, store: Store, builder: EventBuilder, oracle: Store
    ) -> None:
        """After an update and a rebuild the store answers as if the events had been stored with these columns."""
        other = EventBuilder()
        for target in (builder, other):
            target.add_event(
                "page_view",
                at="2026-03-02T10:00",
                visitor="A1",
                strong_id="U1",
                **campaign_columns("google", "cpc", "x"),
            )
            target.add_event("purchase", at="2026-03-02T10:05", visitor="A1", strong_id="U1", revenue=500)
            target.add_event("page_view", at="2026-03-03", visitor="B1", session="s2")
            await store.append(target.events)
        landing, purchase, view = builder.events
        own: dict[str, Any] = {"own_source": "news", "own_medium": "email", "own_channel": "email"}
        visit: dict[str, Any] = {
            "attribution_source": "news",
            "attribution_medium": "email",
            "channel": "email",
            "rules_version": 7,
        }
        reported_touches = {
            "last_own_source": "news",
            "last_own_channel": "email",
            "last_timestamp": "2026-03-01T09:00:00+00:00",
        }
        again = [
            replace(landing, **own, **visit, country="PL", referrer_host="news.example"),
            replace(purchase, **visit, reported_touches=reported_touches),
            replace(view, is_bot=True, bot_reasons=("referrer_spam",), touchable=False),
        ]
        await store.update_enriched_columns(builder.workspace_id, again)
        await store.update_enriched_columns(builder.workspace_id, again[:1])
        await store.rebuild_workspace(builder.workspace_id)
        await oracle.append(again)
        scope = builder.query_scope(SPAN)
        everything = builder.query_scope(SPAN, include_bots=True)
        assert await store.list_latest_person_events(everything, "u:U1") == again[:2]
        assert await store.list_latest_person_events(everything, "v:B1") == again[2:]
        touches = await store.list_latest_person_touches(scope, "u:U1")
        assert touches == await oracle.list_latest_person_touches(scope, "u:U1")
        assert [touch.source for touch in touches].count("news") >= 1
        measures = (EVENTS, SESSION_STARTS)
        assert await measure_value_or_row(store, scope, *measures) == await measure_value_or_row(
            oracle, scope, *measures
        )
        assert await measure_value_or_row(store, other.query_scope(SPAN), EVENTS) == 3
        assert await store.list_latest_person_events(other.query_scope(SPAN), "u:U1") == other.events[:2]
