"""A deployment whose rules send to a platform of ours, from the door of events to the call, without sockets."""

from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import uuid4

import orjson
import sqlalchemy as sa

from hosts.composition.compose import load_installed_registry_once
from hosts.composition.providers import build_delivery_worker_if_any_sender
from hosts.worker.consumer import build_ingest_pipeline
from plugins.workspace_sql.tables import POSTBACKS
from service_core.access.api_keys import create_named_key_clamping_rate_limit_to_plan
from service_core.analytics.connections.models import (
    Asset,
    ConnectedAccount,
    Connection,
    ConnectionStatus,
    ProviderKind,
)
from service_core.analytics.measures import Predicate
from service_core.analytics.ports import EventPageQuery
from service_core.analytics.scope import scope_for_workspace_without_bots
from service_core.commerce.platform_errors import CredentialsRejected, PlatformUnavailable
from service_core.delivery.postbacks.models import Accepted, Conversion, Destination
from service_core.delivery.postbacks.ports import BatchRejected, SendLimits, Throttle
from service_core.ingestion.models import IngestEndpoint, ReceivedEvent
from service_core.kernel.operations import Scope
from service_core.kernel.settings import PostbacksSettings
from service_core.kernel.time_ranges import TimeRange
from service_core.testing.ingestion_stubs import FIREFOX, StubDevices
from service_core.workspace.rules.postback_platforms import CUSTOM_EVENT, PostbackPlatform
from tests.analytics.deployment import NOW, run_deployment
from tests.fixtures.port_stubs import ReplacedPorts

ADHUB = PostbackPlatform(
    "adhub", "Adhub", "pixel_id", "pixel", "https://adhub.example/{asset}", ("Buy", "Look", CUSTOM_EVENT)
)
HIGH_THROTTLE = Throttle(1_000, timedelta(hours=1))
SECRETS = {"access_token": "hush-hush"}


@dataclass
class StubSender:
    """A sender that takes what it gets, unless it is told otherwise.

    Attributes:
        calls: destination and conversions of every call.
        outcomes: what the next calls do: an outcome for each conversion, or a fault; then all is taken again.
        rejected_event_ids: event ids because of which a whole call is refused.
    """

    platform: PostbackPlatform = ADHUB
    age_limit: timedelta = timedelta(days=7)
    batch_size: int = 100
    throttle: Throttle = HIGH_THROTTLE
    click_types: tuple[str, ...] = ("gclid", "gbraid")
    click_window: timedelta = timedelta(days=30)
    match_keys: frozenset[str] = frozenset({"email", "phone", "gclid", "gbraid", "fbp"})
    value_required: frozenset[str] = frozenset({"Buy"})
    calls: list[tuple[Destination, list[Conversion]]] = field(default_factory=list)
    outcomes: list[object] = field(default_factory=list)
    rejected_event_ids: set[str] = field(default_factory=set)
    during_call: object = None

    @property
    def id(self):
        return self.platform.id

    @property
    def limits(self):
        return SendLimits(
            self.age_limit,
            self.batch_size,
            self.throttle,
            self.click_types,
            self.click_window,
            self.match_keys,
            self.value_required,
        )

    @property
    def sent(self):
        """Event ids of all calls, in order."""
        return [one.event_id for _, conversions in self.calls for one in conversions]

    async def send(self, destination, conversions, secrets):
        assert secrets == SECRETS
        self.calls.append((destination, list(conversions)))
        if self.during_call is not None:
            await self.during_call()
        outcome = self.outcomes.pop(0) if self.outcomes else Accepted(200)
        if isinstance(outcome, BaseException):
            raise outcome
        if self.rejected_event_ids.intersection(one.event_id for one in conversions):
            raise BatchRejected("bad_event", 400)
        return [outcome] * len(conversions)


def registry_with(*senders):
    """Everything installed, and some senders."""
    known = load_installed_registry_once()
    return replace(known, conversion_senders={**known.conversion_senders, **{one.id: one for one in senders}})


@asynccontextmanager
async def run_postback_deployment(folder, *senders, **settings):
    """A shop whose platforms are connected; further settings are those of postbacks. By default no order is waited for."""
    settings = {"settle_seconds": 0} | settings
    senders = senders or (StubSender(),)
    async with run_deployment("memory", folder, registry_with(*senders)) as deployment:
        shop = PostbackWorkspace(deployment, await deployment.workspace(timezone="UTC"), senders[0], settings)
        for sender in senders:
            await shop.connect(sender.id)
        await shop.with_key()
        yield shop


