"""Stripe and Shopify, held to what providers that are asked must do."""

from contextlib import asynccontextmanager
from datetime import timedelta
from itertools import count

import pytest

from service_core.testing.pollable import PollableConformance, Scene
from tests.ad_api import serving
from tests.commerce.providers.askable import ShopifyTill, StripeTill
from tests.insight.served import NOW


@asynccontextmanager
async def asked(kind):
    async with serving(kind()) as till:
        numbers = count()

        def happen():
            number = next(numbers)
            till.sell(number, NOW - timedelta(hours=10 - number))

        yield Scene(till.provider(), {till.key: till.key}, (till.account,), till.play, happen)


class TestStripe(PollableConformance):
    @pytest.fixture
    async def scene(self):
        async with asked(StripeTill) as scene:
            yield scene


class TestShopify(PollableConformance):
    @pytest.fixture
    async def scene(self):
        async with asked(ShopifyTill) as scene:
            yield scene
