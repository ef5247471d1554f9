"""The write pipeline: dry runs, envelopes, retries, isolation."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from service_core.access.models import RequestInterface
from service_core.changes.audit_log import AuditFilter
from service_core.changes.change_executor import ChangeExecutor
from service_core.kernel.errors import ApiError, BadRequest, Conflict, NotFound

ASSIGNED = {"id", "created_at", "updated_at"}


async def read_audit_log(api_client):
    async with api_client.writes.transactions.read(api_client.caller.workspace.id) as unit:
        return await unit.audit.list_entries(AuditFilter(until=api_client.caller.now), 100, 0)


def changed_fields(envelope):
    return {change.field: (change.from_, change.to) for change in envelope.diff.changes}


async def test_create_diff_shows_the_whole_record(api_client):
    made = await api_client.create("Plan", "draft", colour="red")
    diff = made.diff
    assert (made.dry_run, made.applied, diff.action, diff.prior_state) == (False, True, "create", None)
    assert diff.new_state == made.data == (await api_client.notes())[0]
    assert diff.resource.model_dump() == {"type": "note", "id": UUID(made.data["id"]), "label": "Plan"}
    assert changed_fields(made) == {
        "name": (None, "Plan"),
        "text": (None, "draft"),
        "tags.colour": (None, "red"),
    }
    assert [change.field for change in diff.changes] == sorted(changed_fields(made))
    assert diff.effects == [{"type": "pinned", "key": "Plan", "operation": "put"}]


async def test_update_diff_shows_changed_fields_as_dot_paths(api_client):
    made = await api_client.create("Plan", "draft", colour="red", size="s")
    changed = await api_client.update(made.data["id"], tags={"colour": "blue", "size": "s"})
    assert changed.diff.prior_state == {"tags": {"colour": "red", "size": "s"}}
    assert changed.diff.new_state == {"tags": {"colour": "blue", "size": "s"}}
    assert changed_fields(changed) == {"tags.colour": ("red", "blue")}
    assert changed.data["updated_at"] > made.data["updated_at"]


async def test_delete_records_the_whole_row_and_returns_no_data(api_client):
    made = await api_client.create()
    gone = await api_client.delete(made.data["id"])
    assert (gone.diff.prior_state, gone.diff.new_state, gone.data) == (made.data, None, None)
    assert await api_client.notes() == []
    with pytest.raises(NotFound):
        await api_client.delete(made.data["id"])


async def test_dry_run_predicts_the_applied_change_except_generated_values(api_client):
    planned = await api_client.create("Plan", "draft", dry_run=True, colour="red")
    assert await api_client.notes() == []
    assert await read_audit_log(api_client) == []
    made = await api_client.create("Plan", "draft", colour="red")
    assert (planned.dry_run, planned.applied, planned.audit_id) == (True, False, None)
    assert planned.data == made.data | dict.fromkeys(ASSIGNED)
    assert planned.diff.changes == made.diff.changes
    assert planned.diff.resource.id is None
    shown = await api_client.update(made.data["id"], dry_run=True, text="final")
    assert shown.diff == (await api_client.update(made.data["id"], text="final")).diff


async def test_empty_change_is_not_applied_and_writes_no_audit_entry(api_client):
    made = await api_client.create("Plan", "draft")
    same = await api_client.once("k").update(made.data["id"], text="draft")
    assert (same.applied, same.dry_run, same.audit_id, same.diff.changes) == (False, False, None, [])
    assert (same.diff.effects, same.data) == ([], made.data)
    api_client.later(minutes=1)
    assert len(await read_audit_log(api_client)) == 1


async def test_audit_entry_contains_actor_change_and_previous_values(api_client):
    made = await api_client.create("Plan", "draft")
    changed = await api_client.update(made.data["id"], text="final")
    newest, oldest = await read_audit_log(api_client)
    assert (newest.id, newest.action, newest.undoable) == (changed.audit_id, "update", True)
    assert (newest.prior_state, newest.new_state) == ({"text": "draft"}, {"text": "final"})
    assert newest.actor.model_dump() == {
        "type": "key", "id": api_client.caller.credential.id, "client_id": None, "name": "Bot",
    }  # fmt: skip
    assert (oldest.action, oldest.undoable, oldest.via) == ("create", False, RequestInterface.API)
    assert newest.created_at == newest.created_at.replace(microsecond=123000)


async def test_taken_unique_key_refuses_dry_runs_and_writes(api_client):
    await api_client.create("Plan")
    for dry_run in (True, False):
        with pytest.raises(Conflict, match="taken"):
            await api_client.create("Plan", dry_run=dry_run)
    assert len(await api_client.notes()) == len(await read_audit_log(api_client)) == 1


async def test_renaming_and_deleting_release_unique_keys(api_client):
    first = await api_client.create("Plan")
    await api_client.update(first.data["id"], name="Old plan")
    second = await api_client.create("Plan")
    await api_client.delete(second.data["id"])
    assert (await api_client.create("Plan")).applied


async def test_retry_returns_the_first_response_for_24_hours(api_client):
    sender = api_client.once("k", {"note": {"b": 1, "a": 2}})
    first = await sender.create()
    again = await api_client.once("k", {"note": {"a": 2, "b": 1}}).run(None)
    assert again.headers == {"Idempotent-Replay": "true"}
    assert again.body == first
    assert len(await api_client.notes()) == 1
    other = await api_client.once("k", {"note": {"a": 3}}).create("Other")
    assert other.audit_id != first.audit_id
    api_client.later(hours=25)
    late = api_client.once("k", {"note": {"b": 1, "a": 2}})
    assert (await late.create("Later")).audit_id != first.audit_id


async def test_errors_and_dry_runs_store_no_idempotency_record(api_client):
    sender = api_client.once("k")
    await sender.create(dry_run=True)
    first = await sender.create("Plan")
    with pytest.raises(Conflict):
        await api_client.once("l").create("Plan")
    assert (await api_client.once("l").create("Other")).audit_id != first.audit_id


async def test_long_idempotency_key_is_refused_by_writes_and_ignored_by_dry_runs(api_client):
    sender = api_client.once("k" * 256)
    assert (await sender.create(dry_run=True)).dry_run
    with pytest.raises(BadRequest) as refused:
        await sender.create()
    assert refused.value.code == "invalid_idempotency_key"


async def test_identical_request_conflicts_while_the_first_runs(api_client):
    refused = []

    async def plan(unit):
        with pytest.raises(Conflict) as refusal:
            await api_client.once("k").run(None)
        refused.append(refusal.value)
        raise NotFound

    with pytest.raises(NotFound):
        await api_client.once("k").run(plan)
    assert [(one.code, one.headers) for one in refused] == [("idempotency_in_progress", {"Retry-After": "1"})]
    assert (await api_client.once("k").create()).applied


async def test_mcp_writes_are_dry_runs_by_default(api_client):
    api_client.caller = replace(api_client.caller, interface=RequestInterface.MCP)
    assert (await api_client.create(dry_run=None)).dry_run
    assert (await api_client.create(dry_run=False)).applied


async def test_records_names_and_idempotency_keys_are_isolated_by_workspace(api_client, other_workspace):
    made = await api_client.once("k").create("Plan")
    assert await other_workspace.notes() == []
    assert (await other_workspace.once("k").create("Plan")).applied
    with pytest.raises(NotFound):
        await other_workspace.update(made.data["id"], text="mine")
    with pytest.raises(NotFound):
        await other_workspace.undo(made.audit_id)
    assert all(entry.id != made.audit_id for entry in await read_audit_log(other_workspace))


async def test_audit_log_filters_by_type_resource_actor_and_time(api_client):
    first = await api_client.create("One")
    since = api_client.caller.now + timedelta(milliseconds=1)
    second = await api_client.create("Two")
    until = api_client.caller.now
    requests = [
        ({"resource_id": UUID(first.data["id"])}, [first]),
        ({"resource_type": "note"}, [second, first]),
        ({"resource_type": "other"}, []),
        ({"actor_id": api_client.caller.credential.id}, [second, first]),
        ({"actor_id": UUID(first.data["id"])}, []),
        ({"since": since}, [second]),
    ]
    async with api_client.writes.transactions.read(api_client.caller.workspace.id) as unit:
        for question, expected in requests:
            found = await unit.audit.list_entries(AuditFilter(until=until, **question), 10, 0)
            assert [entry.id for entry in found] == [envelope.audit_id for envelope in expected]
        assert [e.id for e in await unit.audit.list_entries(AuditFilter(until=until), 1, 1)] == [
            first.audit_id
        ]


async def test_one_of_50_identical_requests_is_executed(api_client):
    senders = [api_client.once("k", {"note": {}}) for _ in range(50)]
    found = await asyncio.gather(*(sender.create() for sender in senders), return_exceptions=True)
    refused = [one.code for one in found if isinstance(one, ApiError)]
    answers = [one for one in found if not isinstance(one, ApiError)]
    assert set(refused) <= {"idempotency_in_progress"}
    assert len(refused) + len(answers) == 50
    assert len({answer.audit_id for answer in answers}) == 1
    assert len(await api_client.notes()) == 1


async def test_one_of_50_identical_requests_in_many_processes_is_executed(api_client):
    """Each pipeline is that of another process: they share the store and nothing else."""
    senders = [api_client.once("k", {"note": {}}) for _ in range(50)]
    for sender in senders:
        sender.writes = ChangeExecutor(
            api_client.writes.transactions, api_client.writes.resource_types.values()
        )
    answers = await asyncio.gather(*(sender.create() for sender in senders))
    assert len({answer.audit_id for answer in answers}) == 1
    assert len(await api_client.notes()) == 1
