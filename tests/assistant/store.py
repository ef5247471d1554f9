"""Sends a generated shop to a service through its public entry points, and opens clients of it."""

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import groupby
from operator import itemgetter

from hosts.composition.compose import compose
from hosts.ingest.run import create_ingest_host_app
from hosts.worker.consumer import build_ingest_pipeline
from hosts.worker.exports import build_export_worker
from service_core.access.api_keys import (
    create_named_key_clamping_rate_limit_to_plan,
    create_workspace_with_keys,
)
from service_core.analytics.connections.models import (
    ConnectedAccount,
    Connection,
    ConnectionStatus,
    ProviderKind,
)
from service_core.api.http_messages import ApiRequest
from service_core.commerce.ads.models import AdAccount, AdEntity, AdLevel, SpendRow
from service_core.commerce.ads.spend_sync import AdSpendSync
from service_core.commerce.fx.sync_rates import ExchangeRateSync
from service_core.commerce.providers.signatures import hmac_sha256
from service_core.ingestion.ports import Device, GeoLocation
from service_core.kernel.operations import Scope
from service_core.kernel.settings import Settings
from tests.assistant.calendar_days import NOW, ZONE
from tests.assistant.shop import CURRENCY, DEVICES, DOMAIN, GOOGLEBOT, PLACES
from tests.fixtures.port_stubs import ReplacedPorts
from tests.mcp.mcp_client import connect_client

SECRET = "whsec_planted_in_a_test"


class GeoTable:
    """Knows the places of the shop."""

    def locate(self, ip):
        return next((GeoLocation(*place) for address, *place in PLACES.values() if address == ip), None)


class ShopAds:
    """An ad platform whose report is the generated spend."""

    def __init__(self, installed, rows):
        self.id, self.info = installed.id, installed.info
        self.rows = [row for row in rows if row["platform"] == self.id]

    async def list_accessible_accounts(self, _secrets):
        return [AdAccount(f"{self.id}_1", f"{self.id} account", self.rows[0]["currency"], ZONE.key)]

    async def fetch_daily_spend(self, account, level, first, last, _secrets):
        return [
            self._row(account, row)
            for row in self.rows
            if level is AdLevel.CAMPAIGN and first <= row["day"] <= last
        ]

    def _row(self, account, row):
        figures = {
            name: row[name] for name in ("spend", "impressions", "clicks", "conversions", "conversion_value")
        }
        entity = AdEntity(AdLevel.CAMPAIGN, row["id"], row["name"], status="active")
        return SpendRow(self.id, account.id, entity, row["day"], row["currency"], ZONE.key, NOW, **figures)


class DeviceTable:
    """Knows the devices of the shop, and its crawler."""

    def parse(self, agent):
        if agent == GOOGLEBOT:
            return Device(crawler=True, crawler_name="Googlebot", crawler_class="search_engine")
        known = (
            Device(type_, browser, None, system)
            for text, type_, browser, system, _ in DEVICES.values()
            if text == agent
        )
        return next(known, Device())


@dataclass
class ShopService:
    """A running service that holds the shop: its API, its MCP server, and its clock.

    Attributes:
        saved_ids: kind and name of a record that `save_work` made -> its id.
    """

    service: object
    workspace: object
    key: str
    program: object
    saved_ids: dict = field(default_factory=dict)

    async def request(self, method, path, query="", body=None):
        """Status and body of a request of the API."""
        content = b"" if body is None else json.dumps(body).encode()
        headers = {"authorization": f"Bearer {self.key}"}
        answer = await self.service.dispatch(ApiRequest(method, f"/v1{path}", query, headers, content))
        return answer.status, json.loads(answer.body)

    def renew_budget(self):
        """Begins the minute of the request budget anew."""
        self.service.ports.limits.use_clock(lambda: NOW)

    async def rpc(self, method, params, address="/mcp?tools=compact"):
        """The body of the answer of the MCP server, and its result."""
        self.renew_budget()
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        status, _, body = await self.program.send(message, path=address)
        assert status == 200, body
        return body, json.loads(body)


class ShopFeed:
    """Sends the rows of a shop at the times they are received."""

    def __init__(self, service, created, clock):
        self.created, self.clock = created, clock
        self.app = create_ingest_host_app(service.settings, service.ports)
        self.pipeline = build_ingest_pipeline(
            ReplacedPorts(service.ports, geo=GeoTable(), devices=DeviceTable()), service.settings
        )

    async def send(self, shop):
        tracked = [(row.received, self._track, row) for row in [*shop.rows, *shop.refused]]
        sent = [(NOW.fromtimestamp(one["created"], NOW.tzinfo), self._webhook, one) for one in shop.stripe]
        for _, together in groupby(sorted(tracked + sent, key=itemgetter(0)), self._hours_of_arrival):
            arrivals = list(together)
            self.clock[0] = arrivals[-1][0]
            await asyncio.gather(*(send(what) for _, send, what in arrivals))
        await self._drain()
        self.clock[0] = NOW

    @staticmethod
    def _hours_of_arrival(arrival):
        """Events within six hours arrive together; a webhook is signed at its own time."""
        at, send, _ = arrival
        return (
            at
            if send.__name__ == "_webhook"
            else at.replace(hour=at.hour // 6 * 6, minute=0, second=0, microsecond=0)
        )

    async def _drain(self):
        while await self.pipeline.process_batch():
            pass

    async def _track(self, row):
        """Sends an event; those of the outage lack their name."""
        body = row.body()
        is_down = (
            row.at.astimezone(ZONE).date().isoformat() == "2026-06-16"
            and row.agent.startswith("Mozilla")
            and row.device != "bot"
        )
        if is_down and row.at.astimezone(ZONE).hour >= 9:
            body["event"] = ""
        key = self.created.write_key.secret
        for _ in range(2 if row.repeated else 1):
            await self._post(
                "/track", json.dumps(body).encode(), [("x-api-key", key), ("user-agent", row.agent)]
            )

    async def _webhook(self, message):
        body = json.dumps(message).encode()
        stamp = str(message["created"])
        digest = hmac_sha256(SECRET, f"{stamp}.".encode() + body).hex()
        path = f"/webhooks/stripe/{self.created.workspace.public_id}"
        await self._post(path, body, [("stripe-signature", f"t={stamp},v1={digest}")], expected=200)

    async def _post(self, path, body, headers, expected=None):
        out = []

        async def receive():
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message):
            out.append(message)

        raw = [(b"host", b"ingest"), *((name.encode(), value.encode()) for name, value in headers)]
        scope = {
            "type": "http",
            "method": "POST",
            "path": path,
            "headers": raw,
            "client": ("127.0.0.1", 1),
            "query_string": b"",
        }
        await self.app(scope, receive, send)
        assert expected in (None, out[0]["status"]), out


