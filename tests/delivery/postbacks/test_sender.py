"""A sender of values and one function: it ends in time, and lets no test count."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from service_core.commerce.platform_errors import PlatformUnavailable
from service_core.delivery.postbacks.function_sender import FunctionSender, SendCall
from service_core.delivery.postbacks.models import (
    Accepted,
    ActionSource,
    Conversion,
    Customer,
    Destination,
    Rejected,
)
from service_core.delivery.postbacks.ports import RelocatableSender, SendLimits, Throttle
from service_core.workspace.rules.postback_platforms import PostbackPlatform

ADHUB = PostbackPlatform("adhub", "Adhub", "pixel_id", "pixel", "https://adhub.example/{asset}", ("Buy",))
TERMS = SendLimits(timedelta(days=7), 100, Throttle(1, timedelta(hours=1)), ("aclid",), timedelta(days=7), frozenset({"email"}))  # fmt: skip
CONVERSION = Conversion(
    UUID(int=1), "Buy", "o1", datetime(2026, 7, 1, tzinfo=UTC), ActionSource.SYSTEM, Customer(email="a@b.co")
)
DESTINATION = Destination("act_1", "p1")


async def record_call(call):
    assert call.secrets == {"token": "hush"}
    return [Accepted(200)] * len(call.conversions)


async def wait_forever(_):
    await asyncio.Event().wait()


def make_sender(call=record_call, **other):
    return FunctionSender(ADHUB, TERMS, "https://adhub.example/v1", call, **other)


async def test_send_passes_conversions_to_the_function():
    assert (
        await make_sender().send(DESTINATION, [CONVERSION, CONVERSION], {"token": "hush"})
        == [Accepted(200)] * 2
    )


async def test_send_is_cancelled_after_its_timeout():
    with pytest.raises(PlatformUnavailable, match="Adhub does not answer within"):
        await make_sender(wait_forever, timeout_seconds=0.01).send(DESTINATION, [CONVERSION], {})


async def test_test_conversion_without_a_code_is_skipped_when_required():
    coded = make_sender(requires_test_code=True)
    for to, expected in (
        (replace(DESTINATION, test=True), Rejected("no_test_event_code")),
        (replace(DESTINATION, test=True, test_code="T1"), Accepted(200)),
        (replace(DESTINATION, test_code="T1"), Accepted(200)),
        (DESTINATION, Accepted(200)),
    ):
        assert await coded.send(to, [CONVERSION], {"token": "hush"}) == [expected]
    assert await make_sender().send(replace(DESTINATION, test=True), [CONVERSION], {"token": "hush"}) == [
        Accepted(200)
    ]


async def test_api_url_is_configurable():
    async def told(call):
        return [Rejected(call.base_url)]

    moved = make_sender(told).with_base_url("https://proxy.example/v2")
    assert isinstance(moved, RelocatableSender)
    assert moved.id == "adhub"
    assert await moved.send(DESTINATION, [CONVERSION], {}) == [Rejected("https://proxy.example/v2")]


def test_repr_of_a_call_hides_secrets():
    call = SendCall(
        "https://adhub.example", DESTINATION, [CONVERSION], {"token": "hush"}, lambda: CONVERSION.occurred_at
    )
    assert "hush" not in repr(call)
    assert "a@b.co" not in repr(call)
