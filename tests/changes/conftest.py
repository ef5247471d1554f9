"""A kind of resource of the tests' own, and the write pipeline over each store."""

from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import ClassVar
from uuid import UUID

import pytest

from plugins import workspace_sql
from service_core.access.api_keys import create_named_key, create_workspace_with_keys
from service_core.access.models import Caller, IdempotentRequest
from service_core.changes.actor import build_actor
from service_core.changes.change_executor import ChangeExecutor
from service_core.changes.models import GENERATED_FIELDS, Action, Change
from service_core.changes.resource import Resource, ResourceType
from service_core.changes.undo import plan_undo
from service_core.extensions.registry import load_plugins
from service_core.kernel.errors import Conflict, NotFound
from service_core.kernel.ids import new_id
from service_core.kernel.operations import Scope
from service_core.testing.memory.access import MemoryAccess
from service_core.testing.memory.transactions import MemoryUnits

NOW = datetime(2026, 7, 8, 15, 0, 0, 123456, tzinfo=UTC)
REGISTRY = load_plugins([("workspace_sql", workspace_sql)], discover=False)


class Note(Resource):
    resource_type: ClassVar[str] = "note"

    text: str | None
    tags: dict[str, str]

    def unique_keys(self):
        return (f"note:{self.workspace_id.hex}/{self.name}",)

    def unique_key_error(self, key):
        return Conflict("This name is taken", "slug_taken")


async def effects(records, prior, new):
    return ({"type": "pinned", "key": (new or prior)["name"], "operation": "put" if new else "delete"},)


KIND = ResourceType(Note, Scope.WRITE_REPORTS, effects)


class Desk:
    """Somebody who writes notes."""

    def __init__(self, writes, caller):
        self.writes, self.who = writes, caller

    def later(self, **passed):
        self.who = replace(self.who, now=self.who.now + timedelta(**passed))

    def at(self, units):
        """The same person at a desk of another process."""
        return Desk(ChangeExecutor(units, [KIND]), self.who)

    def once(self, key, content=None):
        return Desk(
            self.writes, replace(self.who, idempotency=IdempotentRequest(key, "POST", "/v1/notes", content))
        )

    async def run(self, plan, *, dry_run=False):
        self.later(seconds=1)
        return await self.writes.execute(self.who, plan, dry_run=dry_run)

    def creation(self, name="Plan", text=None, **tags):
        caller = self.who

        async def plan(unit):
            note = Note(
                id=new_id(), workspace_id=caller.workspace.id, name=name, text=text, tags=tags,
                created_at=caller.now, updated_at=caller.now, created_via=caller.interface, created_by=build_actor(caller),
            )  # fmt: skip
            return Change(Action.CREATE, None, note, GENERATED_FIELDS)

        return plan

    async def create(self, name="Plan", text=None, dry_run=False, **tags):
        return (await self.run(self.creation(name, text, **tags), dry_run=dry_run)).body

    async def update(self, note_id, dry_run=False, **fields):
        async def plan(unit):
            note = await self.found(unit, note_id)
            fresh = {**note.state, **fields, "updated_at": self.who.now}
            return Change(Action.UPDATE, note, Note.model_validate(fresh))

        return (await self.run(plan, dry_run=dry_run)).body

    async def delete(self, note_id, dry_run=False):
        async def plan(unit):
            return Change(Action.DELETE, await self.found(unit, note_id), None)

        return (await self.run(plan, dry_run=dry_run)).body

    async def undo(self, audit_id, dry_run=False):
        return (
            await self.run(plan_undo(self.who, self.writes.resource_types, audit_id), dry_run=dry_run)
        ).body

    async def found(self, unit, note_id):
        note = await unit.resources.get(Note, UUID(str(note_id)))
        if note is None:
            raise NotFound
        return note

    async def notes(self):
        async with self.writes.transactions.read(self.who.workspace.id) as unit:
            return [note.state for note in await unit.resources.list_all(Note)]


async def desk_over(units, directory, name="shop"):
    initialized_deployment = await create_workspace_with_keys(directory.credentials, NOW, name=name)
    minted = await create_named_key(
        directory.credentials, initialized_deployment.workspace, NOW, name="Bot", scopes=list(Scope)
    )
    return Desk(
        ChangeExecutor(units, [KIND]), Caller(initialized_deployment.workspace, minted.credential, NOW)
    )


@asynccontextmanager
async def opened(url, folder):
    store = REGISTRY.open_adapter("workspace", url, folder=folder)
    await store.start()
    try:
        yield store
    finally:
        await store.aclose()


@pytest.fixture
async def stores(store_url, tmp_path):
    """A store of transactions, and the directory of the same deployment."""
    if store_url is None:
        yield MemoryUnits(), MemoryAccess()
        return
    async with opened(store_url, tmp_path) as store:
        yield store.transactions, store


@pytest.fixture
async def api_client(stores):
    return await desk_over(*stores)


@pytest.fixture
async def other_workspace(stores, api_client):
    """Somebody of another workspace of the same deployment."""
    units, directory = stores
    other = await desk_over(units, directory, "other")
    other.writes = api_client.writes
    return other


@pytest.fixture
def new_desk():
    """A desk over stores of one's own, for tests that need many."""

    async def made():
        return await desk_over(MemoryUnits(), MemoryAccess())

    return made
