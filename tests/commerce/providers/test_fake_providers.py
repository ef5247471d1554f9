"""Stripe and Shopify, held to what providers that are asked must do."""

from contextlib import asynccontextmanager
from datetime import timedelta
from itertools import count

import pytest

from service_core.testing.fake_platform import serve_api
from service_core.testing.polling_provider import PollHarness, PollingProviderConformance
from tests.analytics.deployment import NOW
from tests.commerce.providers.fake_providers import FakeShopify, FakeStripe


@asynccontextmanager
async def serve_fake_provider(kind):
    async with serve_api(kind()) as provider_api:
        numbers = count()

        def happen():
            number = next(numbers)
            provider_api.sell(number, NOW - timedelta(hours=10 - number))

        yield PollHarness(
            provider_api.provider(),
            {provider_api.key: provider_api.key},
            (provider_api.account,),
            provider_api.fail_with,
            happen,
        )


class TestStripe(PollingProviderConformance):
    @pytest.fixture
    async def harness(self):
        async with serve_fake_provider(FakeStripe) as harness:
            yield harness


class TestShopify(PollingProviderConformance):
    @pytest.fixture
    async def harness(self):
        async with serve_fake_provider(FakeShopify) as harness:
            yield harness
