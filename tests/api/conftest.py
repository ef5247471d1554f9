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

from service_core.access.api_keys import create_named_key, create_workspace_with_keys
from service_core.access.fixed_window import FixedWindowCounter
from service_core.access.key_authentication import KeyAuthenticator
from service_core.access.models import AuthContext, Caller
from service_core.access.ports import RateLimiterUnavailable
from service_core.access.rate_limits import RateLimits
from service_core.access.request_authentication import RequestAuthenticator
from service_core.access.workspace_cache import WorkspaceCache
from service_core.analytics.ports import QueryTimeout, StoreUnavailable
from service_core.api.bound_operation import BoundOperation
from service_core.api.dispatch import Dispatcher
from service_core.api.http_messages import ApiRequest, JsonCodec
from service_core.kernel.errors import ApiError, BadRequest, Conflict
from service_core.kernel.operations import HandlerResponse, RateLimitClass, RoutePrefix, Scope, operation
from service_core.kernel.schemas import BodyModel, Clamp, QueryModel, ResponseModel


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class ThingsQuery(QueryModel):
    """Which things."""

    limit: Annotated[int, Clamp(1, 100)] = 20
    colour: Colour = Field(default=Colour.RED, validation_alias=AliasChoices("colour", "color"))


class Thing(ResponseModel):
    name: str
    price: Decimal
    made_at: datetime
    note: str | None = None


class Things(ResponseModel):
    things: list[Thing]
    limit: int
    colour: Colour


class NewThing(BodyModel):
    name: str
    size: int = 1
    dry_run: bool = False


class Envelope(ResponseModel):
    applied: bool


class ThingPath(BodyModel):
    thing_id: UUID


@operation("GET /things", tag="things")
async def list_things(query: ThingsQuery, *, caller: Caller) -> Things:
    """List things."""
    thing = Thing(
        name=caller.workspace.name, price=Decimal("19.90"), made_at=caller.now + timedelta(microseconds=1234)
    )
    return Things(things=[thing], limit=query.limit, colour=query.colour)


@operation(
    "POST /things", scope=Scope.WRITE_REPORTS, rate_limit=RateLimitClass.MUTATION, tag="things", errors=(409,)
)
async def create_thing(body: NewThing, *, caller: Caller) -> HandlerResponse[Envelope]:
    """Create a thing."""
    if body.name == "taken":
        raise Conflict("Taken", "slug_taken")
    return HandlerResponse(Envelope(applied=not body.dry_run), 200, {"Idempotent-Replay": "true"})


@operation("GET /things/{thing_id}", tag="things")
async def get_thing(path: ThingPath, *, caller: Caller) -> Envelope:
    """Show a thing."""
    return Envelope(applied=path.thing_id.version == 7)


class OptionalBody(BodyModel):
    limit: int = 5


@operation("POST /run", tag="things", body_optional=True)
async def run(body: OptionalBody, *, caller: Caller) -> dict[str, int]:
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
async def fail(path: FaultPath, *, caller: Caller) -> Envelope:
    """Fail."""
    fault = FAULTS[path.kind]
    raise fault()


@operation("GET /unrenderable", tag="things")
async def unrenderable(*, caller: Caller) -> dict[str, object]:
    """Answer with what has no form in JSON."""
    return {"value": object()}


def with_reason(refusal: ApiError) -> ApiError:
    return BadRequest(refusal.message, extra={"reason": "own", "code": "own"})


@operation("GET /reasons", tag="things", map_error=with_reason)
async def reasons(query: ThingsQuery, *, caller: Caller) -> Envelope:
    """Refuse in a shape of its own."""
    return Envelope(applied=False)


@operation("GET /ping", scope=None, rate_limit=RateLimitClass.NONE, prefix=RoutePrefix.ROOT, tag="service")
async def ping() -> Envelope:
    """Answer anybody."""
    return Envelope(applied=False)


@operation("POST /signup", scope=None, rate_limit=RateLimitClass.NONE, tag="service", statuses=(202,))
async def signup(body: NewThing) -> Envelope:
    """Sign up without a credential."""
    return Envelope(applied=False)


OPERATIONS = (
    list_things, create_thing, get_thing, run, fail, unrenderable, reasons, ping, signup,
)  # fmt: skip


class Directory:
    def __init__(self):
        self.owners, self.credentials, self.digests = {}, {}, {}

    def change_version(self):
        return len(self.credentials)

    async def find_auth_context(self, digest):
        credential = self.credentials.get(self.digests.get(digest))
        return credential and AuthContext(credential, self.owners[credential.workspace_id])

    async def create_workspace(self, workspace):
        self.owners[workspace.id] = workspace

    async def list_workspaces(self):
        return list(self.owners.values())

    async def save_credential(self, credential, digest=None):
        self.credentials[credential.id] = credential
        self.digests[digest] = credential.id

    async def list_keys(self, workspace_id):
        return [c for c in self.credentials.values() if c.workspace_id == workspace_id]


class Limiter:
    def __init__(self, clock):
        self.windows = FixedWindowCounter(clock)
        self.down = False

    async def consume(self, key, limit, window_seconds):
        if self.down:
            raise RateLimiterUnavailable
        return self.windows.consume(key, limit, window_seconds)


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
        self.gateway = Dispatcher(
            [BoundOperation(op, {}, "caller" if "caller" in op.dependencies else None) for op in OPERATIONS],
            authenticator=RequestAuthenticator(
                KeyAuthenticator(self.directory, clock),
                self.directory,
                self.directory,
                WorkspaceCache(self.directory),
                clock,
            ),
            rate_limits=RateLimits(self.limiter, clock),
            clock=clock,
            codec=JsonCodec(
                orjson.loads,
                lambda value, default: orjson.dumps(value, default, orjson.OPT_PASSTHROUGH_DATETIME),
            ),
        )

    async def open(self):
        shop = await create_workspace_with_keys(self.directory, self.NOW, name="Shop")
        self.keys = {"agent": shop.agent_key.secret, "write": shop.write_key.secret}
        gone = replace(
            (await create_workspace_with_keys(self.directory, self.NOW, name="Gone")).workspace, active=False
        )
        self.directory.owners[gone.id] = gone
        scopes = [Scope.READ, Scope.WRITE_REPORTS]
        for name, workspace in (("editor", shop.workspace), ("ended", gone)):
            minted = await create_named_key(self.directory, workspace, self.NOW, name=name, scopes=scopes)
            self.keys[name] = minted.secret
        return self

    async def ask(self, method, target, *, key="agent", body=b"", headers=None):
        path, _, query = target.partition("?")
        sent = dict(headers or {})
        if key is not None:
            sent.setdefault("authorization", f"Bearer {self.keys.get(key, key)}")
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return Answered(await self.gateway.dispatch(ApiRequest(method, path, query, sent, content)))


@pytest.fixture
async def door():
    return await Door().open()


@pytest.fixture
def operations():
    return OPERATIONS
