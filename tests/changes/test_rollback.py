"""Rollback of an actor: what it takes back, what it leaves alone, and what it names."""

from dataclasses import replace

import pytest

from service_core.access.models import RequestInterface
from service_core.changes.audit_log import AuditFilter
from service_core.changes.operations import list_audit
from service_core.changes.rollback_operations import RollbackBody, roll_back_actor
from service_core.changes.schemas import AuditQuery
from service_core.kernel.errors import Forbidden
from service_core.kernel.ids import new_id
from service_core.kernel.operations import Scope
from tests.fixtures.notes import NoteClient


def another_key(api_client, name="Other"):
    """Returns a client with another key of the same workspace, whose clock is that of the first."""
    key = replace(api_client.caller.credential, id=new_id(), name=name)
    return NoteClient(api_client.writes, replace(api_client.caller, credential=key))


async def roll_back(client, actor, *, dry_run=False, since="2026-01-01", until=None):
    client.later(hours=1)
    body = RollbackBody.model_validate(
        {
            "actor": {"key_id": str(actor.caller.credential.id)},
            "since": since,
            "until": until,
            "dry_run": dry_run,
        }
    )
    answer = await roll_back_actor.handler(body, caller=client.caller, executor=client.writes)
    return answer.body


async def note_contents(client):
    return {note["id"]: (note["name"], note["text"]) for note in await client.notes()}


async def test_rollback_takes_back_creates_updates_and_deletes_newest_first(api_client):
    kept = await api_client.create("Kept", "draft")
    removed = await api_client.create("Removed", "draft")
    start = await note_contents(api_client)
    bot = another_key(api_client)
    await bot.create("Own", "new")
    await bot.update(kept.data["id"], text="1")
    await bot.update(kept.data["id"], text="2")
    await bot.delete(removed.data["id"])
    shown = await roll_back(api_client, bot, dry_run=True)
    assert (shown.applied, [change.audit_id for change in shown.changes]) == (False, [None] * 4)
    assert await note_contents(api_client) != start
    answer = await roll_back(api_client, bot)
    assert await note_contents(api_client) == start
    assert answer.applied
    assert [change.diff.resource.label for change in answer.changes] == ["Removed", "Kept", "Kept", "Own"]
    assert answer.left_alone == []
    again = await roll_back(api_client, bot)
    assert (again.applied, again.changes) == (False, [])


async def test_rollback_leaves_alone_and_names_what_others_changed_since(api_client):
    made = await api_client.create("Plan", "draft")
    bot = another_key(api_client, "Bot")
    await bot.update(made.data["id"], text="bot", tags={"colour": "red"})
    own = await bot.create("Own")
    api_client.caller = replace(api_client.caller, now=bot.caller.now)
    await api_client.update(made.data["id"], text="person")
    await api_client.update(own.data["id"], text="person")
    answer = await roll_back(api_client, bot)
    assert {(left.resource.label, left.reason) for left in answer.left_alone} == {
        ("Plan", "changed_since"),
        ("Own", "changed_since"),
    }
    assert {actor.id for left in answer.left_alone for actor in left.changed_by} == {
        api_client.caller.credential.id
    }
    assert [note["text"] for note in await api_client.notes()] == ["person", "person"]


async def test_rollback_takes_back_a_field_beside_one_that_others_changed(api_client):
    made = await api_client.create("Plan", "draft", colour="red")
    bot = another_key(api_client)
    await bot.update(made.data["id"], text="bot")
    api_client.caller = replace(api_client.caller, now=bot.caller.now)
    await api_client.update(made.data["id"], tags={"colour": "blue"})
    await roll_back(api_client, bot)
    [note] = await api_client.notes()
    assert (note["text"], note["tags"]) == ("draft", {"colour": "blue"})


async def test_rollback_deletes_what_the_same_actor_built_on_its_creation(api_client):
    bot = another_key(api_client)
    parent = await bot.create("Parent")
    await bot.create("Child", of=parent.data["id"])
    until = bot.caller.now.isoformat()
    bot.later(minutes=5)
    await bot.create("Later child", of=parent.data["id"])
    api_client.caller = replace(api_client.caller, now=bot.caller.now)
    await roll_back(api_client, bot, until=until)
    assert await api_client.notes() == []


async def test_rollback_keeps_a_creation_that_others_use(api_client):
    bot = another_key(api_client)
    parent = await bot.create("Parent")
    api_client.caller = replace(api_client.caller, now=bot.caller.now)
    await api_client.create("Child", of=parent.data["id"])
    answer = await roll_back(api_client, bot)
    assert [(left.reason, left.changed_by[0].id) for left in answer.left_alone] == [
        ("in_use", api_client.caller.credential.id)
    ]
    assert len(await api_client.notes()) == 2


async def test_rollback_keeps_a_creation_whose_dependents_others_use(api_client):
    bot = another_key(api_client)
    parent = await bot.create("Parent")
    child = await bot.create("Child", of=parent.data["id"])
    api_client.caller = replace(api_client.caller, now=bot.caller.now)
    await api_client.create("Grandchild", of=child.data["id"])
    answer = await roll_back(api_client, bot)
    assert [(left.resource.label, left.reason) for left in answer.left_alone] == [
        ("Child", "in_use"),
        ("Parent", "in_use"),
    ]
    assert len(await api_client.notes()) == 3