class PostbackWorkspace:
    """A workspace with its rules, its events and what is sent of them."""

    def __init__(self, deployment, client, sender, settings):
        self.deployment, self.client, self.sender = deployment, client, sender
        self.ports = deployment.service.ports
        self.store, self.writes = self.ports.workspace, 0
        self.id = client.workspace.id
        postbacks = PostbacksSettings(**settings)
        self.pipeline = build_ingest_pipeline(
            ReplacedPorts(self.ports, devices=StubDevices()),
            deployment.service.settings.model_copy(update={"postbacks": postbacks}),
        )
        self.delivery = build_delivery_worker_if_any_sender(self.ports, postbacks)

    async def with_key(self):
        """Whoever asks may write rules, too."""
        minted = await create_named_key_clamping_rate_limit_to_plan(
            self.store.credentials,
            self.client.workspace,
            NOW,
            name="Writer",
            scopes=list(Scope),
            requested_rate_limit=10**6,
        )
        self.client.key = minted.secret

    @property
    def now(self) -> datetime:
        return self.deployment.now

    def later(self, **passed):
        self.deployment.now += timedelta(**passed)

    async def connect(self, provider="adhub", status=ConnectionStatus.CONNECTED, secrets=SECRETS):
        account = ConnectedAccount("act_1", None, (Asset("p1", "Shop pixel"), Asset("p2")))
        connection = Connection(self.id, provider, ProviderKind.ADS, status, NOW, (account,))
        await self.store.connections.save_connection_keeping_created_at(connection)
        await self.ports.connection_secrets.replace_or_delete_secrets(self.id, provider, secrets)
        return connection

    async def status(self, provider="adhub"):
        return next(
            one
            for one in await self.store.connections.list_connections_oldest_first(self.id)
            if one.provider == provider
        )

    async def write(self, method, target, body=None):
        self.writes += 1
        if self.writes % 15 == 0:  # before the budget of a minute, which a test does not wait for, is spent
            await self.with_key()
        status, answer = await self.client.ask(method, target, body=orjson.dumps(body) if body else b"")
        assert status == 200, answer
        return answer

    async def rule(self, **fields):
        """A rule that sends purchases as ``Buy`` to the first pixel; returns its id."""
        wanted = {
            "name": "Purchases", "trigger_event": "purchase", "platform": "adhub", "asset_id": "p1",
            "platform_event": "Buy",
        }  # fmt: skip
        made = await self.write("POST", "/rules", {"rule": wanted | fields})
        return made["data"]["id"]

    async def happens(
        self,
        name="purchase",
        *,
        at=None,
        event_id=None,
        visitor="A1",
        session="s1",
        source=None,
        agent=FIREFOX,
        address="203.0.113.9",
        user=None,
        **properties,
    ):
        """An event arrives and is stored; returns its id."""
        id_ = event_id or uuid4().hex
        body = {
            "event": name, "anonymous_id": visitor, "properties": properties,
            "context": {"session_id": session}, "timestamp": (at or self.now).isoformat(),
        }  # fmt: skip
        body |= {"user_id": user} if user else {}
        arrival = ReceivedEvent(
            self.id,
            uuid4(),
            IngestEndpoint.TRACK,
            id_,
            True,
            self.now,
            orjson.dumps(body),
            agent,
            address,
            source or {},
        )
        await self.ports.queue.offer(arrival)
        await self.pipeline.process_batch()
        return id_

    async def sells(self, *orders, **fields):
        """Purchases of these orders by somebody whose address is known."""
        for order in orders:
            await self.happens(
                **{
                    "order_id": order,
                    "revenue": 12.5,
                    "currency": "EUR",
                    "email": "ada@example.com",
                    **fields,
                }
            )

    async def stored(self, event_id):
        """A stored event, as a list."""
        span = TimeRange(self.now - timedelta(days=90), self.now + timedelta(days=1))
        scan = replace(
            scope_for_workspace_without_bots(self.client.workspace, span),
            filters=(Predicate("event_id", value=event_id),),
        )
        return (await self.ports.events.list_events(EventPageQuery(scan, 10, count_total=False))).events

    async def send(self):
        """Every queue that is due has its turn."""
        for queue in await self.delivery.list_due_queues():
            await self.delivery.deliver_queue_unless_leased(queue)

    async def rows(self):
        """What is in the outbox, in the order it was put there."""
        query = sa.select(POSTBACKS).order_by(POSTBACKS.c.created_at, POSTBACKS.c.id)
        async with self.store.database.read() as connection:
            return [dict(row) for row in (await connection.execute(query)).mappings()]

    async def row(self):
        """The one row there is."""
        (row,) = await self.rows()
        return row

    async def outcome(self):
        """Status and reason of the one row."""
        row = await self.row()
        return row["status"], row["reason"]

    async def queue(self):
        """The queue of the first account."""
        return next(iter(await self.delivery.list_due_queues()), None)


UNAVAILABLE_ERROR = PlatformUnavailable("It is away.", http_status=503)
CREDENTIALS_ERROR = CredentialsRejected("It answered 401.")
