"""Whatever is known of a person, each platform gets JSON in which nothing is empty and nobody stands by name."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plugins.ads_google.payload import upload_body_without_repeated_orders as google
from plugins.ads_meta.payload import batch_body as meta
from plugins.ads_openai.payload import batch_body as openai
from plugins.ads_tiktok.payload import batch_body as tiktok
from service_core.delivery.postbacks.models import ActionSource, ClickId, Conversion, Customer, LineItem
from service_core.testing.conversion_sender import DESTINATION

MARK = "Qzx"
"""Stands in every text that must leave hashed, and in no other."""
NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)
WORD = st.none() | st.text(max_size=12).map(str.strip).filter(bool)
NAMED = st.none() | st.text(max_size=12).map(lambda text: f"{MARK}{text}")
CUSTOMERS = st.builds(
    Customer,
    email=NAMED | NAMED.map(lambda text: f"{text}@{MARK}.co"), phone=NAMED, first_name=NAMED, last_name=NAMED, gender=NAMED,
    birth_date=NAMED, region=NAMED, user_id=NAMED, visitor_id=NAMED, anonymous_id=NAMED, city=WORD, postal_code=WORD,
    country=WORD, ip=WORD, user_agent=WORD, fbc=WORD, fbp=WORD, ttp=WORD, os=st.sampled_from([None, "iOS", "Linux"]),
    click=st.none() | st.just(ClickId("gclid", "Click", NOON)),
)  # fmt: skip
CONVERSIONS = st.builds(
    Conversion,
    id=st.just(UUID(int=1)), event=st.sampled_from(["Purchase", "lead_created"]), event_id=st.just("o1"), occurred_at=st.just(NOON),
    action_source=st.sampled_from(ActionSource), customer=CUSTOMERS, source_url=WORD, order_id=WORD, is_custom=st.booleans(),
    line_items=st.lists(st.builds(LineItem, id=st.just("sku"), price=st.none() | st.integers(0, 10**9), name=WORD), max_size=2).map(tuple),
    consent_granted=st.booleans(),
)  # fmt: skip


def find_empty_fields(told):
    """Whether anything in it says nothing, but for the places a platform counts by."""
    if isinstance(told, dict):
        return any(
            value in (None, "", [], {}) or find_empty_fields(value)
            for name, value in told.items()
            if name != "extinfo"
        )
    return isinstance(told, list) and any(map(find_empty_fields, told))


@pytest.mark.parametrize(
    "body_of", [meta, google, tiktok, openai], ids=["meta", "google", "tiktok", "openai"]
)
@settings(max_examples=30)
@given(
    conversion=CONVERSIONS,
    money=st.none() | st.tuples(st.integers(0, 10**12), st.sampled_from(["EUR", "JPY", "KWD"])),
)
def test_payloads_contain_no_plain_personal_data_and_no_empty_fields(body_of, conversion, money):
    value, currency = money or (None, None)
    result = json.loads(
        json.dumps(body_of(DESTINATION, [replace(conversion, value=value, currency=currency)]))
    )
    assert not find_empty_fields(result)
    assert MARK.lower() not in json.dumps(result).lower()
