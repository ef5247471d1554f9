"""A gateway over a handful of operations, with two workspaces, keys of every kind and a limiter that can go away."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Annotated
from uuid import UUID

import orjson
import pytest
from pydantic import AliasChoices, Field

from service_core.access.admission import Admission
from service_core.access.authenticate import Authenticator
from service_core.access.budgets import Budgets
from service_core.access.keys import found_workspace, mint_key
from service_core.access.model import Caller, Identity
from service_core.access.ports import LimiterDown
from service_core.access.windows import FixedWindows
from service_core.access.workspaces import Workspaces
from service_core.gateway.bound import Bound
from service_core.gateway.dispatch import Gateway
from service_core.gateway.exchange import Codec, Request
from service_core.insight.ports import QueryTimeout, StoreUnavailable
from service_core.kernel.errors import BadRequest, Conflict, Refusal
from service_core.kernel.operations import Budget, Reply, Scope, Surface, operation
from service_core.kernel.params import Answer, BodyModel, Clamp, QueryModel


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class ThingsQuery(QueryModel):
    """Which things."""

    limit: Annotated[int, Clamp(1, 100)] = 20
    colour: Colour = Field(default=Colour.RED, validation_alias=AliasChoices("colour", "color"))


class Thing(Answer):
    name: str
    price: Decimal
    made_at: datetime
    note: str | None = None


class Things(Answer):
    things: list[Thing]
    limit: int
    colour: Colour


class NewThing(BodyModel):
    name: str
    size: int = 1
    dry_run: bool = False


class Envelope(Answer):
    applied: bool


class ThingPath(BodyModel):
    thing_id: UUID


@operation("GET /things", tag="things")
async def list_things(query: ThingsQuery, *, who: Caller) -> Things:
    """List things."""
    thing = Thing(
        name=who.workspace.name, price=Decimal("19.90"), made_at=who.now + timedelta(microseconds=1234)
    )
    return Things(things=[thing], limit=query.limit, colour=query.colour)


@operation("POST /things", scope=Scope.WRITE_REPORTS, budget=Budget.MUTATION, tag="things", errors=(409,))
async def create_thing(body: NewThing, *, who: Caller) -> Reply[Envelope]:
    """Create a thing."""
    if body.name == "taken":
        raise Conflict("Taken", "slug_taken")
    return Reply(Envelope(applied=not body.dry_run), 200, {"Idempotent-Replay": "true"})


@operation("GET /things/{thing_id}", tag="things")
async def get_thing(path: ThingPath, *, who: Caller) -> Envelope:
    """Show a thing."""
    return Envelope(applied=path.thing_id.version == 7)


class OptionalBody(BodyModel):
    limit: int = 5


@operation("POST /run", tag="things", body_optional=True)
async def run(body: OptionalBody, *, who: Caller) -> dict[str, int]:
    """Ask with an optional body."""
    return {"limit": body.limit}


FAULTS = {
    "timeout": QueryTimeout,
    "unavailable": StoreUnavailable,
    "crash": lambda: RuntimeError("secret dk_agent_abc of ann@example.com"),
}


class FaultPath(BodyModel):
    kind: str


@operation("GET /faults/{kind}", tag="things")
async def fail(path: FaultPath, *, who: Caller) -> Envelope:
    """Fail."""
    fault = FAULTS[path.kind]
    raise fault()


@operation("GET /unrenderable", tag="things")
async def unrenderable(*, who: Caller) -> dict[str, object]:
    """Answer with what has no form in JSON."""
    return {"value": object()}


def with_reason(refusal: Refusal) -> Refusal:
    return BadRequest(refusal.message, extra={"reason": "own", "code": "own"})


@operation("GET /reasons", tag="things", reshape=with_reason)
async def reasons(query: ThingsQuery, *, who: Caller) -> Envelope:
    """Refuse in a shape of its own."""
    return Envelope(applied=False)


@operation("GET /ping", scope=None, budget=Budget.NONE, surface=Surface.ROOT, tag="service")
async def ping() -> Envelope:
    """Answer anybody."""
    return Envelope(applied=False)


@operation("POST /signup", scope=None, budget=Budget.NONE, tag="service", statuses=(202,))
async def signup(body: NewThing) -> Envelope:
    """Sign up without a credential."""
    return Envelope(applied=False)


OPERATIONS = (
    list_things, create_thing, get_thing, run, fail, unrenderable, reasons, ping, signup,
)  # fmt: skip


class Directory:
    def __init__(self):
        self.owners, self.credentials, self.digests = {}, {}, {}

    def generation(self):
        return len(self.credentials)

    async def identify(self, digest):
        credential = self.credentials.get(self.digests.get(digest))
        return credential and Identity(credential, self.owners[credential.workspace_id])

    async def create_workspace(self, workspace):
        self.owners[workspace.id] = workspace

    async def workspaces(self):
        return list(self.owners.values())

    async def save_key(self, credential, digest=None):
        self.credentials[credential.id] = credential
        self.digests[digest] = credential.id

    async def keys(self, workspace_id):
        return [c for c in self.credentials.values() if c.workspace_id == workspace_id]


class Limiter:
    def __init__(self, clock):
        self.windows = FixedWindows(clock)
        self.down = False

    async def spend(self, key, limit, window_seconds):
        if self.down:
            raise LimiterDown
        return self.windows.spend(key, limit, window_seconds)


class Answered:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.body

    @property
    def json(self):
        return json.loads(self.body)


class Door:
    """Asks the gateway; `keys` holds a secret of every kind."""

    NOW = datetime(2026, 7, 8, 15, 0, tzinfo=UTC)

    def __init__(self):
        def clock():
            return self.NOW

        self.directory = Directory()
        self.limiter = Limiter(clock)
        self.keys = {}
        self.gateway = Gateway(
            [Bound(op, {}, "who" if "who" in op.dependencies else None) for op in OPERATIONS],
            admission=Admission(
                Authenticator(self.directory, clock),
                self.directory,
                self.directory,
                Workspaces(self.directory),
                clock,
            ),
            budgets=Budgets(self.limiter, clock),
            clock=clock,
            codec=Codec(
                orjson.loads,
                lambda value, default: orjson.dumps(value, default, orjson.OPT_PASSTHROUGH_DATETIME),
            ),
        )

    async def open(self):
        shop = await found_workspace(self.directory, self.NOW, name="Shop")
        self.keys = {"agent": shop.agent_key.secret, "write": shop.write_key.secret}
        gone = replace((await found_workspace(self.directory, self.NOW, name="Gone")).workspace, active=False)
        self.directory.owners[gone.id] = gone
        scopes = [Scope.READ, Scope.WRITE_REPORTS]
        for name, workspace in (("editor", shop.workspace), ("ended", gone)):
            minted = await mint_key(self.directory, workspace, self.NOW, name=name, scopes=scopes)
            self.keys[name] = minted.secret
        return self

    async def ask(self, method, target, *, key="agent", body=b"", headers=None):
        path, _, query = target.partition("?")
        sent = dict(headers or {})
        if key is not None:
            sent.setdefault("authorization", f"Bearer {self.keys.get(key, key)}")
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return Answered(await self.gateway.dispatch(Request(method, path, query, sent, content)))


@pytest.fixture
async def door():
    return await Door().open()


@pytest.fixture
def operations():
    return OPERATIONS
