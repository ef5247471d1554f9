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
BOUGHT = Conversion(
    UUID(int=1), "Buy", "o1", datetime(2026, 7, 1, tzinfo=UTC), ActionSource.SYSTEM, Customer(email="a@b.co")
)
HERE = Destination("act_1", "p1")


async def taken(call):
    assert call.secrets == {"token": "hush"}
    return [Accepted(200)] * len(call.conversions)


async def never(_):
    await asyncio.Event().wait()


def sender(call=taken, **other):
    return FunctionSender(ADHUB, TERMS, "https://adhub.example/v1", call, **other)


async def test_what_is_sent_reaches_the_function():
    assert await sender().send(HERE, [BOUGHT, BOUGHT], {"token": "hush"}) == [Accepted(200)] * 2


async def test_a_call_that_does_not_end_is_given_up():
    with pytest.raises(PlatformUnavailable, match="Adhub does not answer within"):
        await sender(never, timeout_seconds=0.01).send(HERE, [BOUGHT], {})


async def test_a_test_without_a_code_is_not_sent_where_only_the_code_tells_it():
    coded = sender(requires_test_code=True)
    for to, expected in (
        (replace(HERE, test=True), Rejected("no_test_event_code")),
        (replace(HERE, test=True, test_code="T1"), Accepted(200)),
        (replace(HERE, test_code="T1"), Accepted(200)),
        (HERE, Accepted(200)),
    ):
        assert await coded.send(to, [BOUGHT], {"token": "hush"}) == [expected]
    assert await sender().send(replace(HERE, test=True), [BOUGHT], {"token": "hush"}) == [Accepted(200)]


async def test_its_api_may_be_elsewhere():
    async def told(call):
        return [Rejected(call.base_url)]

    moved = sender(told).with_base_url("https://proxy.example/v2")
    assert isinstance(moved, RelocatableSender)
    assert moved.id == "adhub"
    assert await moved.send(HERE, [BOUGHT], {}) == [Rejected("https://proxy.example/v2")]


def test_the_repr_of_a_call_shows_nothing():
    call = SendCall("https://adhub.example", HERE, [BOUGHT], {"token": "hush"}, lambda: BOUGHT.occurred_at)
    assert "hush" not in repr(call)
    assert "a@b.co" not in repr(call)
