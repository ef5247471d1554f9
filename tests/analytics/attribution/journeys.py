"""Visits and purchases of the tests of `GET /attribution`, and their credits."""

from itertools import count

from service_core.testing.event_builder import campaign_columns

RULES = ["first_touch", "last_touch", "last_non_direct", "linear", "position_based", "time_decay"]
DATA_DRIVEN_MODELS = ["markov", "shapley"]

_sessions = count()


DIRECT = {"attribution_source": "(direct)", "attribution_medium": "(none)", "channel": "direct"}


def add_page_view(event_builder, at, visitor, **columns):
    event_builder.add_event(
        "page_view", at=at, visitor=visitor, session=f"s{next(_sessions)}", **(DIRECT | columns)
    )


def add_purchase(event_builder, at, visitor, revenue, name="purchase", **columns):
    event_builder.add_event(
        name, at=at, visitor=visitor, session="till", revenue=revenue, **(DIRECT | columns)
    )


def google_touch(name="spring"):
    return campaign_columns("google", "cpc", name)


def facebook_touch(name="reels"):
    return campaign_columns("facebook", "cpc", name, channel="paid_social")


def add_four_touches_and_purchase(event_builder):
    """Google, direct, facebook, direct; then an order of 100.00."""
    add_page_view(event_builder, "2026-06-30", "A", **google_touch())
    add_page_view(event_builder, "2026-07-01", "A")
    add_page_view(event_builder, "2026-07-02", "A", **facebook_touch())
    add_page_view(event_builder, "2026-07-03", "A")
    add_purchase(event_builder, "2026-07-04", "A", 10_000)


def credit_by_key(rows, key="channel"):
    return {
        getattr(row, key): (row.conversions, row.revenue) for row in rows if row.conversions or row.revenue
    }
