"""`touchpoint ads sync`: platforms are read at once, and what they say is told."""

from datetime import UTC, datetime

import pytest

from hosts.composition import compose
from service_core import builtin
from service_core.commerce.ads.models import AdAccount, AdEntity, AdLevel, AdPlatformInfo, SpendRow
from service_core.commerce.platform_errors import CredentialsRejected
from service_core.extensions.hooks import hook
from service_core.extensions.registry import collect_plugins_into_registry


class Platform:
    """An ad platform with one account; the token `bad` is refused."""

    id = "adfox"
    info = AdPlatformInfo()

    async def list_accessible_accounts(self, secrets):
        if secrets["access_token"] == "bad":
            raise CredentialsRejected("The token has expired.")
        return [AdAccount("act_1", "Main", "EUR", "Europe/Berlin")]

    async def fetch_daily_spend(self, account, level, first, _last, _secrets):
        if level is not AdLevel.CAMPAIGN:
            return []
        entity, now = AdEntity(level, "c"), datetime.now(UTC)
        return [SpendRow("adfox", account.id, entity, first, "EUR", account.timezone, now, spend=100)]

    @hook
    def ad_platforms(self):
        return [self]


@pytest.fixture
def run_with_platform(touchpoint, deployment, monkeypatch):
    registry = collect_plugins_into_registry([("builtin", builtin), ("fake_ads", Platform())])
    monkeypatch.setattr(compose, "load_installed_registry_once", lambda *_: registry)

    def run(*arguments, **more):
        return touchpoint(*arguments, "--config", deployment["config"], **more)

    return run


def test_connecting_syncs_the_platform_and_lists_its_accounts(run_with_platform):
    nothing = run_with_platform("ads", "sync")
    assert "connection add PROVIDER --secret NAME" in " ".join(nothing.output.split())
    run_with_platform(
        "connection", "add", "adfox", "--kind", "ads", "--secret", "access_token", typed="good\n"
    )
    assert "Example Shop: adfox  accounts 1, rows 13" in run_with_platform("ads", "sync").output
    assert run_with_platform("connection", "list").output.split() == ["adfox", "connected", "act_1"]


def test_rejected_credentials_are_reported_with_exit_code_1(run_with_platform):
    run_with_platform(
        "connection", "add", "adfox", "--kind", "ads", "--secret", "access_token", typed="bad\n"
    )
    assert "Example Shop: adfox  The token has expired." in run_with_platform("ads", "sync", code=1).output
    assert run_with_platform("connection", "list").output.startswith("adfox expired")