async def test_rollback_deletes_again_what_the_actor_restored_and_changed_back(api_client):
    made = await api_client.create("Plan", "draft")
    bot = another_key(api_client)
    changed = await bot.update(made.data["id"], text="bot")
    api_client.caller = replace(api_client.caller, now=bot.caller.now)
    deleted = await api_client.delete(made.data["id"])
    bot.caller = replace(bot.caller, now=api_client.caller.now)
    await bot.undo(deleted.audit_id)
    await bot.undo(changed.audit_id)
    answer = await roll_back(bot, bot)
    assert await api_client.notes() == []
    assert [(left.audit_id, left.reason, left.changed_by[0].id) for left in answer.left_alone] == [
        (changed.audit_id, "changed_since", api_client.caller.credential.id)
    ]


async def test_rollback_takes_back_an_undo_that_also_reset_what_others_changed_between(api_client):
    made = await api_client.create("Plan", "draft")
    bot = another_key(api_client)
    changed = await bot.update(made.data["id"], text="bot")
    api_client.caller = replace(api_client.caller, now=bot.caller.now)
    await api_client.update(made.data["id"], text="person")
    bot.caller = replace(bot.caller, now=api_client.caller.now)
    await bot.update(made.data["id"], text="bot")
    await bot.undo(changed.audit_id)
    api_client.caller = replace(api_client.caller, now=bot.caller.now)
    assert [note["text"] for note in await api_client.notes()] == ["draft"]
    answer = await roll_back(api_client, bot)
    assert [note["text"] for note in await api_client.notes()] == ["person"]
    assert [(left.audit_id, left.reason, left.changed_by[0].id) for left in answer.left_alone] == [
        (changed.audit_id, "changed_since", api_client.caller.credential.id)
    ]


async def test_rollback_of_an_undo_puts_the_undone_change_in_force_again(api_client):
    made = await api_client.create("Plan", "draft")
    changed = await api_client.update(made.data["id"], text="final")
    bot = another_key(api_client)
    await bot.undo(changed.audit_id)
    await roll_back(api_client, bot)
    assert [note["text"] for note in await api_client.notes()] == ["final"]
    async with api_client.writes.transactions.read(api_client.caller.workspace.id) as unit:
        entry = await unit.audit.get(changed.audit_id)
    assert (entry.undone_by, entry.undoable) == (None, True)
    assert (await api_client.undo(changed.audit_id)).data["text"] == "draft"


async def test_rollback_skips_what_the_actor_made_and_deleted_itself(api_client):
    bot = another_key(api_client)
    made = await bot.create("Plan")
    await bot.delete(made.data["id"])
    api_client.caller = replace(api_client.caller, now=bot.caller.now)
    await api_client.create("Plan", "taken")
    answer = await roll_back(api_client, bot)
    assert (answer.changes, answer.left_alone) == ([], [])


async def test_rollback_needs_the_scope_of_each_write(api_client):
    bot = another_key(api_client)
    await bot.create("Plan")
    key = replace(api_client.caller.credential, scopes=frozenset({Scope.READ, Scope.WRITE_LINKS}))
    api_client.caller = replace(api_client.caller, credential=key)
    with pytest.raises(Forbidden):
        await roll_back(api_client, bot)


async def test_rollback_names_a_name_that_is_taken_by_now(api_client):
    made = await api_client.create("Plan")
    bot = another_key(api_client)
    await bot.delete(made.data["id"])
    api_client.caller = replace(api_client.caller, now=bot.caller.now)
    await api_client.create("Plan")
    answer = await roll_back(api_client, bot)
    assert [left.reason for left in answer.left_alone] == ["slug_taken"]


async def test_audit_log_is_filtered_by_key_interface_and_end(api_client):
    await api_client.create("Api")
    bot = another_key(api_client)
    bot.caller = replace(bot.caller, interface=RequestInterface.MCP)
    await bot.create("Bot")
    caller = replace(bot.caller, now=bot.caller.now)

    async def labels(**parameters):
        query = AuditQuery.model_validate(parameters)
        page = await list_audit.handler(query, caller=caller, executor=api_client.writes)
        return [entry.resource.label for entry in page.entries]

    assert await labels(key_id=str(bot.caller.credential.id)) == ["Bot"]
    assert await labels(created_via="mcp") == ["Bot"]
    assert await labels(created_via="api") == ["Api"]
    assert await labels(client_id="client") == []
    assert await labels(until="2026-07-07") == []
    assert await labels(until="2026-07-09", since="2026-07-08") == ["Bot", "Api"]
    async with api_client.writes.transactions.read(caller.workspace.id) as unit:
        found = await unit.audit.list_entries(AuditFilter(until=caller.now, actor_type="user"), 10, 0)
    assert found == []


async def test_rollback_of_a_restoration_leaves_alone_what_referred_to_the_record_before(api_client):
    bot = another_key(api_client)
    first = await bot.create("First")
    removed = await api_client.delete(first.data["id"])
    later = await bot.create("Later", of=first.data["id"])
    bot.caller = replace(bot.caller, now=api_client.caller.now)
    bot.later(hours=1)
    await bot.undo(removed.audit_id)
    api_client.caller = replace(api_client.caller, now=bot.caller.now)
    answer = await roll_back(api_client, bot, since=f"{later.data['created_at'][:10]}")
    assert await note_contents(api_client) == {}
    assert [left.reason for left in answer.left_alone if left.resource.label == "Later"] == []