async def _connect(ports, workspace, provider, kind, secrets):
    read = NOW if kind is ProviderKind.REVENUE else None
    accounts = (ConnectedAccount(f"{provider}_1"),)
    connection = Connection(
        workspace.id, provider, kind, ConnectionStatus.CONNECTED, NOW, accounts, last_synced_at=read
    )
    await ports.workspace.connections.save_connection_keeping_created_at(connection)
    await ports.connection_secrets.replace_or_delete_secrets(workspace.id, provider, secrets)


async def _sync_spend(service, workspace, shop):
    ports = service.ports
    for platform in ("meta", "google"):
        await _connect(ports, workspace, platform, ProviderKind.ADS, {"access_token": "planted"})
    platforms = {name: ShopAds(ports.registry.ad_platforms[name], shop.spend) for name in ("meta", "google")}
    sync = ports.build_from_adapters(AdSpendSync, platforms=platforms, first_days=90)
    outcomes = await sync.sync_workspace_unless_leased(workspace.id, ignore_schedule=True)
    assert [outcome.counts["rows"] for outcome in outcomes] == [len(shop.spend) // 2] * 2, outcomes


SEGMENTS = {"Phones": ("device_type", "mobile"), "Germany": ("country", "DE")}
LINKS = {"Spring reel": ("/sale", "spring_sale"), "Partner tee": ("/tee", "tee_days")}
EXPORTS = {
    "events": {"type": "events"},
    "searches": {"type": "events", "filters": {"event_name": "search"}},
    "users": {"type": "users"},
}


async def save_work(shop_service):
    """Saves segments, links and exports of June through the API, and has the exports written."""

    async def create(name, path, body):
        status, answer = await shop_service.request("POST", path, "", body)
        assert status in (200, 202), answer
        shop_service.saved_ids[name] = answer["id"] if status == 202 else answer["data"]["id"]

    for name, (dimension, value) in SEGMENTS.items():
        filters = [{"dimension": dimension, "op": "eq", "value": value}]
        await create(f"segment:{name}", "/segments", {"segment": {"name": name, "filters": filters}})
    for name, (path, campaign) in LINKS.items():
        link = {"name": name, "destination_url": f"https://{DOMAIN}{path}", "utm_campaign": campaign}
        await create(f"link:{name}", "/links", {"link": link})
    june = {"start_date": "2026-06-01", "end_date": "2026-06-30"}
    for name, body in EXPORTS.items():
        await create(f"export:{name}", "/exports", body | june)
    worker = build_export_worker(shop_service.service.ports)
    while await worker.run_next_job():
        pass


def _write_rates(folder, rates):
    lines = ["Date,USD", *(f"{day},{rate / 10000}" for day, rate in sorted(rates.items()))]
    (folder / "rates.csv").write_text("\n".join(lines))


@asynccontextmanager
async def serve_shop(folder, shop):
    """A service on the embedded store that holds a generated shop."""
    clock = [NOW - timedelta(days=90)]
    _write_rates(folder, shop.rates)
    settings = Settings.model_validate(
        {
            "storage": {"events": "duckdb:///events.db?threads=1&timeout_seconds=300"},
            "fx": {"rates": "rates:///rates.csv"},
            "http": {"root_url": "https://t.example", "app_url": "https://app.example"},
        }
    )
    async with compose(settings, folder, clock=lambda: clock[0]) as service:
        store = service.ports.workspace
        created = await create_workspace_with_keys(
            store.credentials, clock[0], name="Shop", timezone=ZONE.key, currency=CURRENCY, domain=DOMAIN
        )
        await _connect(
            service.ports, created.workspace, "stripe", ProviderKind.REVENUE, {"webhook_secret": SECRET}
        )
        await ShopFeed(service, created, clock).send(shop)
        await service.ports.build_from_adapters(ExchangeRateSync, source=service.ports.fx).sync_now()
        await _sync_spend(service, created.workspace, shop)
        minted = await create_named_key_clamping_rate_limit_to_plan(
            store.credentials,
            created.workspace,
            NOW,
            name="Assistant",
            scopes=list(Scope),
            requested_rate_limit=1_000_000,
        )
        program = await connect_client(service, created.workspace, NOW)
        shop_service = ShopService(service, created.workspace, minted.secret, program)
        await save_work(shop_service)
        yield shop_service
