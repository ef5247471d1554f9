"""The whole way of spend: what Meta reports stands in `GET /ads` and in the metrics, once, and the token nowhere."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from hosts.composition.compose import compose
from service_core.access.api_keys import create_workspace_with_keys
from service_core.analytics.connections.models import Connection, ConnectionStatus, ProviderKind
from service_core.api.http_messages import ApiRequest
from service_core.commerce.ads.spend_sync import AdSpendSync
from service_core.commerce.credentials.ports import ConnectionSecrets
from service_core.kernel.settings import Settings
from service_core.testing.fake_platform import FakePlatform, FakeResponse, serve_api

NOW = datetime(2026, 7, 8, 15, 0, tzinfo=UTC)
TOKEN = "EAAB-planted-token"


class StubMetaInsights:
    """Two campaigns a day; what the newest day cost is said anew at every question."""

    def __init__(self):
        self.latest = "10.00"

    def answers(self, asked):
        if asked.path.endswith("/me/adaccounts"):
            values = {"id": "act_1", "name": "Main", "currency": "EUR", "timezone_name": "Europe/Berlin"}
            return FakeResponse({"data": [values]})
        if asked.path.endswith("/campaigns"):
            return FakeResponse({"data": [{"id": "1", "effective_status": "ACTIVE"}]})
        days = json.loads(asked.query["time_range"])
        if asked.query["level"] != "campaign" or days["until"] < "2026-07-08":
            return FakeResponse({"data": []})
        rows = [("1", "2026-07-07", "5.50"), ("1", "2026-07-08", self.latest), ("2", "2026-07-08", "0.25")]
        return FakeResponse({"data": [insights_row(*one) for one in rows]})


def insights_row(campaign, day, spend):
    values = {
        "campaign_id": campaign,
        "campaign_name": f"Campaign {campaign}",
        "date_start": day,
        "date_stop": day,
    }
    return {**values, "spend": spend, "impressions": "1000", "clicks": "10", "reach": "900"}


@pytest.fixture
async def meta_workspace(tmp_path):
    """A deployment whose Meta is on the loopback, and a workspace that connected it."""
    meta = StubMetaInsights()
    async with serve_api(FakePlatform(meta.answers, FakeResponse({}), lambda _: FakeResponse({}))) as api:
        clock = [NOW]
        settings = Settings.model_validate(
            {"storage": {"events": "memory://"}, "ads": {"api_urls": {"meta": f"{api.url}/v26.0"}}}
        )
        async with compose(settings, tmp_path, clock=lambda: clock[0]) as service:
            initialized_deployment = await create_workspace_with_keys(
                service.ports.workspace.credentials,
                NOW,
                name="Shop",
                timezone="Europe/Berlin",
                currency="EUR",
            )
            own = initialized_deployment.workspace.id
            await service.component(ConnectionSecrets).replace_or_delete_secrets(
                own, "meta", {"access_token": TOKEN}
            )
            await service.ports.workspace.connections.save_connection_keeping_created_at(
                Connection(own, "meta", ProviderKind.ADS, ConnectionStatus.PENDING, NOW)
            )

            async def get(path):
                sent = {"authorization": f"Bearer {initialized_deployment.agent_key.secret}"}
                path, _, query = path.partition("?")
                answer = await service.dispatch(ApiRequest("GET", path, query, sent))
                assert TOKEN not in answer.body.decode()
                return json.loads(answer.body)

            yield service.component(AdSpendSync), own, get, clock, meta, tmp_path


async def test_latest_reported_spend_is_returned_once(meta_workspace):
    reading, own, get, clock, meta, folder = meta_workspace
    request = "/v1/ads?date_from=2026-07-07&date_through=2026-07-08"
    assert (await get(request))["ads"] == []
    assert (await reading.sync_workspace_unless_leased(own))[0].counts["rows"] == 3
    first = await get(request)
    assert [(one["id"], one["spend"], one["clicks"]) for one in first["ads"]] == [
        ("1", 15.5, 20),
        ("2", 0.25, 10),
    ]
    assert [one["status"] for one in first["ads"]] == ["ACTIVE", None]
    assert first["totals"]["spend"] == 15.75
    meta.latest, clock[0] = "12.34", NOW + timedelta(hours=1)
    assert await reading.list_due_workspaces() == [own]
    await reading.sync_workspace_unless_leased(own)
    second = await get(request)
    assert second["totals"]["spend"] == 18.09
    (platform,) = second["platforms"]
    values = {
        name: platform[name] for name in ("platform", "account_id", "status", "currency", "timezone", "error")
    }
    assert values == {
        "platform": "meta", "account_id": "act_1", "status": "connected", "currency": "EUR",
        "timezone": "Europe/Berlin", "error": None,
    }  # fmt: skip
    assert not any(TOKEN.encode() in file.read_bytes() for file in folder.rglob("*") if file.is_file())
