"""`touchpoint revenue sync`: providers are asked at once, and what they tell waits for the service."""

import json

import pytest

from hosts.composition import compose
from service_core import builtin
from service_core.commerce.providers.models import MappedMessage, PolledMessage, RevenueProviderInfo
from service_core.extensions.hooks import hook
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.ingestion.parse_event import replace_or_clamp_event_time
from service_core.plugin import CredentialsRejected


class Shop:
    """A provider that tells of two sales; the key `bad` is refused."""

    id = "shopfox"
    info = RevenueProviderInfo()

    def verify_signature(self, delivery, secrets):
        return False

    def map_message(self, message, delivery, account_id):
        at, _ = replace_or_clamp_event_time("2026-07-01T12:00:00Z", delivery.received_at)
        return MappedMessage(message["id"], "purchase", at, properties={"revenue": "5.00", "currency": "EUR"})

    def can_poll(self, secrets):
        return "api_key" in secrets

    async def poll_messages(self, request):
        if request.secrets["api_key"] == "bad":
            raise CredentialsRejected("The key bad is over.")
        yield [PolledMessage(json.dumps({"id": id_}).encode()) for id_ in ("s1", "s2")]

    def with_base_url(self, _base_url):
        return self

    @hook
    def revenue_providers(self):
        return [self]


@pytest.fixture
def run_with_provider(touchpoint, deployment, monkeypatch):
    registry = collect_plugins_into_registry([("builtin", builtin), ("fake_shop", Shop())])
    monkeypatch.setattr(compose, "load_installed_registry_once", lambda *_: registry)

    def run(*arguments, **more):
        return touchpoint(*arguments, "--config", deployment["config"], **more)

    return run


def test_provider_is_synced_immediately_without_duplicates(run_with_provider):
    nothing = run_with_provider("revenue", "sync")
    assert "connection add PROVIDER --secret NAME" in " ".join(nothing.output.split())
    run_with_provider("connection", "add", "shopfox", "--secret", "api_key", typed="good\n")
    assert "Example Shop: shopfox  messages 2, new 2" in run_with_provider("revenue", "sync").output
    assert "Example Shop: shopfox  messages 2, new 0" in run_with_provider("revenue", "sync").output
    assert run_with_provider("connection", "list").output.split() == ["shopfox", "connected"]


def test_rejected_credentials_are_reported_with_exit_code_1(run_with_provider):
    run_with_provider("connection", "add", "shopfox", "--secret", "api_key", typed="bad\n")
    assert (
        "Example Shop: shopfox  The key *** is over." in run_with_provider("revenue", "sync", code=1).output
    )
    assert run_with_provider("connection", "list").output.startswith("shopfox error")
