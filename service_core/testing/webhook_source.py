"""The conformance kit of webhook sources: that of revenue providers, for messages that are no money.

Override the fixture ``harness`` as for `service_core.testing.revenue_provider`, with the source as its provider.
"""

import pytest

from service_core.commerce.providers.webhook_sources import SourceWithoutMoney
from service_core.testing.revenue_provider import ProviderHarness, RevenueProviderConformance


class WebhookSourceConformance(RevenueProviderConformance):
    """All tests of revenue providers on a source, and that nothing of it is money."""

    @pytest.fixture
    def harness(self) -> ProviderHarness:
        """The source under test, with its signature and samples."""
        raise pytest.UsageError("override the fixture `harness` with the webhook source under test")

    def test_no_event_of_a_source_is_money(self, harness: ProviderHarness) -> None:
        """Its events have no amount, no purchase or refund is among them, and no subscriptions come from it.

        The service would rename the amounts, and leave out the others.
        """
        source = SourceWithoutMoney(harness.provider)
        for sample in harness.samples:
            assert sample.revenue is None
            delivery = harness.make_delivery(sample)
            mapped = harness.provider.map_message(sample.body, delivery, "account")
            assert source.map_message(sample.body, delivery, "account") == mapped
